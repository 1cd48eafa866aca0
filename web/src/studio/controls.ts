// Sliders for the number of ranks and for parameters.

import { make } from "../dom";

/** A parameter of the program. */
export interface Parameter {
  name: string;
  /** Its default as the program writes it: "64k", "true", "[1, 2]". */
  value: string;
  /** Its `///` text. */
  doc: string;
}

export interface Values {
  ranks: number;
  /** Parameters that have another value than their default, as the command line takes them. */
  params: { name: string; value: string }[];
}

/** Most ranks of the slider, and of the field beside it. */
const RANKS = 64;
const RANKS_MAX = 4096;
/** Steps of a factor of two, to both sides. */
const STEPS = 6;
/** The caller is told when the sliders rest for so long. */
const REST_MS = 80;

const SCALE: Record<string, number> = { "": 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3, t: 1024 ** 4 };

/** A number with a unit: its value and the unit; nothing: it is no such number. */
function numberOf(text: string): { value: number; unit: string } | undefined {
  const found = /^(\d+(?:\.\d+)?)([a-zA-Zµ]*)$/.exec(text.trim());
  return found ? { value: Number(found[1]), unit: found[2] } : undefined;
}

/** The default times two to a power, as the program would write it. */
export function scaled(text: string, power: number): string {
  const known = numberOf(text);
  if (!known) return text;
  const value = known.value * 2 ** power;
  const isTime = !(known.unit.toLowerCase() in SCALE);
  if (isTime || text.includes(".")) return `${Number(value.toPrecision(4))}${known.unit}`;
  if (Number.isInteger(value)) return `${value}${known.unit}`;
  return String(Math.max(Math.round(value * SCALE[known.unit.toLowerCase()]), 1));
}

function idOf(one: Parameter): string {
  return `see-${one.name}`;
}

/** An input below its name and, beside it, what is set. */
function labelled(
  name: string,
  id: string,
  doc: string,
  input: HTMLElement,
  shown?: HTMLElement,
): HTMLElement {
  const label = make("label", { for: id, title: doc || undefined }, name);
  return make("div", {}, make("div", {}, label, ...(shown ? [" ", shown] : [])), input);
}

export class Controls {
  readonly element = make("div", { class: "controls", role: "group", "aria-label": "Ranks and parameters" });
  onChange: (values: Values) => void = () => {};
  private values: Values = { ranks: 1, params: [] };
  private timer = 0;

  /** Shows sliders for these parameters; values that were set stay where the parameter is still there. */
  set(ranks: number, parameters: Parameter[]): void {
    const kept = this.values.params.filter((one) => parameters.some((other) => other.name === one.name));
    this.values = { ranks, params: kept };
    const inputs = parameters.map((one) => this.parameter(one));
    this.element.replaceChildren(this.ranks(ranks), ...inputs);
  }

  private ranks(ranks: number): HTMLElement {
    const field = make("input", {
      type: "number",
      "aria-label": "Number of ranks",
      min: 1,
      max: RANKS_MAX,
      value: ranks,
    });
    const slider = make("input", {
      type: "range",
      id: "see-ranks",
      min: 1,
      max: Math.max(RANKS, ranks),
      value: ranks,
    });
    slider.addEventListener("input", () => {
      field.value = slider.value;
      this.change({ ...this.values, ranks: Number(slider.value) });
    });
    field.addEventListener("change", () => {
      const wanted = Math.min(Math.max(Math.round(Number(field.value)), 1), RANKS_MAX);
      field.value = slider.value = String(wanted);
      this.change({ ...this.values, ranks: wanted });
    });
    return labelled("ranks", "see-ranks", "", slider, field);
  }

  private parameter(one: Parameter): HTMLElement {
    const now = this.values.params.find((other) => other.name === one.name)?.value ?? one.value;
    if (one.value === "true" || one.value === "false") return this.box(one, now);
    const known = numberOf(one.value);
    return known && known.value > 0 ? this.slider(one, now) : this.text(one, now);
  }

  private box(one: Parameter, now: string): HTMLElement {
    const box = make("input", { type: "checkbox", id: idOf(one) });
    box.checked = now === "true";
    box.addEventListener("change", () => this.give(one, String(box.checked)));
    return labelled(one.name, idOf(one), one.doc, box);
  }

  private slider(one: Parameter, now: string): HTMLElement {
    const shown = make("output", {}, now);
    const slider = make("input", { type: "range", id: idOf(one), min: -STEPS, max: STEPS, value: 0 });
    for (let power = -STEPS; power <= STEPS; power++) {
      if (scaled(one.value, power) === now) slider.value = String(power);
    }
    slider.setAttribute("aria-valuetext", now);
    slider.addEventListener("input", () => {
      const value = scaled(one.value, Number(slider.value));
      shown.textContent = value;
      slider.setAttribute("aria-valuetext", value);
      this.give(one, value);
    });
    return labelled(one.name, idOf(one), one.doc, slider, shown);
  }

  private text(one: Parameter, now: string): HTMLElement {
    const input = make("input", { type: "text", id: idOf(one), value: now, size: 12 });
    input.addEventListener("input", () => this.give(one, input.value));
    return labelled(one.name, idOf(one), one.doc, input);
  }

  private give(one: Parameter, value: string): void {
    const others = this.values.params.filter((other) => other.name !== one.name);
    const params = value === one.value ? others : [...others, { name: one.name, value }];
    this.change({ ...this.values, params });
  }

  private change(values: Values): void {
    this.values = values;
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.onChange(this.values), REST_MS);
  }
}
