//! MPI errors as errnos, with class and text kept for messages.

use crate::shim::Shim;
use std::ffi::c_int;

/// Error classes of the MPI standard with their errno; others are `EIO`.
const CLASSES: &[(&str, i32)] = &[
    ("MPI_ERR_ACCESS", libc::EACCES),
    ("MPI_ERR_AMODE", libc::EINVAL),
    ("MPI_ERR_ARG", libc::EINVAL),
    ("MPI_ERR_BAD_FILE", libc::EINVAL),
    ("MPI_ERR_BUFFER", libc::EFAULT),
    ("MPI_ERR_COUNT", libc::EINVAL),
    ("MPI_ERR_FILE", libc::EBADF),
    ("MPI_ERR_FILE_EXISTS", libc::EEXIST),
    ("MPI_ERR_FILE_IN_USE", libc::EBUSY),
    ("MPI_ERR_INFO", libc::EINVAL),
    ("MPI_ERR_INFO_KEY", libc::EINVAL),
    ("MPI_ERR_INFO_VALUE", libc::EINVAL),
    ("MPI_ERR_IO", libc::EIO),
    ("MPI_ERR_NO_MEM", libc::ENOMEM),
    ("MPI_ERR_NO_SPACE", libc::ENOSPC),
    ("MPI_ERR_NO_SUCH_FILE", libc::ENOENT),
    ("MPI_ERR_NOT_SAME", libc::EINVAL),
    ("MPI_ERR_QUOTA", libc::EDQUOT),
    ("MPI_ERR_READ_ONLY", libc::EROFS),
    ("MPI_ERR_TYPE", libc::EINVAL),
    ("MPI_ERR_UNSUPPORTED_DATAREP", libc::EOPNOTSUPP),
    ("MPI_ERR_UNSUPPORTED_OPERATION", libc::EOPNOTSUPP),
];

/// The errno of the name of an error class.
fn errno_of(name: &str) -> i32 {
    CLASSES.iter().find(|class| class.0 == name).map_or(libc::EIO, |class| class.1)
}

/// Errno and explanation (function, class, the library's text in one line) of an error code.
#[cold]
pub(super) fn explain(shim: &Shim, call: &str, code: c_int) -> (i32, String) {
    let (mut class, mut text, mut name) = (0, [0u8; 512], [0u8; 64]);
    // SAFETY: the buffers have the given sizes; the shim ends the texts with 0.
    unsafe {
        (shim.error)(code, &mut class, text.as_mut_ptr().cast(), text.len() as c_int);
        (shim.error_name)(class, name.as_mut_ptr().cast(), name.len() as c_int);
    }
    let name = match one_line(&name) {
        name if name.is_empty() => format!("error class {class}"),
        name => name,
    };
    let text = one_line(&text);
    // Some libraries begin their text with the class.
    let rest = text.strip_prefix(&name).unwrap_or(&text).trim_start_matches([':', ' ']);
    (errno_of(&name), format!("{call}: {name}: {rest}"))
}

/// A C text with its white space made single blanks.
fn one_line(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    let text = String::from_utf8_lossy(&bytes[..end]);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_have_errnos() {
        assert_eq!(errno_of("MPI_ERR_NO_SUCH_FILE"), libc::ENOENT);
        assert_eq!(errno_of("MPI_ERR_NO_SPACE"), libc::ENOSPC);
        assert_eq!(errno_of("MPI_ERR_OTHER"), libc::EIO);
        assert_eq!(errno_of(""), libc::EIO);
    }

    #[test]
    fn texts_of_several_lines_become_one() {
        assert_eq!(
            one_line(b"File does not exist, error stack:\n  (25)\0rest"),
            "File does not exist, error stack: (25)"
        );
    }
}
