//! The programs that come with Parabench, embedded in the binary: `@name` needs
//! no file. Their texts are those of the folder `programs/`.

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

programs!["metadata", "olap", "random", "sequential", "stress"];

/// The program called `name`; `@` in front and `.ppl` behind may be left out.
pub fn find(name: &str) -> Option<&'static Embedded> {
    let name = name.strip_prefix('@').unwrap_or(name);
    let name = name.strip_suffix(".ppl").unwrap_or(name);
    PROGRAMS.iter().find(|program| program.name == name)
}

impl Embedded {
    /// What it is, in a line: the first line of its text without the comment sign.
    pub fn title(&self) -> &'static str {
        self.text.lines().next().unwrap_or("").trim_start_matches(['#', '/', ' '])
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
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
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
    }
}
