//! The operations of a rank, packed: some ten bytes each where they are regular, so that tens of
//! millions fit into memory.
//!
//! The repeating part (operation, names, size, open file) is a kind and stored once. An operation is its
//! kind and the differences of its times and its place from the operation before. Kinds that do not repeat
//! are stored with their operations. Blocks are independent, so that any operation is found without
//! reading all before it.

use super::logged::Logged;
use model::Op;
use model::event::{Details, Event};
use model::op::Part;
use std::collections::HashMap;

/// Operations of a block.
const BLOCK: usize = 64;
/// Most kinds that are stored once: their numbers take two bytes.
const KINDS_MAX: usize = 1 << 14;

/// Operations in order of start.
#[derive(Clone, Debug, Default)]
pub struct Events {
    kinds: Vec<Kind>,
    numbers: HashMap<Kind, u32>,
    bytes: Vec<u8>,
    blocks: Vec<Block>,
    len: usize,
    last: State,
}

/// The repeating part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Kind {
    op: u8,
    flags: u8,
    errno: u16,
    site: u32,
    label: u32,
    path: u32,
    path2: u32,
    pieces: u32,
    extents: u32,
    log: u32,
    instance: u32,
    instance2: u32,
    file: u32,
    open_flags: u32,
    requested_bytes: u64,
    done_bytes: u64,
    /// From where a copy writes to where it reads.
    shift_bytes: u64,
    syncs: bool,
}

/// Numbers of a kind.
const FIELDS: usize = 18;

/// The part that differs from operation to operation.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    start_ns: u64,
    end_bytes: u64,
    line: u64,
}

/// Where a block begins, and what came before it.
#[derive(Clone, Copy, Debug)]
struct Block {
    byte: usize,
    before: State,
}

impl Events {
    /// Adds the next one.
    pub fn push(&mut self, entry: &Logged) {
        if self.len.is_multiple_of(BLOCK) {
            self.blocks.push(Block { byte: self.bytes.len(), before: self.last });
        }
        self.put_kind(Kind::new(entry));
        let event = &entry.event;
        self.put(zigzag(event.start_ns.wrapping_sub(self.last.start_ns)));
        self.put(zigzag(event.end_ns.wrapping_sub(event.start_ns)));
        self.put(zigzag(event.offset_bytes.wrapping_sub(self.last.end_bytes)));
        self.put(zigzag(entry.details.line.wrapping_sub(self.last.line)));
        self.put(entry.details.waited_us);
        self.last = State {
            start_ns: event.start_ns,
            end_bytes: event.offset_bytes.wrapping_add(event.done_bytes),
            line: entry.details.line,
        };
        self.len += 1;
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.len
    }

    /// None.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The first one.
    pub fn first(&self) -> Option<Logged> {
        self.get(0)
    }

    /// The one with this number.
    pub fn get(&self, at: usize) -> Option<Logged> {
        self.from(at).next()
    }

    /// All.
    pub fn iter(&self) -> Iter<'_> {
        self.from(0)
    }

    /// Those from this number on.
    pub fn from(&self, at: usize) -> Iter<'_> {
        let at = at.min(self.len);
        let block = at / BLOCK;
        let mut iter = Iter { events: self, at: block * BLOCK, byte: 0, last: State::default() };
        if let Some(block) = self.blocks.get(block) {
            (iter.byte, iter.last) = (block.byte, block.before);
        }
        while iter.at < at && iter.next().is_some() {}
        iter
    }

    /// How many begin before a time.
    pub fn begun_before(&self, ns: u64) -> usize {
        let block = self.blocks.partition_point(|block| block.before.start_ns < ns);
        let from = block.saturating_sub(1) * BLOCK;
        let more = self.from(from).take_while(|entry| entry.event.start_ns < ns);
        from + more.count()
    }

    /// Changes every one.
    pub fn change(&mut self, mut change: impl FnMut(&mut Logged)) {
        let all = std::mem::take(self);
        for mut entry in all.iter() {
            change(&mut entry);
            self.push(&entry);
        }
    }

    /// Keeps some.
    pub fn retain(&mut self, mut keeps: impl FnMut(&Logged) -> bool) {
        let all = std::mem::take(self);
        *self = all.iter().filter(|entry| keeps(entry)).collect();
    }

    /// The number of a kind, from 1; or 0, and all of it.
    fn put_kind(&mut self, kind: Kind) {
        let known = self.numbers.get(&kind).copied();
        let number = known.or_else(|| {
            let number = self.kinds.len() as u32 + 1;
            (number as usize <= KINDS_MAX).then(|| {
                self.kinds.push(kind);
                self.numbers.insert(kind, number);
                number
            })
        });
        self.put(number.unwrap_or(0).into());
        if number.is_none() {
            kind.numbers().into_iter().for_each(|number| self.put(number));
        }
    }

    /// Seven bits in each byte, the lowest first; the highest bit tells that more follow.
    fn put(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }
}

impl FromIterator<Logged> for Events {
    fn from_iter<T: IntoIterator<Item = Logged>>(all: T) -> Events {
        let mut events = Events::default();
        all.into_iter().for_each(|entry| events.push(&entry));
        events
    }
}

impl<'a> IntoIterator for &'a Events {
    type Item = Logged;
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

/// Gives operations one after the other.
#[derive(Clone, Debug)]
pub struct Iter<'a> {
    events: &'a Events,
    at: usize,
    byte: usize,
    last: State,
}

impl Iter<'_> {
    fn take(&mut self) -> u64 {
        let (mut number, mut shift) = (0, 0);
        loop {
            let byte = self.events.bytes[self.byte];
            self.byte += 1;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return number;
            }
            shift += 7;
        }
    }
}

impl Iterator for Iter<'_> {
    type Item = Logged;

    fn next(&mut self) -> Option<Logged> {
        if self.at == self.events.len {
            return None;
        }
        self.at += 1;
        let kind = match (self.take() as usize).checked_sub(1) {
            Some(number) => self.events.kinds[number],
            None => Kind::of_numbers(std::array::from_fn(|_| self.take())),
        };
        let start_ns = self.last.start_ns.wrapping_add(unzigzag(self.take()));
        let end_ns = start_ns.wrapping_add(unzigzag(self.take()));
        let offset_bytes = self.last.end_bytes.wrapping_add(unzigzag(self.take()));
        let line = self.last.line.wrapping_add(unzigzag(self.take()));
        let waited_us = self.take();
        let end_bytes = offset_bytes.wrapping_add(kind.done_bytes);
        self.last = State { start_ns, end_bytes, line };
        let mut logged = kind.logged(start_ns, end_ns, offset_bytes, line);
        logged.details.waited_us = waited_us;
        Some(logged)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.events.len - self.at;
        (left, Some(left))
    }
}

impl Kind {
    fn new(entry: &Logged) -> Kind {
        let Logged { event, details } = entry;
        Kind {
            op: event.op,
            flags: event.flags,
            errno: event.errno,
            site: event.site,
            label: event.label,
            path: event.path,
            path2: event.path2,
            pieces: event.pieces,
            extents: event.extents,
            log: details.log,
            instance: details.instance,
            instance2: details.instance2,
            file: details.file,
            open_flags: details.open_flags,
            requested_bytes: event.requested_bytes,
            done_bytes: event.done_bytes,
            shift_bytes: match copies(event.op) {
                true => event.from_bytes.wrapping_sub(event.offset_bytes),
                false => 0,
            },
            syncs: event.parts_ns[Part::Sync as usize] > 0,
        }
    }

    /// All of it; ids count from 1, because many are none, which is then 0.
    fn numbers(&self) -> [u64; FIELDS] {
        let id = |id: u32| u64::from(id.wrapping_add(1));
        [
            self.op.into(),
            self.flags.into(),
            self.errno.into(),
            id(self.site),
            id(self.label),
            id(self.path),
            id(self.path2),
            self.pieces.into(),
            self.extents.into(),
            id(self.log),
            id(self.instance),
            id(self.file),
            id(self.open_flags),
            self.requested_bytes,
            self.requested_bytes.wrapping_sub(self.done_bytes),
            self.syncs.into(),
            id(self.instance2),
            self.shift_bytes,
        ]
    }

    /// The kind whose numbers these are.
    fn of_numbers(numbers: [u64; FIELDS]) -> Kind {
        let id = |at: usize| (numbers[at] as u32).wrapping_sub(1);
        Kind {
            op: numbers[0] as u8,
            flags: numbers[1] as u8,
            errno: numbers[2] as u16,
            site: id(3),
            label: id(4),
            path: id(5),
            path2: id(6),
            pieces: numbers[7] as u32,
            extents: numbers[8] as u32,
            log: id(9),
            instance: id(10),
            file: id(11),
            open_flags: id(12),
            requested_bytes: numbers[13],
            done_bytes: numbers[13].wrapping_sub(numbers[14]),
            syncs: numbers[15] != 0,
            instance2: id(16),
            shift_bytes: numbers[17],
        }
    }

    fn logged(&self, start_ns: u64, end_ns: u64, offset_bytes: u64, line: u64) -> Logged {
        let mut event = Event {
            start_ns,
            end_ns,
            offset_bytes,
            requested_bytes: self.requested_bytes,
            done_bytes: self.done_bytes,
            site: self.site,
            label: self.label,
            path: self.path,
            path2: self.path2,
            errno: self.errno,
            op: self.op,
            flags: self.flags,
            pieces: self.pieces,
            extents: self.extents,
            from_bytes: match copies(self.op) {
                true => offset_bytes.wrapping_add(self.shift_bytes),
                false => 0,
            },
            ..Event::default()
        };
        // How long it took is not kept, only that it took time.
        event.parts_ns[Part::Sync as usize] = u64::from(self.syncs);
        let details = Details {
            line,
            log: self.log,
            instance: self.instance,
            instance2: self.instance2,
            file: self.file,
            open_flags: self.open_flags,
            ..Details::default()
        };
        Logged { event, details }
    }
}

/// It reads at a place of its own.
fn copies(op: u8) -> bool {
    matches!(Op::from_u8(op), Some(Op::Copy | Op::Fcopy | Op::Freflink))
}

/// Small numbers for small differences, whatever their sign.
fn zigzag(difference: u64) -> u64 {
    (difference << 1) ^ ((difference as i64) >> 63) as u64
}

fn unzigzag(number: u64) -> u64 {
    (number >> 1) ^ (number & 1).wrapping_neg()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(at: u64) -> Logged {
        let mut entry = Logged::default();
        (entry.event.op, entry.event.path) = ((at % 3) as u8, (at % 5) as u32);
        (entry.event.start_ns, entry.event.end_ns) = (at * 1000, at * 1000 + at % 77);
        entry.event.offset_bytes = if at == 70 { u64::MAX } else { at * at * 4096 % 100_003 };
        (entry.event.done_bytes, entry.details.line) = (at % 2 * 4096, 2 * at);
        entry.details.waited_us = at * at * 100;
        entry
    }

    #[test]
    fn what_was_put_in_comes_out() {
        let all: Vec<Logged> = (0..1000).map(entry).collect();
        let mut events: Events = all.iter().copied().collect();
        assert_eq!((events.len(), events.iter().collect::<Vec<_>>()), (1000, all.clone()));
        for at in [0, 1, 63, 64, 65, 640, 999] {
            assert_eq!(events.get(at), Some(all[at]), "{at}");
            assert_eq!(events.begun_before(all[at].event.start_ns), at);
        }
        assert_eq!((events.get(1000), events.begun_before(u64::MAX)), (None, 1000));
        events.change(|entry| entry.details.instance = 7);
        events.retain(|entry| entry.event.op == 1);
        assert!(events.len() == 333 && events.iter().all(|entry| entry.details.instance == 7));
    }

    #[test]
    fn kinds_that_do_not_repeat_stand_with_their_operations() {
        let irregular = |at: u64| {
            let mut entry = entry(at);
            let random = at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
            (entry.event.requested_bytes, entry.event.done_bytes) = (random, random / (at % 3 + 1));
            entry.details.instance = if at.is_multiple_of(5) { u32::MAX } else { at as u32 };
            (entry.event.site, entry.event.errno) = (u32::MAX - at as u32, at as u16);
            entry.event.parts_ns[Part::Sync as usize] = at % 2;
            if at.is_multiple_of(7) {
                (entry.event.op, entry.event.from_bytes) = (Op::Fcopy as u8, random);
                entry.details.instance2 = at as u32;
            }
            entry
        };
        let all: Vec<Logged> = (0..3 * KINDS_MAX as u64).map(irregular).collect();
        let events: Events = all.iter().copied().collect();
        assert!(events.iter().eq(all.iter().copied()));
        assert_eq!(events.get(2 * KINDS_MAX + 7), Some(all[2 * KINDS_MAX + 7]));
        assert_eq!((events.kinds.len(), events.numbers.len()), (KINDS_MAX, KINDS_MAX));
    }

    #[test]
    fn regular_operations_take_some_bytes() {
        let regular = |at: u64| {
            let mut entry = Logged::default();
            (entry.event.start_ns, entry.event.end_ns) = (at * 12_345, at * 12_345 + 4_321);
            (entry.event.offset_bytes, entry.event.done_bytes) = (at * 16_384, 4096);
            entry
        };
        let events: Events = (0..100_000).map(regular).collect();
        assert!(events.bytes.len() < 1_200_000, "{}", events.bytes.len());
    }
}
