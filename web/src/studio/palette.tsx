// Parts to insert: a click puts one behind or inside of the chosen statement, a drag anywhere in the outline.

import { useState } from "preact/hooks";
import type { Item, PaletteItem, Place } from "./protocol";

interface Props {
  palette: PaletteItem[];
  chosen: Item | null;
  readOnly: boolean;
  insert: (text: string, place: Place) => void;
}

/** Where a click inserts. */
export function placeFor(chosen: Item | null, inside: boolean): Place {
  if (!chosen) return { at: "after" };
  return { at: inside && chosen.holds ? "inside" : "after", id: chosen.id };
}

function where(chosen: Item | null, inside: boolean): string {
  if (!chosen) return "at the end of the program";
  return `${inside && chosen.holds ? "inside of" : "behind"} ${chosen.title}`;
}

export function Palette({ palette, chosen, readOnly, insert }: Props) {
  const [sought, setSought] = useState("");
  const [inside, setInside] = useState(true);
  const found = palette.filter((one) =>
    `${one.section} ${one.name} ${one.title} ${one.doc}`.toLowerCase().includes(sought.toLowerCase()),
  );
  const sections = [...new Set(found.map((one) => one.section))];
  return (
    <section class="palette" aria-labelledby="palette-title">
      <h2 id="palette-title">Add</h2>
      <input
        type="search"
        aria-label="Search parts to add"
        placeholder="Search: write, barrier, pattern …"
        value={sought}
        onInput={(event) => setSought(event.currentTarget.value)}
      />
      <p class="where" aria-live="polite">
        A click adds it {where(chosen, inside)}.
        {chosen?.holds && (
          <label>
            <input
              type="checkbox"
              checked={inside}
              onChange={(event) => setInside(event.currentTarget.checked)}
            />{" "}
            inside
          </label>
        )}
      </p>
      <div class="parts">
        {sections.map((section, at) => (
          <details key={section} open={sought !== "" || at === 0}>
            <summary>{section}</summary>
            <ul>
              {found
                .filter((one) => one.section === section)
                .map((one) => (
                  <li key={one.title}>
                    <button
                      type="button"
                      disabled={readOnly}
                      draggable={!readOnly}
                      data-part={one.name}
                      title={one.doc}
                      onClick={() => insert(one.text, placeFor(chosen, inside))}
                      onDragStart={(event) => event.dataTransfer?.setData("application/x-ppl", one.text)}
                    >
                      <b>{one.name}</b> <small>{one.doc}</small>
                    </button>
                  </li>
                ))}
            </ul>
          </details>
        ))}
      </div>
    </section>
  );
}
