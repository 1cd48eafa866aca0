// What the visible part of an execution adds up to, by column of the screen.

import { type Class, type Execution, latencyNs } from "./data";

/** Columns of the data that are visible; both may lie between columns. */
export interface Part {
  from: number;
  to: number;
}

/** What is chosen; -1: everything. */
export interface Filter {
  band: number;
  op: number;
  label: number;
  file: number;
  /** "file-line" of the program; "": all. */
  line: string;
  hidden: Set<Class>;
}

export function everything(): Filter {
  return { band: -1, op: -1, label: -1, file: -1, line: "", hidden: new Set() };
}

/** Classes in the order of the sums. */
export const CLASSES: Class[] = ["read", "write", "metadata", "other"];

export interface Sums {
  bins: number;
  /** Bytes that moved in each bin. */
  read: Float64Array;
  written: Float64Array;
  /** Time in calls, nanoseconds: [(band * bins + bin) * 4 + class]. */
  busy: Float64Array;
  /** Of calls that began in the visible part. */
  calls: number;
  readBytes: number;
  writtenBytes: number;
  busyNs: number;
}

export function isShown(execution: Execution, filter: Filter, stream: number): boolean {
  const [band, label, op, line, file] = execution.streams[stream];
  if (filter.band >= 0 && band !== filter.band) return false;
  if (filter.op >= 0 && op !== filter.op) return false;
  if (filter.label >= 0 && label !== filter.label) return false;
  if (filter.file >= 0 && fileOf(execution, file) !== filter.file) return false;
  if (filter.line !== "" && (line < 0 || execution.lines[line].join("-") !== filter.line)) return false;
  return !filter.hidden.has(execution.ops[op][1]);
}

/** The number of a file in lists: files without a number of their own are the last one. */
export function fileOf(execution: Execution, file: number): number {
  return file < 0 ? execution.files.length : file;
}

/** First cell of a stream whose column is at least this one. */
export function firstFrom(execution: Execution, stream: number, column: number): number {
  const { first, column: columns } = execution.cells;
  let [low, high] = [first[stream], first[stream + 1]];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (columns[middle] < column) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Adds the cells of the visible part up. The bytes of a call are spread over its time. */
export function sum(execution: Execution, filter: Filter, part: Part, bins: number): Sums {
  const { bands, streams } = execution;
  const sums: Sums = {
    bins,
    read: new Float64Array(bins),
    written: new Float64Array(bins),
    busy: new Float64Array(bands.length * bins * CLASSES.length),
    calls: 0,
    readBytes: 0,
    writtenBytes: 0,
    busyNs: 0,
  };
  for (let stream = 0; stream < streams.length; stream++) {
    if (isShown(execution, filter, stream)) addStream(execution, stream, part, sums);
  }
  return sums;
}

/** Adds an amount to the bins from `start` to `end`, `stride` numbers apart, by their shares. */
function spread(
  to: Float64Array,
  stride: number,
  bins: number,
  start: number,
  end: number,
  amount: number,
): void {
  const first = Math.floor(start);
  const last = Math.floor(end);
  if (first === last) {
    if (first >= 0 && first < bins) to[first * stride] += amount;
    return;
  }
  const until = Math.min(last, bins - 1);
  const density = amount / (end - start);
  for (let bin = Math.max(first, 0); bin <= until; bin++) {
    to[bin * stride] += (Math.min(bin + 1, end) - Math.max(bin, start)) * density;
  }
}

/**
 * Adds a stream; this runs for every visible cell of every frame. Where in its column a call began is unknown: its
 * bytes are spread over the whole column at least.
 */
function addStream(execution: Execution, stream: number, part: Part, sums: Sums): void {
  const { first: firsts, reach, column: columns, calls, bytes, busy, length: lengths } = execution.cells;
  const { bins } = sums;
  const [band, , op] = execution.streams[stream];
  const kind = CLASSES.indexOf(execution.ops[op][1]);
  const moved = kind === 0 ? sums.read : sums.written;
  const share = sums.busy.subarray(band * bins * CLASSES.length + kind, (band + 1) * bins * CLASSES.length);
  const isMoving = kind < 2;
  const scale = bins / (part.to - part.from);
  const begin = Math.floor(part.from);
  let [count, size, time] = [0, 0, 0];
  for (
    let at = firstFrom(execution, stream, part.from - reach[stream] - 1);
    at < firsts[stream + 1] && columns[at] < part.to;
    at++
  ) {
    if (columns[at] >= begin) {
      count += calls[at];
      size += bytes[at];
      time += busy[at];
    }
    const start = (columns[at] - part.from) * scale;
    const end = start + lengths[at] * scale;
    spread(share, CLASSES.length, bins, start, end, busy[at]);
    if (isMoving) spread(moved, 1, bins, start, Math.max(end, start + scale), bytes[at]);
  }
  sums.calls += count;
  sums.busyNs += time;
  if (kind === 0) sums.readBytes += size;
  if (kind === 1) sums.writtenBytes += size;
}

/** Median and 99th percentile in each of some spans of the visible part; NaN without calls. */
export interface Percentiles {
  spans: number;
  p50: Float64Array;
  p99: Float64Array;
}

/** Percentiles of the calls that began in each span, from a count of each code of a duration. */
export function percentiles(execution: Execution, filter: Filter, part: Part, spans: number): Percentiles {
  const { op: ops, column, code, calls, columns, codes } = execution.latency;
  const perColumn = execution.columns / columns;
  const scale = spans / (part.to - part.from);
  const isShownOp = execution.ops.map(
    ([, kind], op) => (filter.op < 0 || filter.op === op) && !filter.hidden.has(kind),
  );
  const counts = new Float64Array(spans * codes);
  const all = new Float64Array(spans);
  for (let at = 0; at < ops.length; at++) {
    const span = Math.floor(((column[at] + 0.5) * perColumn - part.from) * scale);
    if (span < 0 || span >= spans || !isShownOp[ops[at]]) continue;
    counts[span * codes + code[at]] += calls[at];
    all[span] += calls[at];
  }
  const quantile = (share: number) =>
    all.map((count, span) => quantileOf(counts, span, codes, share * count));
  return { spans, p50: quantile(0.5), p99: quantile(0.99) };
}

function quantileOf(counts: Float64Array, span: number, codes: number, wanted: number): number {
  if (wanted === 0) return Number.NaN;
  let [code, seen] = [0, counts[span * codes]];
  while (seen < wanted && code + 1 < codes) {
    code += 1;
    seen += counts[span * codes + code];
  }
  return latencyNs(code);
}

/** Sums of the streams that began calls between two columns, those with most time first. */
export function streamsBetween(
  execution: Execution,
  filter: Filter,
  band: number,
  from: number,
  to: number,
): { stream: number; calls: number; bytes: number; busy: number; longest: number }[] {
  const found: { stream: number; calls: number; bytes: number; busy: number; longest: number }[] = [];
  const { cells } = execution;
  for (let stream = 0; stream < execution.streams.length; stream++) {
    if (band >= 0 && execution.streams[stream][0] !== band) continue;
    if (!isShown(execution, filter, stream)) continue;
    const one = { stream, calls: 0, bytes: 0, busy: 0, longest: 0 };
    const reach = Math.ceil(cells.reach[stream]) + 1;
    for (let at = firstFrom(execution, stream, from - reach); at < cells.first[stream + 1]; at++) {
      const column = cells.column[at];
      if (column >= to) break;
      if (column + Math.max(cells.length[at], 1) <= from) continue;
      one.calls += cells.calls[at];
      one.bytes += cells.bytes[at];
      one.busy += cells.busy[at];
      one.longest = Math.max(one.longest, cells.longest[at]);
    }
    if (one.calls > 0) found.push(one);
  }
  return found.sort((a, b) => b.busy - a.busy);
}

/** Bytes by file and kind at a row of positions between two columns, most first; they are known to a sixth. */
export function movedAt(
  execution: Execution,
  filter: Filter,
  row: number,
  from: number,
  to: number,
): { file: number; isWrite: boolean; size: number }[] {
  const { offsets } = execution;
  const perColumn = execution.columns / offsets.columns;
  const found = new Map<number, number>();
  for (let at = 0; at < offsets.file.length; at++) {
    const start = offsets.column[at] * perColumn;
    if (offsets.row[at] !== row || start >= to || start + perColumn <= from) continue;
    if (filter.file >= 0 && offsets.file[at] !== filter.file) continue;
    if (filter.hidden.has(offsets.isWrite[at] ? "write" : "read")) continue;
    const key = offsets.file[at] * 2 + offsets.isWrite[at];
    found.set(key, (found.get(key) ?? 0) + offsets.bytes[at]);
  }
  const all = [...found].sort((a, b) => b[1] - a[1]);
  return all.map(([key, size]) => ({ file: key >> 1, isWrite: key % 2 === 1, size }));
}
