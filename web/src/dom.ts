// Elements in the making. Text is always text: nothing here takes markup.

type Attributes = Record<string, string | number | undefined>;

export function make<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: Attributes = {},
  ...inside: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(name);
  for (const [key, of] of Object.entries(attributes)) {
    if (of !== undefined) element.setAttribute(key, String(of));
  }
  element.append(...inside);
  return element;
}

export function svg(name: string, attributes: Attributes = {}, ...inside: (Node | string)[]): SVGElement {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, of] of Object.entries(attributes)) {
    if (of !== undefined) element.setAttribute(key, String(of));
  }
  element.append(...inside);
  return element;
}

/** The colour that the style sheet gives a name now: light or dark. */
export function color(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim() || "#888";
}

/** Calls back when the reader changes between light and dark. */
export function onScheme(changed: () => void): void {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);
}
