// A picture's data as `report::chart` serializes it, and what all interactive figures share.

import { scaleLinear, scaleLog } from "d3-scale";
import { type Unit, unitOf, value } from "../format";

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
  ticks: { value: number; text: string }[];
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
    const text = (tick: number) => ({ value: tick, text: value(axis.unit, tick) });
    return { place: scale, at: scale.invert, ticks: ticks.map(text) };
  }
  const scale = scaleLinear([low, high], range);
  return { place: scale, at: scale.invert, ticks: linearTicks(axis.unit, low, high, wanted) };
}

/** Round numbers in the unit that suits the largest one: all have this unit and the same decimals. */
function linearTicks(unit: Unit, low: number, high: number, wanted: number): Placed["ticks"] {
  const { size, name } = unitOf(unit, Math.max(Math.abs(low), Math.abs(high)));
  const isWhole = unit === "count" || unit === "rank";
  const ticks = scaleLinear([low / size, high / size], [0, 1])
    .ticks(wanted)
    .filter((tick) => !isWhole || Number.isInteger(tick));
  const step = ticks.length > 1 ? ticks[1] - ticks[0] : 1;
  const decimals = Math.min(6, Math.max(0, Math.ceil(-Math.log10(step) - 1e-9)));
  const text = (tick: number) => `${isWhole ? value(unit, tick) : tick.toFixed(decimals)}${name}`;
  return ticks.map((tick) => ({ value: tick * size, text: text(tick) }));
}
