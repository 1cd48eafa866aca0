import AxeBuilder from "@axe-core/playwright";
import { expect, test } from "@playwright/test";
import { address, PAGES } from "./pages";
import { csv } from "./read";

for (const name of PAGES) {
  test.describe(name, () => {
    test("works without network, complaints and more than its own code", async ({ page }) => {
      const seen: string[] = [];
      page.on("console", (message) => seen.push(message.text()));
      page.on("pageerror", (error) => seen.push(error.message));
      page.on("dialog", (dialog) => seen.push(dialog.message()));
      page.on("request", (request) => {
        if (!request.url().startsWith("file:") && !request.url().startsWith("data:"))
          seen.push(request.url());
      });
      await page.goto(address(name));
      if (await page.locator("#timeline-data").count()) await page.waitForSelector("#time-line.live");
      await page.waitForTimeout(100);
      expect(seen).toEqual([]);
      const policy = await page.locator("meta[http-equiv]").getAttribute("content");
      expect(policy).toContain("default-src 'none'");
      expect(await page.locator("script:not([type])").count()).toBe(1);
    });

    for (const scheme of ["light", "dark"] as const) {
      test(`axe finds nothing, ${scheme}`, async ({ page }) => {
        await page.emulateMedia({ colorScheme: scheme });
        await page.goto(address(name));
        if (await page.locator("#timeline-data").count()) await page.waitForSelector("#time-line.live");
        const found = await new AxeBuilder({ page }).analyze();
        const told = found.violations.map(
          (one) => `${one.id}: ${one.nodes.map((node) => node.html).join("\n")}`,
        );
        expect(told).toEqual([]);
      });
    }

    for (const width of [400, 1000, 1400]) {
      test(`fits ${width} pixels`, async ({ page }) => {
        await page.setViewportSize({ width, height: 800 });
        await page.goto(address(name));
        if (await page.locator("#timeline-data").count()) await page.waitForSelector("#time-line.live");
        await page.waitForTimeout(100);
        const wide = await page.evaluate(() => {
          const most = document.documentElement.clientWidth;
          const isWide = (one: Element) =>
            !one.closest(".scroll, .interactive, .canvas, .fixed") &&
            one.getBoundingClientRect().right > most + 1;
          const all = [...document.querySelectorAll("main *")]
            .filter(isWide)
            .map((one) => one.outerHTML.slice(0, 80));
          return [document.documentElement.scrollWidth - most, ...all];
        });
        expect(wide).toEqual([0]);
      });
    }

    test("prints on at most six pages", async ({ page }) => {
      await page.goto(address(name));
      if (await page.locator("#timeline-data").count()) await page.waitForSelector("#time-line.live");
      const pdf = (await page.pdf({ format: "A4" })).toString("latin1");
      const pages = pdf.match(/\/Type\s*\/Page[^s]/g)?.length ?? 0;
      expect(pages).toBeGreaterThan(0);
      expect(pages).toBeLessThanOrEqual(6);
    });

    test("is whole without script", async ({ browser }) => {
      const context = await browser.newContext({ javaScriptEnabled: false });
      const page = await context.newPage();
      await page.goto(address(name));
      await expect(page.locator("h1")).toBeVisible();
      expect(await page.locator("svg.picture").count()).toBeGreaterThan(0);
      await expect(page.locator("svg.picture").first()).toBeVisible();
      expect(await page.locator("table").count()).toBeGreaterThan(0);
      await context.close();
    });
  });
}

test("text of programs and labels stays text", async ({ page }) => {
  await page.goto(address("run"));
  await expect(
    page.locator(".operations tr.group", { hasText: "</script><script>alert(1)</script>" }),
  ).toBeVisible();
  expect(await page.locator("main b").count()).toBe(0);
});

test("a row opens what more is known of its operation", async ({ page }) => {
  await page.goto(address("run"));
  const button = page.locator("button.opens", { hasText: "write" });
  await button.focus();
  await page.keyboard.press("Enter");
  await expect(button).toHaveAttribute("aria-expanded", "true");
  const details = page.locator(`#${await button.getAttribute("aria-controls")}`);
  await expect(details).toBeVisible();
  await expect(details.locator("th", { hasText: "p99" }).first()).toBeVisible();
  await button.click();
  await expect(details).toBeHidden();
});

test("names of operations, numbers of lines and heads of columns are printed", async ({ page }) => {
  await page.goto(address("run"));
  await page.waitForSelector("#time-line.live");
  await page.emulateMedia({ media: "print" });
  for (const place of ["button.opens", ".source td.n button", "#access button.sorts"]) {
    await expect(page.locator(place).first(), place).toBeVisible();
  }
  await expect(page.locator("button.copy")).toBeHidden();
});

test("columns sort by their figures", async ({ page }) => {
  await page.goto(address("darshan"));
  const table = page.locator(".sheet", { has: page.locator("h3", { hasText: "Files" }) }).locator("table");
  const head = table.locator("th", { has: page.locator("button", { hasText: "file" }) }).first();
  const first = () => table.locator("tbody tr td").first().textContent();
  const before = await first();
  await head.locator("button").click();
  await expect(head).toHaveAttribute("aria-sort", "descending");
  const down = await first();
  await head.locator("button").click();
  await expect(head).toHaveAttribute("aria-sort", "ascending");
  expect(new Set([before, down, await first()]).size).toBeGreaterThan(1);
});

test("the reading line of a chart says what the data hold", async ({ page }) => {
  await page.goto(address("run"));
  const figure = page.locator("figure#bandwidth-over-time");
  const picture = figure.locator(".interactive > svg");
  await picture.focus();
  for (let step = 0; step < 3; step++) await page.keyboard.press("ArrowRight");
  const text = (await figure.locator(".reading").textContent()) ?? "";
  const written = csv("bandwidth-over-time").filter((line) => line[0] === "writing");
  const mib = Number(written[2][2]);
  const digits = /writing: ([\d.]+) (B|KiB|MiB|GiB)\/s/.exec(text);
  expect(digits, text).not.toBeNull();
  const units: Record<string, number> = { B: 1 / 1048576, KiB: 1 / 1024, MiB: 1, GiB: 1024 };
  const said = Number(digits?.[1]) * units[digits?.[2] ?? ""];
  expect(Math.abs(said - mib)).toBeLessThanOrEqual(mib * 0.006 + 1e-6);
});

test("the legend of a chart hides a series", async ({ page }) => {
  await page.goto(address("run"));
  const figure = page.locator("figure#bandwidth-over-time .interactive");
  const paths = () => figure.locator("svg path").count();
  const before = await paths();
  const key = figure.locator(".legend button").first();
  await key.click();
  await expect(key).toHaveAttribute("aria-pressed", "false");
  expect(await paths()).toBe(before - 1);
});
