// What the visible part of an execution adds up to, by column of the screen.

import type { Class, Execution } from "./data";

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
  const { cells, bands, streams, column_ns: columnNs } = execution;
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
  const scale = bins / (part.to - part.from);
  for (let stream = 0; stream < streams.length; stream++) {
    if (!isShown(execution, filter, stream)) continue;
    const [band, , op] = streams[stream];
    const kind = CLASSES.indexOf(execution.ops[op][1]);
    const moved = kind === 0 ? sums.read : kind === 1 ? sums.written : undefined;
    const reach = Math.ceil(cells.reach[stream]) + 1;
    const end = cells.first[stream + 1];
    for (let at = firstFrom(execution, stream, part.from - reach); at < end; at++) {
      const column = cells.column[at];
      if (column >= part.to) break;
      if (column >= Math.floor(part.from)) {
        sums.calls += cells.calls[at];
        sums.busyNs += cells.busy[at];
        if (kind === 0) sums.readBytes += cells.bytes[at];
        if (kind === 1) sums.writtenBytes += cells.bytes[at];
      }
      // Several calls fill their column; one alone lasts as long as it did.
      const length = Math.max(cells.longest[at] / columnNs, cells.calls[at] > 1 ? 1 : 0);
      spread((column - part.from) * scale, length * scale, bins, (bin, share) => {
        if (moved) moved[bin] += cells.bytes[at] * share;
        sums.busy[(band * bins + bin) * CLASSES.length + kind] += cells.busy[at] * share;
      });
    }
  }
  return sums;
}

/** Shares of the bins in a span; a short one lies in one bin. */
function spread(
  start: number,
  length: number,
  bins: number,
  add: (bin: number, share: number) => void,
): void {
  const [first, last] = [Math.floor(start), Math.floor(start + length)];
  if (first >= bins || last < 0) return;
  if (first === last || length <= 0) {
    if (first >= 0) add(first, 1);
    return;
  }
  for (let bin = Math.max(first, 0); bin <= Math.min(last, bins - 1); bin++) {
    const inside = Math.min(bin + 1, start + length) - Math.max(bin, start);
    if (inside > 0) add(bin, inside / length);
  }
}

/** Median and 99th percentile of the calls that began in each of some spans; NaN without calls. */
export function percentiles(
  execution: Execution,
  filter: Filter,
  part: Part,
  spans: number,
): { p50: Float64Array; p99: Float64Array } {
  const { latency } = execution;
  const perColumn = execution.columns / latency.columns;
  const lists: [number, number][][] = Array.from({ length: spans }, () => []);
  for (let at = 0; at < latency.op.length; at++) {
    const op = latency.op[at];
    if (filter.op >= 0 && op !== filter.op) continue;
    if (filter.hidden.has(execution.ops[op][1])) continue;
    const middle = (latency.column[at] + 0.5) * perColumn;
    const span = Math.floor(((middle - part.from) / (part.to - part.from)) * spans);
    if (span >= 0 && span < spans) lists[span].push([latency.ns[at], latency.calls[at]]);
  }
  const quantile = (share: number) => Float64Array.from(lists, (list) => quantileOf(list, share));
  for (const list of lists) list.sort((a, b) => a[0] - b[0]);
  return { p50: quantile(0.5), p99: quantile(0.99) };
}

function quantileOf(sorted: [number, number][], share: number): number {
  const all = sorted.reduce((sum, entry) => sum + entry[1], 0);
  let seen = 0;
  for (const [ns, calls] of sorted) {
    seen += calls;
    if (seen >= share * all) return ns;
  }
  return Number.NaN;
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
  const { cells, column_ns: columnNs } = execution;
  for (let stream = 0; stream < execution.streams.length; stream++) {
    if (band >= 0 && execution.streams[stream][0] !== band) continue;
    if (!isShown(execution, filter, stream)) continue;
    const one = { stream, calls: 0, bytes: 0, busy: 0, longest: 0 };
    const reach = Math.ceil(cells.reach[stream]) + 1;
    for (let at = firstFrom(execution, stream, from - reach); at < cells.first[stream + 1]; at++) {
      const column = cells.column[at];
      if (column >= to) break;
      if (column + Math.max(cells.longest[at] / columnNs, 1) <= from) continue;
      one.calls += cells.calls[at];
      one.bytes += cells.bytes[at];
      one.busy += cells.busy[at];
      one.longest = Math.max(one.longest, cells.longest[at]);
    }
    if (one.calls > 0) found.push(one);
  }
  return found.sort((a, b) => b.busy - a.busy);
}
