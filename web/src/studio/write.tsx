// The place Write: text, outline, palette and form are views of one text. The text is the only truth.

import type { EditorView } from "@codemirror/view";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { Refused, readFile, said, saveFile } from "./api";
import type { Drafts } from "./draft";
import { applyEdits, makeEditor, type Problem, reveal, setReadOnly } from "./editor";
import { Form } from "./form";
import type { Language } from "./language";
import { OutlineTree } from "./outline";
import { Palette } from "./palette";
import type { Gesture, Item, Outline, PaletteItem, Position } from "./protocol";
import { findItem, flat } from "./protocol";
import type { Place as TextPlace } from "./shapes";

interface Props {
  name: string;
  language: Language;
  drafts: Drafts;
  connected: boolean;
  /** The text changed. */
  changed: (text: string, outline: Outline | null) => void;
  /** Whether the text differs from the file. */
  setDirty: (dirty: boolean) => void;
  saved: (name: string) => void;
  /** Is given the function that saves. */
  saver: (save: () => Promise<boolean>) => void;
  /** Is given the function that shows a place of the text. */
  shower: (show: (place: TextPlace) => void) => void;
}

/** Time without a change before the outline is asked for again, milliseconds. */
const CALM_MS = 120;

/** The innermost statement at a position. */
function itemAt(outline: Outline, at: Position): Item | null {
  const behind = (a: Position, b: Position) =>
    a.line > b.line || (a.line === b.line && a.character > b.character);
  const around = flat(outline.items).filter(
    ({ item }) => !behind(item.range.start, at) && !behind(at, item.range.end),
  );
  return around.at(-1)?.item ?? null;
}

export function Write({ name, language, drafts, connected, changed, setDirty, saved, saver, shower }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const stored = useRef({ text: "", version: "" });
  const timer = useRef(0);
  const [outline, setOutline] = useState<Outline | null>(null);
  const [palette, setPalette] = useState<PaletteItem[]>([]);
  const [selected, setSelected] = useState<string | null>(null);
  /** A gesture is under way: the outline is that of the text before it. */
  const [busy, setBusy] = useState(false);
  const [notice, setNotice] = useState<"" | "draft" | "taken" | "conflict">("");
  const [error, setError] = useState("");
  const [problems, setProblems] = useState<Problem[]>([]);
  const now = useRef({ name, outline, selected });
  now.current = { name, outline, selected };
  const choose = (id: string | null) => {
    now.current.selected = id;
    setSelected(id);
  };
  const readOnly = notice === "taken";

  const refresh = useCallback(async () => {
    if (!view.current) return null;
    const asked = view.current.state.doc;
    const [next, parts] = await Promise.all([language.outline(name), language.palette(name)]).catch(() => []);
    if (!next || !parts || !view.current?.state.doc.eq(asked) || now.current.name !== name) return null;
    setOutline(next);
    setPalette(parts);
    changed(asked.toString(), next);
    return next;
  }, [name]);

  const onText = useCallback(
    (text: string) => {
      const { version } = stored.current;
      const isSame = text === stored.current.text;
      if (isSame) drafts.remove(name);
      else if (!drafts.write(name, { text, version }))
        setError("The browser has no room for a draft: save the program now.");
      setDirty(!isSame);
      clearTimeout(timer.current);
      timer.current = window.setTimeout(refresh, CALM_MS);
    },
    [name],
  );

  // Edits are made of the text as it is: one gesture after the other, and what is saved has them all.
  const turn = useRef(Promise.resolve());
  const save = useCallback(async () => {
    await turn.current;
    const text = view.current?.state.doc.toString() ?? "";
    try {
      stored.current = await saveFile(name, text, stored.current.version);
      drafts.remove(name);
      setDirty(view.current?.state.doc.toString() !== stored.current.text);
      setNotice("");
      setError("");
      saved(name);
      return true;
    } catch (why) {
      if (why instanceof Refused && why.status === 409) setNotice("conflict");
      setError(said(why));
      return false;
    }
  }, [name]);

  const open = useCallback(async () => {
    drafts.take(name);
    stored.current = await readFile(name).catch((why) => {
      if (!(why instanceof Refused && why.status === 404)) setError(said(why));
      return { text: "", version: "" };
    });
    const draft = drafts.read(name);
    const text = draft?.text ?? stored.current.text;
    // A draft of an older file must not silently take the place of the new one.
    if (draft) stored.current = { ...stored.current, version: draft.version };
    if (!place.current || now.current.name !== name) return;
    view.current?.destroy();
    view.current = makeEditor(place.current, text, name, language, {
      changed: onText,
      problems: (found) => setProblems([...found].sort((a, b) => a.line - b.line)),
      cursor: (at) => {
        const { outline } = now.current;
        const item = outline && view.current?.hasFocus ? itemAt(outline, at) : null;
        if (item) choose(item.id);
      },
      save,
    });
    setNotice(draft && draft.text !== stored.current.text ? "draft" : "");
    setDirty(text !== stored.current.text);
    await refresh();
  }, [name]);

  useEffect(() => {
    setOutline(null);
    setProblems([]);
    choose(null);
    setError("");
    saver(save);
    shower(({ line, column, end_line, end_column }) => {
      const start = { line: line - 1, character: column - 1 };
      const end = { line: end_line - 1, character: end_column - 1 };
      if (!view.current) return;
      reveal(view.current, { start, end });
      view.current.focus();
    });
    void open();
    drafts.onTaken = (taken) => {
      if (taken !== name) return;
      setNotice("taken");
      if (view.current) setReadOnly(view.current, true);
    };
    return () => {
      clearTimeout(timer.current);
      view.current?.destroy();
      view.current = null;
    };
  }, [name]);

  useEffect(() => {
    if (connected) void refresh();
  }, [connected]);

  const perform = useCallback(
    async (gesture: Gesture, before: string | null) => {
      // A gesture on the chosen statement follows it where the gesture before has moved it.
      const chosen = now.current.selected;
      const follows = "id" in gesture && gesture.id === before && chosen !== null;
      try {
        const edited = await language.gesture(name, follows ? { ...gesture, id: chosen } : gesture);
        if (!view.current) return;
        applyEdits(view.current, edited.edits);
        setError("");
        const next = await refresh();
        // Who has chosen another statement meanwhile keeps it.
        if (now.current.selected !== chosen) return;
        choose(edited.select);
        const item = next && findItem(next.items, edited.select);
        if (item && view.current) reveal(view.current, item.head);
      } catch (why) {
        setError(said(why));
      }
    },
    [name],
  );
  const act = useCallback(
    (gesture: Gesture) => {
      const before = now.current.selected;
      setBusy(true);
      const own = turn.current.then(() => perform(gesture, before));
      turn.current = own;
      void own.then(() => turn.current === own && setBusy(false));
    },
    [name],
  );

  const select = (id: string | null) => {
    choose(id);
    const item = outline && findItem(outline.items, id);
    if (item && view.current) reveal(view.current, item.head);
  };

  const discard = () => {
    if (!view.current) return;
    view.current.dispatch({
      changes: { from: 0, to: view.current.state.doc.length, insert: stored.current.text },
    });
    setNotice("");
  };
  const overwrite = async () => {
    const file = await readFile(name).catch(() => null);
    if (file) stored.current = file;
    await save();
  };
  const takeTheirs = async () => {
    drafts.remove(name);
    await open();
    setError("");
  };

  const item = outline ? findItem(outline.items, selected) : null;
  return (
    <div class="write">
      <div class={busy ? "left busy" : "left"}>
        <OutlineTree
          outline={outline}
          palette={palette}
          selected={item ? selected : null}
          readOnly={readOnly}
          select={select}
          act={act}
        />
        <Palette
          palette={palette}
          chosen={item}
          readOnly={readOnly || !outline?.complete}
          insert={(text, where) => act({ kind: "insert", text, place: where })}
        />
      </div>
      <div class="middle">
        {notice === "draft" && (
          <p class="notice">
            These are changes that were not saved before.{" "}
            <button type="button" onClick={discard}>
              Discard them
            </button>{" "}
            <button type="button" onClick={() => setNotice("")}>
              Keep them
            </button>
          </p>
        )}
        {notice === "taken" && (
          <p class="notice">
            This program is edited in another tab now.{" "}
            <button type="button" onClick={() => void open()}>
              Edit it here
            </button>
          </p>
        )}
        {notice === "conflict" && (
          <p class="notice">
            The file was changed by somebody else.{" "}
            <button type="button" onClick={() => void overwrite()}>
              Save mine
            </button>{" "}
            <button type="button" onClick={() => void takeTheirs()}>
              Take theirs
            </button>
          </p>
        )}
        {error && notice !== "conflict" && (
          <p class="notice bad" role="alert">
            {error}{" "}
            <button type="button" onClick={() => setError("")}>
              Close
            </button>
          </p>
        )}
        <div class="text" ref={place} />
        {problems.length > 0 && (
          <section class="problems" aria-label="Problems">
            {problems.map((one) => (
              <p key={`${one.line} ${one.message}`} class={one.isError ? "bad" : ""}>
                <button type="button" onClick={one.go}>
                  Line {one.line}
                </button>{" "}
                <span>{one.message}</span>{" "}
                {one.fixes.map((fix) => (
                  <button key={fix.name} type="button" class="main" onClick={fix.apply}>
                    {fix.name}
                  </button>
                ))}
              </p>
            ))}
          </section>
        )}
      </div>
      <div class="right">
        <Form item={item} readOnly={readOnly || !outline?.complete} act={act} />
      </div>
    </div>
  );
}
