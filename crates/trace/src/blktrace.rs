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

/// The kind of the current line.
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
    kind: Kind,
}

/// The kind of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Kind {
    #[default]
    Read,
    Write,
    /// Discards, among others.
    Other,
}

/// A line's parts.
#[derive(Clone, Copy, Debug)]
struct Line<'a> {
    device: &'a [u8],
    now_ns: u64,
    process: u64,
    action: &'a [u8],
    kind: Kind,
    sector: u64,
    sectors: u64,
    /// The program, or the error of a completion.
    last: &'a [u8],
}

impl Blktrace {
    /// The time of the record that the line gives; `None`: it gives none.
    fn take(&mut self, line: &Line<'_>, lines: &Lines, gaps: &mut Gaps) -> Option<u64> {
        let number = lines.number();
        let key = (device_number(line.device), line.sector);
        match line.action {
            b"Q" => {
                let (process, kind) = (line.process, line.kind);
                let queued_ns = Some(line.now_ns);
                let request = Request { process, line: number, queued_ns, issued_ns: None, kind };
                let introduction = introduction(&mut self.known, line);
                self.begin(key, request, lines, gaps);
                let now_ns = queued_ns.filter(|_| introduction.is_some());
                self.current = introduction.unwrap_or_default();
                now_ns
            }
            b"D" => {
                let bare = Request { process: line.process, line: number, ..Request::default() };
                let request = self.pending.get(&key).copied().unwrap_or(bare);
                let issued_ns = Some(line.now_ns);
                let is_new = request.queued_ns.is_none();
                let introduction = if is_new { introduction(&mut self.known, line) } else { None };
                self.begin(key, Request { issued_ns, kind: line.kind, ..request }, lines, gaps);
                let now_ns = issued_ns.filter(|_| introduction.is_some());
                self.current = introduction.unwrap_or_default();
                now_ns
            }
            // Merged into another request, which has a completion for both.
            b"M" | b"F" => {
                self.pending.remove(&key);
                None
            }
            b"C" => self.complete(key, line, lines, gaps),
            FLUSH => {
                gaps.add_name(Gap::NoOperation, FLUSH);
                None
            }
            _ => None,
        }
    }

    fn begin(&mut self, key: (u64, u64), request: Request, lines: &Lines, gaps: &mut Gaps) {
        if self.pending.len() < PENDING_MAX {
            self.pending.insert(key, request);
        } else {
            lines.count(Gap::Impossible, gaps);
        }
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
        if self.in_summary || is_known(text) { Found::Nothing } else { Found::Unknown }
    }

    fn end(&mut self, lines: &Lines, gaps: &mut Gaps) {
        let mut left: Vec<_> = self.pending.drain().map(|(_, request)| request.line).collect();
        left.sort_unstable();
        for line in left {
            gaps.add_line(Gap::CutCalls, lines.name(), line, b"a request without completion");
        }
    }

    fn record<'a>(&'a mut self, lines: &'a Lines, gaps: &mut Gaps) -> Option<Record<'a>> {
        let line = lines.number();
        match &self.current {
            Current::Nothing => None,
            Current::Introduction { process, command, now_ns } => {
                let who = Introduction { command, ..Introduction::default() };
                let call = Call::new(Act::Introduce(who));
                Some(Record { call, ..Record::at(line, *process, *now_ns) })
            }
            Current::Done { request, device, sector, sectors, end_ns, errno } => {
                if request.queued_ns.is_some() && request.issued_ns.is_none() {
                    gaps.add(Gap::Queued);
                }
                let start_ns = request.issued_ns.or(request.queued_ns).unwrap_or(*end_ns);
                let bytes = sectors.saturating_mul(SECTOR_BYTES);
                let offset = Some(sector.saturating_mul(SECTOR_BYTES));
                let (name, act): (&[u8], _) = match request.kind {
                    Kind::Read => (b"R", Act::Whole(Op::Fread)),
                    Kind::Write => (b"W", Act::Whole(Op::Fwrite)),
                    Kind::Other => (b"discard", Act::WithoutOperation),
                };
                let call = Call { offset, ..Call::whole(act, device, bytes) };
                let outcome = match errno {
                    0 => Outcome::success(number_of(bytes)),
                    errno => Outcome::failure(*errno),
                };
                let elapsed_ns = Some(end_ns.saturating_sub(start_ns));
                let plain = Record::at(request.line, request.process, start_ns);
                Some(Record { elapsed_ns, name, call, outcome, ..plain })
            }
        }
    }
}

/// Says which program a process is, once.
fn introduction(known: &mut HashSet<u64, FxBuildHasher>, line: &Line<'_>) -> Option<Current> {
    let (process, now_ns, command) = (line.process, line.now_ns, line.last.to_vec());
    known.insert(process).then_some(Current::Introduction { process, command, now_ns })
}

/// `8,0 3 1 0.000000000 697 Q W 223490 + 8 [kjournald]`.
fn parse(line: &[u8]) -> Option<Line<'_>> {
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let device = words.next().filter(|word| is_device(word))?;
    number(words.next()?)?;
    number(words.next()?)?;
    let now_ns = seconds(words.next()?)?;
    let process = number(words.next()?)?;
    let action = words.next()?;
    let plain = Line {
        device,
        now_ns,
        process,
        action,
        kind: Kind::Other,
        sector: 0,
        sectors: 0,
        last: b"",
    };
    if !matches!(action, b"Q" | b"D" | b"M" | b"F" | b"C") {
        return Some(plain);
    }
    let kind = kind(words.next()?);
    let sector = words.next()?;
    // Flushes without data, and commands that are no transfers, have no sectors.
    let without = if action == b"Q" { FLUSH } else { b"" };
    let Some(sector) = number(sector) else { return Some(Line { action: without, ..plain }) };
    let sectors = match words.next() {
        Some(b"+") => number(words.next()?)?,
        _ => return Some(Line { action: without, ..plain }),
    };
    let last = bracketed(line);
    Some(Line { kind, sector, sectors, last, ..plain })
}

/// The text in the brackets at the end.
fn bracketed(line: &[u8]) -> &[u8] {
    let inside = line.trim_ascii_end().strip_suffix(b"]");
    let start = inside.and_then(|inside| memchr::memchr(b'[', inside));
    inside.zip(start).map_or(b"", |(inside, start)| &inside[start + 1..])
}

/// `WSM` writes, `RA` reads, `DS` discards.
fn kind(flags: &[u8]) -> Kind {
    match flags {
        flags if flags.contains(&b'D') => Kind::Other,
        flags if flags.contains(&b'W') => Kind::Write,
        flags if flags.contains(&b'R') => Kind::Read,
        _ => Kind::Other,
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

/// Lines that hold no event: messages of the kernel, empty ones.
fn is_known(line: &[u8]) -> bool {
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    words.next().is_none_or(|word| word == b"Input")
}

/// The log begins like the text of blkparse.
pub fn looks_like(beginning: &[u8]) -> bool {
    let lines = beginning.split(|byte| *byte == b'\n').take(50);
    lines.map(parse).any(|line| line.is_some())
}
