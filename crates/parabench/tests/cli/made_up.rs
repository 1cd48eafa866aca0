//! Programs made from a seed.

use std::fmt::Write;

/// Programs from a seed: loops, conditions, labels, procs, all kinds of operations.
pub struct MadeUp {
    state: u64,
    text: String,
    depth: u32,
    loops: u32,
}

impl MadeUp {
    /// The program of a seed.
    pub fn program(seed: u64) -> String {
        let text = "define proc p($f, $n) { append($f, $n); if ($n % 2 == 0) { stat($f); } }\n\
                    define groups {\"g\":D, \"h\":D};\n$n = 3;\n";
        let mut made = MadeUp { state: seed, text: text.into(), depth: 0, loops: 0 };
        for _ in 0..12 {
            made.statement();
        }
        made.text
    }

    /// The next number below `n` (splitmix64, public domain, Vigna 2015).
    fn below(&mut self, n: u64) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }

    fn say(&mut self, text: &str) {
        let _ = writeln!(self.text, "{:1$}{text}", "", self.depth as usize * 4);
    }

    /// A name of this rank alone; few enough that they are met again.
    fn name(&mut self) -> String {
        let number = self.below(4);
        format!("\"name-$$rank-{number}\"")
    }

    fn size(&mut self) -> String {
        let sizes = ["0", "1", "100", "4k", "$n * 10", "rand(1, 9000)", "5000 % ($n + 7)", "64k"];
        sizes[self.below(sizes.len() as u64) as usize].into()
    }

    fn block(&mut self, head: &str) {
        self.say(&format!("{head} {{"));
        self.depth += 1;
        for _ in 0..1 + self.below(3) {
            self.statement();
        }
        self.depth -= 1;
        self.say("}");
    }

    fn statement(&mut self) {
        match self.below(if self.depth < 3 { 30 } else { 20 }) {
            0..20 => self.operation(),
            20 | 21 => {
                self.loops += 1;
                let (variable, turns) = (self.loops, self.below(4));
                self.block(&format!("repeat $i{variable} {turns}"));
            }
            22 => self.block("repeat $j 10..40 step 9"),
            23 => self.block("time[\"label $n\"]"),
            24 => self.block("ctime[\"sum\"]"),
            25 => self.block("if ($$rank % 2 == 0)"),
            26 => self.block("with (expect=\"ENOENT,EEXIST\", transfer=2k)"),
            27 => self.block("master"),
            28 if self.depth == 0 => self.say("barrier;"),
            28 => self.say("$n = $n * 2 % 17;"),
            _ => self.say("$n = $n + 1; print $n, $$rank, $$rand, $$crand, perm($n % 5, 5);"),
        }
    }

    fn operation(&mut self) {
        let (a, b, n) = (self.name(), self.name(), self.size());
        let at = self.below(10_000);
        let text = match self.below(22) {
            0..4 => format!("write({a}, {n});"),
            4 => format!("write({a}, {n}, {at});"),
            5 => format!("append({a}, {n});"),
            6 => format!("read({a});"),
            7 => format!("read({a}, {n}, {at});"),
            8 => format!("create({a});"),
            9 => format!("stat({a});"),
            10 => format!("lookup({a});"),
            11 => format!("delete({a});"),
            12 => format!("rename({a}, {b});"),
            13 => format!("link({a}, {b});"),
            14 => format!("truncate({a}, {n});"),
            15 => format!("mkdir({a}); readdir({a});"),
            16 => format!("rmdir({a});"),
            17 => format!("p({a}, {n});"),
            18 => format!("chmod({a}, 420); utime({a});"),
            _ => format!(
                "$h = fopen({a}, \"a+\"); fwrite($h, {n}); fseek($h, {at}); fread($h, {n}); \
                 fstat($h); fread($h, 10, 0); fclose($h);"
            ),
        };
        self.say(&text);
    }
}
