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
  // What is rounded to the next unit is written in it: no "1024 KiB".
  while (Math.abs(Number(digits(rest))) >= base && at + 1 < units.length) {
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

/** The unit in which a value of at most this size is written, and its size in the axis's own. */
export function unitOf(unit: Unit, most: number): { size: number; name: string } {
  const of = (size: number, base: number, names: string[]) => {
    let [own, at] = [size, 0];
    while (own * base <= most && at + 1 < names.length) [own, at] = [own * base, at + 1];
    return { size: own, name: names[at] };
  };
  const binary = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  switch (unit) {
    case "bytes":
      return of(
        1,
        1024,
        binary.map((name) => ` ${name}`),
      );
    case "mib_s":
      return of(
        1 / 1048576,
        1024,
        binary.map((name) => ` ${name}/s`),
      );
    case "ns":
      return of(1, 1000, [" ns", " µs", " ms", " s"]);
    case "per_s":
      return of(1, 1000, [" op/s", " kop/s", " Mop/s", " Gop/s"]);
    case "share":
      return { size: 0.01, name: " %" };
    default:
      return { size: 1, name: "" };
  }
}

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
