//! The programs that come with Parabench, embedded in the binary from the folder `programs/`:
//! `@name` needs no file.

/// A program of the library.
#[derive(Clone, Copy, Debug)]
pub struct Embedded {
    /// Its name, without `@`.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
}

macro_rules! programs {
    ($($name:literal),* $(,)?) => {
        /// All of them, by name.
        pub const PROGRAMS: &[Embedded] = &[ $( Embedded {
            name: $name,
            text: include_str!(concat!("../../../programs/", $name, ".ppl")),
        }, )* ];
    };
}

programs![
    "btio",
    "collective",
    "dlio",
    "flash",
    "git",
    "hacc",
    "kafka",
    "maildir",
    "management",
    "metadata",
    "olap",
    "piobench",
    "postgres",
    "random",
    "sequential",
    "split",
    "sqlite",
    "staging",
    "static",
    "stress",
    "team",
    "tile",
    "vmimage",
    "zarr",
];

/// Files of procs that programs include: `include "@lib/temporal";`.
pub const LIBRARIES: &[Embedded] = &[
    Embedded { name: "lib/split", text: include_str!("../../../programs/lib/split.ppl") },
    Embedded { name: "lib/temporal", text: include_str!("../../../programs/lib/temporal.ppl") },
];

/// The program or library that `include "@name";` means.
pub fn find_included(name: &str) -> Option<&'static Embedded> {
    let plain = name.strip_prefix('@').unwrap_or(name);
    let plain = plain.strip_suffix(".ppl").unwrap_or(plain);
    LIBRARIES.iter().find(|library| library.name == plain).or_else(|| find(name))
}

/// The program called `name`; `@` in front and `.ppl` behind may be left out.
pub fn find(name: &str) -> Option<&'static Embedded> {
    let name = name.strip_prefix('@').unwrap_or(name);
    let name = name.strip_suffix(".ppl").unwrap_or(name);
    PROGRAMS.iter().find(|program| program.name == name)
}

impl Embedded {
    /// Its description: the first sentence of the comment at its head, or all of the comment's first paragraph.
    pub fn title(&self) -> String {
        let lines = self.text.lines().map(|line| (line, line.trim_start_matches(['#', '/', ' '])));
        let is_comment = |(line, text): &(&str, &str)| line.len() > text.len() && !text.is_empty();
        let paragraph: Vec<&str> = lines.take_while(is_comment).map(|(_, text)| text).collect();
        let paragraph = paragraph.join(" ");
        let end = paragraph.find(". ").map_or(paragraph.len(), |end| end + 1);
        paragraph[..end].to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn the_list_is_the_folder() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs");
        let entries = std::fs::read_dir(folder).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap())
            .filter(|entry| entry.path().is_file())
            .map(|entry| entry.file_name().into_string().unwrap())
            .map(|name| name.strip_suffix(".ppl").expect("only programs").to_string())
            .collect();
        names.sort();
        assert_eq!(names, PROGRAMS.iter().map(|p| p.name).collect::<Vec<_>>());
    }

    #[test]
    fn names_are_found_in_every_spelling() {
        for name in ["stress", "@stress", "@stress.ppl"] {
            assert_eq!(find(name).unwrap().name, "stress");
        }
        assert!(find("@nosuch").is_none());
        assert!(find("@lib/temporal").is_none(), "a library is no program");
        assert_eq!(find_included("@lib/temporal.ppl").unwrap().name, "lib/temporal");
        assert_eq!(find_included("stress").unwrap().name, "stress");
    }
}
