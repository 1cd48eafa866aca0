// Builds dist/page.js and dist/page.css, which the crate `page` puts into every page, and dist/studio.*, which the crate
// `studio` serves.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

// A file stays as it is if it has this content already: cargo compiles what includes it only after a change.
function store(path, content) {
  if (!existsSync(path) || !readFileSync(path).equals(content)) writeFileSync(path, content);
}

const common = { outdir: "dist", bundle: true, minify: true, charset: "utf8", write: false };
const scripts = await build({
  ...common,
  entryPoints: { page: "src/page.ts", studio: "src/studio/main.tsx" },
  format: "iife",
  target: "es2022",
  legalComments: "none",
});
const styles = await build({
  ...common,
  entryPoints: { page: "src/page.css", studio: "src/studio/studio.css" },
});
for (const { path, contents } of [...scripts.outputFiles, ...styles.outputFiles])
  store(path, Buffer.from(contents));
store("dist/studio.html", readFileSync("src/studio/studio.html"));
