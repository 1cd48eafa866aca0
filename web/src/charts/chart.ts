// A picture's data as `report::chart` serializes it, and what all interactive figures share.

import { scaleLinear, scaleLog } from "d3-scale";
import type { Unit } from "../format";

export interface Axis {
  title: string;
  unit: Unit;
  log: boolean;
}

export interface View {
  name: string;
  title: string;
  summary: string;
  chart: { kind: string };
}

/** The name of a series' colour; those past the palette share a grey. */
export function inkOf(color: number): string {
  return color < 8 ? `s${color}` : "rest";
}

/** A scale: where a value lies, the value at a place, and where numbers stand. */
export interface Placed {
  place: (of: number) => number;
  at: (place: number) => number;
  ticks: number[];
}

/** Where values lie, and where numbers stand. */
export function scaleOf(
  axis: Axis,
  values: number[],
  range: [number, number],
  isFromZero: boolean,
  wanted = 5,
): Placed {
  const usable = values.filter((one) => Number.isFinite(one) && (!axis.log || one > 0));
  let [low, high] = [Math.min(...usable), Math.max(...usable)];
  if (usable.length === 0) [low, high] = axis.log ? [1, 10] : [0, 1];
  if (isFromZero && low > 0) low = 0;
  if (low === high) [low, high] = axis.log ? [low / 2, high * 2] : [low - 0.5, high + 0.5];
  if (axis.log) {
    const scale = scaleLog([low, high], range);
    const base = axis.unit === "bytes" || axis.unit === "mib_s" ? 2 : 10;
    const all = scale.base(base).ticks(wanted + 1);
    const every = all.length > wanted + 3 ? Math.ceil(all.length / (wanted + 2)) : 1;
    const ticks = all.filter((_, at) => at % every === 0);
    return { place: scale, at: scale.invert, ticks };
  }
  const unit = binaryUnit(axis.unit, high);
  const scale = scaleLinear([low, high], range);
  return {
    place: scale,
    at: scale.invert,
    ticks: scaleLinear([low / unit, high / unit], range)
      .ticks(wanted)
      .map((tick) => tick * unit),
  };
}

/** Ticks of sizes and bandwidths are round in KiB, MiB, GiB. */
function binaryUnit(unit: Unit, most: number): number {
  const base = unit === "bytes" ? 1 : unit === "mib_s" ? 1 / 1048576 : 0;
  if (base === 0) return 1;
  let size = base;
  while (size * 1024 <= most) size *= 1024;
  return size;
}
