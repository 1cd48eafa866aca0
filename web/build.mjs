// Builds dist/page.js and dist/page.css, which the crate `page` puts into every page.
import { build } from "esbuild";

await build({
  entryPoints: { page: "src/page.ts" },
  outdir: "dist",
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
});
await build({ entryPoints: ["src/page.css"], outdir: "dist", minify: true, charset: "utf8" });
