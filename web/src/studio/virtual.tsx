// The place See with Step: asks the server for what the program would do, and shows it.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { said, send } from "./api";
import type { Values } from "./controls";
import type { Outline } from "./protocol";
import { parameters, RANKS } from "./run";
import { See } from "./see";
import type { Place, Scene, Snapshot, Target } from "./shapes";
import { Step } from "./step";

interface Props {
  name: string;
  /** Of the program, for the server. */
  path: string;
  text: string;
  outline: Outline | null;
  visible: boolean;
  /** Shows a place of the program in Write. */
  reveal: (place: Place) => void;
}

export function Virtual({ name, path, text, outline, visible, reveal }: Props) {
  const see = useMemo(() => new See(), []);
  const step = useMemo(() => new Step(), []);
  const box = useRef<HTMLDivElement>(null);
  const [values, setValues] = useState<Values>({ ranks: RANKS, params: [] });
  const [mode, setMode] = useState<"see" | "step">("see");
  const [target, setTarget] = useState<Target>({ to: "position", position: 0 });
  const [error, setError] = useState("");
  const [next, setNext] = useState<Place | null>(null);
  const asked = useRef(0);

  // A program that cannot be executed has no picture, least of all that of the one before.
  useEffect(() => {
    see.element.hidden = true;
  }, [name]);
  const empty = !text.trim();
  const all = parameters(outline);
  const key = JSON.stringify(all);
  useEffect(() => see.controls.set(values.ranks, all), [key]);
  useEffect(() => {
    see.onChange = setValues;
    see.onPlace = reveal;
    step.onTarget = setTarget;
    step.onPlace = setNext;
  }, [reveal]);
  useEffect(() => {
    step.program = path;
    setTarget({ to: "position", position: 0 });
  }, [path, text]);
  useEffect(() => {
    box.current?.replaceChildren(see.controls.element, mode === "see" ? see.element : step.element);
  }, [mode]);

  useEffect(() => {
    if (!visible || !text) return;
    const number = ++asked.current;
    const program = {
      name,
      text,
      ranks: values.ranks,
      parameters: Object.fromEntries(values.params.map((one) => [one.name, one.value])),
    };
    const answer =
      mode === "see"
        ? send<Scene>("POST", "/api/see", program).then((scene) => {
            if (number !== asked.current) return;
            see.element.hidden = false;
            return see.show(scene);
          })
        : send<Snapshot>("POST", "/api/step", { ...program, target }).then((state) => step.show(state));
    answer.then(
      () => {
        if (number !== asked.current) return;
        see.outdated(false);
        setError("");
      },
      (why) => {
        if (number !== asked.current) return;
        see.outdated(true);
        setError(said(why));
      },
    );
  }, [visible, name, text, values, mode, target]);

  return (
    <div class="virtual">
      <div class="tools">
        <button type="button" aria-pressed={mode === "see"} onClick={() => setMode("see")}>
          The whole program
        </button>
        <button type="button" aria-pressed={mode === "step"} onClick={() => setMode("step")}>
          Step by step
        </button>
        <span class="muted">
          Executed in virtual time on files in memory: times are not those of your storage.
        </span>
      </div>
      {error && (
        <p class="notice bad" role="alert">
          {error}
        </p>
      )}
      {mode === "step" && next && next.file === path && (
        <p class="next">
          <code>
            {next.line}: {text.split("\n")[next.line - 1]?.trim()}
          </code>{" "}
          <button type="button" onClick={() => reveal(next)}>
            Show it in Write
          </button>
        </p>
      )}
      {empty && (
        <p class="muted">The program is empty: add statements in Write, and see here what each rank does.</p>
      )}
      <div ref={box} hidden={empty} />
    </div>
  );
}
