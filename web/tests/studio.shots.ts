// Pictures of docs/studio.md: `make web-shots` writes them.

import { copyFileSync } from "node:fs";
import { expect } from "@playwright/test";
import { open, place, ROOT, statement, test } from "./server";

test.use({ viewport: { width: 1280, height: 800 } });

const SLOW = `param $size = 64k; /// bytes of one request
time["write"] repeat $i 200 { write("f-$$rank-$i", $size); sleep 20ms; }
barrier;
time["read"] repeat $i 200 { read("f-$$rank-$i"); sleep 20ms; }
`;

test("pictures", async ({ page, studio }) => {
  const shot = (name: string) => page.screenshot({ path: `${ROOT}/docs/studio/${name}.png` });
  copyFileSync(`${ROOT}/examples/listing2.ppl`, `${studio.folder}/work/listing2.ppl`);
  studio.file("slow.ppl", SLOW);
  await studio.start();
  await open(page, studio, "listing2.ppl");
  await statement(page, /append/)
    .first()
    .click();
  await expect(page.locator(".form .field").first()).toBeVisible();
  await page.waitForTimeout(500);
  await shot("write");
  await page.getByRole("button", { name: "See beside" }).click();
  await page.waitForTimeout(2000);
  await shot("beside");
  await page.getByRole("button", { name: "See beside" }).click();
  await place(page, "See").click();
  await page.waitForTimeout(2000);
  await shot("see");
  await page.getByLabel("Program", { exact: true }).selectOption("slow.ppl");
  await place(page, "Run").click();
  await expect(page.getByLabel("Value of size")).toBeVisible();
  await page.getByRole("button", { name: "Start" }).click();
  await expect(page.locator(".ranks")).toContainText("read");
  await page.getByRole("button", { name: "Latencies up to now" }).click();
  await expect(page.locator(".live table")).toContainText("read");
  await shot("run");
  await expect(page.getByText("The run finished.")).toBeVisible();
  await page.getByRole("button", { name: "Look at the results" }).click();
  await expect(page.frameLocator("iframe").locator("#time-line.live canvas").first()).toBeVisible();
  await shot("look");
});
