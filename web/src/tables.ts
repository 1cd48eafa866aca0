// Tables: rows that open what more is known of an operation, and columns that sort.

import { make } from "./dom";

/** Rows with details get a button that shows them below. */
export function openingRows(): void {
  const folded = document.getElementById("row-details");
  if (!folded) return;
  for (const row of document.querySelectorAll<HTMLTableRowElement>("tr[data-row]")) {
    const details = document.getElementById(`row-${row.dataset.row}`);
    const cell = row.cells[0];
    if (!details || !cell) continue;
    const button = make("button", {
      type: "button",
      class: "opens",
      "aria-expanded": "false",
      "aria-controls": details.id,
    });
    button.append(...cell.childNodes);
    cell.append(button);
    const below = make(
      "tr",
      { class: "below", hidden: "" },
      make("td", { colspan: row.cells.length }, details),
    );
    row.after(below);
    button.addEventListener("click", () => {
      below.hidden = !below.hidden;
      button.setAttribute("aria-expanded", String(!below.hidden));
    });
  }
  if (!folded.querySelector("section")) folded.remove();
}

/** Headings of tables that can be sorted become buttons. */
export function sorting(): void {
  for (const table of document.querySelectorAll<HTMLTableElement>("table.sortable")) {
    const body = table.tBodies[0];
    if (!body || body.rows.length < 3) continue;
    [...(table.tHead?.rows[0]?.cells ?? [])].forEach((head, column) => {
      if (!head.textContent?.trim()) return;
      const button = make("button", { type: "button", class: "sorts" });
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => sort(table, head, column));
    });
  }
}

function sort(table: HTMLTableElement, head: HTMLTableCellElement, column: number): void {
  const body = table.tBodies[0];
  const isDown = head.getAttribute("aria-sort") !== "descending";
  for (const other of table.tHead?.rows[0]?.cells ?? []) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", isDown ? "descending" : "ascending");
  const sign = isDown ? -1 : 1;
  const rows = [...body.rows].sort((a, b) => sign * order(keyOf(a.cells[column]), keyOf(b.cells[column])));
  body.append(...rows);
}

type Key = number | string;

function order(a: Key, b: Key): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b));
}

const UNITS: Record<string, number> = {
  ns: 1,
  µs: 1e3,
  ms: 1e6,
  s: 1e9,
  B: 1,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
  TiB: 2 ** 40,
  "B/s": 1,
  "KiB/s": 2 ** 10,
  "MiB/s": 2 ** 20,
  "GiB/s": 2 ** 30,
  "op/s": 1,
  "kop/s": 1e3,
  "Mop/s": 1e6,
  "%": 1,
  "": 1,
};

/** What a cell is sorted by: its figure in one unit, or its text. */
export function keyOf(cell: HTMLTableCellElement | undefined): Key {
  const given = cell?.dataset.value;
  if (given !== undefined) return Number(given);
  const text = cell?.textContent?.trim() ?? "";
  if (text === "–" || text === "") return Number.NEGATIVE_INFINITY;
  const found = /^[≥≤<>]? ?(-?[\d,]*\.?\d+) ?(\S*)$/.exec(text);
  const unit = found ? UNITS[found[2]] : undefined;
  return found && unit !== undefined ? Number(found[1].replaceAll(",", "")) * unit : text;
}
