// Makes a page of Parabench interactive. The page is whole without it: what fails here leaves the pictures as they are.

import { figures } from "./charts/figures";
import { make } from "./dom";
import { openingRows, sorting } from "./tables";
import { TimeLine } from "./timeline/line";

/** A button that copies the command. */
function copying(): void {
  for (const box of document.querySelectorAll<HTMLElement>(".command")) {
    const code = box.querySelector("code");
    if (!code || !navigator.clipboard) continue;
    const button = make("button", { type: "button", class: "copy" }, "Copy");
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(code.textContent ?? "");
      button.textContent = "Copied";
    });
    box.append(button);
  }
}

/** Lines of the program and the time line show each other. */
function linked(line: TimeLine): void {
  const rows = [...document.querySelectorAll<HTMLTableRowElement>(".source tr.on[id^='L-']")];
  const mark = (name: string, id: string) => {
    for (const row of rows) row.classList.toggle(name, row.id === `L-${id}`);
  };
  for (const row of rows) {
    const cell = row.querySelector("td.n");
    if (!cell) continue;
    const id = row.id.slice(2);
    const number = cell.textContent ?? "";
    const button = make(
      "button",
      { type: "button", "aria-label": `Line ${number} alone in the time line` },
      number,
    );
    cell.replaceChildren(button);
    row.addEventListener("pointerenter", () => line.pointLine(id));
    row.addEventListener("pointerleave", () => line.pointLine(""));
    button.addEventListener("focus", () => line.pointLine(id));
    button.addEventListener("blur", () => line.pointLine(""));
    button.addEventListener("click", () => {
      const next = line.filter.line === id ? "" : id;
      line.showLine(next);
      mark("chosen", next);
    });
  }
  line.onLine = (id, isChosen) => {
    mark(isChosen ? "chosen" : "pointed", id);
    if (!isChosen) return;
    line.showLine(id);
    if (id) document.getElementById(`L-${id}`)?.scrollIntoView({ block: "center" });
  };
}

async function timeLine(): Promise<void> {
  const data = document.getElementById("timeline-data");
  const place = document.getElementById("time-line");
  if (!data || !place || typeof DecompressionStream === "undefined") return;
  linked(await TimeLine.start(place, data.textContent ?? ""));
}

/** One part that fails does not keep the others from working. */
function attempt(part: () => void | Promise<void>): void {
  Promise.resolve()
    .then(part)
    .catch((error: unknown) => console.warn(`parabench: ${String(error)}`));
}

for (const part of [figures, openingRows, sorting, copying, timeLine]) attempt(part);
