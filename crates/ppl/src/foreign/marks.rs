//! By which marks a text is known: a table of kinds, each with lines that only it has.

use super::command;
use crate::word::{Word, classify};
use std::borrow::Cow;
use std::ops::Range;

/// What a text can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The log of strace.
    Strace,
    /// A JSON text.
    Json,
    /// A job file of fio.
    FioJob,
    /// Python source.
    Python,
    /// A script of a shell or a batch system.
    Shell,
    /// C or C++ source.
    C,
    /// A script of IOR (`ior -f`).
    IorScript,
    /// Rust source.
    Rust,
    /// The command line of a benchmark.
    Command,
}

/// What a line has.
enum Mark {
    /// It begins with this.
    Begins(&'static str),
    /// It is this and nothing else.
    Is(&'static str),
    /// It holds this.
    Holds(&'static str),
    /// This is true of it.
    Looks(fn(&str) -> bool),
}

use Mark::{Begins, Holds, Is, Looks};

/// A kind, its name with an article, and its marks with weights: different marks that together
/// weigh [`ENOUGH`] are the kind.
struct Row {
    kind: Kind,
    name: &'static str,
    marks: &'static [(u32, Mark)],
}

const ENOUGH: u32 = 2;

/// The table. The first kind that fits is taken: what holds texts of other kinds stands before them.
const ROWS: &[Row] = &[
    Row {
        kind: Kind::Strace,
        name: "an strace log",
        marks: &[
            (1, Looks(is_traced_call)),
            (1, Holds("(AT_FDCWD, ")),
            (1, Begins("execve(\"")),
            (1, Begins("+++ exited with")),
            (1, Holds(") = -1 E")),
            (1, Holds("<unfinished ...>")),
            (1, Looks(is_timed_call)),
            (1, Holds("st_mode=S_IF")),
        ],
    },
    Row { kind: Kind::Json, name: "a JSON text", marks: &[(2, Looks(is_json_member))] },
    Row {
        kind: Kind::FioJob,
        name: "a fio job file",
        marks: &[
            (1, Is("[global]")),
            (1, Looks(is_section)),
            (1, Looks(|line| is_setting(line, &["rw", "readwrite"]))),
            (1, Looks(|line| is_setting(line, &["bs", "blocksize", "bsrange", "bssplit"]))),
            (1, Looks(|line| is_setting(line, &["ioengine", "iodepth"]))),
            (1, Looks(|line| is_setting(line, &["numjobs", "nrfiles", "filename", "directory"]))),
            (1, Looks(|line| is_setting(line, &["runtime", "size", "filesize", "direct"]))),
            (1, Is("group_reporting")),
            (1, Is("time_based")),
            (1, Is("stonewall")),
        ],
    },
    Row {
        kind: Kind::Python,
        name: "a Python program",
        marks: &[
            (2, Begins("#!/usr/bin/env python")),
            (2, Begins("#!/usr/bin/python")),
            (1, Looks(is_python_import)),
            (1, Looks(|line| line.starts_with("def ") && line.ends_with(':'))),
            (1, Looks(|line| line.starts_with("class ") && line.ends_with(':'))),
            (1, Looks(is_python_block)),
            (1, Looks(|line| line.starts_with("with open(") && line.ends_with(':'))),
            (1, Looks(|line| line.starts_with("for ") && line.contains(" in range("))),
            (1, Begins("if __name__")),
            (1, Looks(is_python_method)),
            (1, Holds(" = open(\"")),
            (1, Holds(" = open('")),
            (1, Begins("print(f\"")),
        ],
    },
    Row {
        kind: Kind::Shell,
        name: "a shell script",
        marks: &[
            (2, Looks(|line| line.starts_with("#!") && line.trim_end().ends_with("sh"))),
            (2, Begins("#SBATCH ")),
            (2, Begins("#PBS ")),
            (1, Is("do")),
            (1, Is("done")),
            (1, Is("fi")),
            (1, Looks(|line| line.ends_with("; do"))),
            (1, Looks(|line| line.ends_with("; then"))),
            (1, Looks(|line| line.starts_with("export ") && line.contains('='))),
            (1, Begins("set -")),
            (1, Begins("mkdir -p ")),
            (1, Begins("rm -")),
            (1, Begins("cd /")),
            (1, Begins("echo \"")),
            (1, Begins("mpirun ")),
            (1, Begins("mpiexec ")),
            (1, Begins("srun ")),
            (1, Begins("module load ")),
            (1, Looks(|line| line.ends_with("; done"))),
        ],
    },
    Row {
        kind: Kind::C,
        name: "a C program",
        marks: &[
            (1, Begins("#include <")),
            (1, Begins("#include \"")),
            (1, Begins("#define ")),
            (1, Begins("int main(")),
            (1, Begins("int fd")),
            (1, Begins("char ")),
            (1, Begins("char *")),
            (1, Begins("static ")),
            (1, Begins("struct ")),
            (1, Begins("ssize_t ")),
            (1, Begins("off_t ")),
            (1, Begins("using namespace ")),
            (1, Holds(" = open(\"")),
            (1, Holds("write(fd, ")),
            (1, Holds("read(fd, ")),
            (1, Holds("close(fd)")),
            (1, Holds("sizeof(")),
            (1, Holds("malloc(")),
            (1, Holds("std::")),
            (1, Begins("perror(")),
            (1, Begins("return 0;")),
            (1, Begins("MPI_File_open(")),
            (1, Begins("MPI_File_write")),
            (1, Begins("MPI_File_read")),
            (1, Begins("MPI_File_close(")),
            (1, Holds("MPI_STATUS_IGNORE")),
            (1, Holds("MPI_INFO_NULL")),
            (1, Begins("FILE *")),
            (1, Begins("std::ofstream ")),
            (1, Begins("std::ifstream ")),
            (1, Begins("MPI_Init(")),
        ],
    },
    Row {
        kind: Kind::IorScript,
        name: "an IOR script",
        marks: &[(2, Looks(|line| line.eq_ignore_ascii_case("IOR START")))],
    },
    Row {
        kind: Kind::Rust,
        name: "a Rust program",
        marks: &[
            (1, Begins("use std::")),
            (1, Begins("fn main()")),
            (1, Begins("let mut ")),
            (1, Holds("File::create(")),
            (1, Holds("File::open(")),
            (1, Holds(".unwrap()")),
        ],
    },
    Row {
        kind: Kind::Command,
        name: "a command line of a benchmark",
        marks: &[(2, Looks(|line| command::find(line).is_some()))],
    },
];

/// So many lines are looked at: who pastes a text shows it at its start.
const LINES: usize = 400;

/// A longer line is no mark of anything, bytes.
const LINE_BYTES: usize = 1000;

/// What was recognised, and the line that has its first mark.
pub(super) struct Found {
    pub(super) kind: Kind,
    pub(super) line: Range<usize>,
}

impl Kind {
    /// Its name with an article.
    pub(super) fn name(self) -> &'static str {
        ROWS.iter().find(|row| row.kind == self).map_or("another text", |row| row.name)
    }
}

/// The kind that a text is, if it is none of PPL.
pub(super) fn recognise(text: &str) -> Option<Found> {
    let shown = without_comments(text);
    let lines: Vec<&str> = shown.lines().take(LINES).collect();
    if lines.iter().any(|line| is_ppl(line.trim_start())) {
        return None;
    }
    let operates = lines.iter().any(|line| is_operation(line.trim()));
    // Calls of C look like operations.
    let mut rows = ROWS.iter().filter(|row| row.kind == Kind::C || !operates);
    rows.find_map(|row| row.fits(&lines)).map(|(kind, first)| {
        let line = lines[first];
        let start = line.as_ptr() as usize - shown.as_ptr() as usize;
        let blanks = line.len() - line.trim_start().len();
        Found { kind, line: start + blanks..start + line.trim_end().len() }
    })
}

impl Row {
    /// The kind and its first marked line, if the marks are enough.
    fn fits(&self, lines: &[&str]) -> Option<(Kind, usize)> {
        let fits = |mark: &Mark, line: &str| line.len() <= LINE_BYTES && mark.is_in(line.trim());
        let hit = |mark: &Mark| lines.iter().position(|line| fits(mark, line));
        let hits = self.marks.iter().filter_map(|(weight, mark)| Some((*weight, hit(mark)?)));
        let (weight, first) = hits
            .fold((0, usize::MAX), |(sum, first), (weight, line)| (sum + weight, first.min(line)));
        (weight >= ENOUGH).then_some((self.kind, first))
    }
}

impl Mark {
    fn is_in(&self, line: &str) -> bool {
        match self {
            Begins(start) => line.starts_with(start),
            Is(whole) => line == *whole,
            Holds(part) => line.contains(part) && !line.starts_with('#'),
            Looks(test) => test(line),
        }
    }
}

/// A line that only PPL has: then it is PPL with mistakes.
fn is_ppl(line: &str) -> bool {
    const HOLDS: &[&str] = &["$$rank", "$$grank", "$$size", "$$gsize"];
    const BEGINS: &[&str] = &[
        "repeat ", "time[", "ctime[", "param $", "define ", "with (", "master ", "barrier;",
        "group \"", "split ($",
    ];
    HOLDS.iter().any(|part| line.contains(part))
        || BEGINS.iter().any(|start| line.starts_with(start))
        || is_assignment(line)
}

/// `stat("a");`
fn is_operation(line: &str) -> bool {
    let word = line.split(|c| !is_name(c)).next().unwrap_or("");
    line.ends_with(';') && line[word.len()..].starts_with('(') && classify(word).0 != Word::Other
}

/// The text with blanks in place of `/* comments */`, which can show anything.
fn without_comments(text: &str) -> Cow<'_, str> {
    let mut shown = Cow::Borrowed(text);
    let mut from = 0;
    while let Some(start) = text[from..].find("/*").map(|at| from + at) {
        let Some(end) = text[start + 2..].find("*/").map(|at| start + 2 + at + 2) else { break };
        let blank = |c: char| if c == '\n' { "\n".to_string() } else { " ".repeat(c.len_utf8()) };
        let blanks: String = text[start..end].chars().map(blank).collect();
        shown.to_mut().replace_range(start..end, &blanks);
        from = end;
    }
    shown
}

/// `$name = ...`, which no shell has.
fn is_assignment(line: &str) -> bool {
    let name = line.strip_prefix('$').map(|rest| rest.trim_start_matches(is_name));
    name.is_some_and(|rest| rest.trim_start().starts_with('='))
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// `[randread]`
fn is_section(line: &str) -> bool {
    let inner = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    inner.is_some_and(|name| {
        name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name.chars().all(|c| is_name(c) || matches!(c, '-' | '.' | ' ' | '/' | ':'))
    })
}

/// `bs=4k` with one of these names, and nothing of PPL at its end.
fn is_setting(line: &str, names: &[&str]) -> bool {
    let Some((name, value)) = line.split_once('=') else { return false };
    names.contains(&name.trim()) && !value.is_empty() && !value.ends_with([';', ',', ')', '{', '('])
}

/// `"name": value` of an object that the line begins, or that an earlier line began.
fn is_json_member(line: &str) -> bool {
    let line = line.trim_start_matches(['{', '[', ' ']);
    let Some((name, value)) = line.strip_prefix('"').and_then(|rest| rest.split_once("\":")) else {
        return false;
    };
    let value = value.trim_start();
    let starts = value.starts_with(['"', '{', '[', '-', 't', 'f', 'n'])
        || value.starts_with(|c: char| c.is_ascii_digit());
    let ends = line.ends_with([',', '{', '[', '}', ']', '"']) || !line.contains(';');
    !name.contains('"') && starts && ends
}

/// `pread64(3, "..."..., 4096, 0) = 4096`, with the number of a process or a time before it or not.
fn is_traced_call(line: &str) -> bool {
    let call =
        line.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, ' ' | '.' | ':'));
    let call = call
        .strip_prefix("[pid ")
        .and_then(|rest| rest.split_once("] "))
        .map_or(call, |rest| rest.1);
    let Some((name, rest)) = call.split_once('(') else { return false };
    let Some((_, result)) = rest.rsplit_once(" = ") else { return false };
    let before = rest[..rest.len() - result.len() - 3].trim_end();
    let is_result = result.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '?'));
    !name.is_empty()
        && name.chars().all(is_name)
        && before.ends_with(')')
        && is_result
        && !line.ends_with(';')
}

/// The same with its time behind: `<0.000012>`.
fn is_timed_call(line: &str) -> bool {
    let call = line.strip_suffix('>').and_then(|line| line.rsplit_once(" <"));
    call.is_some_and(|(call, time)| time.parse::<f64>().is_ok() && is_traced_call(call))
}

/// `import os`, `from os import path`
fn is_python_import(line: &str) -> bool {
    let names = line.strip_prefix("import ").filter(|names| !names.contains(['"', ';']));
    names.is_some() || line.starts_with("from ") && line.contains(" import ")
}

/// `if x:`, `with lock:`, `for i in x:`
fn is_python_block(line: &str) -> bool {
    const STARTS: &[&str] = &["if ", "for ", "while ", "with ", "try:", "elif ", "else:", "except"];
    line.ends_with(':') && STARTS.iter().any(|start| line.starts_with(start))
}

/// `f.write(data)`, `os.fsync(f.fileno())`
fn is_python_method(line: &str) -> bool {
    const METHODS: &[&str] = &[".write(", ".read(", ".seek(", ".close()", "os.open(", "os.fsync("];
    !line.ends_with(';') && !line.starts_with('#') && METHODS.iter().any(|part| line.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(text: &str) -> Option<Kind> {
        recognise(text).map(|found| found.kind)
    }

    #[test]
    fn a_few_lines_tell_the_kind() {
        for (text, expected) in [
            ("[global]\nbs=4k\n", Some(Kind::FioJob)),
            ("rw = randread\nbs = 4k\n", Some(Kind::FioJob)),
            ("  [job 1]\n  rw=read\n", Some(Kind::FioJob)),
            ("ior -a POSIX -b 1m\n", Some(Kind::Command)),
            ("$ mpirun -np 4 ./ior -a POSIX -b 1m", Some(Kind::Command)),
            ("fio --name=a --rw=read", Some(Kind::Command)),
            ("dd if=/dev/zero of=x bs=1M count=3", Some(Kind::Command)),
            ("elbencho -w -s 1g /mnt/f", Some(Kind::Command)),
            ("IOR START\n  api=POSIX\nRUN\nIOR STOP\n", Some(Kind::IorScript)),
            ("let mut f = File::create(\"a\").unwrap();\n", Some(Kind::Rust)),
            ("MPI_File_open(MPI_COMM_SELF, \"f\", 1, MPI_INFO_NULL, &fh);\n", Some(Kind::C)),
            ("mdtest -n 100 -d /mnt", Some(Kind::Command)),
            ("#include <fcntl.h>\nint main(void) {", Some(Kind::C)),
            ("int fd = open(\"f\", O_RDWR);\nclose(fd);", Some(Kind::C)),
            ("import os\nwith open('f') as f:\n", Some(Kind::Python)),
            ("f = open('x')\nf.read(10)\n", Some(Kind::Python)),
            ("#!/bin/bash\nls\n", Some(Kind::Shell)),
            ("for i in 1 2; do\n ls\ndone\n", Some(Kind::Shell)),
            ("{\n \"a\": 1,\n \"b\": 2\n}", Some(Kind::Json)),
            ("openat(AT_FDCWD, \"f\", O_RDONLY) = 3\n", Some(Kind::Strace)),
            ("12 1.5 read(3, \"a\", 1) = 1 <0.1>\n", Some(Kind::Strace)),
        ] {
            assert_eq!(kind(text), expected, "{text}");
        }
    }

    #[test]
    fn programs_with_mistakes_are_programs() {
        for text in [
            "$x = 1;\nint main(\nreturn 0;\n",
            "repeat 3 {\nint fd = open(\"f\", O_RDWR);\nclose(fd);\n",
            "write(\"f-$$rank\", 4k)\n[global]\nbs=4k\n",
            "write(\"a\", 1)\nread(\"a\")\n",
            "int i = 0;\nfor (i = 0; i < 10; i = i + 1) { sync; }\n",
            "bs=4k;\nsize=1g;\n",
            "# ior -a POSIX -b 1m\nwrit(\"a\", 1);",
            "// ior -a POSIX -b 1m\nwrit(\"a\", 1);",
            "/* as in\n   ior -a POSIX -b 1m\n*/\nwrit(\"a\", 1)",
            "dd if=a of=b\nstat(\"a\");\n",
            "mkdir(\"d\"",
            "",
        ] {
            assert_eq!(kind(text), None, "{text}");
        }
    }
}
