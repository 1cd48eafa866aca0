//! Text of `blkparse`, in its default form.
//!
//! ```text
//! 8,0    3        1     0.000000000   697  Q   W 223490 + 8 [kjournald]
//! 8,0    3        2     0.000001829   697  D   W 223490 + 8 [kjournald]
//! 8,0    0        1     0.000140511     0  C   W 223490 + 8 [0]
//! ```
//!
//! A request is one transfer of the process that queued it, from its issue to the driver (D; without one
//! from its queueing, Q) to its completion (C). The device is the file, a sector 512 bytes of it.

use crate::clib::{number, number_of};
use crate::gaps::{Gap, Gaps};
use crate::record::{Act, Call, Introduction, Outcome, Record};
use crate::scanner::{Found, LineFormat, Lines};
use hashbrown::{HashMap, HashSet};
use model::Op;
use rustc_hash::FxBuildHasher;

const SECTOR_BYTES: u64 = 512;
/// Requests without sectors.
const FLUSH: &[u8] = b"flush";
/// Requests whose ends have not come.
const PENDING_MAX: usize = 1 << 20;

/// Reads one log.
#[derive(Default)]
pub struct Blktrace {
    /// By device and first sector.
    pending: HashMap<(u64, u64), Request, FxBuildHasher>,
    /// Processes that were introduced.
    known: HashSet<u64, FxBuildHasher>,
    in_summary: bool,
    current: Current,
}

/// The record of the current line.
#[derive(Debug, Default)]
enum Current {
    #[default]
    Nothing,
    /// A process shows up with its program.
    Introduction { process: u64, command: Vec<u8>, now_ns: u64 },
    /// A request is over.
    Done { request: Request, device: Vec<u8>, sector: u64, sectors: u64, end_ns: u64, errno: u16 },
}

/// A request that is under way.
#[derive(Clone, Copy, Debug, Default)]
struct Request {
    process: u64,
    line: u64,
    queued_ns: Option<u64>,
    issued_ns: Option<u64>,
    /// `None`: discards, among others.
    op: Option<Op>,
}

/// A line's parts.
#[derive(Clone, Copy, Debug)]
struct Line<'a> {
    device: &'a [u8],
    now_ns: u64,
    process: u64,
    action: &'a [u8],
    op: Option<Op>,
    sector: u64,
    sectors: u64,
    /// The program, or the error of a completion.
    last: &'a [u8],
}

impl Blktrace {
    /// The time of the record that the line gives; `None`: it gives none.
    fn take(&mut self, line: &Line<'_>, lines: &Lines, gaps: &mut Gaps) -> Option<u64> {
        let key = (device_number(line.device), line.sector);
        match line.action {
            b"Q" | b"D" => return self.begin(key, line, lines, gaps),
            b"C" => return self.complete(key, line, lines, gaps),
            // Merged into another request, which has a completion for both.
            b"M" | b"F" => drop(self.pending.remove(&key)),
            FLUSH => gaps.add_name(Gap::NoOperation, FLUSH),
            _ => {}
        }
        None
    }

    /// A request is queued or issued. Its process is introduced, once.
    fn begin(
        &mut self,
        key: (u64, u64),
        line: &Line<'_>,
        lines: &Lines,
        gaps: &mut Gaps,
    ) -> Option<u64> {
        let (process, now_ns) = (line.process, line.now_ns);
        let is_issued = line.action == b"D";
        let queued = self.pending.get(&key).copied().filter(|_| is_issued);
        let new = Request { process, line: lines.number(), ..Request::default() };
        let mut request = Request { op: line.op, ..queued.unwrap_or(new) };
        *(if is_issued { &mut request.issued_ns } else { &mut request.queued_ns }) = Some(now_ns);
        if self.pending.len() < PENDING_MAX {
            self.pending.insert(key, request);
        } else {
            lines.count(Gap::Impossible, gaps);
        }
        let is_new = queued.is_none() && self.known.insert(process);
        self.current = Current::Introduction { process, command: line.last.to_vec(), now_ns };
        is_new.then_some(now_ns)
    }

    fn complete(
        &mut self,
        key: (u64, u64),
        line: &Line<'_>,
        lines: &Lines,
        gaps: &mut Gaps,
    ) -> Option<u64> {
        let Some(request) = self.pending.remove(&key) else {
            lines.count(Gap::LostStarts, gaps);
            return None;
        };
        let errno = number(line.last.strip_prefix(b"-").unwrap_or(line.last)).unwrap_or(0);
        let (device, sector, sectors) = (line.device.to_vec(), line.sector, line.sectors);
        let (end_ns, errno) = (line.now_ns, u16::try_from(errno).unwrap_or(5));
        self.current = Current::Done { request, device, sector, sectors, end_ns, errno };
        Some(end_ns)
    }
}

impl LineFormat for Blktrace {
    fn understand(&mut self, lines: &Lines, gaps: &mut Gaps) -> Found {
        let text = lines.line();
        if let Some(line) = parse(text) {
            return self.take(&line, lines, gaps).map_or(Found::Nothing, Found::Record);
        }
        self.in_summary |= [&b"CPU"[..], b"Total ("].iter().any(|head| text.starts_with(head));
        // Messages of the kernel, and empty lines, hold no event.
        let is_known = words(text).next().is_none_or(|word| word == b"Input");
        if self.in_summary || is_known { Found::Nothing } else { Found::Unknown }
    }

    fn end(&mut self, lines: &Lines, gaps: &mut Gaps) {
        let mut left: Vec<_> = self.pending.drain().map(|(_, request)| request.line).collect();
        left.sort_unstable();
        for line in left {
            gaps.add_line(Gap::CutCalls, lines.name(), line, b"a request without completion");
        }
    }

    fn record<'a>(&'a mut self, lines: &'a Lines, gaps: &mut Gaps) -> Option<Record<'a>> {
        let (request, device, sector, sectors, end_ns, errno) = match &self.current {
            Current::Nothing => return None,
            Current::Introduction { process, command, now_ns } => {
                let who = Introduction { command, ..Introduction::default() };
                let call = Call::new(Act::Introduce(who));
                return Some(Record { call, ..Record::at(lines.number(), *process, *now_ns) });
            }
            Current::Done { request, device, sector, sectors, end_ns, errno } => {
                (request, device, sector, sectors, *end_ns, *errno)
            }
        };
        if request.queued_ns.is_some() && request.issued_ns.is_none() {
            gaps.add(Gap::Queued);
        }
        let start_ns = request.issued_ns.or(request.queued_ns).unwrap_or(end_ns);
        let bytes = sectors.saturating_mul(SECTOR_BYTES);
        let offset = Some(sector.saturating_mul(SECTOR_BYTES));
        let act = request.op.map_or(Act::WithoutOperation, Act::Whole);
        let name: &[u8] = match request.op {
            Some(Op::Fread) => b"R",
            Some(_) => b"W",
            None => b"discard",
        };
        let call = Call { offset, ..Call::whole(act, device, bytes) };
        let outcome = match errno {
            0 => Outcome::success(number_of(bytes)),
            errno => Outcome::failure(errno),
        };
        let elapsed_ns = Some(end_ns.saturating_sub(start_ns));
        let plain = Record::at(request.line, request.process, start_ns);
        Some(Record { elapsed_ns, name, call, outcome, ..plain })
    }
}

fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}

/// `8,0 3 1 0.000000000 697 Q W 223490 + 8 [kjournald]`.
fn parse(line: &[u8]) -> Option<Line<'_>> {
    let mut words = words(line);
    let device = words.next().filter(|word| is_device(word))?;
    number(words.next()?)?;
    number(words.next()?)?;
    let (now_ns, process) = (seconds(words.next()?)?, number(words.next()?)?);
    let action = words.next()?;
    let plain =
        Line { device, now_ns, process, action, op: None, sector: 0, sectors: 0, last: b"" };
    if !matches!(action, b"Q" | b"D" | b"M" | b"F" | b"C") {
        return Some(plain);
    }
    let op = op(words.next()?);
    // Flushes without data, and commands that are no transfers, have no sectors.
    let without = Line { action: if action == b"Q" { FLUSH } else { b"" }, ..plain };
    let Some(sector) = number(words.next()?) else { return Some(without) };
    let Some(b"+") = words.next() else { return Some(without) };
    let sectors = number(words.next()?)?;
    Some(Line { op, sector, sectors, last: bracketed(line), ..plain })
}

/// The text in the brackets at the end.
fn bracketed(line: &[u8]) -> &[u8] {
    let inside = line.trim_ascii_end().strip_suffix(b"]");
    let start = inside.and_then(|inside| memchr::memchr(b'[', inside));
    inside.zip(start).map_or(b"", |(inside, start)| &inside[start + 1..])
}

/// `WSM` writes, `RA` reads, `DS` discards.
fn op(flags: &[u8]) -> Option<Op> {
    let has = |letter| flags.contains(letter);
    match flags {
        _ if has(&b'D') => None,
        _ if has(&b'W') => Some(Op::Fwrite),
        _ => has(&b'R').then_some(Op::Fread),
    }
}

fn is_device(word: &[u8]) -> bool {
    let at = memchr::memchr(b',', word);
    at.is_some_and(|at| number(&word[..at]).is_some() && number(&word[at + 1..]).is_some())
}

fn device_number(device: &[u8]) -> u64 {
    let mut parts = device.split(|byte| *byte == b',').map(|part| number(part).unwrap_or(0));
    let major = parts.next().unwrap_or(0);
    major.wrapping_mul(1 << 32).wrapping_add(parts.next().unwrap_or(0))
}

/// `0.000140511`.
fn seconds(text: &[u8]) -> Option<u64> {
    let at = memchr::memchr(b'.', text)?;
    let (whole, fraction) = (number(&text[..at])?, &text[at + 1..]);
    let ns = number(fraction).filter(|_| fraction.len() == 9)?;
    Some(whole.saturating_mul(1_000_000_000).saturating_add(ns))
}

/// The log is one of blktrace itself: the magic number holds its version, in either byte order.
pub fn looks_like_binary(beginning: &[u8]) -> bool {
    matches!(beginning, [1..=32, b't', b'a', b'e', ..] | [b'e', b'a', b't', 1..=32, ..])
}

/// The log begins like the text of blkparse.
pub fn looks_like(beginning: &[u8]) -> bool {
    let lines = beginning.split(|byte| *byte == b'\n').take(50);
    lines.map(parse).any(|line| line.is_some())
}
