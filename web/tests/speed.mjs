// How fast Chromium draws the time line of a page: `node speed.mjs PAGE` prints JSON with milliseconds.
//
// first_ms: from the navigation to the first painted time line, of several loads; frame_ms: from a step of the wheel to
// the painted frame.
import { chromium } from "playwright-core";

const LOADS = 5;
const FRAMES = 40;

const browser = await chromium.launch({
  executablePath: "/usr/bin/chromium-headless-shell",
  args: ["--no-sandbox"],
});
const first = [];
let frames = [];
for (let load = 0; load < LOADS; load++) {
  const page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
  await page.goto(`file://${process.argv[2]}`, { waitUntil: "commit" });
  await page.waitForSelector("#time-line.live");
  first.push(await page.evaluate(() => performance.now()));
  if (load + 1 === LOADS) frames = await page.evaluate(zoomed, FRAMES);
  await page.close();
}
await browser.close();
process.stdout.write(JSON.stringify({ first_ms: first, frame_ms: frames.sort((a, b) => a - b) }));

/** Times from a turn of the wheel to the end of the frame that shows it. */
async function zoomed(frames) {
  const canvas = document.querySelector("#time-line canvas");
  const box = canvas.getBoundingClientRect();
  const times = [];
  const next = () => new Promise((done) => requestAnimationFrame(done));
  for (let at = 0; at < frames; at++) {
    const deltaY = at < frames / 2 ? -60 : 60;
    const where = { clientX: box.left + box.width * 0.6, clientY: box.top + 50 };
    await next();
    const start = performance.now();
    canvas.dispatchEvent(new WheelEvent("wheel", { deltaY, ...where, bubbles: true, cancelable: true }));
    await next();
    // The frame's own work is done when the next task runs.
    await new Promise((done) => setTimeout(done));
    times.push(performance.now() - start);
  }
  return times;
}
