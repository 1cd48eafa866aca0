// The place Run: where and with what the program runs; the run that goes on.

import { useEffect, useState } from "preact/hooks";
import { type Folder, type Job, jobs, said, startRun } from "./api";
import { Live, useRun } from "./live";
import { flat, type Outline } from "./protocol";

interface Props {
  name: string;
  folder: Folder;
  outline: Outline | null;
  save: () => Promise<boolean>;
  ended: () => void;
  look: (run: string) => void;
}

/** Ranks at first, in See and in Run. */
export const RANKS = 4;

interface Parameter {
  name: string;
  value: string;
  doc: string;
}

/** Parameters of the program with their defaults. */
export function parameters(outline: Outline | null): Parameter[] {
  const all = outline?.items.filter((item) => item.kind === "param") ?? [];
  return all.map((item) => ({
    name: item.title.replace(/^param\s*\$?/, "").split(/[\s=]/)[0],
    value: item.parameters.find((one) => one.name === "default")?.value ?? "",
    doc: item.parameters.find((one) => one.name === "doc")?.value ?? "",
  }));
}

/** The first operation that needs MPI; operations of MPI-IO begin with p. */
function mpiOperation(outline: Outline | null): string | null {
  const titles = flat(outline?.items ?? [])
    .filter(({ item }) => item.kind === "operation")
    .map(({ item }) => item.title.split(" ").at(-1) ?? "");
  return titles.find((title) => title.startsWith("p") && title !== "print") ?? null;
}

export function Run({ name, folder, outline, save, ended, look }: Props) {
  const [ranks, setRanks] = useState(String(RANKS));
  const [chosenMpi, setMpi] = useState<boolean | null>(null);
  const [directory, setDirectory] = useState("");
  const [against, setAgainst] = useState("");
  const [values, setValues] = useState<Record<string, string>>({});
  const [sweep, setSweep] = useState<Record<string, string>>({});
  const [repetitions, setRepetitions] = useState("");
  const [limit, setLimit] = useState("");
  const [events, setEvents] = useState(true);
  const [prepare, setPrepare] = useState(false);
  const [trace, setTrace] = useState("");
  const [error, setError] = useState("");
  const [job, setJob] = useState<Job | null>(null);
  const seen = useRun(job?.id ?? null, ended);

  useEffect(() => {
    // A run goes on without the browser: it is here again.
    jobs().then(
      (all) => setJob((now) => now ?? all[0] ?? null),
      (why) => setError(said(why)),
    );
  }, []);

  const filled = (of: Record<string, string>) =>
    Object.fromEntries(Object.entries(of).filter(([key, value]) => value.trim() && known.has(key)));
  const needsMpi = mpiOperation(outline);
  const mpi = chosenMpi ?? needsMpi !== null;
  const all = parameters(outline);
  const known = new Set(all.map((one) => one.name));
  const number = (text: string) => (text === "" ? null : Number(text));
  const start = async () => {
    setError("");
    if (!(await save())) {
      setError("The program could not be saved: see Write.");
      return;
    }
    try {
      const asked = {
        program: name,
        ranks: Number(ranks),
        mpi,
        directory: number(directory),
        against: number(against),
        parameters: filled(values),
        sweep: filled(sweep),
        repetitions: number(repetitions),
        time_limit: limit || null,
        events,
        prepare,
        trace: trace || null,
      };
      setJob(await startRun(asked));
      ended();
    } catch (why) {
      setError(said(why));
    }
  };
  const directories = (none: string) => [
    <option key="" value="">
      {none}
    </option>,
    ...folder.directories.map((path, at) => (
      <option key={path} value={String(at)}>
        {path}
      </option>
    )),
  ];
  const empty = outline?.items.length === 0;
  const goesOn = job !== null && seen.exit === null && job.exit_code === null;

  return (
    <div class="run">
      <form
        class="settings"
        onSubmit={(event) => {
          event.preventDefault();
          void start();
        }}
      >
        <h2>Run {name}</h2>
        <div class="pair">
          <div class="labelled">
            <label for="run-ranks">Ranks</label>
            <input
              id="run-ranks"
              type="number"
              min="1"
              max="4096"
              required
              value={ranks}
              onInput={(event) => setRanks(event.currentTarget.value)}
            />
          </div>
          <div class="labelled">
            <label for="run-time-limit">Time limit</label>
            <input
              id="run-time-limit"
              placeholder="none, or 30s, 5min"
              value={limit}
              onInput={(event) => setLimit(event.currentTarget.value)}
            />
          </div>
        </div>
        <div class="labelled">
          <label for="run-directory">Directory</label>
          <select
            id="run-directory"
            value={directory}
            onChange={(event) => setDirectory(event.currentTarget.value)}
          >
            {directories("a scratch directory in the folder")}
          </select>
        </div>
        <div class="labelled">
          <label for="run-compare-with-directory">Compare with directory</label>
          <select
            id="run-compare-with-directory"
            value={against}
            disabled={directory === ""}
            onChange={(event) => setAgainst(event.currentTarget.value)}
          >
            {directories("none: measure one directory")}
          </select>
        </div>
        {folder.directories.length === 0 && (
          <p class="muted">
            To measure another file system, start <code>parabench studio --dir DIRECTORY</code>.
          </p>
        )}
        {all.length > 0 && (
          <fieldset>
            <legend>Parameters</legend>
            <table class="parameters">
              <thead>
                <tr>
                  <th scope="col">name</th>
                  <th scope="col">value</th>
                  <th scope="col">or several values</th>
                </tr>
              </thead>
              <tbody>
                {all.map((one) => (
                  <tr key={one.name}>
                    <th scope="row" title={one.doc}>
                      ${one.name}
                    </th>
                    <td>
                      <input
                        aria-label={`Value of ${one.name}`}
                        placeholder={one.value}
                        value={values[one.name] ?? ""}
                        onInput={(event) => setValues({ ...values, [one.name]: event.currentTarget.value })}
                      />
                    </td>
                    <td>
                      <input
                        aria-label={`Values of ${one.name} to sweep over`}
                        placeholder="4k,64k or 1..9+2"
                        value={sweep[one.name] ?? ""}
                        onInput={(event) => setSweep({ ...sweep, [one.name]: event.currentTarget.value })}
                      />
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </fieldset>
        )}
        <div class="labelled">
          <label for="run-repetitions">Repetitions</label>
          <input
            id="run-repetitions"
            type="number"
            min="1"
            placeholder={against ? "10" : "1; 5 or more give intervals"}
            value={repetitions}
            onInput={(event) => setRepetitions(event.currentTarget.value)}
          />
        </div>
        <div class="labelled">
          <label for="run-compare-with-a-stored-run-or-trace">Compare with a stored run or trace</label>
          <select
            id="run-compare-with-a-stored-run-or-trace"
            value={trace}
            onChange={(event) => setTrace(event.currentTarget.value)}
          >
            <option value="">none</option>
            {folder.runs.map((run) => (
              <option key={run.name} value={run.name}>
                {run.name}
              </option>
            ))}
          </select>
        </div>
        <label class="check">
          <input
            type="checkbox"
            checked={events}
            onChange={(event) => setEvents(event.currentTarget.checked)}
          />{" "}
          Keep events, for the time line
        </label>
        <label class="check">
          <input
            type="checkbox"
            checked={prepare}
            onChange={(event) => setPrepare(event.currentTarget.checked)}
          />{" "}
          Make the files that the program expects
        </label>
        <label class="check">
          <input type="checkbox" checked={mpi} onChange={(event) => setMpi(event.currentTarget.checked)} />{" "}
          Start the ranks under MPI
        </label>
        {needsMpi && (
          <p class={mpi ? "muted" : "notice"}>
            {mpi ? `The program needs it: ${needsMpi}.` : `Ranks will end at ${needsMpi}, which needs it.`}
          </p>
        )}
        {empty && <p class="notice">The program is empty: add statements in Write.</p>}
        <button type="submit" class="main" disabled={goesOn || empty}>
          Start
        </button>
        {error && (
          <p class="notice bad" role="alert">
            {error}
          </p>
        )}
      </form>
      {job ? (
        <Live
          key={job.id}
          job={job}
          seen={seen}
          stored={folder.runs.some((run) => run.name === job.out)}
          look={look}
        />
      ) : (
        <section class="live">
          <p class="muted">
            Start does what <code>parabench run</code> does. The run goes on if you close the browser.
          </p>
        </section>
      )}
    </div>
  );
}
