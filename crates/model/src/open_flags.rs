//! Texts of open flags: a mode of C such as `"r+"`, or names of open(2) joined by `|`, `,` or blanks.

/// Gives the names of open(2) that programs may use to a macro.
#[macro_export]
macro_rules! open_flag_names {
    ($use:ident) => {
        $use! {
            O_RDONLY O_WRONLY O_RDWR O_CREAT O_EXCL O_NOCTTY O_TRUNC O_APPEND O_NONBLOCK O_NDELAY
            O_SYNC O_DSYNC O_RSYNC O_DIRECT O_DIRECTORY O_NOFOLLOW O_NOATIME O_CLOEXEC O_LARGEFILE
            O_PATH O_TMPFILE
        }
    };
}

macro_rules! texts {
    ($($name:ident)*) => { &[$(stringify!($name)),*] };
}

/// Every name that a text of flags may hold.
pub const NAMES: &[&str] = open_flag_names!(texts);

/// Access modes and flags of open(2) on x86-64 Linux, as logs and events have them.
pub const LINUX: &[(&str, u32)] = &[
    ("O_RDONLY", 0),
    ("O_WRONLY", O_WRONLY),
    ("O_RDWR", O_RDWR),
    ("O_CREAT", O_CREAT),
    ("O_EXCL", O_EXCL),
    ("O_NOCTTY", 0o400),
    ("O_TRUNC", O_TRUNC),
    ("O_APPEND", O_APPEND),
    ("O_NONBLOCK", 0o4000),
    ("O_NDELAY", 0o4000),
    ("O_DSYNC", 0o10000),
    ("O_DIRECT", 0o40000),
    ("O_LARGEFILE", 0),
    ("O_DIRECTORY", O_DIRECTORY),
    ("O_NOFOLLOW", 0o400000),
    ("O_NOATIME", 0o1000000),
    ("O_CLOEXEC", O_CLOEXEC),
    ("O_SYNC", 0o4010000),
    ("O_RSYNC", 0o4010000),
    ("O_PATH", 0o10000000),
    ("O_TMPFILE", O_TMPFILE),
];

/// Access mode for writing only.
pub const O_WRONLY: u32 = 1;
/// Access mode for reading and writing.
pub const O_RDWR: u32 = 2;
/// Creates a missing file.
pub const O_CREAT: u32 = 0o100;
/// Fails if the file exists.
pub const O_EXCL: u32 = 0o200;
/// Empties the file.
pub const O_TRUNC: u32 = 0o1000;
/// Fails unless the name is a directory.
pub const O_DIRECTORY: u32 = 0o200000;
/// Writes at the end of the file.
pub const O_APPEND: u32 = 0o2000;
/// Closes the file at exec.
pub const O_CLOEXEC: u32 = 0o2000000;
/// Creates a file without a name.
pub const O_TMPFILE: u32 = 0o20200000;

/// Modes of C with their flags, which have these values on every kind of Linux.
const MODES: [(&str, u32); 6] = [
    ("r", 0),
    ("r+", O_RDWR),
    ("w", O_WRONLY | O_CREAT | O_TRUNC),
    ("w+", O_RDWR | O_CREAT | O_TRUNC),
    ("a", O_WRONLY | O_CREAT | O_APPEND),
    ("a+", O_RDWR | O_CREAT | O_APPEND),
];

/// The flags of a mode of C. A "b" after the letter means nothing, as on every POSIX system.
pub fn flags_of_mode(text: &str) -> Option<u32> {
    let text = text.trim();
    let mode: String = text.chars().filter(|c| *c != 'b').collect();
    let known = MODES.iter().find(|(known, _)| text.len() <= 3 && *known == mode);
    known.map(|(_, flags)| *flags)
}

/// The words of a text that is no mode.
pub fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split(['|', ',', ' ', '\t']).filter(|word| !word.is_empty())
}

/// Numbers of names of open(2) joined by `|`, `,` or blanks; `None` if a name is unknown.
pub fn flags_of_names(text: &str) -> Option<u32> {
    let mut flags = None;
    for word in names(text) {
        let (_, flag) = LINUX.iter().find(|(name, _)| *name == word)?;
        flags = Some(flags.unwrap_or(0) | flag);
    }
    flags
}

/// Flags of open(2) for a text of a program: a mode of C, or names.
pub fn flags_of_text(text: &str) -> Option<u32> {
    flags_of_mode(text).or_else(|| flags_of_names(text))
}

/// Text for these flags as programs have it: a mode of C where one means the same, else names.
pub fn text_of_flags(flags: u32) -> String {
    // Of no use to a program without threads that executes nothing.
    let flags = flags & !O_CLOEXEC;
    if let Some((mode, _)) = MODES.iter().find(|(_, mode)| *mode == flags) {
        return (*mode).to_string();
    }
    let access = ["O_RDONLY", "O_WRONLY", "O_RDWR", "O_RDWR"][(flags & 3) as usize];
    let mut text = access.to_string();
    let mut left = flags & !3;
    // Flags that hold others first.
    for (name, flag) in LINUX.iter().rev().filter(|(_, flag)| flag & 3 == 0 && *flag != 0) {
        if left & flag == *flag && *name != "O_RSYNC" && *name != "O_NDELAY" {
            left &= !flag;
            text.push('|');
            text.push_str(name);
        }
    }
    text
}

/// Access that an open file allows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// The file may be read.
    pub reads: bool,
    /// The file may be written.
    pub writes: bool,
}

impl Access {
    /// That of open flags.
    pub fn of_flags(text: &str) -> Access {
        if let Some(flags) = flags_of_mode(text) {
            let access = flags & 3;
            return Access { reads: access != O_WRONLY, writes: access != 0 };
        }
        let has = |name: &str| names(text).any(|word| word == name);
        let both = has("O_RDWR") || has("O_PATH");
        Access { reads: both || !has("O_WRONLY"), writes: both || has("O_WRONLY") }
    }

    /// That of the letters of an MPI open mode.
    pub fn of_mpi_mode(text: &str) -> Access {
        Access { reads: text.contains('r'), writes: text.contains('w') }
    }

    /// It allows one of them alone.
    pub fn is_one_way(self) -> bool {
        self.reads != self.writes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_written_as_programs_have_them() {
        for (flags, text) in [
            (0, "r"),
            (O_CLOEXEC | 2, "r+"),
            (1 | O_CREAT | O_TRUNC, "w"),
            (1 | O_CREAT, "O_WRONLY|O_CREAT"),
            (2 | O_CREAT | O_EXCL | 0o4010000, "O_RDWR|O_SYNC|O_EXCL|O_CREAT"),
            (O_TMPFILE | 2, "O_RDWR|O_TMPFILE"),
        ] {
            assert_eq!(text_of_flags(flags), text);
            if text.starts_with("O_") {
                assert_eq!(flags_of_names(text), Some(flags & !O_CLOEXEC));
            }
        }
    }

    #[test]
    fn flags_tell_what_they_allow() {
        for (text, reads, writes) in [
            ("r", true, false),
            ("rb", true, false),
            ("w", false, true),
            ("a", false, true),
            ("r+", true, true),
            ("w+b", true, true),
            ("O_RDONLY", true, false),
            ("O_CREAT|O_WRONLY", false, true),
            ("O_RDWR, O_CREAT", true, true),
            ("O_DIRECT", true, false),
        ] {
            assert_eq!(Access::of_flags(text), Access { reads, writes }, "{text}");
        }
        assert_eq!(Access::of_mpi_mode("cw"), Access { reads: false, writes: true });
        assert!(Access::of_mpi_mode("r").is_one_way() && !Access::of_mpi_mode("crw").is_one_way());
    }

    #[test]
    fn texts_of_flags_are_read() {
        for (text, flags) in
            [("r", Some(0)), ("w+", Some(2 | O_CREAT | O_TRUNC)), ("x", None), ("", None)]
        {
            assert_eq!(flags_of_text(text), flags, "{text}");
        }
        assert_eq!(flags_of_text("O_WRONLY, O_CREAT"), Some(1 | O_CREAT));
    }
}
