//! Programs from a tape of bytes: what the bytes choose is nearly always a program
//! without errors, and a shorter tape is a smaller program, so that failures shrink.

use std::fmt::Write;

/// Deepest nesting of statements.
const DEEPEST: u32 = 4;

/// The program that a tape stands for.
pub fn program(tape: &[u8]) -> String {
    let mut writer =
        Writer { tape, at: 0, text: String::new(), depth: 0, loops: 0, in_proc: false };
    writer.text.push_str(
        "$a = 1; $b = 2; $s = \"x\"; $l = [1, 2, 3]; $m = [0, [1, 2, [3]], $l];\n\
         param $n = 2;\n\
         define groups {\"g\":D, \"h\":D, \"one\":S = 1, \"all\"};\n",
    );
    writer.procs();
    while writer.at < writer.tape.len() {
        writer.statement();
    }
    writer.text
}

struct Writer<'a> {
    tape: &'a [u8],
    at: usize,
    text: String,
    depth: u32,
    loops: u32,
    in_proc: bool,
}

impl Writer<'_> {
    /// A choice out of `n`; 0 when the tape is at its end.
    fn choose(&mut self, n: u8) -> u8 {
        let byte = self.tape.get(self.at).copied().unwrap_or(0);
        self.at += 1;
        byte % n
    }

    fn pick(&mut self, from: &[&str]) -> String {
        from[usize::from(self.choose(from.len() as u8))].to_string()
    }

    fn add(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Two procs, of which the second calls the first.
    fn procs(&mut self) {
        self.in_proc = true;
        self.add(
            "define proc v($x) { global $a = $a + 1; stat(\"v$x\"); if ($x == 2) return \"t\"; return $a + 1; }\n",
        );
        self.add("define proc p($x, $y) ");
        self.block();
        self.add("define proc q($x) { $y = 0; ");
        self.statement();
        self.add("p($x, 1); ");
        self.statement();
        self.add("}\n");
        self.in_proc = false;
    }

    fn block(&mut self) {
        self.add("{ ");
        for _ in 0..=self.choose(3) {
            self.statement();
        }
        self.add("}\n");
    }

    fn statement(&mut self) {
        if self.depth >= DEEPEST {
            return self.simple();
        }
        self.depth += 1;
        match self.choose(16) {
            0..=5 => self.simple(),
            6 => self.repeat(),
            7 => self.while_loop(),
            8 => {
                let cond = self.condition();
                let _ = write!(self.text, "if ({cond}) ");
                self.block();
                if self.choose(2) == 0 {
                    self.add("else ");
                    self.block();
                }
            }
            9 => {
                let label = self.string();
                let kind = self.pick(&["time", "ctime"]);
                let _ = write!(self.text, "{kind}[{label}] ");
                self.block();
            }
            10 => {
                let name = self.pick(&["\"g\"", "\"h\"", "\"one\"", "\"all\"", "\" g\""]);
                let _ = write!(self.text, "group {name} ");
                self.block();
            }
            11 => {
                let head = self.pick(&["master ", "master sync "]);
                self.add(&head);
                self.block();
            }
            12 => {
                self.add("with (transfer=4k, expect=\"ENOENT\") ");
                self.block();
            }
            13 if !self.in_proc => {
                let (x, y) = (self.value(), self.value());
                let call = if self.choose(2) == 0 {
                    format!("p({x}, {y});\n")
                } else {
                    format!("q({x});\n")
                };
                self.add(&call);
            }
            14 if self.loops > 0 => {
                let leave = self.pick(&["break;", "continue;"]);
                let cond = self.condition();
                let _ = writeln!(self.text, "if ({cond}) {leave}");
            }
            _ => {
                self.add("time ");
                self.simple();
            }
        }
        self.depth -= 1;
    }

    fn repeat(&mut self) {
        let var = self.pick(&["$i", "$j", "$a", ""]);
        let from = self.choose(3);
        let count = match self.choose(4) {
            0 => "$n".to_string(),
            1 => format!("{from}..{}", from + 3),
            2 => "5..0 step -2".to_string(),
            _ => self.choose(4).to_string(),
        };
        let _ = write!(self.text, "repeat {var} {count} ");
        self.loops += 1;
        self.block();
        self.loops -= 1;
    }

    fn while_loop(&mut self) {
        let depth = self.depth;
        let _ = write!(
            self.text,
            "$w{depth} = 3; while ($w{depth} > 0) {{ $w{depth} = $w{depth} - 1; stat(\"w\"); "
        );
        self.loops += 1;
        self.statement();
        self.loops -= 1;
        self.add("}\n");
    }

    fn simple(&mut self) {
        let (path, n) = (self.string(), self.number());
        let line = match self.choose(15) {
            0 => format!("write({path}, {n});"),
            1 => format!("read({path});"),
            2 => format!("rename({path}, \"to\");"),
            3 => format!("print {n}, {path};"),
            4 => format!("$a = {n};"),
            5 => format!("$b = {};", self.value()),
            6 => format!("$s = {path};"),
            7 => format!("$c = {}; print $c;", self.value()),
            8 => format!("$h = fopen({path}, \"r\"); fread($h, {n}, 4k); fclose($h);"),
            9 => "barrier;".into(),
            10 => format!("signal({path}, to=1);"),
            12 => format!(
                "push($l, {n}); $l[{}] = $a; repeat $x in $l print $x, $l[0];",
                self.choose(4)
            ),
            13 => {
                let (at, of) = (self.choose(3), if self.in_proc { "global " } else { "" });
                let value = self.value();
                format!(
                    "{of}$m[1][{at}] = {value}; {of}push($m[{at}], {n}); {of}$m[0] = $a; print $m, $m[1][0];"
                )
            }
            11 => format!("$r = write({path}, {n}); if ($r) print $r, errno($r), $r + 1;"),
            _ => format!("assert({});", self.condition()),
        };
        self.add(&line);
        self.add("\n");
    }

    fn string(&mut self) -> String {
        let mut text = String::from("\"f");
        for _ in 0..self.choose(4) {
            text.push_str(&self.pick(&[
                "$a",
                "$ab",
                "${b}x",
                "-",
                "/d",
                "$$rank",
                "$$grank_",
                "$s",
                "$$size",
                "\\$",
                "${b:03}",
                "${a:x}",
                "$n0",
                "$$group",
                "${$$rank:04}",
                "${b:3}",
                "${$$size}",
            ]));
        }
        text + "\""
    }

    fn number(&mut self) -> String {
        match self.choose(10) {
            0 => "$$rank".into(),
            1 => "$a".into(),
            2 => "$l[$$rank % 3]".into(),
            3 => "len($l)".into(),
            4 => format!("(1 + {}) * 2", self.choose(9)),
            5 => "max($$rank, $n, 1)".into(),
            6 => "4k".into(),
            7 => "\"7\"".into(),
            8 => "$$gsize - 1".into(),
            _ => self.choose(9).to_string(),
        }
    }

    /// An operation or a proc, which changes `$a`, in an expression.
    fn called(&mut self) -> String {
        match self.choose(4) {
            0 => format!("write({}, 1)", self.string()),
            1 => "stat(\"f$a\")".into(),
            2 => format!("v({})", self.number()),
            _ => format!("v(v({}))", self.number()),
        }
    }

    fn value(&mut self) -> String {
        match self.choose(13) {
            11 | 12 => {
                let (cond, a, b) = (self.condition(), self.value_inside(), self.value_inside());
                format!("{cond} ? {a} : {b}")
            }
            8 => format!("{} + {}", self.number(), self.called()),
            9 => format!("[$a, {}, \"$a\"]", self.called()),
            10 => self.called(),
            0 => self.string(),
            1 => format!("{} + {}", self.number(), self.number()),
            2 => format!("$b + {}", self.string()),
            3 => format!("[{}, $a]", self.number()),
            4 => self.condition(),
            5 => format!("-{}", self.number()),
            6 => "$b".into(),
            _ => self.number(),
        }
    }

    /// A part of another value, in parentheses.
    fn value_inside(&mut self) -> String {
        match self.depth < DEEPEST {
            true => {
                self.depth += 1;
                let value = self.value();
                self.depth -= 1;
                format!("({value})")
            }
            false => self.number(),
        }
    }

    fn condition(&mut self) -> String {
        match self.choose(12) {
            10 => format!("$$rank && v({})", self.number()),
            11 => "v($a) > $a || stat(\"c\")".into(),
            8 => "$n == 3 && 1 / ($n - 2) > 0".into(),
            9 => format!("$n == 2 || {} / 0 > 0", self.number()),
            0 => "$$rank == 0".into(),
            1 => format!("{} > 2", self.number()),
            2 => format!("{} == $b", self.number()),
            3 => format!("$$rank < 2 && {} != 1", self.number()),
            4 => format!("$a == 1 || {} < 3", self.number()),
            5 => "!($$rank % 2)".into(),
            6 => "$n == 2 && $$rank == 1".into(),
            _ => "true".into(),
        }
    }
}
