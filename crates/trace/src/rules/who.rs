//! Names of processes, threads and descriptors in a log -> numbers.

use super::field::{Field, Fields};
use super::meaning::Complaint;
use hashbrown::HashMap;
use hashbrown::hash_map::EntryRef;
use rustc_hash::{FxBuildHasher, FxHasher};
use std::hash::Hasher;

/// Largest rank that is accepted.
const RANK_MAX: u64 = 1 << 24;
/// Numbers of threads whose names are no numbers of their own begin here.
const NAMED_FROM: u64 = 1 << 32;
/// Descriptors that are no numbers get those from here on.
const HANDLES_FROM: i64 = 1 << 30;

type Map<V> = HashMap<Box<[u8]>, V, FxBuildHasher>;

/// A thread of a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Thread {
    /// Its number for the resolver: the log's, if it is one that no other thread has.
    pub number: u64,
    /// Number of its process.
    pub process: u64,
    /// The first thread that shares descriptors with it.
    pub shares: u64,
    program: u64,
}

/// All threads seen so far.
#[derive(Clone, Debug, Default)]
pub struct Threads {
    known: Map<Thread>,
    numbers: HashMap<u64, (), FxBuildHasher>,
    scopes: Map<u64>,
    processes: Map<u64>,
    named: u64,
    key: Vec<u8>,
}

impl Threads {
    /// The thread of a line, and whether it must be introduced: it is new, or executes another program.
    pub fn find_or_begin(&mut self, fields: &Fields) -> Result<(Thread, bool), Complaint> {
        let program = hash(fields.get(Field::Program).unwrap_or_default());
        let mut key = std::mem::take(&mut self.key);
        join(&mut key, fields, &[Field::Host, Field::Process, Field::Thread, Field::Rank]);
        let known = self.known.get_mut(&key[..]);
        let found = match known {
            Some(thread) => {
                let changed = thread.program != program && fields.get(Field::Program).is_some();
                thread.program = if changed { program } else { thread.program };
                Ok((*thread, changed))
            }
            None => self.begin(fields).map(|thread| {
                let thread = Thread { program, ..thread };
                self.known.insert(key.as_slice().into(), thread);
                (thread, true)
            }),
        };
        self.key = key;
        found
    }

    fn begin(&mut self, fields: &Fields) -> Result<Thread, Complaint> {
        let number = match fields.get(Field::Rank) {
            Some(rank) => {
                let known = decimal(rank).filter(|rank| *rank <= RANK_MAX);
                known.ok_or_else(|| Complaint::unexpected(Field::Rank, rank, "a rank"))?
            }
            None => {
                let name = fields.get(Field::Thread).or(fields.get(Field::Process));
                self.number(name.unwrap_or(b"0"))
            }
        };
        let mut key = Vec::new();
        join(&mut key, fields, &[Field::Host, Field::Process, Field::Rank]);
        let process = match fields.get(Field::Process).map(decimal) {
            Some(Some(process)) => process,
            _ => *self.processes.entry(key.as_slice().into()).or_insert(number),
        };
        let shares = *self.scopes.entry(key.into_boxed_slice()).or_insert(number);
        Ok(Thread { number, process, shares, program: 0 })
    }

    /// The number that a name is, if no other thread has it.
    fn number(&mut self, name: &[u8]) -> u64 {
        let own = decimal(name).filter(|own| *own < NAMED_FROM);
        if let Some(own) = own.filter(|own| !self.numbers.contains_key(own)) {
            self.numbers.insert(own, ());
            return own;
        }
        self.named += 1;
        NAMED_FROM + self.named - 1
    }
}

/// Descriptors that are texts, while they are open.
#[derive(Clone, Debug, Default)]
pub struct Handles {
    known: Map<i64>,
    free: Vec<i64>,
    next: i64,
    key: Vec<u8>,
}

impl Handles {
    /// The number of a descriptor that a thread uses.
    pub fn number(&mut self, thread: Thread, text: &[u8]) -> i64 {
        let own = decimal(text).and_then(|own| i64::try_from(own).ok());
        if let Some(own) = own.filter(|own| *own < HANDLES_FROM) {
            return own;
        }
        self.set_key(thread, text);
        match self.known.entry_ref(&self.key[..]) {
            EntryRef::Occupied(entry) => *entry.get(),
            EntryRef::Vacant(entry) => {
                let number = self.free.pop().unwrap_or_else(|| {
                    self.next += 1;
                    HANDLES_FROM + self.next - 1
                });
                *entry.insert(number)
            }
        }
    }

    /// It is closed: the text may come to mean something else.
    pub fn close(&mut self, thread: Thread, text: &[u8]) {
        self.set_key(thread, text);
        self.free.extend(self.known.remove(&self.key[..]));
    }

    fn set_key(&mut self, thread: Thread, text: &[u8]) {
        self.key.clear();
        self.key.extend_from_slice(&thread.shares.to_le_bytes());
        self.key.extend_from_slice(text);
    }
}

fn join(key: &mut Vec<u8>, fields: &Fields, parts: &[Field]) {
    key.clear();
    for part in parts {
        let text = fields.get(*part).unwrap_or_default();
        key.extend_from_slice(&(text.len() as u32).to_le_bytes());
        key.extend_from_slice(text);
    }
}

fn hash(text: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(text);
    hasher.finish()
}

/// A number of plain digits.
pub fn decimal(text: &[u8]) -> Option<u64> {
    let plain = text.len() <= 20 && text.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(text).ok().filter(|_| plain)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(texts: &[(Field, &str)]) -> Fields {
        let mut fields = Fields::default();
        texts.iter().for_each(|(field, text)| fields.set(*field, text.as_bytes()));
        fields
    }

    #[test]
    fn threads_keep_their_numbers_where_these_are_their_own() {
        let mut threads = Threads::default();
        let mut of = |process: &str, thread: &str| {
            let fields = fields(&[(Field::Process, process), (Field::Thread, thread)]);
            let (found, is_new) = threads.find_or_begin(&fields).unwrap();
            (found.number, found.process, found.shares, is_new)
        };
        assert_eq!(of("10", "1"), (1, 10, 1, true));
        assert_eq!(of("10", "2"), (2, 10, 1, true));
        assert_eq!(of("11", "1"), (NAMED_FROM, 11, NAMED_FROM, true));
        assert_eq!(of("10", "1"), (1, 10, 1, false));
        assert_eq!(of("x", "main").1, NAMED_FROM + 1);
    }

    #[test]
    fn a_changed_program_is_introduced() {
        let mut threads = Threads::default();
        let mut of = |program: &str| {
            let fields = fields(&[(Field::Rank, "7"), (Field::Program, program)]);
            threads.find_or_begin(&fields).unwrap().1
        };
        assert_eq!(["a", "a", "b", "", "b"].map(&mut of), [true, false, true, false, false]);
        let rank = fields(&[(Field::Rank, "99999999999")]);
        assert!(threads.find_or_begin(&rank).is_err());
    }

    #[test]
    fn a_descriptor_that_is_closed_makes_room() {
        let mut handles = Handles::default();
        let (a, b) = (Thread { shares: 1, ..Thread::default() }, Thread::default());
        assert_eq!(handles.number(a, b"7"), 7);
        let first = handles.number(a, b"0x55aa");
        assert_eq!((first, handles.number(a, b"0x55aa")), (HANDLES_FROM, HANDLES_FROM));
        assert_eq!(handles.number(b, b"0x55aa"), HANDLES_FROM + 1);
        handles.close(a, b"0x55aa");
        assert_eq!(handles.number(a, b"0x66bb"), HANDLES_FROM);
    }
}
