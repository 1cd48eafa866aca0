"""Recomputes every figure of a run and of its comparisons with NumPy, pandas and SciPy, as
docs/statistics.md says.

Called by tests/cli/statistics.rs: FOLDER of a run, its object (report --format json), comparisons
(compare --format json), each with the folders of A and B, or of the one run that holds both.
Prints how many figures it compared; ends with the first that differs."""

import itertools
import json
import math
import sys

import numpy as np
import pandas as pd
from scipy import stats

MIB = 1 << 20
checked = 0


def same(what, found, expected, tolerance=1e-9):
    global checked
    checked += 1
    if found is None or expected is None:
        assert found is None and expected is None, f"{what}: {found}, recomputed {expected}"
        return
    limit = tolerance * max(abs(expected), 1e-300)
    assert abs(found - expected) <= limit, f"{what}: {found}, recomputed {expected}"


# The run: rows from the event table, one operation at a time.

def midpoint(bucket):
    if bucket < 64:
        return bucket
    width = 2 ** (bucket // 64 - 1)
    return (64 + bucket % 64) * width + (width - 1) // 2


def quantile(histogram, q):
    """The smallest time that a share q of all does not exceed."""
    rank = max(1, int(np.ceil(q * histogram["count"])))
    seen = 0
    for bucket, count in histogram["buckets"]:
        seen += count
        if seen >= rank:
            return min(max(midpoint(bucket), histogram["min"]), histogram["max"])


def holds(what, condition):
    global checked
    checked += 1
    assert condition, what


def union_ns(spans):
    """Length of the union of intervals."""
    spans = sorted(spans)
    total, end = 0, -1
    for first, last in spans:
        total += max(0, last - max(first, end))
        end = max(end, last)
    return total


def at(entry):
    return entry["label"], entry["cell"], entry["repetition"]


def check_rows(run, events):
    labels = {at(label): label["busy_ns"] for label in run["labels"]}
    spans, operations = {}, {}
    for time in run["times"]:
        spans.setdefault(at(time), []).append((time["first_start_ns"], time["last_end_ns"]))
    for key, table in events.groupby(["label", "cell", "repetition"]):
        operations[key] = list(zip(table.start_ns, table.end_ns))
    for label in run["labels"]:
        # Ranks are inside during their operations, and not outside of what all ranks took together.
        name, busy_ns = at(label), label["busy_ns"]
        holds(f"{name} busy", union_ns(operations[name]) <= busy_ns <= union_ns(spans[name]))
        holds(f"{name} is no bound", not label["busy_is_bound"])
    tables = {key: table for key, table in events.groupby(["label", "cell", "repetition", "op"])}
    for row in run["rows"]:
        name = f"{at(row)} {row['op']}"
        table = tables[(*at(row), row["part_of"] or row["op"])]
        done = table[table.errno == 0]
        column = "busy_ns" if row["part_of"] is None else row["op"].split(".")[1] + "_ns"
        times = np.sort(done[column].to_numpy())
        same(f"{name} min", row["min_ns"], int(times[0]))
        same(f"{name} max", row["max_ns"], int(times[-1]))
        same(f"{name} mean", row["mean_ns"], float(times.mean()))
        same(f"{name} count", row["histogram"]["count"], len(times))
        for q, figure in [(0.5, "p50_ns"), (0.9, "p90_ns"), (0.99, "p99_ns"), (0.999, "p999_ns")]:
            if row.get(figure) is not None:
                exact = times[max(1, int(np.ceil(q * len(times)))) - 1]
                same(f"{name} {figure}", row[figure], quantile(row["histogram"], q))
                same(f"{name} {figure} of events", row[figure], float(exact), 0.01)
        if row["part_of"] is None:
            same(f"{name} operations", row["count"], len(table))
            same(f"{name} bytes", row["bytes"], int(table.done_bytes.sum()))
            ranks = done.groupby("rank")[["done_bytes", column]].sum()
            if row["bytes"]:
                one = ranks.done_bytes / MIB / (ranks[column] / 1e9)
                same(f"{name} rank_mib_s", row["rank_mib_s"], float(one.mean()))
                seconds = labels[at(row)] / 1e9
                same(f"{name} mib_s", row["mib_s"], row["bytes"] / MIB / seconds)
            if row.get("ops_s") is not None:
                same(f"{name} ops_s", row["ops_s"], len(done) / (labels[at(row)] / 1e9))
    return labels


# Statistics over repetitions.

def figures_of(run, labels):
    """Figures by label, operation, metric and cell, each a list of (repetition, figure)."""
    found = {}
    for (label, cell, repetition), ns in labels.items():
        found.setdefault((label, "", "time_ns", cell), {})[repetition] = float(ns)
    for row in run["rows"]:
        values = {name: row[name] for name in ["mean_ns", "mib_s", "rank_mib_s", "ops_s", "p50_ns"]}
        for metric, value in values.items():
            if value is not None:
                key = row["label"], row["op"], metric, row["cell"]
                found.setdefault(key, {})[row["repetition"]] = float(value)
        # Every operation of a label has ten calls or more here.
        if row["part_of"] is None:
            typical = found.setdefault((row["label"], "", "typical_ns", row["cell"]), {})
            typical.setdefault(row["repetition"], 0.0)
            typical[row["repetition"]] += row["count"] * float(row["p50_ns"])
    return {key: [value for _, value in sorted(points.items())] for key, points in found.items()}


def split_mix(seed):
    """Steele, Lea & Flood 2014."""
    mask = (1 << 64) - 1
    while True:
        seed = (seed + 0x9E3779B97F4A7C15) & mask
        z = seed
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        yield z ^ (z >> 31)


def bootstrap(sample):
    values, n = np.sort(sample), len(sample)
    draw = split_mix(0x7061726162656E63)
    medians = [np.median(values[[(next(draw) * n) >> 64 for _ in range(n)]]) for _ in range(2000)]
    medians.sort()
    return float(medians[50]), float(medians[1949])


def outliers(sample):
    """Rosner 1983, table of steps in NIST's handbook, section 1.3.5.17.3; alpha 0.5 %, at most n / 5."""
    n = len(sample)
    if n < 10:
        return []
    left, order, found = sample.astype(float), list(range(n)), 0
    removed = []
    for i in range(1, n // 5 + 1):
        sd = left.std(ddof=1)
        if sd <= abs(left.mean()) * 1e-12:
            break
        away = np.abs(left - left.mean())
        at = int(away.argmax())
        p = 1 - 0.005 / (2 * (n - i + 1))
        t = stats.t.ppf(p, n - i - 1)
        critical = (n - i) * t / math.sqrt((n - i - 1 + t * t) * (n - i + 1))
        removed.append(order.pop(at))
        if away[at] / sd > critical:
            found = i
        left = np.delete(left, at)
    return sorted(removed[:found])


def check_statistics(statistics, figures):
    for entry in statistics:
        key = tuple(entry[name] for name in ["label", "op", "metric", "cell"])
        sample = np.array(figures[key])
        n = len(sample)
        same(f"{key} n", entry["n"], n)
        same(f"{key} mean", entry["mean"], sample.mean())
        same(f"{key} median", entry["median"], float(np.median(sample)))
        same(f"{key} sd", entry["sd"], sample.std(ddof=1))
        low, high = stats.t.interval(0.95, n - 1, sample.mean(), stats.sem(sample))
        same(f"{key} mean low", entry["mean_ci95_low"], low)
        same(f"{key} mean high", entry["mean_ci95_high"], high)
        low, high = bootstrap(sample)
        same(f"{key} low", entry["ci95_low"], low)
        same(f"{key} high", entry["ci95_high"], high)
        assert entry["outliers"] == outliers(sample), f"{key}: {entry['outliers']}"


# Comparisons.

def two_sided(sums, found):
    return min(1.0, 2 * min((sums <= found + 1e-9).mean(), (sums >= found - 1e-9).mean()))


def p_samples(a, b):
    if len(set(a) | set(b)) == len(a) + len(b):
        return stats.mannwhitneyu(a, b, method="exact").pvalue
    ranks = stats.rankdata(np.concatenate([a, b]))
    sums = np.array([sum(taken) for taken in itertools.combinations(ranks, len(a))])
    return two_sided(sums, ranks[:len(a)].sum())


def p_blocks(differences):
    ranks = stats.rankdata(np.abs(differences))[differences != 0]
    signs = np.array(list(itertools.product([0, 1], repeat=len(ranks))))
    return two_sided(signs @ ranks, ranks[differences[differences != 0] > 0].sum())


def dependence(a, b):
    """What variances are multiplied by."""
    products = squares = 0.0
    for sample in a, b:
        away = sample - sample.mean()
        products += (away[1:] * away[:-1]).sum() * len(sample) / (len(sample) - 1)
        squares += (away ** 2).sum()
    n = len(a) + len(b)
    if squares == 0:
        return None, 1.0
    r = min(products / squares + 2 / n, 0.99)
    upper = min(r + stats.norm.isf(0.05) / np.sqrt(n), 0.99)
    inflation = min((1 + upper) / (1 - upper), min(len(a), len(b)) / 5)
    if inflation > 1:
        return r, inflation
    return None, 1.0


def widened(p, inflation):
    if inflation == 1.0 or p >= 1:
        return p
    return 2 * stats.norm.sf(stats.norm.isf(p / 2) / np.sqrt(inflation))


class Contrast:
    """Logarithms of how fast A and B are, and the p of every shift between them."""

    def __init__(self, a, b, blocks):
        self.blocks = blocks
        if blocks:
            self.differences = b - a
            first, second = np.triu_indices(len(a))
            self.jumps = np.sort((self.differences[first] + self.differences[second]) / 2)
            self.lag1, self.inflation = None, 1.0
        else:
            self.a, self.b = a, b
            self.jumps = np.sort((b[:, None] - a[None, :]).ravel())
            self.lag1, self.inflation = dependence(a, b)

    def p(self, shift=0.0):
        p = p_blocks(self.differences - shift) if self.blocks else p_samples(self.a, self.b - shift)
        return widened(p, self.inflation)

    def p_beyond(self, largest):
        """Runs one after the other differ by this without a cause."""
        estimate, margin = np.median(self.jumps), np.log(largest)
        return self.p(np.sign(estimate) * margin) if abs(estimate) > margin else 1.0

    def interval(self, level):
        """The outermost gaps between jumps that are not rejected."""
        def walk(jumps, step):
            if self.p(jumps[0] - step) >= level:
                return None
            for this, following in zip(jumps, jumps[1:]):
                if self.p((this + following) / 2) >= level:
                    return this
            return jumps[-1]
        unique = np.unique(self.jumps)
        return walk(unique, 1.0), walk(unique[::-1], -1.0)


def shares(families, rejected):
    """Of the error probability, for each test that has not rejected."""
    found = {}
    rest = [family for family in families if not set(family[0] + family[1]) <= rejected]
    for opening, below in rest:
        own = 1 / len(rest) / len(opening)
        first, second = ([test for test in tests if test not in rejected] for tests in (opening, below))
        released = own * (len(opening) - len(first))
        for test in first:
            found[test] = found.get(test, 0) + own
        for test in second or first:
            found[test] = found.get(test, 0) + released / len(second or first)
    return found


def decide(p, families, alpha):
    """Level and adjusted p of each test; none of those that were not reached."""
    rejected, decisions, largest, stopped = set(), {}, 0.0, None
    while True:
        now = {test: share for test, share in shares(families, rejected).items() if share > 0}
        if not now:
            return decisions
        test = min(now, key=lambda test: (min(1, p[test] / now[test]), test))
        largest = max(largest, min(1.0, p[test] / now[test]))
        if largest >= alpha and stopped is None:
            stopped = now
        share = (stopped or now).get(test)
        if share is not None:
            decisions[test] = alpha * share, largest
        rejected.add(test)


def check_comparison(comparison, a, b):
    blocks = comparison["design"] == "blocks"
    rows, contrasts = comparison["rows"], []
    for row in rows:
        metric = row["metric"]
        base, new = (np.array(side[row["label"], row["op"], metric, row["cell"]]) for side in (a, b))
        same(f"{row['sentence']} median", row["base_median"], float(np.median(base)))
        same(f"{row['sentence']} median", row["new_median"], float(np.median(new)))
        sign = 1 if metric in ["mib_s", "rank_mib_s", "ops_s"] else -1
        contrasts.append(Contrast(sign * np.log(base), sign * np.log(new), blocks))
    families = {}
    for number, row in enumerate(rows):
        opening, below = families.setdefault((row["label"], row["cell"]), ([], []))
        if row["tier"] != "described":
            (opening if row["tier"] == "label" else below).append(number)
    def p_of(contrast):
        return contrast.p() if blocks else contrast.p_beyond(1 + comparison["min_effect"])
    p = {number: p_of(contrasts[number]) for family in families.values() for number in sum(family, [])}
    decisions = decide(p, list(families.values()), 0.05)
    for number, (row, contrast) in enumerate(zip(rows, contrasts)):
        name = row["sentence"]
        level, adjusted = decisions.get(number, (None, None))
        same(f"{name} speedup", row["speedup"], np.exp(np.median(contrast.jumps)))
        same(f"{name} level", row["level"], level)
        same(f"{name} p", row["p"], None if level is None else p[number], 1e-6)
        same(f"{name} p_adjusted", row["p_adjusted"], adjusted, 1e-6)
        same(f"{name} lag1", row["lag1"], contrast.lag1)
        low, high = contrast.interval(level or 0.05)
        same(f"{name} low", row["ci95_low"], None if low is None else np.exp(low), 1e-8)
        same(f"{name} high", row["ci95_high"], None if high is None else np.exp(high), 1e-8)
        wins = np.sign(contrast.differences if blocks else contrast.b[:, None] - contrast.a).mean()
        same(f"{name} delta", row["cliffs_delta"] + 2, wins + 2)
        speedup = row["speedup"]
        large = max(speedup, 1 / speedup) - 1 > comparison["min_effect"]
        claimed = adjusted is not None and adjusted < 0.05 and large
        assert (row["claim"] in ["faster", "slower"]) == claimed, name


def load(folder):
    with open(folder + "/run.json") as file:
        run = json.load(file)
    labels = check_rows(run, pd.read_parquet(folder + "/events.parquet"))
    return run, figures_of(run, labels)


def sides(figures):
    """Cells 2 k are A, cells 2 k + 1 are B."""
    return ({(*key[:3], key[3] // 2): values for key, values in figures.items() if key[3] % 2 == side}
            for side in (0, 1))


run, figures = load(sys.argv[1])
with open(sys.argv[2]) as file:
    check_statistics(json.load(file)["statistics"], figures)
for words in sys.argv[3:]:
    comparison, *folders = words.split(":")
    loaded = [load(folder)[1] for folder in folders]
    a, b = loaded if len(loaded) == 2 else sides(loaded[0])
    with open(comparison) as file:
        check_comparison(json.load(file), a, b)
print(checked)
