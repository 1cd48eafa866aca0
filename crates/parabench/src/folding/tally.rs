//! How far what a program does is from its log: differences by kind, and sums by operation.

use super::proof::moves;
use model::event::{FLAG_UNPLACED, NO_ID};
use model::units::format_bytes;
use model::{Event, Op};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// What of an operation differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// It is another one, or there is none.
    Operation,
    /// Its names.
    Name,
    /// Its error.
    Result,
    /// Bytes asked for.
    Size,
    /// Where it begins.
    Place,
    /// Bytes moved alone.
    Moved,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Kind::Operation => "operations",
            Kind::Name => "names",
            Kind::Result => "results",
            Kind::Size => "sizes",
            Kind::Place => "places",
            Kind::Moved => "numbers of bytes moved",
        }
    }
}

/// Sums of one operation: in the run, and of the program.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sums {
    count: [u64; 2],
    bytes: [u64; 2],
    /// Largest difference of a size, and the sum of all of them, bytes.
    size_bytes: u64,
    sizes_bytes: u64,
    /// Largest difference of a place, bytes.
    place_bytes: u64,
}

/// Differences by kind, and sums by operation.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// An operation with several differences counts for the first kind.
    pub kinds: BTreeMap<Kind, u64>,
    sums: BTreeMap<u8, Sums>,
    /// Transfers of which the run does not tell where they took place: anywhere is right.
    pub unplaced: u64,
}

impl Tally {
    /// Adds what should be the same: an operation of the run and one of the program.
    pub fn add(&mut self, run: Option<&Event>, program: Option<&Event>, kind: Option<Kind>) {
        kind.into_iter().for_each(|kind| *self.kinds.entry(kind).or_default() += 1);
        let is_unplaced = |event: &Event| moves(event) && event.errno == 0 && !is_placed(event);
        self.unplaced += u64::from(run.is_some_and(is_unplaced));
        for (side, event) in [run, program].into_iter().enumerate() {
            let Some(event) = event else { continue };
            let sums = self.sums.entry(event.op).or_default();
            sums.count[side] += 1;
            sums.bytes[side] += if moves(event) { event.done_bytes } else { 0 };
        }
        if let (Some(a), Some(b)) = (run, program)
            && a.op == b.op
            && kind.is_some()
            && moves(a)
        {
            let sums = self.sums.entry(a.op).or_default();
            let bytes = a.requested_bytes.abs_diff(b.requested_bytes);
            sums.size_bytes = sums.size_bytes.max(bytes);
            sums.sizes_bytes = sums.sizes_bytes.saturating_add(bytes);
            if is_placed(a) {
                sums.place_bytes = sums.place_bytes.max(a.offset_bytes.abs_diff(b.offset_bytes));
            }
        }
    }

    /// Operations that differ.
    pub fn differences(&self) -> u64 {
        self.kinds.values().sum()
    }

    /// Nothing ends otherwise, and numbers of operations and their bytes are within the bound.
    pub fn is_within(&self, bound: f64) -> bool {
        let near = |[run, program]: [u64; 2]| share(run, program).abs() <= bound;
        !self.kinds.contains_key(&Kind::Result)
            && self.sums.values().all(|sums| near(sums.count) && near(sums.bytes))
    }

    /// `300 sizes, 12 places`
    pub fn shown(&self) -> String {
        let shown = self.kinds.iter().map(|(kind, count)| format!("{count} {}", kind.word()));
        shown.collect::<Vec<_>>().join(", ")
    }

    /// A line for each operation that differs.
    pub fn lines(&self) -> Vec<String> {
        let differs = |sums: &Sums| {
            sums.count[0] != sums.count[1]
                || sums.bytes[0] != sums.bytes[1]
                || sums.size_bytes > 0
                || sums.place_bytes > 0
        };
        let all = self.sums.iter().filter(|(_, sums)| differs(sums));
        all.map(|(op, sums)| line(Op::from_u8(*op).map_or("?", Op::name), sums)).collect()
    }
}

fn line(op: &str, sums: &Sums) -> String {
    let mut text = format!("{op}: {} operations", sums.count[0]);
    if sums.count[0] != sums.count[1] {
        text += &format!(", {} of the program", sums.count[1]);
    }
    if sums.bytes[0] > 0 {
        let percent = share(sums.bytes[0], sums.bytes[1]) * 100.0;
        text += &format!(", {} ({percent:+.2} %)", format_bytes(sums.bytes[0]));
    }
    if sums.size_bytes > 0 {
        let percent = sums.sizes_bytes as f64 / sums.bytes[0].max(1) as f64 * 100.0;
        let most = format_bytes(sums.size_bytes);
        text +=
            &format!("; sizes differ by at most {most}, together by {percent:.2} % of all bytes");
    }
    if sums.place_bytes > 0 {
        text += &format!("; places by at most {}", format_bytes(sums.place_bytes));
    }
    text
}

/// How much more the second is, as a share of the first.
fn share(first: u64, second: u64) -> f64 {
    if first == second {
        return 0.0;
    }
    (second as f64 - first as f64) / first.max(1) as f64
}

/// The run tells where it took place.
fn is_placed(event: &Event) -> bool {
    event.flags & FLAG_UNPLACED == 0
}

/// What differs first, if anything. `a`, of the run, and `b` have names of their own.
pub fn difference<'a>(
    (a, log): (&Event, &fold::Log),
    (b, path): (&Event, &impl Fn(u32) -> Cow<'a, [u8]>),
) -> Option<Kind> {
    let names = log.path(a.path) == &*path(b.path) && (a.path == NO_ID) == (b.path == NO_ID);
    let second = a.path2 == NO_ID || log.path(a.path2) == &*path(b.path2);
    let moved = moves(a) && a.errno == 0;
    let how = a.op != Op::Rename as u8 || a.requested_bytes == b.requested_bytes;
    let all = [
        (a.op == b.op, Kind::Operation),
        (names && second, Kind::Name),
        (how, Kind::Operation),
        (a.errno == b.errno, Kind::Result),
        (!moved || a.requested_bytes == b.requested_bytes, Kind::Size),
        (!moved || a.pieces == b.pieces, Kind::Place),
        (!moved || !is_placed(a) || a.offset_bytes == b.offset_bytes, Kind::Place),
        (!moved || !is_placed(a) || a.from_bytes == b.from_bytes, Kind::Place),
        (!moved || a.done_bytes == b.done_bytes, Kind::Moved),
    ];
    all.into_iter().find(|(same, _)| !same).map(|(_, kind)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_counted_by_kind_and_summed_by_operation() {
        let write = |bytes: u64, offset_bytes: u64| Event {
            op: Op::Fwrite as u8,
            requested_bytes: bytes,
            done_bytes: bytes,
            offset_bytes,
            ..Event::default()
        };
        let mut tally = Tally::default();
        tally.add(Some(&write(1000, 0)), Some(&write(1010, 0)), Some(Kind::Size));
        tally.add(Some(&write(1000, 10)), Some(&write(1000, 4106)), Some(Kind::Place));
        tally.add(Some(&write(1000, 10)), Some(&write(1000, 10)), None);
        assert_eq!((tally.differences(), tally.shown()), (2, "1 sizes, 1 places".into()));
        let expected = "fwrite: 3 operations, 2.93 KiB (+0.33 %); sizes differ by at most 10 B, \
                        together by 0.33 % of all bytes; places by at most 4 KiB";
        assert_eq!(tally.lines(), [expected]);
        assert!(tally.is_within(0.004) && !tally.is_within(0.003));
        tally.add(Some(&write(1, 0)), None, Some(Kind::Operation));
        assert!(!tally.is_within(0.02));
    }

    #[test]
    fn a_place_that_the_run_does_not_tell_is_no_difference() {
        let log = fold::Log::default();
        let write = |offset_bytes: u64, flags: u8| Event {
            op: Op::Fwrite as u8,
            path: NO_ID,
            path2: NO_ID,
            requested_bytes: 10,
            done_bytes: 10,
            offset_bytes,
            flags,
            ..Event::default()
        };
        let path = |_| Cow::Borrowed(&b""[..]);
        let (told, untold, found) = (write(0, 0), write(0, FLAG_UNPLACED), write(27, 0));
        assert_eq!(difference((&told, &log), (&found, &path)), Some(Kind::Place));
        assert_eq!(difference((&untold, &log), (&found, &path)), None);
        let longer = Event { requested_bytes: 11, ..found };
        assert_eq!(difference((&untold, &log), (&longer, &path)), Some(Kind::Size));
        let copy = Event { op: Op::Fcopy as u8, from_bytes: 4, ..told };
        let other = Event { from_bytes: 5, ..copy };
        assert_eq!(difference((&copy, &log), (&other, &path)), Some(Kind::Place));
        let mut tally = Tally::default();
        tally.add(Some(&told), Some(&found), Some(Kind::Place));
        tally.add(Some(&untold), Some(&longer), Some(Kind::Size));
        tally.add(Some(&untold), Some(&found), None);
        assert_eq!((tally.unplaced, tally.differences()), (2, 2));
    }
}
