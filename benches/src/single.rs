//! Figures without a raw counterpart: what Parabench itself costs.

use crate::Result;
use crate::figure::{Figure, Goal, lower_quartile, median, range, three};
use crate::product::{Outcome, Scratch};
use model::permutation::Permutation;
use std::time::Instant;

/// Runs of which the median is taken.
const RUNS: usize = 5;

fn repeated(mut measure: impl FnMut() -> Result<f64>) -> Result<Vec<f64>> {
    (0..RUNS).map(|_| measure()).collect()
}

fn figure(name: &str, values: &[f64], unit: &'static str, goal: Goal) -> Figure {
    let result = median(values);
    Figure {
        name: name.into(),
        raw: String::new(),
        product: format!("{}{unit}", three(result)),
        result,
        range: Some(range(values)),
        unit,
        goal,
    }
}

/// Operations on the back-end that returns at once: the tool measured by itself.
pub fn null(place: &Scratch) -> Result<Vec<Figure>> {
    let program = r#"
        $h = fopen("data", "w+");
        time["fread"] repeat 5000000 fread($h, 4k, 0);
        time["stat"]  repeat $i 5000000 stat("file-$i");
        time["write"] repeat $i 5000000 write("file-$i", 4k);
    "#;
    let runs: Vec<Outcome> =
        (0..RUNS).map(|_| place.run(program, &["--backend", "null"])).collect::<Result<_>>()?;
    let labels = [
        ("fread", "pread, null back-end"),
        ("stat", "stat of `file-$i`, null back-end"),
        ("write", "open, write, close of `file-$i`, null back-end"),
    ];
    labels
        .into_iter()
        .map(|(label, name)| {
            let times = runs.iter().map(|run| Ok(run.label_ns(label)? / 5e6));
            Ok(figure(name, &times.collect::<Result<Vec<_>>>()?, " ns", Goal::None))
        })
        .collect()
}

/// What it costs to keep the result of an operation: both forms take turns.
pub fn results(place: &Scratch) -> Result<Vec<Figure>> {
    const CALLS: f64 = 500_000.0;
    let program = r#"
        $h = fopen("data", "w+");
        repeat 20 {
            time["plain"] repeat 500000 fread($h, 4k, 0);
            time["kept"]  repeat 500000 $n = fread($h, 4k, 0);
        }
    "#;
    let (mut more_ns, mut ratios) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let run = place.run(program, &["--backend", "null"])?;
        let ns = |label| -> Result<f64> { Ok(lower_quartile(&run.occurrences_ns(label)?) / CALLS) };
        let (plain, kept) = (ns("plain")?, ns("kept")?);
        more_ns.push(kept - plain);
        ratios.push(kept / plain);
    }
    let name = "`$n = fread(...)` against `fread(...)`, null back-end";
    Ok(vec![
        figure(&format!("{name}, more"), &more_ns, " ns", Goal::AtMost(3.0)),
        figure(name, &ratios, "", Goal::None),
    ])
}

/// Statements that do nothing.
pub fn empty(place: &Scratch) -> Result<Vec<Figure>> {
    let per_turn =
        |program: &str| repeated(|| Ok(place.run(program, &[])?.label_ns("loop")? / 1e8));
    let empty = per_turn(r#"time["loop"] repeat $i 100000000 ;"#)?;
    let assignment = per_turn(r#"$x = 0; time["loop"] repeat 100000000 $x = $x + 1;"#)?;
    Ok(vec![
        figure("empty statement in a loop", &empty, " ns", Goal::AtMost(10.0)),
        figure("`$x = $x + 1` in a loop", &assignment, " ns", Goal::None),
    ])
}

/// Ten million occurrences of one label.
pub fn repetitions(place: &Scratch) -> Result<Vec<Figure>> {
    let few = place.run(r#"time["loop"] repeat 1000 time["t"] ;"#, &[])?;
    let many = place.run(r#"time["loop"] repeat 10000000 time["t"] ;"#, &[])?;
    let more_mib = (many.peak_bytes - few.peak_bytes) / f64::from(1 << 20);
    Ok(vec![
        figure("a label's occurrence", &[many.label_ns("loop")? / 1e7], " ns", Goal::None),
        figure("memory of 10^7 occurrences above 10^3", &[more_mib], " MiB", Goal::AtMost(8.0)),
    ])
}

/// Barriers of local ranks.
pub fn barriers(place: &Scratch) -> Result<Vec<Figure>> {
    let cost = |ranks: &str, times: f64| {
        let program = format!(r#"time["loop"] repeat {times} barrier;"#);
        repeated(|| Ok(place.run(&program, &["-n", ranks])?.label_ns("loop")? / times / 1e3))
    };
    Ok(vec![
        figure("barrier of 2 ranks", &cost("2", 200_000.0)?, " us", Goal::AtMost(5.0)),
        figure("barrier of 64 ranks", &cost("64", 2_000.0)?, " us", Goal::AtMost(2_000.0)),
    ])
}

/// Claims of shared work, by ranks that do nothing else; each claim is one of some rank.
pub fn claims(place: &Scratch) -> Result<Vec<Figure>> {
    let cost = |ranks: u32| {
        let program = r#"time["loop"] share $i 2000000 ;"#;
        let ranks = ranks.to_string();
        let run = || Ok(place.run(program, &["-n", &ranks])?.label_ns("loop")? / 2e6);
        repeated(run)
    };
    Ok(vec![
        figure("claim of `share`, 1 rank", &cost(1)?, " ns", Goal::AtMost(1_000.0)),
        figure("claim of `share`, 2 ranks", &cost(2)?, " ns", Goal::AtMost(1_000.0)),
    ])
}

/// Elements of a permutation, which keeps nothing in memory.
pub fn permutations(_: &Scratch) -> Result<Vec<Figure>> {
    const ELEMENTS: u64 = 20_000_000;
    let mut values = Vec::new();
    for seed in 0..RUNS as u64 {
        let permutation = Permutation::new(1_000_000_007, seed);
        let start = Instant::now();
        let sum =
            (0..ELEMENTS).fold(0u64, |sum, at| sum.wrapping_add(permutation.at(at).unwrap_or(0)));
        std::hint::black_box(sum);
        values.push(ELEMENTS as f64 / start.elapsed().as_secs_f64() / 1e6);
    }
    Ok(vec![figure("elements of `perm` of 10^9", &values, " M/s", Goal::AtLeast(50.0))])
}

/// 10,000 simulated ranks that execute 1,000 statements each, start and report included.
pub fn simulation(place: &Scratch) -> Result<Vec<Figure>> {
    let program = r#"
        repeat $i 198 {
            write("file-$$rank-$i", 4k);
            stat("file-$$rank-$i");
            $x = $i * 2;
            delete("file-$$rank-$i");
            barrier;
        }
    "#;
    let seconds = repeated(|| {
        let start = Instant::now();
        let run = place.run(program, &["-n", "10000", "--backend", "mem"])?;
        let operations = run.operations()?;
        if operations == 10_000.0 * 198.0 * 3.0 {
            Ok(start.elapsed().as_secs_f64())
        } else {
            Err(format!("{operations} operations were counted").into())
        }
    })?;
    let name = "10,000 simulated ranks x 1,000 statements";
    Ok(vec![figure(name, &seconds, " s", Goal::AtMost(10.0))])
}
