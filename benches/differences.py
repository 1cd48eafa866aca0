#!/usr/bin/env python3
"""How often a comparison shows a difference where there is none, and finds one that is injected.

    benches/differences.py --directory /dev/shm --directory /var/tmp
    benches/differences.py --designs compare --pairs 20 --injected 0 --blocks 30

Label "work" reads a file again and again; label "look" is the same on both sides. Injected slow-downs
of "work" are of two kinds: more calls, and calls that are longer (larger transfers). Designs:

    versus    run --versus: one run, A and B in blocks, by a parameter
    against   run --against: one run, A and B in blocks, two directories; slow-downs by --against-program
    compare   two runs, one after the other

A false difference is any difference in an A/A pair, or one of "look". Prints a table, for each design and
directory: false differences of all pairs, and slow-downs found of those injected, by the time of the label,
by its typical calls, and by either. On a quiet machine; else the table says how busy it was."""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

PROGRAM = """\
param $calls = {calls};
param $size = {size};
param $copy = 0;
mkdir("d");
write("d/f", $size);
time["work"] repeat $i $calls read("d/f");
time["look"] repeat $i {looks} stat("d/f");
"""
CALLS, SIZE, LOOKS = 1000, 262144, 2000
KINDS = {"more calls": "calls", "longer calls": "size"}
DEFAULTS = {"calls": CALLS, "size": SIZE}


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=60, help="A/A pairs of each design")
    parser.add_argument("--injected", type=int, default=20, help="pairs for each size and kind of slow-down")
    parser.add_argument("--sizes", default="5,10,20,50", help="slow-downs in per cent")
    parser.add_argument("--blocks", type=int, default=10, help="blocks, or repetitions of each side")
    parser.add_argument("--designs", default="versus,against,compare")
    parser.add_argument("--directory", action="append", help="where to measure; several are allowed")
    parser.add_argument("--binary", default="target/release/parabench")
    return parser.parse_args()


class Bench:
    """Compares pairs in one directory."""

    def __init__(self, options, directory):
        self.binary, self.blocks = os.path.realpath(options.binary), options.blocks
        self.folder = tempfile.mkdtemp(prefix="differences-", dir=directory)
        self.runs = 0
        self.write("x.ppl", CALLS, SIZE)

    def write(self, name, calls, size):
        with open(os.path.join(self.folder, name), "w") as file:
            file.write(PROGRAM.format(calls=calls, size=size, looks=LOOKS))

    def parabench(self, *words):
        done = subprocess.run([self.binary, *words], cwd=self.folder, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"parabench {' '.join(words)}: exit code {done.returncode}\n{done.stderr}")
        return done.stdout

    def run(self, *words):
        self.runs += 1
        out = f"r{self.runs}"
        self.parabench("run", "x.ppl", "--quiet", "--seed", str(self.runs), "--warm-up", "1",
                       "--reps", str(self.blocks), "--out", out, *words)
        return out

    def compared(self, *words):
        found = json.loads(self.parabench("compare", *words, "--format", "json"))
        for run in words:
            shutil.rmtree(os.path.join(self.folder, run), ignore_errors=True)
        return found

    def pair(self, design, change=None):
        """A comparison; `change`: a parameter and its value on side B."""
        setting = "{}={}".format(*change) if change else "copy=1"
        if design == "versus":
            return self.compared(self.run("--dir", "a", "--clean", "--versus", setting))
        if design == "compare":
            before = self.run("--dir", "a", "--clean")
            after = self.run("--dir", "a", "--clean", setting) if change else self.run("--dir", "a", "--clean")
            return self.compared(before, after, "--anyway")
        if not change:
            return self.compared(self.run("--dir", "a", "--clean", "--against", "b"))
        values = {**DEFAULTS, change[0]: change[1]}
        self.write("y.ppl", values["calls"], values["size"])
        return self.compared(self.run("--dir", "a", "--clean", "--against-program", "y.ppl"))


def differing(comparison):
    """Label and figure of everything that differs."""
    rows = comparison["rows"]
    return [(row["label"], row["metric"], row["claim"]) for row in rows if row["claim"] in ("faster", "slower")]


def false_differences(bench, design, pairs):
    found = [differing(bench.pair(design)) for _ in range(pairs)]
    return sum(1 for rows in found if rows), [rows for rows in found if rows]


def injected(bench, design, parameter, per_cent, pairs):
    """How many are found by the time of the label, by typical calls, by either; false ones."""
    value = round(DEFAULTS[parameter] * (100 + per_cent) / 100)
    time = typical = either = false = 0
    for _ in range(pairs):
        rows = differing(bench.pair(design, (parameter, value)))
        slower = {metric for label, metric, claim in rows if label == "work" and claim == "slower"}
        time += "time_ns" in slower
        typical += "typical_ns" in slower
        either += bool(slower & {"time_ns", "typical_ns"})
        false += any(label != "work" for label, _, _ in rows)
    return time, typical, either, false


def main():
    given = options()
    sizes = [int(size) for size in given.sizes.split(",")]
    load = " ".join(f"{value:.1f}" for value in os.getloadavg())
    print(f"{os.cpu_count()} CPUs, load {load}, {given.blocks} blocks or repetitions")
    for directory in given.directory or [tempfile.gettempdir()]:
        bench = Bench(given, directory)
        try:
            for design in given.designs.split(","):
                if given.pairs:
                    count, rows = false_differences(bench, design, given.pairs)
                    print(f"{directory}  {design:8} A/A: {count} of {given.pairs} false {rows or ''}", flush=True)
                for kind, parameter in KINDS.items():
                    for per_cent in sizes if given.injected else []:
                        result = injected(bench, design, parameter, per_cent, given.injected)
                        time, typical, either, false = result
                        print(f"{directory}  {design:8} {per_cent:2} % {kind}: found {either} of {given.injected} "
                              f"(time {time}, typical calls {typical}); in look {false}", flush=True)
        finally:
            shutil.rmtree(bench.folder)
    load = " ".join(f"{value:.1f}" for value in os.getloadavg())
    print(f"load at the end {load}")


if __name__ == "__main__":
    main()
