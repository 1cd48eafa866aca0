//! The operation table: one row per command of PPL.
//!
//! Checker, lowering, formatter, `parabench ops`, hover text, trace import and
//! reports all read it. A new operation is one row here plus the back-ends
//! that can do it. What is not here: keywords (`repeat`, `time`, ...), which
//! are grammar, and functions of expressions ([`crate::plan::Function`]).

use serde::{Deserialize, Serialize};
use std::fmt;

/// Values that a parameter of an operation accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamKind {
    /// A path below the run directory; interpolated.
    Path,
    /// The text a symbolic link shall hold; interpolated, confined like a path.
    LinkTarget,
    /// A file handle of `fopen` or `fcreat`.
    Handle,
    /// A file handle of `pfopen`.
    MpiHandle,
    /// A number of bytes, at least 0.
    Size,
    /// A position in a file in bytes, at least 0.
    Offset,
    /// A list of numbers of bytes, each at least 0.
    Sizes,
    /// Open flags: a C mode such as "r+" or `O_` names.
    Flags,
    /// An MPI open mode such as "crw".
    MpiMode,
    /// Permission bits.
    Mode,
    /// Name of a pattern, or a number of bytes.
    Pattern,
    /// Name of a group.
    Group,
    /// Microseconds as an integer, or a duration.
    Duration,
    /// A condition: boolean or integer.
    Condition,
    /// Text; interpolated.
    Text,
    /// A signal's name; interpolated.
    Signal,
    /// The number of a member of a group.
    Member,
    /// A count, at least 0.
    Count,
    /// Where a distance begins: one of the words [`SEEKS`].
    Whence,
    /// The word "all" (collective), "shared" (shared file pointer) or "ordered" (shared, in order of ranks).
    Collective,
    /// One of these words, in quotes.
    Word(&'static [&'static str]),
    /// The name of an extended attribute, which begins with `user.`; interpolated.
    Attribute,
    /// A number, or a duration.
    Number,
    /// Any number of values of any type.
    Values,
}

/// Words for where a distance begins: the start of the file, the current position, the end of the file.
pub const SEEKS: [&str; 3] = ["SEEK_SET", "SEEK_CUR", "SEEK_END"];

/// One parameter of an operation.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// Name as the manual shows it.
    pub name: &'static str,
    /// Accepted values.
    pub kind: ParamKind,
    /// `None`: required. `Some(text)`: may be left out; the text tells what then holds.
    pub default: Option<&'static str>,
    /// Given as `name=value` (as in `signal("x", to=2)`).
    pub named: bool,
}

/// Classes of operations, which are never mixed in a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// Names, attributes, directories.
    Metadata,
    /// Opening.
    Open,
    /// Moving bytes out of files.
    Read,
    /// Moving bytes into files.
    Write,
    /// Making data stable.
    Sync,
    /// Closing.
    Close,
    /// Not I/O: printing, sleeping, talking to other ranks.
    Control,
}

/// A timed part of a compound operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Part {
    /// Opening the file.
    Open = 0,
    /// Setting the file view.
    View = 1,
    /// Moving the bytes.
    Data = 2,
    /// Making the bytes stable.
    Sync = 3,
    /// Closing the file.
    Close = 4,
}

impl Part {
    /// Number of parts.
    pub const COUNT: usize = 5;
    /// All parts in the order in which they happen.
    pub const ALL: [Part; Part::COUNT] =
        [Part::Open, Part::View, Part::Data, Part::Sync, Part::Close];

    /// The word after the point in row names such as `write.data`.
    pub fn name(self) -> &'static str {
        match self {
            Part::Open => "open",
            Part::View => "view",
            Part::Data => "data",
            Part::Sync => "sync",
            Part::Close => "close",
        }
    }
}

/// The back-end that an operation needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Not I/O; executed by the rank itself.
    Nothing,
    /// Any storage back-end.
    Backend,
    /// An MPI-IO back-end.
    Mpi,
}

/// Effect of an operation on a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameEffect {
    /// It has to be there. A symbolic link is followed.
    Uses,
    /// It has to be there. A symbolic link is not followed.
    UsesItself,
    /// As the open flags say: `O_CREAT` makes it, `O_EXCL` wants it to be new.
    Opens,
    /// It is there afterwards, whether it was there before or not.
    Makes,
    /// It must not be there before, and is there afterwards.
    MakesNew,
    /// It has to be there, and is gone afterwards.
    Removes,
    /// It is a text that no file needs to have: what a symbolic link holds.
    Text,
}

/// Effect of an operation on the bytes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteEffect {
    /// Nothing.
    Nothing,
    /// Reads them.
    Reads,
    /// Writes them.
    Writes,
    /// Reads bytes of one file and writes them to another one.
    Copies,
    /// Lets a file share bytes of another one; nothing is moved.
    Shares,
    /// Sets how many there are.
    Resizes,
    /// Makes room for them, which can make the file longer.
    Allocates,
}

/// Effect of an operation on an open file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandleEffect {
    /// It has nothing to do with one.
    None,
    /// It is written `$h = name(...)` and gives a handle.
    Gives,
    /// It works on one, and leaves its current position alone.
    Uses,
    /// It works on one, and moves its current position unless it gets another one.
    Moves,
    /// The handle is gone afterwards.
    Closes,
}

/// One row of the operation table.
#[derive(Clone, Copy, Debug)]
pub struct OpRow {
    /// The operation.
    pub op: Op,
    /// Its name in PPL and in reports.
    pub name: &'static str,
    /// Other spellings that mean the same.
    pub aliases: &'static [&'static str],
    /// Parameters in order.
    pub params: &'static [Param],
    /// Its class.
    pub class: Class,
    /// Parts timed apart; empty for a simple operation.
    pub parts: &'static [Part],
    /// The back-end it needs.
    pub needs: Needs,
    /// Effect on each name that it gets, in the order of its parameters.
    pub names: &'static [NameEffect],
    /// Effect on the bytes of a file.
    pub bytes: ByteEffect,
    /// Effect on a handle.
    pub handle: HandleEffect,
    /// `None`: every file system has it. `Some`: some have it not, and say so by these errors, which are
    /// counted apart from failures; the same errors of other operations count as failures.
    pub lacked: Option<&'static [&'static str]>,
    /// The calls that its own time covers, in one line.
    pub time: &'static str,
    /// Description, one or two sentences.
    pub doc: &'static str,
    /// A statement that uses it.
    pub example: &'static str,
}

use ParamKind as K;

const fn req(name: &'static str, kind: ParamKind) -> Param {
    Param { name, kind, default: None, named: false }
}
const fn opt(name: &'static str, kind: ParamKind, default: &'static str) -> Param {
    Param { name, kind, default: Some(default), named: false }
}
const fn named(name: &'static str, kind: ParamKind, default: &'static str) -> Param {
    Param { name, kind, default: Some(default), named: true }
}

/// Every file system has it.
const NEVER: Option<&[&str]> = None;
/// Some file systems have it not; their error counts as a failure.
const FAILS: Option<&[&str]> = Some(&[]);
/// Some file systems have it not and say so.
const UNSUPPORTED: Option<&[&str]> = Some(&["EOPNOTSUPP", "ENOSYS"]);
/// As ioctl_ficlone(2) says it, where EINVAL is one way.
const NO_SHARING: Option<&[&str]> = Some(&["EOPNOTSUPP", "ENOTTY", "EINVAL", "ENOSYS"]);
/// The same where EINVAL would also be that of places that are no whole blocks.
const NO_RANGE_SHARING: Option<&[&str]> = Some(&["EOPNOTSUPP", "ENOTTY", "ENOSYS"]);

/// Ways of fallocate with a range, besides allocating it.
const RANGES: ParamKind = K::Word(&["keep", "punch", "zero", "collapse", "insert"]);
/// Ways of rename with a name that exists, besides replacing it.
const RENAMES: ParamKind = K::Word(&["exchange", "noreplace"]);
/// Operations of flock.
const LOCKS: ParamKind = K::Word(&["shared", "exclusive", "unlock"]);
/// Advice of posix_fadvise.
const ADVICE: ParamKind =
    K::Word(&["normal", "random", "sequential", "willneed", "dontneed", "noreuse"]);

const NO_PARTS: &[Part] = &[];
const OPEN_DATA_CLOSE: &[Part] = &[Part::Open, Part::Data, Part::Sync, Part::Close];
const OPEN_CLOSE: &[Part] = &[Part::Open, Part::Close];
const VIEW_DATA: &[Part] = &[Part::View, Part::Data, Part::Sync];
const OPEN_VIEW_DATA_CLOSE: &[Part] =
    &[Part::Open, Part::View, Part::Data, Part::Sync, Part::Close];

macro_rules! ops {
    ($( $op:ident $name:literal [$($alias:literal),*] ($($param:expr),*)
        $class:ident $parts:ident $needs:ident $time:literal
        names [$($names:ident),*] bytes $bytes:ident handle $handle:ident lacked $lacked:ident
        $doc:literal $example:literal; )*) => {
        /// An operation of PPL.
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
        )]
        #[repr(u8)]
        pub enum Op { $( #[doc = $doc] $op, )* }

        /// The table, in the order of [`Op`]: `OPS[op as usize].op == op`.
        pub static OPS: &[OpRow] = &[ $( OpRow {
            op: Op::$op, name: $name, aliases: &[$($alias),*], params: &[$($param),*],
            class: Class::$class, parts: $parts, needs: Needs::$needs,
            names: &[$(NameEffect::$names),*], bytes: ByteEffect::$bytes,
            handle: HandleEffect::$handle, lacked: $lacked,
            time: $time, doc: $doc, example: $example,
        }, )* ];
    };
}

ops! {
    Fopen "fopen" [] (req("path", K::Path), req("flags", K::Flags))
        Open NO_PARTS Backend "open"
        names [Opens] bytes Nothing handle Gives lacked NEVER
        "Open a file and give its handle. Flags: \"r\" \"w\" \"a\" \"r+\" \"w+\" \"a+\" as in C, or O_ names joined by | , or blanks."
        "$h = fopen(\"data\", \"w+\");";
    Fcreat "fcreat" [] (req("path", K::Path))
        Open NO_PARTS Backend "open"
        names [Makes] bytes Nothing handle Gives lacked NEVER
        "Create or truncate a file, open it for writing only and give its handle."
        "$h = fcreat(\"data\");";
    Flock "flock" [] (req("handle", K::Handle), req("lock", LOCKS), opt("try", K::Word(&["try"]), "wait"))
        Metadata NO_PARTS Backend "from the first call to the lock: the wait for other ranks is part of it"
        names [] bytes Nothing handle Uses lacked UNSUPPORTED
        "Lock an open file (flock): \"shared\", \"exclusive\" or \"unlock\"; closing unlocks too. A rank waits until the others have given their locks back; a wait that cannot end ends the run with who waits where. \"try\": fail with EAGAIN instead."
        "flock($h, \"exclusive\");";
    Tmpfile "tmpfile" [] (opt("dir", K::Path, "the run directory"))
        Open NO_PARTS Backend "open"
        names [Uses] bytes Nothing handle Gives lacked UNSUPPORTED
        "Open a new file without a name for reading and writing (O_TMPFILE), on the file system of a directory, and give its handle. It goes when it is closed, unless linkat gives it a name."
        "$h = tmpfile();";
    Fclose "fclose" [] (req("handle", K::Handle))
        Close NO_PARTS Backend "close"
        names [] bytes Nothing handle Closes lacked NEVER
        "Close a handle; the handle is gone. With (fsync=\"close\") its time includes the fsync before."
        "fclose($h);";
    Fread "fread" [] (req("handle", K::Handle), opt("n", K::Pattern, "rest of the file"), opt("off", K::Offset, "current position"))
        Read NO_PARTS Backend "data"
        names [] bytes Reads handle Moves lacked NEVER
        "Read n bytes with pread until n bytes are there or the file ends; an early end counts as short. With the name of a pattern: all its pieces, off bytes (0) further on; one operation."
        "fread($h, 4k, 0);";
    Fwrite "fwrite" [] (req("handle", K::Handle), req("n", K::Pattern), opt("off", K::Offset, "current position"))
        Write NO_PARTS Backend "data"
        names [] bytes Writes handle Moves lacked NEVER
        "Write n bytes with pwrite; partial writes are continued. With the name of a pattern: all its pieces, off bytes (0) further on; one operation."
        "fwrite($h, 4k);";
    Readv "readv" [] (req("handle", K::Handle), req("sizes", K::Sizes), opt("off", K::Offset, "current position"))
        Read NO_PARTS Backend "data"
        names [] bytes Reads handle Moves lacked NEVER
        "Read into several buffers of these sizes with one preadv, which is continued until all are full or the file ends; an early end counts as short. At most 1,024 buffers."
        "readv($h, [512, 4k], 0);";
    Writev "writev" [] (req("handle", K::Handle), req("sizes", K::Sizes), opt("off", K::Offset, "current position"))
        Write NO_PARTS Backend "data"
        names [] bytes Writes handle Moves lacked NEVER
        "Write several buffers of these sizes with one pwritev; partial writes are continued. At most 1,024 buffers."
        "writev($h, [512, 4k, 4k]);";
    Fcopy "fcopy" [] (req("from", K::Handle), req("to", K::Handle), opt("n", K::Size, "rest of the file"), opt("from_off", K::Offset, "current position"), opt("to_off", K::Offset, "current position"))
        Write NO_PARTS Backend "data"
        names [] bytes Copies handle Moves lacked UNSUPPORTED
        "Copy n bytes of an open file to another one with copy_file_range until n bytes are there or the file ends; an early end counts as short. The kernel copies or shares the data. Files are named by handles of fopen; copy is for names."
        "fcopy($h, $copy, 64k);";
    Freflink "freflink" [] (req("from", K::Handle), req("to", K::Handle), opt("n", K::Size, "all"), opt("from_off", K::Offset, "0"), opt("to_off", K::Offset, "0"))
        Metadata NO_PARTS Backend "the call"
        names [] bytes Shares handle Uses lacked NO_RANGE_SHARING
        "Let an open file share all data of another one (ioctl FICLONE), or n bytes of it (FICLONERANGE; n = 0: all from from_off on); it moves no bytes and no position. File systems want offsets and n in whole blocks, but for the end of a file. Files are named by handles of fopen; reflink is for names."
        "freflink($h, $copy);";
    Fseek "fseek" [] (req("handle", K::Handle), req("off", K::Offset), opt("whence", K::Whence, "SEEK_SET"))
        Metadata NO_PARTS Backend "the call"
        names [] bytes Nothing handle Moves lacked NEVER
        "Set the current position of a handle: SEEK_SET counts from the start of the file, SEEK_CUR from the current position and SEEK_END from the end of the file; with these two off may be negative."
        "fseek($h, 1m);";
    Fsync "fsync" [] (req("handle", K::Handle))
        Sync NO_PARTS Backend "the call"
        names [] bytes Nothing handle Uses lacked NEVER
        "Make data and attributes of an open file stable."
        "fsync($h);";
    Fdatasync "fdatasync" [] (req("handle", K::Handle))
        Sync NO_PARTS Backend "the call"
        names [] bytes Nothing handle Uses lacked NEVER
        "Make the data of an open file stable."
        "fdatasync($h);";
    Ftruncate "ftruncate" [] (req("handle", K::Handle), req("n", K::Size))
        Metadata NO_PARTS Backend "the call"
        names [] bytes Resizes handle Uses lacked NEVER
        "Set the size of an open file."
        "ftruncate($h, 1m);";
    Fallocate "fallocate" [] (req("handle", K::Handle), opt("off", K::Offset, "0"), req("n", K::Size), opt("mode", RANGES, "allocate"))
        Metadata NO_PARTS Backend "the call"
        names [] bytes Allocates handle Uses lacked UNSUPPORTED
        "Allocate n bytes of an open file from off on; it grows to hold them. Modes: \"keep\" (the size stays), \"punch\" (the range becomes a hole), \"zero\" (it reads as zeros), \"collapse\" (it is taken out), \"insert\" (a hole is put in). The last two take whole blocks of the file system."
        "fallocate($h, 4k, 64k, \"punch\");";
    Fadvise "fadvise" [] (req("handle", K::Handle), req("off", K::Offset), req("n", K::Size), req("advice", ADVICE))
        Metadata NO_PARTS Backend "the call"
        names [] bytes Nothing handle Uses lacked UNSUPPORTED
        "Tell the kernel how n bytes of an open file from off on will be used (posix_fadvise); n = 0: to the end. Advice: \"normal\" \"random\" \"sequential\" \"willneed\" \"dontneed\" \"noreuse\". \"dontneed\" drops clean pages from the page cache."
        "fadvise($h, 0, 0, \"dontneed\");";
    Fstat "fstat" [] (req("handle", K::Handle))
        Metadata NO_PARTS Backend "the call"
        names [] bytes Nothing handle Uses lacked NEVER
        "Read the attributes of an open file."
        "fstat($h);";
    Write "write" [] (req("path", K::Path), req("n", K::Size), opt("off", K::Offset, "0"))
        Write OPEN_DATA_CLOSE Backend "the sum of open, data, sync and close"
        names [Makes] bytes Writes handle None lacked NEVER
        "Create or truncate a file, write n bytes at off, close it."
        "write(\"a\", 4k);";
    Append "append" [] (req("path", K::Path), req("n", K::Size))
        Write OPEN_DATA_CLOSE Backend "the sum of open, data, sync and close"
        names [Makes] bytes Writes handle None lacked NEVER
        "Open a file for appending (it is created if it is missing), write n bytes at its end, close it."
        "append(\"a\", 4k);";
    Read "read" [] (req("path", K::Path), opt("n", K::Size, "all"), opt("off", K::Offset, "0"))
        Read OPEN_DATA_CLOSE Backend "the sum of open, data and close"
        names [Uses] bytes Reads handle None lacked NEVER
        "Open a file, read n bytes at off or all to its end, close it."
        "read(\"a\");";
    Create "create" [] (req("path", K::Path))
        Metadata OPEN_CLOSE Backend "the sum of creat and close"
        names [Makes] bytes Nothing handle None lacked NEVER
        "Create or truncate a file and close it."
        "create(\"a\");";
    Lookup "lookup" [] (req("path", K::Path))
        Metadata NO_PARTS Backend "the call"
        names [Uses] bytes Nothing handle None lacked NEVER
        "Ask whether a name exists: access with F_OK."
        "lookup(\"a\");";
    Stat "stat" [] (req("path", K::Path))
        Metadata NO_PARTS Backend "the call"
        names [Uses] bytes Nothing handle None lacked NEVER
        "Read the attributes of a name."
        "stat(\"a\");";
    Lstat "lstat" [] (req("path", K::Path))
        Metadata NO_PARTS Backend "the call"
        names [UsesItself] bytes Nothing handle None lacked NEVER
        "Read the attributes of a name itself: of a symbolic link, not of what it leads to."
        "lstat(\"a\");";
    Delete "delete" ["unlink"] (req("path", K::Path))
        Metadata NO_PARTS Backend "unlink, and rmdir if the name is a directory"
        names [Removes] bytes Nothing handle None lacked NEVER
        "Remove a file or an empty directory."
        "delete(\"a\");";
    Rename "rename" [] (req("from", K::Path), req("to", K::Path), opt("how", RENAMES, "replace"))
        Metadata NO_PARTS Backend "the call"
        names [Removes, Makes] bytes Nothing handle None lacked UNSUPPORTED
        "Give a file or directory another name. \"exchange\": the two names change places; \"noreplace\": the new name must not exist."
        "rename(\"a\", \"b\", \"noreplace\");";
    Copy "copy" [] (req("from", K::Path), req("to", K::Path), opt("n", K::Size, "all"), opt("from_off", K::Offset, "0"), opt("to_off", K::Offset, "0, of a file that is truncated first"))
        Write OPEN_DATA_CLOSE Backend "the sum of open, data, sync and close"
        names [Uses, Makes] bytes Copies handle None lacked UNSUPPORTED
        "Copy a file, or n bytes of it, with copy_file_range until all is there; the kernel copies or shares the data. The file is made if it is missing; with to_off it is not truncated."
        "copy(\"a\", \"b\");";
    Reflink "reflink" [] (req("from", K::Path), req("to", K::Path))
        Metadata OPEN_DATA_CLOSE Backend "the sum of open, data and close"
        names [Uses, Makes] bytes Shares handle None lacked NO_SHARING
        "Create or truncate a file and let it share all data of another one (ioctl FICLONE); it moves no bytes. Where the file system cannot, an empty file is left."
        "reflink(\"a\", \"b\");";
    Mkdir "mkdir" [] (req("path", K::Path))
        Metadata NO_PARTS Backend "the call"
        names [MakesNew] bytes Nothing handle None lacked NEVER
        "Make a directory with mode 0777 & ~umask."
        "mkdir(\"d\");";
    Rmdir "rmdir" [] (req("path", K::Path))
        Metadata NO_PARTS Backend "the call"
        names [Removes] bytes Nothing handle None lacked NEVER
        "Remove an empty directory."
        "rmdir(\"d\");";
    Truncate "truncate" [] (req("path", K::Path), req("n", K::Size))
        Metadata NO_PARTS Backend "the call"
        names [Uses] bytes Resizes handle None lacked NEVER
        "Set the size of a file."
        "truncate(\"a\", 1m);";
    Allocate "allocate" [] (req("path", K::Path), req("n", K::Size), opt("off", K::Offset, "0"))
        Metadata OPEN_DATA_CLOSE Backend "the sum of open, data and close"
        names [Makes] bytes Allocates handle None lacked UNSUPPORTED
        "Open a file, which is made if it is missing, allocate n bytes of it from off on (fallocate), and close it. The file grows to hold them; what it held stays. fallocate is for open files."
        "allocate(\"a\", 64k);";
    Readdir "readdir" [] (req("path", K::Path))
        Metadata NO_PARTS Backend "open, getdents to the end, close"
        names [Uses] bytes Nothing handle None lacked NEVER
        "Read all entries of a directory."
        "readdir(\".\");";
    Link "link" [] (req("from", K::Path), req("to", K::Path))
        Metadata NO_PARTS Backend "the call"
        names [UsesItself, MakesNew] bytes Nothing handle None lacked FAILS
        "Give a file a second name."
        "link(\"a\", \"b\");";
    Symlink "symlink" [] (req("target", K::LinkTarget), req("path", K::Path))
        Metadata NO_PARTS Backend "the call"
        names [Text, MakesNew] bytes Nothing handle None lacked FAILS
        "Make a symbolic link called path that holds target."
        "symlink(\"a\", \"b\");";
    Readlink "readlink" [] (req("path", K::Path))
        Metadata NO_PARTS Backend "the call"
        names [UsesItself] bytes Nothing handle None lacked NEVER
        "Read what a symbolic link holds."
        "readlink(\"b\");";
    Chmod "chmod" [] (req("path", K::Path), req("mode", K::Mode))
        Metadata NO_PARTS Backend "the call"
        names [Uses] bytes Nothing handle None lacked NEVER
        "Set permission bits, which are written in octal: 0o644."
        "chmod(\"a\", 0o644);";
    Utime "utime" [] (req("path", K::Path))
        Metadata NO_PARTS Backend "the call"
        names [Uses] bytes Nothing handle None lacked NEVER
        "Set access and modification time to now."
        "utime(\"a\");";
    Setxattr "setxattr" [] (req("path", K::Path), req("name", K::Attribute), req("n", K::Size))
        Metadata NO_PARTS Backend "the call"
        names [Uses] bytes Nothing handle None lacked UNSUPPORTED
        "Set an extended attribute of a file or directory to n bytes of data. Its name begins with user."
        "setxattr(\"a\", \"user.tag\", 100);";
    Getxattr "getxattr" [] (req("path", K::Path), req("name", K::Attribute))
        Metadata NO_PARTS Backend "the call"
        names [Uses] bytes Nothing handle None lacked UNSUPPORTED
        "Read an extended attribute, at most 64 KiB."
        "getxattr(\"a\", \"user.tag\");";
    Listxattr "listxattr" [] (req("path", K::Path))
        Metadata NO_PARTS Backend "the call"
        names [Uses] bytes Nothing handle None lacked UNSUPPORTED
        "Read the names of all extended attributes, at most 64 KiB."
        "listxattr(\"a\");";
    Removexattr "removexattr" [] (req("path", K::Path), req("name", K::Attribute))
        Metadata NO_PARTS Backend "the call"
        names [Uses] bytes Nothing handle None lacked UNSUPPORTED
        "Remove an extended attribute."
        "removexattr(\"a\", \"user.tag\");";
    Linkat "linkat" [] (req("handle", K::Handle), req("path", K::Path))
        Metadata NO_PARTS Backend "the call"
        names [MakesNew] bytes Nothing handle Uses lacked FAILS
        "Give a file of tmpfile a name, which must not exist yet. Other handles are refused with EINVAL: link gives their files further names."
        "linkat($h, \"a\");";
    Statfs "statfs" [] (req("path", K::Path))
        Metadata NO_PARTS Backend "the call"
        names [Uses] bytes Nothing handle None lacked FAILS
        "Read the attributes of the file system that holds a name."
        "statfs(\".\");";
    Sync "sync" [] ()
        Sync NO_PARTS Backend "syncfs of the directory"
        names [] bytes Nothing handle None lacked NEVER
        "Make everything on the file system of the run directory stable; inside of with (dir=\"NAME\") on that of NAME."
        "sync;";
    Syncfs "syncfs" [] (opt("handle", K::Handle, "the run directory"))
        Sync NO_PARTS Backend "the call"
        names [] bytes Nothing handle Uses lacked UNSUPPORTED
        "Make everything on the file system of an open file stable."
        "syncfs($h);";
    Dropcaches "dropcaches" [] ()
        Control NO_PARTS Backend "the write to /proc/sys/vm/drop_caches"
        names [] bytes Nothing handle None lacked FAILS
        "Drop the clean page cache, dentries and inodes of this machine; needs root. Write sync; before it."
        "dropcaches;";
    Pfopen "pfopen" ["pfdopen"] (req("path", K::Path), req("mode", K::MpiMode))
        Open NO_PARTS Mpi "MPI_File_open, and MPI_File_set_atomicity under with (atomic=true)"
        names [Opens] bytes Nothing handle Gives lacked NEVER
        "MPI_File_open by all members of the active group, which agree on its success. Modes r w rw c x a combined, for example \"crw\"; a file is never truncated."
        "$h = pfopen(\"data\", \"crw\");";
    Pfclose "pfclose" ["pfdclose"] (req("handle", K::MpiHandle))
        Close NO_PARTS Mpi "MPI_File_close; MPI_File_sync before it under with (fsync=\"close\")"
        names [] bytes Nothing handle Closes lacked NEVER
        "MPI_File_close by all members; the handle is gone."
        "pfclose($h);";
    Pfwrite "pfwrite" ["pfdwrite"] (req("handle", K::MpiHandle), req("pattern", K::Pattern), opt("off", K::Offset, "current position"), opt("all", K::Collective, "independent"))
        Write VIEW_DATA Mpi "the sum of view and data"
        names [] bytes Writes handle Moves lacked NEVER
        "Write a pattern, which begins at off (0 if left out), or n bytes at off, through an MPI file handle. Of bytes \"all\": collective; \"shared\", \"ordered\": at the shared file pointer, without an offset."
        "pfwrite($h, \"tiles\");";
    Pfread "pfread" ["pfdread"] (req("handle", K::MpiHandle), req("pattern", K::Pattern), opt("off", K::Offset, "current position"), opt("all", K::Collective, "independent"))
        Read VIEW_DATA Mpi "the sum of view and data"
        names [] bytes Reads handle Moves lacked NEVER
        "Read a pattern, which begins at off (0 if left out), or n bytes at off, through an MPI file handle. Of bytes \"all\": collective; \"shared\", \"ordered\": at the shared file pointer, without an offset."
        "pfread($h, \"tiles\");";
    Pwrite "pwrite" [] (req("path", K::Path), req("pattern", K::Pattern), opt("group", K::Group, "active group"))
        Write OPEN_VIEW_DATA_CLOSE Mpi "the sum of open, view, data and close"
        names [Makes] bytes Writes handle None lacked NEVER
        "Open or create a file with MPI-IO, write a pattern, close it; by all members of the active or the named group."
        "pwrite(\"data\", \"tiles\");";
    Pread "pread" [] (req("path", K::Path), req("pattern", K::Pattern), opt("group", K::Group, "active group"))
        Read OPEN_VIEW_DATA_CLOSE Mpi "the sum of open, view, data and close"
        names [Uses] bytes Reads handle None lacked NEVER
        "Open a file with MPI-IO, read a pattern, close it; by all members of the active or the named group."
        "pread(\"data\", \"tiles\");";
    Pdelete "pdelete" [] (req("path", K::Path))
        Metadata NO_PARTS Mpi "the call"
        names [Removes] bytes Nothing handle None lacked NEVER
        "MPI_File_delete by member 0 of the active group; the others go on at once."
        "pdelete(\"data\");";
    Pfsync "pfsync" [] (req("handle", K::MpiHandle))
        Sync NO_PARTS Mpi "the call"
        names [] bytes Nothing handle Uses lacked NEVER
        "MPI_File_sync by all members."
        "pfsync($h);";
    Pfsetsize "pfsetsize" [] (req("handle", K::MpiHandle), req("n", K::Size))
        Metadata NO_PARTS Mpi "the call"
        names [] bytes Resizes handle Uses lacked NEVER
        "MPI_File_set_size by all members."
        "pfsetsize($h, 1g);";
    Pfpreallocate "pfpreallocate" [] (req("handle", K::MpiHandle), req("n", K::Size))
        Metadata NO_PARTS Mpi "the call"
        names [] bytes Allocates handle Uses lacked NEVER
        "MPI_File_preallocate by all members."
        "pfpreallocate($h, 1g);";
    Pfseek "pfseek" [] (req("handle", K::MpiHandle), req("off", K::Offset), opt("whence", K::Whence, "SEEK_SET"))
        Metadata NO_PARTS Mpi "the call"
        names [] bytes Nothing handle Moves lacked NEVER
        "MPI_File_seek: set this rank's own position in an MPI file, for transfers without an offset; whence as for fseek."
        "pfseek($h, 0);";
    Print "print" [] (req("values", K::Values))
        Control NO_PARTS Nothing "-"
        names [] bytes Nothing handle None lacked NEVER
        "Print one line: the values joined by blanks, after the rank in brackets."
        "print \"rank\", $$rank;";
    Sleep "sleep" [] (req("duration", K::Duration))
        Control NO_PARTS Nothing "-"
        names [] bytes Nothing handle None lacked NEVER
        "Sleep for a duration; a bare integer means microseconds. It spins for the last 20 us, as the kernel wakes later than asked for. Right after an operation or a pause it counts from the end of that, like `compute`. --agile skips it."
        "sleep(10ms);";
    Compute "compute" [] (req("duration", K::Duration))
        Control NO_PARTS Nothing "-"
        names [] bytes Nothing handle None lacked NEVER
        "Keep the processor busy for a duration; a bare integer means microseconds. Right after an operation, `compute` or `sleep` of the rank it counts from the end of that: what expressions, loops and calls of procs between the two take is part of it. After `barrier`, `wait`, `print`, a label's beginning or end, and functions that ask other ranks or files, it counts from its own start."
        "compute(20ms);";
    Assert "assert" [] (req("condition", K::Condition), opt("message", K::Text, "the condition's text"))
        Control NO_PARTS Nothing "-"
        names [] bytes Nothing handle None lacked NEVER
        "End the rank with the message unless the condition holds."
        "assert($n > 0, \"n must be positive\");";
    Signal "signal" [] (req("name", K::Signal), named("to", K::Member, "every member"), named("group", K::Group, "active group"))
        Control NO_PARTS Nothing "-"
        names [] bytes Nothing handle None lacked NEVER
        "Add 1 to a counter of the active group or of the named one, or of one member of it. The signal is for those who wait while that group is active."
        "signal(\"ready\");";
    Wait "wait" [] (req("name", K::Signal), opt("n", K::Count, "1"))
        Control NO_PARTS Nothing "-"
        names [] bytes Nothing handle None lacked NEVER
        "Wait until the signal was given to the active group n more times than this rank has waited for so far."
        "wait(\"ready\", 3);";
    Score "score" [] (req("name", K::Text), req("value", K::Number), named("unit", K::Text, "none"))
        Control NO_PARTS Nothing "-"
        names [] bytes Nothing handle None lacked NEVER
        "Store a figure of the program in the result: the value of rank 0; of two with one name the later. The report prints it below the table. Durations become seconds. With --only, which leaves out parts of the program, it does nothing."
        "score(\"bandwidth\", 1.5, unit=\"GiB/s\");";
}

impl Op {
    /// Number of operations.
    pub const COUNT: usize = Op::Score as usize + 1;

    /// This operation's row.
    pub fn row(self) -> &'static OpRow {
        &OPS[self as usize]
    }

    /// Its name in PPL and in reports.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// A statement of MPI-IO: only a back-end with MPI files can execute it.
    #[inline(always)]
    pub fn is_mpi_io(self) -> bool {
        (Op::Pfopen as u8..=Op::Pfseek as u8).contains(&(self as u8))
    }

    /// It reads one open file and writes another one: a handle of each.
    #[inline(always)]
    pub fn is_between_files(self) -> bool {
        self.row().handle != HandleEffect::None && self.has_source()
    }

    /// It takes bytes from a place of another file.
    pub fn has_source(self) -> bool {
        matches!(self.row().bytes, ByteEffect::Copies | ByteEffect::Shares)
    }

    /// The last name is for what something else is or holds: `rename`, `link`, `symlink`, `copy`, `linkat`.
    pub fn has_target_name(self) -> bool {
        self.row().names.len() + usize::from(self.takes_handle()) > 1
    }

    /// A file or text gets one more name.
    pub fn adds_name(self) -> bool {
        self.has_target_name() && self.row().names.last() == Some(&NameEffect::MakesNew)
    }

    /// It is given an open file.
    pub fn takes_handle(self) -> bool {
        use HandleEffect::*;
        matches!(self.row().handle, Uses | Moves | Closes)
    }

    /// All members have to execute it, whatever its arguments are. (`pfwrite` and `pfread` are
    /// collective or not by their pattern's level or by the word "all" or "ordered".)
    pub fn is_collective(self) -> bool {
        use Op::*;
        matches!(self, Pfopen | Pfclose | Pwrite | Pread | Pfsync | Pfsetsize | Pfpreallocate)
    }

    /// Errors by which a file system says that it has no such operation ([`OpRow::lacked`]).
    pub fn lacking_errors(self) -> &'static [&'static str] {
        self.row().lacked.unwrap_or(&[])
    }

    /// The operation with this name or alias; upper and lower case are the same.
    pub fn find(word: &str) -> Option<Op> {
        OPS.iter()
            .find(|row| {
                row.name.eq_ignore_ascii_case(word)
                    || row.aliases.iter().any(|alias| alias.eq_ignore_ascii_case(word))
            })
            .map(|row| row.op)
    }

    /// The operation with this number (the inverse of `op as u8`).
    pub fn from_u8(number: u8) -> Option<Op> {
        OPS.get(usize::from(number)).map(|row| row.op)
    }

    /// It is counted, timed and reported: everything but control statements.
    pub fn is_io(self) -> bool {
        self.row().needs != Needs::Nothing
    }

    /// Its parts are timed apart.
    pub fn is_compound(self) -> bool {
        !self.row().parts.is_empty()
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl OpRow {
    /// The form for manuals: `fread($h [, n=rest of the file] [, off=current position])`.
    pub fn signature(&self) -> String {
        let mut text = String::from(if self.gives_handle() { "$h = " } else { "" });
        text.push_str(self.name);
        text.push('(');
        for (index, param) in self.params.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            match param.default {
                None => text.push_str(&format!("{comma}{}", param.name)),
                Some(default) => text.push_str(&format!(" [{comma}{}={default}]", param.name)),
            }
        }
        text.push(')');
        text
    }

    /// It is written `$h = name(...)` and gives a handle.
    pub fn gives_handle(&self) -> bool {
        self.handle == HandleEffect::Gives
    }

    /// How many parameters have no default.
    pub fn required(&self) -> usize {
        self.params.iter().filter(|param| param.default.is_none()).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_enum() {
        for (index, row) in OPS.iter().enumerate() {
            assert_eq!(row.op as usize, index, "{}", row.name);
            assert_eq!(Op::find(row.name), Some(row.op));
            assert_eq!(Op::from_u8(index as u8), Some(row.op));
        }
        assert_eq!(OPS.len(), Op::COUNT);
    }

    #[test]
    fn names_and_aliases_are_unique() {
        let mut names: Vec<&str> =
            OPS.iter().flat_map(|row| row.aliases.iter().copied().chain([row.name])).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    #[test]
    fn at_most_one_optional_parameter_stands_before_required_ones() {
        for row in OPS {
            let last = row.params.iter().rposition(|param| param.default.is_none());
            let before = &row.params[..last.unwrap_or(0)];
            let optional = before.iter().filter(|param| param.default.is_some()).count();
            assert!(optional <= 1, "{}", row.name);
        }
    }

    #[test]
    fn errors_of_lacking_operations_have_numbers() {
        let all = OPS.iter().flat_map(|row| row.op.lacking_errors());
        assert!(all.clone().count() > 10);
        assert!(all.clone().all(|name| crate::errno::number(name).is_some()));
    }

    #[test]
    fn effects_fit_the_parameters() {
        for row in OPS {
            let count = |wanted: fn(ParamKind) -> bool| {
                row.params.iter().filter(|param| wanted(param.kind)).count()
            };
            let names = count(|kind| matches!(kind, K::Path | K::LinkTarget));
            let handles = count(|kind| matches!(kind, K::Handle | K::MpiHandle));
            assert_eq!(row.names.len(), names, "{}", row.name);
            assert_eq!(row.op.takes_handle(), handles > 0, "{}", row.name);
            assert_eq!(row.op.is_between_files(), handles > 1, "{}", row.name);
            let moves = matches!(row.class, Class::Read | Class::Write);
            assert!(!moves || row.bytes != ByteEffect::Nothing, "{}", row.name);
            assert_eq!(row.handle == HandleEffect::Closes, row.class == Class::Close);
        }
    }

    #[test]
    fn a_signature_reads_like_a_manual() {
        assert_eq!(
            Op::Fread.row().signature(),
            "fread(handle [, n=rest of the file] [, off=current position])"
        );
        assert_eq!(Op::Fopen.row().signature(), "$h = fopen(path, flags)");
        assert_eq!(
            Op::Fallocate.row().signature(),
            "fallocate(handle [, off=0], n [, mode=allocate])"
        );
    }
}
