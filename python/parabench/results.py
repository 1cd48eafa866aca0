"""A stored run and a comparison of two."""

from __future__ import annotations

import html
import os
import shutil
import tempfile
from collections.abc import Iterable
from typing import Any

from .binary import execute
from .errors import ParabenchError
from .frames import Frame, frame, html_table, read_parquet

#: Warnings above the table of a notebook.
WARNINGS_MAX = 2


class Run:
    """What was measured. docs/run-format.md says what each figure means; names end with the unit."""

    def __init__(
        self,
        directory: str,
        data: dict[str, Any],
        kept: tempfile.TemporaryDirectory[str] | None = None,
    ) -> None:
        #: Folder of the results.
        self.dir = directory
        #: The run as one object: rows, labels, times, statistics, run.
        self.data = data
        # A folder that nobody named lives as long as the run.
        self._kept = kept

    @property
    def header(self) -> dict[str, Any]:
        """What, where, when: program, command, parameters, host, evidence, failures."""
        header: dict[str, Any] = self.data["run"]
        return header

    @property
    def exit_code(self) -> int:
        """0 ok, 1 an operation or rank failed, 3 a verdict failed, 130 interrupted."""
        return int(self.header["exit_code"])

    @property
    def duration_s(self) -> float:
        """Wall time of the run, seconds."""
        return float(self.header["duration_wall_ns"]) / 1e9

    @property
    def params(self) -> dict[str, str]:
        """Parameters of the program, those left at their default included."""
        return {param["name"]: param["value"] for param in self.header["params"]}

    @property
    def warnings(self) -> list[str]:
        """Reasons why a figure may not mean what it seems to, each with its fix."""
        marks = [mark for mark in self.header["evidence"].get("marks", []) if mark["counts"]]
        return [f"{mark['seen']} (fix: {mark['advice']})" for mark in marks]

    @property
    def rows(self) -> Frame:
        """A row for each label and operation, then its parts."""
        return frame(_flat(row) for row in self.data["rows"])

    @property
    def labels(self) -> Frame:
        """A row for each label: its duration."""
        return frame(_flat(row) for row in self.data["labels"])

    @property
    def sweep(self) -> Frame:
        """Statistics over the repetitions of a sweep, with the parameters as columns; empty without one."""
        return frame(_flat(row) for row in self.data["statistics"])

    @property
    def scores(self) -> Frame:
        """The figures that the program stored with ``score``."""
        return frame(_flat(row) for row in self.data.get("scores", []))

    @property
    def events(self) -> Frame:
        """A row for each operation; only of a run with ``events=True``."""
        path = os.path.join(self.dir, "events.parquet")
        if not os.path.exists(path):
            raise ParabenchError("the run has no events: run it with events=True")
        return read_parquet(path)

    def report(self, *, verbose: bool = False) -> str:
        """The table that ``parabench report`` prints."""
        words = ["report", self.dir, *(["-v"] if verbose else [])]
        return execute(words).stdout

    def page(self, path: str | os.PathLike[str]) -> None:
        """Writes the page of the run."""
        done = execute(["report", self.dir, "--html", os.fspath(path)])
        if done.returncode != 0:
            raise ParabenchError(done.stderr.strip())

    def save(self, directory: str | os.PathLike[str]) -> Run:
        """Copies the results into a new folder; gives the run there."""
        return Run(os.fspath(shutil.copytree(self.dir, directory)), self.data)

    def __repr__(self) -> str:
        return f"<parabench.Run {self._headline()}>"

    def _headline(self) -> str:
        header = self.header
        ranks = "1 rank" if header["ranks"] == 1 else f"{header['ranks']} ranks"
        place = " ".join(filter(None, [header["host"]["file_system"], header["host"]["device"]]))
        end = "ok" if self.exit_code == 0 else f"exit code {self.exit_code}"
        parts = [header["program"]["name"], ranks, place, f"{self.duration_s:.3g} s", end]
        return ", ".join(filter(None, parts))

    def _repr_html_(self) -> str:
        warnings = self.warnings[:WARNINGS_MAX]
        lines = "".join(f"<p>&#9888; {html.escape(text)}</p>" for text in warnings)
        return f"<p><b>{html.escape(self._headline())}</b></p>{lines}" + self._html_table()

    def _html_table(self) -> str:
        point = any(row.get("point") for row in self.data["rows"])
        columns = ["phase", "operation", *(["point"] if point else [])]
        columns += ["count", "op/s", "MiB/s", "p50 [µs]", "p99 [µs]", "max [µs]"]
        return html_table(columns, (_line(row, point) for row in self.data["rows"] if not row["part_of"]))


def _line(row: dict[str, Any], point: bool) -> list[str]:
    """A line of the table in notebooks: rates while a rank was in the operation."""
    names = ", ".join(f"{name}={value}" for name, value in (row.get("point") or {}).items())
    head = [row["label"], row["op"], *([names] if point else []), f"{row['count']:,}"]
    times = (row[name] and row[name] / 1e3 for name in ("p50_ns", "p99_ns", "max_ns"))
    return head + [_figure(value) for value in (row["rank_ops_s"], row["rank_mib_s"], *times)]


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    """A row with the parameters of its point as columns, and without what is nested."""
    point = row.get("point") or {}
    flat = {key: value for key, value in row.items() if not isinstance(value, (dict, list))}
    return {**flat, **{name if name not in flat else f"${name}": value for name, value in point.items()}}


class Comparison:
    """Runs compared with the first one. B / A is above 1 where B takes longer."""

    def __init__(self, data: list[dict[str, Any]], text: str) -> None:
        #: One object for each comparison (docs/compare.schema.json).
        self.data = data
        #: What ``parabench compare`` prints: the sentence first, then the table.
        self.text = text

    @property
    def rows(self) -> Frame:
        """A row for each figure that was compared, with its interval and its sentence."""
        return frame({**_flat(row), "new": one["new"]} for one in self.data for row in one["rows"])

    @property
    def differences(self) -> list[str]:
        """The differences that the data show, as sentences."""
        return [row["sentence"] for row in self._differing()]

    def _differing(self) -> Iterable[dict[str, Any]]:
        rows = (row for one in self.data for row in one["rows"])
        return (row for row in rows if row["claim"] != "none")

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.text)}</pre>"
