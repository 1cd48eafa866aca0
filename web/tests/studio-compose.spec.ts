// Listing 2 of the paper, composed with the mouse: parts from the palette, values in the form, no line of PPL typed.

import { execFileSync } from "node:child_process";
import { copyFileSync } from "node:fs";
import { expect } from "@playwright/test";
import { add, BINARY, choose, open, place, ROOT, set, statement, test, text } from "./server";

/** What `parabench plan` says of a program, without warnings. */
function plan(folder: string, name: string): string {
  return execFileSync(BINARY, ["plan", name, "-n", "4"], {
    cwd: `${folder}/work`,
    stdio: ["ignore", "pipe", "ignore"],
  }).toString();
}

test("listing 2 is composed by mouse, seen and compared", async ({ page, studio }) => {
  test.setTimeout(600_000);
  copyFileSync(`${ROOT}/examples/listing2.ppl`, `${studio.folder}/work/listing2.ppl`);
  await studio.start();
  page.on("dialog", (dialog) => void dialog.accept("mine"));
  await open(page, studio, "listing2.ppl");
  await page.getByRole("button", { name: "New" }).click();
  await expect(statement(page, "empty: choose a part below")).toBeVisible();

  /** Adds a part and sets its parameters. */
  const part = async (name: string, values: Record<string, string> = {}) => {
    await add(page, name);
    for (const [parameter, value] of Object.entries(values)) await set(page, parameter, value);
  };
  await part("define groups");
  for (const level of ["2", "3"])
    await part("strided", { name: `pattern-lvl${level}`, level, block: "100m", count: "10" });
  await choose(page, "end of the program");
  await part("assignment", { variable: "$env", value: '"./env-mpiio-test"' });
  await part("mkdir", { path: "$env" });
  await part("print", { values: '"MPI-IO test START"' });

  await part("group");
  await part("time", { label: "write" });
  await part("repeat", { count: "10", variable: "" });
  await part("append", { path: "$$rank", n: "10m" });
  for (const level of ["2", "3"]) {
    await choose(page, /^group "writers"/);
    await part("time", { label: `pwrite-lvl${level}` });
    await part("pwrite", { path: `$env/file-lvl${level}.dat`, pattern: `pattern-lvl${level}` });
  }
  await choose(page, "end of the program");
  await part("barrier");
  await part("group", { group: "readers" });
  await choose(page, /^group "readers"/);
  await part("fopen", { path: "$$rank", flags: "r+", variable: "$fh" });
  await part("time", { label: "read" });
  await part("repeat", { count: "100", variable: "" });
  await part("fread", { handle: "$fh", n: "10m", off: "" });
  await choose(page, /^group "readers"/);
  await part("fclose", { handle: "$fh" });
  for (const level of ["2", "3"]) {
    await choose(page, /^group "readers"/);
    await part("time", { label: `pread-lvl${level}` });
    await part("pread", { path: `$env/file-lvl${level}.dat`, pattern: `pattern-lvl${level}` });
  }
  await choose(page, "end of the program");
  await part("print", { values: '"MPI-IO test STOP"' });

  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByRole("status").first()).toHaveText("saved");
  expect(plan(studio.folder, "mine.ppl")).toBe(plan(studio.folder, "listing2.ppl"));

  await place(page, "See").click();
  await expect(page.locator(".see-sentence")).toContainText("4 ranks");
  const file = page.locator("#see-file option", { hasText: "file-lvl2.dat" }).first();
  await page.locator("#see-file").selectOption((await file.getAttribute("value")) ?? "");
  await expect(page.locator(".see .summary")).toContainText("rank");
  expect(await text(page)).toContain('time["pread-lvl3"]');
});

test("what is typed as soon as a field is there is kept", async ({ page, studio }) => {
  studio.file("groups.ppl", 'define groups {"writers":D, "readers":D};\n');
  await studio.start();
  await open(page, studio, "groups.ppl");
  await choose(page, "end of the program");
  await page.evaluate(() => {
    const typing = new MutationObserver(() => {
      const field = document.querySelector<HTMLInputElement>("#parameter-group");
      if (!field) return;
      typing.disconnect();
      field.value = "readers";
      field.dispatchEvent(new InputEvent("input", { bubbles: true }));
      setTimeout(() => field.dispatchEvent(new Event("change", { bubbles: true })), 500);
    });
    typing.observe(document.body, { childList: true, subtree: true });
  });
  await add(page, "group");
  await expect(statement(page, /^group "readers"/)).toBeVisible();
});

test("a strided and a segmented pattern are seen to differ", async ({ page, studio }) => {
  const program = (kind: string) =>
    `define pattern "p" level 0 = ${kind}(block=64k, count=8);\ntime["w"] pwrite("f", "p");\n`;
  studio.file("strided.ppl", program("strided"));
  studio.file("segmented.ppl", program("segmented"));
  await studio.start();
  await open(page, studio, "segmented.ppl");
  await place(page, "See").click();
  const seen: (string | null)[] = [];
  for (const name of ["segmented.ppl", "strided.ppl"]) {
    await page.getByLabel("Program", { exact: true }).selectOption(name);
    await expect(page.locator(".see .summary")).toContainText("4 ranks");
    await page.getByText("Pieces as a table").click();
    const pieces = page.getByRole("region", { name: "Pieces" });
    // The picture of the program before stays until the new one is there.
    await expect.poll(() => pieces.textContent()).not.toBe(seen[0]);
    seen.push(await pieces.textContent());
    await page.getByText("Pieces as a table").click();
  }
  expect(seen.length).toBe(2);
});

test("parts are dragged, switched off and put around", async ({ page, studio }) => {
  studio.file("drag.ppl", '# the first\nwrite("a", 4k);\nread("a");\nbarrier;\n');
  await studio.start();
  await open(page, studio, "drag.ppl");
  await statement(page, /barrier/).dragTo(statement(page, /write/), { targetPosition: { x: 60, y: 2 } });
  await expect.poll(() => text(page)).toMatch(/barrier;[\s\S]*write[\s\S]*read/);
  await choose(page, /read/);
  await page.getByRole("button", { name: "Switch off" }).click();
  await expect.poll(() => text(page)).toMatch(/\/\/-\s*read/);
  await page.getByRole("button", { name: "Switch on" }).click();
  await expect.poll(() => text(page)).toMatch(/\nread/);
  await choose(page, /write/);
  await page.getByLabel("Wrap the chosen statement in").selectOption({ label: "repeat" });
  await expect.poll(() => text(page)).toMatch(/repeat \$i 10[\s\S]*write/);
  expect(await text(page)).toContain("# the first");
  await page.locator(".cm-content").focus();
  for (let step = 0; step < 4; step++) await page.keyboard.press("Control+z");
  await expect.poll(() => text(page)).toBe('# the first\nwrite("a", 4k);\nread("a");\nbarrier;\n');
});

test("parts and forms know the names of the program, and refusals say why", async ({ page, studio }) => {
  studio.file(
    "names.ppl",
    'define pattern "mine" level 0 = strided(block=4k, count=2);\n$file = fopen("a", "w+");\n$x = 1;\n',
  );
  await studio.start();
  await open(page, studio, "names.ppl");
  await choose(page, /^\$x/);
  await set(page, "value", "not a value");
  await expect(page.getByRole("alert")).toContainText("a text needs quotes");
  await set(page, "value", '"a text"');
  await set(page, "variable", "y");
  await expect.poll(() => text(page)).toContain('$y = "a text";');
  await expect(page.getByRole("alert")).toHaveCount(0);
  await add(page, "fread");
  await expect.poll(() => text(page)).toContain("fread($file, 4k, 0);");
  await set(page, "n", "mine");
  await add(page, "pwrite");
  await expect.poll(() => text(page)).toContain('fread($file, "mine", 0);\npwrite("data", "mine");');
  await place(page, "Run").click();
  await expect(page.getByLabel("Start the ranks under MPI")).toBeChecked();
  await expect(page.getByText("The program needs it: pwrite.")).toBeVisible();
});

test("a program for more ranks than the slider has is seen", async ({ page, studio }) => {
  studio.file("many.ppl", 'assert($$size == 77, "it is for 77 ranks");\nwrite("f-$$rank", 4k);\n');
  await studio.start();
  await open(page, studio, "many.ppl");
  await place(page, "See").click();
  await expect(page.getByRole("alert")).toContainText("77 ranks");
  await expect(page.locator(".see")).toBeHidden();
  await page.getByLabel("Number of ranks").fill("77");
  await page.getByLabel("Number of ranks").press("Enter");
  await expect(page.locator(".see-sentence")).toContainText("77 ranks");
});

test("See is shown beside Write, and follows what is composed", async ({ page, studio }) => {
  studio.file("beside.ppl", 'write("a", 4k);\n');
  await studio.start();
  await open(page, studio, "beside.ppl");
  await page.getByRole("button", { name: "See beside" }).click();
  await expect(page.locator(".see-sentence")).toContainText("4 operations");
  await choose(page, /write/);
  await page.getByRole("button", { name: "Duplicate" }).click();
  await expect(page.locator(".see-sentence")).toContainText("8 operations");
  const [text, picture] = [page.locator(".write .text"), page.locator(".see canvas").first()];
  const [left, right] = [await text.boundingBox(), await picture.boundingBox()];
  expect((left?.x ?? 0) + (left?.width ?? 0)).toBeLessThanOrEqual(right?.x ?? 0);
  expect((right?.x ?? 0) + (right?.width ?? 0)).toBeLessThanOrEqual(1400);
  await place(page, "Run").click();
  await expect(page.locator(".see")).toBeHidden();
});
