// Every figure of the page with data for the script becomes interactive.

import { followCells, type Heat } from "./cells";
import type { View } from "./chart";
import { type Lines, lines } from "./lines";
import { follow, type Rows } from "./tips";

export function figures(): void {
  for (const data of document.querySelectorAll<HTMLScriptElement>("figure.chart > script.chart-data")) {
    const figure = data.parentElement as HTMLElement;
    const picture = figure.querySelector<SVGElement>("svg.picture");
    const view: View = JSON.parse(data.textContent ?? "");
    if (!picture) continue;
    if (view.chart.kind === "lines") {
      const fixed = picture.parentElement as HTMLElement;
      fixed.classList.add("fixed");
      fixed.after(lines(view, view.chart as Lines));
      figure.classList.add("live");
    } else if (view.chart.kind === "heat") {
      followCells(picture, view.chart as Heat);
    } else {
      follow(figure, picture, view.chart as Rows);
    }
  }
}
