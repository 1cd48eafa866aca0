//! Whether an operation of a program is the one of the log, and operations in words.

use fold::Log;
use model::event::{FLAG_UNPLACED, NO_ID};
use model::{Event, Op, errno};
use std::borrow::Cow;

/// The log reports no place for this transfer, so any place is right.
pub fn is_unplaced(event: &Event) -> bool {
    moves_bytes(event) && event.errno == 0 && event.flags & FLAG_UNPLACED != 0
}

/// The operation moves bytes of a file.
fn moves_bytes(event: &Event) -> bool {
    use Op::*;
    let posix = |op| {
        matches!(op, Fread | Fwrite | Readv | Writev | Read | Write | Append)
            || op.is_between_files()
    };
    let by_mpi = |op| matches!(op, Pfread | Pfwrite | Pread | Pwrite);
    Op::from_u8(event.op).is_some_and(|op| posix(op) || by_mpi(op))
}

/// Two operations differ: `a` of the log and `b`, whose names `path` knows.
pub fn differ<'a>(
    (a, log): (&Event, &Log),
    (b, path): (&Event, &impl Fn(u32) -> Cow<'a, [u8]>),
) -> bool {
    let names = log.path(a.path) == &*path(b.path) && (a.path == NO_ID) == (b.path == NO_ID);
    let second = a.path2 == NO_ID || log.path(a.path2) == &*path(b.path2);
    let how = a.op != Op::Rename as u8 || a.requested_bytes == b.requested_bytes;
    let placed = a.flags & FLAG_UNPLACED == 0;
    let here = !placed || a.offset_bytes == b.offset_bytes && a.from_bytes == b.from_bytes;
    let bytes = a.requested_bytes == b.requested_bytes && a.done_bytes == b.done_bytes;
    let moved = !moves_bytes(a) || a.errno != 0 || bytes && a.pieces == b.pieces && here;
    !(a.op == b.op && names && second && how && a.errno == b.errno && moved)
}

/// An operation in one line.
pub fn describe<'a>(event: &Event, path: impl Fn(u32) -> Cow<'a, [u8]>) -> String {
    let op = Op::from_u8(event.op).map_or("?", Op::name);
    let name = |id: u32| model::escape::line(&String::from_utf8_lossy(&path(id)));
    let mut text = format!("{op} \"{}\"", name(event.path));
    if event.path2 != NO_ID {
        text.push_str(&format!(" \"{}\"", name(event.path2)));
    }
    if moves_bytes(event) {
        let (offset, wanted, done) = (event.offset_bytes, event.requested_bytes, event.done_bytes);
        text.push_str(&format!(
            ", {done} of {wanted_bytes} at ",
            wanted_bytes = model::words::count(wanted, "byte")
        ));
        match is_unplaced(event) {
            true => text.push_str("an unknown place"),
            false => text.push_str(&offset.to_string()),
        }
    }
    if Op::from_u8(event.op).is_some_and(Op::is_between_files) {
        text.push_str(&format!(" from {}", event.from_bytes));
    }
    match event.errno {
        0 => text,
        number => format!("{text}: {}", errno::name(number)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_that_the_run_does_not_report_is_no_difference() {
        let log = Log::default();
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
        let (placed, unplaced, found) = (write(0, 0), write(0, FLAG_UNPLACED), write(27, 0));
        assert!(differ((&placed, &log), (&found, &path)));
        assert!(!differ((&unplaced, &log), (&found, &path)));
        let longer = Event { requested_bytes: 11, ..found };
        assert!(differ((&unplaced, &log), (&longer, &path)));
        let copy = Event { op: Op::Fcopy as u8, from_bytes: 4, ..placed };
        assert!(differ((&copy, &log), (&Event { from_bytes: 5, ..copy }, &path)));
        assert!(is_unplaced(&unplaced) && !is_unplaced(&placed));
    }
}
