// Makes the pages that the tests look at, with the real binary, in web/test-results/pages.

import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const BINARY = process.env.PARABENCH ?? `${ROOT}/target/debug/parabench`;
export const FOLDER = `${ROOT}/web/test-results/pages`;

/** Names of all pages, for tests of what holds for each. */
export const PAGES = ["run", "plain", "sweep", "grid", "ab", "compare", "darshan", "strace", "fidelity"];

export function address(name: string): string {
  return `file://${FOLDER}/${name}.html`;
}

/** Labels inside of others, text that must stay text, several ranks, reads, writes and metadata. */
const PROGRAM = `param $num = 60; /// files per rank
time["fill & <b>bold</b>"] {
    time["write"] repeat $i $num write("f-$$rank-$i", 64k);
    time["look"] repeat $i $num stat("f-$$rank-$i");
}
barrier;
time["</script><script>alert(1)</script>"] repeat $i $num read("f-$$rank-$i");
with (expect="ENOENT") stat("missing");
`;

const SWEPT = `param $block = 4k; /// bytes of one request
param $n = 40; /// requests
time["write"] repeat $i $n write("f-$$rank-$i", $block);
`;

const STRACE = `100 0.000001 openat(AT_FDCWD, "/data/a", O_RDWR|O_CREAT, 0644) = 3 <0.000020>
100 0.000101 write(3, "x"..., 4096) = 4096 <0.000050>
100 0.000201 pread64(3, "x"..., 4096, 0) = 4096 <0.000030>
100 0.000301 close(3) = 0 <0.000010>
`;

function parabench(words: string): void {
  const done = words.split(" ");
  execFileSync(BINARY, done, { cwd: FOLDER, stdio: ["ignore", "ignore", "ignore"] });
}

export default function setup(): void {
  rmSync(FOLDER, { recursive: true, force: true });
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(`${FOLDER}/x.ppl`, PROGRAM);
  writeFileSync(`${FOLDER}/swept.ppl`, SWEPT);
  writeFileSync(`${FOLDER}/app.strace`, STRACE.repeat(20));
  copyFileSync(`${ROOT}/crates/trace/tests/real/mpi-io-test.darshan`, `${FOLDER}/job.darshan`);
  parabench("run x.ppl -n 4 --out run --html run.html");
  parabench("report run --data data");
  parabench("run x.ppl -n 2 --out plain");
  parabench("report plain --html plain.html");
  parabench("run swept.ppl -n 2 --sweep block=4k,16k,64k --reps 5 --html sweep.html");
  parabench("run swept.ppl --sweep block=4k,64k --sweep n=20,40,80 --reps 2 --html grid.html");
  parabench("run swept.ppl --versus block=4k,256k --reps 7 --html ab.html");
  parabench("run swept.ppl --reps 6 --events --out before");
  parabench("run swept.ppl --reps 6 --events --out after");
  parabench("compare before after --html compare.html");
  parabench("import job.darshan --out job");
  parabench("report job --html darshan.html");
  parabench("import app.strace --as strace --out app");
  parabench("report app --html strace.html");
  parabench("run x.ppl -n 4 --events --out replay");
  parabench("fidelity run replay --html fidelity.html");
}
