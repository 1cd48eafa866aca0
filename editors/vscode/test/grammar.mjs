// The grammar as VS Code reads it: scopes of the tokens of a sample program.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
const oniguruma = require("vscode-oniguruma");
const textmate = require("vscode-textmate");

const wasm = readFileSync(require.resolve("vscode-oniguruma/release/onig.wasm"));
await oniguruma.loadWASM(wasm.buffer.slice(wasm.byteOffset, wasm.byteOffset + wasm.byteLength));
const file = new URL("../syntaxes/ppl.tmLanguage.json", import.meta.url);
const registry = new textmate.Registry({
  onigLib: Promise.resolve({
    createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
    createOnigString: (text) => new oniguruma.OnigString(text),
  }),
  loadGrammar: async () => textmate.parseRawGrammar(readFileSync(file, "utf8"), file.pathname),
});
const grammar = await registry.loadGrammar("source.ppl");

/** The innermost scope of each part of a line that has one. */
function scopes(line) {
  const { tokens } = grammar.tokenizeLine(line, textmate.INITIAL);
  const parts = tokens.map((token) => [line.slice(token.startIndex, token.endIndex), token.scopes.at(-1)]);
  return parts.filter(([text, scope]) => text.trim() !== "" && scope !== "source.ppl");
}

const samples = [
  [
    "repeat $i 10 write(\"f-$$rank\\n\", 64k); # all",
    [
      ["repeat", "keyword.control.ppl"],
      ["$i", "variable.other.ppl"],
      ["10", "constant.numeric.ppl"],
      ["write", "support.function.operation.ppl"],
      ['"', "string.quoted.double.ppl"],
      ["f-", "string.quoted.double.ppl"],
      ["$$rank", "variable.language.ppl"],
      ["\\n", "constant.character.escape.ppl"],
      ['"', "string.quoted.double.ppl"],
      ["64k", "constant.numeric.ppl"],
      ["# all", "comment.line.ppl"],
    ],
  ],
  [
    "with (direct=true) sync; /// why",
    [
      ["with", "keyword.control.ppl"],
      ["direct", "variable.parameter.option.ppl"],
      ["=", "keyword.operator.ppl"],
      ["true", "constant.language.ppl"],
      ["sync", "keyword.control.ppl"],
      ["/// why", "comment.block.documentation.ppl"],
    ],
  ],
];
for (const [line, expected] of samples) {
  assert.deepEqual(scopes(line), expected, line);
}
console.log(`grammar: ${samples.length} lines have their scopes`);
