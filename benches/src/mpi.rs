//! What MPI adds: calls of POSIX under MPI against the same without, and the start.
//!
//! The MPI is that of `mpicc` and `mpiexec` in the search path (variables MPICC and MPIEXEC name
//! others that belong together). Without them there is nothing to measure, and that is said.

use crate::Result;
use crate::cases::DATA;
use crate::figure::{Figure, Goal, lower_quartile, median, range, three};
use crate::product::{Outcome, Scratch};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

/// Pairs that count; one more goes before them to warm up.
const PAIRS: usize = 9;
/// The least that an MPI program does.
const EMPTY: &str =
    "#include <mpi.h>\nint main(void) { MPI_Init(0, 0); MPI_Finalize(); return 0; }\n";

/// An MPI.
pub struct Mpi<'p> {
    /// Where files lie.
    pub place: &'p Scratch,
    mpiexec: String,
    shim: PathBuf,
    empty: PathBuf,
}

/// POSIX under MPI, and the start of a run.
pub fn mpi(place: &Scratch) -> Result<Vec<Figure>> {
    let named = |variable: &str, usual: &str| std::env::var(variable).unwrap_or(usual.into());
    let (mpicc, mpiexec) = (named("MPICC", "mpicc"), named("MPIEXEC", "mpiexec"));
    let found = Command::new(&mpicc).arg("--version").stdout(Stdio::null()).status();
    if !found.is_ok_and(|status| status.success()) {
        println!("there is no {mpicc}: figures under MPI are left out");
        return Ok(Vec::new());
    }
    let mpi = Mpi {
        place,
        mpiexec,
        shim: place.path().join("shim.so"),
        empty: place.path().join("empty-mpi"),
    };
    mpi.compile(&mpicc)?;
    let mut figures = mpi.calls()?;
    figures.push(mpi.start()?);
    figures.extend(crate::mpi_io::loops(&mpi, &mpicc)?);
    Ok(figures)
}

impl Mpi<'_> {
    fn compile(&self, mpicc: &str) -> Result<()> {
        let source = self.place.path().join("empty-mpi.c");
        std::fs::write(&source, EMPTY)?;
        let parabench = self.place.parabench();
        let mut shim = Command::new(parabench);
        shim.args(["mpi", "build", "--mpicc", mpicc, "-o"]).arg(&self.shim);
        let mut empty = Command::new(mpicc);
        empty.arg("-O2").arg("-o").arg(&self.empty).arg(source);
        for mut command in [shim, empty] {
            let done = command.output()?;
            if !done.status.success() {
                let said = String::from_utf8_lossy(&done.stderr);
                return Err(format!("{command:?} failed: {said}").into());
            }
        }
        Ok(())
    }

    /// mpiexec for so many ranks. What containers and crowded machines need is allowed here.
    pub fn launch(&self, ranks: u32) -> Command {
        let mut command = Command::new(&self.mpiexec);
        command
            .args(["-n", &ranks.to_string()])
            .env("PARABENCH_MPI_SHIM", &self.shim)
            .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
            .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
            .env("OMPI_MCA_rmaps_base_oversubscribe", "1")
            .current_dir(self.place.path());
        command
    }

    /// The program of the data figures without MPI and as the one rank of an MPI job.
    fn calls(&self) -> Result<Vec<Figure>> {
        let mut times = vec![(Vec::new(), Vec::new()); DATA.labels.len()];
        for pair in 0..=PAIRS {
            let plain = self.place.run(DATA.program, &[])?;
            let under = self.run(DATA.program)?;
            for (label, times) in DATA.labels.iter().zip(&mut times).filter(|_| pair > 0) {
                let ns = |run: &Outcome| -> Result<f64> {
                    Ok(lower_quartile(&run.occurrences_ns(label.0)?) / label.2 as f64)
                };
                times.0.push(ns(&plain)?);
                times.1.push(ns(&under)?);
            }
        }
        let named = DATA.labels.iter().zip(&times);
        Ok(named.map(|(label, (plain, under))| ratio(label.1, label.3, plain, under)).collect())
    }

    /// Runs a program as the one rank of an MPI job.
    pub fn run(&self, program: &str) -> Result<Outcome> {
        let file = self.place.path().join("program.ppl");
        std::fs::write(&file, program)?;
        let mut command = self.launch(1);
        command.arg(self.place.parabench());
        command.args(["run", "program.ppl", "--format", "json", "--quiet"]);
        let output = command.stderr(Stdio::inherit()).output()?;
        if !output.status.success() {
            return Err(format!("{command:?} failed").into());
        }
        Outcome::read(&output.stdout)
    }

    /// Two ranks that do nothing, in C and as a program: from before mpiexec to its end.
    fn start(&self) -> Result<Figure> {
        std::fs::write(self.place.path().join("empty.ppl"), ";")?;
        let mut empty = self.launch(2);
        empty.arg(&self.empty);
        let mut product = self.launch(2);
        product.arg(self.place.parabench()).args(["run", "empty.ppl", "--quiet"]);
        let (mut c_ms, mut more_ms) = (Vec::new(), Vec::new());
        for pair in 0..=PAIRS {
            let (raw_ms, product_ms) = (elapsed_ms(&mut empty)?, elapsed_ms(&mut product)?);
            if pair > 0 {
                c_ms.push(raw_ms);
                more_ms.push(product_ms - raw_ms);
            }
        }
        Ok(Figure {
            name: "start of 2 ranks, empty program, above an empty C program".into(),
            raw: format!("{} ms", three(median(&c_ms))),
            product: format!("{} ms", three(median(&c_ms) + median(&more_ms))),
            result: median(&more_ms),
            range: Some(range(&more_ms)),
            unit: " ms",
            goal: Goal::AtMost(50.0),
        })
    }
}

/// Rate under MPI / rate without.
fn ratio(name: &str, goal: f64, plain: &[f64], under: &[f64]) -> Figure {
    let ratios: Vec<f64> = plain.iter().zip(under).map(|(plain, under)| plain / under).collect();
    Figure {
        name: format!("{name}, under MPI against without"),
        raw: format!("{} ns", three(median(plain))),
        product: format!("{} ns", three(median(under))),
        result: median(&ratios),
        range: Some(range(&ratios)),
        unit: "",
        // MPI's helper threads alone make calls of a C program slower: docs/performance.md.
        goal: if goal.is_nan() { Goal::None } else { Goal::AtLeast(0.85) },
    }
}

fn elapsed_ms(command: &mut Command) -> Result<f64> {
    let start = Instant::now();
    let status = command.stdout(Stdio::null()).status()?;
    if status.success() {
        Ok(start.elapsed().as_secs_f64() * 1e3)
    } else {
        Err(format!("{command:?} failed").into())
    }
}
