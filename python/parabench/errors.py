"""What can go wrong, with everything that Parabench says about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .results import Run


@dataclass(frozen=True)
class Diagnostic:
    """A mistake in a program and its place. Lines and columns count from 1."""

    code: str
    severity: str
    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    message: str
    label: str = ""
    help: str = ""

    @classmethod
    def from_json(cls, entry: dict[str, Any]) -> Diagnostic:
        """One entry of ``parabench check --format json``."""
        known: dict[str, Any] = {
            name: entry[name] for name in cls.__dataclass_fields__ if entry.get(name) is not None
        }
        return cls(**known)

    def __str__(self) -> str:
        fix = f"\n  help: {self.help}" if self.help else ""
        place = f"{self.file}:{self.line}:{self.column}"
        return f"{place}: {self.severity}[{self.code}]: {self.message}{fix}"


class ParabenchError(Exception):
    """The base of all errors of this package."""


class InputError(ParabenchError):
    """The program, a parameter or an option is wrong (exit code 2); nothing was run."""

    def __init__(self, message: str, diagnostics: Sequence[Diagnostic] = ()) -> None:
        super().__init__(message)
        #: Mistakes of the program; empty where something else is wrong.
        self.diagnostics = tuple(diagnostics)


class RunError(ParabenchError):
    """An operation or a rank failed (exit code 1), or a verdict with ``--strict`` (3)."""

    def __init__(self, message: str, exit_code: int, run: Run | None) -> None:
        super().__init__(message)
        #: Exit code of the command.
        self.exit_code = exit_code
        #: Everything that was measured; ``None`` where nothing was.
        self.run = run

    @property
    def failures(self) -> list[dict[str, Any]]:
        """The failed operations: place, operation, path, errno, message, occurrences."""
        return [] if self.run is None else list(self.run.header["failures"])


class InterruptedRun(RunError):
    """The run was interrupted (exit code 130); what was measured before is in ``run``."""
