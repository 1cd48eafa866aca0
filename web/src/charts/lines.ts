// Series over an axis: a reading line that follows the pointer or the arrow keys, a part of the axis that is dragged
// over fills the picture, a legend that switches series.

import { make, svg } from "../dom";
import { value } from "../format";
import { type Axis, inkOf, type Placed, scaleOf, usable, type View } from "./chart";

const [WIDEST, NARROWEST, HEIGHT, LEFT, RIGHT, BOTTOM, TOP] = [860, 280, 316, 84, 34, 40, 26];
/** Pixels of a drag that is no click. */
const DRAG = 6;
/** Pixels of a number on the axis, of a letter in it, and between two. */
const [NUMBER, LETTER, SPACE] = [90, 8, 8];
/** Series with a colour of their own; one more is grey. */
const COLORS = 8;

interface Series {
  name: string;
  color: number;
  points: (number | null)[][];
}

export interface Lines {
  kind: "lines";
  x: Axis;
  y: Axis;
  join: "line" | "step" | "dots";
  series: Series[];
}

/** The interactive figure. */
export function lines(view: View, chart: Lines): HTMLElement {
  return new Figure(view, chart).box;
}

class Figure {
  readonly box: HTMLElement;
  private readonly series: Series[];
  private readonly hidden = new Set<number>();
  private readonly picture: SVGElement;
  private readonly reading = make("p", { class: "reading", "aria-live": "polite" });
  private readonly xs: number[];
  /** The shown part of the axis; nothing: all of it. */
  private part: [number, number] | undefined;
  private width = WIDEST;
  /** Number of the value that is read. */
  private at = -1;
  /** Where a drag began, and where it is. */
  private drag: [number, number] | undefined;

  constructor(
    view: View,
    private readonly chart: Lines,
  ) {
    const all = chart.series.length;
    this.series = chart.series.slice(0, all <= COLORS + 1 ? all : COLORS);
    const xs = this.series
      .flatMap((one) => one.points.map((point) => point[0]))
      .filter((x) => usable(chart.x, x));
    this.xs = [...new Set(xs)].sort((a, b) => a - b);
    this.picture = svg("svg", {
      class: "picture",
      tabindex: 0,
      role: "img",
      "aria-label": `${view.title}. Left and right read values, plus and minus zoom, 0 or Escape shows all.`,
    });
    const keys = this.series.length > 1 ? [this.legend()] : [];
    this.box = make("div", { class: "interactive" }, ...keys, this.picture as unknown as Node, this.reading);
    this.box.append(...this.notes());
    this.listen();
    new ResizeObserver(() => this.fit()).observe(this.box);
    this.paint();
  }

  /** What the picture does not show. */
  private notes(): HTMLElement[] {
    const { chart, series } = this;
    const points = series
      .flatMap((one) => one.points)
      .filter((point) => point[0] !== null && point[1] !== null);
    const lost = points.filter((point) => !isPlaced(chart, point)).length;
    const notes: string[] = [];
    if (chart.series.length > series.length)
      notes.push(`The first ${series.length} of ${chart.series.length} series are drawn; the data hold all.`);
    if (lost > 0)
      notes.push(
        `Not drawn, as 0 and less have no place on a logarithmic axis: ${lost} of ${points.length} points.`,
      );
    return notes.map((text) => make("p", { class: "note" }, text));
  }

  private listen(): void {
    const { picture } = this;
    picture.addEventListener("pointermove", (event) => this.move(event));
    picture.addEventListener("pointerdown", (event) => {
      this.drag = [this.placeOf(event), this.placeOf(event)];
      picture.setPointerCapture(event.pointerId);
    });
    picture.addEventListener("pointerup", () => this.drop());
    picture.addEventListener("pointercancel", () => {
      this.drag = undefined;
      this.paint();
    });
    picture.addEventListener("dblclick", () => this.show(undefined));
    picture.addEventListener("keydown", (event) => this.key(event));
  }

  /** As wide as its box. */
  private fit(): void {
    const width = Math.min(WIDEST, Math.max(NARROWEST, this.box.clientWidth));
    if (width === this.width) return;
    this.width = width;
    this.paint();
  }

  private get right(): number {
    return this.width - RIGHT;
  }

  private get x(): Placed {
    const isFromZero = !this.part && this.chart.x.unit === "ns" && !this.chart.x.log;
    const wanted = Math.max(2, Math.floor((this.right - LEFT) / NUMBER));
    return scaleOf(this.chart.x, this.part ?? this.xs, [LEFT, this.right], isFromZero, Math.min(wanted, 6));
  }

  private get visible(): Series[] {
    return this.series.filter((_, number) => !this.hidden.has(number));
  }

  private paint(): void {
    const { chart, picture, width, x } = this;
    const points = this.visible.flatMap((one) => one.points);
    const ys = points.flatMap((point) => point.slice(1)).filter((one): one is number => one !== null);
    const y = scaleOf(chart.y, ys, [HEIGHT - BOTTOM, TOP], !chart.y.log);
    picture.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    const clip = { x: LEFT, y: 0, width: this.right - LEFT, height: HEIGHT - BOTTOM + 4 };
    const plot = svg("svg", { ...clip, viewBox: `${LEFT} 0 ${clip.width} ${clip.height}` });
    if (!this.part) plot.setAttribute("overflow", "visible");
    // The first series lies on top.
    for (const one of [...this.visible].reverse()) plot.append(drawn(chart, one, x.place, y.place));
    if (this.at >= 0) {
      const at = x.place(this.xs[this.at]);
      plot.append(svg("line", { class: "read-line", x1: at, x2: at, y1: TOP, y2: HEIGHT - BOTTOM }));
      this.read();
    }
    if (this.drag) {
      const [from, to] = [Math.min(...this.drag), Math.max(...this.drag)];
      const rect = { x: from, y: TOP, width: to - from, height: HEIGHT - BOTTOM - TOP };
      plot.append(svg("rect", { class: "dragged", ...rect }));
    }
    picture.replaceChildren(frame(chart, x, y, width), plot);
  }

  private read(): void {
    const x = this.xs[this.at];
    const values = this.visible.map((one) => `${one.name}: ${figure(this.chart, one, x)}`);
    this.reading.textContent = `${this.chart.x.title} ${value(this.chart.x.unit, x)}: ${values.join("; ")}`;
  }

  /** Reads the value with a number, if it is in the shown part. */
  private go(next: number): void {
    const [low, high] = this.part ?? [this.xs[0], this.xs[this.xs.length - 1]];
    const first = this.xs.findIndex((x) => x >= low);
    const last = this.xs.findLastIndex((x) => x <= high);
    if (first < 0 || first > last) return;
    this.at = Math.max(first, Math.min(last, next));
    this.paint();
  }

  private placeOf(event: MouseEvent): number {
    const box = this.picture.getBoundingClientRect();
    const place = ((event.clientX - box.left) / box.width) * this.width;
    return Math.max(LEFT, Math.min(this.right, place));
  }

  private move(event: PointerEvent): void {
    const place = this.placeOf(event);
    if (this.drag) this.drag[1] = place;
    this.go(nearest(this.xs.map(this.x.place), place));
  }

  private drop(): void {
    const [from, to] = this.drag ?? [0, 0];
    this.drag = undefined;
    if (Math.abs(to - from) >= DRAG) this.showPlaces(Math.min(from, to), Math.max(from, to));
    else this.paint();
  }

  private showPlaces(from: number, to: number): void {
    const { x } = this;
    this.show([x.at(from), x.at(to)]);
  }

  private show(part: [number, number] | undefined): void {
    this.part = part;
    const isInside = !part || (this.xs[this.at] >= part[0] && this.xs[this.at] <= part[1]);
    if (!isInside) this.at = -1;
    this.paint();
  }

  /** A smaller or larger part around what is read, never more than all. */
  private zoom(factor: number): void {
    const { x } = this;
    const middle = this.at < 0 ? (LEFT + this.right) / 2 : x.place(this.xs[this.at]);
    const [from, to] = [LEFT, this.right].map((end) => x.at(middle + (end - middle) / factor));
    const [first, last] = [this.xs[0], this.xs[this.xs.length - 1]];
    this.show(from <= first && to >= last ? undefined : [Math.max(from, first), Math.min(to, last)]);
  }

  private key(event: KeyboardEvent): void {
    const actions: Record<string, () => void> = {
      ArrowLeft: () => this.go(this.at - 1),
      ArrowRight: () => this.go(this.at + 1),
      "+": () => this.zoom(2),
      "=": () => this.zoom(2),
      "-": () => this.zoom(0.5),
      "0": () => this.show(undefined),
      Escape: () => this.show(undefined),
    };
    const action = actions[event.key];
    if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
    action();
    event.preventDefault();
  }

  private legend(): HTMLElement {
    const keys = this.series.map((one, number) => {
      const key = make("button", { type: "button", class: "key", "aria-pressed": "true" }, one.name);
      key.style.setProperty("--ink", `var(--${inkOf(one.color)})`);
      key.addEventListener("click", () => {
        if (!this.hidden.delete(number)) this.hidden.add(number);
        key.setAttribute("aria-pressed", String(!this.hidden.has(number)));
        this.paint();
      });
      return key;
    });
    return make("div", { class: "legend" }, ...keys);
  }
}

/** Both axes have a place for the point. */
function isPlaced(chart: Lines, point: (number | null)[]): point is number[] {
  return usable(chart.x, point[0]) && usable(chart.y, point[1]);
}

/** Numbers that do not reach into one another. */
function apart(ticks: Placed["ticks"], place: Placed["place"]): Placed["ticks"] {
  let end = Number.NEGATIVE_INFINITY;
  return ticks.filter((tick) => {
    const half = (tick.text.length * LETTER) / 2;
    const at = place(tick.value);
    if (at - half < end) return false;
    end = at + half + SPACE;
    return true;
  });
}

function nearest(places: number[], to: number): number {
  let best = 0;
  places.forEach((place, at) => {
    if (Math.abs(place - to) < Math.abs(places[best] - to)) best = at;
  });
  return best;
}

/** The value of a series at a place of the x axis, with its interval. */
function figure(chart: Lines, series: Series, x: number): string {
  const point =
    chart.join === "step"
      ? series.points.findLast((one) => (one[0] ?? 0) <= x)
      : series.points.find((one) => one[0] === x);
  if (!point || point[1] === null) return "no value";
  const text = value(chart.y.unit, point[1]);
  if (point.length < 4 || point[2] === null || point[3] === null) return text;
  return `${text} (${value(chart.y.unit, point[2])} to ${value(chart.y.unit, point[3])})`;
}

function frame(chart: Lines, x: Placed, y: Placed, width: number): SVGElement {
  const group = svg("g", { class: "frame" });
  const right = width - RIGHT;
  for (const tick of y.ticks) {
    const at = y.place(tick.value);
    group.append(
      svg("line", { class: "grid", x1: LEFT, x2: right, y1: at, y2: at }),
      svg("text", { x: LEFT - 8, y: at + 4, "text-anchor": "end" }, tick.text),
    );
  }
  const bottom = HEIGHT - BOTTOM;
  for (const tick of apart(x.ticks, x.place)) {
    const at = { x: x.place(tick.value), y: bottom + 18, "text-anchor": "middle" };
    group.append(svg("text", at, tick.text));
  }
  const title = { class: "title", x: (LEFT + right) / 2, y: HEIGHT - 4, "text-anchor": "middle" };
  group.append(
    svg("line", { class: "axis", x1: LEFT, x2: right, y1: bottom, y2: bottom }),
    svg("text", title, chart.x.title),
    svg("text", { class: "title", x: 0, y: 12 }, chart.y.title),
  );
  return group;
}

function drawn(chart: Lines, series: Series, x: Placed["place"], y: Placed["place"]): SVGElement {
  const stroke = `s-${inkOf(series.color)}`;
  const group = svg("g");
  const points = series.points.filter((point) => isPlaced(chart, point));
  const places = points.map((point) => [x(point[0]), y(point[1])]);
  if (chart.join !== "dots" && places.length > 1) {
    const step = (place: number[], at: number) =>
      chart.join === "step" && at > 0 ? `H${place[0]}V${place[1]}` : `L${place[0]},${place[1]}`;
    const path = `M${places[0].join(",")}${places.map(step).join("")}`;
    group.append(svg("path", { d: path, class: stroke, fill: "none", "stroke-width": 1.6 }));
  }
  const isMarked = chart.join === "dots" || points.length <= 24;
  points.forEach((point, at) => {
    const [cx, cy] = places[at];
    if (usable(chart.y, point[2]) && usable(chart.y, point[3])) {
      group.append(svg("line", { class: stroke, x1: cx, x2: cx, y1: y(point[2]), y2: y(point[3]) }));
    }
    if (isMarked && chart.join !== "step") {
      group.append(svg("circle", { class: `f-${inkOf(series.color)}`, cx, cy, r: 3 }));
    }
  });
  return group;
}
