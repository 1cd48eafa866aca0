// What the server answers: files, runs, pages. Errors are sentences for the reader.

export interface RunEntry {
  name: string;
  changed_s: number;
}

export interface Folder {
  folder: string;
  /** Directories that runs may use. */
  directories: string[];
  programs: string[];
  runs: RunEntry[];
  is_cut: boolean;
}

export interface Text {
  text: string;
  version: string;
}

export interface Job {
  id: number;
  out: string;
  command: string[];
  exit_code: number | null;
}

export interface Start {
  program: string;
  ranks: number;
  mpi: boolean;
  directory: number | null;
  against: number | null;
  parameters: Record<string, string>;
  sweep: Record<string, string>;
  repetitions: number | null;
  time_limit: string | null;
  events: boolean;
  prepare: boolean;
  trace: string | null;
}

export interface Imported {
  run: string;
  program: string | null;
  message: string;
}

export class Refused extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

async function answer<T>(response: Response): Promise<T> {
  if (response.ok) return response.json();
  const text = await response.text();
  let message = text;
  try {
    message = JSON.parse(text).error ?? text;
  } catch {
    // A text is a sentence, too.
  }
  throw new Refused(response.status, message);
}

export async function get<T>(path: string, query: Record<string, string> = {}): Promise<T> {
  const words = new URLSearchParams(query).toString();
  return answer(await fetch(words ? `${path}?${words}` : path));
}

export async function send<T>(method: "POST" | "PUT", path: string, body: unknown): Promise<T> {
  const headers = { "Content-Type": "application/json" };
  return answer(await fetch(path, { method, headers, body: JSON.stringify(body) }));
}

export const folder = () => get<Folder>("/api/folder");
export const readFile = (name: string) => get<Text>("/api/file", { name });
export const saveFile = (name: string, text: string, replaces: string) =>
  send<Text>("PUT", "/api/file", { name, text, replaces });
export const jobs = () => get<Job[]>("/api/runs");
export const startRun = (start: Start) => send<Job>("POST", "/api/runs", start);
export const stopRun = (id: number) => send<null>("POST", `/api/runs/${id}/stop`, {});

export async function importLog(file: File): Promise<Imported> {
  const path = `/api/import?${new URLSearchParams({ name: file.name })}`;
  return answer(await fetch(path, { method: "POST", body: file }));
}

/** A WebSocket of the server. */
export function socket(path: string): WebSocket {
  return new WebSocket(`ws://${location.host}${path}`);
}

/** The sentence of an error. */
export function said(error: unknown): string {
  if (error instanceof TypeError) return "The studio does not answer: is it still running in the terminal?";
  // The language server refuses with an object of its protocol, which is no Error.
  const { message } = Object(error) as { message?: unknown };
  return typeof message === "string" ? message : String(error);
}
