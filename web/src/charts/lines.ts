// Series over an axis: a reading line that follows the pointer or the arrow keys, a legend that switches series.

import { make, svg } from "../dom";
import { value } from "../format";
import { type Axis, inkOf, scaleOf, type View } from "./chart";

const [WIDTH, HEIGHT, LEFT, RIGHT, BOTTOM, TOP] = [860, 300, 84, 34, 40, 10];

interface Series {
  name: string;
  color: number;
  points: (number | null)[][];
}

export interface Lines {
  kind: "lines";
  x: Axis;
  y: Axis;
  join: "line" | "step" | "dots";
  series: Series[];
}

/** The interactive figure. */
export function lines(view: View, chart: Lines): HTMLElement {
  const shown = chart.series.slice(0, 9);
  const hidden = new Set<number>();
  const picture = svg("svg", {
    class: "picture",
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
    tabindex: 0,
    role: "img",
    "aria-label": `${view.title}. Arrow keys read values.`,
  });
  const reading = make("p", { class: "reading", "aria-live": "polite" });
  const xs = [...new Set(shown.flatMap((one) => one.points.map((point) => point[0] ?? 0)))].sort(
    (a, b) => a - b,
  );
  let at = -1;

  const paint = () => {
    const visible = shown.filter((_, number) => !hidden.has(number));
    const points = visible.flatMap((one) => one.points);
    const x = scaleOf(chart.x, xs, [LEFT, WIDTH - RIGHT], chart.x.unit === "ns" && !chart.x.log);
    const ys = points.flatMap((point) => point.slice(1)).filter((one): one is number => one !== null);
    const y = scaleOf(chart.y, ys, [HEIGHT - BOTTOM, TOP], !chart.y.log);
    picture.replaceChildren(frame(chart, x, y));
    // The first series lies on top.
    for (const one of [...visible].reverse()) picture.append(drawn(chart, one, x.place, y.place));
    if (at >= 0) {
      const place = x.place(xs[at]);
      picture.append(svg("line", { class: "read-line", x1: place, x2: place, y1: TOP, y2: HEIGHT - BOTTOM }));
      read(visible);
    }
  };
  const read = (visible: Series[]) => {
    const values = visible.map((one) => `${one.name}: ${figure(chart, one, xs[at])}`);
    reading.textContent = `${chart.x.title} ${value(chart.x.unit, xs[at])}: ${values.join("; ")}`;
  };
  const go = (next: number) => {
    at = Math.max(0, Math.min(xs.length - 1, next));
    paint();
  };
  picture.addEventListener("pointermove", (event) => {
    const box = picture.getBoundingClientRect();
    const x = scaleOf(chart.x, xs, [LEFT, WIDTH - RIGHT], chart.x.unit === "ns" && !chart.x.log);
    const place = ((event.clientX - box.left) / box.width) * WIDTH;
    go(nearest(xs.map(x.place), place));
  });
  picture.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    go(at + (event.key === "ArrowRight" ? 1 : -1));
    event.preventDefault();
  });
  const keys = shown.map((one, number) => {
    const key = make("button", { type: "button", class: "key", "aria-pressed": "true" }, one.name);
    key.style.setProperty("--ink", `var(--${inkOf(one.color)})`);
    key.addEventListener("click", () => {
      if (!hidden.delete(number)) hidden.add(number);
      key.setAttribute("aria-pressed", String(!hidden.has(number)));
      paint();
    });
    return key;
  });
  paint();
  const legend = shown.length > 1 ? [make("div", { class: "legend" }, ...keys)] : [];
  return make("div", { class: "interactive" }, ...legend, picture as unknown as Node, reading);
}

function nearest(places: number[], to: number): number {
  let best = 0;
  places.forEach((place, at) => {
    if (Math.abs(place - to) < Math.abs(places[best] - to)) best = at;
  });
  return best;
}

/** The value of a series at a place of the x axis, with its interval. */
function figure(chart: Lines, series: Series, x: number): string {
  const point =
    chart.join === "step"
      ? series.points.filter((one) => (one[0] ?? 0) <= x).pop()
      : series.points.find((one) => one[0] === x);
  if (!point || point[1] === null) return "no value";
  const text = value(chart.y.unit, point[1]);
  if (point.length < 4 || point[2] === null || point[3] === null) return text;
  return `${text} (${value(chart.y.unit, point[2])} to ${value(chart.y.unit, point[3])})`;
}

interface Placed {
  place: (of: number) => number;
  ticks: number[];
}

function frame(chart: Lines, x: Placed, y: Placed): SVGElement {
  const group = svg("g", { class: "frame" });
  for (const tick of y.ticks) {
    const at = y.place(tick);
    group.append(
      svg("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: at, y2: at }),
      svg("text", { x: LEFT - 8, y: at + 4, "text-anchor": "end" }, value(chart.y.unit, tick)),
    );
  }
  for (const tick of x.ticks) {
    const at = x.place(tick);
    group.append(
      svg("text", { x: at, y: HEIGHT - BOTTOM + 18, "text-anchor": "middle" }, value(chart.x.unit, tick)),
    );
  }
  const bottom = HEIGHT - BOTTOM;
  group.append(
    svg("line", { class: "axis", x1: LEFT, x2: WIDTH - RIGHT, y1: bottom, y2: bottom }),
    svg(
      "text",
      { class: "title", x: (LEFT + WIDTH) / 2, y: HEIGHT - 4, "text-anchor": "middle" },
      chart.x.title,
    ),
  );
  return group;
}

function drawn(chart: Lines, series: Series, x: Placed["place"], y: Placed["place"]): SVGElement {
  const stroke = `s-${inkOf(series.color)}`;
  const group = svg("g");
  const points = series.points.filter((point) => point[0] !== null && point[1] !== null) as number[][];
  const places = points.map((point) => [x(point[0]), y(point[1])]);
  if (chart.join !== "dots" && places.length > 1) {
    const step = (place: number[], at: number) =>
      chart.join === "step" && at > 0 ? `H${place[0]}V${place[1]}` : `L${place[0]},${place[1]}`;
    const path = `M${places[0].join(",")}${places.map(step).join("")}`;
    group.append(svg("path", { d: path, class: stroke, fill: "none", "stroke-width": 1.6 }));
  }
  const isMarked = chart.join === "dots" || points.length <= 24;
  points.forEach((point, at) => {
    if (point.length >= 4 && Number.isFinite(point[2]) && Number.isFinite(point[3])) {
      const [low, high] = [y(point[2]), y(point[3])];
      group.append(svg("line", { class: stroke, x1: places[at][0], x2: places[at][0], y1: low, y2: high }));
    }
    if (isMarked && chart.join !== "step") {
      group.append(
        svg("circle", { class: `f-${inkOf(series.color)}`, cx: places[at][0], cy: places[at][1], r: 3 }),
      );
    }
  });
  return group;
}
