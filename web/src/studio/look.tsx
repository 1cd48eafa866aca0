// The place Look: stored runs with their pages, two of them compared, logs of other tools.

import { useState } from "preact/hooks";
import { type Folder, type Imported, importLog, said } from "./api";

interface Props {
  folder: Folder;
  shown: string | null;
  show: (run: string | null) => void;
  changed: () => void;
  openProgram: (name: string) => void;
}

export function Look({ folder, shown, show, changed, openProgram }: Props) {
  const [marked, setMarked] = useState<string[]>([]);
  const [pair, setPair] = useState<[string, string] | null>(null);
  const [anyway, setAnyway] = useState(false);
  const [busy, setBusy] = useState("");
  const [error, setError] = useState("");
  const [imported, setImported] = useState<Imported | null>(null);
  const [over, setOver] = useState(false);

  const mark = (run: string, on: boolean) =>
    setMarked(on ? [...marked, run].slice(-2) : marked.filter((one) => one !== run));
  const take = async (file: File | undefined) => {
    if (!file) return;
    setBusy(`Importing ${file.name} …`);
    setError("");
    setImported(null);
    try {
      const done = await importLog(file);
      setImported(done);
      setPair(null);
      show(done.run);
      changed();
    } catch (why) {
      setError(said(why));
    }
    setBusy("");
  };
  const query = (words: Record<string, string>) => new URLSearchParams(words).toString();
  const address = pair
    ? `/compare?${query({ a: pair[0], b: pair[1], ...(anyway ? { anyway: "true" } : {}) })}`
    : shown
      ? `/page?${query({ name: shown })}`
      : null;
  const title = pair ? `${pair[0]} and ${pair[1]} compared` : `The run ${shown}`;

  return (
    <div class="look">
      <section
        class={over ? "left over" : "left"}
        aria-label="Runs and logs"
        onDragOver={(event) => {
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={(event) => {
          event.preventDefault();
          setOver(false);
          void take(event.dataTransfer?.files[0]);
        }}
      >
        <h2>Runs</h2>
        {folder.runs.length === 0 && <p class="muted">No run is stored in this folder yet.</p>}
        <ul class="runs">
          {folder.runs.map((run) => (
            <li key={run.name}>
              <label>
                <input
                  type="checkbox"
                  aria-label={`Mark ${run.name} for a comparison`}
                  checked={marked.includes(run.name)}
                  onChange={(event) => mark(run.name, event.currentTarget.checked)}
                />
              </label>
              <button
                type="button"
                aria-pressed={!pair && shown === run.name}
                onClick={() => {
                  setPair(null);
                  show(run.name);
                }}
              >
                {run.name}
                <small>{new Date(run.changed_s * 1000).toLocaleString()}</small>
              </button>
            </li>
          ))}
        </ul>
        <div class="tools">
          <button
            type="button"
            class="main"
            disabled={marked.length !== 2}
            onClick={() => {
              const [a, b] = marked;
              const age = (name: string) => folder.runs.find((run) => run.name === name)?.changed_s ?? 0;
              setPair(age(a) <= age(b) ? [a, b] : [b, a]);
            }}
          >
            Compare two marked runs
          </button>
          <label class="check">
            <input
              type="checkbox"
              checked={anyway}
              onChange={(event) => setAnyway(event.currentTarget.checked)}
            />{" "}
            although programs or parameters differ
          </label>
        </div>
        <h2>Import a log</h2>
        <p class="muted">
          strace, Darshan, DFTracer, Recorder, fio, blktrace: choose a file or drop it here.
        </p>
        <input
          type="file"
          aria-label="Log to import"
          onChange={(event) => {
            void take(event.currentTarget.files?.[0]);
            event.currentTarget.value = "";
          }}
        />
        {busy && <p role="status">{busy}</p>}
        {error && (
          <p class="notice bad" role="alert">
            {error}
          </p>
        )}
        {imported && (
          <p class="notice" role="status">
            The log became {imported.run}
            {imported.program
              ? ` and the program ${imported.program}. `
              : `. It has no program: ${imported.message}`}
            {imported.program && (
              <button type="button" onClick={() => openProgram(imported.program ?? "")}>
                Open the program in Write
              </button>
            )}
          </p>
        )}
      </section>
      <div class="page">
        {address ? (
          <iframe key={address} src={address} title={title} sandbox="allow-scripts allow-downloads" />
        ) : (
          <p class="muted">Choose a run to see its page, or mark two to compare them.</p>
        )}
      </div>
    </div>
  );
}
