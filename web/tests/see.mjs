// How soon the studio shows what 64 ranks do after a change of the text: `node see.mjs BINARY [PROGRAM...]` prints for
// each program of programs/ the time of the server's answer, and the time from the key to the picture, which has a
// pause of 120 ms in it; medians of seven, milliseconds.
import { spawn } from "node:child_process";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const [binary, ...named] = process.argv.slice(2);
const names = named.length ? named : ["ior", "git", "postgres", "olap", "filebench", "io500"];
const folder = mkdtempSync("/tmp/see-");
for (const name of names) {
  const program = fileURLToPath(new URL(`../../programs/${name}.ppl`, import.meta.url));
  copyFileSync(program, `${folder}/${name}.ppl`);
}
const server = spawn(binary, ["studio", folder, "--no-open"], { stdio: ["ignore", "pipe", "inherit"] });
const address = await new Promise((found) => {
  createInterface({ input: server.stdout }).on("line", (line) => found(line.slice(line.indexOf("http"))));
});
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
const page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
await page.goto(address);
await page.getByRole("button", { name: "See beside" }).click();
for (const name of names) await measure(name);
await browser.close();
server.kill();
rmSync(folder, { recursive: true });

async function measure(name) {
  await page.getByLabel("Program", { exact: true }).selectOption(`${name}.ppl`);
  await page.waitForTimeout(1500);
  await page.getByLabel("Number of ranks").fill("64");
  await page.getByLabel("Number of ranks").press("Enter");
  await page.waitForTimeout(2500);
  await page.locator(".cm-content").click({ position: { x: 200, y: 5 } });
  await page.keyboard.press("End");
  const times = [];
  for (let turn = 0; turn < 7; turn++) times.push(await change());
  const median = (of) => times.map(of).sort((a, b) => a - b)[3];
  const said = await page.locator(".see-sentence").textContent();
  console.log(`${name}: ${median((one) => one.server)} ms, ${median((one) => one.whole)} ms; ${said}`);
}

/** Types a letter into the comment in the first line. */
async function change() {
  const answered = page.waitForResponse((response) => response.url().includes("/api/see"));
  const start = Date.now();
  await page.keyboard.type("x");
  const answer = await answered;
  await answer.finished();
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  const whole = Date.now() - start;
  const { requestStart, responseStart } = answer.request().timing();
  await page.waitForTimeout(600);
  return { server: Math.round(responseStart - requestStart), whole };
}
