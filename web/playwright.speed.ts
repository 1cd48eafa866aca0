import { defineConfig } from "@playwright/test";
import tests from "./playwright.config";

// How fast the studio shows a program: `npm --prefix web test -- --config playwright.speed.ts`, with the release binary
// in PARABENCH, on an idle machine. No test: nothing is asserted.
export default defineConfig(tests, { testMatch: "*.speed.ts", workers: 1 });
