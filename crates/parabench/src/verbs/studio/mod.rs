//! `parabench studio`: the server of the studio, and a browser that opens it.

mod service;

use crate::console;
use crate::error::{Error, Exit, Result};
use clap::Args;
use service::Ppl;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

/// Compose, check, run and look at programs in a browser
///
/// Serves on this machine only (127.0.0.1) and prints the address to open. Each address is good for one browser; then
/// the next one is printed. Ctrl-C ends it, and a run that goes on as Ctrl-C does.
#[derive(Args)]
#[command(after_help = "\
Examples:
  parabench studio                      programs and runs of the current folder
  parabench studio work --dir /mnt/new --dir /mnt/old
  ssh -L 8080:127.0.0.1:8080 HOST parabench studio --port 8080 --no-open")]
pub struct Studio {
    /// Folder with programs and runs; nothing outside of it is read or written
    #[arg(value_name = "FOLDER", default_value = ".")]
    folder: PathBuf,

    /// Directory that runs may use besides scratch directories in FOLDER. Can be given again
    #[arg(long = "dir", value_name = "DIR")]
    directories: Vec<PathBuf>,

    /// Port of the server [default: a random one]
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    port: u16,

    /// Print the address only
    #[arg(long)]
    no_open: bool,
}

impl Studio {
    /// Serves until it is interrupted.
    pub fn execute(self) -> Result<Exit> {
        let directories = self.directories.iter().map(|path| whole(path));
        let unknown = |why: std::io::Error| Error::input(format!("--dir: {why}"));
        let options = studio::Options {
            directories: directories.collect::<std::io::Result<_>>().map_err(unknown)?,
            port: self.port,
            program: std::env::current_exe().map_err(|why| Error::failed(why.to_string()))?,
            language: Box::new(Ppl),
            announce: announcing(self.no_open),
            folder: self.folder.clone(),
        };
        let served = studio::serve(options);
        let name = self.folder.display();
        served.map(|()| Exit::Success).map_err(|why| {
            Error::input(format!("cannot serve {name}: {why}"))
                .help("FOLDER must be a folder, and --port a free port")
        })
    }
}

/// The path from the root on, without `..` as far as it is there.
fn whole(path: &Path) -> std::io::Result<PathBuf> {
    path.canonicalize().or_else(|_| std::path::absolute(path))
}

/// Prints addresses, and opens the first one.
fn announcing(no_open: bool) -> Box<dyn Fn(&str) + Send + Sync> {
    let is_open = AtomicBool::new(no_open);
    let is_first = AtomicBool::new(true);
    Box::new(move |address| {
        let title = match is_first.swap(false, Ordering::Relaxed) {
            true => "studio",
            false => "for another browser",
        };
        let _ = console::print(&format!("{title}: {address}\n"));
        if !is_open.swap(true, Ordering::Relaxed) {
            open(address);
        }
    })
}

/// Asks the desktop to open the address. There is none on servers.
fn open(address: &str) {
    let mut command = Command::new("xdg-open");
    command.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let _ = command.spawn();
}
