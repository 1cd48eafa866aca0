//! A program by seed: phases, each in a label of its own, and what has to become of each of them.
//!
//! ```text
//! time["p0"] with (verify=true, engine="mmap") repeat $i 3 { write("p0-$$rank-$i", 5120); ... }
//! barrier;
//! time["p1", sync] share $i 17 by 4 { create("p1-$i"); write("p1-$i", 700); }
//! time["p2"] with (rate=2000/s, arrival="poisson") repeat $i 90 until 3ms stat("p2-$$rank-$i");
//! time["p3"] with (verify=true) { $h = pfopen("p3", "crw"); pfwrite($h, "level2"); pfclose($h); }
//! ```

mod joint;

use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::fmt::Write as _;

/// A program, and how it is executed.
#[derive(Debug)]
pub struct Program {
    pub text: String,
    pub ranks: u32,
    pub phases: Vec<Phase>,
    /// One in so many calls is struck.
    pub one_in: Option<u32>,
    /// `--on-error stop`
    pub stops: bool,
    /// The rank that a statement ends.
    pub fails: Option<u32>,
}

/// What has to become of a phase if nothing fails.
#[derive(Debug)]
pub enum Phase {
    /// Each rank executes so many operations.
    Fixed { operations: u64 },
    /// All ranks together execute these indices once each: an operation of each kind.
    Shared { indices: u64, by: u64, kinds: u64 },
    /// Each rank executes up to `most` operations before the limit; none starts after it if `exact`.
    Until { most: u64, limit_ns: u64, exact: bool },
    /// The same, and then as many as the rank with most.
    Level { most: u64 },
}

struct Writer {
    random: ChaCha8Rng,
    text: String,
    phases: Vec<Phase>,
}

/// The program of a seed.
pub fn program(seed: u64) -> Program {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let ranks = random.random_range(1..5);
    let (rare, often) = (random.random_range(100..400), random.random_range(5..60));
    let one_in = *[None, Some(rare), Some(rare), Some(often)].choose(&mut random).expect("some");
    let stops = random.random_range(0..8) == 0;
    let fails = (random.random_range(0..8) == 0).then(|| random.random_range(0..ranks));
    let count = random.random_range(1..5);
    let mut writer = Writer { random, text: String::new(), phases: Vec::new() };
    writer.patterns();
    let failing = fails.map(|rank| (rank, writer.random.random_range(0..count)));
    for number in 0..count {
        if let Some((rank, _)) = failing.filter(|(_, before)| *before == number) {
            let _ = writeln!(writer.text, "if ($$rank == {rank}) assert($$time < 0, \"planned\");");
        }
        writer.phase(number);
    }
    Program { text: writer.text, ranks, phases: writer.phases, one_in, stops, fails }
}

impl Writer {
    fn chance(&mut self, one_in: u32) -> bool {
        self.random.random_range(0..one_in) == 0
    }

    fn size(&mut self) -> u64 {
        match self.random.random_range(0..3) {
            0 => self.random.random_range(0..40),
            1 => self.random.random_range(1..20) * 512,
            _ => self.random.random_range(0..9_000),
        }
    }

    fn phase(&mut self, number: usize) {
        if self.chance(3) {
            self.text.push_str("barrier;\n");
        }
        if self.chance(4) {
            let _ = writeln!(
                self.text,
                "if ($$rank == 0) signal(\"go-{number}\"); else wait(\"go-{number}\", 1);"
            );
        }
        let sync = if self.chance(2) { ", sync" } else { "" };
        let _ = write!(self.text, "time[\"p{number}\"{sync}] ");
        let (text, phase) = match self.random.random_range(0..6) {
            0 => self.names(number),
            1 | 2 => self.handle(number),
            3 => self.shared(number),
            4 => self.joint(number),
            _ => self.until(number),
        };
        let _ = writeln!(self.text, "{text}");
        self.phases.push(phase);
    }

    /// What is written: `verify=true`, or data of a kind.
    fn data(&mut self) -> String {
        match self.random.random_range(0..9) {
            0..4 => "verify=true".into(),
            4 => "data=\"zero\"".into(),
            5 => "data=\"offset\"".into(),
            6 => format!("compress={}", self.random.random_range(1..5)),
            7 => format!("dedup={}", self.random.random_range(1..5)),
            _ => "data=\"random\"".into(),
        }
    }

    fn rate(&mut self) -> Option<String> {
        let arrival = ["fixed", "poisson"][self.random.random_range(0..2)];
        let per = ["rank", "group"][self.random.random_range(0..2)];
        let ops_s = [400, 3_000, 40_000].choose(&mut self.random).copied().unwrap_or(1);
        let rate = format!("rate={ops_s}/s, arrival=\"{arrival}\", per=\"{per}\"");
        self.chance(3).then_some(rate)
    }

    /// Options of operations on names.
    fn by_name(&mut self) -> String {
        let mut options = vec![self.data()];
        // Verified data has to be moved.
        let engines = if options[0].starts_with("verify") { 3 } else { 4 };
        let engine = ["posix", "posix", "mmap", "null"][self.random.random_range(0..engines)];
        options.push(format!("engine=\"{engine}\""));
        if self.chance(2) {
            options.push(format!("transfer={}", self.random.random_range(300..5_000)));
        }
        let fsync = ["none", "close", "op"][self.random.random_range(0..3)];
        options.push(format!("fsync=\"{fsync}\""));
        options.extend(self.rate());
        format!("with ({})", options.join(", "))
    }

    /// Options of operations on handles.
    fn by_handle(&mut self) -> String {
        let mut options = vec![self.data()];
        match self.random.random_range(0..6) {
            0..3 => {
                let depth = self.random.random_range(1..20);
                options.push(format!("engine=\"uring\", depth={depth}"));
                if self.chance(2) {
                    options.push(format!("batch={}", self.random.random_range(1..=depth)));
                }
            }
            3 => options.push("engine=\"mmap\"".into()),
            4 if !options[0].starts_with("verify") => options.push("engine=\"null\"".into()),
            _ => {}
        }
        if self.chance(2) {
            options.push(format!("transfer={}", self.random.random_range(300..5_000)));
        }
        options.extend(self.rate());
        format!("with ({})", options.join(", "))
    }

    /// Files of each rank, by their names.
    fn names(&mut self, number: usize) -> (String, Phase) {
        let path = format!("\"p{number}-$$rank-$i\"");
        let other = format!("\"q{number}-$$rank-$i\"");
        let (size, more, cut) = (self.size(), self.size(), self.size());
        let mut body = vec![format!("write({path}, {size});")];
        for statement in [
            format!("append({path}, {more});"),
            format!("read({path});"),
            format!("truncate({path}, {cut});"),
            format!("read({path}, {size}, {more});"),
            format!("stat({path});"),
            format!("copy({path}, {other});"),
            format!("rename({path}, {other});"),
            format!("mkdir(\"d{number}-$$rank-$i\");"),
        ] {
            if self.chance(2) {
                body.push(statement);
            }
        }
        if body.iter().any(|statement| statement.contains(&other)) {
            body.push(format!("read({other});"));
        }
        let (count, options) = (self.random.random_range(1..6), self.by_name());
        let operations = count * body.len() as u64;
        let text = format!("{options} repeat $i {count} {{ {} }}", body.join(" "));
        (text, Phase::Fixed { operations })
    }

    /// A file of each rank that stays open.
    fn handle(&mut self, number: usize) -> (String, Phase) {
        let (count, size, options) =
            (self.random.random_range(1..20), self.size(), self.by_handle());
        let mut operations = 2;
        // Some phases cut the file of an earlier one to nothing.
        let name = if self.chance(2) { "h".into() } else { format!("p{number}") };
        let mut body = vec![format!("$h = fopen(\"{name}-$$rank\", \"w+\");")];
        for _ in 0..self.random.random_range(1..4) {
            let (statement, each) = self.on_handle(size);
            body.push(format!("repeat $i {count} {statement}"));
            operations += count * each;
            if self.chance(3) {
                body.push(["fsync($h);", "fdatasync($h);"][self.random.random_range(0..2)].into());
                operations += 1;
            }
        }
        body.push("fclose($h);".into());
        (format!("{options} {{ {} }}", body.join(" ")), Phase::Fixed { operations })
    }

    /// A statement in a loop over `$i`, and the operations that it is.
    fn on_handle(&mut self, size: u64) -> (String, u64) {
        match self.random.random_range(0..7) {
            0 => (format!("fread($h, {size}, $i * {size});"), 1),
            1 => (format!("fread($h, {size}, rand(0, 9) * {size});"), 1),
            2 => (format!("writev($h, [{size}, 10, {size}], $i * {size});"), 1),
            3 => (format!("readv($h, [{size}, 10, {size}], $i * {size});"), 1),
            4 => {
                let mix = format!(
                    "mix {{ 70: fread($h, {size}, $i * {size}); 25: fwrite($h, {size}, $i * {size}); \
                     5: ftruncate($h, $i * {size}); }}"
                );
                (mix, 1)
            }
            5 => (
                format!("{{ fwrite($h, {size}, $i * {size}); fread($h, {size}, $i * {size}); }}"),
                2,
            ),
            _ => (format!("fwrite($h, {size}, $i * {size});"), 1),
        }
    }

    fn shared(&mut self, number: usize) -> (String, Phase) {
        let (indices, by) = (self.random.random_range(0..40), self.random.random_range(1..9));
        let (size, options) = (self.size(), self.by_name());
        let path = format!("\"p{number}-$i\"");
        let mut body = vec![format!("write({path}, {size});")];
        for statement in [
            format!("read({path});"),
            format!("mkdir(\"d{number}-$i\");"),
            format!("stat({path});"),
        ] {
            if self.chance(2) {
                body.push(statement);
            }
        }
        let kinds = body.len() as u64;
        let body = body.join(" ");
        let text = match self.chance(2) {
            true => format!("{options} share $i {indices} by {by} {{ {body} }}"),
            false => format!("share $i {indices} by {by} {options} {{ {body} }}"),
        };
        (text, Phase::Shared { indices, by, kinds })
    }

    fn until(&mut self, number: usize) -> (String, Phase) {
        let (most, limit_us) =
            (self.random.random_range(1..90), self.random.random_range(1..4_000u64));
        let (size, level) = (self.size(), self.chance(2));
        let word = if level { " level" } else { "" };
        let head = format!("repeat $i {most} until {limit_us}us{word}");
        let is_queued = self.chance(3);
        let text = match is_queued {
            false => {
                let options = self.by_name();
                match self.random.random_range(0..2) {
                    0 => format!("{options} {head} write(\"p{number}-$$rank-$i\", {size});"),
                    _ => format!("{options} {head} append(\"p{number}-$$rank\", {size});"),
                }
            }
            true => {
                let options = self.by_handle();
                format!(
                    "{{ with (expect=\"EIO,ENOSPC,EBADF\") $h = fopen(\"p{number}-$$rank\", \"w+\"); \
                     {options} {head} fwrite($h, {size}, $i * {size}); fclose($h); }}"
                )
            }
        };
        let limit_ns = limit_us * 1_000;
        let exact = !is_queued;
        let extra = if is_queued { 2 } else { 0 };
        let phase = match level {
            true => Phase::Level { most: most + extra },
            false => Phase::Until { most: most + extra, limit_ns, exact },
        };
        (text, phase)
    }
}
