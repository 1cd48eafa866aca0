"""The commands: ``run``, ``load``, ``compare``."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any, Union

from .binary import execute
from .errors import Diagnostic, InputError, InterruptedRun, ParabenchError, RunError
from .results import Comparison, Run

Path = Union[str, "os.PathLike[str]"]
#: A value of a parameter: lists and booleans as PPL writes them.
Param = Union[str, int, float, bool]

INPUT, INTERRUPTED = 2, 130


def run(
    program: Path,
    *,
    params: Mapping[str, Param] | None = None,
    ranks: int | None = None,
    dir: Path | None = None,
    events: bool = False,
    sweep: Mapping[str, Sequence[Param] | str] | None = None,
    reps: int | None = None,
    out: Path | None = None,
    options: Sequence[str] = (),
    show: bool = False,
) -> Run:
    """Runs a program, a file or ``"@name"``, and gives what was measured.

    params   values of its parameters
    ranks    processes; under MPI give ``options=["--mpi"]``, too
    dir      the directory that is measured; without it a scratch directory below the current one
    events   keep every operation
    sweep    values of parameters: ``{"block": [4096, 65536]}`` or ``{"block": "4k..1m*4"}``
    reps     repetitions of each point
    out      folder of the results; without it they are gone with the returned object
    options  further options of ``parabench run``
    show     print what the command prints

    Raises InputError, RunError or InterruptedRun.
    """
    bound = [f"{name}={_value(value)}" for name, value in (params or {}).items()]
    words = [os.fspath(program), *bound]
    if ranks is not None:
        words += ["-n", str(ranks)]
    for name, values in (sweep or {}).items():
        words += ["--sweep", f"{name}={_values(values)}"]
    words += ["--reps", str(reps)] if reps is not None else []
    words += ["--dir", os.fspath(dir)] if dir is not None else []
    words += ["--events"] if events else []
    words += [*options, *([] if show else ["--quiet"])]
    kept = tempfile.TemporaryDirectory(prefix="parabench-") if out is None else None
    folder = os.path.join(kept.name, "run") if kept else os.fspath(out or "")
    done = execute(["run", *words, "--out", folder], show=show)
    if done.returncode == INPUT:
        raise InputError(_said(done), _diagnose(os.fspath(program), bound, ranks))
    return _outcome(done, folder, kept)


def _outcome(
    done: subprocess.CompletedProcess[str],
    folder: str,
    kept: tempfile.TemporaryDirectory[str] | None,
) -> Run:
    """The run in the folder, if all went well."""
    stored = os.path.exists(os.path.join(folder, "run.json"))
    measured = Run(folder, _stored(folder), kept) if stored else None
    if done.returncode == 0 and measured is not None:
        return measured
    kind = InterruptedRun if done.returncode == INTERRUPTED else RunError
    raise kind(_said(done), done.returncode, measured)


def load(directory: Path) -> Run:
    """The run in a folder of ``run(out=...)``, ``parabench import`` or ``record``, also one that was cut off."""
    folder = os.fspath(directory)
    return Run(folder, _stored(folder))


def compare(
    base: Run | Path,
    *new: Run | Path,
    min_effect: float | None = None,
    anyway: bool = False,
) -> Comparison:
    """Compares runs with the first one; a run with ``--against`` alone compares its own sides.

    min_effect   smallest difference that is reported, as a share: 0.05
    anyway       compare although programs or parameters differ
    """
    folders = [one.dir if isinstance(one, Run) else os.fspath(one) for one in (base, *new)]
    words = ["compare", *folders, *(["--anyway"] if anyway else [])]
    words += [] if min_effect is None else ["--min-effect", str(min_effect)]
    objects = _succeeded(execute([*words, "--format", "json"]))
    data = [json.loads(line) for line in objects.splitlines() if line]
    return Comparison(data, _succeeded(execute(words)))


def _stored(folder: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(_report(folder))
    return data


def _report(folder: str) -> str:
    done = execute(["report", folder, "--format", "json"])
    # The exit code is that of the run.
    if done.returncode == INPUT or not done.stdout:
        raise InputError(_said(done))
    return done.stdout


def _succeeded(done: subprocess.CompletedProcess[str]) -> str:
    if done.returncode == INPUT:
        raise InputError(_said(done))
    if done.returncode != 0:
        raise ParabenchError(_said(done))
    return done.stdout


def _diagnose(program: str, bound: Sequence[str], ranks: int | None) -> list[Diagnostic]:
    """The mistakes of a program that was refused; none where something else was the reason."""
    count = ["-n", str(ranks)] if ranks is not None else []
    done = execute(["check", program, *bound, *count, "--format", "json"])
    entries = json.loads(done.stdout) if done.returncode == INPUT and done.stdout else []
    return [Diagnostic.from_json(entry) for entry in entries]


def _said(done: subprocess.CompletedProcess[str]) -> str:
    return (done.stderr or "").strip() or f"parabench ended with exit code {done.returncode}"


def _value(value: Param) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _values(values: Sequence[Param] | str) -> str:
    return values if isinstance(values, str) else ",".join(map(_value, values))
