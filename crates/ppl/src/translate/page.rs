//! A program being written: its lines, and what it says that it leaves out.

use std::fmt::Write;

/// The root of the file system, which no run may use.
const ROOT: &str = "/";

/// How a program is started.
#[derive(Default)]
pub(crate) struct Start {
    /// Ranks that the text asks for.
    pub(crate) ranks: Option<u64>,
    /// Calls of MPI-IO are made, which need MPI.
    pub(crate) mpi: bool,
    /// The folder of its files.
    pub(crate) folder: Option<String>,
    /// More options of `parabench run`.
    pub(crate) options: String,
    pub(crate) after: After,
}

/// The fate of the other tool's files at the end of each repetition.
#[derive(Clone, Copy, Default, PartialEq)]
pub(crate) enum After {
    /// They stay, and the next repetition can use them.
    #[default]
    Stay,
    /// They are asked for.
    Keep,
    /// They are removed, or the next repetition makes new ones.
    Clean,
}

impl Start {
    /// The command line. A directory that is named keeps its files, one that is not is removed.
    fn command(&self) -> String {
        let run = match (self.mpi, self.ranks) {
            (true, ranks) => format!("mpiexec -n {} parabench run x.ppl", ranks.unwrap_or(1)),
            (false, Some(ranks)) => format!("parabench run x.ppl -n {ranks}"),
            (false, None) => "parabench run x.ppl".to_string(),
        };
        let folder = match self.folder.as_deref() {
            Some(ROOT) => " --dir /parabench".to_string(),
            Some(folder) => format!(" --dir {folder}"),
            None => String::new(),
        };
        let after = match (self.after, &self.folder) {
            (After::Clean, Some(_)) => " --clean",
            (After::Keep, None) => " --keep",
            _ => "",
        };
        format!("{run}{folder}{}{after}", self.options)
    }
}

/// Lines of a program. The formatter gives them their layout.
#[derive(Default)]
pub(crate) struct Page {
    text: String,
    /// The last line is a parameter.
    after_param: bool,
    /// Options that have no counterpart.
    left_out: Vec<String>,
}

impl Page {
    /// A program with a comment that says how to run it.
    pub(crate) fn new(what: &str, start: &Start) -> Page {
        let mut page = Page::default();
        page.comment(&format!("{what}: {}", start.command()));
        if start.folder.as_deref() == Some(ROOT) {
            page.comment("No run may use / itself: --dir names a directory of its own there.");
        }
        page
    }

    /// Adds a line, apart from parameters before it; nothing if it is empty.
    pub(crate) fn line(&mut self, line: &str) {
        if line.trim().is_empty() {
            return;
        }
        if std::mem::take(&mut self.after_param) {
            self.text.push('\n');
        }
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Adds a comment of one line.
    pub(crate) fn comment(&mut self, text: &str) {
        if std::mem::take(&mut self.after_param) {
            self.text.push('\n');
        }
        let _ = writeln!(self.text, "# {}", in_comment(text));
    }

    /// Adds a parameter in bytes or a number, with its text.
    pub(crate) fn param(&mut self, name: &str, value: &str, doc: &str) {
        let _ = writeln!(self.text, "param ${name} = {value}; /// {doc}");
        self.after_param = true;
    }

    /// An option that is not in the program.
    pub(crate) fn leaves_out(&mut self, option: impl Into<String>) {
        self.left_out.push(option.into());
    }

    /// The program, and what it leaves out.
    pub(crate) fn finish(mut self) -> (String, Vec<String>) {
        if !self.left_out.is_empty() {
            let list = self.left_out.join(" ");
            self.comment(&format!("not translated: {list}"));
        }
        (self.text, self.left_out)
    }
}

/// A text as a line of a comment.
pub(crate) fn in_comment(text: &str) -> String {
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    text.trim_end().to_string()
}

/// A number of bytes with the largest suffix that tells it exactly.
pub(crate) fn bytes(n: u64) -> String {
    let suffixes = [(40, "t"), (30, "g"), (20, "m"), (10, "k")];
    let exact = |shift: u32| n >= 1 << shift && n.trailing_zeros() >= shift;
    match suffixes.into_iter().find(|(shift, _)| exact(*shift)) {
        Some((shift, suffix)) => format!("{}{suffix}", n >> shift),
        None => n.to_string(),
    }
}

/// The folder and the name of a path of another tool, in letters that need no escape.
pub(crate) fn place(path: &str) -> (Option<String>, String) {
    let path = plain(path.trim_end_matches('/'));
    let (folder, name) = match path.rsplit_once('/') {
        Some(("", name)) => (Some(ROOT.to_string()), name),
        Some((folder, name)) => (Some(folder.to_string()), name),
        None => (None, path.as_str()),
    };
    let name = if matches!(name, "" | "." | "..") { "data" } else { name };
    (folder, name.to_string())
}

/// A path of another tool that is a folder as a whole, in letters that need no escape.
pub(crate) fn folder(path: &str) -> Option<String> {
    match path.trim_end_matches('/') {
        "" if path.is_empty() => None,
        "" => Some(ROOT.to_string()),
        "." => None,
        path => Some(plain(path)),
    }
}

fn plain(text: &str) -> String {
    let harmless = |c: char| c.is_ascii_alphanumeric() || "._-/+,=:@%".contains(c);
    text.chars().map(|c| if harmless(c) { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_have_a_folder_and_a_name() {
        for (path, dir, name) in [
            ("f", None, "f"),
            ("/f", Some("/"), "f"),
            ("//f", Some("/"), "f"),
            ("/mnt/x", Some("/mnt"), "x"),
            ("/mnt/a+b@c/x", Some("/mnt/a+b@c"), "x"),
            ("a b/x/", Some("a_b"), "x"),
            ("/", None, "data"),
            ("..", None, "data"),
        ] {
            assert_eq!(place(path), (dir.map(String::from), name.to_string()), "{path}");
        }
    }

    #[test]
    fn folders_keep_where_they_begin() {
        for (path, expected) in [
            ("/scratch", Some("/scratch")),
            ("/scratch/me/", Some("/scratch/me")),
            ("scratch", Some("scratch")),
            ("/", Some("/")),
            (".", None),
            ("", None),
        ] {
            assert_eq!(folder(path).as_deref(), expected, "{path}");
        }
    }

    #[test]
    fn the_command_line_runs_as_it_is() {
        let start = |mpi: bool, folder: Option<&str>, after| Start {
            ranks: mpi.then_some(4),
            mpi,
            folder: folder.map(String::from),
            options: " --reps 3".to_string(),
            after,
        };
        for (start, expected) in [
            (start(false, None, After::Clean), "parabench run x.ppl --reps 3"),
            (start(false, None, After::Keep), "parabench run x.ppl --reps 3 --keep"),
            (
                start(true, Some("/mnt"), After::Clean),
                "mpiexec -n 4 parabench run x.ppl --dir /mnt --reps 3 --clean",
            ),
            (start(false, Some("/"), After::Keep), "parabench run x.ppl --dir /parabench --reps 3"),
        ] {
            assert_eq!(start.command(), expected);
        }
    }
}
