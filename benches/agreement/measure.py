#!/usr/bin/env python3
"""The jobs of this folder by fio and by Parabench, in turns: the table of docs/agreement.md.

    benches/agreement/measure.py --directory /var/tmp
    benches/agreement/measure.py --directory /dev/shm --pairs 20 randwrite mixed

Parabench runs what `parabench translate JOB` prints. One pair is an execution of fio and one of Parabench, each in
a directory that was empty before, by turns the one or the other first; the first pair warms up. A line has the
median of both, and the median, smallest and largest of the ratios of the pairs. fio's figure is its own: bytes of
all jobs over its `job_runtime` of the group, which begins after the files are laid out. Ours is the same quotient:
bytes of the label over its duration."""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("jobs", nargs="*", help="names of jobs; all if none is named")
    parser.add_argument("--directory", default="/var/tmp", help="where to measure")
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--binary", default="target/release/parabench")
    return parser.parse_args()


def call(words, folder):
    """Runs a command in a folder and gives what it printed."""
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, words))} failed:\n{done.stderr}")
    return done.stdout


def by_fio(job, folder):
    """Operations per second as fio prints them, for all its processes together."""
    text = call(["fio", "--output-format=json", "--group_reporting", job], folder)
    found = json.loads(text[text.index("{"):])["jobs"][0]
    operations = found["read"]["total_ios"] + found["write"]["total_ios"]
    return operations, found["read"]["iops"] + found["write"]["iops"]


def by_parabench(binary, program, ranks, label, folder):
    """Operations per second of the label: its reads and writes over its duration."""
    words = [binary, "run", program, "-n", str(ranks), "--dir", folder / "run", "--format", "json"]
    result = json.loads(call(words, folder))
    time = next(one for one in result["labels"] if one["label"] == label)
    rows = [row for row in result["rows"] if row["label"] == label and row["part_of"] is None]
    operations = sum(row["count"] for row in rows if row["op"] in ("fread", "fwrite"))
    return operations, operations * 1e9 / (time["last_end_ns"] - time["first_start_ns"])


def in_empty(directory, run):
    """Calls `run` with a directory that is empty, and removes it."""
    folder = Path(tempfile.mkdtemp(prefix="agreement-", dir=directory))
    try:
        (folder / "run").mkdir()
        return run(folder)
    finally:
        shutil.rmtree(folder)


def ranks_of(job):
    """The number of processes that the job starts."""
    lines = [line.split("=") for line in job.read_text().splitlines() if line.startswith("numjobs=")]
    return int(lines[0][1]) if lines else 1


def one_pair(fio_first, directory, job, binary, program):
    """Operations and rate of fio, and of Parabench."""
    def fio(folder):
        return by_fio(job, folder)

    def parabench(folder):
        return by_parabench(binary, program, ranks_of(job), job.stem, folder)

    turns = [fio, parabench] if fio_first else [parabench, fio]
    found = {turn: in_empty(directory, turn) for turn in turns}
    return found[fio] + found[parabench]


def measure(job, options, scratch):
    """The line of one job."""
    binary = os.path.realpath(options.binary)
    program = scratch / f"{job.stem}.ppl"
    call([binary, "translate", job, "-o", program], scratch)
    theirs, ours = [], []
    for pair in range(options.pairs + 1):
        done, rate, same, own = one_pair(pair % 2 == 0, options.directory, job, binary, program)
        if done != same:
            raise SystemExit(f"{job.stem}: fio did {done} operations, Parabench {same}")
        if pair > 0:
            theirs.append(rate)
            ours.append(own)
    ratios = [own / rate for own, rate in zip(ours, theirs)]
    spread = f"{statistics.median(ratios):.3f} ({min(ratios):.3f} - {max(ratios):.3f})"
    return f"| {job.stem} | {statistics.median(theirs):.0f}/s | {statistics.median(ours):.0f}/s | {spread} |"


def main():
    chosen = options()
    print("| job | fio | Parabench | ratio of pairs |\n|---|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as scratch:
        for job in sorted(HERE.glob("*.fio")):
            if not chosen.jobs or job.stem in chosen.jobs:
                print(measure(job, chosen, Path(scratch)), flush=True)
    print("load at the end", *(f"{load:.1f}" for load in os.getloadavg()))


main()
