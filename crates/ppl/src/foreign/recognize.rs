//! Recognizes texts that are no PPL.

use super::command::{self, Command};
use crate::diag::{Code, Diagnostic};
use crate::word::{Word, classify};
use model::plan::Span;
use std::ops::Range;

/// Bytes of a text that are examined.
const MAX_BYTES: usize = 1 << 20;

/// Lines that are examined: a pasted text shows at its start what it is.
const MAX_LINES: usize = 400;

/// Longer lines are no mark of anything, bytes.
const MAX_LINE_BYTES: usize = 1000;

/// A language or tool that is only recognized.
pub(crate) struct Language {
    /// With an article.
    pub(crate) name: &'static str,
    /// One line: what to do instead.
    pub(crate) hint: &'static str,
    /// One of these at the start of a line is enough.
    certain: &'static [&'static str],
    /// Two of these anywhere in the lines are enough.
    marks: &'static [&'static str],
}

const WRITE_COMMANDS: &str = "write the calls it makes: $h = fopen(\"file-$$rank\", \"w+\"); \
                              repeat $i 100 fwrite($h, 4k, $i * 4k);";

/// The table. The first row that fits is taken.
const LANGUAGES: &[Language] = &[
    Language {
        name: "an strace log",
        hint: "`parabench import LOG -o DIR` makes a run of it",
        certain: &["execve(\"", "+++ exited with"],
        marks: &["(AT_FDCWD, ", ") = -1 E", ") = ", "<unfinished ...>"],
    },
    Language {
        name: "a Filebench workload",
        hint: "write its flowops: `createfile` is create(path);, `appendfilerand` is append(path, 4k);, `readwholefile` \
               is read(path);, an instance of a thread is a rank",
        certain: &["define fileset ", "define process ", "define file name", "flowop "],
        marks: &["thread name=", "flowop ", "set $dir=", "psrun -"],
    },
    Language {
        name: "a shell script or a command line",
        hint: WRITE_COMMANDS,
        certain: &["#!/bin/", "#SBATCH ", "dd if=", "dd of=", "elbencho -", "sysbench "],
        marks: &["; do", "; then", "done", "export ", "mkdir -p ", "cd /"],
    },
    Language {
        name: "a program in another language",
        hint: "write its I/O calls alone, without memory and types: write(\"file-$$rank\", 4k); \
               docs/language.md has a table of calls",
        certain: &[
            "#!/usr/bin/",
            "if __name__",
            "with open(",
            "FILE *",
            "std::",
            "let mut ",
            "{\"",
        ],
        marks: &[
            "#include ",
            "int main(",
            "int fd",
            " = open(",
            "write(fd, ",
            "read(fd, ",
            "close(fd)",
            "MPI_File_",
            "MPI_INFO_NULL",
            "return 0;",
            "import ",
            " in range(",
            ".read(",
            ".write(",
            ".close()",
        ],
    },
];

/// A recognized text.
pub(crate) enum Found<'t> {
    FioJob,
    IorScript,
    PioBench,
    Command(Command<'t>),
    Other(&'static Language),
}

impl Found<'_> {
    /// With an article.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Found::FioJob => "a fio job file",
            Found::IorScript => "an IOR script",
            Found::PioBench => "a PIObench configuration",
            Found::Command(command) => command.tool.title,
            Found::Other(language) => language.name,
        }
    }
}

/// Reports a text with mistakes that is not meant to be PPL; `base`: its first position.
#[cold]
pub(crate) fn diagnose(text: &str, base: u32) -> Option<Diagnostic> {
    let shown = logical_lines(start_of(text));
    let (found, line) = recognize(&shown)?;
    let span = Span { start: base + line.start as u32, end: base + line.end as u32 };
    let help = match &found {
        Found::Other(language) => language.hint,
        _ => "`parabench translate FILE -o x.ppl` makes a program of it",
    };
    let message = format!("this is {}, not a PPL program", found.name());
    Some(Diagnostic::new(Code::Foreign, span, message).help(help))
}

/// The first [`MAX_BYTES`], whole characters.
fn start_of(text: &str) -> &str {
    let end = (0..=MAX_BYTES.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    &text[..end.unwrap_or(0)]
}

/// Recognizes a text that is no PPL; also the first line that shows it.
pub(crate) fn recognize(text: &str) -> Option<(Found<'_>, Range<usize>)> {
    let fits = |line: &&str| line.len() <= MAX_LINE_BYTES;
    let lines: Vec<&str> = text.lines().take(MAX_LINES).map(str::trim).filter(fits).collect();
    if lines.iter().any(|line| is_ppl(line)) {
        return None;
    }
    let operates = lines.iter().any(|line| is_operation(line));
    let job = (!operates).then(|| find_fio_job(&lines)).flatten();
    let command =
        || lines.iter().enumerate().find_map(|(at, line)| Some((command::find(line)?, at)));
    let language = || {
        // Calls of C look like operations.
        let mut rows = LANGUAGES.iter().skip(if operates { LANGUAGES.len() - 1 } else { 0 });
        rows.find_map(|row| Some((Found::Other(row), row.find(&lines)?)))
    };
    let found = script(&lines).or_else(|| job.map(|at| (Found::FioJob, at)));
    let found = found.or_else(|| {
        let (command, at) = if operates { None } else { command() }?;
        Some((Found::Command(command), at))
    });
    let (found, at) = found.or_else(language)?;
    let start = lines[at].as_ptr() as usize - text.as_ptr() as usize;
    Some((found, start..start + lines[at].len()))
}

/// A script of IOR or a configuration of PIObench, which name themselves.
fn script(lines: &[&str]) -> Option<(Found<'static>, usize)> {
    let begins = |line: &str, word: &str| {
        let start = line.get(..word.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(word)) && !line.ends_with(';')
    };
    let at =
        |words: &[&str]| lines.iter().position(|line| words.iter().any(|word| begins(line, word)));
    let ior = || Some((Found::IorScript, at(&["IOR START"])?));
    let pio = || Some((Found::PioBench, at(&["<Module>", "ModuleName "])?));
    ior().or_else(pio)
}

impl Language {
    /// The first line with a mark, if the marks are enough.
    fn find(&self, lines: &[&str]) -> Option<usize> {
        let certain = |line: &&str| self.certain.iter().any(|start| line.starts_with(start));
        if let Some(at) = lines.iter().position(certain) {
            return Some(at);
        }
        let holds = |line: &str, mark: &str| {
            let is_code = mark.starts_with('#') || !line.starts_with('#');
            is_code && line.contains(mark)
        };
        let hit = |mark: &&str| lines.iter().position(|line| holds(line, mark));
        let hits: Vec<usize> = self.marks.iter().filter_map(hit).collect();
        hits.iter().min().copied().filter(|_| hits.len() >= 2)
    }
}

/// The first section or setting of a job file of fio, if it has two different ones.
fn find_fio_job(lines: &[&str]) -> Option<usize> {
    const SETTINGS: &[&[&str]] = &[
        &["rw", "readwrite"],
        &["bs", "blocksize", "bsrange", "bssplit"],
        &["ioengine", "iodepth"],
        &["numjobs", "nrfiles", "filename", "directory"],
        &["runtime", "size", "filesize", "direct"],
    ];
    let section = lines.iter().position(|line| is_section(line));
    let setting = |names: &&[&str]| lines.iter().position(|line| is_setting(line, names));
    let hits: Vec<usize> = section.into_iter().chain(SETTINGS.iter().filter_map(setting)).collect();
    hits.iter().min().copied().filter(|_| hits.len() >= 2)
}

/// `[randread]`, with a comment behind it or without
fn is_section(line: &str) -> bool {
    let line = line.split([';', '#']).next().unwrap_or(line).trim_end();
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

/// A line that only PPL has: then it is PPL with mistakes.
fn is_ppl(line: &str) -> bool {
    const HOLDS: &[&str] = &["$$rank", "$$grank", "$$size", "$$gsize"];
    const BEGINS: &[&str] = &[
        "repeat ",
        "time[",
        "ctime[",
        "param $",
        "define groups",
        "define param",
        "define pattern",
        "define proc ",
        "define hints",
        "with (",
        "master ",
        "barrier;",
        "group \"",
        "split ($",
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

/// `$name = ...`, which no shell has.
fn is_assignment(line: &str) -> bool {
    let name = line.strip_prefix('$').map(|rest| rest.trim_start_matches(is_name));
    name.is_some_and(|rest| rest.trim_start().starts_with('='))
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// The text without line ends after a backslash, and with blanks in place of `/* comments */`, which
/// can show anything. Positions stay.
pub(crate) fn logical_lines(text: &str) -> String {
    let mut shown = text.replace("\\\r\n", "   ").replace("\\\n", "  ");
    let mut from = 0;
    while let Some(start) = text[from..].find("/*").map(|at| from + at) {
        let Some(end) = text[start + 2..].find("*/").map(|at| start + 2 + at + 2) else { break };
        let blank = |c: char| if c == '\n' { "\n".to_string() } else { " ".repeat(c.len_utf8()) };
        let blanks: String = text[start..end].chars().map(blank).collect();
        shown.replace_range(start..end, &blanks);
        from = end;
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Option<&'static str> {
        recognize(&logical_lines(text)).map(|(found, _)| found.name())
    }

    #[test]
    fn a_few_lines_show_the_language() {
        const SCRIPT: &str = "a shell script or a command line";
        const PROGRAM: &str = "a program in another language";
        for (text, expected) in [
            ("[global]\nbs=4k\n", "a fio job file"),
            ("[global] ; for all\nbs=4k # a page\n", "a fio job file"),
            ("rw = randread\nbs = 4k\n", "a fio job file"),
            ("  [job 1]\n  rw=read\n", "a fio job file"),
            ("ior -a POSIX -b 1m\n", "an IOR command line"),
            ("$ mpirun -np 4 ./ior -a POSIX -b 1m", "an IOR command line"),
            ("#!/bin/sh\nior -a POSIX -b 1m", "an IOR command line"),
            ("fio --name=a --rw=read", "a fio command line"),
            ("mdtest -n 100 -d /mnt", "an mdtest command line"),
            ("dd if=/dev/zero of=x bs=1M count=3", SCRIPT),
            ("elbencho -w -s 1g /mnt/f", SCRIPT),
            ("sysbench fileio --file-total-size=1G run", SCRIPT),
            ("define fileset name=set1,path=/x,size=16k\n", "a Filebench workload"),
            (
                "define process name=p {\n thread name=t {\n flowop closefile\n}\n}\nrun 10",
                "a Filebench workload",
            ),
            ("IOR START\n  api=POSIX\nRUN\nIOR STOP\n", "an IOR script"),
            ("# x\nTestFile \"f\"\n<Module>\nModuleName \"a(b)\"", "a PIObench configuration"),
            ("#!/bin/bash\nls\n", SCRIPT),
            ("for i in 1 2; do\n ls\ndone\n", SCRIPT),
            ("let mut f = File::create(\"a\").unwrap();\n", PROGRAM),
            ("MPI_File_open(MPI_COMM_SELF, \"f\", 1, MPI_INFO_NULL, &fh);\n", PROGRAM),
            ("#include <fcntl.h>\nint main(void) {", PROGRAM),
            ("int fd = open(\"f\", O_RDWR);\nclose(fd);", PROGRAM),
            ("import os\nwith open('f') as f:\n", PROGRAM),
            ("f = open('x')\nf.read(10)\n", PROGRAM),
            ("{\"a\": 1, \"b\": \"x\"}", PROGRAM),
            ("openat(AT_FDCWD, \"f\", O_RDONLY) = 3\n", "an strace log"),
        ] {
            assert_eq!(name(text), Some(expected), "{text}");
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
            assert_eq!(name(text), None, "{text}");
        }
    }
}
