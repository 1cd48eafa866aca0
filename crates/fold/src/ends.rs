//! Reads that met the end of a file which the program itself had written: it expects them to be short,
//! `with (expect="short") fread($log, 8k);`. Of other files nobody knows where the end will be.

use super::log::Log;
use super::logged::Logged;
use super::merged::{Merged, Place};
use model::Event;
use model::Op;
use model::event::NO_ID;
use model::op::Class;
use std::collections::{BTreeSet, HashSet};

/// The files that a program writes, by the numbers of their names.
#[derive(Debug, Default)]
pub struct Ends {
    written: HashSet<u32>,
}

impl Ends {
    /// Those of a log, under all names that they get in it.
    pub fn find(log: &Log) -> Ends {
        if !log.ranks.iter().flatten().any(|entry| is_short(&entry)) {
            return Ends::default();
        }
        let mut names = Names::default();
        for (_, entry) in Merged::new(log, |entry| entry.event.start_ns) {
            names.follow(log, &entry);
        }
        let ids = (0..).zip(&log.paths).filter(|(_, path)| names.written.contains(*path));
        Ends { written: ids.map(|(id, _)| id).collect() }
    }

    /// The operation is a read that met the end of one of them.
    pub fn met_by(&self, entry: &Logged) -> bool {
        self.written.contains(&entry.event.path) && is_short(entry)
    }
}

/// Last read of each rank at the end of a file: writes that extend the file came later.
#[derive(Clone, Debug, Default)]
pub struct Met {
    by: Vec<(Place, u64)>,
}

impl Met {
    /// A read ended at `end`, short of what it asked for if the file did.
    pub fn read(&mut self, event: &Event, place: Place, end: u64) {
        if event.done_bytes >= event.requested_bytes {
            return;
        }
        match self.by.iter_mut().find(|(known, _)| known.0 == place.0) {
            Some(known) => *known = (place, end),
            None => self.by.push((place, end)),
        }
    }

    /// Reads that met an end before this one.
    pub fn before(&self, end: u64) -> impl Iterator<Item = Place> + '_ {
        self.by.iter().filter(move |(_, met)| *met < end).map(|(place, _)| *place)
    }
}

fn is_short(entry: &Logged) -> bool {
    let reads = entry.op().is_some_and(|op| op.row().class == Class::Read);
    reads && entry.is_ok() && entry.event.done_bytes < entry.event.requested_bytes
}

/// Names of files that were written.
#[derive(Default)]
struct Names {
    written: BTreeSet<Vec<u8>>,
    /// Those that are known by number, too.
    known: HashSet<u32>,
}

impl Names {
    fn follow(&mut self, log: &Log, entry: &Logged) {
        let Some(op) = entry.op() else { return };
        let (from, to) = (entry.event.path, entry.event.path2);
        match op {
            Op::Rename | Op::Link | Op::Linkat if entry.is_ok() => {
                self.renamed(log.path(from), log.path(to));
            }
            _ if op.row().class == Class::Write && entry.event.done_bytes > 0 => {
                let path = if to == NO_ID { from } else { to };
                if self.known.insert(path) {
                    self.written.insert(log.path(path).to_vec());
                }
            }
            _ => {}
        }
    }

    /// A file, or all files below a directory, have another name.
    fn renamed(&mut self, from: &[u8], to: &[u8]) {
        let below = [from, b"/"].concat();
        let files = self.written.range(below.clone()..);
        let files = files.take_while(|name| name.starts_with(&below));
        let mut moved: Vec<Vec<u8>> =
            files.map(|name| [to, &name[from.len()..]].concat()).collect();
        if self.written.contains(from) {
            moved.push(to.to_vec());
        }
        self.written.extend(moved);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(operations: &[(Op, u32, u32, u64, u64)]) -> Log {
        let entry = |(at, (op, path, path2, asked, done)): (u64, &(Op, u32, u32, u64, u64))| {
            let mut entry = Logged::default();
            (entry.event.op, entry.event.path, entry.event.path2) = (*op as u8, *path, *path2);
            (entry.event.requested_bytes, entry.event.done_bytes) = (*asked, *done);
            (entry.event.start_ns, entry.event.end_ns) = (at, at);
            entry
        };
        let names = ["a", "b", "d/f", "d", "e", "e/f", "old"];
        Log {
            paths: names.iter().map(|name| name.as_bytes().to_vec()).collect(),
            ranks: vec![(0..).zip(operations).map(entry).collect()],
            ..Log::default()
        }
    }

    #[test]
    fn reads_meet_the_ends_of_files_that_were_written_under_any_name() {
        let log = log(&[
            (Op::Fwrite, 0, NO_ID, 10, 10),
            (Op::Fread, 0, NO_ID, 20, 10),
            (Op::Fread, 0, NO_ID, 10, 10),
            (Op::Rename, 0, 1, 0, 0),
            (Op::Fread, 1, NO_ID, 20, 0),
            (Op::Fwrite, 2, NO_ID, 10, 10),
            (Op::Rename, 3, 4, 0, 0),
            (Op::Fread, 5, NO_ID, 20, 10),
            (Op::Fread, 6, NO_ID, 20, 10),
        ]);
        let ends = Ends::find(&log);
        let met: Vec<bool> = log.ranks[0].iter().map(|entry| ends.met_by(&entry)).collect();
        assert_eq!(met, [false, true, false, false, true, false, false, true, false]);
    }
}
