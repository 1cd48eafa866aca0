// Bars, intervals and cells: the picture of the file, whose marks show their figures under the pointer.

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
  kind: "forest" | "bars";
  x: Axis;
  ranges?: Range[];
  groups?: string[];
  series?: { name: string; values: (number | null)[] }[];
}

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
  const values = (at: number) =>
    (chart.series ?? []).map((series) => `${series.name} ${text(series.values[at])}`).join(", ");
  return (chart.groups ?? []).map((group, at) => `${group}: ${values(at)}`);
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
    const box = picture.getBoundingClientRect();
    const y = ((event.clientY - box.top) / box.height) * plot.height;
    if (y >= plot.top && y <= plot.bottom) {
      show(Math.floor(((y - plot.top) / (plot.bottom - plot.top)) * rows.length));
    }
  });
  picture.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowUp" && event.key !== "ArrowDown") return;
    show(at + (event.key === "ArrowDown" ? 1 : -1));
    event.preventDefault();
  });
  figure.classList.add("followed");
}

/** Upper and lower end of the plot: those of the first line, which is both axes. */
function plotOf(picture: SVGElement): { top: number; bottom: number; height: number } {
  const height = Number(picture.getAttribute("viewBox")?.split(" ")[3] ?? 1);
  const lines = [...picture.querySelectorAll("polyline.s-axis")];
  const axes = lines.map((line) => (line.getAttribute("points") ?? "").split(" "));
  const both = axes.find((points) => points.length === 3);
  const ys = (both ?? []).map((point) => Number(point.split(",")[1]));
  return ys.length === 3 ? { top: ys[0], bottom: ys[1], height } : { top: 0, bottom: height, height };
}
