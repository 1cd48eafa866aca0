//! MPI-IO: independent transfers against plain loops of `MPI_File_write_at` and `MPI_File_read_at` in C
//! (`at.c`), compiled by the same mpicc when they are measured.

use crate::Result;
use crate::figure::{Figure, Goal, lower_quartile, median, range, three};
use crate::mpi::Mpi;
use std::path::Path;
use std::process::{Command, Stdio};

/// Pairs that count; one more goes before them to warm up.
const PAIRS: usize = 9;
/// Times that one run measures; the lower quartile of them counts.
const ROUNDS: usize = 40;
/// Calls in a round.
const CALLS: usize = 2_000;

/// The same calls in C and as a program.
struct Case {
    name: &'static str,
    /// What `at.c` does: "w" or "r", with "c" behind it to count the bytes that were moved and to time each call.
    kind: &'static str,
    program: &'static str,
}

const WRITES: &str = r#"$h = pfopen("data", "cw");
repeat 40 time["turn"] repeat $i 2000 pfwrite($h, 4k, $i * 4k);
pfclose($h);
"#;

const READS: &str = r#"$h = pfopen("data", "crw");
repeat $i 2000 pfwrite($h, 4k, $i * 4k);
repeat 40 time["turn"] repeat $i 2000 pfread($h, 4k, $i * 4k);
pfclose($h);
"#;

const CASES: [Case; 5] = [
    Case {
        name: "MPI-IO level 0, 4 KiB, one statement, against a C loop",
        kind: "w",
        program: r#"define pattern "turns" level 0 = strided(block=4k, count=2000);
$h = pfopen("data", "cw");
repeat 40 time["turn"] pfwrite($h, "turns");
pfclose($h);
"#,
    },
    Case { name: "loop of pfwrite, 4 KiB, against a C loop", kind: "w", program: WRITES },
    Case { name: "loop of pfread, 4 KiB, against a C loop", kind: "r", program: READS },
    Case {
        name: "loop of pfwrite, 4 KiB, against a C loop that counts bytes and times each call",
        kind: "wc",
        program: WRITES,
    },
    Case {
        name: "loop of pfread, 4 KiB, against a C loop that counts bytes and times each call",
        kind: "rc",
        program: READS,
    },
];

/// Rates of independent transfers / those of the C loops, 4 KiB, one rank.
pub fn loops(mpi: &Mpi<'_>, mpicc: &str) -> Result<Vec<Figure>> {
    let reference = mpi.place.path().join("at");
    let source = mpi.place.path().join("at.c");
    std::fs::write(&source, include_str!("at.c"))?;
    let status = Command::new(mpicc).arg("-O2").arg("-o").arg(&reference).arg(&source).status()?;
    if !status.success() {
        return Err("the reference of MPI-IO does not compile".into());
    }
    CASES.iter().map(|case| figure(mpi, &reference, case)).collect()
}

fn figure(mpi: &Mpi<'_>, reference: &Path, case: &Case) -> Result<Figure> {
    let (mut raw_ns, mut product_ns) = (Vec::new(), Vec::new());
    for pair in 0..=PAIRS {
        let rounds = rounds_in_c(mpi, reference, case.kind)?;
        let run = mpi.run(case.program)?;
        if pair > 0 {
            raw_ns.push(lower_quartile(&rounds) / CALLS as f64);
            product_ns.push(lower_quartile(&run.occurrences_ns("turn")?) / CALLS as f64);
        }
    }
    let ratios: Vec<f64> = raw_ns.iter().zip(&product_ns).map(|(raw, ours)| raw / ours).collect();
    Ok(Figure {
        name: case.name.into(),
        raw: format!("{} ns", three(median(&raw_ns))),
        product: format!("{} ns", three(median(&product_ns))),
        result: median(&ratios),
        range: Some(range(&ratios)),
        unit: "",
        goal: Goal::AtLeast(0.9),
    })
}

/// The times of the rounds of `at.c`, on a file made anew as that of the program is: where its pages come
/// to lie decides on a tenth of the time.
fn rounds_in_c(mpi: &Mpi<'_>, reference: &Path, kind: &str) -> Result<Vec<f64>> {
    let file = mpi.place.path().join("at.data");
    if file.exists() {
        std::fs::remove_file(&file)?;
    }
    if kind.starts_with('r') {
        in_c(mpi, reference, &file, (1, "w"))?;
    }
    in_c(mpi, reference, &file, (ROUNDS, kind))
}

/// Runs `at.c` for so many rounds.
fn in_c(
    mpi: &Mpi<'_>,
    reference: &Path,
    file: &Path,
    (rounds, kind): (usize, &str),
) -> Result<Vec<f64>> {
    let mut command = mpi.launch(1);
    command.arg(reference).arg(file);
    command.args([&rounds.to_string(), &CALLS.to_string(), kind]);
    let output = command.stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(format!("{command:?} failed").into());
    }
    let text = String::from_utf8(output.stdout)?;
    Ok(text.lines().map(str::parse).collect::<std::result::Result<_, _>>()?)
}
