// Which rank touches which bytes of a file: a row for each rank, overlaps and gaps above them.

import { color, make } from "../dom";
import { bytes, count } from "../format";
import type { FileMap, Layer, Pieces } from "./shapes";
import { hatch, type Picture, placeOf, type View, valueAt, Zoomed } from "./zoomed";

const STRIP = 14;
const TOP = 2 * STRIP + 10;
const AXIS = 24;
const ALL = 320;
const [LEAST, MOST] = [3, 22];
/** Marks on the axis. */
const TICK = 110;

export class ByteMap implements Picture {
  readonly zoomed = new Zoomed("Bytes of a file by rank", this);
  private file: FileMap | undefined;
  private layer: Layer | undefined;
  private ranks: number[] = [];

  show(file: FileMap, layer: Layer): void {
    this.file = file;
    this.layer = layer;
    this.ranks = [...new Set(layer.pieces.map(([rank]) => rank))].sort((a, b) => a - b);
    this.zoomed.rename(`${file.path}: ${inWords(layer)}`);
    this.zoomed.reset();
    this.zoomed.redraw();
  }

  end(): number {
    return this.file?.end_bytes ?? 1;
  }

  least(): number {
    return Math.min(64, this.end());
  }

  private get row(): number {
    return Math.max(LEAST, Math.min(MOST, ALL / Math.max(this.ranks.length, 1)));
  }

  height(): number {
    return TOP + this.ranks.length * this.row + AXIS;
  }

  paint(context: CanvasRenderingContext2D, view: View): void {
    const { layer } = this;
    if (!layer) return;
    context.save();
    context.beginPath();
    context.rect(view.left, 0, view.right - view.left, this.height());
    context.clip();
    context.fillStyle = color("soft");
    context.fillRect(view.left, TOP, view.right - view.left, this.ranks.length * this.row);
    this.paintGaps(context, view, layer);
    this.paintPieces(context, view, layer);
    this.paintOverlaps(context, view, layer);
    context.restore();
    this.paintNames(context, view);
    this.paintAxis(context, view);
  }

  private paintPieces(context: CanvasRenderingContext2D, view: View, layer: Layer): void {
    const rows = new Map(this.ranks.map((rank, row) => [rank, row]));
    context.fillStyle = color(layer.access);
    for (const pieces of layer.pieces) {
      const y = TOP + (rows.get(pieces[0]) ?? 0) * this.row;
      const height = Math.max(this.row - 1, 2);
      for (const { from, to, share } of visible(view, pieces)) {
        const [x, right] = [placeOf(view, from), placeOf(view, to)];
        context.globalAlpha = 0.35 + 0.65 * share;
        context.fillRect(x, y, Math.max(right - x - (right - x > 4 ? 1 : 0), 1), height);
      }
    }
    context.globalAlpha = 1;
  }

  private paintOverlaps(context: CanvasRenderingContext2D, view: View, layer: Layer): void {
    context.fillStyle = color(layer.access === "write" ? "bad" : "s3");
    for (const [from, to] of layer.overlaps) {
      const [x, right] = [placeOf(view, from), placeOf(view, to)];
      if (right < view.left || x > view.right) continue;
      context.globalAlpha = 1;
      context.fillRect(x, 2, Math.max(right - x, 2), STRIP - 4);
      context.globalAlpha = 0.18;
      context.fillRect(x, TOP, Math.max(right - x, 2), this.ranks.length * this.row);
    }
    context.globalAlpha = 1;
  }

  private paintGaps(context: CanvasRenderingContext2D, view: View, layer: Layer): void {
    const lines = hatch(context, color("warn"));
    for (const [from, to] of layer.gaps) {
      const [x, right] = [placeOf(view, from), placeOf(view, to)];
      if (right < view.left || x > view.right) continue;
      context.fillStyle = lines;
      context.fillRect(x, STRIP + 3, Math.max(right - x, 2), STRIP - 4);
    }
  }

  private paintNames(context: CanvasRenderingContext2D, view: View): void {
    context.textAlign = "right";
    context.fillStyle = color("muted");
    context.fillText("overlap", view.left - 6, STRIP / 2);
    context.fillText("gap", view.left - 6, STRIP * 1.5 + 1);
    context.fillStyle = color("text");
    const step = Math.ceil(13 / this.row);
    for (let row = 0; row < this.ranks.length; row += step) {
      context.fillText(
        `rank ${this.ranks[row]}`,
        view.left - 6,
        TOP + row * this.row + Math.max(this.row - 1, 6) / 2,
      );
    }
  }

  private paintAxis(context: CanvasRenderingContext2D, view: View): void {
    const y = this.height() - AXIS + 2;
    const wanted = Math.max(2, Math.floor((view.right - view.left) / TICK));
    const step = 2 ** Math.ceil(Math.log2(Math.max((view.to - view.from) / wanted, 1)));
    context.strokeStyle = color("axis");
    context.fillStyle = color("text");
    context.textAlign = "center";
    context.beginPath();
    context.moveTo(view.left, y + 0.5);
    context.lineTo(view.right, y + 0.5);
    for (let at = Math.ceil(view.from / step) * step; at <= view.to; at += step) {
      const x = Math.round(placeOf(view, at)) + 0.5;
      context.moveTo(x, y);
      context.lineTo(x, y + 4);
      context.fillText(bytes(at), x, y + 13);
    }
    context.stroke();
  }

  describe(view: View, x: number, y: number): string[] {
    const { layer } = this;
    if (!layer) return [];
    const at = Math.floor(valueAt(view, x));
    const lines = [`byte ${count(at)} (${bytes(at)})`];
    const holders = [...new Set(layer.pieces.filter((one) => holds(one, at)).map(([rank]) => rank))];
    const rank = this.ranks[Math.floor((y - TOP) / this.row)];
    if (y >= TOP && rank !== undefined)
      lines.push(holders.includes(rank) ? `rank ${rank}: ${layer.access}` : `rank ${rank}: not touched`);
    lines.push(holders.length > 0 ? `${layer.access} by ${ranksInWords(holders)}` : "touched by nobody");
    return lines;
  }
}

/** Pieces in view; those that are too small to be told apart are one, with their share of it. */
function* visible(
  view: View,
  [, offset, length, stride, times]: Pieces,
): Generator<{ from: number; to: number; share: number }> {
  const pixel = (view.to - view.from) / (view.right - view.left);
  if (times > 1 && stride < 2 * pixel) {
    yield {
      from: offset,
      to: offset + stride * (times - 1) + length,
      share: Math.min(length / Math.max(stride, 1), 1),
    };
    return;
  }
  const first = times > 1 ? Math.max(0, Math.floor((view.from - offset) / stride)) : 0;
  for (let at = first; at < times; at++) {
    const from = offset + at * stride;
    if (from > view.to) return;
    yield { from, to: from + length, share: 1 };
  }
}

function holds([, offset, length, stride, times]: Pieces, at: number): boolean {
  if (at < offset) return false;
  const number = times > 1 && stride > 0 ? Math.min(Math.floor((at - offset) / stride), times - 1) : 0;
  return at < offset + number * stride + length;
}

function ranksInWords(ranks: number[]): string {
  if (ranks.length === 1) return `rank ${ranks[0]}`;
  const shown = ranks.slice(0, 6).join(", ");
  return ranks.length > 6 ? `${ranks.length} ranks: ${shown} ...` : `ranks ${shown}`;
}

/** What the map shows, in a sentence. */
export function inWords(layer: Layer): string {
  const is = layer.access === "write" ? "written" : "read";
  const ranks = layer.ranks === 1 ? "1 rank" : `${layer.ranks} ranks`;
  const moved = `${bytes(layer.moved_bytes)} ${is} by ${ranks}`;
  if (!layer.exact) return `${moved}; too many pieces to compare, the first are shown`;
  const overlap =
    layer.overlap_bytes > 0 ? `${bytes(layer.overlap_bytes)} by two or more ranks` : "no overlap";
  const gap = layer.gap_bytes > 0 ? `${bytes(layer.gap_bytes)} by nobody (gaps)` : "no gaps";
  return `${moved}: ${overlap}, ${gap}`;
}

/** The pieces as a table. */
export function pieceTable(layer: Layer): HTMLElement {
  const heads = ["rank", "first byte", "bytes of a piece", "distance", "pieces"];
  const rows = layer.pieces
    .slice(0, 400)
    .map((pieces) =>
      make(
        "tr",
        {},
        ...pieces.map((value, at) => make("td", {}, at === 3 && pieces[4] === 1 ? "-" : count(value))),
      ),
    );
  const head = make("tr", {}, ...heads.map((name) => make("th", { scope: "col" }, name)));
  return make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows));
}
