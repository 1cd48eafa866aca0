// Cells of a grid: the picture of the file, whose cells show their figures under the pointer or by the arrow keys.

import { make } from "../dom";
import { value } from "../format";
import type { Axis } from "./chart";
import { plotOf, shareOf } from "./tips";

export interface Heat {
  kind: "heat";
  x: Axis;
  y: Axis;
  value: Axis;
  x_edges: number[];
  y_edges: number[];
  /** The first row is the lowest one. */
  values: (number | null)[][];
}

/** A cell in words. */
export function cellInWords(chart: Heat, column: number, row: number): string {
  const span = (axis: Axis, edges: number[], at: number) =>
    axis.unit === "rank" && edges[at + 1] - edges[at] === 1
      ? `${axis.title} ${edges[at]}`
      : `${axis.title} ${value(axis.unit, edges[at])} to ${value(axis.unit, edges[at + 1])}`;
  const of = chart.values[row][column];
  const text = of === null ? "nothing" : value(chart.value.unit, of);
  return `${span(chart.x, chart.x_edges, column)}, ${span(chart.y, chart.y_edges, row)}: ${chart.value.title} ${text}`;
}

/** The cell in which a share of the axis lies. */
function cellAt(axis: Axis, edges: number[], share: number): number {
  const scale = axis.log ? Math.log : (of: number) => of;
  const [low, high] = [scale(edges[0]), scale(edges[edges.length - 1])];
  const at = low + share * (high - low);
  const after = edges.findIndex((edge) => scale(edge) > at);
  return Math.max(0, after < 0 ? edges.length - 2 : after - 1);
}

/** Adds a line of words below the picture that follows the pointer and the arrow keys. */
export function followCells(picture: SVGElement, chart: Heat): void {
  const [columns, rows] = [chart.x_edges.length - 1, chart.y_edges.length - 1];
  if (columns < 1 || rows < 1) return;
  const reading = make("p", { class: "reading", "aria-live": "polite" });
  picture.parentElement?.after(reading);
  picture.setAttribute("tabindex", "0");
  let [column, row] = [0, 0];
  const show = (x: number, y: number) => {
    [column, row] = [Math.max(0, Math.min(columns - 1, x)), Math.max(0, Math.min(rows - 1, y))];
    reading.textContent = cellInWords(chart, column, row);
  };
  const plot = plotOf(picture);
  picture.addEventListener("pointermove", (event) => {
    const [x, y] = shareOf(picture, plot, event);
    if (x < 0 || x > 1 || y < 0 || y > 1) return;
    show(cellAt(chart.x, chart.x_edges, x), cellAt(chart.y, chart.y_edges, 1 - y));
  });
  const steps: Record<string, [number, number]> = {
    ArrowLeft: [-1, 0],
    ArrowRight: [1, 0],
    ArrowUp: [0, 1],
    ArrowDown: [0, -1],
  };
  picture.addEventListener("keydown", (event) => {
    const step = steps[event.key];
    if (!step) return;
    show(column + step[0], row + step[1]);
    event.preventDefault();
  });
}
