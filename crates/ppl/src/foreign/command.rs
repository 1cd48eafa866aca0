//! Command lines: the tool they call, its words, and its ranks.
//!
//! ```text
//! $ mpirun -np 4 ./ior -a POSIX -b 1m      tool ior, 4 ranks, words -a POSIX -b 1m
//! ```

use super::launcher::{self, Launcher};

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

/// What may stand before the tool, besides launchers.
const BEFORE: &[&str] = &["$", "%", "sudo", "time", "env", "nohup", "numactl"];

/// A call of a benchmark.
pub(super) struct Command<'t> {
    pub(super) tool: &'static Tool,
    /// Ranks, where a launcher tells them.
    pub(super) ranks: Option<u64>,
    /// The launcher with its words, where it starts ranks on other nodes, or so many as it decides.
    pub(super) launcher: Option<String>,
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
    let is_call = before
        .first()
        .is_none_or(|word| BEFORE.contains(word) || word.contains('=') || launcher::is_one(word));
    let is_option = after.iter().any(|word| (tool.is_option)(word));
    let words =
        after.iter().copied().take_while(|word| !matches!(*word, "|" | "&&" | ">" | "2>&1" | "&"));
    let launcher = Launcher::find(before);
    (is_call && is_option).then(|| Command {
        tool,
        ranks: launcher.as_ref().and_then(Launcher::ranks),
        launcher: launcher.filter(Launcher::decides).map(|launcher| launcher.words.join(" ")),
        words: words.collect(),
    })
}

fn unquoted(word: &str) -> &str {
    word.trim_matches(['"', '\''])
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
            ("srun -N 2 --ntasks=16 mdtest -n 3", Some(("mdtest", Some(16), 2))),
            ("srun -N 2 ior -w", Some(("ior", Some(2), 1))),
            ("flux run -N2 -n8 ior -w", Some(("ior", Some(8), 1))),
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
}
