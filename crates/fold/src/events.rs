//! The operations of a rank, packed: some ten bytes each where they are regular, so that tens of
//! millions fit into memory.
//!
//! An operation is stored as its differences from the last one of the same name. Blocks are independent, so that any
//! operation is found without reading all before it.

use super::logged::Logged;
use model::op::Part;

/// Operations of a block.
const BLOCK: usize = 64;

/// An operation as words of 64 bits.
type Words = [u64; size_of::<Logged>() / size_of::<u64>()];

/// The words that are kept, those that change most first. The number of an operation, its own time and the times of its
/// parts are not.
const KEPT: [usize; 16] = [1, 2, 5, 7, 8, 18, 15, 14, 19, 22, 6, 16, 17, 20, 21, 12];

/// Operations in order of start.
#[derive(Clone, Debug, Default)]
pub struct Events {
    bytes: Vec<u8>,
    blocks: Vec<Block>,
    len: usize,
    coder: Coder,
}

/// Where a block begins, and the start of the operation before it.
#[derive(Clone, Copy, Debug)]
struct Block {
    byte: usize,
    before_ns: u64,
}

impl Events {
    /// Adds the next one.
    pub fn push(&mut self, entry: &Logged) {
        if self.len.is_multiple_of(BLOCK) {
            let before_ns = self.coder.last.event.start_ns;
            self.blocks.push(Block { byte: self.bytes.len(), before_ns });
            self.coder = Coder::default();
        }
        self.coder.encode(entry, &mut self.bytes);
        self.len += 1;
    }

    /// Number of operations.
    pub fn len(&self) -> usize {
        self.len
    }

    /// There are no operations.
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
        let byte = self.blocks.get(block).map_or(0, |block| block.byte);
        let mut iter = Iter { events: self, at: block * BLOCK, byte, coder: Coder::default() };
        while iter.at < at && iter.next().is_some() {}
        iter
    }

    /// Number of operations that begin before a time.
    pub fn begun_before(&self, ns: u64) -> usize {
        let block = self.blocks.partition_point(|block| block.before_ns < ns);
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
    coder: Coder,
}

impl Iterator for Iter<'_> {
    type Item = Logged;

    fn next(&mut self) -> Option<Logged> {
        if self.at == self.events.len {
            return None;
        }
        if self.at.is_multiple_of(BLOCK) {
            self.coder = Coder::default();
        }
        self.at += 1;
        Some(self.coder.decode(&self.events.bytes, &mut self.byte))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.events.len - self.at;
        (left, Some(left))
    }
}

/// The previous values that the next operation of a block is encoded against.
#[derive(Clone, Debug, Default)]
struct Coder {
    last: Logged,
    /// The last operation of each name.
    by_op: Vec<(u8, Words)>,
}

impl Coder {
    fn encode(&mut self, entry: &Logged, bytes: &mut Vec<u8>) {
        let words: Words = bytemuck::cast(self.relative(entry));
        let before = self.before(entry.event.op);
        let changed = KEPT.iter().enumerate().filter(|(_, word)| words[**word] != before[**word]);
        bytes.push(entry.event.op);
        put(changed.clone().fold(0, |mask, (bit, _)| mask | 1 << bit), bytes);
        changed.for_each(|(_, word)| put(zigzag(words[*word].wrapping_sub(before[*word])), bytes));
        *before = words;
        self.last = *entry;
    }

    fn decode(&mut self, bytes: &[u8], at: &mut usize) -> Logged {
        let op = bytes[*at];
        *at += 1;
        let mask = take(bytes, at);
        let before = self.before(op);
        for (_, word) in KEPT.iter().enumerate().filter(|(bit, _)| mask >> bit & 1 != 0) {
            before[*word] = before[*word].wrapping_add(unzigzag(take(bytes, at)));
        }
        let relative = bytemuck::cast(*before);
        self.last = self.absolute(relative);
        self.last
    }

    fn before(&mut self, op: u8) -> &mut Words {
        let known = self.by_op.iter().position(|(known, _)| *known == op);
        let at = known.unwrap_or_else(|| {
            self.by_op.push((op, bytemuck::cast(Logged::default())));
            self.by_op.len() - 1
        });
        &mut self.by_op[at].1
    }

    /// The operation with small numbers where it goes on from the one before it.
    fn relative(&self, entry: &Logged) -> Logged {
        let (mut relative, last) = (*entry, &self.last);
        let Logged { event, details } = &mut relative;
        event.end_ns = event.end_ns.wrapping_sub(event.start_ns);
        event.start_ns = event.start_ns.wrapping_sub(last.event.start_ns);
        event.offset_bytes = event.offset_bytes.wrapping_sub(end_bytes(last));
        event.done_bytes = event.requested_bytes.wrapping_sub(event.done_bytes);
        details.line = details.line.wrapping_sub(last.details.line);
        // How long it took is not kept, only that it took time.
        let sync_ns = &mut event.parts_ns[Part::Sync as usize];
        *sync_ns = (*sync_ns).min(1);
        relative
    }

    fn absolute(&self, mut relative: Logged) -> Logged {
        let (Logged { event, details }, last) = (&mut relative, &self.last);
        event.start_ns = event.start_ns.wrapping_add(last.event.start_ns);
        event.end_ns = event.end_ns.wrapping_add(event.start_ns);
        event.offset_bytes = event.offset_bytes.wrapping_add(end_bytes(last));
        event.done_bytes = event.requested_bytes.wrapping_sub(event.done_bytes);
        details.line = details.line.wrapping_add(last.details.line);
        relative
    }
}

fn end_bytes(entry: &Logged) -> u64 {
    entry.event.offset_bytes.wrapping_add(entry.event.done_bytes)
}

/// Seven bits in each byte, the lowest first; the highest bit says that more follow.
fn put(mut number: u64, bytes: &mut Vec<u8>) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn take(bytes: &[u8], at: &mut usize) -> u64 {
    let (mut number, mut shift) = (0, 0);
    loop {
        let byte = bytes[*at];
        *at += 1;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return number;
        }
        shift += 7;
    }
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
    use model::Op;

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
    fn irregular_operations_come_out_as_they_were() {
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
        let all: Vec<Logged> = (0..10_000).map(irregular).collect();
        let events: Events = all.iter().copied().collect();
        assert!(events.iter().eq(all.iter().copied()));
        assert_eq!(events.get(7007), Some(all[7007]));
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
