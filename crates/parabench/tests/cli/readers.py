"""Sums of an event table by label and operation, with DuckDB and with pandas, as JSON.

Called by tests/cli/views.rs with the folder of a run."""

import json
import sys

import duckdb
import pandas

TABLE = sys.argv[1] + "/events.parquet"
FIELDS = ["count", "bytes", "failed", "expected", "short", "busy_ns"]


def by_key(rows):
    return {f"{label}|{op}": {k: int(v) for k, v in zip(FIELDS, sums)} for label, op, *sums in rows}


def with_duckdb():
    return by_key(duckdb.sql(f"""
        SELECT label, op, count(*), sum(done_bytes), sum(flags & 1), sum((flags & 4) // 4),
               sum((flags & 2) // 2), coalesce(sum(busy_ns) FILTER (errno = 0), 0)
        FROM '{TABLE}' GROUP BY label, op""").fetchall())


def with_pandas():
    events = pandas.read_parquet(TABLE)
    rows = []
    for (label, op), group in events.groupby(["label", "op"]):
        flags = group["flags"]
        rows.append((label, op, len(group), group["done_bytes"].sum(), (flags & 1).sum(),
                     (flags & 4).sum() // 4, (flags & 2).sum() // 2,
                     group[group["errno"] == 0]["busy_ns"].sum()))
    return by_key(rows)


json.dump({"duckdb": with_duckdb(), "pandas": with_pandas()}, sys.stdout)
