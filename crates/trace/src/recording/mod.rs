//! Recordings of `parabench record --via preload`: a file for each thread of each program.
//!
//! ```text
//! 17-17-3f2a.rec   header: thread 17 of process 17 executed a program at 3f2a
//!                  slot: read, fd 3, 4096 bytes, result 4096, from 1000 to 1200 ns
//!                  slot: openat, 6 bytes of text; slot: "/d/f\0\0.."
//! ```
//!
//! The files come from programs that may have been killed, or that write into them whatever they
//! like: each slot is checked. They are opened one at a time, for a piece each, so that a job of
//! many processes needs no descriptors; memory depends on threads that live at the same time.

mod file;
mod lost;
mod mpi;

use crate::functions::KINDS;
use crate::gaps::{Gap, Gaps};
use crate::record::{Act, At, Call, Fd, Name, Outcome, Record, Shares};
use crate::scanner::Scanner;
use crate::selection::Selection;
use crate::sums::Sums;
use file::{Birth, Recorded, Slot};
use hashbrown::HashMap;
use lost::Lost;
use model::Op;
use model::event::{RENAME_EXCHANGE, RENAME_NOREPLACE};
use model::open_flags::{O_CLOEXEC, O_CREAT, O_TRUNC};
use mpi::MpiIo;
use rustc_hash::FxBuildHasher;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::path::{Path, PathBuf};
use std::{fs, io};

pub use lost::FILE as LOST_FILE;

/// Ending of the names of files.
pub const ENDING: &str = "rec";

const AT_REMOVEDIR: u32 = 0x200;
const CLOSE_RANGE_CLOEXEC: u32 = 4;
const CLONE_FS: u32 = 0x200;
const CLONE_FILES: u32 = 0x400;

/// The next record of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Moment {
    Call,
    /// After its last call, and with its process, if that was seen to end.
    End,
}

/// How long a thread stays once its file is over.
#[derive(Clone, Copy, Debug, Default)]
struct Life {
    /// Until its process ends, and the last one that it started has begun: that one gets what it has open.
    until_ns: u64,
    /// It executes a program, which has a file of its own.
    goes_on: bool,
}

/// Reads a folder of such files, in the order of time.
pub struct Folder {
    files: Vec<Recorded>,
    lives: Vec<Life>,
    /// Times of the next calls, and of ends of threads.
    next: BinaryHeap<Reverse<(u64, Moment, usize)>>,
    /// The file whose call comes now, or whose thread ends.
    current: Option<(Moment, usize)>,
    count: u64,
    /// Files without a header.
    damaged: Vec<PathBuf>,
    lost: Vec<Lost>,
    mpi: MpiIo,
}

impl Folder {
    /// Looks at all files of a folder.
    ///
    /// # Errors
    /// The folder or a file cannot be read.
    pub fn open(folder: &Path) -> io::Result<Folder> {
        let (mut files, mut damaged) = (Vec::new(), Vec::new());
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.extension().is_none_or(|ending| ending != ENDING) {
                continue;
            }
            match Recorded::open(&path)? {
                Some(file) => files.push(file),
                None => damaged.push(path),
            }
        }
        files.sort_by_key(|file| (file.header.birth_ns, file.header.thread));
        let times = files.iter().enumerate();
        let next = times.map(|(at, file)| Reverse((file.time_ns(), Moment::Call, at))).collect();
        let (lives, lost, mpi) = (lives(&files), lost::read(folder)?, MpiIo::default());
        Ok(Folder { next, files, lives, damaged, lost, current: None, count: 0, mpi })
    }

    /// Threads that have initialised MPI, by their numbers, and their ranks.
    pub fn mpi_ranks(&self) -> impl Iterator<Item = (u64, u32)> {
        let rank = |file: &Recorded| Some((file.header.thread.into(), file.header.mpi_rank()?));
        self.files.iter().filter_map(rank)
    }

    /// Time that recording adds to a call: the median of the programs.
    fn call_ns(&self) -> u32 {
        let known = self.files.iter().map(|file| file.header.call_ns).filter(|ns| *ns > 0);
        let mut known: Vec<u32> = known.collect();
        known.sort_unstable();
        known.get(known.len() / 2).copied().unwrap_or(0)
    }

    /// The contents of the headers.
    fn tell(&mut self, gaps: &mut Gaps) {
        for path in std::mem::take(&mut self.damaged) {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            gaps.add_line(Gap::Unparsed, &name, 0, b"no header");
        }
        for lost in std::mem::take(&mut self.lost) {
            gaps.add_names(Gap::Dropped, &lost.program, lost.calls);
            gaps.add_names(Gap::Unseen, &lost.program, lost.programs);
        }
        for _ in self.files.iter().filter(|file| file.header.streams == 0) {
            gaps.add(Gap::Streams);
        }
    }
}

/// How long each thread stays; files in the order of their births.
fn lives(files: &[Recorded]) -> Vec<Life> {
    let mut lives = vec![Life::default(); files.len()];
    let mut latest: HashMap<u32, usize, FxBuildHasher> = HashMap::default();
    let end = |file: &Recorded| Some((file.header.process, file.header.process_end_ns()?));
    let ends: BTreeSet<(u32, u64)> = files.iter().filter_map(end).collect();
    for (at, file) in files.iter().enumerate() {
        let header = &file.header;
        // Numbers of processes come again.
        let end = ends.range((header.process, header.birth_ns)..).next();
        let end = end.filter(|(process, _)| *process == header.process);
        lives[at].until_ns = end.map_or(0, |(_, ns)| file.clock_ns(*ns));
        if let Some(parent) = latest.get(&header.parent) {
            let until_ns = &mut lives[*parent].until_ns;
            *until_ns = (*until_ns).max(file.time_ns());
        }
        let before = latest.insert(header.thread, at);
        if let Some(before) = before.filter(|_| header.birth() == Birth::Executed) {
            lives[before].goes_on = true;
        }
    }
    lives
}

impl Scanner for Folder {
    fn advance(&mut self, gaps: &mut Gaps) -> io::Result<Option<u64>> {
        if self.count == 0 {
            self.tell(gaps);
        }
        if let Some((Moment::Call, at)) = self.current.take() {
            let (goes_on, life) = (self.files[at].advance()?, self.lives[at]);
            let time_ns = self.files[at].time_ns();
            if goes_on {
                self.next.push(Reverse((time_ns, Moment::Call, at)));
            } else if !life.goes_on {
                self.next.push(Reverse((time_ns.max(life.until_ns), Moment::End, at)));
            }
        }
        let Some(Reverse((time_ns, moment, at))) = self.next.pop() else { return Ok(None) };
        self.current = Some((moment, at));
        self.count += u64::from(moment == Moment::Call);
        Ok(Some(time_ns))
    }

    fn record(&mut self, gaps: &mut Gaps) -> Option<Record<'_>> {
        let (moment, at) = self.current?;
        let (line, file) = (self.count, &self.files[at]);
        if moment == Moment::End {
            let end_ns = file.time_ns().max(self.lives[at].until_ns);
            let ended = Record::at(line, file.header.thread.into(), end_ns);
            return Some(Record { name: b"exit", call: Call::new(Act::Exit), ..ended });
        }
        let (process, parent) = (file.header.process, file.header.parent);
        let Some(slot) = file.slot() else {
            if file.header.birth() == Birth::Forked {
                self.mpi.forked(process, parent);
            }
            return Some(file.born(line));
        };
        let Some((name, act, _)) = KINDS.get(usize::from(slot.kind).wrapping_sub(1)) else {
            gaps.add(Gap::Impossible);
            return None;
        };
        let (text, text2) = file.texts();
        match *act {
            Act::Mpi(op) => self.mpi.call(process, op, text, slot),
            Act::Above => gaps.add_name(Gap::Above, text),
            Act::Execute => self.mpi.executes(process, text),
            Act::Opaque => {
                let name = [text, b" of ", self.mpi.program(process)].concat();
                gaps.add_names(Gap::Opaque, &name, u64::try_from(slot.value).unwrap_or(0));
            }
            _ => {}
        }
        if matches!(act, Act::Mpi(_) | Act::Above | Act::Opaque) {
            return None;
        }
        Some(Record {
            elapsed_ns: Some(slot.end_ns.saturating_sub(slot.start_ns)),
            name: name.as_bytes(),
            call: call(*act, slot, text, text2),
            outcome: Outcome { value: Some(slot.value), errno: slot.error, ..Outcome::default() },
            waited_ns: u64::from(slot.waited_us) * 1000,
            ..Record::at(line, file.header.thread.into(), file.clock_ns(slot.start_ns))
        })
    }

    fn count(&self) -> u64 {
        self.count
    }

    fn sums(&mut self, which: &Selection, sums: &mut Sums, gaps: &mut Gaps) -> io::Result<()> {
        self.mpi.tell(which, sums, gaps);
        sums.call_ns = sums.call_ns.max(self.call_ns());
        Ok(())
    }
}

/// The call of a slot.
fn call<'a>(act: Act<'static>, slot: &Slot, text: &'a [u8], text2: &'a [u8]) -> Call<'a> {
    // -1 is the current position, or no size.
    let offset = u64::try_from(slot.offset).ok();
    let file = |fd: i32, text| At { dir: Fd::bare(fd.into()), name: Name::plain(text) };
    let mut call = Call {
        at: file(slot.fd, text),
        to: file(slot.fd2, text2),
        offset,
        size_bytes: offset,
        bytes: slot.bytes,
        flags: slot.flags,
        ..Call::new(act)
    };
    match act {
        Act::Shown => call.at = At::open(Fd { shown: text, ..call.at.dir }),
        Act::CloseAtExec if slot.flags != 0 => call.flags = O_CLOEXEC,
        Act::CloseRange if slot.flags & CLOSE_RANGE_CLOEXEC != 0 => call.flags = O_CLOEXEC,
        // The offset of the other side stands where a name would.
        Act::Send | Act::On(Op::Fcopy | Op::Freflink) => {
            (call.at.name, call.to.name) = (Name::default(), Name::default());
            let other = text.try_into().ok().map(i64::from_ne_bytes);
            call.to_offset = other.and_then(|offset| u64::try_from(offset).ok());
        }
        Act::On(Op::Fcreat) => call.flags = 1 | O_CREAT | O_TRUNC,
        Act::On(Op::Fallocate) => call.flags = slot.offset as u32,
        Act::On(Op::Rename) => call.flags &= (RENAME_NOREPLACE | RENAME_EXCHANGE) as u32,
        Act::On(Op::Delete) if slot.flags & AT_REMOVEDIR != 0 => call.act = Act::On(Op::Rmdir),
        Act::Unshare(_) => call.act = Act::Unshare(shares(slot.flags)),
        _ => {}
    }
    call
}

/// The properties that flags of clone(2) and unshare(2) name.
fn shares(flags: u32) -> Shares {
    Shares { process: false, files: flags & CLONE_FILES != 0, directory: flags & CLONE_FS != 0 }
}

impl Recorded {
    /// The thread begins.
    fn born(&self, line: u64) -> Record<'static> {
        let (shares, is_new) = match self.header.birth() {
            Birth::Thread => (Shares::ALL, true),
            Birth::Forked => (shares(self.header.shares), true),
            Birth::Executed => (Shares::NOTHING, false),
        };
        let start_ns = self.clock_ns(self.header.birth_ns);
        let call = Call::new(Act::Begin { parent: self.header.parent.into(), shares, is_new });
        let elapsed_ns = Some(0);
        Record { elapsed_ns, call, ..Record::at(line, self.header.thread.into(), start_ns) }
    }
}

#[cfg(test)]
mod tests {
    use crate::Selection;
    use crate::import::from_recordings;
    use proptest::prelude::*;
    use std::fs;

    /// A header of a thread, and slots.
    fn file(thread: u32, words: &[u64], tail: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; 4096];
        bytes[..8].copy_from_slice(&0x0002_4345_5242_4150_u64.to_ne_bytes());
        bytes[12..16].copy_from_slice(&thread.to_ne_bytes());
        bytes.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
        bytes.extend(tail);
        bytes
    }

    /// start, end, value, offset, bytes, fd, flags and kind, lengths of texts.
    fn slot(kind: u64, value: u64, fd: u64, text: u64) -> [u64; 8] {
        [10, 20, value, u64::MAX, 4096, fd, kind << 32, text]
    }

    #[test]
    fn slots_become_events_and_a_cut_one_is_lost() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut words = slot(8, 3, u64::from(-100_i32 as u32), 4).to_vec();
        words.extend([u64::from_ne_bytes(*b"/d/f\0\0\0\0"), 0, 0, 0, 0, 0, 0, 0]);
        words.extend(slot(19, 4096, 3, 0));
        let bytes = file(7, &words, &slot(10, 0, 3, 0)[0].to_ne_bytes());
        fs::write(folder.path().join("a.rec"), bytes).expect("written");
        fs::write(folder.path().join("b.rec"), b"PABREC").expect("written");
        let folders = [("".into(), folder.path().to_path_buf())];
        let imported = from_recordings(&folders, &Selection::All).expect("events");
        let events: Vec<_> = imported.events.map(|event| event.expect("an event").event).collect();
        let shown: Vec<_> =
            events.iter().map(|e| (e.op, e.done_bytes, e.end_ns - e.start_ns)).collect();
        let (open, read) = (model::Op::Fopen as u8, model::Op::Fread as u8);
        assert_eq!(shown, [(open, 0, 10), (read, 4096, 10)]);
        assert_eq!(imported.facts.gaps[0].code, "unparsed-lines");
    }

    /// Thread 7 opens a file for 10 ns, then thread 8 for 15 ns: their ranks and times.
    #[test]
    fn a_skip_to_any_place_ends_the_file() {
        for power in 0..64 {
            let folder = tempfile::tempdir().expect("a folder");
            let mut words = slot(1, 0, 0, 0);
            words[4] = 1 << power;
            fs::write(folder.path().join("a.rec"), file(7, &words, &[])).expect("written");
            let folders = [("".into(), folder.path().to_path_buf())];
            let imported = from_recordings(&folders, &Selection::All);
            assert!(imported.is_ok_and(|imported| imported.events.count() == 0), "2^{power}");
        }
    }

    fn ranks_of(mpi: [u32; 2]) -> Vec<(u64, u64)> {
        let folder = tempfile::tempdir().expect("a folder");
        for (thread, mpi, times) in [(7, mpi[0], [10, 20]), (8, mpi[1], [30, 45])] {
            let mut words = slot(8, 3, u64::from(-100_i32 as u32), 4).to_vec();
            words[..2].copy_from_slice(&times);
            words.extend([u64::from_ne_bytes(*b"/d/f\0\0\0\0"), 0, 0, 0, 0, 0, 0, 0]);
            let mut bytes = file(thread, &words, &[]);
            bytes[52..56].copy_from_slice(&mpi.to_ne_bytes());
            fs::write(folder.path().join(format!("{thread}.rec")), bytes).expect("written");
        }
        let folders = [("".into(), folder.path().to_path_buf())];
        let imported = from_recordings(&folders, &Selection::All).expect("events");
        let events = imported.events.map(|event| event.expect("an event"));
        events.map(|e| (e.rank, e.event.end_ns - e.event.start_ns)).collect()
    }

    #[test]
    fn threads_have_their_ranks_of_mpi_where_those_are_of_one_job() {
        // The number in the header is the rank and 1.
        assert_eq!(ranks_of([2, 1]), [(0, 15), (1, 10)]);
        assert_eq!(ranks_of([0, 1]), [(0, 15), (1, 10)], "others follow");
        for mpi in [[0, 0], [1, 1], [9, 2], [u32::MAX, 1]] {
            assert_eq!(ranks_of(mpi), [(0, 10), (1, 15)], "{mpi:?}");
        }
    }

    /// Process 1 starts 2, which opens a file, and at 30 ns 3, which opens it, too: their ranks.
    fn ranks_of_children(end_of_first_ns: u64) -> Vec<u64> {
        let folder = tempfile::tempdir().expect("a folder");
        for (process, birth_ns, end_ns) in [(1, 1, 0), (2, 2, end_of_first_ns), (3, 30, 0)] {
            let mut words = slot(8, 3, u64::from(-100_i32 as u32), 4).to_vec();
            words[..2].copy_from_slice(&[birth_ns + 8, birth_ns + 9]);
            words.extend([u64::from_ne_bytes(*b"/d/f\0\0\0\0"), 0, 0, 0, 0, 0, 0, 0]);
            let mut bytes = file(process, if process == 1 { &[] } else { &words }, &[]);
            for (at, number) in [(8, process), (16, 1), (20, 2)] {
                bytes[at..at + 4].copy_from_slice(&u32::to_ne_bytes(number));
            }
            bytes[24..32].copy_from_slice(&u64::to_ne_bytes(birth_ns));
            bytes[56..64].copy_from_slice(&end_ns.to_ne_bytes());
            fs::write(folder.path().join(format!("{process}.rec")), bytes).expect("written");
        }
        let folders = [("".into(), folder.path().to_path_buf())];
        let imported = from_recordings(&folders, &Selection::All).expect("events");
        imported.events.map(|event| event.expect("an event").rank).collect()
    }

    #[test]
    fn a_process_lives_until_it_ends() {
        assert_eq!(ranks_of_children(0), [0, 0], "nobody saw more than its last call");
        assert_eq!(ranks_of_children(20), [0, 0]);
        // They are beside each other, and the first takes turns with its parent.
        assert_eq!(ranks_of_children(90), [0, 1]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]
        #[test]
        fn whatever_stands_in_a_file_it_is_read_to_its_end(
            files in prop::collection::vec(
                (0..3u32, prop::collection::vec(prop_oneof![0..100u64, any::<u64>()], 0..300),
                 prop::collection::vec(any::<u8>(), 0..70)), 1..4),
        ) {
            let folder = tempfile::tempdir().expect("a folder");
            for (at, (thread, words, tail)) in files.iter().enumerate() {
                let path = folder.path().join(format!("{at}.rec"));
                fs::write(path, file(*thread, words, tail)).expect("written");
            }
            let folders = [("".into(), folder.path().to_path_buf())];
            prop_assert!(from_recordings(&folders, &Selection::All).is_ok());
        }
    }
}
