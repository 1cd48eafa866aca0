// Figures as the terminal writes them: sizes binary, rates of calls decimal, three digits.

/** Three significant digits, without exponent. */
function digits(value: number): string {
  if (value === 0) return "0";
  const decimals = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value)) + 1e-9));
  return value.toFixed(Math.min(decimals, 6));
}

function scaled(value: number, base: number, units: string[]): string {
  let at = 0;
  let rest = value;
  while (Math.abs(rest) >= base && at + 1 < units.length) {
    rest /= base;
    at += 1;
  }
  return `${at === 0 && Number.isInteger(rest) ? rest : digits(rest)}${units[at] ? ` ${units[at]}` : ""}`;
}

/** Nanoseconds. */
export function time(ns: number): string {
  if (ns >= 60e9) return `${digits(ns / 1e9)} s`;
  return scaled(ns, 1000, ["ns", "µs", "ms", "s"]);
}

export function bytes(value: number): string {
  return scaled(value, 1024, ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]);
}

/** MiB per second. */
export function mibPerSecond(value: number): string {
  return `${bytes(value * 1048576)}/s`;
}

export function perSecond(value: number): string {
  return scaled(value, 1000, ["op/s", "kop/s", "Mop/s", "Gop/s"]);
}

/** A count with separators. */
export function count(value: number): string {
  return Math.round(value)
    .toString()
    .replace(/\B(?=(\d{3})+$)/g, ",");
}

export type Unit = "bytes" | "mib_s" | "ns" | "per_s" | "count" | "share" | "rank" | "none";

/** A value on an axis of this unit. */
export function value(unit: Unit, of: number): string {
  switch (unit) {
    case "bytes":
      return bytes(of);
    case "mib_s":
      return mibPerSecond(of);
    case "ns":
      return time(of);
    case "per_s":
      return perSecond(of);
    case "share":
      return `${digits(of * 100)} %`;
    default:
      return Number.isInteger(of) ? count(of) : digits(of);
  }
}
