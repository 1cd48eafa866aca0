// The client's transport against the server: `parabench lsp` as the extension starts it.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
const rpc = require("vscode-jsonrpc/node");

const server = spawn(process.env.PARABENCH ?? "parabench", ["lsp"], { stdio: ["pipe", "pipe", "inherit"] });
const connection = rpc.createMessageConnection(
  new rpc.StreamMessageReader(server.stdout),
  new rpc.StreamMessageWriter(server.stdin),
);
const published = new Promise((resolve) => {
  connection.onNotification("textDocument/publishDiagnostics", resolve);
});
connection.listen();

const uri = "file:///x.ppl";
const about = await connection.sendRequest("initialize", {
  processId: process.pid,
  rootUri: null,
  capabilities: {},
  initializationOptions: { ranks: 2, commands: true },
});
assert.equal(about.serverInfo.name, "parabench");
await connection.sendNotification("initialized", {});
const text = 'time["w"] repeat $i 10 write("f-$$rank-$i", 4k);\nmkdri("a");\n';
await connection.sendNotification("textDocument/didOpen", {
  textDocument: { uri, languageId: "ppl", version: 1, text },
});
const { diagnostics } = await published;
assert.equal(diagnostics[0].range.start.line, 1);
const actions = await connection.sendRequest("textDocument/codeAction", {
  textDocument: { uri },
  range: diagnostics[0].range,
  context: { diagnostics },
});
assert.equal(actions[0].title, "Replace mkdri by mkdir");
await connection.sendNotification("textDocument/didChange", {
  textDocument: { uri, version: 2 },
  contentChanges: [{ range: actions[0].edit.changes[uri][0].range, text: "stat" }],
});
const lenses = await connection.sendRequest("textDocument/codeLens", { textDocument: { uri } });
const titles = lenses.map((lens) => lens.command.title);
assert.deepEqual(titles, ["Run", "Plan", "10 x 4 KiB = 40 KiB, 10 files on 2 ranks"]);
const nothing = await connection.sendRequest("textDocument/hover", {
  textDocument: { uri },
  position: { line: 9, character: 0 },
});
assert.equal(nothing, null);
await connection.sendRequest("shutdown");
const ended = new Promise((resolve) => server.on("exit", resolve));
await connection.sendNotification("exit");
assert.equal(await ended, 0);
console.log("server: the client's transport is answered");
