import { defineConfig } from "@playwright/test";

// Debian's Chromium without a window, which takes a third less time; no browser is downloaded.
export default defineConfig({
  testDir: "tests",
  globalSetup: "./tests/pages.ts",
  workers: 2,
  timeout: 120_000,
  expect: { timeout: 30_000 },
  reporter: "line",
  use: {
    // An action that cannot be done fails with its place, long before its test is out of time.
    actionTimeout: 30_000,
    viewport: { width: 1400, height: 900 },
    launchOptions: {
      executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium-headless-shell",
      args: ["--no-sandbox"],
    },
  },
});
