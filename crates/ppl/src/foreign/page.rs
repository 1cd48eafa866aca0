//! A program being written: its lines, and what it says that it leaves out.

use std::fmt::Write;

/// Lines of a program. The formatter gives them their layout.
#[derive(Default)]
pub(super) struct Page {
    text: String,
    /// The last line is a parameter.
    after_param: bool,
    /// Options that have no counterpart.
    left_out: Vec<String>,
}

impl Page {
    /// A program with a comment that says how to run it. `ranks`: those that the text asks for.
    pub(super) fn new(what: &str, ranks: Option<u64>, options: &str) -> Page {
        let ranks = ranks.map(|ranks| format!(" -n {ranks}")).unwrap_or_default();
        let mut page = Page::default();
        page.comment(&format!("{what}: parabench run x.ppl{ranks}{options}"));
        page
    }

    /// Adds a line, apart from parameters before it; nothing if it is empty.
    pub(super) fn line(&mut self, line: &str) {
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
    pub(super) fn comment(&mut self, text: &str) {
        let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let _ = writeln!(self.text, "# {}", text.trim_end());
    }

    /// Adds a parameter in bytes or a number, with its text.
    pub(super) fn param(&mut self, name: &str, value: &str, doc: &str) {
        let _ = writeln!(self.text, "param ${name} = {value}; /// {doc}");
        self.after_param = true;
    }

    /// An option that is not in the program.
    pub(super) fn leaves_out(&mut self, option: impl Into<String>) {
        self.left_out.push(option.into());
    }

    /// The program.
    pub(super) fn finish(mut self) -> String {
        if !self.left_out.is_empty() {
            let list = self.left_out.join(" ");
            self.comment(&format!("not translated: {list}"));
        }
        self.text
    }
}

/// A number of bytes with the largest suffix that tells it exactly.
pub(super) fn bytes(n: u64) -> String {
    let suffixes = [(40, "t"), (30, "g"), (20, "m"), (10, "k")];
    let exact = |shift: u32| n >= 1 << shift && n.trailing_zeros() >= shift;
    match suffixes.into_iter().find(|(shift, _)| exact(*shift)) {
        Some((shift, suffix)) => format!("{}{suffix}", n >> shift),
        None => n.to_string(),
    }
}

/// The folder and the name of a path of another tool, in letters that need no escape.
pub(super) fn place(path: &str) -> (Option<String>, String) {
    let plain = |text: &str| -> String {
        let harmless = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/');
        text.chars().map(|c| if harmless(c) { c } else { '_' }).collect()
    };
    let path = plain(path.trim_end_matches('/'));
    let (folder, name) = match path.rsplit_once('/') {
        Some((folder, name)) => (Some(folder.to_string()), name),
        None => (None, path.as_str()),
    };
    let name = if matches!(name, "" | "." | "..") { "data" } else { name };
    (folder.filter(|folder| !folder.is_empty()), name.to_string())
}

/// The options of `parabench run` that name a folder.
pub(super) fn in_folder(folder: Option<&str>) -> String {
    folder.map(|folder| format!(" --dir {folder}")).unwrap_or_default()
}
