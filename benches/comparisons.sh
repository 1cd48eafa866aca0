#!/bin/sh
# How often an interleaved comparison claims a difference where there is none, and finds one of 5 %.
#
#   benches/comparisons.sh [RUNS] [PARABENCH]      the figures of docs/statistics.md
#
# Each run is ten blocks. A/A: the same value twice. A/B: B reads 5 % more in the same label.
set -eu

runs=${1:-60}
parabench=$(realpath "${2:-target/release/parabench}")
scratch=$(mktemp -d "${TMPDIR:-.}/comparisons.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

cat > work.ppl <<'PPL'
param $reads = 4000;
param $copy = 0;
write("f", 4k);
time["work"] {
    stat("f");
    repeat $i $reads read("f");
}
PPL

# Claims of one comparison: any row, and the time of the label.
claims() { # run
    "$parabench" compare "$1" --format json | python3 -c '
import json, sys
rows = json.load(sys.stdin)["rows"]
any_claim = any(row["claim"] in ("faster", "slower") for row in rows)
label = next(row for row in rows if row["metric"] == "time_ns")
print(int(any_claim), int(label["claim"] == "slower"))'
}

count() { # --versus value
    any=0
    slower=0
    for run in $(seq "$runs"); do
        "$parabench" run work.ppl --quiet --seed "$run" --warm-up 1 --versus "$1" --out "r$run"
        set -- "$1" $(claims "r$run")
        any=$((any + $2))
        slower=$((slower + $3))
        rm -r "r$run"
    done
    echo "$any $slower"
}

echo "load: $(cut -d' ' -f1-3 /proc/loadavg), $(nproc) processors, $runs runs of 10 blocks each"
set -- $(count copy=1)
echo "A/A: $1 of $runs claim a difference in any of 3 rows"
set -- $(count reads=4200)
echo "A/B, 5 % more work: $2 of $runs say that the label is slower"
