// Starts the language server, and the commands of its lenses: Run and Plan in a terminal.

import * as vscode from "vscode";
import { LanguageClient } from "vscode-languageclient/node";

let client: LanguageClient | undefined;

function settings() {
  const all = vscode.workspace.getConfiguration("parabench");
  return { path: all.get<string>("path", "parabench"), ranks: all.get<number>("ranks", 4) };
}

/** The text of a program that comes with Parabench. */
const embedded: vscode.TextDocumentContentProvider = {
  async provideTextDocumentContent(uri) {
    const found = await client?.sendRequest<{ text: string }>("parabench/text", { uri: uri.toString(true) });
    return found?.text ?? "";
  },
};

/** Saves a program and starts a subcommand on it. Arguments are given as they are: no shell reads them. */
async function execute(verb: "run" | "plan", address: string | undefined) {
  const uri = address ? vscode.Uri.parse(address) : vscode.window.activeTextEditor?.document.uri;
  if (uri?.scheme !== "file") {
    void vscode.window.showErrorMessage("Parabench: save the program to a file first.");
    return;
  }
  const document = vscode.workspace.textDocuments.find((one) => one.uri.toString() === uri.toString());
  await document?.save();
  const { path, ranks } = settings();
  const process = new vscode.ProcessExecution(path, [verb, uri.fsPath, "-n", String(ranks)]);
  const folder = vscode.workspace.getWorkspaceFolder(uri) ?? vscode.TaskScope.Workspace;
  const task = new vscode.Task({ type: "parabench", verb }, folder, verb, "parabench", process);
  task.presentationOptions = { reveal: vscode.TaskRevealKind.Always };
  await vscode.tasks.executeTask(task);
}

export async function activate(context: vscode.ExtensionContext) {
  const { path, ranks } = settings();
  client = new LanguageClient(
    "parabench",
    "Parabench",
    { command: path, args: ["lsp"] },
    {
      documentSelector: [{ language: "ppl" }],
      initializationOptions: { ranks, commands: true },
    },
  );
  context.subscriptions.push(
    vscode.workspace.registerTextDocumentContentProvider("parabench", embedded),
    vscode.commands.registerCommand("parabench.run", (uri?: string) => execute("run", uri)),
    vscode.commands.registerCommand("parabench.plan", (uri?: string) => execute("plan", uri)),
  );
  await client.start();
}

export async function deactivate() {
  await client?.stop();
}
