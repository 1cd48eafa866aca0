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

/** Larger numbers are drawn at this one: differences of two stay finite. */
const LIMIT = 1e300;

/** The value as it can be drawn: 0 and less have no place on a logarithmic axis. */
export function usable(axis: Axis, value: number | null | undefined): value is number {
  return typeof value === "number" && Number.isFinite(value) && (!axis.log || value > 0);
}

const limited = (value: number): number => Math.max(-LIMIT, Math.min(LIMIT, value));

/** Where values lie, and where numbers stand. */
export function scaleOf(
  axis: Axis,
  values: number[],
  range: [number, number],
  isFromZero: boolean,
  wanted = 5,
): Placed {
  const ends = rangeOf(axis, values.filter((one) => usable(axis, one)).map(limited), isFromZero);
  const scale = axis.log ? scaleLog(ends, range) : scaleLinear(ends, range);
  const ticks = axis.log ? logTicks(axis.unit, ends, wanted) : linearTicks(axis.unit, ...ends, wanted);
  return { place: (of) => scale(limited(of)), at: scale.invert, ticks };
}

/** The ends of the values, apart even if all are the same. */
function rangeOf(axis: Axis, values: number[], isFromZero: boolean): [number, number] {
  if (values.length === 0) return axis.log ? [1, 10] : [0, 1];
  let low = values.reduce((a, b) => Math.min(a, b));
  const high = values.reduce((a, b) => Math.max(a, b));
  if (axis.log) return high / low > 1 + 1e-9 ? [low, high] : [low / 2, high * 2];
  if (isFromZero && low > 0) low = 0;
  const size = Math.max(Math.abs(low), Math.abs(high));
  if (size === 0) return [0, 1];
  return high - low > size * 1e-12 ? [low, high] : [low - size / 2, high + size / 2];
}

/** Powers of two or ten, every one or every few; of ten with 2 and 5 between them where there is room. */
function logTicks(unit: Unit, [low, high]: [number, number], wanted: number): Placed["ticks"] {
  const base = unit === "bytes" || unit === "mib_s" ? 2 : 10;
  const power = (value: number) => Math.log(value) / Math.log(base);
  const span = power(high) - power(low);
  const every = Math.max(1, Math.ceil(span / wanted));
  const factors = base === 10 && span * 3 <= wanted ? [1, 2, 5] : [1];
  const values: number[] = [];
  for (let at = Math.floor(power(low)); at <= power(high) + 1e-9; at++) {
    if (at % every === 0) values.push(...factors.map((factor) => factor * base ** at));
  }
  const inside = values.filter((one) => one >= low * (1 - 1e-9) && one <= high * (1 + 1e-9));
  // Within one factor there may be none.
  const ticks = inside.length < 2 ? [low, high] : inside;
  return ticks.map((tick) => ({ value: tick, text: short(value(unit, tick)) }));
}

/** A number without the zeros at its end: "4 KiB", not "4.00 KiB". */
function short(text: string): string {
  return text.replace(/(\.\d*?)0+(?= |$)/, "$1").replace(/\.(?= |$)/, "");
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
