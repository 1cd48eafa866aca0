// The program as a tree of statements. Every gesture asks the server for edits of the text.

import { useRef, useState } from "preact/hooks";
import type { Gesture, Item, Outline, PaletteItem, Place } from "./protocol";
import { findItem, flat } from "./protocol";

interface Props {
  outline: Outline | null;
  palette: PaletteItem[];
  selected: string | null;
  readOnly: boolean;
  select: (id: string | null) => void;
  act: (gesture: Gesture) => void;
}

/** The place before the previous or behind the next sibling. */
export function neighbour(outline: Outline, id: string, up: boolean): Place | null {
  const parts = id.split(".");
  const at = Number(parts.pop());
  const parent = parts.length ? findItem(outline.items, parts.join(".")) : null;
  const siblings = parent ? parent.children : outline.items;
  const other = siblings[up ? at - 1 : at + 1];
  return other ? { at: up ? "before" : "after", id: other.id } : null;
}

/** Where the pointer is over a row: before, behind, or inside of a statement that has a body. */
function placeOf(event: DragEvent, item: Item): Place {
  const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
  const share = (event.clientY - box.top) / box.height;
  if (item.holds && share > 0.25 && share < 0.9) return { at: "inside", id: item.id };
  return { at: share < 0.5 ? "before" : "after", id: item.id };
}

const HEADS = new Set(["repeat", "time", "group", "with", "if", "while", "master", "share"]);

export function OutlineTree({ outline, palette, selected, readOnly, select, act }: Props) {
  const [over, setOver] = useState<Place | null>(null);
  const tree = useRef<HTMLDivElement>(null);
  const rows = outline ? flat(outline.items) : [];
  const item = outline ? findItem(outline.items, selected) : null;
  const frozen = readOnly || !outline?.complete;

  const drop = (event: DragEvent, place: Place) => {
    event.preventDefault();
    setOver(null);
    const text = event.dataTransfer?.getData("application/x-ppl");
    const id = event.dataTransfer?.getData("application/x-ppl-item");
    if (text) act({ kind: "insert", text, place });
    else if (id && id !== place.id) act({ kind: "move", id, place });
  };
  const move = (up: boolean) => {
    const place = outline && selected !== null ? neighbour(outline, selected, up) : null;
    if (place && selected !== null) act({ kind: "move", id: selected, place });
  };
  const focusRow = (at: number) => {
    const row = rows[Math.max(0, Math.min(rows.length - 1, at))];
    if (!row) return;
    select(row.item.id);
    tree.current?.querySelector<HTMLElement>(`[data-id="${row.item.id}"]`)?.focus();
  };
  const key = (event: KeyboardEvent) => {
    const at = rows.findIndex((row) => row.item.id === selected);
    const keys: Record<string, () => void> = {
      ArrowUp: () => (event.altKey ? move(true) : focusRow(at - 1)),
      ArrowDown: () => (event.altKey ? move(false) : focusRow(at + 1)),
      Home: () => focusRow(0),
      End: () => focusRow(rows.length - 1),
      Delete: () => item && !frozen && act({ kind: "delete", id: item.id }),
    };
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  };
  const heads = palette.filter((one) => one.head && HEADS.has(one.name));

  return (
    <section class="outline" aria-labelledby="outline-title">
      <h2 id="outline-title">Outline</h2>
      <div class="tools" role="toolbar" aria-label="Change the chosen statement">
        <button type="button" disabled={frozen || !item} onClick={() => move(true)} title="Move up (Alt+Up)">
          ↑<span class="hidden">Move up</span>
        </button>
        <button
          type="button"
          disabled={frozen || !item}
          onClick={() => move(false)}
          title="Move down (Alt+Down)"
        >
          ↓<span class="hidden">Move down</span>
        </button>
        <button
          type="button"
          disabled={frozen || !item}
          onClick={() => item && act({ kind: "duplicate", id: item.id })}
        >
          Duplicate
        </button>
        <button
          type="button"
          disabled={frozen || !item}
          onClick={() => item && act({ kind: item.kind === "off" ? "switchOn" : "switchOff", id: item.id })}
        >
          {item?.kind === "off" ? "Switch on" : "Switch off"}
        </button>
        <button
          type="button"
          disabled={frozen || !item}
          onClick={() => item && act({ kind: "delete", id: item.id })}
        >
          Delete
        </button>
        <select
          aria-label="Wrap the chosen statement in"
          disabled={frozen || !item || item.top}
          value=""
          onChange={(event) => {
            const head = event.currentTarget.value;
            event.currentTarget.value = "";
            if (item && head) act({ kind: "wrap", id: item.id, head });
          }}
        >
          <option value="">Wrap in …</option>
          {heads.map((one) => (
            <option key={one.title} value={one.head ?? ""}>
              {one.name}
            </option>
          ))}
        </select>
      </div>
      {outline && !outline.complete && (
        <p class="notice">
          The text has a mistake, so the outline cannot change it. Mend it in the text: the marked line offers
          a fix.
        </p>
      )}
      <div ref={tree} role="tree" aria-label="Statements">
        {rows.map(({ item: one, depth }, at) => (
          <div
            key={one.id}
            role="treeitem"
            data-id={one.id}
            data-kind={one.kind}
            aria-level={depth + 1}
            aria-selected={one.id === selected}
            tabIndex={one.id === selected || (selected === null && at === 0) ? 0 : -1}
            class={over?.id === one.id ? `over-${over.at}` : undefined}
            style={{ paddingLeft: `${8 + depth * 16}px` }}
            draggable={!frozen}
            onClick={() => select(one.id)}
            onKeyDown={key}
            onFocus={() => one.id !== selected && select(one.id)}
            onDragStart={(event) => event.dataTransfer?.setData("application/x-ppl-item", one.id)}
            onDragOver={(event) => {
              event.preventDefault();
              setOver(placeOf(event, one));
            }}
            onDragLeave={() => setOver(null)}
            onDrop={(event) => drop(event, placeOf(event, one))}
          >
            <span class="title">{one.title}</span> <span class="detail">{one.detail}</span>
          </div>
        ))}
        <div
          role="treeitem"
          aria-level={1}
          aria-selected={selected === null}
          tabIndex={-1}
          class={`end ${over && !over.id ? "over-before" : ""}`}
          onClick={() => select(null)}
          onKeyDown={key}
          onDragOver={(event) => {
            event.preventDefault();
            setOver({ at: "after" });
          }}
          onDragLeave={() => setOver(null)}
          onDrop={(event) => drop(event, { at: "after" })}
        >
          {rows.length ? "end of the program" : "empty: choose a part below"}
        </div>
      </div>
    </section>
  );
}
