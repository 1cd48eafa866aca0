"""Rows as frames of pandas or polars, whichever is installed; as a plain table without both."""

from __future__ import annotations

import html
import importlib
import importlib.util
from collections.abc import Iterable, Mapping
from typing import Any, Union

#: A frame of pandas or polars, or a :class:`Table`: the types of both are not needed to import this package.
Frame = Any
#: A value of a table.
Value = Union[str, int, float, bool, None]

LIBRARIES = ("pandas", "polars")
_chosen: str | None = None


class Table(list[dict[str, Any]]):
    """Rows as dictionaries, printed as a table: what there is without pandas and polars."""

    @property
    def columns(self) -> list[str]:
        """Names of all columns, in the order of their first row."""
        return list(dict.fromkeys(name for row in self for name in row))

    def column(self, name: str) -> list[Any]:
        """The values of a column; ``None`` where a row has none."""
        return [row.get(name) for row in self]

    def _cells(self) -> list[list[str]]:
        return [[_text(row.get(name)) for name in self.columns] for row in self]

    def __repr__(self) -> str:
        lines = [self.columns, *self._cells()]
        widths = [max(map(len, column)) for column in zip(*lines)]
        padded = ([cell.rjust(width) for cell, width in zip(line, widths)] for line in lines)
        return "\n".join("  ".join(line).rstrip() for line in padded)

    def _repr_html_(self) -> str:
        return html_table(self.columns, self._cells())


def html_table(columns: Iterable[str], lines: Iterable[Iterable[str]]) -> str:
    """A table for notebooks; every text is escaped."""

    def line(cells: Iterable[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    body = "".join(line(cells, "td") for cells in lines)
    return f"<table><thead>{line(columns, 'th')}</thead><tbody>{body}</tbody></table>"


def _text(value: Value) -> str:
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def use(library: str | None) -> None:
    """Chooses ``"pandas"`` or ``"polars"`` for frames; ``None``: pandas if it is there, else polars."""
    global _chosen
    if library is not None and library not in LIBRARIES:
        raise ValueError(f"frames are of pandas or polars, not of {library!r}")
    if library is not None and importlib.util.find_spec(library) is None:
        raise ImportError(f"{library} is not installed: pip install 'parabench[{library}]'")
    _chosen = library


def _library() -> str | None:
    if _chosen is not None:
        return _chosen
    return next((name for name in LIBRARIES if importlib.util.find_spec(name)), None)


def frame(rows: Iterable[Mapping[str, Any]]) -> Frame:
    """A frame of these rows."""
    table = Table(dict(row) for row in rows)
    columns = {name: table.column(name) for name in table.columns}
    library = _library()
    if library is None:
        return table
    return importlib.import_module(library).DataFrame(columns)


def read_parquet(path: str) -> Frame:
    """A frame of a Parquet file. pandas reads it through Arrow, polars by itself."""
    library = _library()
    if library is None:
        raise ImportError(
            "events are stored as Parquet, which needs a library: pip install 'parabench[pandas]' or "
            "'parabench[polars]'"
        )
    return importlib.import_module(library).read_parquet(path)
