// Pages with calls that the tests know one by one, made without the binary: the parts of a page that the script looks
// for, and data in the format of crates/page/src/aggregate/encode.rs, written here a second time.

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { deflateSync } from "node:zlib";
import type { Encoded } from "../src/timeline/data";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** One call; times in nanoseconds since the start of the execution. */
export interface Call {
  rank: number;
  label: number;
  op: number;
  line: number;
  file: number;
  start: number;
  ns: number;
  bytes: number;
  offset: number;
}

export interface Known {
  calls: Call[];
  columns: number;
  columnNs: number;
  ranks: number;
}

export const LABELS = ["", "out", "out/deep", "a </b> label"];
export const OPS: Encoded["ops"] = [
  ["write", "write"],
  ["read", "read"],
  ["stat", "metadata"],
  ["sleep", "other"],
];
export const FILES = ["dir/first", "dir/second", "dir/third"];
export const LINES: [number, number][] = [
  [0, 2],
  [0, 3],
  [0, 5],
];
const ROWS = 16;
const CODES = 64;

/** Numbers from 0 to 1 that are the same each time. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Some thousand calls on four ranks, then a quiet part in which each rank makes one call alone. */
export function few(): Known {
  const next = numbers(7);
  const calls: Call[] = [];
  for (let at = 0; at < 3000; at++) {
    const op = Math.floor(next() * 4);
    const bytes = op < 2 ? 512 + Math.floor(next() * 65536) : 0;
    const file = op === 3 ? -1 : Math.floor(next() * 4) - 1;
    const [rank, label] = [Math.floor(next() * 4), Math.floor(next() * 4)];
    const [start, ns] = [Math.floor(next() * 150e6), 1 + Math.floor(next() * 3e5)];
    calls.push({
      rank,
      label,
      op,
      line: Math.floor(next() * 4) - 1,
      file,
      start,
      ns,
      bytes,
      offset: at * 64,
    });
  }
  return { calls: [...calls, ...lonely()], columns: 256, columnNs: 1e6, ranks: 4 };
}

/** The calls of the quiet part. */
export function lonely(): Call[] {
  return [0, 1, 2, 3].map((rank) => ({
    rank,
    label: rank,
    op: rank % 2,
    line: rank - 1,
    file: rank % 3,
    start: 200e6 + rank * 10e6,
    ns: 4_000_000,
    bytes: 4096 * (rank + 1),
    offset: 65536 * rank,
  }));
}

/** About as many cells as a page holds at most, of many ranks. */
export function many(): Known {
  const next = numbers(11);
  const [ranks, columns] = [64, 16384];
  const calls = Array.from({ length: 210_000 }, (_, at) => ({
    rank: at % ranks,
    label: 1,
    op: Math.floor(next() * 3),
    line: 0,
    file: at % 3,
    start: Math.floor(next() * columns * 1e5),
    ns: Math.floor(1e4 + next() * 1e6),
    bytes: 65536,
    offset: 0,
  }));
  return { calls, columns, columnNs: 1e5, ranks };
}

export function columnOf(known: Known, call: Call): number {
  return Math.floor(call.start / known.columnNs);
}

type Key = (call: Call) => number[];

/** Calls with equal keys together, in ascending order of the keys. */
export function grouped(calls: Call[], key: Key): { key: number[]; calls: Call[] }[] {
  const groups = new Map<string, { key: number[]; calls: Call[] }>();
  for (const call of calls) {
    const own = key(call);
    const name = own.join();
    const group = groups.get(name) ?? { key: own, calls: [] };
    groups.set(name, group);
    group.calls.push(call);
  }
  return [...groups.values()].sort((a, b) => compare(a.key, b.key));
}

function compare(a: number[], b: number[]): number {
  const at = a.findIndex((of, place) => of !== b[place]);
  return at < 0 ? 0 : a[at] - b[at];
}

export const streamOf: Key = (call) => [call.rank, call.label, call.op, call.line, call.file];

export function total(calls: Call[], figure: (call: Call) => number): number {
  return calls.reduce((sum, call) => sum + figure(call), 0);
}

/** 0 of 0, else 1 + floor(steps * log2(value)). */
function code(value: number, steps: number): number {
  return value === 0 ? 0 : 1 + Math.floor(steps * Math.log2(value));
}

/** Seven bits a byte, the lowest first. */
function put(out: number[], value: number): void {
  let rest = value;
  while (rest >= 128) {
    out.push((rest % 128) + 128);
    rest = Math.floor(rest / 128);
  }
  out.push(rest);
}

/** Rising numbers as gaps. */
function gaps(out: number[]): (value: number) => void {
  let last = -1;
  return (value) => {
    put(out, value - last - 1);
    last = value;
  };
}

function packed(bytes: Uint8Array): string {
  return deflateSync(bytes).toString("base64");
}

function cells(known: Known, streams: Call[][]): string {
  const sections: number[][] = Array.from({ length: 8 }, () => []);
  const [counts, columns, calls, bytes, high, low, longHigh, longLow] = sections;
  for (const stream of streams) {
    const own = grouped(stream, (call) => [columnOf(known, call)]);
    put(counts, own.length);
    const gap = gaps(columns);
    for (const cell of own) {
      gap(cell.key[0]);
      put(calls, cell.calls.length);
      put(
        bytes,
        total(cell.calls, (call) => call.bytes),
      );
      const busy = code(
        total(cell.calls, (call) => call.ns),
        CODES,
      );
      high.push(busy >> 8);
      low.push(busy & 255);
      if (cell.calls.length < 2) continue;
      const longest = code(Math.max(...cell.calls.map((call) => call.ns)), CODES);
      longHigh.push(longest >> 8);
      longLow.push(longest & 255);
    }
  }
  const parts = sections.flatMap((section) => {
    const length = Buffer.alloc(4);
    length.writeUInt32LE(section.length);
    return [length, Buffer.from(section)];
  });
  return packed(Buffer.concat(parts));
}

function latencies(known: Known): string {
  const out: number[] = [];
  for (let op = 0; op < OPS.length; op++) {
    const own = known.calls.filter((call) => call.op === op);
    const byColumn = grouped(own, (call) => [columnOf(known, call)]);
    put(out, byColumn.length);
    const gap = gaps(out);
    for (const column of byColumn) {
      gap(column.key[0]);
      const codes = grouped(column.calls, (call) => [code(call.ns, 16)]);
      put(out, codes.length);
      const codeGap = gaps(out);
      for (const one of codes) {
        codeGap(one.key[0]);
        put(out, one.calls.length);
      }
    }
  }
  return packed(Buffer.from(out));
}

const END = 4 * 65536;

function offsets(known: Known): string {
  const out: number[] = [];
  const moved = known.calls.filter((call) => call.bytes > 0);
  const fileOf = (call: Call) => (call.file < 0 ? FILES.length : call.file);
  for (const entry of grouped(moved, (call) => [fileOf(call), call.op === 0 ? 1 : 0])) {
    put(out, entry.key[0]);
    put(out, entry.key[1]);
    const place: Key = (call) => [columnOf(known, call) * ROWS + Math.floor((call.offset / END) * ROWS)];
    const own = grouped(entry.calls, place);
    put(out, own.length);
    const gap = gaps(out);
    for (const cell of own) {
      gap(cell.key[0]);
      put(
        out,
        code(
          total(cell.calls, (call) => call.bytes),
          4,
        ),
      );
    }
  }
  return packed(Buffer.from(out));
}

/** An execution as a page holds it. */
export function encode(known: Known): Encoded {
  const streams = grouped(known.calls, streamOf);
  const end = known.columns * known.columnNs;
  return {
    name: "",
    start_ns: 1000,
    end_ns: 1000 + end,
    columns: known.columns,
    column_ns: known.columnNs,
    ranks: known.ranks,
    bands: Array.from({ length: known.ranks }, (_, rank): [number, number] => [rank, rank]),
    labels: LABELS,
    ops: OPS,
    lines: LINES,
    files: FILES,
    more_files: 2,
    streams: streams.map((stream) => stream.key as [number, number, number, number, number]),
    phases: [
      [1, 1000, 1000 + end * 0.6, known.ranks],
      [2, 1000 + end * 0.1, 1000 + end * 0.4, known.ranks],
      [3, 1000 + end * 0.7, 1000 + end, known.ranks],
    ],
    events: known.calls.length,
    failed: 0,
    sample_every: 1,
    notes: [],
    cells: cells(
      known,
      streams.map((stream) => stream.calls),
    ),
    latency: { columns: known.columns, data: latencies(known) },
    offsets: { columns: known.columns, rows: ROWS, end_bytes: END, data: offsets(known) },
  };
}

const COLORS = {
  light: "--page:#fff;--text:#1b1f24;--muted:#5c6470;--grid:#e6e8eb;--axis:#8b939d",
  dark: "--page:#14171b;--text:#e3e6ea;--muted:#9aa3ae;--grid:#2b3037;--axis:#6b737e",
  all: "--s0:#0067a5;--s1:#c8500a;--s2:#00805c;--rest:#a3a9b1",
  classes: ".s-s0{stroke:var(--s0)}.s-s1{stroke:var(--s1)}.f-s0{fill:var(--s0)}.f-s1{fill:var(--s1)}",
};

function script(attributes: string, of: unknown): string {
  const text = JSON.stringify(of).replaceAll("<", "\\u003c");
  return `<script type="application/json" ${attributes}>${text}</script>`;
}

/** A picture with its data; the drawing itself is a stub with the plot's axes. */
export function figure(name: string, chart: object): string {
  const axes = '<polyline class="s-axis" points="100,0 100,200 500,200" fill="none"/>';
  const picture = `<svg class="picture" viewBox="0 0 600 240" role="img" aria-label="${name}">${axes}</svg>`;
  const box = `<div class="scroll" tabindex="0" role="region" aria-label="picture ${name}">${picture}</div>`;
  const data = script('class="chart-data"', { name, title: name, summary: "", chart });
  return `<figure id="${name}" class="chart"><h3>${name}</h3>${box}${data}</figure>`;
}

/** The lines of a program of seven lines; some of them made calls. */
function program(): string {
  const on = new Set(LINES.map(([, line]) => line));
  const row = (line: number) =>
    `<tr id="L-0-${line}"${on.has(line) ? ' class="on"' : ""}><td class="n">${line}</td><td class="code">x</td></tr>`;
  const rows = [1, 2, 3, 4, 5, 6, 7].map(row).join("");
  return `<div class="source"><table><tbody>${rows}</tbody></table></div>`;
}

/** A page with this time line and these figures, under the policy of real pages. */
export function pageOf(data: { executions: Encoded[] }, figures = ""): string {
  const code = readFileSync(`${ROOT}/web/dist/page.js`, "utf8");
  const sheet = readFileSync(`${ROOT}/crates/page/src/html/style.css`, "utf8");
  const own = readFileSync(`${ROOT}/web/dist/page.css`, "utf8");
  const dark = `@media screen and (prefers-color-scheme:dark){:root{${COLORS.dark}}}`;
  const style = `:root{${COLORS.light};${COLORS.all}}${dark}${COLORS.classes}${sheet}${own}`;
  const hash = (text: string) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
  const policy = `default-src 'none'; script-src ${hash(code)}; style-src ${hash(style)}; img-src data:`;
  const fixed = '<div class="fixed"><svg id="static" class="picture" viewBox="0 0 600 100"></svg></div>';
  return `<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}"><title>Known calls</title><style>${style}</style></head>
<body><nav class="contents" aria-label="Contents"><p>Known calls</p></nav><main><h1>Known calls</h1><section id="picture"><h2>Picture</h2>${figures}</section>
<section id="timeline"><h2>Time line</h2>
<div id="time-line" class="timeline">${fixed}${script('id="timeline-data"', data)}</div></section>
<section id="program"><h2>Program</h2>${program()}</section></main><script>${code}</script></body></html>`;
}
