// The connection to the language server. It is made again when it was lost.

import { LSPClient, languageServerExtensions, type Transport } from "@codemirror/lsp-client";
import { socket } from "./api";
import type { Edited, Gesture, Outline, PaletteItem } from "./protocol";

/** Time before a lost connection is tried again, milliseconds. */
const AGAIN_MS = 1500;

export class Language {
  readonly client: LSPClient;
  /** Called when the connection is made or lost. */
  onState: (connected: boolean) => void = () => {};

  constructor(private folder: string) {
    this.client = new LSPClient({
      rootUri: this.uri(""),
      extensions: languageServerExtensions(),
      timeout: 10_000,
      sanitizeHTML: harmless,
    });
    this.connect();
  }

  /** The address of a program for the language server. */
  uri(name: string): string {
    const path = name ? `${this.folder}/${name}` : this.folder;
    return `file://${path.split("/").map(encodeURIComponent).join("/")}`;
  }

  private connect(): void {
    const connection = socket("/lsp");
    const handlers = new Set<(message: string) => void>();
    const transport: Transport = {
      send: (message) => {
        if (connection.readyState !== WebSocket.OPEN) throw new Error("no connection to the studio");
        connection.send(message);
      },
      subscribe: (handler) => handlers.add(handler),
      unsubscribe: (handler) => handlers.delete(handler),
    };
    connection.onmessage = (event) => {
      for (const handler of handlers) handler(String(event.data));
    };
    connection.onopen = async () => {
      this.client.connect(transport);
      await this.client.initializing;
      this.onState(true);
    };
    connection.onclose = () => {
      if (this.client.connected) this.client.disconnect();
      this.onState(false);
      setTimeout(() => this.connect(), AGAIN_MS);
    };
  }

  /** A request about a program, with the text as it is now. */
  private async ask<T>(method: string, name: string, more: object = {}): Promise<T> {
    await this.client.initializing;
    this.client.sync();
    return this.client.request<object, T>(method, { uri: this.uri(name), ...more });
  }

  outline(name: string): Promise<Outline> {
    return this.ask("parabench/outline", name);
  }

  async palette(name: string): Promise<PaletteItem[]> {
    return (await this.ask<{ items: PaletteItem[] }>("parabench/palette", name)).items;
  }

  gesture(name: string, gesture: Gesture): Promise<Edited> {
    return this.ask("parabench/gesture", name, { gesture });
  }
}

const ELEMENTS = new Set(["P", "PRE", "CODE", "EM", "STRONG", "UL", "OL", "LI", "HR", "BR", "SPAN", "TABLE"]);

/** Markup of documentation without what could do anything: labels of the program are in it. */
function harmless(html: string): string {
  const page = new DOMParser().parseFromString(html, "text/html");
  for (const element of [...page.body.querySelectorAll("*")]) {
    if (!ELEMENTS.has(element.tagName)) element.replaceWith(element.textContent ?? "");
    for (const name of element.getAttributeNames()) if (name !== "class") element.removeAttribute(name);
  }
  return page.body.innerHTML;
}
