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

/** Where values lie, and where numbers stand. */
export function scaleOf(
  axis: Axis,
  values: number[],
  range: [number, number],
  isFromZero: boolean,
): { place: (of: number) => number; ticks: number[] } {
  const usable = values.filter((one) => Number.isFinite(one) && (!axis.log || one > 0));
  let [low, high] = [Math.min(...usable), Math.max(...usable)];
  if (usable.length === 0) [low, high] = axis.log ? [1, 10] : [0, 1];
  if (isFromZero && low > 0) low = 0;
  if (low === high) [low, high] = axis.log ? [low / 2, high * 2] : [low - 0.5, high + 0.5];
  if (axis.log) {
    const scale = scaleLog([low, high], range);
    const base = axis.unit === "bytes" || axis.unit === "mib_s" ? 2 : 10;
    const all = scale.base(base).ticks(6);
    const ticks = all.length > 8 ? all.filter((_, at) => at % Math.ceil(all.length / 7) === 0) : all;
    return { place: scale, ticks };
  }
  const unit = binaryUnit(axis.unit, high);
  const scale = scaleLinear([low, high], range);
  return {
    place: scale,
    ticks: scaleLinear([low / unit, high / unit], range)
      .ticks(5)
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
