// Bars, intervals and spans: the picture of the file, whose marks show their figures under the pointer.

import { make } from "../dom";
import { value } from "../format";
import type { Axis } from "./chart";

interface Range {
  name: string;
  low: number | null;
  at: number | null;
  high: number | null;
}

export interface Rows {
  kind: "forest" | "bars" | "spans";
  x: Axis;
  ranges?: Range[];
  groups?: string[];
  series?: { name: string; values: (number | null)[] }[];
  rows?: string[];
  classes?: string[];
  /** Row, class, start, end. */
  bars?: [number, number, number, number][];
}

/** Spans of a row that are told. */
const TOLD = 6;

/** The figures of each row, in words. */
export function inWords(chart: Rows): string[] {
  const text = (of: number | null | undefined) =>
    of === null || of === undefined ? "unknown" : value(chart.x.unit, of);
  if (chart.kind === "forest") {
    const one = (range: Range) =>
      range.low === range.high
        ? `${range.name}: ${text(range.at)}`
        : `${range.name}: ${text(range.at)} (${text(range.low)} to ${text(range.high)})`;
    return (chart.ranges ?? []).map(one);
  }
  if (chart.kind === "spans") return (chart.rows ?? []).map((name, row) => spansInWords(chart, name, row));
  const values = (at: number) =>
    (chart.series ?? []).map((series) => `${series.name} ${text(series.values[at])}`).join(", ");
  return (chart.groups ?? []).map((group, at) => `${group}: ${values(at)}`);
}

function spansInWords(chart: Rows, name: string, row: number): string {
  const own = (chart.bars ?? []).filter((bar) => bar[0] === row);
  const told = own.slice(0, TOLD).map(([, kind, start, end]) => {
    const [from, to] = [start, end].map((at) => value(chart.x.unit, at));
    return `${chart.classes?.[kind] ?? ""} ${from} to ${to}`;
  });
  if (own.length > TOLD) told.push(`${own.length - TOLD} more`);
  return `${name}: ${told.join("; ") || "nothing"}`;
}

/** Adds a line of words below the picture that follows the pointer and the arrow keys over its rows. */
export function follow(figure: HTMLElement, picture: SVGElement, chart: Rows): void {
  const rows = inWords(chart);
  if (rows.length === 0) return;
  const reading = make("p", { class: "reading", "aria-live": "polite" });
  picture.parentElement?.after(reading);
  picture.setAttribute("tabindex", "0");
  let at = -1;
  const show = (next: number) => {
    at = Math.max(0, Math.min(rows.length - 1, next));
    reading.textContent = rows[at];
  };
  const plot = plotOf(picture);
  picture.addEventListener("pointermove", (event) => {
    const [, y] = shareOf(picture, plot, event);
    if (y >= 0 && y <= 1) show(Math.floor(y * rows.length));
  });
  picture.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowUp" && event.key !== "ArrowDown") return;
    show(at + (event.key === "ArrowDown" ? 1 : -1));
    event.preventDefault();
  });
  figure.classList.add("followed");
}

/** The plot of a picture, in the units of its drawing. */
export interface Plot {
  left: number;
  right: number;
  top: number;
  bottom: number;
  width: number;
  height: number;
}

/** Its ends are those of the first line, which is both axes; without one all is the plot. */
export function plotOf(picture: SVGElement): Plot {
  const [, , width, height] = (picture.getAttribute("viewBox") ?? "0 0 1 1").split(" ").map(Number);
  const lines = [...picture.querySelectorAll("polyline.s-axis")];
  const axes = lines.map((line) => (line.getAttribute("points") ?? "").split(" "));
  const both = axes.find((points) => points.length === 3);
  const [first, , last] = (both ?? ["0,0", "", `${width},${height}`]).map((point) =>
    point.split(",").map(Number),
  );
  return { left: first[0], top: first[1], right: last[0], bottom: last[1], width, height };
}

/** Where the pointer is in the plot: shares from its left and upper end. */
export function shareOf(picture: SVGElement, plot: Plot, event: MouseEvent): [number, number] {
  const box = picture.getBoundingClientRect();
  const x = ((event.clientX - box.left) / box.width) * plot.width;
  const y = ((event.clientY - box.top) / box.height) * plot.height;
  return [(x - plot.left) / (plot.right - plot.left), (y - plot.top) / (plot.bottom - plot.top)];
}
