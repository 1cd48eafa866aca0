//! Command lines: their words, the tool they call, its options.
//!
//! ```text
//! $ mpirun -np 4 ./ior -a POSIX -b 1m      tool ior, 4 ranks, options -a POSIX, -b 1m
//! ```

/// A word that only an option of the tool is.
type IsOption = fn(&str) -> bool;

/// A benchmark whose command lines are known.
pub(super) struct Tool {
    /// Its program.
    pub(super) name: &'static str,
    /// How its command line is called, with an article.
    pub(super) title: &'static str,
    /// Some word after its name is this.
    is_option: IsOption,
}

const TOOLS: &[Tool] = &[
    Tool { name: "ior", title: "an IOR command line", is_option: has_dash },
    Tool { name: "mdtest", title: "an mdtest command line", is_option: has_dash },
    Tool { name: "elbencho", title: "an elbencho command line", is_option: has_dash },
    Tool { name: "fio", title: "a fio command line", is_option: |word| word.starts_with("--") },
    Tool {
        name: "dd",
        title: "a dd command line",
        is_option: |word| word.starts_with("if=") || word.starts_with("of="),
    },
];

fn has_dash(word: &str) -> bool {
    word.starts_with('-')
}

/// What may stand before the tool.
const BEFORE: &[&str] = &[
    "$", "%", "mpirun", "mpiexec", "srun", "aprun", "jsrun", "sudo", "time", "env", "nohup",
    "numactl",
];

/// Options of launchers that give the number of ranks.
const RANKS: &[&str] = &["-n", "-np", "--np", "-N", "--ntasks"];

/// A call of a benchmark.
pub(super) struct Command<'t> {
    pub(super) tool: &'static Tool,
    /// Ranks, where a launcher tells them.
    pub(super) ranks: Option<u64>,
    /// The words after the tool.
    pub(super) words: Vec<&'t str>,
}

/// The call of a benchmark that a line is.
pub(super) fn find(line: &str) -> Option<Command<'_>> {
    if line.starts_with('#') || line.ends_with([';', '{']) {
        return None;
    }
    let words: Vec<&str> =
        line.split_whitespace().filter(|word| *word != "\\").map(unquoted).collect();
    let tool_of = |word: &str| {
        let name = word.rsplit('/').next().unwrap_or(word);
        TOOLS.iter().find(|tool| tool.name == name)
    };
    let at = words.iter().position(|word| tool_of(word).is_some())?;
    let tool = tool_of(words[at])?;
    let (before, after) = (&words[..at], &words[at + 1..]);
    let is_call = before.first().is_none_or(|word| BEFORE.contains(word) || word.contains('='));
    let is_option = after.iter().any(|word| (tool.is_option)(word));
    let words =
        after.iter().copied().take_while(|word| !matches!(*word, "|" | "&&" | ">" | "2>&1" | "&"));
    (is_call && is_option).then(|| Command { tool, ranks: ranks(before), words: words.collect() })
}

fn unquoted(word: &str) -> &str {
    word.trim_matches(['"', '\''])
}

fn ranks(before: &[&str]) -> Option<u64> {
    let pairs = before.windows(2);
    let mut given = pairs.filter(|pair| RANKS.contains(&pair[0])).map(|pair| pair[1].parse());
    given.next()?.ok()
}

/// An option, with its value where it has one. Names of one letter have no dashes, others two.
pub(super) type Given<'t> = (String, Option<&'t str>);

/// Options as getopt reads them: `-b 1m`, `-b=1m`, `-b1m`, `-wr`, `--direct`, `--block 1m`; those in
/// `takes` have values. Words that are no options come last, with the name "".
pub(super) fn options<'t>(words: &[&'t str], takes: &[&str]) -> Vec<Given<'t>> {
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
    found
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
pub(super) fn size(text: &str) -> Option<u64> {
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
            ("dd if=a of=b", Some(("dd", None, 2))),
            ("dd 3", None),
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
        let found = options(&words, &["b", "t", "s", "-size"]);
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
