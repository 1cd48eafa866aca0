//! What a program is bound to: the figures and names that its text leaves open.

use std::fmt;

/// Looks up an environment variable.
pub type Environment = Box<dyn Fn(&str) -> Option<String>>;

/// Reads a file of data that lies beside the program; an error says in a few words why not.
pub type Files = Box<dyn Fn(&str) -> Result<Vec<u8>, String>>;

/// Everything outside the text that a plan depends on.
pub struct Binding {
    /// Number of ranks, at least 1.
    pub ranks: u32,
    /// Nobody asked for that number (as in `parabench check p.ppl`). A program that
    /// never speaks of ranks is then taken for one of a single rank, and group sizes are not compared
    /// with the number of ranks.
    pub ranks_assumed: bool,
    /// The machine of each rank, numbered from 0; empty: all share one.
    pub machines: Vec<u32>,
    /// `NAME=VALUE` of the command line, in order; the last of a name wins.
    pub params: Vec<(String, String)>,
    /// `--group NAME[:SIZE]`; a size is a number of ranks or a percentage such as "50%".
    pub groups: Vec<(String, Option<String>)>,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Absolute path of the run directory, which is `$$env(PWD)`. `None`: not known
    /// yet; then `$$env(PWD)` is ".", which means the same to every operation.
    pub directory: Option<String>,
    /// Names and absolute paths of the directories that are granted besides (`--mount`).
    pub directories: Vec<(String, String)>,
    /// The environment: `$$env(NAME)`, and `PARABENCH_NAME` for the parameter NAME.
    pub env: Environment,
    /// The files beside the program that hold data: values, times, bytes to write.
    pub files: Files,
    /// MPI statements can be executed, or nothing is executed at all. Otherwise the
    /// first of them gets a warning.
    pub mpi: bool,
}

impl Binding {
    /// Absolute paths of all directories in which the program may work, as far as they are known.
    pub(crate) fn roots(&self) -> Vec<String> {
        let granted = self.directories.iter().map(|(_, path)| path.clone());
        self.directory.iter().cloned().chain(granted).collect()
    }

    /// So many ranks on one machine and nothing else: no parameters, an empty environment, seed 42.
    pub fn new(ranks: u32) -> Binding {
        Binding {
            ranks: ranks.max(1),
            ranks_assumed: false,
            machines: Vec::new(),
            params: Vec::new(),
            groups: Vec::new(),
            seed: 42,
            directory: None,
            directories: Vec::new(),
            env: Box::new(|_| None),
            files: Box::new(|_| Err("there are no files here".into())),
            mpi: true,
        }
    }
}

impl Binding {
    /// Number of machines: `$$nodes`.
    pub fn nodes(&self) -> u32 {
        self.machines.iter().max().map_or(1, |last| last + 1)
    }

    /// Number of each rank's machine, and of the rank on it: `$$node` and `$$noderank`.
    pub(crate) fn places(&self) -> Vec<(u32, u32)> {
        if self.machines.is_empty() {
            return (0..self.ranks).map(|rank| (0, rank)).collect();
        }
        let mut ranks_of = vec![0u32; self.nodes() as usize];
        let place = |machine: &u32| {
            ranks_of[*machine as usize] += 1;
            (*machine, ranks_of[*machine as usize] - 1)
        };
        self.machines.iter().map(place).collect()
    }
}

impl Default for Binding {
    fn default() -> Binding {
        Binding::new(1)
    }
}

impl fmt::Debug for Binding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Binding")
            .field("ranks", &self.ranks)
            .field("ranks_assumed", &self.ranks_assumed)
            .field("machines", &self.machines)
            .field("params", &self.params)
            .field("groups", &self.groups)
            .field("seed", &self.seed)
            .field("directory", &self.directory)
            .field("directories", &self.directories)
            .field("mpi", &self.mpi)
            .finish_non_exhaustive()
    }
}
