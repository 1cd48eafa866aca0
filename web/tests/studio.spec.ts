// The studio's places See and Step, drawn from scenes that crates/parabench/tests/watch.rs makes and keeps.

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import AxeBuilder from "@axe-core/playwright";
import { expect, type Page, test } from "@playwright/test";
import { buildSync } from "esbuild";
import type { Scene, Snapshot } from "../src/studio/shapes";

const HERE = fileURLToPath(new URL(".", import.meta.url));
const SHOTS = process.env.STUDIO_SHOTS;

const COLORS = {
  light:
    "--text:#1b1f24;--muted:#5c6470;--grid:#e6e8eb;--axis:#767e88;--page:#fff;--soft:#f3f5f8;--link:#0b5cad;--bad:#b3261e;--warn:#8a5a00;--warn-soft:#fdf3dc;--s0:#0067a5;--s1:#c8500a;--s2:#00805c;--s3:#a8488b;--s4:#b07d00;--s5:#3d9bd1;--s6:#6b4ba1;--s7:#7a4a2b;--rest:#a3a9b1;--read:var(--s0);--write:var(--s1);--meta:var(--rest)",
  dark: "--text:#e3e6ea;--muted:#9aa3ae;--grid:#2b3037;--axis:#7d8691;--page:#14171b;--soft:#1e2329;--link:#7ab8f5;--bad:#ff8a80;--warn:#f0bf5c;--warn-soft:#2c2616;--s0:#5aa9e6;--s1:#f28b4b;--s2:#3ecf9f;--s3:#e394c8;--s4:#e8b93f;--s5:#9ad4f5;--s6:#b79df0;--s7:#c99a78;--rest:#5d656f",
};

function read(name: string) {
  return JSON.parse(readFileSync(`${HERE}scenes/${name}.json`, "utf8"));
}

const script = buildSync({
  entryPoints: [`${HERE}studio-page.ts`],
  bundle: true,
  write: false,
  format: "iife",
  target: "es2022",
}).outputFiles[0].text;

async function open(page: Page): Promise<string[]> {
  const complaints: string[] = [];
  page.on("console", (message) => complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(error.message));
  const sheet = readFileSync(`${HERE}../src/studio/see.css`, "utf8");
  const dark = `@media (prefers-color-scheme:dark){:root{${COLORS.dark}}}`;
  const body =
    "*{box-sizing:border-box}body{margin:20px;background:var(--page);color:var(--text);font:15px system-ui}";
  await page.setContent(`<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>See</title>
<style>:root{color-scheme:light dark;${COLORS.light}}${dark}${body}${sheet}</style></head><body><main></main></body></html>`);
  await page.addScriptTag({ content: script });
  return complaints;
}

async function settle(page: Page): Promise<void> {
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
}

async function see(page: Page, scene: Scene): Promise<void> {
  await page.evaluate(
    (data) => (window as never as { see: (scene: unknown) => Promise<void> }).see(data),
    scene,
  );
  await settle(page);
}

async function step(page: Page, snapshot: Snapshot): Promise<void> {
  await page.evaluate((data) => (window as never as { step: (one: unknown) => void }).step(data), snapshot);
}

function told(page: Page): Promise<unknown[]> {
  return page.evaluate(() => (window as never as { told: unknown[] }).told);
}

async function shoot(page: Page, name: string): Promise<void> {
  if (SHOTS) await page.screenshot({ path: `${SHOTS}/${name}.png`, fullPage: true });
}

const SCENES = [
  "listing1",
  "listing2",
  "strided",
  "segmented",
  "overlap",
  "ior",
  "team",
  "signals",
  "deadlock",
  "cut",
];

for (const name of SCENES) {
  test(`${name} is drawn and accessible, light and dark`, async ({ page }) => {
    const complaints = await open(page);
    await see(page, read(name));
    await shoot(page, name);
    for (const scheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme: scheme });
      const found = await new AxeBuilder({ page }).analyze();
      expect(found.violations.map((one) => `${one.id}: ${one.nodes[0].html}`)).toEqual([]);
    }
    await settle(page);
    if (name === "deadlock") await shoot(page, `${name}-dark`);
    expect(complaints).toEqual([]);
  });
}

/** Coloured pixels by row of the map and column of sixteen. */
function inked(page: Page): Promise<boolean[][]> {
  return page.locator(".maps canvas").evaluate((canvas) => {
    const one = canvas as HTMLCanvasElement;
    const context = one.getContext("2d");
    const rows = 4;
    const [left, right, top] = [78, one.clientWidth - 26, 38];
    const ratio = one.width / one.clientWidth;
    return Array.from({ length: rows }, (_, row) =>
      Array.from({ length: 32 }, (_, column) => {
        const x = left + ((column + 0.5) / 32) * (right - left);
        const y = top + (row + 0.5) * 22;
        const [r, , b] = context?.getImageData(x * ratio, y * ratio, 1, 1).data ?? [0, 0, 0];
        return r > b + 60;
      }),
    );
  });
}

test("a strided and a segmented pattern look different", async ({ page }) => {
  await open(page);
  await see(page, read("strided"));
  const strided = await inked(page);
  await see(page, read("segmented"));
  const segmented = await inked(page);
  for (let rank = 0; rank < 4; rank++) {
    expect(strided[rank]).toEqual(strided[rank].map((_, at) => at % 4 === rank));
    expect(segmented[rank]).toEqual(segmented[rank].map((_, at) => Math.floor(at / 8) === rank));
  }
});

test("overlaps and gaps are said, and pieces are a table", async ({ page }) => {
  await open(page);
  await see(page, read("overlap"));
  await expect(page.locator(".maps .summary")).toHaveText(
    "388 KiB written by 4 ranks: 96.0 KiB by two or more ranks, 736 KiB by nobody (gaps).",
  );
  await page.getByText("Pieces as a table").click();
  await expect(page.locator(".maps details tbody tr")).toHaveCount(5);
});

test("what fails leads to its place", async ({ page }) => {
  await open(page);
  await see(page, read("deadlock"));
  const item = page.locator(".findings li").first();
  await expect(item).toHaveText("ranks 1, 2: the barrier cannot be met: rank 0 has finished line 2");
  await item.getByRole("button").click();
  expect(await told(page)).toMatchObject([{ file: "x.ppl", line: 2, column: 35 }]);
});

test("the pointer says what a rank waits for", async ({ page }) => {
  await open(page);
  await see(page, read("signals"));
  const box = await page.locator(".see .zoomed canvas").first().boundingBox();
  if (!box) throw new Error("no canvas");
  const seen = new Set<string>();
  for (let x = 80; x < box.width - 30; x += 15) {
    for (let rank = 0; rank < 3; rank++) {
      await page.mouse.move(box.x + x, box.y + box.height - 36 - (2.5 - rank) * 22);
      for (const line of await page.locator(".see .tip:not([hidden]) div").allTextContents()) seen.add(line);
    }
  }
  const all = [...seen].join("\n");
  expect(all).toMatch(/line 12: waits for the signal "ready" \(number 1\); rank 0 gives it/);
  expect(all).toContain("in hand on");
  expect(all).toMatch(/write, line 16, stage-\d\/piece-\d: 1 call, 8.00 KiB/);
});

test("the picture is zoomed by keyboard", async ({ page }) => {
  await open(page);
  await see(page, read("listing1"));
  const canvas = page.locator(".see .zoomed canvas").first();
  const ink = () => canvas.evaluate((one) => (one as HTMLCanvasElement).toDataURL());
  const before = await ink();
  await canvas.focus();
  for (const key of ["+", "+", "ArrowRight"]) await page.keyboard.press(key);
  await settle(page);
  expect(await ink()).not.toBe(before);
  await page.keyboard.press("0");
  await settle(page);
  expect(await ink()).toBe(before);
});

test("sliders tell ranks and parameters as the command line takes them", async ({ page }) => {
  await open(page);
  await see(page, read("listing1"));
  const set = async (name: RegExp, key: string) => {
    await page.getByRole("slider", { name }).focus();
    await page.keyboard.press(key);
    await page.waitForTimeout(150);
  };
  await set(/^ranks/, "ArrowRight");
  await set(/^num/, "ArrowLeft");
  await set(/^size/, "ArrowRight");
  await set(/^work/, "ArrowRight");
  await page.getByRole("checkbox").check();
  await page.waitForTimeout(150);
  const all = await told(page);
  expect(all.at(-1)).toEqual({
    ranks: 3,
    params: [
      { name: "num", value: "4" },
      { name: "size", value: "128k" },
      { name: "work", value: "3ms" },
      { name: "direct", value: "true" },
    ],
  });
});

test("what is not executed is said", async ({ page }) => {
  await open(page);
  await see(page, read("cut"));
  await expect(page.locator(".see-sentence")).toContainText(
    "shown: the first 60,000 of about 2,000,000 operations",
  );
});

for (const name of ["step-signals", "step-files", "step-end"]) {
  test(`${name} is shown and accessible, light and dark`, async ({ page }) => {
    const complaints = await open(page);
    await step(page, read(name));
    await shoot(page, name);
    for (const scheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme: scheme });
      const found = await new AxeBuilder({ page }).analyze();
      expect(found.violations.map((one) => `${one.id}: ${one.nodes[0].html}`)).toEqual([]);
    }
    expect(complaints).toEqual([]);
  });
}

test("keys and buttons ask for pauses", async ({ page }) => {
  await open(page);
  const snapshot = read("step-files");
  await step(page, snapshot);
  const from = snapshot.position;
  await expect(page.locator(".step-sentence")).toHaveText(`Next: rank 2, line 27. ${from} statements begun.`);
  await page.locator(".step").focus();
  for (const key of ["n", "b", "o", "r"]) await page.keyboard.press(key);
  await page.getByLabel("line").fill("30");
  await page.locator("#step-rank").selectOption("3");
  await page.getByRole("button", { name: "Run to line" }).click();
  expect(await told(page)).toEqual([
    { to: "next", from },
    { to: "position", position: from - 1 },
    { to: "over", from, rank: 2 },
    { to: "rank", from, rank: 2 },
    { to: "line", from, file: "x.ppl", line: 30, rank: 3 },
  ]);
});

test("the state of the chosen rank is shown", async ({ page }) => {
  await open(page);
  await step(page, read("step-files"));
  await expect(page.getByRole("region", { name: "Open files of rank 2" })).toContainText(
    "./env-mpiio-test/0",
  );
  await page.getByRole("button", { name: "rank 3" }).click();
  await expect(page.getByRole("region", { name: "Variables of rank 3" })).toContainText("(no value yet)");
  await expect(page.getByRole("region", { name: "Files and directories" })).toContainText(
    "file-lvl2.dat1.95 GiB",
  );
});
