// The data of a page, read again from its text: what the script shows is compared with this.

import { readFileSync } from "node:fs";
import { inflateSync } from "node:zlib";
import { FOLDER } from "./pages";

export interface Cell {
  band: number;
  label: number;
  op: number;
  line: number;
  file: number;
  column: number;
  calls: number;
  bytes: number;
}

export interface Head {
  columns: number;
  column_ns: number;
  start_ns: number;
  end_ns: number;
  labels: string[];
  ops: [string, string][];
  lines: [number, number][];
  streams: [number, number, number, number, number][];
  cells: string;
  events: number;
}

/** Data of the executions of a page. */
export function executions(name: string): Head[] {
  const text = readFileSync(`${FOLDER}/${name}.html`, "utf8");
  const found = /<script type="application\/json" id="timeline-data">(.*?)<\/script>/s.exec(text);
  if (!found) throw new Error(`${name} has no time line`);
  return JSON.parse(found[1]).executions;
}

/** The cells of an execution, by an own reader of the format. */
export function cells(head: Head): Cell[] {
  const bytes = inflateSync(Buffer.from(head.cells, "base64"));
  const parts: number[][] = [];
  for (let at = 0; at < bytes.length; ) {
    const length = bytes.readUInt32LE(at);
    const part = bytes.subarray(at + 4, at + 4 + length);
    parts.push(parts.length < 4 ? numbers(part) : [...part]);
    at += 4 + length;
  }
  const [counts, gaps, calls, sizes] = parts;
  const all: Cell[] = [];
  head.streams.forEach(([band, label, op, line, file], stream) => {
    let column = -1;
    for (let left = counts[stream]; left > 0; left--) {
      column += gaps[all.length] + 1;
      all.push({ band, label, op, line, file, column, calls: calls[all.length], bytes: sizes[all.length] });
    }
  });
  return all;
}

function numbers(bytes: Uint8Array): number[] {
  const found: number[] = [];
  let [value, scale] = [0, 1];
  for (const byte of bytes) {
    value += (byte & 127) * scale;
    scale *= 128;
    if (byte < 128) {
      found.push(value);
      [value, scale] = [0, 1];
    }
  }
  return found;
}

export function sum(of: Cell[], figure: (cell: Cell) => number): number {
  return of.reduce((all, cell) => all + figure(cell), 0);
}

/** Lines of a CSV file of `report --data`, without its header. */
export function csv(name: string): string[][] {
  const lines = readFileSync(`${FOLDER}/data/${name}.csv`, "utf8").trim().split(/\r?\n/);
  return lines.slice(1).map((line) => line.split(","));
}
