//! The options of a sweep.

use super::values;
use crate::args::{MAX_RANKS, assignment, duration};
use crate::completion;
use crate::error::Error;
use clap::Args;
use std::path::PathBuf;

/// Repeating the program over a grid of parameters.
#[derive(Args, Clone, Debug, Default, PartialEq)]
#[command(next_help_heading = "Sweeps and repetitions")]
pub struct Sweep {
    /// Run the program with each of these values: 4k,64k or 4k..16m*2 or 1..9+2; several --sweep make a grid
    #[arg(id = "sweep_params", long = "sweep", value_name = "NAME=VALUES", value_parser = dimension,
          add = completion::parameters())]
    pub params: Vec<Dimension>,

    /// Run it with each of these numbers of ranks; in an MPI job with its first ones
    #[arg(id = "sweep_ranks", long = "sweep-ranks", value_name = "VALUES", value_parser = ranks)]
    pub ranks: Option<RankCounts>,

    /// Run it on each of these numbers of machines of an MPI job, with all their ranks
    #[arg(id = "sweep_nodes", long = "sweep-nodes", value_name = "VALUES", value_parser = ranks, conflicts_with = "sweep_ranks")]
    pub nodes: Option<RankCounts>,

    /// Run it in each of these directories, which stand apart, and show operations beside one another
    #[arg(id = "sweep_dirs", long = "sweep-dirs", value_name = "NAME=DIR,..", value_parser = directories,
          conflicts_with_all = ["dir", "against"])]
    pub dirs: Option<NamedDirs>,

    /// Repetitions of every point of the grid; with --until-ci the largest number (default 100); blocks of a
    /// comparison (default 10, with which up to 25 labels and operations can differ; 8 do for 6, 12 for 102)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub reps: Option<u32>,

    /// Executions of every point that are not recorded, before the others
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=1000))]
    pub warm_up: u32,

    /// Pause before every execution
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub settle: Option<u64>,

    /// Repeat every point, at least 10 times, until the 95 % confidence interval is so narrow
    #[arg(long, value_name = "SHARE%", value_parser = share)]
    pub until_ci: Option<f64>,

    /// Go on with the sweep in this folder, which was interrupted or killed: execute what is missing.
    /// Alone, or with the same command line as before and this in place of --out
    #[arg(long, value_name = "DIR", conflicts_with = "out", add = completion::runs())]
    pub resume: Option<PathBuf>,

    /// Compare --dir with this directory: A and B follow one another in blocks in random order, --reps of them
    #[arg(long, value_name = "DIR2", help_heading = VERSUS, requires = "dir",
          conflicts_with_all = ["against_program", "versus", "until_ci"])]
    pub against: Option<PathBuf>,

    /// Compare the program with this one, in the same way
    #[arg(long, value_name = "PROGRAM2", help_heading = VERSUS, conflicts_with_all = ["versus", "until_ci"])]
    pub against_program: Option<PathBuf>,

    /// Compare two values of a parameter, in the same way: A,B, or B alone with the program's own value as A
    #[arg(long, value_name = "NAME=A,B", help_heading = VERSUS, value_parser = assignment, conflicts_with = "until_ci")]
    pub versus: Option<(String, String)>,
}

/// Heading of the options that compare.
const VERSUS: &str = "Comparing";

/// A parameter and its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dimension {
    /// The parameter.
    pub name: String,
    /// Its values.
    pub values: Vec<String>,
}

/// Directories with short names for tables; a directory without one is called by its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedDirs(pub Vec<(String, PathBuf)>);

/// Numbers of ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankCounts(pub Vec<u32>);

impl Sweep {
    /// The program is executed by the rules of a sweep.
    pub fn is_asked_for(&self) -> bool {
        let grid = !self.params.is_empty() || self.ranks.is_some() || self.nodes.is_some();
        grid || self.dirs.is_some()
            || self.reps.is_some()
            || self.warm_up > 0
            || self.settle.is_some()
            || self.until_ci.is_some()
            || self.compares()
    }

    /// No point needs more ranks or machines than an MPI job of this size has.
    pub fn fits(&self, ranks: u32, nodes: u32) -> Result<(), Error> {
        let most = |counts: &Option<RankCounts>| counts.as_ref()?.0.iter().copied().max();
        for (option, wanted, there, what) in [
            ("--sweep-ranks", most(&self.ranks), ranks, "ranks"),
            ("--sweep-nodes", most(&self.nodes), nodes, "machines"),
        ] {
            if let Some(wanted) = wanted.filter(|wanted| *wanted > there) {
                let message = format!("{option}: {wanted} {what}, but the MPI job has {there}");
                return Err(Error::input(message).help(match self.resume.is_some() {
                    true => "resume the sweep in a job as large as the one that began it",
                    false => "start a job with more, or sweep over fewer",
                }));
            }
        }
        Ok(())
    }

    /// A and B alternate.
    pub fn compares(&self) -> bool {
        self.against.is_some() || self.against_program.is_some() || self.versus.is_some()
    }
}

fn dimension(text: &str) -> Result<Dimension, String> {
    let Some((name, list)) = text.split_once('=').filter(|(name, _)| !name.is_empty()) else {
        return Err(format!("expected NAME=VALUES, for example block=4k,64k, found {text:?}"));
    };
    Ok(Dimension { name: name.into(), values: values::parse(list)? })
}

fn ranks(text: &str) -> Result<RankCounts, String> {
    let values = values::parse(text)?;
    let number = |value: &String| {
        let number = value.parse::<u32>().ok();
        number
            .filter(|n| (1..=MAX_RANKS).contains(&i64::from(*n)))
            .ok_or_else(|| format!("expected numbers from 1 to {MAX_RANKS}, found {value:?}"))
    };
    values.iter().map(number).collect::<Result<_, _>>().map(RankCounts)
}

/// `a=/mnt/a,b=/mnt/b`
fn directories(text: &str) -> Result<NamedDirs, String> {
    let named = |value: String| match value.split_once('=') {
        Some((name, path)) if !name.is_empty() && !path.is_empty() && !name.contains('/') => {
            Ok((name.to_string(), PathBuf::from(path)))
        }
        Some((name, _)) if !name.contains('/') => {
            Err(format!("expected NAME=DIR, for example a=/mnt/a,b=/mnt/b, found {value:?}"))
        }
        _ => Ok((value.clone(), PathBuf::from(value))),
    };
    let named = values::parse(text)?.into_iter().map(named).collect::<Result<Vec<_>, _>>()?;
    match named.iter().enumerate().find(|(at, one)| named[..*at].iter().any(|a| a.0 == one.0)) {
        Some((_, (name, _))) => Err(format!("two directories are called {name}")),
        None => Ok(NamedDirs(named)),
    }
}

/// `2%` as 0.02.
fn share(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').and_then(|number| number.parse::<f64>().ok());
    let number = number.filter(|number| (0.01..100.0).contains(number));
    let wrong = || format!("expected a share from 0.01% to 99%, for example 2%, found {text:?}");
    number.map(|number| number / 100.0).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_that_is_too_small_is_told_what_can_be_done() {
        let mut sweep = Sweep { nodes: Some(RankCounts(vec![1, 4])), ..Sweep::default() };
        let help = |sweep: &Sweep| sweep.fits(6, 3).unwrap_err().help.unwrap_or_default();
        assert_eq!(help(&sweep), "start a job with more, or sweep over fewer");
        sweep.resume = Some("r".into());
        assert!(help(&sweep).starts_with("resume the sweep in a job as large as"));
        assert_eq!(sweep.fits(6, 4), Ok(()));
    }

    #[test]
    fn options_are_read_or_explained() {
        let block = dimension("block=1..4*2").unwrap();
        assert_eq!((block.name.as_str(), block.values.len()), ("block", 3));
        assert!(dimension("=1").unwrap_err().contains("NAME=VALUES"));
        assert!(dimension("block=1,,").unwrap_err().contains("found nothing"));
        assert_eq!(ranks("1..8*2"), Ok(RankCounts(vec![1, 2, 4, 8])));
        assert!(ranks("0,1").unwrap_err().contains("from 1 to"));
        let dirs = directories("a=/x,/y/b=c").map(|dirs| dirs.0);
        let expected = [("a".into(), "/x".into()), ("/y/b=c".into(), "/y/b=c".into())];
        assert_eq!(dirs, Ok(expected.to_vec()));
        assert!(directories("a=").unwrap_err().contains("NAME=DIR"));
        assert!(directories("a=/x,a=/y").unwrap_err().contains("called a"));
        assert_eq!(share("2%"), Ok(0.02));
        assert!(share("2").is_err() && share("0%").is_err());
    }
}
