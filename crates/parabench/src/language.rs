//! The language service over files and the library of programs.

use crate::library;
use crate::loader::{Includes, data_of};
use editor::{Host, Program, Session};
use ppl::{Files, Loader};

/// A session's files: the folder of each program, and the programs that come with Parabench.
pub struct Disk;

impl Host for Disk {
    fn loader(&self, root: &str) -> Box<dyn Loader> {
        Box::new(Includes::new(root, &[]))
    }

    fn files(&self, root: &str) -> Files {
        data_of(root, &[])
    }

    fn programs(&self) -> Vec<Program> {
        let program = |one: &library::Embedded, is_library| Program {
            name: one.name.into(),
            title: one.title(),
            text: one.text.into(),
            is_library,
        };
        let programs = library::programs().map(|one| program(one, false));
        programs.chain(library::LIBRARIES.iter().map(|one| program(one, true))).collect()
    }
}

/// A session over files.
pub fn session() -> Session {
    Session::new(Box::new(Disk))
}
