// The lanes of the time line on a canvas: phases, bandwidth, latency, ranks, positions in files.

import { scaleLinear, scaleLog } from "d3-scale";
import { scaleOf } from "../charts/chart";
import { color } from "../dom";
import { bytes, time } from "../format";
import type { Execution } from "./data";
import { CLASSES, type Filter, fileOf, type Part, type Percentiles, type Sums } from "./sums";

/** A lane: its name and where it is. */
export interface Lane {
  name: "phases" | "bandwidth" | "latency" | "ranks" | "positions";
  title: string;
  top: number;
  height: number;
}

/** Space left of the lanes for their numbers. */
export const LEFT = 78;
const RIGHT = 26;
const TITLE = 18;
const GAP = 14;
const AXIS = 24;
const PHASE = 18;
/** Screen columns of a value of latency. */
const LATENCY_STEP = 4;

/** Values of latency that fit. */
export function spansOf(width: number): number {
  return Math.max(1, Math.floor(inner(width) / LATENCY_STEP));
}

/** Colours by class, in the order of the sums. */
export function classColors(): string[] {
  return [color("read"), color("write"), color("meta"), color("s2")];
}

export interface Scene {
  execution: Execution;
  filter: Filter;
  part: Part;
  width: number;
  lanes: Lane[];
  sums: Sums;
  latency: Percentiles;
  /** Calls that are stressed, the others are pale; nothing: all alike. */
  stressed: Sums | undefined;
}

/** Lanes of an execution and the height of all. */
export function lanesOf(execution: Execution): { lanes: Lane[]; height: number } {
  const all = placesOf(execution);
  const depth = execution.phases.reduce((most, [label]) => Math.max(most, all[label].row + 1), 0);
  const wanted: [Lane["name"], string, number][] = [
    ["phases", "Phases", Math.min(depth, 6) * PHASE],
    ["bandwidth", "Bandwidth, all ranks", 90],
    ["latency", "Latency of all ranks and files: median, and 99th percentile dashed", 80],
    ["ranks", "Ranks in calls", Math.min(Math.max(execution.bands.length * 9, 26), 260)],
    ["positions", "Positions in files", 90],
  ];
  const has: Record<Lane["name"], boolean> = {
    phases: depth > 0,
    bandwidth: execution.cells.bytes.some((size) => size > 0),
    latency: execution.latency.op.length > 0,
    ranks: true,
    positions: execution.offsets.file.length > 0 && execution.offsets.end > 0,
  };
  let top = 0;
  const lanes: Lane[] = [];
  for (const [name, title, height] of wanted) {
    if (!has[name]) continue;
    lanes.push({ name, title, top: top + TITLE, height });
    top += TITLE + height + GAP;
  }
  return { lanes, height: top + AXIS };
}

/** Where a label is in the lane of phases, and its name there. */
interface Place {
  row: number;
  name: string;
}

const places = new WeakMap<Execution, Place[]>();

/** The places of all labels, found once: there may be thousands. */
function placesOf(execution: Execution): Place[] {
  const known = places.get(execution);
  if (known) return known;
  const all = new Set(execution.labels.filter((label) => label !== ""));
  const found = execution.labels.map((label) => placeOf(label, all));
  places.set(execution, found);
  return found;
}

/** Labels inside of others have rows below them and no name of theirs; their own text may have strokes. */
function placeOf(label: string, all: Set<string>): Place {
  let [row, length] = [0, 0];
  for (let at = label.indexOf("/"); at >= 0; at = label.indexOf("/", at + 1)) {
    if (all.has(label.slice(0, at))) [row, length] = [row + 1, at + 1];
  }
  return { row, name: label.slice(length) || "(no label)" };
}

export function inner(width: number): number {
  return Math.max(width - LEFT - RIGHT, 40);
}

/** Draws everything. */
export function draw(context: CanvasRenderingContext2D, scene: Scene, height: number): void {
  context.clearRect(0, 0, scene.width, height);
  context.font = '12px system-ui, "DejaVu Sans", sans-serif';
  context.textBaseline = "middle";
  for (const lane of scene.lanes) {
    context.fillStyle = color("muted");
    context.textAlign = "left";
    const isWide = context.measureText(lane.title).width <= inner(scene.width) + RIGHT;
    context.fillText(isWide ? lane.title : lane.title.split(":")[0], LEFT, lane.top - TITLE / 2);
    context.save();
    drawers[lane.name](context, scene, lane);
    context.restore();
  }
  drawTimeAxis(context, scene, height - AXIS);
}

const drawers: Record<Lane["name"], (context: CanvasRenderingContext2D, scene: Scene, lane: Lane) => void> = {
  phases: drawPhases,
  bandwidth: drawBandwidth,
  latency: drawLatency,
  ranks: drawRanks,
  positions: drawPositions,
};

/** Where a time since the start of the execution lies. */
export function xOf(scene: Scene, ns: number): number {
  const { part, execution, width } = scene;
  return LEFT + ((ns / execution.column_ns - part.from) / (part.to - part.from)) * inner(width);
}

/** The time at a place, since the start of the execution. */
export function nsAt(scene: TimeAxis, x: number): number {
  const { part, execution, width } = scene;
  return (part.from + ((x - LEFT) / inner(width)) * (part.to - part.from)) * execution.column_ns;
}

/** The visible part of an axis of time, in columns. */
export type TimeAxis = Pick<Scene, "part" | "width"> & { execution: Pick<Execution, "column_ns"> };

export function drawTimeAxis(context: CanvasRenderingContext2D, scene: TimeAxis, top: number): void {
  const [from, to] = [nsAt(scene, LEFT), nsAt(scene, LEFT + inner(scene.width))];
  const unit = to - from > 2e9 ? 1e9 : to - from > 2e6 ? 1e6 : to - from > 2e3 ? 1e3 : 1;
  const name = { 1e9: "s", 1e6: "ms", 1e3: "µs", 1: "ns" }[unit];
  const scale = scaleLinear([from / unit, to / unit], [LEFT, LEFT + inner(scene.width)]);
  const wanted = Math.max(2, Math.floor(inner(scene.width) / 100));
  const ticks = scale.ticks(wanted);
  const step = ticks.length > 1 ? ticks[1] - ticks[0] : 1;
  const decimals = Math.min(6, Math.max(0, Math.ceil(-Math.log10(step) - 1e-9)));
  context.fillStyle = color("text");
  context.strokeStyle = color("axis");
  context.textAlign = "center";
  context.beginPath();
  context.moveTo(LEFT, top + 0.5);
  context.lineTo(LEFT + inner(scene.width), top + 0.5);
  for (const tick of ticks) {
    const x = Math.round(scale(tick)) + 0.5;
    context.moveTo(x, top);
    context.lineTo(x, top + 4);
    context.fillText(`${tick.toFixed(decimals)} ${name}`, x, top + 14);
  }
  context.stroke();
}

function drawPhases(context: CanvasRenderingContext2D, scene: Scene, lane: Lane): void {
  clip(context, scene, lane);
  context.textAlign = "left";
  const all = placesOf(scene.execution);
  for (const [label, start, end] of scene.execution.phases) {
    if (scene.filter.label >= 0 && label !== scene.filter.label) continue;
    const offset = scene.execution.start_ns;
    const [x, right] = [xOf(scene, start - offset), xOf(scene, end - offset)];
    if (right < LEFT || x > scene.width) continue;
    const y = lane.top + all[label].row * PHASE;
    context.fillStyle = color("soft");
    context.strokeStyle = color("axis");
    context.fillRect(x, y + 1, Math.max(right - x, 1), PHASE - 3);
    context.strokeRect(x + 0.5, y + 1.5, Math.max(right - x - 1, 1), PHASE - 4);
    const { name } = all[label];
    const left = Math.max(x, LEFT) + 5;
    const room = Math.min(right, scene.width) - left;
    // Narrow ones are not measured: there may be thousands.
    if (room > 4 && context.measureText(name).width < room) {
      context.fillStyle = color("text");
      context.fillText(name, left, y + PHASE / 2);
    }
  }
}

function clip(context: CanvasRenderingContext2D, scene: Scene, lane: Lane): void {
  context.beginPath();
  context.rect(LEFT, lane.top - 1, inner(scene.width), lane.height + 2);
  context.clip();
}

/** Numbers and lines of a scale. */
function drawScale(
  context: CanvasRenderingContext2D,
  scene: Scene,
  lane: Lane,
  ticks: { at: number; text: string }[],
): void {
  context.strokeStyle = color("grid");
  context.fillStyle = color("text");
  context.textAlign = "right";
  let last = Number.POSITIVE_INFINITY;
  for (const { at, text } of ticks) {
    const y = lane.top + lane.height * (1 - at);
    context.beginPath();
    context.moveTo(LEFT, Math.round(y) + 0.5);
    context.lineTo(LEFT + inner(scene.width), Math.round(y) + 0.5);
    context.stroke();
    if (Math.abs(y - last) >= 14) {
      context.fillText(text, LEFT - 6, y);
      last = y;
    }
  }
}

/** MiB/s in each screen column. */
export function rates(scene: Scene, moved: Float64Array): Float64Array {
  const seconds = (((scene.part.to - scene.part.from) / scene.sums.bins) * scene.execution.column_ns) / 1e9;
  const every = Math.max(scene.execution.sample_every, 1);
  return moved.map((size) => (size * every) / 1048576 / seconds);
}

function drawBandwidth(context: CanvasRenderingContext2D, scene: Scene, lane: Lane): void {
  const lines = [rates(scene, scene.sums.read), rates(scene, scene.sums.written)];
  const most = Math.max(...lines.map((line) => line.reduce((a, b) => Math.max(a, b), 0)), 1e-9);
  const axis = { title: "", unit: "mib_s" as const, log: false };
  const { place: scale, ticks } = scaleOf(axis, [0, most * 1.05], [0, 1], true);
  drawScale(
    context,
    scene,
    lane,
    ticks.filter((_, at) => at % 2 === 0).map((tick) => ({ at: scale(tick.value), text: tick.text })),
  );
  const colors = classColors();
  lines.forEach((line, kind) => {
    context.fillStyle = colors[kind];
    context.globalAlpha = 0.75;
    for (let bin = 0; bin < line.length; bin++) {
      const height = scale(line[bin]) * lane.height;
      if (height > 0) context.fillRect(LEFT + bin, lane.top + lane.height - height, 1, height);
    }
  });
}

function drawLatency(context: CanvasRenderingContext2D, scene: Scene, lane: Lane): void {
  const { spans, p50, p99 } = scene.latency;
  const known = [...p50, ...p99].filter((ns) => ns > 0);
  if (known.length === 0) return;
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const scale = scaleLog([low / 1.3, high * 1.3], [0, 1]);
  const decades = scale.ticks(4).filter((tick) => Math.abs(Math.log10(tick) % 1) < 1e-9);
  const ticks = decades.length > 1 ? decades : [low, high];
  drawScale(
    context,
    scene,
    lane,
    ticks.map((tick) => ({ at: scale(tick), text: time(tick) })),
  );
  clip(context, scene, lane);
  for (const [line, name] of [
    [p99, "muted"],
    [p50, "text"],
  ] as const) {
    context.strokeStyle = color(name);
    context.lineWidth = 1.5;
    context.setLineDash(name === "muted" ? [3, 2] : []);
    context.beginPath();
    line.forEach((ns, at) => {
      if (!(ns > 0)) return;
      const y = lane.top + lane.height * (1 - scale(ns));
      const x = LEFT + (at / spans) * inner(scene.width);
      context.moveTo(x, y);
      context.lineTo(x + Math.max(LATENCY_STEP, inner(scene.width) / spans), y);
    });
    context.stroke();
  }
}

/** A colour as the bytes of a pixel, without its weight. */
function pixelOf(text: string): number {
  const [, red, green, blue] = /^#(..)(..)(..)$/.exec(text) ?? ["", "80", "80", "80"];
  return Number.parseInt(`${blue}${green}${red}`, 16);
}

/** The same with a weight from 0 to 1; small ones stay visible. */
function weighed(pixel: number, weight: number): number {
  return (Math.round(60 + 195 * Math.min(weight, 1)) << 24) | pixel;
}

/** An image of pixels that is stretched over the lane. */
function image(
  context: CanvasRenderingContext2D,
  scene: Scene,
  lane: Lane,
  columns: number,
  pixels: Uint32Array<ArrayBuffer>,
): void {
  const rows = pixels.length / columns;
  const canvas = new OffscreenCanvas(columns, rows);
  const bytes = new Uint8ClampedArray(pixels.buffer);
  canvas.getContext("2d")?.putImageData(new ImageData(bytes, columns, rows), 0, 0);
  context.imageSmoothingEnabled = false;
  context.drawImage(canvas, LEFT, lane.top, inner(scene.width), lane.height);
}

/** A pixel in full if it has stressed calls, else a pale one. */
function stress(colors: number[], busy: Float64Array, at: number): number {
  const kind = colors.findIndex((_, kind) => busy[at * CLASSES.length + kind] > 0);
  return kind < 0 ? (50 << 24) | 0x808080 : weighed(colors[kind], 1);
}

function drawRanks(context: CanvasRenderingContext2D, scene: Scene, lane: Lane): void {
  const { bands, column_ns: columnNs } = scene.execution;
  const { stressed } = scene;
  const { bins, busy } = scene.sums;
  const binNs = ((scene.part.to - scene.part.from) / bins) * columnNs;
  context.fillStyle = color("soft");
  context.fillRect(LEFT, lane.top, inner(scene.width), lane.height);
  const colors = classColors().map(pixelOf);
  const ranksNs = bands.map(([first, last]) => binNs * (last - first + 1));
  const pixels = new Uint32Array(bins * bands.length);
  for (let at = 0; at < pixels.length; at++) {
    let all = 0;
    let most = 0;
    for (let kind = 0; kind < CLASSES.length; kind++) {
      const own = busy[at * CLASSES.length + kind];
      all += own;
      if (own > busy[at * CLASSES.length + most]) most = kind;
    }
    if (all === 0) continue;
    const weight = all / ranksNs[Math.floor(at / bins)];
    pixels[at] = stressed ? stress(colors, stressed.busy, at) : weighed(colors[most], weight);
  }
  image(context, scene, lane, bins, pixels);
  context.fillStyle = color("text");
  context.textAlign = "right";
  const step = Math.ceil(bands.length / Math.max(1, Math.floor(lane.height / 13)));
  for (let row = 0; row < bands.length; row += step) {
    const [first, last] = bands[row];
    const y = lane.top + ((row + 0.5) / bands.length) * lane.height;
    context.fillText(first === last ? `${first}` : `${first}-${last}`, LEFT - 6, y);
  }
}

function drawPositions(context: CanvasRenderingContext2D, scene: Scene, lane: Lane): void {
  const { offsets, columns } = scene.execution;
  const bins = Math.min(scene.sums.bins, 1024);
  const perColumn = columns / offsets.columns;
  const moved = [new Float64Array(bins * offsets.rows), new Float64Array(bins * offsets.rows)];
  const { filter, part } = scene;
  const scale = bins / (part.to - part.from);
  let most = 0;
  for (let at = 0; at < offsets.file.length; at++) {
    if (filter.file >= 0 && offsets.file[at] !== filter.file) continue;
    if (filter.hidden.has(offsets.isWrite[at] ? "write" : "read")) continue;
    const start = Math.floor((offsets.column[at] * perColumn - part.from) * scale);
    const end = Math.floor(((offsets.column[at] + 1) * perColumn - part.from) * scale);
    for (let bin = Math.max(start, 0); bin < Math.min(Math.max(end, start + 1), bins); bin++) {
      const place = offsets.row[at] * bins + bin;
      moved[offsets.isWrite[at]][place] += offsets.bytes[at];
      most = Math.max(most, moved[offsets.isWrite[at]][place]);
    }
  }
  const [read, write] = classColors().map(pixelOf);
  const ends = [0, 0.5, 1].map((at) => ({ at, text: bytes(at * offsets.end) }));
  drawScale(context, scene, lane, ends);
  const pixels = new Uint32Array(bins * offsets.rows);
  for (let at = 0; at < pixels.length; at++) {
    // The first row of positions lies at the bottom.
    const place = (offsets.rows - 1 - Math.floor(at / bins)) * bins + (at % bins);
    const a = moved[0][place];
    const b = moved[1][place];
    if (a + b > 0) pixels[at] = weighed(a >= b ? read : write, 0.3 + 0.7 * (Math.max(a, b) / most));
  }
  image(context, scene, lane, bins, pixels);
}

/** The name of a file in a list. */
export function fileName(execution: Execution, file: number): string {
  const at = fileOf(execution, file);
  return (
    execution.files[at] ?? (execution.more_files > 0 ? `${execution.more_files} other files` : "no file")
  );
}
