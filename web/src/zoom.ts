// Zoom and movement of a canvas along one axis: by wheel and drag, and by the keyboard.

import { select } from "d3-selection";
import { type ZoomTransform, zoom, zoomIdentity } from "d3-zoom";

/** What the keys do, for readers. */
export const HELP =
  "Plus and minus zoom, arrow keys move, Home and End go to the ends, 0 or Escape shows all.";

export class Zoom {
  /** How places without zoom become places in the picture. */
  transform: ZoomTransform = zoomIdentity;
  private readonly behavior = zoom<HTMLCanvasElement, unknown>();
  /** Width of the part that shows the axis, pixels. */
  private plot = 1;

  /** `changed` is called after each change of the visible part. */
  constructor(
    private readonly canvas: HTMLCanvasElement,
    changed: () => void,
  ) {
    this.behavior.on("zoom", (event) => {
      this.transform = event.transform;
      changed();
    });
    select(canvas).call(this.behavior).on("dblclick.zoom", null);
    canvas.addEventListener("dblclick", () => this.reset());
    canvas.addEventListener("keydown", (event) => this.key(event));
  }

  /** Shows the whole axis. */
  reset(): void {
    select(this.canvas).call(this.behavior.transform, zoomIdentity);
  }

  /** The axis lies between `left` and `right` in a picture of this height; `deepest`: the largest zoom. */
  limit(left: number, right: number, height: number, deepest: number): void {
    const extent: [[number, number], [number, number]] = [
      [left, 0],
      [right, height],
    ];
    this.plot = right - left;
    this.behavior.extent(extent).translateExtent(extent).scaleExtent([1, deepest]);
  }

  private key(event: KeyboardEvent): void {
    const canvas = select(this.canvas);
    const step = this.plot / 8 / this.transform.k;
    const actions: Record<string, () => void> = {
      "+": () => canvas.call(this.behavior.scaleBy, 2),
      "=": () => canvas.call(this.behavior.scaleBy, 2),
      "-": () => canvas.call(this.behavior.scaleBy, 0.5),
      ArrowLeft: () => canvas.call(this.behavior.translateBy, step, 0),
      ArrowRight: () => canvas.call(this.behavior.translateBy, -step, 0),
      Home: () => canvas.call(this.behavior.translateBy, this.plot, 0),
      End: () => canvas.call(this.behavior.translateBy, -this.plot, 0),
      "0": () => this.reset(),
      Escape: () => this.reset(),
    };
    const action = actions[event.key];
    if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
    action();
    event.preventDefault();
  }
}
