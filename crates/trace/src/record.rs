//! One call of a log, whatever the log's format: who, when, what, with which result.
//!
//! ```text
//! 17 1795253061.79 pread64(3</d/f>, "..", 4096, 8192) = 4096 <0.000068>
//!    thread 17, Call::Read { fd: 3, bytes: 4096, offset: Some(8192) }, Outcome::Value(4096)
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
            call: Call::Other,
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
    /// What a descriptor that it gave back stands for, as the recorder saw it, with escapes of C strings;
    /// empty: it does not tell.
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
    pub fn bare(number: i64) -> Fd<'static> {
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

/// A name and where it starts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct At<'a> {
    /// The directory of a relative name.
    pub dir: Fd<'a>,
    /// The name; empty: the descriptor itself.
    pub name: Name<'a>,
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

/// A call. Descriptors and names are those of the caller; [`crate::resolve`] finds the files.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "fields are the arguments that the variants name")]
pub enum Call<'a> {
    /// Opens a name; the result is a descriptor. `flags`: [`FLAGS_UNKNOWN`] where the log has none.
    Open { at: At<'a>, flags: u32 },
    /// Closes a descriptor.
    Close { fd: Fd<'a> },
    /// Closes all from `first` to `last`, or marks them to be closed by exec.
    CloseRange { first: i64, last: i64, at_exec: bool },
    /// Makes another descriptor for the same instance, in place of `over` if there is one.
    Dup { fd: Fd<'a>, over: Option<i64>, at_exec: bool },
    /// Says whether exec closes a descriptor.
    CloseAtExec { fd: Fd<'a>, on: bool },
    /// Changes flags of an instance that can be changed (F_SETFL).
    SetFlags { fd: Fd<'a>, flags: u32 },
    /// Gives descriptors of things that are no files: pipes, sockets, events.
    NoFile { fds: [Option<i64>; 2] },
    /// Reads into memory; the result is the number of bytes.
    Read { fd: Fd<'a>, bytes: u64, offset: Option<u64> },
    /// Writes from memory.
    Write { fd: Fd<'a>, bytes: u64, offset: Option<u64> },
    /// Moves bytes between descriptors, one of which may be no file.
    Send { from: Fd<'a>, from_offset: Option<u64>, to: Fd<'a>, to_offset: Option<u64>, bytes: u64 },
    /// Copies bytes between files, or lets them share the bytes (copy_file_range).
    Copy { from: Fd<'a>, from_offset: Option<u64>, to: Fd<'a>, to_offset: Option<u64>, bytes: u64 },
    /// Lets a file share bytes of another one; `bytes` 0: all to its end (FICLONE, FICLONERANGE).
    Clone { from: Fd<'a>, from_offset: u64, to: Fd<'a>, to_offset: u64, bytes: u64 },
    /// Sets the position; the result is the new one.
    Seek { fd: Fd<'a> },
    /// Reads entries of a directory; the result 0 is its end.
    List { fd: Fd<'a> },
    /// Asks for the attributes of what is open; `size_bytes` of a regular file.
    Attributes { fd: Fd<'a>, size_bytes: Option<u64> },
    /// The same by name; `itself`: of a symbolic link, not of what it leads to.
    NameAttributes { at: At<'a>, size_bytes: Option<u64>, itself: bool },
    /// Sets the size of what is open.
    Resize { fd: Fd<'a>, size_bytes: u64 },
    /// Allocates the file up to `end_bytes`; without `keeps_size` it grows.
    Allocate { fd: Fd<'a>, end_bytes: u64, keeps_size: bool },
    /// Another operation on something open.
    Handle { op: Op, fd: Fd<'a> },
    /// Another operation on a name; `bytes` of those that take a size.
    Named { op: Op, at: At<'a>, bytes: u64 },
    /// Reads a symbolic link; `target`: its text, empty where the log does not tell it.
    ReadLink { at: At<'a>, target: Name<'a> },
    /// Removes a name; `size_bytes` of a regular file.
    Remove { at: At<'a>, directory: bool, size_bytes: Option<u64> },
    /// Makes a directory.
    MakeDirectory { at: At<'a> },
    /// Gives another name; `flags`: as of renameat2(2).
    Rename { from: At<'a>, to: At<'a>, flags: u64 },
    /// Gives a second name.
    Link { from: At<'a>, to: At<'a> },
    /// Makes a symbolic link.
    Symlink { target: Name<'a>, at: At<'a> },
    /// Makes everything stable.
    SyncAll,
    /// Maps a file into memory.
    Map { fd: Fd<'a>, bytes: u64 },
    /// Enters a directory.
    Enter { at: At<'a> },
    /// Tells the current directory.
    TellDirectory { name: Name<'a> },
    /// Makes a thread or process: the result is its number.
    Spawn { shares: Shares },
    /// Separates what was shared (unshare).
    Unshare { shares: Shares },
    /// The log tells who the thread is.
    Introduce(Introduction<'a>),
    /// An operation on a file that the log names: it knows no descriptors. `bytes` were asked for; the
    /// result is the number of bytes moved, if the operation moves any.
    Whole { op: Op, path: Name<'a>, offset: Option<u64>, bytes: u64, flags: Option<u32> },
    /// The thread begins as a child of `parent`; ignored for a known thread that is not new.
    Begin { parent: u64, shares: Shares, is_new: bool },
    /// A descriptor is open on the shown file.
    Shown { fd: Fd<'a> },
    /// A barrier of this many ranks of MPI.
    Meet { members: u64 },
    /// Executes a program.
    Execute { name: Name<'a> },
    /// The thread is over.
    Exit,
    /// Executing a program made thread `of` this one.
    Supersede { of: u64 },
    /// On what is open, or a name, and Parabench has no operation for it.
    WithoutOperation,
    /// Its effect depends on memory that the log does not show.
    Opaque,
    /// Nothing that touches files.
    Other,
}
