//! The work of ranks on one file, from its counters: transfers in parts of equal size, and where they lie.
//!
//! Counts and bytes come from the log. The rest follows rules, which docs/fold.md lists.

use model::run::{TraceFile, TraceSize};
use std::cmp::Reverse;

/// Largest count of a file: 1,000,000,000,000 and more. With any rank it is still a number of the language.
const COUNT_MAX: u64 = 1 << 40;
/// Most bytes of a file.
const BYTES_MAX: u64 = 1 << 60;

/// Calls that a file is worked with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Layer {
    /// Plain calls.
    Posix,
    /// Streams of the C library.
    Stdio,
    /// MPI-IO.
    Mpi,
}

/// Ranks that work on a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Who {
    /// One; `None`: the log does not have its number.
    One(Option<u32>),
    /// The first ones of the job, in this number.
    First(u32),
    /// All.
    All,
}

/// Rule of the offsets of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// One behind the other, the first at `start`, with `gap` bytes between them.
    Row,
    /// As `Row` without gaps; behind the last of `slots` the first one follows.
    Again,
    /// In random order, each in one of `slots`.
    Random,
}

/// Transfers of one size.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// Number, of all ranks together.
    pub count: i64,
    /// Bytes of each.
    pub size: i64,
    /// Where they lie.
    pub place: Place,
    /// Offset of the first one.
    pub start: i64,
    /// Bytes between two.
    pub gap: i64,
    /// Number of places that the file has for them.
    pub slots: i64,
    /// Every rank has the same number of them.
    pub is_even: bool,
}

/// When a file is made stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Sync {
    /// Never.
    Never,
    /// Before each close.
    AtClose,
    /// After each write.
    AtWrite,
}

/// The work on one file.
#[derive(Clone, Debug)]
pub struct Work {
    /// Its path in the program.
    pub path: String,
    /// Its calls.
    pub layer: Layer,
    /// Its ranks.
    pub who: Who,
    /// Opens of each rank, 1 at least.
    pub opens: i64,
    /// Reads.
    pub reads: Vec<Part>,
    /// Writes.
    pub writes: Vec<Part>,
    /// Reads come before writes: the file is there before.
    pub reads_first: bool,
    /// Other layers work on the same file.
    pub is_in_layers: bool,
    /// Transfers are collective calls.
    pub is_collective: bool,
    /// Its fsyncs.
    pub sync: Sync,
    /// Calls of stat after each use.
    pub stats: u64,
    /// When it was opened first, nanoseconds since the job began.
    pub first_open_ns: u64,
    /// Means alone: one of many that would differ too much.
    is_simple: bool,
}

/// Bytes and number of the transfers in one direction.
#[derive(Clone, Copy, Debug, Default)]
struct Amount {
    count: u64,
    bytes: u64,
}

impl Layer {
    /// The layer of a module of the log, if a program can use it.
    pub fn of_module(module: &str) -> Option<Layer> {
        [Layer::Posix, Layer::Stdio, Layer::Mpi].into_iter().find(|layer| layer.name() == module)
    }

    /// Its name in the log.
    pub fn name(self) -> &'static str {
        match self {
            Layer::Posix => "POSIX",
            Layer::Stdio => "STDIO",
            Layer::Mpi => "MPI-IO",
        }
    }
}

impl Amount {
    /// Bytes that nobody counted the transfers of are one transfer.
    fn new(count: Option<u64>, bytes: Option<u64>) -> Amount {
        let bytes = bytes.unwrap_or(0).min(BYTES_MAX);
        Amount { count: count.unwrap_or(0).clamp(u64::from(bytes > 0), COUNT_MAX), bytes }
    }

    /// Divides the transfers by size. What common sizes do not explain has the mean of the rest.
    fn by_size(mut self, common: &mut [TraceSize]) -> Vec<Amount> {
        let mut parts = Vec::new();
        let is_even = self.bytes.is_multiple_of(self.count);
        let mean = self.bytes.checked_div(self.count).unwrap_or(0);
        if !is_even || common.iter().any(|size| size.bytes > mean && size.count > 0) {
            common.sort_by_key(|size| Reverse(size.bytes));
            common.iter_mut().for_each(|size| parts.extend(self.take(size)));
        }
        let more = self.bytes.checked_rem(self.count).unwrap_or(0);
        let mean = self.bytes.checked_div(self.count).unwrap_or(0);
        let of_size = |count, size| Amount { count, bytes: count * size };
        parts.extend([of_size(self.count - more, mean), of_size(more, mean + 1)]);
        parts.retain(|part| part.count > 0);
        parts
    }

    /// Takes the transfers of a common size away.
    fn take(&mut self, size: &mut TraceSize) -> Option<Amount> {
        let fitting = self.bytes.checked_div(size.bytes)?;
        let mut count = size.count.min(self.count).min(fitting);
        // The last transfers take the bytes that are left.
        if count == self.count && count > 0 && count * size.bytes != self.bytes {
            count -= 1;
        }
        let taken = Amount { count, bytes: count * size.bytes };
        size.count -= count;
        self.count -= count;
        self.bytes -= taken.bytes;
        (count > 0).then_some(taken)
    }
}

/// How far the accesses of a file follow each other.
fn place(file: &TraceFile, ranks: u64) -> (Place, bool) {
    let transfers = file.reads.unwrap_or(0).saturating_add(file.writes.unwrap_or(0));
    let moves = u128::from(transfers.saturating_sub(ranks));
    let is_most = |count: Option<u64>| count.is_none_or(|it| u128::from(it) * 4 >= moves * 3);
    match (is_most(file.consecutive), is_most(file.sequential)) {
        (true, _) => (Place::Row, false),
        (false, true) => (Place::Row, true),
        _ => (Place::Random, false),
    }
}

/// Puts parts of a direction into a file of `size_bytes`, as far as that is known.
fn laid_out(amounts: &[Amount], size_bytes: Option<u64>, rule: (Place, bool)) -> Vec<Part> {
    let bytes: u64 = amounts.iter().map(|part| part.bytes).sum();
    let count: u64 = amounts.iter().map(|part| part.count).sum();
    let size_bytes = size_bytes.unwrap_or(bytes).min(BYTES_MAX);
    let gap = match rule {
        (_, true) => size_bytes.saturating_sub(bytes).checked_div(count).unwrap_or(0),
        _ => 0,
    };
    let place = match rule.0 {
        Place::Row if bytes > size_bytes => Place::Again,
        place => place,
    };
    let mut start = 0;
    let part = |amount: &Amount| {
        let size = amount.bytes / amount.count;
        let slots = size_bytes.checked_div(size).unwrap_or(1).clamp(1, COUNT_MAX);
        let number = |number: u64| number as i64;
        let part = Part {
            count: number(amount.count),
            size: number(size),
            place,
            start: number(start),
            gap: number(gap),
            slots: number(slots),
            is_even: false,
        };
        start += amount.count * (size + gap);
        part
    };
    amounts.iter().map(part).collect()
}

impl Part {
    /// Bytes of all its transfers.
    pub fn bytes(&self) -> i128 {
        i128::from(self.count) * i128::from(self.size)
    }

    /// Bytes up to here are there once the part has been written.
    fn end(&self) -> i64 {
        match self.place {
            Place::Row => self.start + (self.count - 1) * (self.size + self.gap) + self.size,
            Place::Again | Place::Random => self.count.min(self.slots) * self.size,
        }
    }
}

impl Work {
    /// The work on a file of a job of `ranks` ranks.
    pub fn new(file: &TraceFile, path: String, layer: Layer, ranks: u32) -> Work {
        let who = match file.ranks {
            0 | 1 => Who::One(file.rank.filter(|rank| *rank < ranks)),
            some if some < u64::from(ranks) => Who::First(some as u32),
            _ if ranks == 1 => Who::One(None),
            _ => Who::All,
        };
        let mut work = Work {
            path,
            layer,
            who,
            opens: 1,
            reads: Vec::new(),
            writes: Vec::new(),
            reads_first: false,
            is_in_layers: false,
            is_collective: false,
            sync: Sync::Never,
            stats: 0,
            first_open_ns: file.first_open_ns.unwrap_or(u64::MAX),
            is_simple: false,
        };
        let opens = file.opens.unwrap_or(0).min(COUNT_MAX) as i64;
        work.opens = (opens / work.members(ranks)).max(1);
        work.transfer(file, ranks);
        work
    }

    /// Ranks that work on it, in a job of `ranks` ranks.
    pub fn members(&self, ranks: u32) -> i64 {
        match self.who {
            Who::One(_) => 1,
            Who::First(some) => some.into(),
            Who::All => ranks.into(),
        }
    }

    /// It is read and written, and its writes make less than three quarters of it. Those of some ranks only could
    /// come after the reads of others.
    fn needs_file(&self, file: &TraceFile) -> bool {
        let written = file.amounts.written_bytes.unwrap_or(0);
        let covered = file.size_bytes.or(file.amounts.read_bytes).unwrap_or(0);
        let longest = self.reads.iter().map(|part| part.size).max().unwrap_or(0);
        let is_made = written >= covered - covered / 4
            && !matches!(self.who, Who::First(_))
            && longest <= self.written_end();
        self.is_updated() && !is_made
    }

    /// It is written by plain calls.
    pub fn is_written_by_posix(&self) -> bool {
        self.layer == Layer::Posix && !self.writes.is_empty()
    }

    /// It is read and written.
    pub fn is_updated(&self) -> bool {
        !self.reads.is_empty() && !self.writes.is_empty()
    }

    /// Bytes of the file after its writes.
    fn written_end(&self) -> i64 {
        self.writes.iter().map(Part::end).max().unwrap_or(0)
    }

    fn transfer(&mut self, file: &TraceFile, ranks: u32) {
        let amounts = &file.amounts;
        let reads = Amount::new(file.reads, amounts.read_bytes);
        let writes = Amount::new(file.writes, amounts.written_bytes);
        let mut common = file.common_sizes.clone();
        let (reads, writes) = match reads.count > writes.count {
            true => {
                let reads = reads.by_size(&mut common);
                (reads, writes.by_size(&mut common))
            }
            false => {
                let writes = writes.by_size(&mut common);
                (reads.by_size(&mut common), writes)
            }
        };
        self.place(file, &reads, &writes, ranks);
        let transfers = reads.iter().chain(&writes).map(|part| part.count).sum::<u64>();
        let collective = file.collective.unwrap_or(0);
        self.is_collective = self.who == Who::All
            && collective.saturating_mul(2) > transfers
            && self.layer == Layer::Mpi;
    }

    fn place(&mut self, file: &TraceFile, reads: &[Amount], writes: &[Amount], ranks: u32) {
        let members = self.members(ranks) as u64;
        let rule = place(file, members);
        self.writes = laid_out(writes, file.size_bytes, rule);
        self.reads = laid_out(reads, file.size_bytes, rule);
        self.reads_first = self.needs_file(file);
        if self.is_updated() && !self.reads_first {
            self.reads = laid_out(reads, Some(self.written_end() as u64), rule);
        }
        let parts = self.reads.iter_mut().chain(&mut self.writes);
        parts.for_each(|part| part.is_even = (part.count as u64).is_multiple_of(members));
    }

    /// Every open of every rank has the same transfers. Not of a file that is written, then read: a read could ask
    /// for what a later open writes.
    pub fn is_opened_evenly(&self, ranks: u32) -> bool {
        let each = self.members(ranks).saturating_mul(self.opens);
        let is_even = self.parts().all(|part| part.count % each == 0);
        let is_read_back = self.is_updated() && !self.reads_first;
        let has_parts = self.parts().next().is_some();
        is_even && has_parts && self.opens > 1 && !is_read_back && !self.is_simple
    }

    /// Closes of each rank after transfers.
    pub fn closes(&self, ranks: u32) -> u64 {
        if self.is_opened_evenly(ranks) { self.opens as u64 } else { 1 }
    }

    /// Parts of both directions.
    fn parts(&self) -> impl Iterator<Item = &Part> {
        self.reads.iter().chain(&self.writes)
    }

    /// Bytes read and written.
    pub fn bytes(&self) -> i128 {
        self.parts().map(Part::bytes).sum()
    }

    /// Forgets what makes the work on many files differ: sizes become means.
    pub fn simplify(&mut self) {
        self.is_simple = true;
        self.is_collective = false;
        self.reads_first = self.is_updated();
        for parts in [&mut self.reads, &mut self.writes] {
            let Some(first) = parts.first().copied() else { continue };
            let bytes: i64 = parts.iter().map(|part| part.count * part.size).sum();
            let count: i64 = parts.iter().map(|part| part.count).sum();
            let (mean, more) = (bytes / count, bytes % count);
            let slots = parts.iter().map(|part| part.slots).min().unwrap_or(1);
            let part = |count, size| Part {
                count,
                size,
                place: Place::Again,
                slots,
                is_even: false,
                ..first
            };
            *parts = vec![part(count - more, mean), part(more, mean + 1)];
        }
    }
}
