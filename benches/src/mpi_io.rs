//! MPI-IO: level 0 against a plain loop of `MPI_File_write_at` in C (`write_at.c`), compiled by
//! the same mpicc when it is measured.

use crate::Result;
use crate::figure::{Figure, Goal, lower_quartile, median, range, three};
use crate::mpi::Mpi;
use std::process::{Command, Stdio};

/// Pairs that count; one more goes before them to warm up.
const PAIRS: usize = 9;
/// Times that one run measures; the lower quartile of them counts.
const ROUNDS: usize = 40;
/// Writes in a round.
const WRITES: usize = 2_000;

/// The same writes, each round one statement.
const PROGRAM: &str = r#"define pattern "turns" level 0 = strided(block=4k, count=2000);
$h = pfopen("data", "cw");
repeat 40 time["write"] pfwrite($h, "turns");
pfclose($h);
"#;

/// Rate of level 0 / rate of the C loop, 4 KiB, one rank.
pub fn write_at(mpi: &Mpi<'_>, mpicc: &str) -> Result<Figure> {
    let reference = mpi.place.path().join("write-at");
    let source = mpi.place.path().join("write-at.c");
    std::fs::write(&source, include_str!("write_at.c"))?;
    let status = Command::new(mpicc).arg("-O2").arg("-o").arg(&reference).arg(&source).status()?;
    if !status.success() {
        return Err("the reference of MPI_File_write_at does not compile".into());
    }
    let data = mpi.place.path().join("write-at.data");
    let (mut raw_ns, mut product_ns) = (Vec::new(), Vec::new());
    for pair in 0..=PAIRS {
        let mut command = mpi.launch(1);
        command.arg(&reference).arg(&data).arg(ROUNDS.to_string()).arg(WRITES.to_string());
        let output = command.stderr(Stdio::inherit()).output()?;
        if !output.status.success() {
            return Err(format!("{command:?} failed").into());
        }
        let text = String::from_utf8(output.stdout)?;
        let rounds: Vec<f64> =
            text.lines().map(str::parse).collect::<std::result::Result<_, _>>()?;
        let run = mpi.run(PROGRAM)?;
        if pair > 0 {
            raw_ns.push(lower_quartile(&rounds) / WRITES as f64);
            product_ns.push(lower_quartile(&run.occurrences_ns("write")?) / WRITES as f64);
        }
    }
    let ratios: Vec<f64> = raw_ns.iter().zip(&product_ns).map(|(raw, ours)| raw / ours).collect();
    Ok(Figure {
        name: "MPI-IO level 0, 4 KiB, against a C loop".into(),
        raw: format!("{} ns", three(median(&raw_ns))),
        product: format!("{} ns", three(median(&product_ns))),
        result: median(&ratios),
        range: Some(range(&ratios)),
        unit: "",
        goal: Goal::AtLeast(0.9),
    })
}
