//! Text to plan: binds a program to its parameters, ranks and directory.

use crate::args::ProgramArgs;
use crate::console;
use crate::diagnostics;
use crate::error::{Error, Result};
use crate::loader::Includes;
use crate::program::Text;
use model::Plan;
use ppl::binding::Environment;
use ppl::{Binding, Compiled, Loader};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::hash::Hasher;
use std::path::PathBuf;
use std::rc::Rc;

/// What the options of a subcommand say about ranks.
#[derive(Clone, Copy, Debug)]
pub struct Ranks {
    /// Their number.
    pub count: u32,
    /// Nobody has given that number.
    pub assumed: bool,
}

/// Compiles a program. `directory`: absolute path of the run directory, if there is one.
/// `mpi`: MPI statements are no reason for a warning, because nothing is executed.
pub fn compile(
    text: Text,
    args: &ProgramArgs,
    ranks: Ranks,
    directory: Option<String>,
    mpi: bool,
) -> Compiled {
    Origin::new(text, args, ranks, directory, mpi).compile()
}

/// Everything that a plan is made of, so that other processes can make the same: after
/// [`Origin::compile`] it holds the included files and the environment as they were found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    name: String,
    text: Vec<u8>,
    params: Vec<(String, String)>,
    groups: Vec<(String, Option<String>)>,
    seed: u64,
    /// Only for the process that finds the included files.
    #[serde(skip)]
    include_dirs: Vec<PathBuf>,
    ranks: u32,
    ranks_assumed: bool,
    /// Number of machines.
    pub nodes: u32,
    directory: Option<String>,
    mpi: bool,
    /// Including file and path: name and bytes, or why not.
    includes: Answers,
    env: BTreeMap<String, Option<String>>,
}

impl Origin {
    /// Of a program that has not been compiled yet; see [`compile`].
    pub fn new(
        text: Text,
        args: &ProgramArgs,
        ranks: Ranks,
        directory: Option<String>,
        mpi: bool,
    ) -> Origin {
        Origin {
            name: text.name,
            text: text.bytes,
            params: args.params.clone(),
            groups: args.groups.clone(),
            seed: args.seed.number(),
            include_dirs: args.include_dirs.clone(),
            ranks: ranks.count,
            ranks_assumed: ranks.assumed,
            nodes: 1,
            directory,
            mpi,
            ..Origin::default()
        }
    }

    /// Compiles it, and keeps what included files and the environment answer.
    pub fn compile(&mut self) -> Compiled {
        let env = Rc::new(RefCell::new(BTreeMap::new()));
        let asked = Rc::clone(&env);
        let answer = move |name: &str| {
            let value = std::env::var(name).ok();
            asked.borrow_mut().insert(name.to_string(), value.clone());
            value
        };
        let mut loader = Recorder {
            files: Includes::of(&self.name, &self.include_dirs),
            answers: BTreeMap::new(),
        };
        let compiled = self.compile_with(&mut loader, Box::new(answer));
        self.includes = loader.answers;
        self.env = env.take();
        compiled
    }

    /// Compiles what another process has compiled before, from its answers alone.
    pub fn compile_again(&self) -> Compiled {
        let env = self.env.clone();
        let answer = move |name: &str| env.get(name).cloned().flatten();
        self.compile_with(&mut Replay(&self.includes), Box::new(answer))
    }

    fn compile_with(&self, loader: &mut dyn Loader, env: Environment) -> Compiled {
        let binding = Binding {
            ranks_assumed: self.ranks_assumed,
            nodes: self.nodes,
            params: self.params.clone(),
            groups: self.groups.clone(),
            seed: self.seed,
            directory: self.directory.clone(),
            env,
            mpi: self.mpi,
            ..Binding::new(self.ranks)
        };
        ppl::compile(&self.name, self.text.clone(), loader, &binding)
    }
}

/// Included files with their text.
type Answers = BTreeMap<(String, String), std::result::Result<(String, Vec<u8>), String>>;

/// Finds included files and keeps what it found.
struct Recorder {
    files: Includes,
    answers: Answers,
}

impl Loader for Recorder {
    fn load(&mut self, from: &str, path: &str) -> std::result::Result<(String, Vec<u8>), String> {
        let found = self.files.load(from, path);
        self.answers.insert((from.into(), path.into()), found.clone());
        found
    }
}

/// Gives what another process has found.
struct Replay<'a>(&'a Answers);

impl Loader for Replay<'_> {
    fn load(&mut self, from: &str, path: &str) -> std::result::Result<(String, Vec<u8>), String> {
        let found = self.0.get(&(from.to_string(), path.to_string()));
        found.cloned().unwrap_or_else(|| Err("rank 0 has not included it".into()))
    }
}

/// A number that is the same for the same plan, and hardly for another.
pub fn fingerprint(plan: &Plan) -> u64 {
    use std::fmt::Write;
    struct Hashed(std::hash::DefaultHasher);
    impl Write for Hashed {
        fn write_str(&mut self, text: &str) -> std::fmt::Result {
            self.0.write(text.as_bytes());
            Ok(())
        }
    }
    let mut hashed = Hashed(std::hash::DefaultHasher::new());
    // Writing into a hash cannot fail. Other versions of Parabench may execute the same plan otherwise.
    let _ = write!(hashed, "{} {plan:?}", env!("CARGO_PKG_VERSION"));
    hashed.0.finish()
}

/// Draws what is wrong with a program on standard error. `what`: its name, for the summary.
pub fn show(compiled: &Compiled, what: &str) {
    if compiled.diagnostics.is_empty() {
        return;
    }
    let (found, sources) = (&compiled.diagnostics, &compiled.sources);
    console::say_made(&diagnostics::draw(found, sources, console::columns()));
    console::say(&format!("{what}: {}\n", diagnostics::summary(found)));
}

/// The plan; a program with errors has none, and its diagnostics have been shown.
pub fn plan(compiled: Compiled, what: &str) -> Result<Plan> {
    compiled.plan.ok_or_else(|| Error::input(format!("{what} cannot run")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program;

    #[test]
    fn others_compile_the_same_plan_from_the_answers_alone() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let path = folder.path().join("main.ppl");
        std::fs::write(&path, "include \"part.ppl\"; print $$env(PATH), $x;").expect("written");
        std::fs::write(folder.path().join("part.ppl"), "$x = 3;").expect("written");
        let text = program::read(&path).expect("it is there");
        let args = ProgramArgs {
            program: path,
            params: Vec::new(),
            groups: Vec::new(),
            include_dirs: Vec::new(),
            seed: crate::args::Seed::Random,
        };
        let ranks = Ranks { count: 3, assumed: false };
        let mut origin = Origin::new(text, &args, ranks, None, false);
        let first = origin.compile().plan.expect("it compiles");
        drop(folder);
        let bytes = postcard::to_stdvec(&origin).expect("packed");
        let told: Origin = postcard::from_bytes(&bytes).expect("unpacked");
        let again = told.compile_again().plan.expect("it compiles again");
        assert_eq!(fingerprint(&first), fingerprint(&again));
        let other = Origin { seed: 1, ..told }.compile_again().plan.expect("it compiles");
        assert_ne!(fingerprint(&first), fingerprint(&other));
    }
}
