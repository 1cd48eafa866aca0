//! Phases of MPI-IO: all levels and kinds of transfer, files of all ranks and of each alone.
//!
//! ```text
//! with (verify=true, transfer=700, depth=3) {
//!     $h = pfopen("p3", "crw"); repeat $i 4 pfwrite($h, 900, ($i * $$size + $$rank) * 900, "all"); ...
//! }
//! pwrite("q3", "level2"); barrier; pread("q3", "level1");
//! ```

use super::{Phase, Writer};
use rand::Rng;
use rand::seq::IndexedRandom;
use std::fmt::Write as _;

/// Of each level one that ascends, and one that does not.
const PATTERNS: [&str; 6] = ["level0", "level1", "level2", "level3", "back1", "back3"];

impl Writer {
    /// Defines the patterns.
    pub(super) fn patterns(&mut self) {
        let (block, count) = (self.random.random_range(1..1_500), self.random.random_range(1..7));
        for name in PATTERNS {
            let level = &name[name.len() - 1..];
            let _ = match name.starts_with("back") {
                false => writeln!(
                    self.text,
                    "define pattern \"{name}\" level {level} = strided(block={block}, count={count});"
                ),
                true => writeln!(
                    self.text,
                    "define pattern \"{name}\" level {level} {{ repeat $k {count} \
                     extent((({count} - 1 - $k) * $$gsize + $$grank) * {block}, {block}); }}"
                ),
            };
        }
    }

    /// Options of all members alike.
    fn together(&mut self) -> (String, bool) {
        let mut options = vec![self.data()];
        let verify = options[0].starts_with("verify");
        if self.chance(2) {
            options.push(format!("transfer={}", self.random.random_range(300..5_000)));
        }
        if self.chance(2) {
            options.push(format!("depth={}", self.random.random_range(1..5)));
        }
        if self.chance(3) {
            options.push("fsync=\"close\"".into());
        }
        if self.chance(4) {
            options.push("atomic=true".into());
        }
        options.extend(self.rate());
        (format!("with ({})", options.join(", ")), verify)
    }

    /// A file that is open on all ranks, or files of each rank alone, and files as a whole.
    pub(super) fn joint(&mut self, number: usize) -> (String, Phase) {
        let (options, verify) = self.together();
        let (size, name) = (self.size(), format!("p{number}"));
        let (alone, path) = match self.chance(3) {
            true => ("with (comm=\"self\") ", format!("\"{name}-$$rank\"")),
            false => ("", format!("\"{name}\"")),
        };
        let mode = ["crw", "rwc", "crwa"].choose(&mut self.random).copied().unwrap_or("crw");
        let mut body = vec![format!("$h = pfopen({path}, \"{mode}\");")];
        let mut operations = 2;
        for _ in 0..self.random.random_range(1..6) {
            let count = self.random.random_range(1..5);
            let statement = self.on_joint(size, verify, mode.contains('a'));
            body.push(format!("repeat $i {count} {statement};"));
            operations += count;
            if self.chance(3) {
                body.push("barrier;".into());
            }
        }
        body.push("pfclose($h);".into());
        let whole = path.replacen(&name, &format!("q{number}"), 1);
        for part in 0..self.random.random_range(0..4) {
            let op = if part == 0 || self.chance(2) { "pwrite" } else { "pread" };
            let pattern = PATTERNS.choose(&mut self.random).expect("some");
            body.push(format!("{op}({whole}, \"{pattern}\");"));
            operations += 1;
        }
        (format!("{options} {alone}{{ {} }}", body.join(" ")), Phase::Fixed { operations })
    }

    /// A statement in a loop over `$i`, one operation. Verified data has places; a file that was opened
    /// for appending takes no patterns.
    fn on_joint(&mut self, size: u64, verify: bool, appends: bool) -> String {
        let op = ["pfwrite", "pfread"][self.random.random_range(0..2)];
        let word = ["", ", \"all\""][self.random.random_range(0..2)];
        let pointer = ["shared", "ordered"][self.random.random_range(0..2)];
        match self.random.random_range(0..10) {
            0 => "pfsync($h)".into(),
            1 => format!("pfsetsize($h, $i * {size})"),
            2 => format!("pfpreallocate($h, $i * {size} + 1)"),
            3 => format!("pfseek($h, $i * {size})"),
            4 | 5 if !appends => {
                let pattern = PATTERNS.choose(&mut self.random).expect("some");
                format!("{op}($h, \"{pattern}\")")
            }
            6 if !verify => format!("{op}($h, {size}, \"{pointer}\")"),
            7 => format!("{op}($h, {size}{word})"),
            _ => format!("{op}($h, {size}, ($i * $$size + $$rank) * {size}{word})"),
        }
    }
}
