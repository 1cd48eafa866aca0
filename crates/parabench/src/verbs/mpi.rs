//! `parabench mpi`: which MPI there is, and the shim that connects to it.

use crate::args::TextFormat;
use crate::console;
use crate::error::{Error, Exit, Result};
use crate::verbs::run;
use clap::{Args, Subcommand};
use mpi::error::Looked;
use mpi::shim::{self, is_shim};
use mpi::{MpiError, World, facts, launcher};
use serde_json::{Value, json};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Connect to the MPI of this machine, or tell which one it is
///
/// Parabench is not linked with MPI. A small library, the shim, is compiled by your MPI's own mpicc
/// and opened when Parabench runs under mpiexec or srun. It is looked for in the variable
/// PARABENCH_MPI_SHIM, beside the binary, in ../lib of the binary, and where parabench was built. The
/// first file that is there counts: if it is no shim, that is an error.
///
/// Two MPIs on one machine need two shims: `parabench mpi build --mpicc MPICC -o FILE` makes another
/// one, and PARABENCH_MPI_SHIM=FILE selects it.
#[derive(Args)]
pub struct Mpi {
    /// The action.
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    Build(Build),
    Info(Info),
}

/// Compile the shim with an mpicc
#[derive(Args)]
struct Build {
    /// The compiler of the MPI to use [default: the variable MPICC, else mpicc_abi or mpicc beside
    /// the binary or in PATH]
    #[arg(long, value_name = "MPICC")]
    mpicc: Option<String>,

    /// Where to put it [default: beside the binary, where it is found]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Replace the shim of another MPI
    #[arg(long)]
    force: bool,
}

/// Tell library, version, thread level and MPI-IO of the MPI that would be used
///
/// Without a shim it says where one was looked for and ends with 0: there is nothing wrong. It ends
/// with 1 where there is one that cannot be used. Under mpiexec, rank 0 answers for all, and no
/// usable MPI ends with 2: a run would too.
#[derive(Args)]
struct Info {
    /// How to print it
    #[arg(long, value_enum, default_value = "text")]
    format: TextFormat,

    /// Names the library alone, without starting it
    #[arg(long, hide = true)]
    library: bool,
}

impl Mpi {
    /// Does it.
    pub fn execute(self) -> Result<Exit> {
        match self.action {
            Action::Build(build) => build.execute(),
            Action::Info(info) => info.execute(),
        }
    }
}

impl Build {
    fn execute(self) -> Result<Exit> {
        let mpicc = self.mpicc.clone().unwrap_or_else(shim::default_mpicc);
        let output = self.output.clone().or_else(shim::default_output).ok_or_else(|| {
            Error::input("where this binary lies is not known").help("name a file with -o FILE")
        })?;
        check_file(&output)?;
        // Compiled beside it first: what is there goes only when the new one is known to work.
        let folder = output.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = tempfile::tempdir_in(folder.unwrap_or(Path::new("."))).map_err(|error| {
            let message = format!("-o {}: cannot write in its folder: {error}", output.display());
            Error::input(message).help(
                "name a file elsewhere with -o FILE (then PARABENCH_MPI_SHIM=FILE selects it)",
            )
        })?;
        let fresh = folder.path().join(shim::SHIM_FILE);
        shim::build_shim(&mpicc, &fresh).map_err(|error| {
            Error::input(error.to_string()).help("name the compiler of your MPI with --mpicc")
        })?;
        let library = library_of(&fresh).map_err(|reason| {
            Error::input(format!("the shim for {mpicc} was compiled, but: {reason}"))
        })?;
        self.spare_another(&output, &library)?;
        fs::rename(&fresh, &output)
            .map_err(|error| Error::input(format!("cannot write {}: {error}", output.display())))?;
        console::print(&format!("{}: for {library}\n", output.display()))?;
        if shim::places().iter().all(|(_, place)| !is_same(place, &output)) {
            console::note(&format!(
                "parabench does not look there by itself: export PARABENCH_MPI_SHIM={}",
                std::path::absolute(&output).unwrap_or(output).display()
            ));
        }
        Ok(Exit::Success)
    }

    /// A shim of another MPI is replaced only on demand; one that does not work may go.
    fn spare_another(&self, output: &Path, library: &str) -> Result<()> {
        let before = if output.is_file() { library_of(output).ok() } else { None };
        match before.filter(|before| !self.force && before != library) {
            None => Ok(()),
            Some(before) => Err(Error::input(format!(
                "{} is the shim for {before}: it would be replaced by one for {library}",
                output.display()
            ))
            .help(
                "put the new one elsewhere with -o FILE (then PARABENCH_MPI_SHIM=FILE selects it), \
                 or replace the old one with --force",
            )),
        }
    }
}

/// A shim takes the place of a shim, of an empty file, and of nothing else.
fn check_file(output: &Path) -> Result<()> {
    let why = match fs::symlink_metadata(output) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => error.to_string(),
        Ok(facts) if facts.is_symlink() => "expected a file, found a symbolic link".into(),
        Ok(facts) if !facts.is_file() => "expected a regular file, found something else".into(),
        Ok(_) => match fs::read(output) {
            Ok(bytes) if bytes.is_empty() || is_shim(&bytes) => return Ok(()),
            Ok(_) => "the file that is there is no MPI shim of Parabench".into(),
            Err(error) => error.to_string(),
        },
    };
    Err(Error::input(format!("-o {}: {why}", output.display()))
        .help("name another file with -o, or remove this one first"))
}

/// Both lead to one file.
fn is_same(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().or_else(|_| std::path::absolute(path)).ok();
    real(one) == real(other)
}

/// The MPI that a shim was compiled for; why it cannot be used. Asked in a process of its own:
/// two MPI libraries in one process disturb each other.
fn library_of(shim: &Path) -> std::result::Result<String, String> {
    let binary = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(binary);
    command.args(["mpi", "info", "--library"]).env(shim::VARIABLE, shim).stdin(Stdio::null());
    let output = command.output().map_err(|error| error.to_string())?;
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_string();
    match output.status.success() {
        true => Ok(said(&output.stdout)),
        false => Err(said(&output.stderr).trim_start_matches("error: ").into()),
    }
}

impl Info {
    fn execute(self) -> Result<Exit> {
        if self.library {
            let found = shim::find_shim().map_err(|error| Error::input(error.to_string()))?;
            console::print(&found.shim.library_name())?;
            return Ok(Exit::Success);
        }
        let (told, exit) = match start() {
            Err(error) => (json!({ "mpi": null, "reason": error.to_string() }), exit_for(&error)),
            Ok((world, found)) => {
                if let Err(error) = run::check_words(&world)? {
                    if world.rank == 0 {
                        console::error(&error);
                    }
                    // The error counts, whatever becomes of MPI.
                    let _ = world.leave(error.exit.code());
                    return Ok(error.exit);
                }
                let facts = facts::facts(&world, &std::env::temp_dir());
                world.finalize()?;
                (object(&facts, &found), Exit::Success)
            }
        };
        // All ranks would say the same.
        if launcher::job().is_some_and(|job| job.rank > 0) {
            return Ok(Exit::Success);
        }
        self.show(&told)?;
        Ok(exit)
    }

    fn show(&self, told: &Value) -> Result<()> {
        let text = match self.format {
            TextFormat::Json => model::escape::json(&format!("{told:#}\n")).into_owned(),
            TextFormat::Text => text(told),
        };
        console::print(&text)
    }
}

/// Nothing is wrong where nothing is, unless a launcher has started this.
fn exit_for(error: &MpiError) -> Exit {
    match error {
        _ if launcher::job().is_some() => Exit::Input,
        MpiError::NoShim(looked) if looked.iter().all(Looked::is_missing) => Exit::Success,
        _ => Exit::Failed,
    }
}

/// The shim's place and file.
type ShimFile = (&'static str, PathBuf);

fn start() -> std::result::Result<(World, ShimFile), MpiError> {
    let found = shim::find_shim()?;
    let place = (found.place, found.path);
    Ok((World::init(found.shim)?, place))
}

fn object(facts: &facts::Facts, (place, path): &ShimFile) -> Value {
    let (version, subversion) = facts.standard;
    json!({
        "mpi": {
            "library": facts.library,
            "library_text": facts.library_text,
            "standard": format!("{version}.{subversion}"),
            "thread_level": facts.thread_level,
            "mpi_io": facts.mpi_io,
            "ranks": facts.ranks,
            "nodes": facts.nodes,
            "shim": path.to_string_lossy(),
            "shim_place": place,
        }
    })
}

fn text(told: &Value) -> String {
    let mpi = &told["mpi"];
    if mpi.is_null() {
        return format!("no MPI: {}\n", told["reason"].as_str().unwrap_or("it cannot be used"));
    }
    let rows = [
        ("library", "library"),
        ("MPI standard", "standard"),
        ("thread level", "thread_level"),
        ("MPI-IO", "mpi_io"),
        ("ranks", "ranks"),
        ("nodes", "nodes"),
        ("shim", "shim"),
        ("found", "shim_place"),
    ];
    let line = |(name, key): &(&str, &str)| {
        let value = mpi[key].as_str().map_or_else(|| mpi[key].to_string(), str::to_string);
        format!("{name:<14}{value}\n")
    };
    rows.iter().map(line).collect()
}
