// The language server's answers as far as the studio reads them; docs/editors.md defines the requests of its own.

export interface Position {
  line: number;
  character: number;
}

export interface Range {
  start: Position;
  end: Position;
}

export interface TextEdit {
  range: Range;
  newText: string;
}

export interface Parameter {
  name: string;
  /** PPL text; null: not written. */
  value: string | null;
  default: string | null;
  required: boolean;
  type: string;
  unit: string | null;
  choices: string[];
  range?: Range;
  doc: string;
}

export interface Item {
  id: string;
  kind: string;
  title: string;
  detail: string;
  range: Range;
  head: Range;
  holds: boolean;
  top: boolean;
  parameters: Parameter[];
  children: Item[];
}

export interface Outline {
  version: number;
  complete: boolean;
  items: Item[];
}

export interface PaletteItem {
  section: string;
  name: string;
  title: string;
  doc: string;
  text: string;
  head: string | null;
  top: boolean;
}

export interface Place {
  at: "before" | "after" | "inside";
  id?: string;
}

export type Gesture =
  | { kind: "insert"; text: string; place: Place }
  | { kind: "move"; id: string; place: Place }
  | { kind: "duplicate" | "delete" | "switchOff" | "switchOn" | "unwrap"; id: string }
  | { kind: "setParameter"; id: string; name: string; value: string | null }
  | { kind: "wrap"; id: string; head: string };

export interface Edited {
  edits: TextEdit[];
  select: string | null;
}

export interface CodeAction {
  title: string;
  edit?: { changes?: Record<string, TextEdit[]> };
  diagnostics?: { message: string; range: Range }[];
}

/** The item with this id. */
export function findItem(items: Item[], id: string | null): Item | null {
  if (id === null) return null;
  const all = id.split(".").map(Number);
  let found: Item | null = null;
  let level = items;
  for (const at of all) {
    found = level[at] ?? null;
    if (!found) return null;
    level = found.children;
  }
  return found;
}

/** All items with their depth, as they are drawn. */
export function flat(items: Item[], depth = 0): { item: Item; depth: number }[] {
  return items.flatMap((item) => [{ item, depth }, ...flat(item.children, depth + 1)]);
}
