// Pages of calls that are known one by one: what the script decodes, draws and says is recomputed from them.

import { deflateSync } from "node:zlib";
import { expect, type Page, test } from "@playwright/test";
import { decode, type Encoded } from "../src/timeline/data";
import { lanesOf } from "../src/timeline/draw";
import * as fixture from "./fixture";

const FEW = fixture.few();
const DATA = fixture.encode(FEW);

/** Shows the page under an address without network: what it asks for besides is in the list. */
async function open(page: Page, data: Encoded = DATA, figures = ""): Promise<string[]> {
  const complaints: string[] = [];
  page.on("console", (message) => complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(error.message));
  const body = fixture.pageOf({ executions: [data] }, figures);
  await page.route("**/*", (route) => {
    if (route.request().url() === "http://page.invalid/")
      return route.fulfill({ body, contentType: "text/html" });
    complaints.push(route.request().url());
    return route.abort();
  });
  await page.goto("http://page.invalid/");
  return complaints;
}

async function live(page: Page): Promise<void> {
  await page.waitForSelector("#time-line.live");
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
}

test("decoded cells are the sums of the calls", async () => {
  const { cells, streams } = await decode(DATA);
  const all = fixture.grouped(FEW.calls, fixture.streamOf);
  expect(streams).toEqual(all.map((stream) => stream.key));
  const known = all.map((stream) =>
    fixture.grouped(stream.calls, (call) => [fixture.columnOf(FEW, call)]).map(sums),
  );
  const lengths = known.map((_, at) => cells.first[at + 1] - cells.first[at]);
  expect(lengths).toEqual(known.map((own) => own.length));
  const flat = known.flat();
  expect([...cells.column]).toEqual(flat.map((cell) => cell.column));
  expect([...cells.calls]).toEqual(flat.map((cell) => cell.calls));
  expect([...cells.bytes]).toEqual(flat.map((cell) => cell.bytes));
  // Half a step of 64 in an octave.
  const off = flat.map((cell, at) =>
    Math.max(Math.abs(cells.busy[at] / cell.busy - 1), Math.abs(cells.longest[at] / cell.longest - 1)),
  );
  expect(Math.max(...off)).toBeLessThan(0.006);
});

function sums(cell: { key: number[]; calls: fixture.Call[] }) {
  return {
    column: cell.key[0],
    calls: cell.calls.length,
    bytes: fixture.total(cell.calls, (call) => call.bytes),
    busy: fixture.total(cell.calls, (call) => call.ns),
    longest: Math.max(...cell.calls.map((call) => call.ns)),
  };
}

test("decoded latencies and positions hold all calls", async () => {
  const { latency, offsets } = await decode(DATA);
  expect(latency.calls.reduce((a, b) => a + b)).toBe(FEW.calls.length);
  const writes = FEW.calls.filter((call) => call.op === 0);
  const moved = offsets.bytes.filter((_, at) => offsets.isWrite[at] === 1).reduce((a, b) => a + b);
  expect(moved / fixture.total(writes, (call) => call.bytes)).toBeCloseTo(1, 1);
});

test("data that end too early leave the picture of the file", async ({ page }) => {
  // Five columns are announced, none follows.
  const cut = {
    ...DATA,
    latency: { ...DATA.latency, data: deflateSync(Buffer.from([5])).toString("base64") },
  };
  await open(page, cut);
  await page.waitForTimeout(300);
  await expect(page.locator("#static")).toBeVisible();
  await expect(page.locator("#time-line canvas")).toHaveCount(0);
  await open(page, { ...DATA, cells: "no base 64!" });
  await page.waitForTimeout(300);
  await expect(page.locator("#static")).toBeVisible();
});

test("browsers that unpack nothing keep the picture of the file", async ({ page }) => {
  await page.addInitScript("delete window.DecompressionStream");
  expect(await open(page)).toEqual([]);
  await page.waitForTimeout(300);
  await expect(page.locator("#static")).toBeVisible();
});

test("print shows the pictures of the file", async ({ page }) => {
  await open(page);
  await live(page);
  await expect(page.locator("#static")).toBeHidden();
  await page.emulateMedia({ media: "print" });
  await expect(page.locator("#static")).toBeVisible();
  await expect(page.locator("#time-line canvas")).toBeHidden();
});

/** Where the pointer is over a time, in the middle of a lane; `down` is a share of the lane's height. */
async function pointAt(page: Page, ns: number, lane: string, down = 0.5): Promise<string[]> {
  const box = await page.locator("#time-line canvas").boundingBox();
  if (!box) throw new Error("no canvas");
  const [left, right] = [78, 26];
  const x = box.x + left + (ns / (FEW.columns * FEW.columnNs)) * (box.width - left - right);
  for (let y = box.y; y < box.y + box.height; y += 4) {
    await page.mouse.move(x, y);
    const said = await tip(page);
    if (!said[1]?.startsWith(lane)) continue;
    await page.mouse.move(x, y + 2 + down * HEIGHTS[lane]);
    return tip(page);
  }
  throw new Error(`no lane ${lane}`);
}

/** Pixels of lanes that are searched, from their upper end on. */
const HEIGHTS: Record<string, number> = { read: 80, rank: 36, position: 80 };

function tip(page: Page): Promise<string[]> {
  return page.locator("#time-line .tip:not([hidden]) div").allTextContents();
}

test("the pointer tells a call that is alone as it was", async ({ page }) => {
  await open(page);
  await live(page);
  await page.locator("#time-line canvas").scrollIntoViewIfNeeded();
  for (const call of fixture.lonely()) {
    const said = await pointAt(page, call.start + call.ns / 2, "rank", (call.rank + 0.5) / 4);
    expect(said[1]).toBe(`rank ${call.rank}`);
    const words = [fixture.OPS[call.op][0]];
    if (call.line >= 0) words.push(`line ${fixture.LINES[call.line][1]}`);
    if (call.label > 0) words.push(fixture.LABELS[call.label]);
    words.push(fixture.FILES[call.file]);
    // 4 ms in steps of 64 in an octave.
    expect(said[2]).toBe(
      `${words.join(", ")}: 1 call, ${4 * (call.rank + 1)}${call.rank > 1 ? ".0" : ".00"} KiB, 3.99 ms`,
    );
    expect(said).toHaveLength(3);
  }
});

test("the pointer tells the bandwidth of a call that is alone", async ({ page }) => {
  await open(page);
  await live(page);
  await page.locator("#time-line canvas").scrollIntoViewIfNeeded();
  const [first, second] = fixture.lonely();
  const written = await pointAt(page, first.start + first.ns / 2, "read");
  expect(rate(written[2])).toBeCloseTo(first.bytes / 1024 / 0.004, -2);
  expect(written[1]).toBe("read 0 B/s");
  const read = await pointAt(page, second.start + second.ns / 2, "read");
  expect(rate(read[1])).toBeCloseTo(second.bytes / 1024 / 0.004, -2);
});

/** KiB/s of a figure. */
function rate(text: string): number {
  const [, digits, unit] = / ([\d.]+) (KiB|MiB)\/s$/.exec(text) ?? [];
  return Number(digits) * (unit === "MiB" ? 1024 : 1);
}

async function summary(page: Page): Promise<Record<string, number>> {
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  const data = await page
    .locator("#time-line .summary")
    .evaluate((one) => ({ ...(one as HTMLElement).dataset }));
  return Object.fromEntries(Object.entries(data).map(([key, of]) => [key, Number(of)]));
}

test("choices together show the calls that all of them hold for", async ({ page }) => {
  expect(await open(page)).toEqual([]);
  await live(page);
  const holds = async (inside: fixture.Call[]) => {
    const bytes = (op: number) =>
      fixture.total(
        inside.filter((call) => call.op === op),
        (call) => call.bytes,
      );
    expect(inside.length).toBeGreaterThan(0);
    expect(await summary(page)).toMatchObject({ calls: inside.length, written: bytes(0), read: bytes(1) });
  };
  await holds(FEW.calls);
  const choose = (name: string, at: number) =>
    page.locator(`select[data-choice="${name}"]`).selectOption(String(at));
  await choose("Ranks", 2);
  await choose("Operation", 1);
  await holds(FEW.calls.filter((call) => call.rank === 2 && call.op === 1));
  await choose("Operation", -1);
  await choose("Label", 2);
  // Behind the files with names are all others, and calls without a file.
  await choose("File", 3);
  await holds(FEW.calls.filter((call) => call.rank === 2 && call.label === 2 && call.file < 0));
  await choose("Ranks", -1);
  await choose("Label", -1);
  await page.locator("#time-line button.key.write").click();
  await holds(FEW.calls.filter((call) => call.op !== 0 && call.file < 0));
});

test("pointing at a line of the program stresses its calls", async ({ page }) => {
  await open(page);
  await live(page);
  const ink = () =>
    page.locator("#time-line canvas").evaluate((canvas) => (canvas as HTMLCanvasElement).toDataURL());
  const before = await ink();
  const isChanged = async (row: number) => {
    await page.locator(`#L-0-${row} td.n button`).focus();
    await summary(page);
    return (await ink()) !== before;
  };
  expect(await isChanged(2)).toBe(true);
  await page.locator("#L-0-2 td.n button").blur();
  await summary(page);
  expect(await ink()).toBe(before);
});

test("the deepest zoom fills the view with 32 columns", async ({ page }) => {
  await open(page);
  await live(page);
  await page.locator("#time-line canvas").focus();
  for (let step = 0; step < 12; step++) await page.keyboard.press("+");
  const { from, to } = await summary(page);
  expect((to - from) / FEW.columnNs).toBeCloseTo(32, 3);
});

const AXIS = { title: "x", unit: "count", log: false };
const LINES = {
  kind: "lines",
  x: AXIS,
  y: AXIS,
  join: "line",
  series: [{ name: "one", color: 0, points: Array.from({ length: 11 }, (_, x) => [x, x * x]) }],
};

test("a dragged part of a chart fills it, a double click shows all", async ({ page }) => {
  await open(page, DATA, fixture.figure("squares", LINES));
  const picture = page.locator("#squares .interactive > svg");
  const ticks = () => picture.locator("g.frame text[text-anchor=middle]:not(.title)").allTextContents();
  const all = await ticks();
  const box = await picture.boundingBox();
  if (!box) throw new Error("no chart");
  await page.mouse.move(box.x + box.width * 0.5, box.y + 80);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.8, box.y + 80, { steps: 3 });
  await page.mouse.up();
  const part = (await ticks()).map(Number);
  expect(Math.min(...part)).toBeGreaterThan(4);
  expect(Math.max(...part)).toBeLessThan(9);
  await picture.focus();
  for (let step = 0; step < 12; step++) await page.keyboard.press("ArrowRight");
  await expect(page.locator("#squares .reading")).toHaveText("x 8: one: 64");
  await picture.dblclick({ position: { x: box.width / 2, y: 60 } });
  expect(await ticks()).toEqual(all);
});

test("charts of other kinds tell their figures by the pointer and by keys", async ({ page }) => {
  const heat = {
    kind: "heat",
    x: AXIS,
    y: { title: "rank", unit: "rank", log: false },
    value: { title: "calls", unit: "count", log: false },
    x_edges: [0, 10, 20],
    y_edges: [0, 1, 2],
    values: [
      [1, 2],
      [3, null],
    ],
  };
  const bars = [
    [0, 0, 1, 2],
    [1, 1, 3, 4],
  ];
  const spans = { kind: "spans", x: AXIS, rows: ["rank 0", "rank 1"], classes: ["a", "b"], bars };
  const forest = { kind: "forest", x: AXIS, line: 1, ranges: [{ name: "write", low: 2, at: 3, high: 4 }] };
  const series = [{ name: "reads", color: 0, values: [7] }];
  const grouped = { kind: "bars", x: AXIS, groups: ["4 KiB"], series };
  const all = { heat, spans, forest, grouped };
  await open(
    page,
    DATA,
    Object.entries(all)
      .map(([name, chart]) => fixture.figure(name, chart))
      .join(""),
  );
  const says = (name: string, text: string) => expect(page.locator(`#${name} .reading`)).toHaveText(text);
  // The plot of the pictures is 400 of 600 units wide and 200 of 240 high.
  const pointTo = async (name: string, x: number, y: number) => {
    const picture = page.locator(`#${name} svg`);
    await picture.scrollIntoViewIfNeeded();
    const box = await picture.boundingBox();
    if (!box) throw new Error("no picture");
    await page.mouse.move(box.x + (box.width * (100 + 400 * x)) / 600, box.y + (box.height * 200 * y) / 240);
  };
  await pointTo("heat", 0.75, 0.75);
  await says("heat", "x 10 to 20, rank 0: calls 2");
  await page.locator("#heat svg").press("ArrowUp");
  await says("heat", "x 10 to 20, rank 1: calls nothing");
  await pointTo("spans", 0.5, 0.8);
  await says("spans", "rank 1: b 3 to 4");
  await page.locator("#spans svg").press("ArrowUp");
  await says("spans", "rank 0: a 1 to 2");
  await pointTo("forest", 0.5, 0.5);
  await says("forest", "write: 3 (2 to 4)");
  await pointTo("grouped", 0.5, 0.5);
  await says("grouped", "4 KiB: reads 7");
});

test("numbers of charts keep their size where the page is narrow", async ({ page }) => {
  await page.setViewportSize({ width: 400, height: 800 });
  await open(page, DATA, fixture.figure("squares", LINES));
  const text = page.locator("#squares .interactive > svg text").first();
  const high = () => text.evaluate((one) => one.getBoundingClientRect().height);
  await expect.poll(high).toBeGreaterThan(11);
  const isWide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
  expect(isWide).toBe(false);
});

test("a time line of 200,000 sums is drawn while zooming", async ({ page }) => {
  const data = fixture.encode(fixture.many());
  await page.addInitScript(watchFrames);
  await open(page, data);
  await live(page);
  const cells = (await decode(data)).cells.column.length;
  expect(cells).toBeGreaterThan(190_000);
  const times: number[] = await page.evaluate(turnWheel, 30);
  const sorted = times.sort((a, b) => a - b);
  console.log(
    `${cells} sums: a frame takes ${sorted[15].toFixed(1)} ms (median), at most ${sorted[29].toFixed(1)} ms`,
  );
  expect(sorted.length).toBe(30);
});

/** Keeps how long the work of each frame takes. */
function watchFrames(): void {
  const times: number[] = [];
  Object.assign(window, { frameTimes: times });
  const ask = window.requestAnimationFrame.bind(window);
  window.requestAnimationFrame = (work) =>
    ask((now) => {
      const start = performance.now();
      work(now);
      times.push(performance.now() - start);
    });
}

/** Zooms in and out by the wheel, a step a frame. */
async function turnWheel(steps: number): Promise<number[]> {
  const { frameTimes } = window as unknown as { frameTimes: number[] };
  const canvas = document.querySelector("#time-line canvas") as HTMLCanvasElement;
  const box = canvas.getBoundingClientRect();
  const found: number[] = [];
  for (let at = 0; at < steps; at++) {
    const before = frameTimes.length;
    const where = {
      clientX: box.left + box.width * 0.6,
      clientY: box.top + 50,
      bubbles: true,
      cancelable: true,
    };
    canvas.dispatchEvent(new WheelEvent("wheel", { deltaY: at < steps / 2 ? -60 : 60, ...where }));
    while (frameTimes.length === before) await new Promise((done) => setTimeout(done, 4));
    found.push(frameTimes[before]);
  }
  return found;
}

const TIMES = { title: "time", unit: "ns", log: true };
const RATES = { title: "rate", unit: "mib_s", log: true };

function linesOf(x: object, y: object, series: (number | null)[][][]) {
  const named = series.map((points, at) => ({ name: `s${at}`, color: at, points }));
  return { kind: "lines", x, y, join: "line", series: named };
}

test("numbers of an axis never reach into one another", async ({ page }) => {
  await page.setViewportSize({ width: 400, height: 800 });
  const spans = [
    [300, 1020],
    [6000, 11_000],
    [9990, 9999],
    [500, 4e6],
    [1, 6e17],
  ];
  const figures = spans.map(([low, high], at) => {
    const points = [0, 0.4, 0.9, 1].map((share) => [low * (high / low) ** share, share]);
    return fixture.figure(`f${at}`, linesOf(TIMES, AXIS, [points]));
  });
  await open(page, DATA, figures.join(""));
  for (const at of spans.keys()) {
    const texts = page.locator(`#f${at} .interactive g.frame text[text-anchor=middle]:not(.title)`);
    await expect(texts.first()).toBeVisible();
    const boxes = await Promise.all((await texts.all()).map((text) => text.boundingBox()));
    const places = boxes.map((box) => [box?.x ?? 0, (box?.x ?? 0) + (box?.width ?? 0)]);
    for (const [at, [start]] of places.entries()) {
      if (at > 0) expect(start).toBeGreaterThan(places[at - 1][1]);
    }
  }
  const first = page.locator("#f0 .interactive g.frame text[text-anchor=middle]:not(.title)");
  expect(await first.allTextContents()).toEqual(["500 ns", "1 µs"]);
});

test("a chart says what it does not draw, and draws nothing at no place", async ({ page }) => {
  const many = Array.from({ length: 18 }, (_, at) => [
    [1, at],
    [2, at + 1],
  ]);
  const nothing = [
    [1, 0],
    [2, 0],
  ];
  const huge = [
    [-1.7e308, 1e308],
    [1.7e308, 1e308],
  ];
  const figures = {
    many: linesOf(AXIS, AXIS, many),
    log: linesOf(TIMES, RATES, [
      [
        [1, 0, 0, 2],
        [10, 4, -1, 8],
        [100, 8],
        [0, 8],
      ],
    ]),
    nothing: linesOf(AXIS, AXIS, [nothing]),
    huge: linesOf(AXIS, AXIS, [huge]),
  };
  const all = Object.entries(figures).map(([name, chart]) => fixture.figure(name, chart));
  expect(await open(page, DATA, all.join(""))).toEqual([]);
  const says = (name: string) => page.locator(`#${name} .interactive .note`).allTextContents();
  await expect(page.locator("#many .interactive .legend button")).toHaveCount(8);
  expect(await says("many")).toEqual(["The first 8 of 18 series are drawn; the data hold all."]);
  expect(await says("log")).toEqual([
    "Not drawn, as 0 and less have no place on a logarithmic axis: 2 of 4 points.",
  ]);
  expect(await says("nothing")).toEqual([]);
  const up = page.locator("#nothing .interactive g.frame text[text-anchor=end]");
  expect((await up.allTextContents()).map(Number)).toEqual([0, 1]);
  await expect(page.locator("#log .interactive g.frame text.title").last()).toHaveText("rate");
  expect(await page.locator("#log .interactive > svg circle").count()).toBe(2);
  const drawn = await page
    .locator(".interactive > svg")
    .evaluateAll((all) => all.map((one) => one.innerHTML));
  expect(drawn.filter((text) => /NaN|Infinity/.test(text))).toEqual([]);
});

test("labels inside of others have a row below them, strokes of their own make none", async () => {
  const execution = await decode(DATA);
  const height = (labels: string[]) => {
    const phases: Encoded["phases"] = labels.map((_, at) => [at, 0, 1, 0]);
    return lanesOf({ ...execution, labels, phases }).lanes.find((lane) => lane.name === "phases")?.height;
  };
  const one = height(["a"]) ?? 0;
  expect(one).toBeGreaterThan(0);
  expect(height(["a", "ab", "x/y", ""])).toBe(one);
  expect(height(["a", "a/b", "a/x/y"])).toBe(2 * one);
  expect(height(["a/b/c", "a/b", "a"])).toBe(3 * one);
  const many = Array.from({ length: 5000 }, (_, at) => `label/${at}`);
  expect(height(many)).toBe(one);
});
