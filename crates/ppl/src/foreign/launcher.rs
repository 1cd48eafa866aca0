//! What starts the ranks of a command line: how many, and whether on other nodes.
//!
//! ```text
//! srun -N 2 --ntasks-per-node=4 ior ...     8 ranks, where the batch system says: its words are kept
//! mpirun -np 4 ior ...                      4 ranks, as local processes, too
//! ```

/// A launcher, and its options for numbers.
struct Row {
    names: &'static [&'static str],
    /// All ranks.
    total: &'static [&'static str],
    /// Nodes, or sets of resources.
    nodes: &'static [&'static str],
    /// Ranks on each of those, 1 where nothing is said.
    of_node: &'static [&'static str],
    /// It belongs to a batch system.
    is_scheduler: bool,
}

const ROWS: &[Row] = &[
    Row {
        names: &["srun", "flux"],
        total: &["-n", "--ntasks"],
        nodes: &["-N", "--nodes"],
        of_node: &["--ntasks-per-node", "--tasks-per-node"],
        is_scheduler: true,
    },
    Row {
        names: &["jsrun"],
        total: &["-p", "--np"],
        nodes: &["-n", "--nrs"],
        of_node: &["-a", "--tasks_per_rs"],
        is_scheduler: true,
    },
    Row { names: &["lrun"], total: &["-n"], nodes: &["-N"], of_node: &["-T"], is_scheduler: true },
    Row {
        names: &["aprun", "ibrun"],
        total: &["-n"],
        nodes: &[],
        of_node: &[],
        is_scheduler: true,
    },
    Row {
        names: &["mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prun"],
        total: &["-n", "-np", "--n", "--np"],
        nodes: &[],
        of_node: &[],
        is_scheduler: false,
    },
];

/// Options of `mpirun` and `mpiexec` that say on which nodes ranks are.
const PLACES: &[&str] = &[
    "-f",
    "-host",
    "--host",
    "-hosts",
    "--hosts",
    "-H",
    "-hostfile",
    "--hostfile",
    "-machinefile",
    "--machinefile",
    "-machine",
    "-ppn",
    "--ppn",
    "-perhost",
    "-rr",
    "-N",
    "-npernode",
    "--npernode",
    "-pernode",
    "--pernode",
    "-map-by",
    "--map-by",
    "-bynode",
    "--bynode",
    "-rf",
    "--rankfile",
    "-rankfile",
    "-configfile",
];

/// Its options begin with the same letters, and are no launcher's.
const NUMACTL: &str = "numactl";

/// The launcher of a command line.
pub(super) struct Launcher<'t> {
    row: &'static Row,
    /// Itself and its words, to the tool.
    pub(super) words: Vec<&'t str>,
}

/// A word is a launcher.
pub(super) fn is_one(word: &str) -> bool {
    row_of(word).is_some()
}

fn row_of(word: &str) -> Option<&'static Row> {
    let name = word.rsplit('/').next().unwrap_or(word);
    ROWS.iter().find(|row| row.names.contains(&name))
}

impl<'t> Launcher<'t> {
    /// The launcher among the words before a tool.
    pub(super) fn find(before: &[&'t str]) -> Option<Launcher<'t>> {
        let at = before.iter().position(|word| is_one(word))?;
        Some(Launcher { row: row_of(before[at])?, words: before[at..].to_vec() })
    }

    /// Ranks that it starts, as far as the line tells.
    pub(super) fn ranks(&self) -> Option<u64> {
        let of_node = || self.value(self.row.of_node).unwrap_or("1").parse().ok();
        match self.value(self.row.total) {
            Some(total) => total.parse().ok(),
            None => u64::checked_mul(self.value(self.row.nodes)?.parse().ok()?, of_node()?),
        }
    }

    /// Where the ranks are, or how many, is decided by it: local processes are something else.
    pub(super) fn decides(&self) -> bool {
        let names_places =
            || self.options().any(|word| PLACES.contains(&word.split('=').next().unwrap_or(word)));
        self.row.is_scheduler || self.ranks().is_none() || names_places()
    }

    fn options(&self) -> impl Iterator<Item = &'t str> {
        self.words.iter().copied().skip(1).take_while(|word| *word != NUMACTL)
    }

    /// The value of an option: `-n 8`, `--ntasks=8`, `-n8`.
    fn value(&self, names: &[&str]) -> Option<&'t str> {
        let mut words = self.options();
        while let Some(word) = words.next() {
            let Some(name) = names.iter().find(|name| has_name(word, name)) else { continue };
            let value = &word[name.len()..];
            return if value.is_empty() {
                words.next()
            } else {
                Some(value.trim_start_matches('='))
            };
        }
        None
    }
}

/// The word is this option, alone or with its value.
fn has_name(word: &str, name: &str) -> bool {
    let is_letter = name.len() == 2;
    word.strip_prefix(name).is_some_and(|rest| {
        let is_joined = is_letter && rest.bytes().all(|byte| byte.is_ascii_digit());
        rest.is_empty() || rest.starts_with('=') || is_joined
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launchers_tell_how_many_ranks_and_whether_local_ones_are_the_same() {
        for (line, ranks, decides) in [
            ("mpirun -np 4", Some(4), false),
            ("mpiexec --np=4 numactl -N 0", Some(4), false),
            ("mpirun -np 4 -hostfile h", Some(4), true),
            ("/opt/bin/mpiexec -n 8 -ppn 4", Some(8), true),
            ("mpirun", None, true),
            ("mpirun -np $N", None, true),
            ("srun", None, true),
            ("srun -N 2 --ntasks-per-node=4", Some(8), true),
            ("srun -N 4 --ntasks-per-node 16", Some(64), true),
            ("srun -n 64 -N 4", Some(64), true),
            ("srun -N2", Some(2), true),
            ("flux run -N2 -n8", Some(8), true),
            ("flux run -N 2 --tasks-per-node=3", Some(6), true),
            ("jsrun -n 4 -a 2", Some(8), true),
            ("jsrun -n 4 -a 2 -p 6", Some(6), true),
            ("lrun -N 2 -T 4", Some(8), true),
            ("aprun -n 32 -N 16", Some(32), true),
            ("srun -N 4000000000 --ntasks-per-node=18446744073709551615", None, true),
        ] {
            let words: Vec<&str> = line.split(' ').collect();
            let launcher = Launcher::find(&words).expect("a launcher");
            assert_eq!((launcher.ranks(), launcher.decides()), (ranks, decides), "{line}");
        }
        assert!(Launcher::find(&["sudo", "time"]).is_none());
    }
}
