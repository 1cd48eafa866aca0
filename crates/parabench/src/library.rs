//! The programs that come with Parabench, embedded in the binary from the folder `programs/`:
//! `@name` needs no file.

use ppl::word::nearest;

/// A program of the library.
#[derive(Clone, Copy, Debug)]
pub struct Embedded {
    /// Its name, without `@`.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
}

/// Programs after works of one kind.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// What they stand for.
    pub title: &'static str,
    /// The programs, each with a description that fits a line.
    pub programs: &'static [(Embedded, &'static str)],
}

macro_rules! programs {
    ($($title:literal { $($name:literal: $line:literal,)* })*) => {
        /// All programs by what they stand for.
        pub const FAMILIES: &[Family] = &[ $( Family {
            title: $title,
            programs: &[ $( (Embedded {
                name: $name,
                text: include_str!(concat!("../../../programs/", $name, ".ppl")),
            }, $line), )* ],
        }, )* ];
    };
}

programs! {
    "The Parabench paper" {
        "groups": "Listing 2: writers and readers in two groups.",
        "olap": "Its experiment: an OLAP engine; --paper: its table.",
        "stress": "Listing 1: every everyday call on many small files.",
    }
    "PIObench" {
        "piobench": "Eight spatial patterns in five temporal forms.",
    }
    "Parallel I/O on Lustre (ORNL)" {
        "collective": "Segments of one shared file, new and existing.",
        "management": "Create and resize a shared file with 1, 2, 4, ... ranks.",
        "split": "A shared file as subfiles that are joined, or plain.",
    }
    "mpiio" {
        "static": "Fixed shares: all wait for the slowest rank.",
        "team": "Dynamic shares: a free rank takes the next chunk.",
    }
    "The IOR family, and other benchmarks" {
        "beffio": "b_eff_io: effective I/O bandwidth, one number.",
        "filebench": "Filebench: six personalities, such as varmail.",
        "hpio": "HPIO: regions of one size at one distance.",
        "io500": "IO500: its twelve phases and its scores.",
        "ior": "IOR: blocks of a shared file, or a file for each rank.",
        "iozone": "IOzone: nine tests of a file, by records.",
        "mdtest": "mdtest: rates of directories and files in a tree.",
        "mdworkbench": "md-workbench: small objects move on from rank to rank.",
        "noncontig": "noncontig: vectors with holes in memory and in the file.",
        "postmark": "PostMark: small files of a mail server.",
    }
    "Applications of science" {
        "btio": "NAS BT-IO: dumps of a block-tridiagonal solver.",
        "flash": "FLASH-IO: a checkpoint and two plotfiles.",
        "hacc": "HACC-IO: checkpoint and restart of particles.",
        "madbench2": "MADbench2: matrices out of core, in three phases.",
        "s3d": "S3D-IO: checkpoints of a combustion code.",
        "staging": "Input and checkpoints staged through a fast directory.",
        "tile": "MPI-Tile-IO: tiles of a 2-D array in one file.",
        "zarr": "Zarr: an array in files of chunks, read by slices.",
    }
    "Other applications" {
        "dlio": "DLIO: a data loader of deep learning (MLPerf Storage).",
        "git": "Git: add, status, gc and checkout of a repository.",
        "kafka": "Kafka: a log of segments with followers.",
        "maildir": "Maildir: messages delivered, read and deleted.",
        "postgres": "PostgreSQL: a write-ahead log, pages and checkpoints.",
        "sqlite": "SQLite: transactions with a journal or a log.",
        "vmimage": "Disk images of virtual machines: boot, then writes.",
    }
    "Building blocks" {
        "metadata": "Rates of creating, examining and removing files.",
        "random": "Random requests: each block of a file once.",
        "sequential": "Sequential bandwidth: a file for each rank.",
    }
}

/// Files of procs that programs include: `include "@lib/temporal";`.
pub const LIBRARIES: &[Embedded] = &[
    Embedded { name: "lib/split", text: include_str!("../../../programs/lib/split.ppl") },
    Embedded { name: "lib/temporal", text: include_str!("../../../programs/lib/temporal.ppl") },
];

/// All programs, by family.
pub fn programs() -> impl Iterator<Item = &'static Embedded> {
    FAMILIES.iter().flat_map(|family| family.programs).map(|(program, _)| program)
}

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
    programs().find(|program| program.name == name)
}

/// Advice for a name that no program has: the program whose name is nearest to it, if one is near.
pub fn similar(name: &str) -> String {
    let name = name.strip_prefix('@').unwrap_or(name);
    match nearest(name, programs().map(|program| program.name)) {
        Some(near) => format!("the nearest is @{near}; `parabench programs` lists all"),
        None => "`parabench programs` lists them".into(),
    }
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
        let mut listed: Vec<_> = programs().map(|program| program.name).collect();
        listed.sort();
        assert_eq!(names, listed);
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
