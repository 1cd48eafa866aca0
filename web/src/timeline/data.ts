// The time line's data as the crate `page` encodes it (crates/page/src/aggregate/encode.rs).

export type Class = "read" | "write" | "metadata" | "other";

/** One execution, its arrays still encoded. */
export interface Encoded {
  name: string;
  start_ns: number;
  end_ns: number;
  columns: number;
  column_ns: number;
  ranks: number;
  /** First and last rank of each row. */
  bands: [number, number][];
  labels: string[];
  ops: [string, Class][];
  /** Number of the file of the program, and line. */
  lines: [number, number][];
  files: string[];
  more_files: number;
  /** Band, label, operation, line or -1, file or -1. */
  streams: [number, number, number, number, number][];
  /** Label, start, end, ranks. */
  phases: [number, number, number, number][];
  events: number;
  failed: number;
  sample_every: number;
  notes: string[];
  cells: string;
  latency: { columns: number; data: string };
  offsets: { columns: number; rows: number; end_bytes: number; data: string };
}

/** Sums of the calls of a stream that began in a column, all cells of all streams one after another. */
export interface Cells {
  /** First cell of each stream, and the end of the last one. */
  first: Uint32Array;
  column: Uint32Array;
  calls: Float64Array;
  bytes: Float64Array;
  busy: Float64Array;
  longest: Float64Array;
  /** Columns that a cell is drawn over: several calls fill theirs, one alone lasts as long as it did. */
  length: Float64Array;
  /** Longest call of each stream, in columns. */
  reach: Float64Array;
}

/** Calls by operation, column and duration. */
export interface Latency {
  columns: number;
  op: Uint16Array;
  column: Uint32Array;
  /** Durations, 16 steps an octave. */
  code: Uint16Array;
  /** One more than the largest code. */
  codes: number;
  calls: Float64Array;
}

/** Bytes by file, kind, column and row of positions. */
export interface Offsets {
  columns: number;
  rows: number;
  end: number;
  file: Uint16Array;
  isWrite: Uint8Array;
  column: Uint32Array;
  row: Uint16Array;
  bytes: Float64Array;
}

export interface Execution extends Omit<Encoded, "cells" | "latency" | "offsets"> {
  cells: Cells;
  latency: Latency;
  offsets: Offsets;
}

/** Base 64 of zlib to bytes. */
async function inflate(text: string): Promise<Uint8Array> {
  const packed = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Numbers of a section, LEB128. */
class Varints {
  private at = 0;
  constructor(private readonly bytes: Uint8Array) {}

  get isEnd(): boolean {
    return this.at >= this.bytes.length;
  }

  next(): number {
    let [value, scale] = [0, 1];
    for (;;) {
      if (this.isEnd) throw new Error("the data of the time line end in the middle");
      const byte = this.bytes[this.at++];
      value += (byte & 127) * scale;
      if (byte < 128) return value;
      scale *= 128;
    }
  }
}

/** Sections with their lengths before them. */
function sections(bytes: Uint8Array): Uint8Array[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const all: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; ) {
    const length = view.getUint32(at, true);
    all.push(bytes.subarray(at + 4, at + 4 + length));
    at += 4 + length;
  }
  return all;
}

/** A duration in nanoseconds out of its code of 64 steps an octave. */
function duration(code: number): number {
  return code === 0 ? 0 : 2 ** ((code - 0.5) / 64);
}

function cellsOf(bytes: Uint8Array, streams: number, columnNs: number): Cells {
  const [counts, gaps, calls, sizes, high, low, longHigh, longLow] = sections(bytes);
  const numbers = new Varints(counts);
  const first = new Uint32Array(streams + 1);
  for (let at = 0; at < streams; at++) first[at + 1] = first[at] + numbers.next();
  const all = first[streams];
  const cells: Cells = {
    first,
    column: new Uint32Array(all),
    calls: new Float64Array(all),
    bytes: new Float64Array(all),
    busy: new Float64Array(all),
    longest: new Float64Array(all),
    length: new Float64Array(all),
    reach: new Float64Array(streams),
  };
  const [gap, call, size] = [new Varints(gaps), new Varints(calls), new Varints(sizes)];
  let several = 0;
  for (let stream = 0; stream < streams; stream++) {
    let column = -1;
    for (let at = first[stream]; at < first[stream + 1]; at++) {
      column += 1 + gap.next();
      cells.column[at] = column;
      cells.calls[at] = call.next();
      cells.bytes[at] = size.next();
      cells.busy[at] = duration(high[at] * 256 + low[at]);
      const isSeveral = cells.calls[at] > 1;
      const longest = isSeveral ? duration(longHigh[several] * 256 + longLow[several]) : cells.busy[at];
      several += isSeveral ? 1 : 0;
      cells.longest[at] = longest;
      cells.length[at] = Math.max(longest / columnNs, isSeveral ? 1 : 0);
      cells.reach[stream] = Math.max(cells.reach[stream], cells.length[at]);
    }
  }
  return cells;
}

/** The duration of a code of latencies, in nanoseconds. */
export function latencyNs(code: number): number {
  return code === 0 ? 0 : 2 ** ((code - 0.5) / 16);
}

function latencyOf(bytes: Uint8Array, ops: number, columns: number): Latency {
  const numbers = new Varints(bytes);
  const rows: [number, number, number, number][] = [];
  for (let op = 0; op < ops && !numbers.isEnd; op++) {
    let column = -1;
    for (let left = numbers.next(); left > 0; left--) {
      column += 1 + numbers.next();
      let code = -1;
      for (let codes = numbers.next(); codes > 0; codes--) {
        code += 1 + numbers.next();
        rows.push([op, column, code, numbers.next()]);
      }
    }
  }
  return {
    columns,
    op: Uint16Array.from(rows, (row) => row[0]),
    column: Uint32Array.from(rows, (row) => row[1]),
    code: Uint16Array.from(rows, (row) => row[2]),
    codes: rows.reduce((most, row) => Math.max(most, row[2] + 1), 1),
    calls: Float64Array.from(rows, (row) => row[3]),
  };
}

function offsetsOf(bytes: Uint8Array, head: Encoded["offsets"]): Offsets {
  const numbers = new Varints(bytes);
  const found: [number, number, number, number, number][] = [];
  while (!numbers.isEnd) {
    const [file, kind] = [numbers.next(), numbers.next()];
    let place = -1;
    for (let left = numbers.next(); left > 0; left--) {
      place += 1 + numbers.next();
      const code = numbers.next();
      const size = code === 0 ? 0 : 2 ** ((code - 0.5) / 4);
      found.push([file, kind, Math.floor(place / head.rows), place % head.rows, size]);
    }
  }
  return {
    columns: head.columns,
    rows: head.rows,
    end: head.end_bytes,
    file: Uint16Array.from(found, (cell) => cell[0]),
    isWrite: Uint8Array.from(found, (cell) => cell[1]),
    column: Uint32Array.from(found, (cell) => cell[2]),
    row: Uint16Array.from(found, (cell) => cell[3]),
    bytes: Float64Array.from(found, (cell) => cell[4]),
  };
}

/** Unpacks an execution. */
export async function decode(encoded: Encoded): Promise<Execution> {
  const [cells, latency, offsets] = await Promise.all(
    [encoded.cells, encoded.latency.data, encoded.offsets.data].map(inflate),
  );
  return {
    ...encoded,
    cells: cellsOf(cells, encoded.streams.length, encoded.column_ns),
    latency: latencyOf(latency, encoded.ops.length, encoded.latency.columns),
    offsets: offsetsOf(offsets, encoded.offsets),
  };
}
