//! Texts of open flags: a mode of C such as `"r+"`, or names of open(2) joined by `|`, `,` or blanks.

/// Modes of C; a "b" after the letter means nothing, as on every POSIX system.
pub const MODES: [&str; 6] = ["r", "w", "a", "r+", "w+", "a+"];

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

/// The names as texts.
pub const NAMES: &[&str] = open_flag_names!(texts);

/// The mode of C that a text is, without "b".
pub fn mode(text: &str) -> Option<&'static str> {
    let text = text.trim();
    let mode: String = text.chars().filter(|c| *c != 'b').collect();
    MODES.into_iter().find(|known| text.len() <= 3 && *known == mode)
}

/// The words of a text that is no mode.
pub fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split(['|', ',', ' ', '\t']).filter(|word| !word.is_empty())
}
