// A canvas of the studio with one axis that can be zoomed and moved, and what the pointer shows there.

import { make, onScheme } from "../dom";
import { HELP, Zoom } from "../zoom";

/** The visible part of the axis, and where it lies. */
export interface View {
  from: number;
  to: number;
  left: number;
  right: number;
  width: number;
}

export interface Picture {
  /** Pixels. */
  height(): number;
  /** End of the axis, which begins at 0. */
  end(): number;
  /** The shortest part of the axis that fills the picture. */
  least(): number;
  paint(context: CanvasRenderingContext2D, view: View): void;
  /** What is at a place, in lines; none: nothing. */
  describe(view: View, x: number, y: number): string[];
}

/** Space beside the plot: for names on the left, for the end of the last number on the right. */
const LEFT = 78;
const RIGHT = 26;

export function placeOf(view: View, value: number): number {
  return view.left + ((value - view.from) / (view.to - view.from)) * (view.right - view.left);
}

export function valueAt(view: View, x: number): number {
  return view.from + ((x - view.left) / (view.right - view.left)) * (view.to - view.from);
}

let helps = 0;

export class Zoomed {
  readonly element: HTMLElement;
  private readonly canvas: HTMLCanvasElement;
  private readonly tip = make("div", { class: "tip", hidden: "" });
  private readonly zoom: Zoom;
  private isWaiting = false;

  constructor(
    name: string,
    private readonly picture: Picture,
  ) {
    const id = `zoom-help-${helps++}`;
    const about = { tabindex: 0, role: "img", "aria-label": name, "aria-describedby": id };
    this.canvas = make("canvas", about);
    const box = make("div", { class: "canvas" }, this.canvas, this.tip);
    this.element = make("div", { class: "zoomed" }, box, make("p", { id, class: "note" }, HELP));
    this.zoom = new Zoom(this.canvas, () => this.redraw());
    this.canvas.addEventListener("pointermove", (event) => this.point(event.offsetX, event.offsetY));
    this.canvas.addEventListener("pointerleave", () => {
      this.tip.hidden = true;
    });
    new ResizeObserver(() => this.redraw()).observe(box);
    onScheme(() => this.redraw());
  }

  /** Says in other words what the picture shows. */
  rename(name: string): void {
    this.canvas.setAttribute("aria-label", name);
  }

  reset(): void {
    this.zoom.reset();
  }

  redraw(): void {
    if (this.isWaiting) return;
    this.isWaiting = true;
    requestAnimationFrame(() => {
      this.isWaiting = false;
      this.paint();
    });
  }

  private get width(): number {
    return Math.max(this.canvas.parentElement?.clientWidth ?? 0, 280);
  }

  private view(): View {
    const [left, right] = [LEFT, Math.max(this.width - RIGHT, LEFT + 40)];
    const end = Math.max(this.picture.end(), 1);
    const at = (x: number) => ((this.zoom.transform.invertX(x) - left) / (right - left)) * end;
    return { from: Math.max(at(left), 0), to: Math.min(at(right), end), left, right, width: this.width };
  }

  private paint(): void {
    const [width, height] = [this.width, this.picture.height()];
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    const view = this.view();
    const deepest = Math.max(this.picture.end() / Math.max(this.picture.least(), 1e-9), 1);
    this.zoom.limit(view.left, view.right, height, deepest);
    const context = this.canvas.getContext("2d");
    if (!context) return;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    context.font = '12px system-ui, "DejaVu Sans", sans-serif';
    context.textBaseline = "middle";
    this.picture.paint(context, view);
  }

  private point(x: number, y: number): void {
    const view = this.view();
    const lines = x < view.left || x > view.right ? [] : this.picture.describe(view, x, y);
    this.tip.hidden = lines.length === 0;
    this.tip.replaceChildren(...lines.map((text) => make("div", {}, text)));
    const isRight = x > view.width / 2;
    this.tip.style.left = isRight ? "" : `${x + 14}px`;
    this.tip.style.right = isRight ? `${view.width - x + 14}px` : "";
    this.tip.style.top = `${y + 10}px`;
  }
}

/** Slanted lines in a colour, for what is not there: waits, gaps. */
export function hatch(context: CanvasRenderingContext2D, color: string): CanvasPattern | string {
  const tile = new OffscreenCanvas(6, 6);
  const lines = tile.getContext("2d");
  if (!lines) return color;
  lines.strokeStyle = color;
  lines.lineWidth = 1.2;
  lines.beginPath();
  for (const at of [-6, 0, 6]) {
    lines.moveTo(at, 6);
    lines.lineTo(at + 6, 0);
  }
  lines.stroke();
  return context.createPattern(tile, "repeat") ?? color;
}
