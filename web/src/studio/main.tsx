// The studio: four places over one folder. See docs/studio.md.

import { render } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { type Folder, folder as readFolder, said } from "./api";
import { Drafts } from "./draft";
import { Language } from "./language";
import { Look } from "./look";
import type { Outline } from "./protocol";
import { Run } from "./run";
import type { Place } from "./shapes";
import { Virtual } from "./virtual";
import { Write } from "./write";

const PLACES = ["Write", "See", "Run", "Look"] as const;
type PlaceName = (typeof PLACES)[number];

function freeName(taken: string[]): string {
  for (let number = 1; ; number++) {
    const name = `program-${number}.ppl`;
    if (!taken.includes(name)) return name;
  }
}

function Studio({ first }: { first: Folder }) {
  const [folder, setFolder] = useState(first);
  const language = useMemo(() => new Language(first.folder), []);
  const drafts = useMemo(() => new Drafts(first.folder), []);
  const names = [...new Set([...folder.programs, ...drafts.names()])].sort();
  const [name, setName] = useState(() => names[0] ?? freeName([]));
  const [place, setPlace] = useState<PlaceName>("Write");
  /** See is shown beside Write. */
  const [beside, setBeside] = useState(false);
  const [connected, setConnected] = useState(false);
  const [dirty, setDirty] = useState(false);
  const [program, setProgram] = useState<{ text: string; outline: Outline | null }>({
    text: "",
    outline: null,
  });
  const [shown, setShown] = useState<string | null>(null);
  const save = useRef<() => Promise<boolean>>(async () => true);
  const show = useRef<(place: Place) => void>(() => {});
  language.onState = setConnected;

  const isBeside = beside && place === "Write";
  const seen = place === "See" || isBeside;
  const isNew = !folder.programs.includes(name);
  const state = dirty ? "not saved" : isNew ? "new, not saved yet" : "saved";
  const refresh = () => void readFolder().then(setFolder, () => {});
  const rename = () => {
    const asked = prompt("Name of the new program", freeName(names));
    if (!asked) return;
    setName(asked.endsWith(".ppl") ? asked : `${asked}.ppl`);
    setPlace("Write");
  };
  useEffect(() => {
    const warn = (event: BeforeUnloadEvent) => {
      if (dirty && !drafts.isMine(name)) event.preventDefault();
    };
    addEventListener("beforeunload", warn);
    return () => removeEventListener("beforeunload", warn);
  });

  return (
    <>
      <header>
        <h1>Parabench Studio</h1>
        <nav aria-label="Places">
          {PLACES.map((one) => (
            <button
              key={one}
              type="button"
              aria-current={place === one ? "page" : undefined}
              onClick={() => setPlace(one)}
            >
              {one}
            </button>
          ))}
        </nav>
        <button
          type="button"
          aria-pressed={isBeside}
          disabled={place !== "Write"}
          onClick={() => setBeside(!beside)}
        >
          See beside
        </button>
        <select aria-label="Program" value={name} onChange={(event) => setName(event.currentTarget.value)}>
          {[...new Set([...names, name])].map((one) => (
            <option key={one} value={one}>
              {one}
            </option>
          ))}
        </select>
        <button type="button" onClick={rename}>
          New
        </button>
        <button type="button" disabled={!dirty} onClick={() => void save.current()}>
          Save
        </button>
        <span class="muted" role="status">
          {connected ? state : "no connection to the studio: drafts are kept"}
        </span>
      </header>
      <main class={isBeside ? "beside" : undefined}>
        <div hidden={place !== "Write"} class="place">
          <Write
            key={name}
            name={name}
            language={language}
            drafts={drafts}
            connected={connected}
            changed={(text, outline) => setProgram({ text, outline })}
            setDirty={setDirty}
            saved={refresh}
            saver={(of) => {
              save.current = of;
            }}
            shower={(of) => {
              show.current = of;
            }}
          />
        </div>
        <div hidden={!seen} class="place">
          <Virtual
            name={name}
            path={`${folder.folder}/${name}`}
            text={program.text}
            outline={program.outline}
            visible={seen}
            reveal={(of) => {
              setPlace("Write");
              show.current(of);
            }}
          />
        </div>
        <div hidden={place !== "Run"} class="place">
          <Run
            name={name}
            folder={folder}
            outline={program.outline}
            save={() => save.current()}
            ended={refresh}
            look={(run) => {
              setShown(run);
              setPlace("Look");
            }}
          />
        </div>
        {place === "Look" && (
          <div class="place">
            <Look
              folder={folder}
              shown={shown}
              show={setShown}
              changed={refresh}
              openProgram={(of) => {
                setName(of);
                setPlace("Write");
              }}
            />
          </div>
        )}
      </main>
    </>
  );
}

const root = document.getElementById("studio");
if (root) {
  root.replaceChildren();
  readFolder().then(
    (first) => render(<Studio first={first} />, root),
    (why) => render(<p class="start notice bad">{said(why)}</p>, root),
  );
}
