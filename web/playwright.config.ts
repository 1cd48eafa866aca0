import { defineConfig } from "@playwright/test";

// Debian's Chromium; no browser is downloaded.
export default defineConfig({
  testDir: "tests",
  globalSetup: "./tests/pages.ts",
  workers: 2,
  timeout: 120_000,
  expect: { timeout: 30_000 },
  reporter: "line",
  use: {
    viewport: { width: 1400, height: 900 },
    launchOptions: {
      executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
      args: ["--no-sandbox"],
    },
  },
});
