//! One call of a log, whatever the log's format: who, when, what, with which result.
//!
//! ```text
//! 17 1795253061.79 pread64(3</d/f>, "..", 4096, 8192) = 4096 <0.000068>
//!    thread 17, Call { act: On(Fread), at: 3, bytes: 4096, offset: Some(8192) }, Outcome::success(4096)
//! ```
//!
//! It borrows from the scanner: nothing is allocated per line.

use model::Op;

/// A call that a log holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Record<'a> {
    /// Its line, from 1; of a call on two lines the first one.
    pub line: u64,
    /// The log's number of the thread.
    pub thread: u64,
    /// When it began, nanoseconds on the log's clock.
    pub start_ns: u64,
    /// How long it took; `None`: the log does not tell.
    pub elapsed_ns: Option<u64>,
    /// Known wait of the thread between its last call and this one, nanoseconds.
    pub waited_ns: u64,
    /// Its name in the log: "pread64".
    pub name: &'a [u8],
    /// The function of the program that made it; empty: the log does not tell.
    pub site: &'a [u8],
    /// The call itself.
    pub call: Call<'a>,
    /// How it ended.
    pub outcome: Outcome<'a>,
    /// Only its beginning: the whole call follows in another record.
    pub is_begin: bool,
}

impl Record<'_> {
    /// A record that only says where and when: nothing is done, nothing is known of its duration.
    pub fn at(line: u64, thread: u64, start_ns: u64) -> Record<'static> {
        Record {
            line,
            thread,
            start_ns,
            elapsed_ns: None,
            waited_ns: 0,
            name: b"",
            site: b"",
            call: Call::new(Act::Other),
            outcome: Outcome::success(0),
            is_begin: false,
        }
    }
}

/// How a call ended.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Outcome<'a> {
    /// Return value; `None`: it never returned, or the log lacks it.
    pub value: Option<i64>,
    /// Linux errno; 0 for success.
    pub errno: u16,
    /// The file of a returned descriptor, as the recorder saw it, with escapes of C strings; empty
    /// if unknown.
    pub shown: &'a [u8],
    /// It was interrupted and begins anew, in a record of its own.
    pub restarts: bool,
}

/// The error of a call of which the log only tells that it failed: no error of Linux has this number.
pub const ERRNO_UNKNOWN: u16 = 4095;

impl Outcome<'_> {
    /// It gave back `value`.
    pub fn success(value: i64) -> Outcome<'static> {
        Outcome { value: Some(value), ..Outcome::default() }
    }

    /// It failed.
    pub fn failure(errno: u16) -> Outcome<'static> {
        Outcome { value: Some(-1), errno, ..Outcome::default() }
    }
}

/// A file descriptor, with its file if the recorder shows it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fd<'a> {
    /// Its number; [`CWD`] for the current directory.
    pub number: i64,
    /// An absolute path, one that begins with `./`, or `pipe:[7]`; empty: not shown.
    pub shown: &'a [u8],
    /// Backslashes in it begin escapes, and `<` what kind of device it is.
    pub escaped: bool,
    /// The recorder says that the name was removed.
    pub removed: bool,
}

impl Fd<'_> {
    /// One of which only the number is known.
    pub const fn bare(number: i64) -> Fd<'static> {
        Fd { number, shown: b"", escaped: false, removed: false }
    }

    /// The recorder shows a file.
    pub fn shows_path(&self) -> bool {
        self.shown.starts_with(b"/") || self.shown.starts_with(b"./")
    }
}

/// Flags of an opening that the log does not tell.
pub const FLAGS_UNKNOWN: u32 = model::event::NO_ID;

/// `AT_FDCWD`: names start at the current directory.
pub const CWD: i64 = -100;

/// A name as the log has it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Name<'a> {
    /// Its bytes, with escapes of C strings if there are backslashes in it.
    pub text: &'a [u8],
    /// Backslashes begin escapes.
    pub escaped: bool,
    /// The recorder left its end out.
    pub cut: bool,
}

impl Name<'_> {
    /// One without escapes.
    pub const fn plain(text: &[u8]) -> Name<'_> {
        Name { text, escaped: false, cut: false }
    }
}

/// A name and where it starts, or something open.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct At<'a> {
    /// The directory of a relative name.
    pub dir: Fd<'a>,
    /// The name; empty: the descriptor itself.
    pub name: Name<'a>,
}

impl<'a> At<'a> {
    /// Something open.
    pub const fn open(dir: Fd<'a>) -> At<'a> {
        At { dir, name: Name::plain(b"") }
    }

    /// A name without escapes, as seen from the current directory.
    pub const fn here(text: &'a [u8]) -> At<'a> {
        At { dir: Fd::bare(CWD), name: Name::plain(text) }
    }
}

/// Properties that a new thread shares with its parent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Shares {
    /// It is a thread of the same process.
    pub process: bool,
    /// Descriptors.
    pub files: bool,
    /// The current directory.
    pub directory: bool,
}

impl Shares {
    /// Those of a process of its own.
    pub const NOTHING: Shares = Shares { process: false, files: false, directory: false };
    /// Those of a thread.
    pub const ALL: Shares = Shares { process: true, files: true, directory: true };
}

/// Identity of a thread. Empty and `None`: the log lacks it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Introduction<'a> {
    /// Its machine.
    pub host: &'a [u8],
    /// Its program.
    pub command: &'a [u8],
    /// Its number is its rank, in a job of at least this many ranks.
    pub ranks: Option<u32>,
    /// The log's number of its process.
    pub process: Option<u64>,
    /// It shares descriptors and directory with this thread.
    pub shares: Option<u64>,
}

/// The action of a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Act<'a> {
    /// An operation on what is open, or, where there is a name, on the name.
    On(Op),
    /// An operation on a file that the log names: it knows no descriptors. The result is the number of
    /// bytes moved, if the operation moves any.
    Whole(Op),
    /// Moves bytes between descriptors, one of which may be no file.
    Send,
    /// Closes all descriptors from `at` to `to`; with O_CLOEXEC they are closed by exec.
    CloseRange,
    /// Makes another descriptor for the same instance, in place of `to` if that is not negative.
    Dup,
    /// Says by O_CLOEXEC whether exec closes a descriptor.
    CloseAtExec,
    /// Changes flags of an instance that can be changed (F_SETFL).
    SetFlags,
    /// Gives descriptors of things that are no files: pipes, sockets, events. They are `at` and `to`, or, if
    /// `at` is negative, the result.
    NoFile,
    /// Maps a file into memory.
    Map,
    /// Enters a directory.
    Enter,
    /// Shows the current directory.
    TellDirectory,
    /// Makes a thread or process: the result is its number.
    Spawn(Shares),
    /// Separates what was shared (unshare).
    Unshare(Shares),
    /// The thread begins as a child of `parent`; ignored for a known thread that is not new.
    Begin {
        /// The log's number of the thread that started it.
        parent: u64,
        /// Resources shared with that thread.
        shares: Shares,
        /// No thread that was there before.
        is_new: bool,
    },
    /// The log says who the thread is.
    Introduce(Introduction<'a>),
    /// Executes a program.
    Execute,
    /// The thread is over.
    Exit,
    /// Executing a program made this thread the current one.
    Supersede(u64),
    /// A descriptor is open on the shown file.
    Shown,
    /// A barrier of `bytes` ranks of MPI.
    Barrier,
    /// A call of MPI-IO: the calls of POSIX that it becomes are in the log.
    Mpi(Op),
    /// Another call of a library above POSIX.
    Above,
    /// On what is open, or a name, and Parabench has no operation for it.
    WithoutOperation,
    /// Its effect depends on memory that the log does not show.
    Opaque,
    /// Nothing that touches files.
    Other,
}

/// A call, with descriptors and names as the caller uses them; [`crate::resolve`] finds the files.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Call<'a> {
    /// The action.
    pub act: Act<'a>,
    /// Its first file: the one that is read by a copy, the old name of a rename, the text of a symbolic link.
    pub at: At<'a>,
    /// Its second file, or the text that reading a link gave.
    pub to: At<'a>,
    /// Position in the first file; `None`: the current one.
    pub offset: Option<u64>,
    /// Position in the second file.
    pub to_offset: Option<u64>,
    /// Bytes requested; the size that is set, the end of what is allocated, the mode of chmod. Of cloning a
    /// file 0 means all to its end.
    pub bytes: u64,
    /// Flags of open(2), [`FLAGS_UNKNOWN`] where the log has none; of renameat2(2); [`KEEPS_SIZE`].
    pub flags: u32,
    /// Size of the regular file, as far as the log knows it.
    pub size_bytes: Option<u64>,
}

/// Flag of fallocate(2): the file does not grow.
pub const KEEPS_SIZE: u32 = 1;

impl<'a> Call<'a> {
    /// One without arguments.
    pub const fn new(act: Act<'a>) -> Call<'a> {
        let nothing = At::open(Fd::bare(CWD));
        let (offset, to_offset, bytes, flags, size_bytes) = (None, None, 0, 0, None);
        Call { act, at: nothing, to: nothing, offset, to_offset, bytes, flags, size_bytes }
    }

    /// One on a file that the log names, and whose flags it does not know.
    pub fn whole(act: Act<'a>, path: &'a [u8], bytes: u64) -> Call<'a> {
        Call { at: At::here(path), bytes, flags: FLAGS_UNKNOWN, ..Call::new(act) }
    }
}
