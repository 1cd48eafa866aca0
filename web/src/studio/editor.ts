// The text editor: CodeMirror with the language server. Colours come from the form of words alone; what words mean, the
// server knows.

import {
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import {
  bracketMatching,
  foldGutter,
  foldKeymap,
  HighlightStyle,
  indentUnit,
  StreamLanguage,
  syntaxHighlighting,
} from "@codemirror/language";
import { type Diagnostic, lintGutter, lintKeymap, setDiagnosticsEffect } from "@codemirror/lint";
import { LSPPlugin } from "@codemirror/lsp-client";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { Compartment, EditorState, type Extension } from "@codemirror/state";
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  keymap,
  lineNumbers,
  placeholder,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";
import type { Language } from "./language";
import type { CodeAction, Position, Range, TextEdit } from "./protocol";

const words = StreamLanguage.define<null>({
  name: "ppl",
  startState: () => null,
  token(stream) {
    if (stream.eatSpace()) return null;
    if (stream.match(/^(#|\/\/).*/)) return "comment";
    if (stream.match(/^"(\\.|[^"\\])*"?/)) return "string";
    if (stream.match(/^\$+\w+/)) return "variableName";
    if (stream.match(/^\d[\w.]*/)) return "number";
    if (stream.match(/^\w+(?=\s*\()/)) return "name";
    if (stream.match(/^\w+/)) return "keyword";
    stream.next();
    return null;
  },
  languageData: { commentTokens: { line: "#" }, closeBrackets: { brackets: ["(", "[", "{", '"'] } },
});

const colors = HighlightStyle.define([
  { tag: tags.comment, color: "var(--muted)", fontStyle: "italic" },
  { tag: tags.string, color: "var(--string)" },
  { tag: tags.number, color: "var(--number)" },
  { tag: tags.variableName, color: "var(--variable)" },
  { tag: tags.name, color: "var(--link)" },
  { tag: tags.keyword, color: "var(--text)", fontWeight: "600" },
]);

/** What is wrong at a place, and what can be done. */
export interface Problem {
  line: number;
  isError: boolean;
  message: string;
  go: () => void;
  fixes: { name: string; apply: () => void }[];
}

export interface Hooks {
  problems: (found: Problem[]) => void;
  changed: (text: string) => void;
  cursor: (at: Position) => void;
  save: () => void;
}

const writable = new Compartment();

/** Diagnostics with the fixes that the language server offers. */
function fixes(language: Language, name: string, hooks: Hooks): Extension {
  return EditorView.updateListener.of((update) => {
    for (const transaction of update.transactions) {
      for (const effect of transaction.effects) {
        if (!effect.is(setDiagnosticsEffect)) continue;
        const isNew = effect.value.some((one: Diagnostic) => !one.actions);
        if (isNew) void offer(update.view, language, name, effect.value);
        hooks.problems(effect.value.map((one: Diagnostic) => problem(update.view, one)));
      }
    }
  });
}

function problem(view: EditorView, { from, to, severity, message, actions }: Diagnostic): Problem {
  const fixes = (actions ?? []).map(({ name, apply }) => ({ name, apply: () => apply(view, from, to) }));
  const go = () => {
    view.dispatch({ selection: { anchor: from, head: to }, scrollIntoView: true });
    view.focus();
  };
  return { line: view.state.doc.lineAt(from).number, isError: severity === "error", message, go, fixes };
}

async function offer(view: EditorView, language: Language, name: string, found: readonly Diagnostic[]) {
  const plugin = LSPPlugin.get(view);
  if (!plugin) return;
  const doc = view.state.doc;
  const uri = language.uri(name);
  const withActions = await Promise.all(
    found.map(async (one) => {
      const range = { start: plugin.toPosition(one.from), end: plugin.toPosition(one.to) };
      const context = { diagnostics: [{ range, message: one.message }] };
      const params = { textDocument: { uri }, range, context };
      const actions = await language.client
        .request<object, CodeAction[] | null>("textDocument/codeAction", params)
        .catch(() => null);
      const own = (actions ?? []).filter((action) => action.edit?.changes?.[uri]);
      return { ...one, actions: own.map((action) => asAction(action, uri)) };
    }),
  );
  // What was asked about another text is of no use.
  if (view.state.doc.eq(doc)) view.dispatch({ effects: setDiagnosticsEffect.of(withActions) });
}

function asAction(action: CodeAction, uri: string) {
  return {
    name: action.title,
    apply: (view: EditorView) => applyEdits(view, action.edit?.changes?.[uri] ?? []),
  };
}

export function makeEditor(
  parent: HTMLElement,
  text: string,
  name: string,
  language: Language,
  hooks: Hooks,
): EditorView {
  const nonce = document.querySelector<HTMLMetaElement>("meta[name=nonce]")?.content ?? "";
  const extensions: Extension[] = [
    EditorView.cspNonce.of(nonce),
    lineNumbers(),
    foldGutter(),
    lintGutter(),
    history(),
    drawSelection(),
    highlightActiveLine(),
    highlightActiveLineGutter(),
    highlightSelectionMatches(),
    bracketMatching(),
    closeBrackets(),
    autocompletion(),
    search({ top: true }),
    indentUnit.of("    "),
    words,
    syntaxHighlighting(colors),
    keymap.of([
      {
        key: "Mod-s",
        run: () => {
          hooks.save();
          return true;
        },
      },
      ...closeBracketsKeymap,
      ...completionKeymap,
      ...searchKeymap,
      ...historyKeymap,
      ...foldKeymap,
      ...lintKeymap,
      ...defaultKeymap,
      indentWithTab,
    ]),
    placeholder("Add parts from the list on the left, or write a program here."),
    EditorView.contentAttributes.of({ "aria-label": `Text of ${name}` }),
    EditorView.updateListener.of((update) => {
      if (update.docChanged) hooks.changed(update.state.doc.toString());
      if (update.selectionSet || update.docChanged)
        hooks.cursor(position(update.view, update.state.selection.main.head));
    }),
    language.client.plugin(language.uri(name), "ppl"),
    fixes(language, name, hooks),
    writable.of([]),
  ];
  return new EditorView({ parent, state: EditorState.create({ doc: text, extensions }) });
}

/** Makes the text readable only, or writable again. */
export function setReadOnly(view: EditorView, readOnly: boolean): void {
  const extension = readOnly ? [EditorState.readOnly.of(true), EditorView.editable.of(false)] : [];
  view.dispatch({ effects: writable.reconfigure(extension) });
}

export function position(view: EditorView, at: number): Position {
  const line = view.state.doc.lineAt(at);
  return { line: line.number - 1, character: at - line.from };
}

/** Columns of the protocol and of the editor are UTF-16 units. */
export function offset(view: EditorView, { line, character }: Position): number {
  const doc = view.state.doc;
  if (line >= doc.lines) return doc.length;
  const at = doc.line(line + 1);
  return Math.min(at.from + character, at.to);
}

/** All edits as one step of undo. */
export function applyEdits(view: EditorView, edits: TextEdit[]): void {
  const changes = edits.map(({ range, newText }) => ({
    from: offset(view, range.start),
    to: offset(view, range.end),
    insert: newText,
  }));
  view.dispatch({ changes, userEvent: "input.gesture" });
}

export function reveal(view: EditorView, range: Range): void {
  const [anchor, head] = [offset(view, range.start), offset(view, range.end)];
  view.dispatch({ selection: { anchor, head }, effects: EditorView.scrollIntoView(anchor, { y: "center" }) });
}
