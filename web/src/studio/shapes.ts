// What the places See and Step of the studio draw, as JSON: crates/page/src/scene.rs writes a Scene, crates/model/src/watched.rs
// has the fields of a Snapshot. Times are virtual nanoseconds since the start, sizes bytes, ranks numbers from 0.

import type { Class, Encoded } from "../timeline/data";

/** A part of the program: lines and columns (letters) from 1, the end behind the last letter. */
export interface Place {
  file: string;
  line: number;
  column: number;
  end_line: number;
  end_column: number;
}

/** Why a rank waits. */
export type WaitKind = "barrier" | "collective" | "signal" | "lock";

/** A rank waits for others. */
export interface Wait {
  from_ns: number;
  to_ns: number;
  kind: WaitKind;
  /** The awaited thing: "a barrier", "gsum", "the signal "go" (1)". */
  what: string;
  line: number;
  /** The rank that came last, or gave the signal; -1: unknown, or nobody ever did. */
  for_rank: number;
  /** It was never met: released at the end. */
  never: boolean;
}

/** What one rank did. The operations themselves are in `Scene.time`. */
export interface Lane {
  rank: number;
  end_ns: number;
  /** "finished", "failed", "released", "interrupted" (the limit of operations was reached). */
  end: string;
  /** Number of a label in `Scene.labels`, start, end. */
  phases: [number, number, number][];
  waits: Wait[];
}

/** A barrier or collective function that its members passed. */
export interface Meeting {
  ns: number;
  kind: "barrier" | "collective";
  what: string;
  line: number;
  first_rank: number;
  last_rank: number;
  members: number;
  /** The rank that came last: the others waited for it. */
  late_rank: number;
  /** From the first that came to the last. */
  spread_ns: number;
}

/** A signal from one rank to a rank that got it with `wait`. */
export interface Signal {
  name: string;
  from_rank: number;
  given_ns: number;
  to_rank: number;
  got_ns: number;
}

/** Executions of an operation. */
export interface OpWork {
  op: string;
  kind: Class;
  count: number;
  bytes: number;
  failed: number;
}

/** What was done in a phase; label "": outside of all. */
export interface Work {
  label: string;
  start_ns: number;
  end_ns: number;
  ranks: number;
  read_bytes: number;
  written_bytes: number;
  /** Different files and directories that it named. */
  files: number;
  ops: OpWork[];
}

/** Equal pieces of a file: rank, first byte, bytes of a piece, distance from one to the next, pieces. */
export type Pieces = [number, number, number, number, number];

/** All reads, or all writes, of a file. */
export interface Layer {
  access: "read" | "write";
  pieces: Pieces[];
  ranks: number;
  /** Bytes that were moved, with repetitions. */
  moved_bytes: number;
  /** Different bytes that were moved. */
  touched_bytes: number;
  /** Bytes that two or more ranks moved: from, to (exclusive), number of ranks; the first of them. */
  overlaps: [number, number, number][];
  overlap_bytes: number;
  /** Bytes that no rank moved before the end of the last piece: from, to; the first of them. */
  gaps: [number, number][];
  gap_bytes: number;
  /** False: there were too many pieces, overlaps and gaps are unknown and only the first pieces are here. */
  exact: boolean;
}

/** Which rank touched which bytes of a file. */
export interface FileMap {
  path: string;
  /** Behind the last byte that was touched. */
  end_bytes: number;
  layers: Layer[];
}

/** Something that fails or is doubtful. */
export interface Finding {
  /** "failure": a rank ends or an operation fails; "doubt": the rehearsal found a mistake. */
  kind: "failure" | "doubt";
  message: string;
  /** null: of no statement. */
  place: Place | null;
  /** Ranks that it concerns, at most 64; empty: unknown. */
  ranks: number[];
}

/** The place See: a program executed in virtual time. */
export interface Scene {
  ranks: number;
  /** Everything was executed; otherwise `about` says how much. */
  whole: boolean;
  /** "" or "the first 100,000 of about 3,200,000 operations". */
  about: string;
  /** Operations that were executed here. */
  operations: number;
  /** Operations of the whole program; null: unknown. */
  expected_operations: number | null;
  /** `expected_operations` is an estimate. */
  expected_about: boolean;
  end_ns: number;
  labels: string[];
  lanes: Lane[];
  meetings: Meeting[];
  signals: Signal[];
  /** Waits, phases, meetings and signals that are not here because there are too many. */
  left_out: number;
  work: Work[];
  /** Operations as on a page; null: there were none. */
  time: { executions: Encoded[] } | null;
  files: FileMap[];
  more_files: number;
  /** Most bytes and most files and directories in the directories at any time. */
  peak: { bytes: number; files: number; about: boolean };
  findings: Finding[];
}

/** A variable of the program. */
export interface Variable {
  name: string;
  /** As `print` shows it, at most 200 letters; null: it has no value yet. */
  value: string | null;
  /** Name of the proc whose own it is; "": a global one. */
  proc: string;
}

/** An open file. */
export interface OpenFile {
  path: string;
  position: number;
  size_bytes: number;
  /** As `fopen` takes them: "r+", "O_RDWR|O_CREAT"; of an MPI file "MPI". */
  flags: string;
  /** Variables that hold it, with `$`. */
  variables: string[];
}

/** A rank at a pause. */
export interface RankState {
  rank: number;
  /** "ready": it will execute the statement at `place` next. */
  state: "ready" | "waiting" | "finished" | "failed" | "released" | "interrupted";
  place: Place | null;
  /** What it waits for, or why it ended; "": nothing. */
  why: string;
  now_ns: number;
  /** Labels around it, "outer/inner". */
  label: string;
  /** Innermost group; "": none. */
  group: string;
  /** Places of the calls of procs that are running, the innermost first. */
  calls: Place[];
  variables: Variable[];
  files: OpenFile[];
  /** Statements that it has begun so far. */
  statements: number;
}

/** A name in the directory tree. */
export interface TreeEntry {
  path: string;
  kind: "file" | "directory" | "link";
  size_bytes: number;
  /** Bytes without holes. */
  used_bytes: number;
  /** Text of a link. */
  target: string;
}

/** Where to pause. All search forward from `from`, the position of the last pause. */
export type Target =
  | { to: "position"; position: number }
  /** The next statement of any rank. */
  | { to: "next"; from: number }
  /** The next statement of this rank behind the body of the one at which it is. */
  | { to: "over"; from: number; rank: number }
  /** The next statement that begins on this line; rank null: of any rank. */
  | { to: "line"; from: number; file: string; line: number; rank: number | null }
  /** The next statement of this rank. */
  | { to: "rank"; from: number; rank: number };

/** The place Step: the state of all ranks before a statement. */
export interface Snapshot {
  /** Statements that ranks have begun before this pause: the number to come back with. */
  position: number;
  /** The statement that is executed next; null: the program is over. */
  next: { rank: number; place: Place } | null;
  /** All ranks have ended. */
  finished: boolean;
  /** Nothing was found within the limit of statements: the state is that at the limit. */
  limit: boolean;
  ranks: RankState[];
  tree: TreeEntry[];
  more_entries: number;
  /** What was printed so far, the last 64 KiB. */
  printed: string;
}
