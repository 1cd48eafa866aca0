// Ranks over virtual time: operations, phases, waits for others, barriers and signals.

import { color } from "../dom";
import { bytes, count, time } from "../format";
import { decode, type Execution } from "../timeline/data";
import { classColors, drawTimeAxis, fileName } from "../timeline/draw";
import { CLASSES, everything, streamsBetween, sum } from "../timeline/sums";
import type { Meeting, Scene, Signal, Wait } from "./shapes";
import { hatch, type Picture, placeOf, type View, valueAt, Zoomed } from "./zoomed";

const TITLE = 18;
const PHASE = 18;
const AXIS = 26;
/** Pixels of all ranks together, of one at least and at most. */
const ALL = 560;
const [LEAST, MOST] = [3, 22];
/** Barriers and signals in view that are drawn with their ends. */
const ENDS = 300;
/** Streams that the pointer shows. */
const SHOWN = 3;

const PHASES = ["s3", "s4", "s6", "s7", "s5"];

export class Lanes implements Picture {
  readonly zoomed = new Zoomed("Ranks over time", this);
  private scene: Scene | undefined;
  private execution: Execution | undefined;
  private depths: number[] = [];

  get element(): HTMLElement {
    return this.zoomed.element;
  }

  /** Another program, or the same with other values: the visible part stays. */
  async show(scene: Scene): Promise<void> {
    const encoded = scene.time?.executions[0];
    this.execution = encoded ? await decode(encoded) : undefined;
    this.scene = scene;
    this.depths = depthsOf(scene.labels);
    const waits = scene.lanes.reduce((all, lane) => all + lane.waits.length, 0);
    const words = [
      `${count(scene.operations)} operations`,
      `${scene.meetings.length} barriers`,
      `${waits} waits`,
    ];
    this.zoomed.rename(`${scene.ranks} ranks over ${time(scene.end_ns)}: ${words.join(", ")}`);
    this.zoomed.redraw();
  }

  end(): number {
    return this.scene?.end_ns ?? 1;
  }

  least(): number {
    return Math.max(this.end() / 20_000, 50);
  }

  private get row(): number {
    return Math.max(LEAST, Math.min(MOST, ALL / Math.max(this.scene?.ranks ?? 1, 1)));
  }

  private get phaseRows(): number {
    const used = new Set((this.scene?.lanes ?? []).flatMap((lane) => lane.phases.map(([label]) => label)));
    return [...used].reduce((most, label) => Math.max(most, this.depths[label] + 1), 0);
  }

  /** Where the first rank begins. */
  private get top(): number {
    const rows = Math.min(this.phaseRows, 4);
    return TITLE + (rows > 0 ? rows * PHASE + TITLE : 0);
  }

  height(): number {
    return this.top + (this.scene?.ranks ?? 1) * this.row + AXIS + 8;
  }

  private rankY(rank: number): number {
    return this.top + rank * this.row;
  }

  paint(context: CanvasRenderingContext2D, view: View): void {
    const { scene } = this;
    if (!scene) return;
    context.save();
    context.beginPath();
    context.rect(view.left, 0, view.right - view.left + 1, this.height());
    context.clip();
    this.paintPhases(context, view, scene);
    this.paintLives(context, view, scene);
    this.paintOperations(context, view);
    this.paintWaits(context, view, scene);
    this.paintMeetings(context, view, scene);
    this.paintSignals(context, view, scene);
    this.paintEnds(context, view, scene);
    context.restore();
    this.paintNames(context, view, scene);
    const axis = { part: view, width: view.width, execution: { column_ns: 1 } };
    drawTimeAxis(context, axis, this.height() - AXIS);
  }

  private paintPhases(context: CanvasRenderingContext2D, view: View, scene: Scene): void {
    for (const [label, start, end] of hullsOf(scene)) {
      const [x, right] = [placeOf(view, start), placeOf(view, end)];
      if (right < view.left || x > view.right || this.depths[label] > 3) continue;
      const y = TITLE + this.depths[label] * PHASE;
      context.fillStyle = color("soft");
      context.strokeStyle = color(PHASES[label % PHASES.length]);
      context.fillRect(x, y + 1, Math.max(right - x, 1), PHASE - 3);
      context.strokeRect(x + 0.5, y + 1.5, Math.max(right - x - 1, 1), PHASE - 4);
      const name = nameOf(scene.labels, label);
      const left = Math.max(x, view.left) + 5;
      const room = Math.min(right, view.right) - left;
      if (room > 4 && context.measureText(name).width < room) {
        context.fillStyle = color("text");
        context.textAlign = "left";
        context.fillText(name, left, y + PHASE / 2);
      }
    }
  }

  /** From its start to its end a rank has a ground; inside of phases a line below it. */
  private paintLives(context: CanvasRenderingContext2D, view: View, scene: Scene): void {
    const { row } = this;
    for (const lane of scene.lanes) {
      const y = this.rankY(lane.rank);
      context.fillStyle = color("soft");
      context.fillRect(placeOf(view, 0), y, placeOf(view, lane.end_ns) - placeOf(view, 0), row - 1);
      if (row < 7) continue;
      for (const [label, start, end] of lane.phases) {
        const [x, right] = [placeOf(view, start), placeOf(view, end)];
        if (right < view.left || x > view.right) continue;
        context.fillStyle = color(PHASES[label % PHASES.length]);
        context.fillRect(x, y + row - 3, Math.max(right - x, 1), 2);
      }
    }
  }

  private paintOperations(context: CanvasRenderingContext2D, view: View): void {
    const { execution } = this;
    if (!execution) return;
    const bins = Math.max(1, Math.floor(view.right - view.left));
    const part = {
      from: (view.from - execution.start_ns) / execution.column_ns,
      to: (view.to - execution.start_ns) / execution.column_ns,
    };
    const { busy } = sum(execution, everything(), part, bins);
    const colors = classColors();
    const binNs = (view.to - view.from) / bins;
    for (let band = 0; band < execution.bands.length; band++) {
      const [first, last] = execution.bands[band];
      const y = this.rankY(first);
      const height = (last - first + 1) * this.row - (this.row >= 7 ? 4 : 1);
      for (let bin = 0; bin < bins; bin++) {
        const at = (band * bins + bin) * CLASSES.length;
        let [all, most] = [0, 0];
        for (let kind = 0; kind < CLASSES.length; kind++) {
          all += busy[at + kind];
          if (busy[at + kind] > busy[at + most]) most = kind;
        }
        if (all === 0) continue;
        context.globalAlpha = 0.3 + 0.7 * Math.min(all / (binNs * (last - first + 1)), 1);
        context.fillStyle = colors[most];
        context.fillRect(view.left + bin, y, 1, height);
      }
    }
    context.globalAlpha = 1;
  }

  private paintWaits(context: CanvasRenderingContext2D, view: View, scene: Scene): void {
    const [plain, never] = [hatch(context, color("muted")), hatch(context, color("bad"))];
    const height = this.row - (this.row >= 7 ? 4 : 1);
    for (const lane of scene.lanes) {
      for (const wait of lane.waits) {
        const [x, right] = [placeOf(view, wait.from_ns), placeOf(view, wait.to_ns)];
        if (right < view.left || x > view.right) continue;
        context.fillStyle = wait.never ? never : plain;
        context.fillRect(x, this.rankY(lane.rank), Math.max(right - x, wait.never ? 6 : 0.5), height);
      }
    }
  }

  private paintMeetings(context: CanvasRenderingContext2D, view: View, scene: Scene): void {
    const all = scene.meetings.filter((one) => one.ns >= view.from && one.ns <= view.to);
    context.strokeStyle = color("text");
    context.fillStyle = color("text");
    context.lineWidth = 1;
    context.globalAlpha = all.length > ENDS ? 0.25 : 0.8;
    for (const one of all) {
      const x = Math.round(placeOf(view, one.ns)) + 0.5;
      context.beginPath();
      context.moveTo(x, this.rankY(one.first_rank));
      context.lineTo(x, this.rankY(one.last_rank) + this.row - 1);
      context.stroke();
      if (all.length > ENDS || one.spread_ns === 0) continue;
      context.beginPath();
      context.arc(x, this.rankY(one.late_rank) + this.row / 2, Math.min(3.5, this.row / 2), 0, 7);
      context.fill();
    }
    context.globalAlpha = 1;
  }

  private paintSignals(context: CanvasRenderingContext2D, view: View, scene: Scene): void {
    const all = scene.signals.filter((one) => one.got_ns >= view.from && one.given_ns <= view.to);
    context.strokeStyle = color("link");
    context.fillStyle = color("link");
    context.lineWidth = 1.2;
    context.globalAlpha = all.length > ENDS ? 0.35 : 1;
    for (const one of all) {
      const from = [placeOf(view, one.given_ns), this.rankY(one.from_rank) + this.row / 2];
      const to = [placeOf(view, one.got_ns), this.rankY(one.to_rank) + this.row / 2];
      context.beginPath();
      context.moveTo(from[0], from[1]);
      context.lineTo(to[0], to[1]);
      context.stroke();
      if (all.length <= ENDS) arrow(context, from, to);
    }
    context.globalAlpha = 1;
  }

  /** A rank that did not finish has a cross at its end. */
  private paintEnds(context: CanvasRenderingContext2D, view: View, scene: Scene): void {
    context.strokeStyle = color("bad");
    context.lineWidth = 2;
    const size = Math.min(4, this.row / 2);
    for (const lane of scene.lanes) {
      if (lane.end === "finished" || lane.end === "interrupted") continue;
      const x = Math.min(placeOf(view, lane.end_ns), view.right - size);
      const y = this.rankY(lane.rank) + this.row / 2;
      context.beginPath();
      context.moveTo(x - size, y - size);
      context.lineTo(x + size, y + size);
      context.moveTo(x + size, y - size);
      context.lineTo(x - size, y + size);
      context.stroke();
    }
  }

  private paintNames(context: CanvasRenderingContext2D, view: View, scene: Scene): void {
    context.fillStyle = color("muted");
    context.textAlign = "left";
    if (this.phaseRows > 0) context.fillText("Phases, first rank in to last rank out", view.left, TITLE / 2);
    context.fillText("Ranks", view.left, this.top - TITLE / 2);
    context.fillStyle = color("text");
    context.textAlign = "right";
    const step = Math.ceil(13 / this.row);
    for (let rank = 0; rank < scene.ranks; rank += step) {
      context.fillText(String(rank), view.left - 6, this.rankY(rank) + Math.max(this.row - 3, 6) / 2);
    }
  }

  describe(view: View, x: number, y: number): string[] {
    const { scene } = this;
    if (!scene) return [];
    const ns = valueAt(view, x);
    if (y < this.top) return this.phasesAt(scene, ns);
    const rank = Math.floor((y - this.top) / this.row);
    const lane = scene.lanes[rank];
    if (!lane) return [];
    const lines = [`rank ${rank} at ${time(ns)}`];
    if (ns > lane.end_ns) return [...lines, endInWords(lane.end)];
    const inside = lane.phases.filter(([, start, end]) => start <= ns && ns <= end).at(-1);
    if (inside) lines.push(`in ${scene.labels[inside[0]]}`);
    const wait = lane.waits.find((one) => one.from_ns <= ns && ns <= one.to_ns);
    if (wait) return [...lines, waitInWords(wait)];
    return [...lines, ...this.callsAt(rank, ns, (view.to - view.from) / (view.right - view.left))];
  }

  private phasesAt(scene: Scene, ns: number): string[] {
    const inside = hullsOf(scene).filter(([, start, end]) => start <= ns && ns <= end);
    return inside.map(([label, start, end]) => `${scene.labels[label]}: ${time(end - start)}`);
  }

  private callsAt(rank: number, ns: number, pixelNs: number): string[] {
    const { execution } = this;
    if (!execution) return [];
    const band = execution.bands.findIndex(([first, last]) => first <= rank && rank <= last);
    const at = (value: number) => (value - execution.start_ns) / execution.column_ns;
    const found = streamsBetween(execution, everything(), band, at(ns), at(ns + pixelNs));
    return found.slice(0, SHOWN).map((one) => {
      const [, , op, line, file] = execution.streams[one.stream];
      const words = [execution.ops[op][0]];
      if (line >= 0) words.push(`line ${execution.lines[line][1]}`);
      if (file >= 0) words.push(fileName(execution, file));
      const calls = one.calls === 1 ? "1 call" : `${count(one.calls)} calls`;
      const size = one.bytes > 0 ? `, ${bytes(one.bytes)}` : "";
      return `${words.join(", ")}: ${calls}${size}, ${time(one.busy)}`;
    });
  }
}

/** How many labels each is inside of. */
function depthsOf(labels: string[]): number[] {
  const all = new Set(labels);
  return labels.map((label) => {
    let depth = 0;
    for (let at = label.indexOf("/"); at >= 0; at = label.indexOf("/", at + 1)) {
      if (all.has(label.slice(0, at))) depth += 1;
    }
    return depth;
  });
}

function nameOf(labels: string[], label: number): string {
  const outer = labels.filter((other) => labels[label].startsWith(`${other}/`));
  const longest = outer.reduce((most, other) => Math.max(most, other.length + 1), 0);
  return labels[label].slice(longest);
}

const hulls = new WeakMap<Scene, [number, number, number][]>();

/** Occurrences of labels over all ranks: those that overlap in time are one. */
function hullsOf(scene: Scene): [number, number, number][] {
  const known = hulls.get(scene);
  if (known) return known;
  const all = scene.lanes.flatMap((lane) => lane.phases).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const found: [number, number, number][] = [];
  for (const [label, start, end] of all) {
    const last = found.at(-1);
    if (last && last[0] === label && start < last[2]) last[2] = Math.max(last[2], end);
    else found.push([label, start, end]);
  }
  hulls.set(scene, found);
  return found;
}

function arrow(context: CanvasRenderingContext2D, from: number[], to: number[]): void {
  const angle = Math.atan2(to[1] - from[1], to[0] - from[0]);
  context.beginPath();
  context.moveTo(to[0], to[1]);
  for (const side of [2.6, -2.6]) {
    context.lineTo(to[0] + 6 * Math.cos(angle + side), to[1] + 6 * Math.sin(angle + side));
  }
  context.closePath();
  context.fill();
}

export function endInWords(end: string): string {
  return end === "interrupted" ? "not executed any further" : end;
}

export function waitInWords(wait: Wait): string {
  const what = wait.never ? `waits for ${wait.what}, which never comes` : `waits for ${wait.what}`;
  const did = wait.kind === "signal" ? "gives it" : "comes last";
  const whom = wait.for_rank >= 0 ? `; rank ${wait.for_rank} ${did}` : "";
  return `line ${wait.line}: ${what}${whom} (${time(wait.to_ns - wait.from_ns)})`;
}

export function meetingInWords(one: Meeting): string {
  const late =
    one.spread_ns > 0
      ? `rank ${one.late_rank} came last, ${time(one.spread_ns)} after the first`
      : "all came at once";
  return `line ${one.line}: ${one.members} ranks met at ${one.what}, ${late}`;
}

export function signalInWords(one: Signal): string {
  return `"${one.name}" from rank ${one.from_rank} to rank ${one.to_rank}`;
}
