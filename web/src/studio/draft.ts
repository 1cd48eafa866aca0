// Texts that are not saved yet, in the local storage: a closed tab, a killed server and a lost connection lose nothing.
// One tab at a time edits a program: the one that opened it last.

export interface Draft {
  text: string;
  /** The version of the file that it was made from. */
  version: string;
}

const TAB = crypto.randomUUID();

export class Drafts {
  /** Called with the name of a program that another tab edits now. */
  onTaken: (name: string) => void = () => {};

  constructor(private folder: string) {
    addEventListener("storage", (event) => {
      const start = this.key("tab", "");
      if (event.key?.startsWith(start) && event.newValue && event.newValue !== TAB)
        this.onTaken(event.key.slice(start.length));
    });
  }

  private key(kind: string, name: string): string {
    return `parabench:${kind}:${this.folder}:${name}`;
  }

  /** This tab edits the program from now on. */
  take(name: string): void {
    localStorage.setItem(this.key("tab", name), TAB);
  }

  /** Another tab has not taken it. */
  isMine(name: string): boolean {
    return localStorage.getItem(this.key("tab", name)) === TAB;
  }

  read(name: string): Draft | null {
    const stored = localStorage.getItem(this.key("draft", name));
    return stored ? JSON.parse(stored) : null;
  }

  /** False: there is no room for it. */
  write(name: string, draft: Draft): boolean {
    try {
      localStorage.setItem(this.key("draft", name), JSON.stringify(draft));
      return true;
    } catch {
      return false;
    }
  }

  remove(name: string): void {
    localStorage.removeItem(this.key("draft", name));
  }

  /** Names of programs with a draft. */
  names(): string[] {
    const start = this.key("draft", "");
    const keys = Object.keys(localStorage).filter((key) => key.startsWith(start));
    return keys.map((key) => key.slice(start.length));
  }
}
