// Mounts the components of the studio's places See and Step for their tests.

import { See } from "../src/studio/see";
import type { Scene, Snapshot } from "../src/studio/shapes";
import { Step } from "../src/studio/step";

/** Puts a component below a heading. */
function mount(element: HTMLElement): void {
  const heading = document.createElement("h1");
  heading.textContent = "Studio";
  document.querySelector("main")?.replaceChildren(heading, element);
}

const told: unknown[] = [];
const see = new See();
const step = new Step();
step.program = "x.ppl";
see.onChange = (values) => told.push(values);
see.onPlace = (place) => told.push(place);
step.onTarget = (target) => told.push(target);

Object.assign(window, {
  told,
  see: async (scene: Scene) => {
    mount(see.element);
    see.controls.set(scene.ranks, [
      { name: "num", value: "7", doc: "number of files" },
      { name: "size", value: "64k", doc: "bytes of each" },
      { name: "work", value: "1.5ms", doc: "time of computing" },
      { name: "direct", value: "false", doc: "past the page cache" },
      { name: "kind", value: "[1, 2]", doc: "a list" },
    ]);
    await see.show(scene);
  },
  step: (snapshot: Snapshot) => {
    mount(step.element);
    step.show(snapshot);
  },
});
