"""Run Parabench and read its results: ``parabench.run("@stress").rows``.

The package starts the program ``parabench`` and reads what it stores; it measures nothing itself.
"""

from importlib import metadata

from .binary import find_binary
from .commands import compare, load, run
from .errors import Diagnostic, InputError, InterruptedRun, ParabenchError, RunError
from .frames import Frame, Table, use
from .results import Comparison, Run

try:
    __version__ = metadata.version("parabench")
except metadata.PackageNotFoundError:  # used from a source tree
    __version__ = "0"

__all__ = [
    "Comparison",
    "Diagnostic",
    "Frame",
    "InputError",
    "InterruptedRun",
    "ParabenchError",
    "Run",
    "RunError",
    "Table",
    "compare",
    "find_binary",
    "load",
    "run",
    "use",
]
