//! Command lines of benchmarks: the tool they call, its ranks, and its options as getopt reads them.
//!
//! ```text
//! $ mpirun -np 4 ./ior -a POSIX -b 1m      tool ior, 4 ranks, words -a POSIX -b 1m
//! -wr -b 1m -t64k --direct file            w, r, b = 1m, t = 64k, -direct, "" = file
//! ```

/// A benchmark whose command lines are translated.
pub(crate) struct Tool {
    /// Its program.
    pub(crate) name: &'static str,
    /// How its command line is called, with an article.
    pub(crate) title: &'static str,
}

const TOOLS: &[Tool] = &[
    Tool { name: "ior", title: "an IOR command line" },
    Tool { name: "mdtest", title: "an mdtest command line" },
    Tool { name: "fio", title: "a fio command line" },
];

/// A call of IOR with these words.
pub(crate) fn ior<'t>(words: Vec<&'t str>) -> Command<'t> {
    Command { tool: &TOOLS[0], ranks: None, words }
}

/// Words that may begin a line before the tool.
const BEFORE: &[&str] = &[
    "$", "%", "sudo", "time", "env", "nohup", "numactl", "mpirun", "mpiexec", "srun", "flux",
    "jsrun", "aprun",
];

/// A call of a benchmark.
pub(crate) struct Command<'t> {
    pub(crate) tool: &'static Tool,
    /// Ranks that the launcher names.
    pub(crate) ranks: Option<u64>,
    /// The words after the tool.
    pub(crate) words: Vec<&'t str>,
}

/// The call of a benchmark that a line is.
pub(crate) fn find(line: &str) -> Option<Command<'_>> {
    if line.starts_with('#') || line.ends_with([';', '{']) {
        return None;
    }
    let unquoted = |word| str::trim_matches(word, ['"', '\'']);
    let words: Vec<&str> = line.split_whitespace().map(unquoted).collect();
    let name_of = |word: &'_ str| word.rsplit('/').next().map(str::to_string).unwrap_or_default();
    let tool_of = |word: &str| TOOLS.iter().find(|tool| tool.name == name_of(word));
    let at = words.iter().position(|word| tool_of(word).is_some())?;
    let tool = tool_of(words[at])?;
    let (before, after) = (&words[..at], &words[at + 1..]);
    let is_call =
        before.first().is_none_or(|word| word.contains('=') || BEFORE.contains(&&*name_of(word)));
    let has_option = after.iter().any(|word| word.len() > 1 && word.starts_with('-'));
    let words =
        after.iter().copied().take_while(|word| !matches!(*word, "|" | "&&" | ">" | "2>&1" | "&"));
    (is_call && has_option).then(|| Command {
        tool,
        ranks: launched_ranks(before),
        words: words.collect(),
    })
}

/// `-np 4` of a launcher.
fn launched_ranks(before: &[&str]) -> Option<u64> {
    let is_count = |word: &str| matches!(word, "-n" | "-np" | "--np" | "--ntasks");
    before.windows(2).find(|pair| is_count(pair[0])).and_then(|pair| pair[1].parse().ok())
}

/// An option, with its value where it has one. Names of one letter have no dashes, others one.
type Given<'t> = (String, Option<&'t str>);

/// The options that are given, in order.
pub(crate) struct Options<'t>(Vec<Given<'t>>);

impl<'t> Options<'t> {
    /// Options as getopt reads them: `-b 1m`, `-b=1m`, `-b1m`, `-wr`, `--direct`, `--block 1m`; those in
    /// `takes` have values. Words that are no options have the name "".
    pub(crate) fn read(words: &[&'t str], takes: &[&str]) -> Options<'t> {
        let mut found: Vec<Given<'t>> = Vec::new();
        let mut words = words.iter().copied().peekable();
        while let Some(word) = words.next() {
            let Some(name) = word.strip_prefix('-').filter(|name| !name.is_empty()) else {
                found.push((String::new(), Some(word)));
                continue;
            };
            let (name, value) = match name.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (name, None),
            };
            if name.starts_with('-') || takes.contains(&name) {
                let value = value.or_else(|| takes.contains(&name).then(|| words.next()).flatten());
                found.push((name.to_string(), value));
                continue;
            }
            letters(name, value, takes, &mut found);
        }
        Options(found)
    }

    /// The same with letters for their long names.
    pub(crate) fn with_letters(mut self, long: &[(&str, &str)]) -> Options<'t> {
        for (name, _) in &mut self.0 {
            if let Some(row) = long.iter().find(|row| row.0 == name) {
                *name = row.1.to_string();
            }
        }
        self
    }

    /// The option is there.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|option| option.0 == name)
    }

    /// Its value, the last one if there are several.
    pub(crate) fn value(&self, name: &str) -> Option<&'t str> {
        self.0.iter().rev().find(|option| option.0 == name).and_then(|option| option.1)
    }

    /// All its values, in order.
    pub(crate) fn values(&self, name: &str) -> impl Iterator<Item = &'t str> {
        self.0.iter().filter(move |option| option.0 == name).filter_map(|option| option.1)
    }

    /// Its value, if that is a number above 0.
    pub(crate) fn number(&self, name: &str) -> Option<&'t str> {
        self.value(name).filter(|n| n.parse::<u32>().is_ok_and(|n| n > 0))
    }

    /// Its value, if that is a number of bytes above 0.
    pub(crate) fn size(&self, name: &str) -> Option<u64> {
        self.value(name).and_then(size).filter(|bytes| *bytes > 0)
    }

    /// `--reps N` for the option that repeats, or nothing.
    pub(crate) fn reps(&self, name: &str) -> String {
        let reps = self.number(name).filter(|reps| *reps != "1");
        reps.map(|reps| format!(" --reps {reps}")).unwrap_or_default()
    }

    /// Those that are not `known`, as they are written.
    pub(crate) fn others(&self, known: &[&str]) -> impl Iterator<Item = String> {
        let others = self.0.iter().filter(|option| !known.contains(&option.0.as_str()));
        others.map(|(name, value)| match value {
            Some(value) if name.is_empty() => value.to_string(),
            Some(value) => format!("-{name} {value}"),
            None => format!("-{name}"),
        })
    }
}

/// `wrF`, `b1m`: letters behind one dash.
fn letters<'t>(name: &'t str, value: Option<&'t str>, takes: &[&str], found: &mut Vec<Given<'t>>) {
    for (at, letter) in name.char_indices() {
        let rest = &name[at + letter.len_utf8()..];
        let letter = letter.to_string();
        if takes.contains(&letter.as_str()) && !rest.is_empty() {
            found.push((letter, Some(rest)));
            return;
        }
        found.push((letter, value));
    }
}

/// A number of bytes as benchmarks write it: `4k`, `1M`, `1MiB`; `MB` and the like too are powers
/// of 1024, as fio and IOR have them.
pub(crate) fn size(text: &str) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let number: u64 = text[..digits].parse().ok()?;
    let shift = match text[digits..].to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "ki" | "kib" => 10,
        "m" | "mb" | "mi" | "mib" => 20,
        "g" | "gb" | "gi" | "gib" => 30,
        "t" | "tb" | "ti" | "tib" => 40,
        _ => return None,
    };
    number.checked_mul(1 << shift).filter(|bytes| *bytes <= i64::MAX as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tool_is_found_behind_launchers() {
        for (line, expected) in [
            ("ior -a POSIX", Some(("ior", None, 2))),
            ("$ mpirun -np 8 /opt/bin/ior -w -r | tee log", Some(("ior", Some(8), 2))),
            ("srun --ntasks 16 mdtest -n 3", Some(("mdtest", Some(16), 2))),
            ("OMP=1 fio --name=x --bs=4k", Some(("fio", None, 2))),
            ("fio -name=x -bs=4k", Some(("fio", None, 2))),
            ("fio job", None),
            ("print ior -a", None),
            ("ior -a POSIX;", None),
            ("# ior -a POSIX", None),
        ] {
            let found = find(line).map(|found| (found.tool.name, found.ranks, found.words.len()));
            assert_eq!(found, expected, "{line}");
        }
    }

    #[test]
    fn options_are_read_as_getopt_does() {
        let words = ["-wr", "-b", "1m", "-t64k", "-s=3", "--direct", "--size", "1g", "file"];
        let found = Options::read(&words, &["b", "t", "s", "-size"]).0;
        let expected = [
            ("w", None),
            ("r", None),
            ("b", Some("1m")),
            ("t", Some("64k")),
            ("s", Some("3")),
            ("-direct", None),
            ("-size", Some("1g")),
            ("", Some("file")),
        ];
        let expected = expected.map(|(name, value): (&str, _)| (name.to_string(), value));
        assert_eq!(found, expected);
    }

    #[test]
    fn sizes_are_powers_of_1024() {
        for (text, bytes) in [("4k", Some(4096)), ("1MiB", Some(1 << 20)), ("7", Some(7))] {
            assert_eq!(size(text), bytes, "{text}");
        }
        for text in ["", "k", "10%", "4x", "99999999999t"] {
            assert_eq!(size(text), None, "{text}");
        }
    }
}
