//! The files of a program, joined into one space of positions, and what the caller binds it to.
//!
//! A [`Span`] is two byte positions in the joined text, so that a place needs
//! 8 bytes and includes need no file number in every node.

use crate::diag::{Code, Diagnostic};
use model::plan::SourceFile;
pub use model::plan::Span;
use std::ops::Range;
use std::sync::OnceLock;

/// Largest size of all files of a program together, bytes. A longer program is
/// refused with this number in the message; memory stays below ten times it.
pub const MAX_SOURCE_BYTES: usize = 256 << 20;

/// Brings the text of included files. The caller does the I/O.
pub trait Loader {
    /// Resolves `path` relative to the file called `from`: gives the name of the
    /// file (the same name for the same file, so that loops are found) and its
    /// bytes, or a sentence that says why not.
    fn load(&mut self, from: &str, path: &str) -> Result<(String, Vec<u8>), String>;
}

/// A loader for programs without includes.
pub struct NoIncludes;

impl Loader for NoIncludes {
    fn load(&mut self, _from: &str, _path: &str) -> Result<(String, Vec<u8>), String> {
        Err("files cannot be included here".into())
    }
}

/// Number of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileId(pub u32);

/// All files of a program.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    files: Vec<SourceFile>,
    /// Position after the last file. One position lies between two files so that
    /// the end of one is not the start of the next.
    end: u32,
    /// The first file that is text of the language's own, if there is one.
    embedded: Option<usize>,
    /// Where the lines of all files begin; made when first asked for.
    lines: OnceLock<Vec<u32>>,
}

impl Sources {
    /// Adds a file. Text that is not UTF-8 or too long is replaced by nothing and
    /// reported.
    pub fn add(&mut self, name: &str, bytes: Vec<u8>) -> (FileId, Vec<Diagnostic>) {
        let start = self.end;
        let mut diagnostics = Vec::new();
        let at = Span { start, end: start };
        let text = if start as usize + bytes.len() > MAX_SOURCE_BYTES {
            let message = format!(
                "{name} makes the program {} bytes long; the limit is {MAX_SOURCE_BYTES} bytes (256 MiB)",
                start as usize + bytes.len()
            );
            diagnostics.push(
                Diagnostic::new(Code::TooLong, at, message)
                    .help("write repetition with repeat, or split the program into several runs"),
            );
            String::new()
        } else {
            String::from_utf8(bytes).unwrap_or_else(|error| {
                let offset = error.utf8_error().valid_up_to();
                let line = error.as_bytes()[..offset].iter().filter(|b| **b == b'\n').count() + 1;
                let message =
                    format!("{name} is not UTF-8 text: byte {offset} (line {line}) is not valid");
                diagnostics.push(
                    Diagnostic::new(Code::NotUtf8, at, message)
                        .help("save the program as UTF-8; write other bytes in strings as \\xHH"),
                );
                String::new()
            })
        };
        self.push(SourceFile { name: name.into(), start, text: text.into() });
        (FileId(self.files.len() as u32 - 1), diagnostics)
    }

    /// Adds text of the language's own, which is no file of the program.
    pub(crate) fn add_embedded(&mut self, name: &str, text: &str) -> FileId {
        let first = self.files.len();
        self.embedded.get_or_insert(first);
        self.add(name, text.as_bytes().to_vec()).0
    }

    /// Where text of the language's own begins; all positions of the program are below.
    pub(crate) fn end_of_program(&self) -> u32 {
        let first = self.embedded.and_then(|first| self.files.get(first));
        first.map_or(self.end, |file| file.start)
    }

    /// Removes text of the language's own: nothing refers to it any more.
    pub(crate) fn remove_embedded(&mut self) {
        self.end = self.end_of_program();
        if let Some(first) = self.embedded.take() {
            self.files.truncate(first);
            self.lines = OnceLock::new();
        }
    }

    /// Adds a file of data behind all others.
    pub(crate) fn keep(&mut self, file: SourceFile) {
        self.push(SourceFile { start: self.end, ..file });
    }

    fn push(&mut self, file: SourceFile) {
        self.end = file.start + file.text.len() as u32 + 1;
        self.files.push(file);
        self.lines = OnceLock::new();
    }

    /// All files, in the order in which they were added.
    pub fn files(&self) -> &[SourceFile] {
        &self.files
    }

    /// Gives the files away, for [`model::Plan::files`].
    pub fn into_files(self) -> Vec<SourceFile> {
        self.files
    }

    /// A file.
    pub fn file(&self, id: FileId) -> &SourceFile {
        &self.files[id.0 as usize]
    }

    /// The file that holds a position.
    pub fn file_at(&self, position: u32) -> FileId {
        let after = self.files.partition_point(|file| file.start <= position);
        FileId(after.saturating_sub(1) as u32)
    }

    /// The text of a span; "" if it does not lie in one file.
    pub fn text(&self, span: Span) -> &str {
        let file = self.file(self.file_at(span.start));
        file.text.get(Self::local(file, span)).unwrap_or("")
    }

    fn local(file: &SourceFile, span: Span) -> Range<usize> {
        let start = span.start.saturating_sub(file.start) as usize;
        let end = span.end.saturating_sub(file.start) as usize;
        start..end.max(start)
    }

    /// File, line and column (from 1; columns count characters) of a position.
    pub fn locate(&self, position: u32) -> (FileId, usize, usize) {
        let id = self.file_at(position);
        let file = self.file(id);
        let mut end = ((position - file.start) as usize).min(file.text.len());
        while !file.text.is_char_boundary(end) {
            end -= 1;
        }
        let lines = self.lines.get_or_init(|| self.line_starts());
        let before = lines.partition_point(|start| *start < file.start);
        let after = lines.partition_point(|start| *start <= file.start + end as u32);
        let line_start = (lines[after - 1] - file.start) as usize;
        (id, after - before, file.text[line_start..end].chars().count() + 1)
    }

    fn line_starts(&self) -> Vec<u32> {
        let mut starts = Vec::new();
        for file in &self.files {
            starts.push(file.start);
            let bytes = (file.start + 1..).zip(file.text.bytes());
            starts.extend(bytes.filter(|(_, byte)| *byte == b'\n').map(|(next, _)| next));
        }
        starts
    }
}

/// Looks up an environment variable.
pub type Environment = Box<dyn Fn(&str) -> Option<String>>;

/// Reads a file of data that lies beside the program; an error says in a few words why not.
pub type Files = Box<dyn Fn(&str) -> Result<Vec<u8>, String>>;

/// Everything outside the text that a plan depends on.
pub struct Binding {
    /// Number of ranks, at least 1.
    pub ranks: u32,
    /// Nobody asked for that number (as in `parabench check p.ppl`). A program that
    /// never speaks of ranks is then taken for one of a single rank, and group sizes are not compared
    /// with the number of ranks.
    pub ranks_assumed: bool,
    /// The machine of each rank, numbered from 0; empty: all share one.
    pub machines: Vec<u32>,
    /// `NAME=VALUE` of the command line, in order; the last of a name wins.
    pub params: Vec<(String, String)>,
    /// `--group NAME[:SIZE]`; a size is a number of ranks or a percentage such as "50%".
    pub groups: Vec<(String, Option<String>)>,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Absolute path of the run directory, which is `$$env(PWD)`. `None`: not known
    /// yet; then `$$env(PWD)` is ".", which means the same to every operation.
    pub directory: Option<String>,
    /// Names and absolute paths of the directories that are granted besides (`--mount`).
    pub directories: Vec<(String, String)>,
    /// The environment: `$$env(NAME)`, and `PARABENCH_NAME` for the parameter NAME.
    pub env: Environment,
    /// The files beside the program that hold data: values, times, bytes to write.
    pub files: Files,
    /// MPI statements can be executed, or nothing is executed at all. Otherwise the
    /// first of them gets a warning.
    pub mpi: bool,
}

impl Binding {
    /// Absolute paths of all directories in which the program may work, as far as they are known.
    pub(crate) fn roots(&self) -> Vec<String> {
        let granted = self.directories.iter().map(|(_, path)| path.clone());
        self.directory.iter().cloned().chain(granted).collect()
    }

    /// Ranks on one machine and nothing else: no parameters, an empty environment, seed 42.
    pub fn new(ranks: u32) -> Binding {
        Binding {
            ranks: ranks.max(1),
            ranks_assumed: false,
            machines: Vec::new(),
            params: Vec::new(),
            groups: Vec::new(),
            seed: 42,
            directory: None,
            directories: Vec::new(),
            env: Box::new(|_| None),
            files: Box::new(|_| Err("there are no files here".into())),
            mpi: true,
        }
    }
}

impl Binding {
    /// Number of machines: `$$nodes`.
    pub fn nodes(&self) -> u32 {
        self.machines.iter().max().map_or(1, |last| last + 1)
    }

    /// Number of each rank's machine, and of the rank on it: `$$node` and `$$noderank`.
    pub(crate) fn places(&self) -> Vec<(u32, u32)> {
        if self.machines.is_empty() {
            return (0..self.ranks).map(|rank| (0, rank)).collect();
        }
        let mut ranks_of = vec![0u32; self.nodes() as usize];
        let place = |machine: &u32| {
            ranks_of[*machine as usize] += 1;
            (*machine, ranks_of[*machine as usize] - 1)
        };
        self.machines.iter().map(place).collect()
    }
}

impl Default for Binding {
    fn default() -> Binding {
        Binding::new(1)
    }
}
