//! Speed of Parabench, as ratios to the raw system calls: `make bench`.
//!
//! ```text
//! benches [WORD ...]        all figures, or those whose name has one of the words
//! ```
//!
//! The product is measured from outside: the binary `parabench` beside this one runs a program, its
//! JSON says how long the labels took. The raw loops run in processes of their own (`worker`). Both
//! alternate, so that what disturbs the machine disturbs both; a figure is the median of the
//! ratios of the pairs. Nothing here judges: the goals stand beside the figures.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod cases;
mod figure;
mod fio;
mod fold;
mod language;
mod machine;
mod mpi;
mod mpi_io;
mod page;
mod pairs;
mod patterns;
mod pictures;
mod product;
mod raw;
mod record;
mod see;
mod single;
mod traces;
mod verified;
mod worker;

use figure::Figure;
use std::error::Error;
use std::process::ExitCode;

/// What can go wrong: the message is all that is needed.
pub type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// What is measured: a name to choose it by, and the figures it gives.
type Bench = (&'static str, fn(&product::Scratch) -> Result<Vec<Figure>>);

const BENCHES: &[Bench] = &[
    ("data", pairs::data),
    ("metadata", pairs::metadata),
    ("events", pairs::events),
    ("confined", pairs::confined),
    ("two ranks", pairs::two_ranks),
    ("null", single::null),
    ("results", single::results),
    ("empty", single::empty),
    ("repetitions", single::repetitions),
    ("barrier", single::barriers),
    ("claim", single::claims),
    ("perm", single::permutations),
    ("simulation", single::simulation),
    ("language", language::language),
    ("patterns", patterns::patterns),
    ("mpi", mpi::mpi),
    ("pictures", pictures::pictures),
    ("page", page::page),
    ("see", see::see),
    ("traces", traces::traces),
    ("fold", fold::fold),
    ("record", record::record),
    ("verified", verified::verified),
    ("uring", fio::uring),
    ("psync", fio::psync),
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let done = match args.split_first() {
        Some((first, rest)) if first == "worker" => worker::work(rest),
        _ => all(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("benches: {error}");
            ExitCode::FAILURE
        }
    }
}

fn all(words: &[String]) -> Result<()> {
    let place = product::Scratch::new()?;
    println!("{}\n", machine::describe(place.path()));
    println!("{}", figure::HEAD);
    for (name, bench) in BENCHES {
        if words.is_empty() || words.iter().any(|word| name.split(' ').any(|part| part == word)) {
            bench(&place)?.iter().for_each(|figure| println!("{figure}"));
        }
    }
    Ok(())
}
