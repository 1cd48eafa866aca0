import { defineConfig } from "@playwright/test";
import tests from "./playwright.config";

// Pictures of docs/studio.md: `make web-shots`. No test: it checks nothing that the tests do not.
export default defineConfig(tests, { testMatch: "*.shots.ts" });
