import { expect, type Locator, type Page, test } from "@playwright/test";
import { address } from "./pages";
import { type Cell, cells, executions, sum } from "./read";

async function open(page: Page, name = "run"): Promise<Locator> {
  await page.goto(address(name));
  await page.waitForSelector("#time-line.live");
  const canvas = page.locator("#time-line canvas");
  await canvas.scrollIntoViewIfNeeded();
  return canvas;
}

interface Shown {
  calls: number;
  read: number;
  written: number;
  from: number;
  to: number;
}

/** What the summary says, in numbers. */
async function shown(page: Page): Promise<Shown> {
  // A frame is drawn after each change.
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  const data = await page
    .locator("#time-line .summary")
    .evaluate((one) => ({ ...(one as HTMLElement).dataset }));
  return Object.fromEntries(Object.entries(data).map(([key, of]) => [key, Number(of)])) as unknown as Shown;
}

function expected(of: Cell[], head: { ops: [string, string][] }): Pick<Shown, "calls" | "read" | "written"> {
  const kind = (name: string) => of.filter((cell) => head.ops[cell.op][1] === name);
  return {
    calls: sum(of, (cell) => cell.calls),
    read: sum(kind("read"), (cell) => cell.bytes),
    written: sum(kind("write"), (cell) => cell.bytes),
  };
}

test("all calls of the run are there", async ({ page }) => {
  await open(page);
  const [head] = executions("run");
  const all = expected(cells(head), head);
  // 4 ranks write, look at and read 60 files of 64 KiB; the expected failure is in no cell.
  expect(all).toEqual({ calls: 720, read: 240 * 65536, written: 240 * 65536 });
  expect(await shown(page)).toMatchObject(all);
});

test("the wheel, the pointer and keys change the visible part; what is shown is what it holds", async ({
  page,
}) => {
  const canvas = await open(page);
  const [head] = executions("run");
  const all = await shown(page);
  const holds = async () => {
    const part = await shown(page);
    const first = Math.floor(part.from / head.column_ns + 1e-6);
    const inside = cells(head).filter(
      (cell) => cell.column >= first && cell.column < part.to / head.column_ns - 1e-6,
    );
    expect(part).toMatchObject(expected(inside, head));
    return part;
  };
  const box = await canvas.boundingBox();
  if (!box) throw new Error("no canvas");
  await page.mouse.move(box.x + box.width * 0.5, box.y + 60);
  await page.mouse.wheel(0, -600);
  // The turn of a wheel is not waited for.
  const width = async () => shown(page).then((part) => part.to - part.from);
  await expect.poll(width).toBeLessThan((all.to - all.from) * 0.7);
  const zoomed = await holds();
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.7, box.y + 60, { steps: 4 });
  await page.mouse.up();
  const dragged = await holds();
  expect(dragged.from).toBeLessThan(zoomed.from);
  await canvas.focus();
  await page.keyboard.press("+");
  const nearer = await holds();
  expect(nearer.to - nearer.from).toBeLessThan((dragged.to - dragged.from) * 0.6);
  await page.keyboard.press("ArrowRight");
  expect((await holds()).from).toBeGreaterThan(nearer.from);
  await page.keyboard.press("Home");
  expect((await holds()).from).toBeCloseTo(0, -3);
  await page.keyboard.press("End");
  expect((await holds()).to).toBeCloseTo(all.to, -3);
  await page.keyboard.press("-");
  await holds();
  await page.keyboard.press("0");
  expect(await shown(page)).toEqual(all);
});

test("lists choose ranks, operations, labels and files", async ({ page }) => {
  await open(page);
  const [head] = executions("run");
  const choices: [string, (cell: Cell) => number][] = [
    ["Ranks", (cell) => cell.band],
    ["Operation", (cell) => cell.op],
    ["Label", (cell) => cell.label],
    ["File", (cell) => cell.file],
  ];
  for (const [name, of] of choices) {
    const box = page.locator(`select[data-choice="${name}"]`);
    await box.selectOption("1");
    const inside = cells(head).filter((cell) => of(cell) === 1);
    expect(inside.length, name).toBeGreaterThan(0);
    expect(await shown(page), name).toMatchObject(expected(inside, head));
    await box.selectOption("-1");
  }
});

test("the legend hides kinds of calls", async ({ page }) => {
  await open(page);
  const [head] = executions("run");
  await page.locator("#time-line button.key.write").click();
  const inside = cells(head).filter((cell) => head.ops[cell.op][1] !== "write");
  expect(await shown(page)).toMatchObject(expected(inside, head));
  await page.locator("#time-line button.key.write").click();
  expect((await shown(page)).calls).toBe(720);
});

test("the pointer shows the calls below it as the data have them", async ({ page }) => {
  const canvas = await open(page);
  const [head] = executions("run");
  const box = await canvas.boundingBox();
  if (!box) throw new Error("no canvas");
  // The lane of ranks is found by what its tip begins with.
  let text: string[] = [];
  for (let y = 20; y < box.height - 20 && !text[1]?.startsWith("rank "); y += 6) {
    await page.mouse.move(box.x + 200, box.y + y);
    text = await page.locator("#time-line .tip:not([hidden]) div").allTextContents();
  }
  expect(text[1]).toMatch(/^rank \d/);
  const found = /^(\w+), line (\d+)/.exec(text[2] ?? "");
  if (found) {
    const op = head.ops.findIndex(([name]) => name === found[1]);
    expect(op, text[2]).toBeGreaterThanOrEqual(0);
    expect(head.lines.some(([, line]) => line === Number(found[2]))).toBe(true);
  } else {
    expect(text[2]).toMatch(/^in no call/);
  }
});

test("a line of the program and the time line show each other", async ({ page }) => {
  await open(page);
  const [head] = executions("run");
  const line = head.lines.findIndex(([, number]) => number === 3);
  await page.locator("#L-0-3 td.n button").click();
  const inside = cells(head).filter((cell) => cell.line === line);
  expect(inside.length).toBeGreaterThan(0);
  expect(await shown(page)).toMatchObject(expected(inside, head));
  await expect(page.locator("#L-0-3")).toHaveClass(/chosen/);
  await page.locator("#time-line button", { hasText: "only line 3" }).click();
  expect((await shown(page)).calls).toBe(720);
  await expect(page.locator("#L-0-3")).not.toHaveClass(/chosen/);
});

test("several executions share an axis and are chosen from a list", async ({ page }) => {
  for (const name of ["ab", "sweep"]) {
    await open(page, name);
    const heads = executions(name);
    expect(heads.length).toBe(name === "ab" ? 2 : 3);
    const box = page.locator('select[data-choice="Execution"]');
    for (const [at, head] of heads.entries()) {
      await box.selectOption(String(at));
      expect(await shown(page)).toMatchObject(expected(cells(head), head));
      const longest = Math.max(...heads.map((one) => one.end_ns - one.start_ns));
      expect((await shown(page)).to).toBeCloseTo(longest, -4);
    }
  }
});

test("the canvas takes the colours of the dark scheme", async ({ page }) => {
  await page.emulateMedia({ colorScheme: "dark" });
  await open(page);
  const dark = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  expect(dark).toBe("rgb(20, 23, 27)");
  const ink = () =>
    page.locator("#time-line canvas").evaluate((canvas) => {
      const context = (canvas as HTMLCanvasElement).getContext("2d");
      const { data } = context?.getImageData(0, 0, 400, 60) ?? { data: [] };
      let most = 0;
      for (let at = 0; at < data.length; at += 4) if (data[at + 3] > 200) most = Math.max(most, data[at]);
      return most;
    });
  expect(await ink(), "light letters on a dark page").toBeGreaterThan(140);
});
