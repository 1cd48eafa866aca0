//! The text before a call: thread and time, in every mix of strace's options.
//!
//! ```text
//! 17367 1795253061.790445 read(...        -f -ttt
//! [pid 17367] 08:15:00.123456 read(...    -f -tt on standard error
//!      0.000123 [000055d0] [ 257] read(...   -r -i -n
//! 08:15:00 (+     1.000123) read(...      -t -r
//! ```

/// Largest number of a process on Linux (PID_MAX_LIMIT).
const PID_MAX: u64 = 1 << 22;
/// Seconds above which a number is a time since 1970 and not one since the last call.
const EPOCH_FROM: u64 = 100_000_000;
const SECOND_NS: u64 = 1_000_000_000;

/// How a line tells its time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Time {
    /// It does not.
    #[default]
    None,
    /// Nanoseconds since 1970.
    Epoch(u64),
    /// Nanoseconds since midnight.
    Day(u64),
    /// Nanoseconds since the line before.
    Since(u64),
}

/// The text before a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Prefix<'a> {
    /// Number of the thread.
    pub thread: Option<u64>,
    /// The thread is shown because there are several (`[pid 17]`).
    pub while_several: bool,
    /// Name of the thread (`--decode-pids=comm`).
    pub comm: &'a [u8],
    /// Time.
    pub time: Time,
    /// The time has no decimal places.
    pub whole_seconds: bool,
    /// The text behind it.
    pub rest: &'a [u8],
}

/// Splits a line.
pub fn prefix(line: &[u8]) -> Prefix<'_> {
    let mut found = Prefix { rest: line.trim_ascii_start(), ..Prefix::default() };
    if let Some(rest) = found.rest.strip_prefix(b"[pid") {
        let (digits, rest) = digits(rest.trim_ascii_start());
        (found.thread, found.while_several) = (decimal(digits), true);
        let end = memchr::memchr(b']', rest).map_or(rest.len(), |end| end + 1);
        found.comm = comm(&rest[..end]).0;
        found.rest = rest[end..].trim_ascii_start();
    } else {
        found.leading_number();
    }
    if found.time == Time::None {
        found.clock();
    }
    found.brackets();
    found
}

impl Prefix<'_> {
    /// A number at the beginning: a thread, unless it can only be a time.
    fn leading_number(&mut self) {
        let (digits, rest) = digits(self.rest);
        let Some(number) = decimal(digits) else { return };
        let (comm, rest) = comm(rest);
        if rest.first() == Some(&b' ') && number <= PID_MAX {
            self.thread = Some(number);
            self.comm = comm;
            self.rest = rest.trim_ascii_start();
        }
    }

    /// `08:15:00.123`, `1795253061.790445`, `0.000123`, and the difference in brackets.
    fn clock(&mut self) {
        let (whole, rest) = digits(self.rest);
        let Some(seconds) = decimal(whole) else { return };
        let (seconds, rest, is_day) = match of_day(seconds, rest) {
            Some((seconds, rest)) => (seconds, rest, true),
            None => (seconds, rest, false),
        };
        let (ns, has_fraction, rest) = time_ns(seconds, rest);
        if rest.first() != Some(&b' ') {
            return;
        }
        self.time = match seconds {
            _ if is_day => Time::Day(ns),
            EPOCH_FROM.. => Time::Epoch(ns),
            _ if !has_fraction => return,
            _ => Time::Since(ns),
        };
        self.whole_seconds = !has_fraction;
        self.rest = rest.trim_ascii_start();
        if self.rest.starts_with(b"(+") {
            let end = memchr::memchr(b')', self.rest).map_or(self.rest.len(), |end| end + 1);
            self.rest = self.rest[end..].trim_ascii_start();
        }
    }

    /// Instruction pointers and numbers of system calls.
    fn brackets(&mut self) {
        while let Some(inside) = self.rest.strip_prefix(b"[") {
            let Some(end) = memchr::memchr(b']', inside) else { return };
            // Without a place to point to, at an exit, there are question marks.
            let is_one = |byte: &u8| byte.is_ascii_hexdigit() || b" ?".contains(byte);
            if !inside[..end].iter().all(is_one) {
                return;
            }
            self.rest = inside[end + 1..].trim_ascii_start();
        }
    }
}

/// Hours, and `:15:00` behind them.
fn of_day(hours: u64, rest: &[u8]) -> Option<(u64, &[u8])> {
    let (minutes, rest) = digits(rest.strip_prefix(b":")?);
    let (seconds, rest) = digits(rest.strip_prefix(b":")?);
    let minutes = decimal(minutes)?.saturating_mul(60);
    let all = hours.saturating_mul(3600).saturating_add(minutes);
    Some((all.saturating_add(decimal(seconds)?), rest))
}

/// `<bash>` behind a number.
fn comm(text: &[u8]) -> (&[u8], &[u8]) {
    let Some(inside) = text.strip_prefix(b"<") else { return (b"", text) };
    match memchr::memchr(b'>', inside) {
        Some(end) => (&inside[..end], &inside[end + 1..]),
        None => (b"", text),
    }
}

/// Splits digits off.
pub fn digits(text: &[u8]) -> (&[u8], &[u8]) {
    let count = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    text.split_at(count)
}

/// Digits as a number; too large ones saturate.
pub fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    let add = |sum: u64, digit: &u8| sum.saturating_mul(10).saturating_add(u64::from(digit - b'0'));
    Some(digits.iter().fold(0, add))
}

/// Seconds and their decimal places, `.000012`, in nanoseconds; whether there are some, and what follows.
pub fn time_ns(seconds: u64, text: &[u8]) -> (u64, bool, &[u8]) {
    let (fraction, rest) = text.strip_prefix(b".").map_or((&b""[..], text), digits);
    let shown = &fraction[..fraction.len().min(9)];
    let fraction_ns = decimal(shown).unwrap_or(0) * 10u64.pow(9 - shown.len() as u32);
    (seconds.saturating_mul(SECOND_NS).saturating_add(fraction_ns), !fraction.is_empty(), rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mix_of_options_is_read() {
        let (ms, s) = (1_000_000, SECOND_NS);
        for (line, thread, time) in [
            ("read(3) = 0", None, Time::None),
            ("17 read(3) = 0", Some(17), Time::None),
            ("17<sh> 08:00:01 read(3) = 0", Some(17), Time::Day(28801 * s)),
            ("[pid  17] read(3) = 0", Some(17), Time::None),
            ("[pid 17<sh>] 00:00:01.001 read(3) = 0", Some(17), Time::Day(s + ms)),
            ("1795253061.001 read(3) = 0", None, Time::Epoch(1795253061 * s + ms)),
            ("1795253061 read(3) = 0", None, Time::Epoch(1795253061 * s)),
            ("17 1795253061.001000001 read(3) = 0", Some(17), Time::Epoch(1795253061 * s + ms + 1)),
            ("     0.001000 read(3) = 0", None, Time::Since(ms)),
            ("17      0.001000 read(3) = 0", Some(17), Time::Since(ms)),
            ("17 00:00:01 (+     0.001000) read(3) = 0", Some(17), Time::Day(s)),
            ("17 [00007f1234abcdef] [ 257] read(3) = 0", Some(17), Time::None),
            ("17 [????????????????] read(3) = 0", Some(17), Time::None),
        ] {
            let found = prefix(line.as_bytes());
            assert_eq!((found.thread, found.time), (thread, time), "{line}");
            assert_eq!(found.rest, b"read(3) = 0", "{line}");
        }
        assert!(prefix(b"17 08:00:01 read(3)").whole_seconds);
        assert_eq!(prefix(b"17<sh> read(3)").comm, b"sh");
    }

    #[test]
    fn impossible_numbers_do_no_harm() {
        for line in
            ["99999999999999999999999 x", "99999999999:99999999999999999999:9 x", "[pid", "1:", ""]
        {
            let _ = prefix(line.as_bytes());
        }
    }
}
