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
/// What an open file allows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// Reading.
    pub reads: bool,
    /// Writing.
    pub writes: bool,
}

impl Access {
    /// That of open flags.
    pub fn of_flags(text: &str) -> Access {
        if let Some(mode) = mode(text) {
            let both = mode.ends_with('+');
            let reads = mode.starts_with('r');
            return Access { reads: both || reads, writes: both || !reads };
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
}
