// The parameters of the chosen statement. Texts are shown without their quotes; other values are PPL text.

import { useState } from "preact/hooks";
import type { Gesture, Item, Parameter } from "./protocol";

interface Props {
  item: Item | null;
  readOnly: boolean;
  act: (gesture: Gesture) => void;
}

const TEXTS = new Set(["text", "path", "label", "group", "pattern", "flags", "word"]);

/** Types with choices beside which others can be typed. */
const OPEN = new Set(["pattern", "handle", "group"]);

/** A PPL string without escapes in it, or null. */
function unquoted(value: string): string | null {
  const found = /^"((?:[^"\\]|\\["\\])*)"$/.exec(value);
  return found ? found[1].replace(/\\(["\\])/g, "$1") : null;
}

function quoted(text: string): string {
  return `"${text.replace(/(["\\])/g, "\\$1")}"`;
}

/** What a field shows for PPL text. */
export function shown({ type }: Parameter, value: string | null): string {
  if (value === null) return "";
  return TEXTS.has(type) ? (unquoted(value) ?? value) : value;
}

/** PPL text of what was typed; null: nothing. What is no text in quotes now stays an expression. */
export function written(parameter: Parameter, typed: string): string | null {
  const { type, value, required, choices } = parameter;
  const text = typed.trim();
  if (text === "" && !required) return null;
  if (type === "variable" || type === "handle") return /^\w/.test(text) ? `$${text}` : text;
  const isBare =
    value !== null && unquoted(value) === null && !choices.some((one) => unquoted(one) === typed);
  const isNumber = type === "pattern" && /^\d/.test(text);
  if (!TEXTS.has(type) || isBare || isNumber || /^["(]/.test(text)) return text;
  return choices.includes(text) ? text : quoted(typed);
}

function Field({ item, parameter, readOnly, act }: Props & { item: Item; parameter: Parameter }) {
  const now = shown(parameter, parameter.value);
  const [typed, setTyped] = useState(now);
  const [before, setBefore] = useState(now);
  // Not in an effect, which runs after a first key may have been typed.
  if (now !== before) {
    setBefore(now);
    setTyped(now);
  }
  const id = `parameter-${parameter.name.replace(/\W/g, "-")}`;
  const set = (text: string) => {
    if (text === now) return;
    act({ kind: "setParameter", id: item.id, name: parameter.name, value: written(parameter, text) });
  };
  const placeholder = parameter.default ?? (parameter.required ? "needed" : "not set");
  const isFlag = parameter.type === "flag";
  const choices = isFlag ? ["true", "false"] : parameter.choices;
  // A pattern may be a number, too, and a handle or a group any expression.
  const isList = choices.length > 0 && choices.length <= 12 && !OPEN.has(parameter.type);
  const hint = [parameter.doc, parameter.unit && `Unit: ${parameter.unit}.`].filter(Boolean).join(" ");
  return (
    <div class="field">
      <label for={id}>
        {parameter.name}
        {parameter.required ? "" : " (optional)"}
      </label>
      {isList ? (
        <select
          id={id}
          disabled={readOnly}
          value={typed}
          aria-describedby={`${id}-doc`}
          onChange={(event) => set(event.currentTarget.value)}
        >
          {!parameter.required && <option value="">{placeholder}</option>}
          {[...new Set([...(typed ? [typed] : []), ...choices.map((one) => shown(parameter, one))])].map(
            (one) => (
              <option key={one} value={one}>
                {one}
              </option>
            ),
          )}
        </select>
      ) : (
        <input
          id={id}
          disabled={readOnly}
          value={typed}
          placeholder={placeholder}
          list={choices.length ? `${id}-choices` : undefined}
          aria-describedby={`${id}-doc`}
          spellcheck={false}
          autocomplete="off"
          onInput={(event) => setTyped(event.currentTarget.value)}
          onChange={(event) => set(event.currentTarget.value)}
          onKeyDown={(event) => event.key === "Enter" && set(event.currentTarget.value)}
        />
      )}
      {!isList && choices.length > 0 && (
        <datalist id={`${id}-choices`}>
          {choices.map((one) => (
            <option key={one} value={shown(parameter, one)} />
          ))}
        </datalist>
      )}
      <p class="doc" id={`${id}-doc`}>
        {hint}
      </p>
    </div>
  );
}

export function Form({ item, readOnly, act }: Props) {
  if (!item) {
    return (
      <section class="form" aria-labelledby="form-title">
        <h2 id="form-title">Parameters</h2>
        <p class="muted">Choose a statement in the outline or in the text to change its parameters here.</p>
      </section>
    );
  }
  const [first, rest] = [
    item.parameters.filter((one) => one.required || one.value !== null),
    item.parameters.filter((one) => !one.required && one.value === null),
  ];
  const fields = (all: Parameter[]) =>
    all.map((one) => (
      <Field key={`${item.id} ${one.name}`} item={item} parameter={one} readOnly={readOnly} act={act} />
    ));
  return (
    <section class="form" aria-labelledby="form-title">
      <h2 id="form-title">{item.title}</h2>
      {item.parameters.length === 0 && <p class="muted">It has no parameters.</p>}
      {fields(first)}
      {rest.length > 0 && (
        <details open={first.length === 0}>
          <summary>More parameters ({rest.length})</summary>
          {fields(rest)}
        </details>
      )}
    </section>
  );
}
