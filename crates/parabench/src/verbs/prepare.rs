//! `parabench prepare`: makes the files that a program expects to find.

use crate::args::{ProgramArgs, size};
use crate::compile::{self, Places, Ranks};
use crate::console;
use crate::error::{Error, Exit, Result};
use crate::prepare::{self, Directories, Part, WHOLE_BYTES};
use crate::program;
use crate::verbs::run::{for_mount, not_granted};
use clap::Args;
use engine::config::Config;
use engine::directory::{Request, RunDirectory};
use engine::prepare::Missing;
use model::rehearsal::{Expected, Thing};
use model::units::format_bytes;
use std::path::{Path, PathBuf};

/// Make the files and directories that a program expects to find
///
/// Files and directories that a program uses and does not make must exist before. They are made
/// inside the directory, files as long as the program reads them, full of data that does not
/// compress. Nothing is overwritten or shortened, no symbolic link is followed. A rehearsal of the
/// program finds what it expects, so give the same parameters and ranks as to the run.
///
/// Examples:
///   parabench prepare app.ppl -n 4 --dir /mnt/new --dry-run     what would be made
///   parabench prepare app.ppl -n 4 --dir /mnt/new
///   parabench run app.ppl -n 4 --dir /mnt/new
///   parabench prepare app.ppl -n 4 --dir /mnt/new --trace app.run   with the sizes of the run
///   parabench run app.ppl -n 4 --prepare                        both, in a scratch directory
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub struct Prepare {
    #[command(flatten)]
    program: ProgramArgs,

    /// Number of ranks
    #[arg(short = 'n', long, default_value_t = 1,
          value_parser = crate::args::ranks)]
    ranks: u32,

    /// The directory of the run: new, empty, or left by an earlier run
    #[arg(long, value_name = "D", default_value = ".")]
    dir: PathBuf,

    /// List what would be made, and make nothing
    #[arg(short = 'd', long)]
    dry_run: bool,

    /// List all of it
    #[arg(short, long, requires = "dry_run")]
    verbose: bool,

    /// Use a directory with other things in it
    #[arg(long)]
    force: bool,

    /// Sizes and kinds are those that this run shows, from which the program was folded
    #[arg(long, value_name = "DIR")]
    trace: Option<PathBuf>,

    /// Size of files that the program reads to their end, wherever that is
    #[arg(long, value_name = "SIZE", value_parser = size, default_value_t = WHOLE_BYTES)]
    whole: u64,
}

/// Things that are listed without -v.
const LISTED: usize = 15;

impl Prepare {
    /// Finds out what is missing, and makes it.
    pub fn execute(self) -> Result<Exit> {
        let text = program::read(&self.program.program)?;
        let name = text.name.clone();
        let directory = std::path::absolute(&self.dir).unwrap_or_else(|_| self.dir.clone());
        let ranks = Ranks { count: self.ranks, assumed: false, machines: Vec::new() };
        let inside = directory.to_str().map(str::to_string);
        let places = Places { directory: inside, ..Places::named(&self.program)? };
        let compiled = compile::compile(text, &self.program, ranks, places, true);
        if compiled.plan.is_none() {
            compile::show(&compiled, &name);
        }
        let plan = compile::plan(compiled, &name)?;
        let config = Config { directory: directory.clone(), ..Config::default() };
        let mut expected = prepare::expected(&plan, &config, self.whole)?;
        if let Some(trace) = &self.trace {
            expected = prepare::shown_by(trace, expected)?;
        }
        if let Some(error) = not_granted(&plan) {
            return Err(error);
        }
        match self.dry_run {
            true => self.list(&prepare::missing(&self.directories(directory)?, &expected)?)?,
            false => self.make(&expected)?,
        }
        Ok(Exit::Success)
    }

    /// All directories.
    fn directories(&self, run: PathBuf) -> Result<Directories> {
        let further = self.program.granted()?.iter().cloned();
        Ok(std::iter::once((String::new(), run)).chain(further).collect())
    }

    /// The sum, then a line for each thing.
    fn list(&self, parts: &[Part]) -> Result<()> {
        let shown = shown(parts, &self.dir);
        if prepare::is_complete(parts) {
            return console::print_made(&format!("nothing is missing in {shown}\n"));
        }
        let mut out = format!("missing: {} in {shown}\n", prepare::sum(parts));
        let all = parts.iter().flat_map(|part| part.todo.things.iter().map(move |one| (part, one)));
        let count = all.clone().count();
        let most = if self.verbose { count } else { LISTED.min(count) };
        out.extend(all.take(most).map(|(part, missing)| describe(part, missing)));
        if count > most {
            out.push_str(&format!("and {} more: -v\n", count - most));
        }
        console::print_made(&out)
    }

    fn make(&self, expected: &[Expected]) -> Result<()> {
        // Before the directory is made or marked.
        let named = self.directories(self.dir.clone())?;
        prepare::missing(&named, expected)?;
        let (mut open, mut directories) = (Vec::new(), Directories::new());
        for (name, path) in named {
            let request =
                Request { directory: Some(path), force: self.force, ..Request::default() };
            let directory = RunDirectory::open(&request, env!("CARGO_PKG_VERSION"))
                .map_err(|error| for_mount(Error::input(error.to_string()), &name))?;
            directories.push((name, directory.path().to_path_buf()));
            open.push(directory);
        }
        let parts = prepare::missing(&directories, expected)?;
        prepare::make(&parts, self.program.seed.number())?;
        let shown = shown(&parts, &self.dir);
        console::print(&match prepare::is_complete(&parts) {
            true => format!("nothing is missing in {shown}\n"),
            false => format!("made {} in {shown}\n", prepare::sum(&parts)),
        })
    }
}

/// The directories for people: `d`, or `d and fast`.
fn shown(parts: &[Part], directory: &Path) -> String {
    let further = parts.iter().skip(1).map(Part::name);
    let all = std::iter::once(directory.display().to_string()).chain(further);
    model::words::list(all)
}

/// `f: file, 4 KiB`
fn describe(part: &Part, missing: &Missing) -> String {
    let what = match (&missing.expected.what, missing.has_bytes) {
        (Thing::Directory, _) => "directory".to_string(),
        (Thing::Link(target), _) => format!("link to {}", model::escape::bytes(target)),
        (Thing::File { size_bytes, .. }, None) => format!("file, {}", format_bytes(*size_bytes)),
        (Thing::File { .. }, Some(_)) => {
            format!("file, {} more", format_bytes(missing.new_bytes()))
        }
    };
    format!("{}: {what}\n", part.shown(missing))
}
