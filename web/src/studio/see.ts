// The place See: a program executed in virtual time, drawn while it is written.

import { make } from "../dom";
import { bytes, count, time } from "../format";
import { ByteMap, inWords, pieceTable } from "./bytes";
import { Controls, type Values } from "./controls";
import { endInWords, Lanes, meetingInWords, signalInWords } from "./lanes";
import type { FileMap, Finding, Place, Scene } from "./shapes";

/** Rows of tables that are shown. */
const ROWS = 200;

/** Findings that are shown at once: the picture is below them. */
const FINDINGS = 5;

/** Classes of operations with their names. */
const CLASSES: [string, string][] = [
  ["read", "read"],
  ["write", "write"],
  ["metadata", "metadata"],
  ["other", "other"],
];

export class See {
  readonly element = make("section", { class: "see", "aria-label": "See" });
  readonly controls = new Controls();
  private readonly lanes = new Lanes();
  private readonly map = new ByteMap();
  private readonly sentence = make("p", { class: "see-sentence", "aria-live": "polite" });
  private readonly findings = make("div", { class: "findings" });
  private readonly work = make("div", {});
  private readonly ranks = make("div", {});
  private readonly maps = make("div", { class: "maps" });
  private readonly choice = make("select", { id: "see-file" });
  private readonly mapText = make("p", { class: "summary", "aria-live": "polite" });
  private readonly pieces = make("details", {}, make("summary", {}, "Pieces as a table"));
  private scene: Scene | undefined;
  private chosen = "";
  private layer = 0;

  /** Told of a place of the program that the reader chose. */
  onPlace: (place: Place) => void = () => {};

  constructor() {
    const label = make("label", { for: "see-file" }, "File ");
    this.choice.addEventListener("change", () => this.choose(this.choice.value));
    this.maps.append(
      make("h2", {}, "Which rank touches which bytes"),
      make("div", { class: "tools" }, label, this.choice),
      this.map.zoomed.element,
      this.mapText,
      this.pieces,
    );
    this.element.append(
      this.controls.element,
      this.sentence,
      this.findings,
      make("h2", {}, "Ranks over virtual time"),
      legend(),
      this.lanes.element,
      details("Ranks, barriers and signals as tables", this.ranks),
      make("h2", {}, "Work of each phase"),
      make(
        "div",
        { class: "scroll", tabindex: 0, role: "region", "aria-label": "Work of each phase" },
        this.work,
      ),
      this.maps,
    );
  }

  /** Told of other values of the sliders. */
  set onChange(changed: (values: Values) => void) {
    this.controls.onChange = changed;
  }

  /** Draws a scene; file and zoom stay where they can. */
  async show(scene: Scene): Promise<void> {
    this.scene = scene;
    this.sentence.textContent = sentenceOf(scene);
    this.findings.replaceChildren(...this.findingList(scene));
    this.work.replaceChildren(workTable(scene));
    this.ranks.replaceChildren(rankTable(scene), meetingList(scene), signalList(scene));
    this.listFiles(scene);
    await this.lanes.show(scene);
  }

  /** The program has mistakes: what is drawn is that of before. */
  outdated(isOutdated: boolean): void {
    this.element.classList.toggle("outdated", isOutdated);
  }

  private findingList(scene: Scene): Node[] {
    if (scene.findings.length === 0) return [make("p", { class: "note" }, "Nothing fails.")];
    const items = scene.findings.slice(0, ROWS).map((one) => this.finding(one));
    const list = (some: HTMLElement[]) => make("ul", { class: "warnings" }, ...some);
    const [first, rest] = [items.slice(0, FINDINGS), items.slice(FINDINGS)];
    const head = make("h2", {}, "What fails or is doubtful");
    if (rest.length === 0) return [head, list(first)];
    return [head, list(first), details(`${count(scene.findings.length - FINDINGS)} more`, list(rest))];
  }

  private finding(one: Finding): HTMLElement {
    const ranks = one.ranks.length > 0 ? `${ranksInWords(one.ranks)}: ` : "";
    const item = make(
      "li",
      { class: one.kind },
      `${one.kind === "doubt" ? "doubtful: " : ""}${ranks}${one.message} `,
    );
    const { place } = one;
    if (place) {
      const button = make("button", { type: "button" }, `line ${place.line}`);
      button.addEventListener("click", () => this.onPlace(place));
      item.append(button);
    }
    return item;
  }

  private listFiles(scene: Scene): void {
    this.maps.hidden = scene.files.length === 0;
    const options = scene.files.flatMap((file, at) =>
      file.layers.map((layer, number) => {
        const name = file.layers.length > 1 ? `${file.path} (${layer.access})` : file.path;
        return make("option", { value: `${at}/${number}` }, name);
      }),
    );
    this.choice.replaceChildren(...options);
    const more = scene.more_files > 0 ? ` ${count(scene.more_files)} more files are not drawn.` : "";
    this.maps.dataset.more = more;
    const kept = scene.files.findIndex((file) => `${file.path}` === this.chosen);
    const layer = scene.files[kept]?.layers[this.layer] ? this.layer : 0;
    if (options.length > 0) this.choose(`${Math.max(kept, 0)}/${layer}`);
  }

  private choose(name: string): void {
    const [file, layer] = name.split("/").map(Number);
    const found: FileMap | undefined = this.scene?.files[file];
    if (!found) return;
    [this.chosen, this.layer] = [found.path, layer];
    this.choice.value = name;
    this.map.show(found, found.layers[layer]);
    this.mapText.textContent = `${inWords(found.layers[layer])}.${this.maps.dataset.more ?? ""}`;
    const table = make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Pieces" });
    table.append(pieceTable(found.layers[layer]));
    this.pieces.replaceChildren(this.pieces.firstElementChild as Element, table);
  }
}

function details(name: string, inside: HTMLElement): HTMLElement {
  const box = make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": name }, inside);
  return make("details", {}, make("summary", {}, name), box);
}

function legend(): HTMLElement {
  const classes = CLASSES.map(([of, name]) => make("span", { class: `key ${of}` }, name));
  const others: [string, string][] = [
    ["wait", "waits for others"],
    ["never", "waits for ever"],
    ["meet", "barrier, dot: who came last"],
    ["signal", "signal"],
  ];
  const marks = others.map(([of, name]) => make("span", { class: `mark ${of}` }, name));
  return make("p", { class: "legend" }, ...classes, ...marks);
}

/** Ranks as a list that is short: "rank 3", "ranks 0 to 7", "ranks 1, 5". */
export function ranksInWords(ranks: number[]): string {
  if (ranks.length === 1) return `rank ${ranks[0]}`;
  const isRow = ranks.every((rank, at) => at === 0 || rank === ranks[at - 1] + 1);
  if (isRow && ranks.length > 2) return `ranks ${ranks[0]} to ${ranks[ranks.length - 1]}`;
  return `ranks ${ranks.slice(0, 8).join(", ")}${ranks.length > 8 ? " ..." : ""}`;
}

export function sentenceOf(scene: Scene): string {
  const ranks = scene.ranks === 1 ? "1 rank" : `${count(scene.ranks)} ranks`;
  const { peak } = scene;
  const about = peak.about ? "about " : "";
  const storage = `needs ${about}${bytes(peak.bytes)} of storage and ${about}${count(peak.files)} ${peak.files === 1 ? "name" : "names"} at one time`;
  const did = scene.about ? `shown: ${scene.about}` : `${count(scene.operations)} operations`;
  const left = scene.left_out > 0 ? ` ${count(scene.left_out)} phases, waits and signals are not drawn.` : "";
  return `${ranks}, ${time(scene.end_ns)} of virtual time, ${did}; ${storage}.${left}`;
}

function row(cells: (string | Node)[], head = false): HTMLElement {
  const make1 = (cell: string | Node, at: number) =>
    head
      ? make("th", { scope: "col", class: at === 0 ? "word" : undefined }, cell)
      : make("td", { class: at === 0 ? "word" : undefined }, cell);
  return make("tr", {}, ...cells.map(make1));
}

function table(heads: string[], rows: (string | Node)[][]): HTMLElement {
  const body = rows.slice(0, ROWS).map((cells) => row(cells));
  const shown = make("table", {}, make("thead", {}, row(heads, true)), make("tbody", {}, ...body));
  if (rows.length <= ROWS) return shown;
  return make(
    "div",
    {},
    shown,
    make("p", { class: "note" }, `${count(rows.length - ROWS)} more rows are not shown.`),
  );
}

function workTable(scene: Scene): HTMLElement {
  const heads = ["phase / operation", "operations", "failed", "read", "written", "files", "ranks", "time"];
  const size = (value: number) => (value > 0 ? bytes(value) : "-");
  const rows = scene.work.flatMap((work) => {
    const [all, failed] = [
      work.ops.reduce((a, op) => a + op.count, 0),
      work.ops.reduce((a, op) => a + op.failed, 0),
    ];
    const head = [
      make("strong", {}, work.label || "(no phase)"),
      count(all),
      failed > 0 ? count(failed) : "-",
      size(work.read_bytes),
      size(work.written_bytes),
      count(work.files),
      count(work.ranks),
      time(work.end_ns - work.start_ns),
    ];
    const ops = work.ops.map((op) => [
      make("span", { class: `key ${op.kind}` }, op.op),
      count(op.count),
      op.failed > 0 ? count(op.failed) : "-",
      op.kind === "read" ? size(op.bytes) : "-",
      op.kind === "write" ? size(op.bytes) : "-",
      "",
      "",
      "",
    ]);
    return [head, ...ops];
  });
  return table(heads, rows);
}

function rankTable(scene: Scene): HTMLElement {
  const rows = scene.lanes.map((lane) => {
    const waited = lane.waits.reduce((all, wait) => all + wait.to_ns - wait.from_ns, 0);
    const longest = [...lane.waits].sort((a, b) => b.to_ns - b.from_ns - (a.to_ns - a.from_ns))[0];
    const whom = longest
      ? `${longest.what}${longest.for_rank >= 0 ? ` (rank ${longest.for_rank})` : ""}`
      : "-";
    return [
      `rank ${lane.rank}`,
      endInWords(lane.end),
      time(lane.end_ns),
      time(waited),
      String(lane.waits.length),
      whom,
    ];
  });
  return table(["rank", "end", "virtual time", "waited", "waits", "longest wait for"], rows);
}

function list(name: string, items: string[]): HTMLElement {
  if (items.length === 0) return make("p", { class: "note" }, `No ${name.toLowerCase()}.`);
  const shown = items.slice(0, ROWS).map((text) => make("li", {}, text));
  const more = items.length > ROWS ? [make("li", {}, `${count(items.length - ROWS)} more`)] : [];
  return make("div", {}, make("h3", {}, name), make("ul", { class: "lines" }, ...shown, ...more));
}

function meetingList(scene: Scene): HTMLElement {
  return list(
    "Barriers",
    scene.meetings.map((one) => `${time(one.ns)}: ${meetingInWords(one)}`),
  );
}

function signalList(scene: Scene): HTMLElement {
  return list(
    "Signals",
    scene.signals.map((one) => `${time(one.given_ns)}: ${signalInWords(one)}`),
  );
}
