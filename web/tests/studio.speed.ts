// How soon the studio shows what 64 ranks do after a change of the text: a line of docs/performance.md for each program.
//
// The first time is that of the server's answer, the second from the key to the picture, which has a pause of 120 ms in
// it; medians of seven.

import { copyFileSync } from "node:fs";
import { expect, type Page } from "@playwright/test";
import { open, ROOT, test } from "./server";

const PROGRAMS = ["ior", "git", "postgres", "olap", "filebench", "io500"];
const CHANGES = 7;

test.setTimeout(300_000);

test("64 ranks are seen soon", async ({ page, studio }) => {
  for (const name of PROGRAMS)
    copyFileSync(`${ROOT}/programs/${name}.ppl`, `${studio.folder}/work/${name}.ppl`);
  await studio.start();
  await open(page, studio);
  await page.getByRole("button", { name: "See beside" }).click();
  for (const name of PROGRAMS) {
    await page.getByLabel("Program", { exact: true }).selectOption(`${name}.ppl`);
    await page.waitForTimeout(1500);
    await page.getByLabel("Number of ranks").fill("64");
    await page.getByLabel("Number of ranks").press("Enter");
    await expect(page.locator(".see-sentence")).toContainText("64 ranks");
    await page.locator(".cm-content").click({ position: { x: 200, y: 5 } });
    await page.keyboard.press("End");
    const times: [number, number][] = [];
    for (let turn = 0; turn < CHANGES; turn++) times.push(await change(page));
    const median = (at: 0 | 1) => times.map((pair) => pair[at]).sort((a, b) => a - b)[CHANGES >> 1];
    const said = await page.locator(".see-sentence").textContent();
    console.log(`@${name} | ${median(0)} ms | ${median(1)} ms | ${said}`);
  }
});

/** Types a letter into the comment in the first line: both times, milliseconds. */
async function change(page: Page): Promise<[number, number]> {
  await page.waitForTimeout(600);
  const answered = page.waitForResponse((response) => response.url().includes("/api/see"));
  const start = Date.now();
  await page.keyboard.type("x");
  const answer = await answered;
  await answer.finished();
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  const { requestStart, responseStart } = answer.request().timing();
  return [Math.round(responseStart - requestStart), Date.now() - start];
}
