//! Names of flags as strace prints them.

/// Access modes and flags of open(2) on x86-64 Linux.
const OPEN: &[(&[u8], u32)] = &[
    (b"O_RDONLY", 0),
    (b"O_WRONLY", 1),
    (b"O_RDWR", 2),
    (b"O_CREAT", 0o100),
    (b"O_EXCL", 0o200),
    (b"O_NOCTTY", 0o400),
    (b"O_TRUNC", 0o1000),
    (b"O_APPEND", 0o2000),
    (b"O_NONBLOCK", 0o4000),
    (b"O_NDELAY", 0o4000),
    (b"O_DSYNC", 0o10000),
    (b"O_DIRECT", 0o40000),
    (b"O_LARGEFILE", 0),
    (b"O_DIRECTORY", O_DIRECTORY),
    (b"O_NOFOLLOW", 0o400000),
    (b"O_NOATIME", 0o1000000),
    (b"O_CLOEXEC", O_CLOEXEC),
    (b"O_SYNC", 0o4010000),
    (b"O_RSYNC", 0o4010000),
    (b"O_PATH", 0o10000000),
    (b"O_TMPFILE", O_TMPFILE),
];

/// The file is made if it is missing.
pub const O_CREAT: u32 = 0o100;
/// It must be missing.
pub const O_EXCL: u32 = 0o200;
/// It becomes empty.
pub const O_TRUNC: u32 = 0o1000;
/// It must be a directory.
pub const O_DIRECTORY: u32 = 0o200000;
/// Writes go to its end.
pub const O_APPEND: u32 = 0o2000;
/// Closed by exec.
pub const O_CLOEXEC: u32 = 0o2000000;
/// A file without a name.
pub const O_TMPFILE: u32 = 0o20200000;
/// Flags that F_SETFL can change: O_APPEND, O_NONBLOCK, O_DIRECT, O_NOATIME.
pub const CHANGEABLE: u32 = 0o2000 | 0o4000 | 0o40000 | 0o1000000;

/// Flags such as `O_RDWR|O_CREAT` or `0x8000 /* O_??? */` as a number.
pub fn open_flags(text: &[u8]) -> u32 {
    let words = text.split(|byte| *byte == b'|');
    words.fold(0, |flags, word| flags | open_flag(word.trim_ascii()))
}

fn open_flag(word: &[u8]) -> u32 {
    match OPEN.iter().find(|(name, _)| *name == word) {
        Some((_, flag)) => *flag,
        None => super::cursor::Cursor::new(word).number().unwrap_or(0) as u32,
    }
}

/// Text for these flags as programs have it: a mode of C where one means the same, else names.
pub fn open_flag_text(flags: u32) -> String {
    // Of no use to a program without threads that executes nothing.
    let flags = flags & !O_CLOEXEC;
    let modes = [
        ("r", 0),
        ("r+", 2),
        ("w", 1 | O_CREAT | O_TRUNC),
        ("w+", 2 | O_CREAT | O_TRUNC),
        ("a", 1 | O_CREAT | O_APPEND),
        ("a+", 2 | O_CREAT | O_APPEND),
    ];
    if let Some((mode, _)) = modes.iter().find(|(_, mode)| *mode == flags) {
        return (*mode).to_string();
    }
    let access = ["O_RDONLY", "O_WRONLY", "O_RDWR", "O_RDWR"][(flags & 3) as usize];
    let mut text = access.to_string();
    let mut left = flags & !3;
    // Flags that hold others first.
    for (name, flag) in OPEN.iter().rev().filter(|(_, flag)| flag & 3 == 0 && *flag != 0) {
        if left & flag == *flag && *name != b"O_RSYNC" && *name != b"O_NDELAY" {
            left &= !flag;
            text.push('|');
            text.push_str(&String::from_utf8_lossy(name));
        }
    }
    text
}

/// A flag as strace shows it: by name, by number (`-X raw`), or both (`-X verbose`).
#[derive(Clone, Copy, Debug)]
pub struct Flag {
    name: &'static [u8],
    bits: i64,
}

impl Flag {
    const fn new(name: &'static [u8], bits: i64) -> Flag {
        Flag { name, bits }
    }
}

/// unlinkat(2) removes a directory.
pub const AT_REMOVEDIR: Flag = Flag::new(b"AT_REMOVEDIR", 0x200);
/// A link itself is meant.
pub const AT_SYMLINK_NOFOLLOW: Flag = Flag::new(b"AT_SYMLINK_NOFOLLOW", 0x100);
/// renameat2(2) replaces nothing.
pub const RENAME_NOREPLACE: Flag = Flag::new(b"RENAME_NOREPLACE", 1);
/// renameat2(2) exchanges both names.
pub const RENAME_EXCHANGE: Flag = Flag::new(b"RENAME_EXCHANGE", 2);
/// close_range(2) closes at exec only.
pub const CLOSE_RANGE_CLOEXEC: Flag = Flag::new(b"CLOSE_RANGE_CLOEXEC", 4);
/// Of F_SETFD: closed by exec.
pub const FD_CLOEXEC: Flag = Flag::new(b"FD_CLOEXEC", 1);
/// Of dup3(2).
pub const DUP_CLOEXEC: Flag = Flag::new(b"O_CLOEXEC", O_CLOEXEC as i64);
/// Memory without a file.
pub const MAP_ANONYMOUS: Flag = Flag::new(b"MAP_ANONYMOUS", 0x20);
/// The new task is a thread.
pub const CLONE_THREAD: Flag = Flag::new(b"CLONE_THREAD", 0x10000);
/// It shares descriptors.
pub const CLONE_FILES: Flag = Flag::new(b"CLONE_FILES", 0x400);
/// It shares the current directory.
pub const CLONE_FS: Flag = Flag::new(b"CLONE_FS", 0x200);

/// An argument, flags joined by `|`, holds this one.
pub fn has(text: &[u8], flag: Flag) -> bool {
    let number = |word: &[u8]| super::cursor::Cursor::new(word).number().unwrap_or(0);
    text.split(|byte| *byte == b'|').any(|word| number(word) & flag.bits != 0)
        || names(text, flag.name)
}

/// The name stands in the text, not as a part of another one.
pub fn names(text: &[u8], name: &[u8]) -> bool {
    memchr::memmem::find_iter(text, name).any(|at| {
        let end = text.get(at + name.len()).copied();
        !end.is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    })
}

/// An argument is this constant, by name or by number.
pub fn is(text: &[u8], name: &[u8], value: i64) -> bool {
    text == name || super::cursor::Cursor::new(text).number() == Some(value)
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
            assert_eq!(open_flag_text(flags), text);
            if text.starts_with("O_") {
                assert_eq!(open_flags(text.as_bytes()), flags & !O_CLOEXEC);
            }
        }
    }

    #[test]
    fn flags_are_numbers_of_linux() {
        assert_eq!(open_flags(b"O_RDWR|O_CREAT|O_CLOEXEC"), 2 | O_CREAT | O_CLOEXEC);
        assert_eq!(open_flags(b"O_WRONLY|0x8000"), 0x8001);
        assert!(has(b"CLONE_VM|CLONE_FS|SIGCHLD", CLONE_FS));
        assert!(!has(b"CLONE_FSX", CLONE_FS) && has(b"CLONE_FSX|CLONE_FS", CLONE_FS));
    }

    #[test]
    fn flags_are_read_by_name_and_by_number() {
        for (text, expected) in [
            ("AT_REMOVEDIR", true),
            ("0x200", true),
            ("512", true),
            ("0x200 /* AT_REMOVEDIR */", true),
            ("AT_EACCESS|0x300", true),
            ("0", false),
            ("0x100", false),
            ("", false),
        ] {
            assert_eq!(has(text.as_bytes(), AT_REMOVEDIR), expected, "{text}");
        }
        assert_eq!(open_flags(b"0x80241 /* O_WRONLY|O_CREAT|O_TRUNC|O_CLOEXEC */"), 0x80241);
        assert!(is(b"F_SETFD", b"F_SETFD", 2) && is(b"0x2 /* F_SETFD */", b"F_SETFD", 2));
        assert!(is(b"0x2", b"F_SETFD", 2) && !is(b"F_GETFD", b"F_SETFD", 2));
    }
}
