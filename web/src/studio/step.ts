// The place Step: the program statement by statement, with variables, open files and the directory tree.

import { make } from "../dom";
import { bytes, count, time } from "../format";
import type { Place, RankState, Snapshot, Target } from "./shapes";

export class Step {
  readonly element = make("section", { class: "step", "aria-label": "Step", tabindex: -1 });
  private readonly sentence = make("p", { class: "step-sentence", "aria-live": "polite" });
  private readonly ranks = make("div", {});
  private readonly state = make("div", { class: "step-state" });
  private readonly tree = make("div", {});
  private readonly printed = make("pre", { tabindex: 0, role: "region", "aria-label": "Printed" });
  private readonly line = make("input", { type: "number", min: 1, value: 1, id: "step-line" });
  private readonly rank = make("select", { id: "step-rank" });
  private snapshot: Snapshot | undefined;
  private shown = 0;
  private file = "";

  /** Asks for the state at another pause. */
  onTarget: (target: Target) => void = () => {};
  /** Told of the statement that is executed next, or of a place that the reader chose. */
  onPlace: (place: Place) => void = () => {};

  constructor() {
    this.element.append(
      this.tools(),
      this.sentence,
      part("Ranks", this.ranks),
      this.state,
      part("Files and directories", this.tree),
      make("h2", {}, "Printed so far"),
      this.printed,
    );
    this.element.addEventListener("keydown", (event) => this.key(event));
  }

  /** Name of the program's file, for `run to line`. */
  set program(file: string) {
    this.file = file;
  }

  show(snapshot: Snapshot): void {
    this.snapshot = snapshot;
    const { next } = snapshot;
    if (next) {
      this.shown = next.rank;
      this.onPlace(next.place);
    }
    const names = snapshot.ranks.map(({ rank }) => make("option", { value: rank }, `rank ${rank}`));
    const chosen = this.rank.value;
    this.rank.replaceChildren(make("option", { value: -1 }, "any rank"), ...names);
    this.rank.value = chosen && Number(chosen) < snapshot.ranks.length ? chosen : "-1";
    this.sentence.textContent = sentenceOf(snapshot);
    this.ranks.replaceChildren(this.rankTable(snapshot));
    this.tree.replaceChildren(treeTable(snapshot));
    this.printed.textContent = snapshot.printed || "(nothing)";
    this.printed.scrollTop = this.printed.scrollHeight;
    this.showRank();
  }

  private tools(): HTMLElement {
    const from = () => this.snapshot?.position ?? 0;
    const buttons: [string, string, () => Target | undefined][] = [
      ["Start", "s", () => ({ to: "position", position: 0 })],
      ["Back", "b", () => ({ to: "position", position: Math.max(from() - 1, 0) })],
      ["Step", "n", () => ({ to: "next", from: from() })],
      ["Step over", "o", () => ({ to: "over", from: from(), rank: this.shown })],
      ["Next of this rank", "r", () => ({ to: "rank", from: from(), rank: this.shown })],
      ["End", "e", () => ({ to: "position", position: Number.MAX_SAFE_INTEGER })],
    ];
    const tools = buttons.map(([name, key, target]) => {
      const button = make("button", { type: "button", "aria-keyshortcuts": key, title: `key ${key}` }, name);
      button.addEventListener("click", () => this.ask(target()));
      return button;
    });
    const run = make("button", { type: "button", "aria-keyshortcuts": "l", title: "key l" }, "Run to line");
    run.addEventListener("click", () => this.ask(this.toLine()));
    const line = make("label", { for: "step-line" }, "line ", this.line);
    const rank = make("label", { for: "step-rank" }, "of ", this.rank);
    return make("div", { class: "tools", role: "group", "aria-label": "Steps" }, ...tools, run, line, rank);
  }

  private toLine(): Target {
    const rank = Number(this.rank.value);
    const { position } = this.snapshot ?? { position: 0 };
    const line = Math.max(Number(this.line.value), 1);
    return { to: "line", from: position, file: this.file, line, rank: rank < 0 ? null : rank };
  }

  private ask(target: Target | undefined): void {
    if (target) this.onTarget(target);
  }

  private key(event: KeyboardEvent): void {
    const isText = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
    if (isText || event.ctrlKey || event.metaKey || event.altKey) return;
    const button = this.element.querySelector<HTMLButtonElement>(
      `button[aria-keyshortcuts="${CSS.escape(event.key)}"]`,
    );
    if (!button) return;
    button.click();
    event.preventDefault();
  }

  private rankTable(snapshot: Snapshot): HTMLElement {
    const heads = [
      "rank",
      "state",
      "line",
      "waits for, or why it ended",
      "phase",
      "group",
      "statements",
      "time",
    ];
    const rows = snapshot.ranks.map((rank) => {
      const button = make(
        "button",
        { type: "button", "aria-pressed": String(rank.rank === this.shown) },
        `rank ${rank.rank}`,
      );
      button.addEventListener("click", () => {
        this.shown = rank.rank;
        this.ranks.replaceChildren(this.rankTable(snapshot));
        this.ranks.querySelectorAll<HTMLButtonElement>("button")[rank.rank]?.focus();
        this.showRank();
        if (rank.place) this.onPlace(rank.place);
      });
      const isNext = snapshot.next?.rank === rank.rank;
      const cells = [
        button,
        isNext ? "next" : rank.state,
        rank.place ? String(rank.place.line) : "-",
        rank.why || "-",
        rank.label || "-",
        rank.group || "-",
        count(rank.statements),
        time(rank.now_ns),
      ];
      return make(
        "tr",
        { class: isNext ? "next" : rank.state },
        ...cells.map((cell, at) => make("td", { class: wordIn(WORDS, at) }, cell)),
      );
    });
    return table(heads, rows, WORDS);
  }

  private showRank(): void {
    const rank = this.snapshot?.ranks[this.shown];
    if (!rank) {
      this.state.replaceChildren();
      return;
    }
    this.state.replaceChildren(
      part(`Variables of rank ${rank.rank}`, variableTable(rank)),
      part(`Open files of rank ${rank.rank}`, fileTable(rank)),
    );
  }
}

function part(name: string, inside: HTMLElement): HTMLElement {
  const box = make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": name }, inside);
  return make("div", {}, make("h2", {}, name), box);
}

/** Columns of the ranks that are words. */
const WORDS = [0, 1, 3, 4, 5];

function wordIn(words: number[], at: number): string | undefined {
  return words.includes(at) ? "word" : undefined;
}

function table(heads: string[], rows: HTMLElement[], words: number[]): HTMLElement {
  const head = heads.map((name, at) => make("th", { scope: "col", class: wordIn(words, at) }, name));
  return make("table", {}, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows));
}

function rowOf(cells: string[], words: number[]): HTMLElement {
  return make("tr", {}, ...cells.map((cell, at) => make("td", { class: wordIn(words, at) }, cell)));
}

function variableTable(rank: RankState): HTMLElement {
  if (rank.variables.length === 0) return make("p", { class: "note" }, "None.");
  const rows = rank.variables.map((one) =>
    rowOf([`$${one.name}`, one.value ?? "(no value yet)", one.proc || "-"], [0, 1, 2]),
  );
  return table(["variable", "value", "proc"], rows, [0, 1, 2]);
}

function fileTable(rank: RankState): HTMLElement {
  if (rank.files.length === 0) return make("p", { class: "note" }, "None.");
  const rows = rank.files.map((one) =>
    rowOf(
      [one.path, one.flags, count(one.position), bytes(one.size_bytes), one.variables.join(", ") || "-"],
      [0, 1, 4],
    ),
  );
  return table(["path", "flags", "position", "size", "variable"], rows, [0, 1, 4]);
}

function treeTable(snapshot: Snapshot): HTMLElement {
  if (snapshot.tree.length === 0) return make("p", { class: "note" }, "Empty.");
  const rows = snapshot.tree.map((one) => {
    const depth = one.path.split("/").length - 1;
    const name = `${"\u00a0\u00a0".repeat(depth)}${one.path.split("/").at(-1)}${one.kind === "directory" ? "/" : ""}`;
    const size = one.kind === "file" ? bytes(one.size_bytes) : one.kind === "link" ? `→ ${one.target}` : "-";
    const holes =
      one.kind === "file" && one.used_bytes < one.size_bytes ? `${bytes(one.used_bytes)} without holes` : "-";
    return rowOf([name, size, holes], [0]);
  });
  const shown = table(["name", "size", "holes"], rows, [0]);
  if (snapshot.more_entries === 0) return shown;
  return make(
    "div",
    {},
    shown,
    make("p", { class: "note" }, `${count(snapshot.more_entries)} more entries.`),
  );
}

export function sentenceOf(snapshot: Snapshot): string {
  const done = `${count(snapshot.position)} ${snapshot.position === 1 ? "statement" : "statements"} begun`;
  if (snapshot.next) {
    const { rank, place } = snapshot.next;
    return `Next: rank ${rank}, line ${place.line}. ${done}.`;
  }
  if (snapshot.limit) return `Stopped at the limit: nothing was found before it. ${done}.`;
  return `The program is over. ${done}.`;
}
