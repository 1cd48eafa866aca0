//! Names of flags as strace prints them.

use model::open_flags::LINUX;

/// Flags that F_SETFL can change: O_APPEND, O_NONBLOCK, O_DIRECT, O_NOATIME.
pub const CHANGEABLE: u32 = 0o2000 | 0o4000 | 0o40000 | 0o1000000;

/// Flags such as `O_RDWR|O_CREAT` or `0x8000 /* O_??? */` as a number.
pub fn open_flags(text: &[u8]) -> u32 {
    let words = text.split(|byte| *byte == b'|');
    words.fold(0, |flags, word| flags | open_flag(word.trim_ascii()))
}

fn open_flag(word: &[u8]) -> u32 {
    match LINUX.iter().find(|(name, _)| name.as_bytes() == word) {
        Some((_, flag)) => *flag,
        None => super::cursor::Cursor::new(word).number().unwrap_or(0) as u32,
    }
}

/// An argument, flags joined by `|`, holds this one: by name, by number (`-X raw`), or both (`-X verbose`).
pub fn has(text: &[u8], name: &[u8], bits: i64) -> bool {
    let number = |word: &[u8]| super::cursor::Cursor::new(word).number().unwrap_or(0);
    text.split(|byte| *byte == b'|').any(|word| number(word) & bits != 0) || names(text, name)
}

/// The text has the name as a whole word.
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
    use model::open_flags::{O_CLOEXEC, O_CREAT};

    #[test]
    fn flags_are_numbers_of_linux() {
        assert_eq!(open_flags(b"O_RDWR|O_CREAT|O_CLOEXEC"), 2 | O_CREAT | O_CLOEXEC);
        assert_eq!(open_flags(b"O_WRONLY|0x8000"), 0x8001);
        let has_fs = |text| has(text, b"CLONE_FS", 0x200);
        assert!(has_fs(b"CLONE_VM|CLONE_FS|SIGCHLD"));
        assert!(!has_fs(b"CLONE_FSX") && has_fs(b"CLONE_FSX|CLONE_FS"));
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
            let found = has(text.as_bytes(), b"AT_REMOVEDIR", 0x200);
            assert_eq!(found, expected, "{text}");
        }
        assert_eq!(open_flags(b"0x80241 /* O_WRONLY|O_CREAT|O_TRUNC|O_CLOEXEC */"), 0x80241);
        assert!(is(b"F_SETFD", b"F_SETFD", 2) && is(b"0x2 /* F_SETFD */", b"F_SETFD", 2));
        assert!(is(b"0x2", b"F_SETFD", 2) && !is(b"F_GETFD", b"F_SETFD", 2));
    }
}
