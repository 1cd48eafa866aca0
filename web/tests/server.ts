// A studio of the real binary over a folder of its own, and the words that its tests are written in.

import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, type Page, test as plain } from "@playwright/test";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));
export const BINARY = process.env.PARABENCH ?? `${ROOT}/target/debug/parabench`;

export class Studio {
  /** The address that was printed last. */
  address = "";
  private server: ChildProcess | null = null;

  constructor(readonly folder: string) {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(`${folder}/work`, { recursive: true });
  }

  file(name: string, text: string): void {
    writeFileSync(`${this.folder}/work/${name}`, text);
  }

  /** Starts the server; `port` 0: a random one. */
  async start(port = 0): Promise<void> {
    const words = [
      "studio",
      "work",
      "--no-open",
      "--port",
      String(port),
      "--dir",
      "first",
      "--dir",
      "second",
    ];
    this.server = spawn(BINARY, words, { cwd: this.folder, stdio: ["ignore", "pipe", "inherit"] });
    const lines = createInterface({ input: this.server.stdout as NodeJS.ReadableStream });
    await new Promise<void>((ready, failed) => {
      this.server?.once("error", failed);
      lines.on("line", (line) => {
        this.address = line.slice(line.indexOf("http"));
        ready();
      });
    });
  }

  get port(): number {
    return Number(new URL(this.address).port);
  }

  /** Ends it at once. */
  async kill(): Promise<void> {
    const ended = new Promise((done) => this.server?.once("exit", done));
    this.server?.kill("SIGKILL");
    await ended;
  }
}

/** A test with a studio that is not started yet. */
export const test = plain.extend<{ studio: Studio }>({
  // biome-ignore lint/correctness/noEmptyPattern: Playwright asks for a pattern.
  studio: async ({}, use, info) => {
    const title = [...info.titlePath, info.repeatEachIndex].join("-");
    const name = title.replace(/\W+/g, "-").slice(-60);
    const studio = new Studio(`${ROOT}/web/test-results/studio${name}`);
    await use(studio);
    await studio.kill();
  },
});

/** Opens a program of the folder in Write. */
export async function open(page: Page, studio: Studio, name?: string): Promise<void> {
  await page.goto(studio.address);
  await expect(page.getByRole("status").first()).toHaveText(/saved/);
  if (name) await page.getByLabel("Program", { exact: true }).selectOption(name);
  await expect(page.locator(".cm-content")).toBeVisible();
}

/** The text in the editor. */
export function text(page: Page): Promise<string> {
  return page.locator(".cm-content").evaluate((content) => {
    const lines = [...content.querySelectorAll(".cm-line")];
    return lines.map((line) => line.textContent ?? "").join("\n");
  });
}

export function place(page: Page, name: string) {
  return page.getByRole("navigation", { name: "Places" }).getByRole("button", { name, exact: true });
}

/** A statement in the outline. */
export function statement(page: Page, title: string | RegExp) {
  return page.getByRole("treeitem", { name: title });
}

/** Chooses a statement of the outline. While a gesture is under way rows are about to be of other statements. */
export async function choose(page: Page, title: string | RegExp): Promise<void> {
  await expect(page.locator(".left.busy")).toHaveCount(0);
  await statement(page, title).first().click();
  await expect(statement(page, title).first()).toHaveAttribute("aria-selected", "true");
}

/** Adds a part by a click in the palette. */
export async function add(page: Page, name: string): Promise<void> {
  const search = page.getByLabel("Search parts to add");
  await search.fill(name);
  await page.locator(`.parts [data-part="${name}"]`).first().click();
  await search.fill("");
}

/** Sets a parameter of the chosen statement in the form. */
export async function set(page: Page, name: string, value: string): Promise<void> {
  // Until a part is added the form is that of the statement before, which may have a field of this name, too.
  await expect(page.locator(".left.busy")).toHaveCount(0);
  const more = page.locator(".form details:not([open]) > summary");
  if (await more.count()) await more.click();
  const field = page.locator(".form").getByLabel(new RegExp(`^${name}( \\(optional\\))?$`));
  const isSelect = await field.evaluate((element) => element.tagName === "SELECT");
  if (isSelect) await field.selectOption(value);
  else {
    await field.fill(value);
    await field.press("Enter");
  }
}
