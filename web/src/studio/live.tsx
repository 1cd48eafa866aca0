// A run as it goes on: rates over time, the phase of each rank, the time left, what it says.

import { useEffect, useState } from "preact/hooks";
import { get, type Job, said, socket, stopRun } from "./api";

interface Sample {
  event: "sample";
  execution: number;
  time_s: number;
  left_s: number | null;
  operations: number;
  expected: number | null;
  share: number | null;
  ops_s: number;
  mib_s: number | null;
  label: string | null;
  labels: (string | null)[];
  waiting: string | null;
}

type Line =
  | Sample
  | { event: "start"; executions: number }
  | { event: "execution"; number: number; point: string }
  | { event: "end"; exit_code: number }
  | { event: "exit"; exit_code: number; out: string }
  | { event: "message" | "output"; text: string };

export interface Seen {
  executions: number;
  execution: number;
  point: string;
  samples: Sample[];
  messages: string[];
  output: string[];
  exit: number | null;
}

const NOTHING: Seen = {
  executions: 1,
  execution: 1,
  point: "",
  samples: [],
  messages: [],
  output: [],
  exit: null,
};
/** Points of the chart at most. */
const SAMPLES_MAX = 600;

function add(seen: Seen, line: Line): Seen {
  switch (line.event) {
    case "start":
      return { ...seen, executions: line.executions };
    case "execution":
      return { ...seen, execution: line.number, point: line.point };
    case "sample":
      return { ...seen, samples: [...seen.samples, line].slice(-SAMPLES_MAX) };
    case "message":
      return { ...seen, messages: [...seen.messages, line.text].slice(-200) };
    case "output":
      return { ...seen, output: [...seen.output, line.text].slice(-1000) };
    case "exit":
      return { ...seen, exit: line.exit_code };
    default:
      return seen;
  }
}

/** Follows a run from its first line; again when the connection was lost. */
export function useRun(id: number | null, ended: () => void): Seen {
  const [seen, setSeen] = useState(NOTHING);
  useEffect(() => {
    setSeen(NOTHING);
    if (id === null) return;
    let closed = false;
    let connection: WebSocket;
    let all = NOTHING;
    let drawn = 0;
    const follow = () => {
      all = NOTHING;
      connection = socket(`/api/runs/${id}/stream`);
      connection.onmessage = (event) => {
        all = add(all, JSON.parse(String(event.data)));
        cancelAnimationFrame(drawn);
        drawn = requestAnimationFrame(() => setSeen(all));
        if (all.exit !== null) ended();
      };
      connection.onclose = () => {
        if (!closed && all.exit === null) setTimeout(follow, 1500);
      };
    };
    follow();
    return () => {
      closed = true;
      connection.close();
    };
  }, [id]);
  return seen;
}

/** "12 s", "3 min 7 s". */
export function seconds(time_s: number): string {
  const all = Math.round(time_s);
  if (all < 60) return `${all} s`;
  if (all < 3600) return `${Math.floor(all / 60)} min ${all % 60} s`;
  return `${Math.floor(all / 3600)} h ${Math.floor(all / 60) % 60} min`;
}

/** Three digits. */
export function figure(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(3)));
}

const ENDS: Record<number, string> = {
  0: "finished",
  1: "finished: an operation or a rank failed",
  2: "was not started: the input was wrong",
  3: "finished: a verdict failed",
  130: "was stopped; what was measured is stored",
};

/** A line over time, from zero. */
function Chart({
  title,
  unit,
  samples,
  of,
}: {
  title: string;
  unit: string;
  samples: Sample[];
  of: (s: Sample) => number;
}) {
  const [width, height] = [460, 110];
  const most = Math.max(...samples.map(of), 0);
  const [start, end] = [samples[0]?.time_s ?? 0, samples.at(-1)?.time_s ?? 1];
  const x = (s: Sample) => ((s.time_s - start) / Math.max(end - start, 0.5)) * width;
  const y = (s: Sample) => height - 2 - (of(s) / (most || 1)) * (height - 12);
  const last = samples.at(-1);
  return (
    <figure class="chart">
      <figcaption>
        {title}: <b>{last ? `${figure(of(last))} ${unit}` : "–"}</b>{" "}
        <span class="muted">most {figure(most)}</span>
      </figcaption>
      <svg
        viewBox={`0 0 ${width} ${height}`}
        role="img"
        aria-label={`${title} over time, now ${last ? figure(of(last)) : 0} ${unit}`}
      >
        <line x1="0" x2={width} y1={height - 1} y2={height - 1} class="axis" />
        <polyline points={samples.map((s) => `${x(s).toFixed(1)},${y(s).toFixed(1)}`).join(" ")} />
      </svg>
    </figure>
  );
}

interface Row {
  label: string | null;
  op: string;
  count: number;
  p50_ns: number | null;
  p99_ns: number | null;
  max_ns: number | null;
}

function duration(ns: number | null): string {
  if (ns === null) return "–";
  const units: [number, string][] = [
    [1e9, "s"],
    [1e6, "ms"],
    [1e3, "µs"],
    [1, "ns"],
  ];
  const [size, unit] = units.find(([size]) => ns >= size) ?? units[3];
  return `${figure(ns / size)} ${unit}`;
}

/** Latencies up to now. They are read on request: reading takes time on the machine that measures. */
function Latencies({ out }: { out: string }) {
  const [rows, setRows] = useState<Row[]>([]);
  const [error, setError] = useState("");
  const read = async () => {
    try {
      const { rows } = await get<{ rows: Row[] }>("/api/figures", { name: out });
      // Parts of operations (open, data, close) are on the page.
      setRows(rows.filter((row) => !row.op.includes(".")));
      setError("");
    } catch (why) {
      setError(said(why));
    }
  };
  return (
    <div>
      <button type="button" onClick={() => void read()}>
        Latencies up to now
      </button>
      {error && <p class="notice bad">{error}</p>}
      {rows.length > 0 && (
        <table>
          <thead>
            <tr>
              {["phase", "operation", "count", "p50", "p99", "max"].map((name) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={`${row.label} ${row.op}`}>
                <td>{row.label ?? ""}</td>
                <td>{row.op}</td>
                <td>{row.count.toLocaleString("en")}</td>
                {[row.p50_ns, row.p99_ns, row.max_ns].map((ns, at) => (
                  <td key={at}>{duration(ns)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </div>
  );
}

/** Neighbouring ranks in the same phase together. */
export function phases(labels: (string | null)[]): { ranks: string; label: string }[] {
  const found: { first: number; last: number; label: string }[] = [];
  labels.forEach((label, rank) => {
    const text = label ?? "in no phase";
    const before = found.at(-1);
    if (before?.label === text) before.last = rank;
    else found.push({ first: rank, last: rank, label: text });
  });
  return found.map(({ first, last, label }) => ({
    ranks: first === last ? `rank ${first}` : `ranks ${first} to ${last}`,
    label,
  }));
}

interface Props {
  job: Job;
  seen: Seen;
  /** It has results. */
  stored: boolean;
  look: (run: string) => void;
}

/** Lines as they are. */
function Words({ name, lines }: { name: string; lines: string[] }) {
  if (lines.length === 0) return null;
  return (
    <textarea class="said" readOnly aria-label={name} rows={Math.min(lines.length + 1, 30)}>
      {lines.join("\n")}
    </textarea>
  );
}

export function Live({ job, seen, stored, look }: Props) {
  const [error, setError] = useState("");
  const [stopping, setStopping] = useState(false);
  const last = seen.samples.at(-1);
  const ended = seen.exit !== null;
  const stop = async () => {
    setStopping(true);
    await stopRun(job.id).catch((why) => setError(said(why)));
  };
  const sweep = seen.executions > 1 ? `run ${seen.execution} of ${seen.executions} ${seen.point}, ` : "";
  const share = last?.share ?? null;
  // The report begins with the name of the program; before it is what the program printed.
  const head = seen.output.findLastIndex((line) => line.startsWith(`${job.command[2]}   `));
  const printed = head < 0 ? seen.output : seen.output.slice(0, head);
  const report = head < 0 ? [] : seen.output.slice(head);
  return (
    <section class="live" aria-labelledby="live-title">
      <h2 id="live-title">{job.out}</h2>
      <p class="state" role="status">
        {ended
          ? `The run ${ENDS[seen.exit ?? 0] ?? `ended with code ${seen.exit}`}.`
          : last
            ? `${stopping ? "It stops after the calls that go on: " : ""}${sweep}${last.label ? `in phase ${last.label}, ` : ""}${seconds(last.time_s)}${last.left_s === null ? "" : `, about ${seconds(last.left_s)} left`}`
            : stopping
              ? "It stops …"
              : "It starts …"}
      </p>
      {!ended && (
        <progress max={1} value={share ?? undefined} aria-label="Share of the operations">
          {share === null ? "" : `${Math.round(share * 100)} %`}
        </progress>
      )}
      <div class="tools">
        {!ended && (
          <button type="button" class="danger" onClick={() => void stop()}>
            {stopping ? "Stop at once" : "Stop"}
          </button>
        )}
        {ended && stored && (
          <button type="button" class="main" onClick={() => look(job.out)}>
            Look at the results
          </button>
        )}
      </div>
      {error && <p class="notice bad">{error}</p>}
      {last?.waiting && <p class="notice">{last.waiting}</p>}
      <Words name="Output of the run" lines={report} />
      {last && (
        <>
          <div class="charts" hidden={seen.samples.length < 2}>
            <Chart title="Bandwidth" unit="MiB/s" samples={seen.samples} of={(s) => s.mib_s ?? 0} />
            <Chart title="Operations" unit="ops/s" samples={seen.samples} of={(s) => s.ops_s} />
          </div>
          {!ended && (
            <>
              <h3>Phases of ranks</h3>
              <ul class="ranks">
                {phases(last.labels).map((one) => (
                  <li key={one.ranks}>
                    <b>{one.ranks}</b> {one.label}
                  </li>
                ))}
              </ul>
              <Latencies out={job.out} />
            </>
          )}
        </>
      )}
      {seen.messages.length > 0 && (
        <details open={!ended || seen.output.length === 0}>
          <summary>Messages ({seen.messages.length})</summary>
          <pre class={ended && seen.exit ? "said bad" : "said"}>{seen.messages.join("\n")}</pre>
        </details>
      )}
      {printed.length > 0 && (
        <details open={!ended || report.length === 0}>
          <summary>Printed by the program ({printed.length})</summary>
          <Words name="Printed by the program" lines={printed} />
        </details>
      )}
      <p class="muted command">
        <code>{job.command.join(" ")}</code>
      </p>
    </section>
  );
}
