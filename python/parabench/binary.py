"""Finds and starts the program ``parabench``."""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from collections.abc import Iterable, Sequence

from .errors import ParabenchError

#: Names another program than the one of this installation.
VARIABLE = "PARABENCH"


def find_binary() -> str:
    """Path of the program: ``$PARABENCH``, that of this Python, that of the user, that in PATH."""
    for path in _candidates():
        if path and os.access(path, os.X_OK):
            return os.path.abspath(path)
    raise ParabenchError("the program parabench is not there: pip install parabench")


def _candidates() -> Iterable[str | None]:
    chosen = os.environ.get(VARIABLE)
    if chosen is not None:
        # A wrong choice must not run another version.
        return [chosen]
    folders = [sysconfig.get_path("scripts"), sysconfig.get_path("scripts", "posix_user")]
    return [*(os.path.join(folder, "parabench") for folder in folders), shutil.which("parabench")]


def execute(words: Sequence[str], *, show: bool = False) -> subprocess.CompletedProcess[str]:
    """Runs ``parabench`` with these words. ``show``: its output goes where that of Python goes."""
    output = None if show else subprocess.PIPE
    return subprocess.run(
        [find_binary(), *words],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
