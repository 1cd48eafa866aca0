// The studio as its user drives it: the real binary, Debian's Chromium, the mouse.

import { copyFileSync, existsSync, readFileSync } from "node:fs";
import AxeBuilder from "@axe-core/playwright";
import { expect } from "@playwright/test";
import { open, place, ROOT, statement, test, text } from "./server";

const QUICK = `param $num = 100; /// files
time["write"] repeat $i $num write("f-$$rank-$i", 64k);
time["read"] repeat $i $num read("f-$$rank-$i");
`;
const SLOW = `time["slow"] repeat $i 600 { write("f-$$rank", 64k); sleep 100ms; }
`;

test("a mistake is fixed by its quick fix", async ({ page, studio }) => {
  studio.file("typo.ppl", '$size = 64k;\nwrit("f", $size);\n');
  await studio.start();
  await open(page, studio, "typo.ppl");
  const fix = page.getByRole("button", { name: "Replace writ by write" });
  await expect(page.getByRole("region", { name: "Problems" })).toContainText("Line 2");
  await expect(fix).toBeVisible();
  await page.locator(".cm-lintRange-error").first().hover();
  await page.locator(".cm-diagnosticAction").first().click();
  await expect.poll(() => text(page)).toContain('write("f", $size)');
  await expect(page.locator(".cm-lintRange-error")).toHaveCount(0);
  await page.getByRole("button", { name: "Save" }).click();
  await expect.poll(() => readFileSync(`${studio.folder}/work/typo.ppl`, "utf8")).toContain("$size)");
});

test("a program runs, is watched and looked at", async ({ page, studio }) => {
  studio.file("quick.ppl", QUICK);
  await studio.start();
  await open(page, studio, "quick.ppl");
  await place(page, "Run").click();
  await page.getByLabel("Value of num").fill("300");
  await page.getByRole("button", { name: "Start" }).click();
  await expect(page.getByText("The run finished.")).toBeVisible();
  await expect(page.getByLabel("Output of the run")).toHaveValue(/^quick\.ppl[\s\S]*write\s+1,200/);
  expect(existsSync(`${studio.folder}/work/runs/quick-1/run.json`)).toBe(true);
  await page.getByRole("button", { name: "Look at the results" }).click();
  const frame = page.frameLocator("iframe");
  await expect(frame.locator("h1")).toContainText("quick.ppl");
  await expect(frame.locator("#time-line.live canvas").first()).toBeVisible();
});

test("a run is stopped, and what it measured is there", async ({ page, studio }) => {
  studio.file("slow.ppl", SLOW);
  await studio.start();
  await open(page, studio, "slow.ppl");
  await place(page, "Run").click();
  await page.getByRole("button", { name: "Start" }).click();
  await expect(page.locator(".ranks")).toContainText("ranks 0 to 3 slow");
  await expect(page.locator(".state")).toContainText("left");
  await page.getByRole("button", { name: "Latencies up to now" }).click();
  await expect(page.locator(".live table")).toContainText("write");
  // The browser goes, the run stays.
  await page.reload();
  await expect(page.getByRole("status").first()).toHaveText(/saved/);
  await place(page, "Run").click();
  await expect(page.locator(".ranks")).toContainText("slow");
  await page.getByRole("button", { name: "Stop" }).click();
  await expect(page.getByText("The run was stopped; what was measured is stored.")).toBeVisible();
  await page.getByRole("button", { name: "Look at the results" }).click();
  await expect(page.frameLocator("iframe").locator("main")).toContainText("write");
});

test("two runs are compared", async ({ page, studio }) => {
  studio.file("quick.ppl", QUICK);
  await studio.start();
  await open(page, studio, "quick.ppl");
  await place(page, "Run").click();
  await page.getByLabel("Repetitions").fill("5");
  for (const run of ["quick-1", "quick-2"]) {
    await page.getByRole("button", { name: "Start" }).click();
    await expect(page.getByRole("heading", { name: `runs/${run}` })).toBeVisible();
    await expect(page.getByText("The run finished.")).toBeVisible();
  }
  await place(page, "Look").click();
  for (const run of ["quick-1", "quick-2"]) await page.getByLabel(`Mark runs/${run} for`).check();
  await page.getByRole("button", { name: "Compare two marked runs" }).click();
  await expect(page.frameLocator("iframe").locator("main")).toContainText(
    /slower|faster|no clear difference/i,
  );
});

test("two directories are compared in one run", async ({ page, studio }) => {
  studio.file("quick.ppl", QUICK);
  await studio.start();
  await open(page, studio, "quick.ppl");
  await place(page, "Run").click();
  await page.getByLabel("Directory", { exact: true }).selectOption({ index: 1 });
  await page.getByLabel("Compare with directory").selectOption({ index: 2 });
  await page.getByLabel("Repetitions").fill("5");
  await page.getByLabel("Value of num").fill("20");
  await page.getByRole("button", { name: "Start" }).click();
  await expect(page.getByText("The run finished.")).toBeVisible();
  await page.getByRole("button", { name: "Look at the results" }).click();
  await expect(page.frameLocator("iframe").locator("h1 ~ *, main").first()).toContainText(
    /slower|faster|no clear difference/i,
  );
});

test("a DXT log becomes a run and a program", async ({ page, studio }) => {
  const log = `${studio.folder}/mpi-io-test.darshan`;
  copyFileSync(`${ROOT}/crates/trace/tests/real/mpi-io-test.darshan`, log);
  await studio.start();
  await open(page, studio);
  await place(page, "Look").click();
  await page.getByLabel("Log to import").setInputFiles(log);
  await expect(page.getByText("The log became runs/")).toBeVisible();
  await expect(page.frameLocator("iframe").locator("h1")).toBeVisible();
  await page.getByRole("button", { name: "Open the program in Write" }).click();
  await expect.poll(() => text(page)).toContain("# Folded from");
  await expect(statement(page, /open|write/i).first()).toBeVisible();
});

test("no text is lost by a killed server, a closed tab or a second tab", async ({
  page,
  studio,
  context,
}) => {
  studio.file("a.ppl", 'write("a", 4k);\n');
  await studio.start();
  await open(page, studio, "a.ppl");
  await page.locator(".cm-content").click();
  await page.keyboard.press("Control+End");
  await page.keyboard.type("barrier;\n");
  const port = studio.port;
  await studio.kill();
  await expect(page.getByRole("status").first()).toContainText("no connection");
  await page.keyboard.type("// more\n");
  await studio.start(port);
  // A restarted studio knows no browser from before.
  await page.goto(studio.address);
  await expect.poll(() => text(page)).toContain("// more");
  await expect(page.getByText("These are changes that were not saved before.")).toBeVisible();
  const second = await context.newPage();
  await second.goto(`http://127.0.0.1:${port}/`);
  await expect.poll(() => text(second)).toContain("// more");
  await expect(page.getByText("This program is edited in another tab now.")).toBeVisible();
  await expect(page.locator(".cm-content")).toHaveAttribute("contenteditable", "false");
  await second.locator(".cm-content").click();
  await second.keyboard.press("Control+End");
  await second.keyboard.type("// second\n");
  await page.getByRole("button", { name: "Edit it here" }).click();
  await expect.poll(() => text(page)).toContain("// second");
  await page.getByRole("button", { name: "Save" }).click();
  await expect.poll(() => readFileSync(`${studio.folder}/work/a.ppl`, "utf8")).toContain("// second");
});

test("script in a label is text everywhere", async ({ page, studio }) => {
  const label = "</script><img src=x onerror=alert(1)><script>alert(2)</script>";
  studio.file("label.ppl", `time["${label}"] write("f", 4k);\n`);
  const seen: string[] = [];
  page.on("dialog", (dialog) => {
    seen.push(dialog.message());
    void dialog.dismiss();
  });
  page.on("console", (message) => message.type() === "error" && seen.push(message.text()));
  await studio.start();
  await open(page, studio, "label.ppl");
  await expect(statement(page, /onerror/)).toBeVisible();
  await place(page, "Run").click();
  await page.getByRole("button", { name: "Start" }).click();
  await expect(page.getByText("The run finished.")).toBeVisible();
  await page.getByRole("button", { name: "Look at the results" }).click();
  await expect(page.frameLocator("iframe").locator("main")).toContainText("onerror");
  const reached = await page
    .frameLocator("iframe")
    .locator("body")
    .evaluate(() => {
      try {
        return String(parent.document.title);
      } catch (error) {
        return error instanceof DOMException ? error.name : "";
      }
    });
  expect(reached).toBe("SecurityError");
  expect(seen).toEqual([]);
});

for (const scheme of ["light", "dark"] as const) {
  test(`axe finds nothing, ${scheme}`, async ({ page, studio }) => {
    studio.file("quick.ppl", QUICK);
    studio.file("typo.ppl", 'write("f", $siez);\n');
    await studio.start();
    await page.emulateMedia({ colorScheme: scheme });
    const check = async (where: string) => {
      const found = await new AxeBuilder({ page }).exclude("iframe").analyze();
      const told = found.violations.map(
        (one) => `${where} ${one.id}: ${one.nodes.map((node) => node.html).join("\n")}`,
      );
      expect(told).toEqual([]);
    };
    await open(page, studio, "typo.ppl");
    await expect(page.locator(".cm-lintRange-error").first()).toBeVisible();
    await check("mistake");
    await page.getByLabel("Program", { exact: true }).selectOption("quick.ppl");
    await statement(page, /write/).last().click();
    await expect(page.locator(".form .field").first()).toBeVisible();
    await check("write");
    await place(page, "See").click();
    await expect(page.locator(".see svg, .see canvas").first()).toBeVisible();
    await check("see");
    await place(page, "Run").click();
    await page.getByRole("button", { name: "Start" }).click();
    await expect(page.getByText("The run finished.")).toBeVisible();
    await check("run");
    await page.getByRole("button", { name: "Look at the results" }).click();
    await expect(page.frameLocator("iframe").locator("h1")).toBeVisible();
    await check("look");
  });
}

test("it is there at once, and needs nothing but itself", async ({ page, studio }) => {
  studio.file("quick.ppl", QUICK);
  await studio.start();
  const foreign: string[] = [];
  page.on("request", (request) => {
    const { hostname, protocol } = new URL(request.url());
    if (hostname !== "127.0.0.1" && protocol !== "data:") foreign.push(request.url());
  });
  await open(page, studio);
  expect(foreign).toEqual([]);
  const width = await page.evaluate(() => document.documentElement.scrollWidth);
  expect(width).toBeLessThanOrEqual(1400);
  await page.setViewportSize({ width: 1100, height: 700 });
  const [scroll, client] = await page.evaluate(() => [
    document.documentElement.scrollWidth,
    document.documentElement.clientWidth,
  ]);
  expect(scroll).toBeLessThanOrEqual(client);
});

test("everything in the outline works by keyboard", async ({ page, studio }) => {
  studio.file("keys.ppl", 'write("a", 4k);\nread("a");\nbarrier;\n');
  await studio.start();
  await open(page, studio, "keys.ppl");
  await statement(page, /write/).focus();
  await page.keyboard.press("Alt+ArrowDown");
  await expect.poll(() => text(page)).toMatch(/^read[\s\S]*write[\s\S]*barrier/);
  await page.keyboard.press("Delete");
  await expect.poll(() => text(page)).toMatch(/^read\("a"\);\nbarrier;/);
  await page.locator(".cm-content").focus();
  await page.keyboard.press("Control+z");
  await page.keyboard.press("Control+z");
  await expect.poll(() => text(page)).toMatch(/^write[\s\S]*read/);
});
