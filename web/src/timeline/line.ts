// The time line: canvas, zoom, choice of calls, what the pointer shows, its summary in words.

import { make, onScheme } from "../dom";
import { bytes, count, mibPerSecond, time } from "../format";
import { HELP, Zoom } from "../zoom";
import { type Class, decode, type Encoded, type Execution } from "./data";
import { draw, fileName, inner, type Lane, LEFT, lanesOf, nsAt, rates, type Scene, spansOf } from "./draw";
import { everything, type Filter, fileOf, movedAt, percentiles, streamsBetween, sum } from "./sums";

/** Columns that fill the view at the deepest zoom. */
const LEAST_COLUMNS = 32;
/** Streams that the pointer shows. */
const SHOWN = 4;

function callsInWords(calls: number): string {
  return calls === 1 ? "1 call" : `${count(calls)} calls`;
}

export class TimeLine {
  readonly filter: Filter = everything();
  private execution: Execution;
  private scene: Scene | undefined;
  private height = 0;
  private isWaiting = false;
  /** The line of the program that the reader points at; "": none. */
  private pointed = "";
  private readonly canvas = make("canvas", {
    tabindex: 0,
    role: "img",
    "aria-label": "Time line",
    "aria-describedby": "time-line-help",
  });
  private readonly tip = make("div", { class: "tip", hidden: "" });
  private readonly cursor = make("div", { class: "cursor", hidden: "" });
  private readonly summary = make("p", { class: "summary", "aria-live": "polite" });
  private readonly part = make("p", { class: "part" });
  private readonly choices = make("div", { class: "tools", role: "group", "aria-label": "Shown calls" });
  private readonly notes = make("p", { class: "note" });
  private readonly zoom = new Zoom(this.canvas, () => this.redraw());
  /** Told of the line of the program under the pointer; "": none. */
  onLine: (line: string, isChosen: boolean) => void = () => {};

  private constructor(
    place: HTMLElement,
    private readonly executions: Execution[],
  ) {
    this.execution = executions[0];
    const help = make(
      "p",
      { id: "time-line-help", class: "note" },
      `${HELP} The line above says what the visible part holds.`,
    );
    const box = make("div", { class: "canvas" }, this.canvas, this.cursor, this.tip);
    place.append(this.choices, this.part, box, this.summary, this.notes, help);
    this.choose();
    this.canvas.addEventListener("pointermove", (event) => this.point(event.offsetX, event.offsetY));
    this.canvas.addEventListener("pointerleave", () => this.leave());
    this.canvas.addEventListener("click", (event) => this.click(event.offsetX, event.offsetY));
    new ResizeObserver(() => this.redraw()).observe(box);
    onScheme(() => this.redraw());
  }

  /** Unpacks the data and puts the time line into `place`, whose pictures are hidden then. */
  static async start(place: HTMLElement, text: string): Promise<TimeLine> {
    const encoded: { executions: Encoded[] } = JSON.parse(text);
    const executions = await Promise.all(encoded.executions.map(decode));
    const line = new TimeLine(place, executions);
    line.paint();
    // No lane shows what this picture does.
    place.append(...place.querySelectorAll(".fixed figure[id^='latency-since-due']"));
    place.classList.add("live");
    return line;
  }

  /** Shows the calls of a line of the program alone; "": all. */
  showLine(line: string): void {
    this.filter.line = line;
    this.choose();
    this.redraw();
  }

  /** Stresses the calls of a line of the program; "": none. */
  pointLine(line: string): void {
    if (line === this.pointed) return;
    this.pointed = line;
    this.redraw();
  }

  private get all(): number {
    const longest = Math.max(...this.executions.map((one) => one.end_ns - one.start_ns));
    return Math.max(longest / this.execution.column_ns, 1);
  }

  private get width(): number {
    return Math.max(this.canvas.parentElement?.clientWidth ?? 0, 280);
  }

  private redraw(): void {
    if (this.isWaiting) return;
    this.isWaiting = true;
    requestAnimationFrame(() => {
      this.isWaiting = false;
      this.paint();
    });
  }

  private paint(): void {
    const { lanes, height } = lanesOf(this.execution);
    const [width, plot] = [this.width, inner(this.width)];
    const ratio = window.devicePixelRatio || 1;
    if (this.canvas.width !== Math.round(width * ratio) || this.height !== height) {
      this.height = height;
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
      this.canvas.style.width = `${width}px`;
      this.canvas.style.height = `${height}px`;
      const deepest = Math.max(this.all / LEAST_COLUMNS, 1);
      this.zoom.limit(LEFT, LEFT + plot, height, deepest);
    }
    const context = this.canvas.getContext("2d");
    if (!context) return;
    const place = (x: number) => ((this.zoom.transform.invertX(x) - LEFT) / plot) * this.all;
    const part = { from: Math.max(place(LEFT), 0), to: Math.min(place(LEFT + plot), this.all) };
    const bins = Math.max(1, Math.floor(plot));
    const sums = sum(this.execution, this.filter, part, bins);
    const { execution, filter, pointed } = this;
    const latency = percentiles(execution, filter, part, spansOf(width));
    const stressed = pointed && !filter.line && sum(execution, { ...filter, line: pointed }, part, bins);
    this.scene = { execution, filter, part, width, lanes, sums, latency, stressed: stressed || undefined };
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    draw(context, this.scene, height);
    this.say();
  }

  private say(): void {
    if (!this.scene) return;
    const { sums, execution } = this.scene;
    const [from, to] = [nsAt(this.scene, LEFT), nsAt(this.scene, LEFT + inner(this.scene.width))];
    const whole = this.all * execution.column_ns;
    const isAll = to - from > whole * 0.9999;
    this.part.textContent = isAll ? `All: ${time(whole)}` : `${time(from)} to ${time(to)} of ${time(whole)}`;
    const every = Math.max(execution.sample_every, 1);
    const words = [
      callsInWords(sums.calls * every),
      `${bytes(sums.readBytes * every)} read`,
      `${bytes(sums.writtenBytes * every)} written`,
      `${time(sums.busyNs * every)} in calls, sum of ranks`,
    ];
    this.summary.textContent = `Begun in this part: ${words.join(", ")}.`;
    Object.assign(this.summary.dataset, {
      calls: sums.calls,
      read: sums.readBytes,
      written: sums.writtenBytes,
      from,
      to,
    });
    this.notes.textContent = execution.notes.join(" ");
  }

  /** The lists of choices, and the legend. */
  private choose(): void {
    const { execution, filter } = this;
    const ranks = execution.bands.map(([a, b]) => (a === b ? `rank ${a}` : `ranks ${a}-${b}`));
    const files = execution.files.map((_, at) => fileName(execution, at));
    if (execution.streams.some((stream) => stream[4] < 0)) files.push(fileName(execution, -1));
    this.choices.replaceChildren();
    if (this.executions.length > 1) {
      const names = this.executions.map((one) => one.name);
      this.list("Execution", names, this.executions.indexOf(execution), (at) => this.change(at), false);
    }
    this.list("Ranks", ranks, filter.band, (at) => (filter.band = at));
    const ops = execution.ops.map((op) => op[0]);
    this.list("Operation", ops, filter.op, (at) => (filter.op = at));
    const labels = execution.labels.map((label) => label || "(no label)");
    this.list("Label", labels, filter.label, (at) => (filter.label = at));
    this.list("File", files, filter.file, (at) => (filter.file = at));
    if (filter.line !== "") {
      const [, line] = filter.line.split("-");
      const all = make("button", { type: "button" }, `only line ${line}: show all`);
      all.addEventListener("click", () => {
        this.showLine("");
        this.onLine("", true);
      });
      this.choices.append(all);
    }
    this.choices.append(this.legend());
    const reset = make("button", { type: "button" }, "Show all");
    reset.addEventListener("click", () => this.zoom.reset());
    this.choices.append(reset);
  }

  private list(
    name: string,
    names: string[],
    chosen: number,
    choose: (at: number) => void,
    hasAll = true,
  ): void {
    if (names.length < 2) return;
    const options = names.map((text, at) => make("option", { value: at }, text));
    const all = hasAll ? [make("option", { value: -1 }, "all")] : [];
    const box = make("select", { "data-choice": name }, ...all, ...options);
    box.value = String(chosen);
    box.addEventListener("change", () => {
      choose(Number(box.value));
      this.redraw();
    });
    this.choices.append(make("label", {}, `${name} `, box));
  }

  private legend(): HTMLElement {
    const names: [Class, string][] = [
      ["read", "read"],
      ["write", "write"],
      ["metadata", "metadata"],
      ["other", "other"],
    ];
    const used = names.filter(([of]) => this.execution.ops.some((op) => op[1] === of));
    const buttons = used.map(([of, name]) => {
      const { hidden } = this.filter;
      const button = make(
        "button",
        { type: "button", class: `key ${of}`, "aria-pressed": String(!hidden.has(of)) },
        name,
      );
      button.addEventListener("click", () => {
        if (!hidden.delete(of)) hidden.add(of);
        button.setAttribute("aria-pressed", String(!hidden.has(of)));
        this.redraw();
      });
      return button;
    });
    return make("span", { class: "legend", role: "group", "aria-label": "Kinds of calls" }, ...buttons);
  }

  /** Another execution; what was chosen by name stays chosen. */
  private change(at: number): void {
    const [old, next] = [this.execution, this.executions[at]];
    const { filter } = this;
    const same = <T>(list: T[], others: T[], chosen: number) =>
      chosen < 0 ? -1 : others.findIndex((one) => String(one) === String(list[chosen]));
    filter.band = same(old.bands, next.bands, filter.band);
    filter.label = same(old.labels, next.labels, filter.label);
    filter.file = same(old.files, next.files, filter.file);
    filter.op = same(old.ops, next.ops, filter.op);
    this.execution = next;
    this.height = 0;
    this.choose();
    this.redraw();
  }

  private leave(): void {
    this.tip.hidden = true;
    this.cursor.hidden = true;
    this.onLine("", false);
  }

  private laneAt(y: number): Lane | undefined {
    return this.scene?.lanes.find((lane) => y >= lane.top - 4 && y < lane.top + lane.height + 4);
  }

  private point(x: number, y: number): void {
    const { scene } = this;
    const lane = this.laneAt(y);
    if (!scene || !lane || x < LEFT || x > LEFT + inner(scene.width)) {
      this.leave();
      return;
    }
    const lines = [`at ${time(nsAt(scene, x))}`, ...this.describe(scene, lane, x, y)];
    this.tip.replaceChildren(...lines.map((text) => make("div", {}, text)));
    this.tip.hidden = false;
    this.cursor.hidden = false;
    this.cursor.style.left = `${x}px`;
    this.cursor.style.height = `${this.height}px`;
    const right = x > scene.width / 2;
    this.tip.style.left = right ? "" : `${x + 14}px`;
    this.tip.style.right = right ? `${scene.width - x + 14}px` : "";
    this.tip.style.top = `${lane.top}px`;
  }

  /** What is under the pointer, in words. */
  private describe(scene: Scene, lane: Lane, x: number, y: number): string[] {
    const bin = Math.min(Math.floor(x - LEFT), scene.sums.bins - 1);
    switch (lane.name) {
      case "bandwidth": {
        const [read, written] = [scene.sums.read, scene.sums.written].map(
          (moved) => rates(scene, moved)[bin],
        );
        return [`read ${mibPerSecond(read)}`, `write ${mibPerSecond(written)}`];
      }
      case "latency": {
        const { spans, p50, p99 } = scene.latency;
        const at = Math.min(Math.floor(((x - LEFT) / inner(scene.width)) * spans), spans - 1);
        return p50[at] > 0 ? [`median ${time(p50[at])}`, `99 % ${time(p99[at])}`] : ["no call began here"];
      }
      case "ranks":
        return this.calls(scene, lane, x, y);
      case "positions":
        return this.positions(scene, x, (y - lane.top) / lane.height);
      default:
        return this.phaseAt(scene, x);
    }
  }

  /** What was moved at a position; `down` is a share of the lane. */
  private positions(scene: Scene, x: number, down: number): string[] {
    const { execution, filter } = scene;
    const { rows, end } = execution.offsets;
    const row = Math.max(0, Math.min(rows - 1, Math.floor((1 - down) * rows)));
    const [from, to] = [x, x + 1].map((place) => nsAt(scene, place) / execution.column_ns);
    const lines = movedAt(execution, filter, row, from, to).map(
      ({ file, isWrite, size }) =>
        `${fileName(execution, file)}: about ${bytes(size)} ${isWrite ? "written" : "read"}`,
    );
    const span = `positions ${bytes((row / rows) * end)} to ${bytes(((row + 1) / rows) * end)}`;
    return [span, ...lines.slice(0, SHOWN), ...(lines.length > SHOWN ? ["and more"] : [])];
  }

  private phaseAt(scene: Scene, x: number): string[] {
    const { execution } = scene;
    const ns = nsAt(scene, x) + execution.start_ns;
    const inside = execution.phases.filter(([, start, end]) => start <= ns && ns <= end);
    return inside.map(
      ([label, start, end]) => `${execution.labels[label] || "(no label)"}: ${time(end - start)}`,
    );
  }

  /** Calls of the ranks under the pointer. */
  private calls(scene: Scene, lane: Lane, x: number, y: number): string[] {
    const { execution, part } = scene;
    const rows = execution.bands.length;
    const band = Math.max(0, Math.min(rows - 1, Math.floor(((y - lane.top) / lane.height) * rows)));
    const found = this.under(scene, band, x);
    const [first, last] = execution.bands[band];
    const lines = [first === last ? `rank ${first}` : `ranks ${first} to ${last}`];
    for (const one of found.slice(0, SHOWN)) {
      const [, label, op, line, file] = execution.streams[one.stream];
      const parts = [execution.ops[op][0]];
      if (line >= 0) parts.push(`line ${execution.lines[line][1]}`);
      if (execution.labels[label]) parts.push(execution.labels[label]);
      if (fileOf(execution, file) < execution.files.length) parts.push(fileName(execution, file));
      const figures = [callsInWords(one.calls), time(one.busy)];
      if (one.bytes > 0) figures.splice(1, 0, bytes(one.bytes));
      if (one.calls > 1) figures.push(`longest ${time(one.longest)}`);
      lines.push(`${parts.join(", ")}: ${figures.join(", ")}`);
    }
    if (found.length > SHOWN) lines.push(`${found.length - SHOWN} more kinds of calls`);
    if (found.length === 0) lines.push("in no call: computing, waiting, or outside");
    if (part.to - part.from > inner(scene.width)) lines.push("zoom in for single calls");
    const line = found[0] ? execution.streams[found[0].stream][3] : -1;
    this.onLine(line >= 0 ? execution.lines[line].join("-") : "", false);
    return lines;
  }

  private under(scene: Scene, band: number, x: number) {
    const at = (place: number) => nsAt(scene, place) / scene.execution.column_ns;
    const [from, to] = [at(Math.floor(x)), at(Math.floor(x) + 1)];
    return streamsBetween(scene.execution, scene.filter, band, from, Math.max(to, Math.floor(from) + 1));
  }

  /** A click on a call leads to its line of the program. */
  private click(x: number, y: number): void {
    const { scene } = this;
    const lane = this.laneAt(y);
    if (!scene || lane?.name !== "ranks") return;
    const rows = scene.execution.bands.length;
    const band = Math.max(0, Math.min(rows - 1, Math.floor(((y - lane.top) / lane.height) * rows)));
    const first = this.under(scene, band, x)[0];
    const line = first ? scene.execution.streams[first.stream][3] : -1;
    if (line >= 0) this.onLine(scene.execution.lines[line].join("-"), true);
  }
}
