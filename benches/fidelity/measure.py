#!/usr/bin/env python3
"""Records real commands, folds them, replays them, and writes the tables of docs/fidelity.md.

    measure.py [--quick] [--keep DIRECTORY] PARABENCH [NAME ...]

Every execution has a fresh directory. Each command is first recorded ROUNDS times; the program is folded of the
recording whose elapsed time is the median. Then ROUNDS rounds follow, each with the plain command, a recorded one
and a replay in a directory of its own; what `parabench fidelity` says of these recordings and replays goes into the
table. With names only those commands are measured, and nothing is written. --quick: the commands for tests, once
each, without times; exit code 1 if one does not do the same.
"""

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib

ROUNDS = 5
WORST_PERCENT = 15
PATIENCE_S = 120
# Directories of src, and files in each: what takes milliseconds only says nothing about times.
MEASURED, QUICK = (24, 25), (10, 10)
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
DOCUMENT = os.path.join(ROOT, "docs", "fidelity.md")
ENVIRONMENT = os.path.join(ROOT, "target", "fidelity-venv")
BEGIN, END = "<!-- measured by make fidelity -->\n", "<!-- end of what make fidelity measured -->\n"
HEAD = ["command", "ops", "ranks", "lines", "log/text", "fold", "differ", "again", "recorder", "original", "replay",
        "error", "spread"]
# Of names, times and hashes that programs choose by themselves as much as possible is fixed.
FIXED = {"LC_ALL": "C", "TZ": "UTC", "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a",
         "GIT_COMMITTER_EMAIL": "a@b", "GIT_AUTHOR_DATE": "1700000000 +0000", "GIT_CONFIG_GLOBAL": "/dev/null",
         "GIT_COMMITTER_DATE": "1700000000 +0000", "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
CALLS = "trace=%file,%desc,%process"
# Times a command from fork to exit, in microseconds, with or without a recorder around it.
# The shell that times stands elsewhere, that in the directory does not look at it (PWD): neither does I/O there.
TIMED = """a=$EPOCHREALTIME; env -u PWD -C "$2" sh -c "$1"; c=$?; b=$EPOCHREALTIME
echo $((${b/./} - ${a/./})) > "$3"; exit $c"""


class Skipped(Exception):
    """A command that is not there."""


class Wrong(Exception):
    """Something that should have worked did not."""


def install(command):
    """Brings what a command needs. Raises Skipped with what is missing."""
    lacking = [tool for tool in command.get("needs", []) if shutil.which(tool) is None]
    packages = command.get("apt", [])
    if lacking and packages and shutil.which("apt-get") and os.geteuid() == 0:
        quiet(["apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages])
        lacking = [tool for tool in lacking if shutil.which(tool) is None]
    if lacking:
        raise Skipped("no " + ", ".join(lacking) + " here")
    for package in command.get("pip", []):
        if not quiet([python(), "-c", f"import {package}"]):
            quiet([python(), "-m", "pip", "install", "-q", "--disable-pip-version-check", package])
            if not quiet([python(), "-c", f"import {package}"]):
                raise Skipped(f"no Python package {package} here")


def python():
    """The python of the environment, which is made if it is not there."""
    path = os.path.join(ENVIRONMENT, "bin", "python")
    if not os.path.exists(path):
        quiet([sys.executable, "-m", "venv", ENVIRONMENT])
    return path


def quiet(words, **more):
    done = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, **more)
    return done.returncode == 0


class Place:
    """The directory of one command, with everything that its measurement makes."""

    def __init__(self, parabench, command, directory, source):
        self.parabench, self.command, self.directory, self.source = parabench, command, directory, source
        self.work = self.path("work")
        self.environment = {**os.environ, **FIXED, "PYTHON": python() if command.get("pip") else sys.executable}

    def path(self, name):
        return os.path.join(self.directory, name)

    def fresh(self):
        """The input of the command, made anew."""
        self.put_aside(self.work)
        drawn = random.Random(42)
        directories, files = self.source
        for at in range(directories):
            os.makedirs(f"{self.work}/src/d{at}")
            for number in range(files):
                with open(f"{self.work}/src/d{at}/f{number}", "wb") as file:
                    file.write(drawn.randbytes(drawn.randint(1 << 10, 1 << 16)))
        if "before" in self.command:
            self.call(["sh", "-c", self.command["before"]])
        os.sync()

    def put_aside(self, path):
        """What is there stays, without its data, until all is measured: for minutes after many files were removed,
        ext4 looks at each of their inodes before it takes a new one, and creating a file takes ten times as long."""
        if not os.path.exists(path):
            return
        aside = os.path.join(tempfile.mkdtemp(dir=self.directory), "aside")
        os.rename(path, aside)
        for folder, _, files in os.walk(aside):
            for file in files:
                if not os.path.islink(os.path.join(folder, file)):
                    os.truncate(os.path.join(folder, file), 0)

    def call(self, words, codes=(0,), cwd=None):
        try:
            done = subprocess.run(words, cwd=cwd or self.work, env=self.environment, capture_output=True, check=False,
                                  text=True, timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            raise Wrong(f"{os.path.basename(words[0])} {words[1]} did not end within {PATIENCE_S} s") from None
        if done.returncode not in codes:
            raise Wrong(f"{os.path.basename(words[0])} {words[1]}: exit code {done.returncode}: {done.stderr.strip()}")
        return done

    def timed(self, before=()):
        """Executes the command; its elapsed time in ms."""
        self.fresh()
        told = self.path("elapsed")
        # grep finds nothing: 1.
        self.call([*before, "bash", "-c", TIMED, "bash", self.command["run"], self.work, told], codes=(0, 1),
                  cwd=self.directory)
        with open(told) as file:
            return int(file.read()) / 1e3

    def record(self, name):
        """A recorded execution as a run NAME; its elapsed time in ms."""
        shutil.rmtree(self.path(name), ignore_errors=True)
        return self.timed([self.parabench, "record", "-o", self.path(name), "--under", self.work, "--"])

    def log_bytes(self):
        """Bytes of a log of strace of it."""
        self.fresh()
        log = self.path("app.strace")
        self.call(["strace", "-f", "-ttt", "-T", "-y", "-s", "0", "-e", CALLS, "-o", log, "sh", "-c",
                   self.command["run"]], codes=(0, 1))
        size = os.path.getsize(log)
        os.remove(log)
        return size

    def fold(self, run):
        """Folds to app.ppl; what it took in ms, and the first sentence of what is said."""
        start = time.monotonic()
        done = self.call([self.parabench, "fold", self.path(run), "-o", self.path("app.ppl")], codes=(0, 1))
        elapsed = (time.monotonic() - start) * 1e3
        said = done.stderr.strip().splitlines()
        return elapsed, done.returncode == 0, said[0].split(": ", 1)[1] if said else ""

    def replay(self, original, name, ranks):
        """The program in an empty directory, after `prepare`, as a run NAME."""
        self.put_aside(self.path("inside"))
        # As before an original: what was put aside would be written by the replay's first fsync.
        os.sync()
        self.call([self.parabench, "run", self.path("app.ppl"), "-n", str(ranks), "--dir", self.path("inside"),
                   "--prepare", "--against-trace", self.path(original), "--quiet", "--out", self.path(name)],
                  codes=(0, 1), cwd=self.directory)

    def record_replay(self, original, name, ranks):
        """The program in an empty directory, recorded from outside: what Parabench says of itself is not asked."""
        self.put_aside(self.path("inside"))
        program = [self.path("app.ppl"), "-n", str(ranks), "--dir", self.path("inside")]
        self.call([self.parabench, "prepare", *program, "--trace", self.path(original)], cwd=self.directory)
        self.call([self.parabench, "record", "--via", "strace", "-o", self.path(name), "--under", self.path("inside"),
                   "--", self.parabench, "run", *program, "--quiet"], codes=(0, 1), cwd=self.directory)

    def fidelity(self, originals, replays):
        words = [self.parabench, "fidelity", "--original", *map(self.path, originals), "--replay",
                 *map(self.path, replays), "--format", "json"]
        return json.loads(self.call(words, cwd=self.directory).stdout)

    def ranks(self, run):
        with open(self.path(f"{run}/run.json")) as file:
            return json.load(file)["run"]["ranks"]


def differences(found):
    """Most operations that a replay does otherwise."""
    return max(one["differences"]["operations"] for one in found["replays"])


def differing(execution):
    """Operations that differ in a replay that was recorded from outside, but for those that Parabench adds."""
    kinds = ["missing", "order", "names", "offsets", "bytes", "results"]
    return sum(execution["differences"][kind] for kind in kinds)


def elapsed(found):
    figures = found["scopes"][0]["figures"]
    return next(figure for figure in figures if figure["name"] == "elapsed")


def typical(place):
    """The recording, of ROUNDS, whose elapsed time is the median."""
    names = [f"first-{number}" for number in range(ROUNDS)]
    times = {name: place.record(name) for name in names}
    return sorted(names, key=times.get)[ROUNDS // 2]


def measure(place):
    """One row, and what is to be said of it."""
    original = typical(place)
    fold_ms, lossless, said = place.fold(original)
    ranks = place.ranks(original)
    plain, recorded = [], []
    for number in range(ROUNDS):
        plain.append(place.timed())
        recorded.append(place.record(f"original-{number}"))
        place.replay(original, f"replay-{number}", ranks)
    place.record_replay(original, "again", ranks)
    exact = place.fidelity([original], ["replay-0", "again"])
    first, again = exact["replays"][0]["differences"]["operations"], differing(exact["replays"][1])
    figures = elapsed(place.fidelity([f"original-{n}" for n in range(ROUNDS)],
                                     [f"replay-{n}" for n in range(ROUNDS)]))
    with open(place.path("app.ppl")) as file:
        text = file.read()
    recorder = statistics.median(recorded) / statistics.median(plain) * 100 - 100
    row = [place.command["name"], exact["originals"][0]["operations"], ranks, text.count("\n"),
           f"{place.log_bytes() / len(text.encode()):.0f}", f"{fold_ms:.0f}", first, again, f"{recorder:+.0f} %",
           f"{figures['original'] / 1e6:.1f}", f"{figures['replay'] / 1e6:.1f}", f"{figures['error_percent']:+.1f} %",
           f"{figures['spread_percent']:.1f} %"]
    return row, figures["error_percent"], remarks(place, lossless, said, figures)


def remarks(place, lossless, said, figures):
    """Sentences on what is not as it should be."""
    name, error = place.command["name"], figures["error_percent"]
    is_within = abs(error) <= figures["spread_percent"]
    unnamed = "recordings of the command itself are further apart" if is_within else "no reason is known yet"
    reason = place.command.get("reason", unnamed)
    found = []
    if not lossless:
        found.append(f"`{name}` does not fold without loss: {said}.")
    if abs(error) > WORST_PERCENT:
        found.append(f"The elapsed time of `{name}` is {error:+.1f} % off: {reason}.")
    return found


def check(place):
    """The command once: folded without loss, and the replay does the same."""
    place.record("original")
    _, lossless, said = place.fold("original")
    ranks = place.ranks("original")
    place.replay("original", "replay", ranks)
    differ = differences(place.fidelity(["original"], ["replay"]))
    print(f"{place.command['name']}: {said}; the replay differs in {differ} operations", flush=True)
    return lossless and differ == 0


def each(parabench, commands, keep, source):
    """The place of every command that is here, and what is said of the others."""
    made = []
    try:
        for command in commands:
            try:
                install(command)
            except Skipped as why:
                yield command, None, str(why)
                continue
            made.append(tempfile.mkdtemp(prefix="parabench-fidelity-", dir=keep))
            yield command, Place(parabench, command, made[-1], source), None
    finally:
        if keep is None:
            for directory in made:
                shutil.rmtree(directory, ignore_errors=True)


def table(rows):
    lines = [HEAD, ["---"] + ["---:"] * (len(HEAD) - 1), *rows]
    return "".join("| " + " | ".join(str(cell) for cell in line) + " |\n" for line in lines)


def machine():
    """Where is measured, and what else goes on there."""
    told = subprocess.run(["df", "--output=fstype", tempfile.gettempdir()], capture_output=True, text=True, check=True)
    kind = told.stdout.split()[-1]
    return f"{os.cpu_count()} processors, a file system {kind}, a load of {os.getloadavg()[0]:.1f}"


def write(rows, errors, said, where):
    mean = sum(map(abs, errors)) / len(errors)
    worst = max(errors, key=abs)
    summary = f"{len(rows)} commands; the errors are {mean:.1f} % in the mean, without their signs, and"
    summary += f" {worst:+.1f} % at most. Measured with {where} before the start."
    text = f"{table(rows)}\n{wrapped(summary)}\n"
    text += "".join(f"\n- {wrapped(line, '  ')}" for line in said) + "\n" if said else ""
    with open(DOCUMENT) as file:
        before, rest = file.read().split(BEGIN)
    with open(DOCUMENT, "w") as file:
        file.write(before + BEGIN + text + END + rest.split(END)[1])


def wrapped(text, indent="", columns=116):
    lines, line = [], ""
    for word in text.split():
        if line and len(line) + 1 + len(word) > columns:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}".strip()
    return f"\n{indent}".join([*lines, line])


def quick(parabench, commands):
    """The commands for tests, once each; whether all do the same."""
    fine = True
    for command, place, why in each(parabench, commands, None, QUICK):
        if place is None:
            print(f"{command['name']}: skipped: {why}")
            continue
        try:
            fine &= check(place)
        except Wrong as wrong:
            fine = False
            print(f"{command['name']}: {wrong}")
    return fine


def measured(parabench, commands, keep):
    """Rows of the table, their errors, and what is to be said of them."""
    rows, errors, said = [], [], []
    for command, place, why in each(parabench, commands, keep, MEASURED):
        try:
            if place is None:
                raise Skipped(why)
            row, error, remarked = measure(place)
        except Skipped as skipped:
            said.append(f"`{command['name']}` was skipped: {skipped}.")
        except Wrong as wrong:
            said.append(f"`{command['name']}` failed: {wrong}.")
            print(command["name"], wrong, flush=True)
        else:
            rows.append(row)
            errors.append(error)
            said += remarked
            print(*row, sep=" | ", flush=True)
    return rows, errors, said


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("parabench", type=os.path.abspath)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--keep", metavar="DIRECTORY")
    return parser.parse_args()


def main():
    given = arguments()
    with open(os.path.join(HERE, "commands.toml"), "rb") as file:
        commands = tomllib.load(file)["command"]
    if given.quick:
        return 0 if quick(given.parabench, [command for command in commands if command.get("quick")]) else 1
    chosen = [command for command in commands if not given.names or command["name"] in given.names]
    where = machine()
    rows, errors, said = measured(given.parabench, chosen, given.keep)
    if rows and not given.names:
        write(rows, errors, said, where)
    print(*said, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
