// Builds dist/page.js and dist/page.css, which the crate `page` puts into every page, and dist/studio.*, which the crate
// `studio` serves.
import { copyFileSync } from "node:fs";
import { build } from "esbuild";

await build({
  entryPoints: { page: "src/page.ts", studio: "src/studio/main.tsx" },
  outdir: "dist",
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
});
await build({
  entryPoints: { page: "src/page.css", studio: "src/studio/studio.css" },
  outdir: "dist",
  bundle: true,
  minify: true,
  charset: "utf8",
});
copyFileSync("src/studio/studio.html", "dist/studio.html");
