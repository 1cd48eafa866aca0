//! `mdtest -n 1000 -d /mnt/dir -u -i 3 -F` in PPL.

use super::command::Command;
use super::options::Options;
use super::page::{Page, bytes, place};

/// Options with values.
const VALUES: &[&str] =
    &["a", "b", "d", "e", "f", "i", "I", "l", "n", "N", "O", "p", "s", "V", "w", "W", "x", "z"];

/// Options that are in the program, or change nothing of what is measured.
const KNOWN: &[&str] =
    &["n", "d", "u", "i", "F", "D", "C", "T", "E", "r", "w", "e", "N", "v", "V", "P"];

/// The items of one kind: files or directories.
struct Items<'a> {
    word: &'a str,
    make: String,
    read: Option<String>,
    remove: &'a str,
}

pub(super) fn translate(command: &Command<'_>) -> Option<String> {
    let given = Options::read(&command.words, VALUES);
    let run = match given.value("d").map(place) {
        Some((Some(folder), name)) => format!(" --dir {folder}/{name}"),
        Some((None, name)) if name != "data" => format!(" --dir {name}"),
        _ => String::new(),
    };
    let mut page = Page::new("mdtest", command.ranks, &(run + &given.reps("i")));
    page.param("num", given.number("n").unwrap_or("100"), "-n: items of each rank");
    let written = given.size("w");
    let read = given.size("e");
    given.others(KNOWN).for_each(|option| page.leaves_out(option));
    let neighbour = given.number("N").map(|shift| format!("$other = ($$rank + {shift}) % $$size;"));
    let other = if neighbour.is_some() { "$other" } else { "$$rank" };
    page.line(neighbour.as_deref().unwrap_or(""));
    let folder = |rank: &str| {
        if given.has("u") { format!("rank-{rank}/") } else { format!("shared/{rank}-") }
    };
    page.line(if given.has("u") { "mkdir(\"rank-$$rank\");" } else { "master mkdir(\"shared\");" });
    page.line("barrier;");
    let (own, others) = (folder("$$rank"), folder(other));
    let files = Items {
        word: "file",
        make: match written {
            Some(n) => format!("write(\"{own}file-$i\", {})", bytes(n)),
            None => format!("create(\"{own}file-$i\")"),
        },
        read: Some(match read {
            Some(n) => format!("read(\"{others}file-$i\", {})", bytes(n)),
            None => format!("read(\"{others}file-$i\")"),
        }),
        remove: "delete",
    };
    let directories =
        Items { word: "dir", make: format!("mkdir(\"{own}dir-$i\")"), read: None, remove: "rmdir" };
    // Without a phase all of them are meant.
    let all = !["C", "T", "E", "r"].iter().any(|name| given.has(name));
    let phases = ["C", "T", "E", "r"].map(|name| all || given.has(name));
    if given.has("D") || !given.has("F") {
        directories.phases(&mut page, phases, &own, &others);
    }
    if given.has("F") || !given.has("D") {
        files.phases(&mut page, phases, &own, &others);
    }
    Some(page.finish())
}

impl Items<'_> {
    /// Creation, stat, read, removal, each in a label of its own.
    fn phases(&self, page: &mut Page, phases: [bool; 4], own: &str, others: &str) {
        let Items { word, make, read, remove } = self;
        let [creates, stats, reads, removes] = phases;
        let loop_ = "repeat $i $num";
        let mut phase = |on: bool, label: &str, call: &str| {
            if on {
                page.line(&format!("time[\"{word}/{label}\", sync] {loop_} {call};"));
            }
        };
        phase(creates, "create", make);
        phase(stats, "stat", &format!("stat(\"{others}{word}-$i\")"));
        phase(reads && read.is_some(), "read", read.as_deref().unwrap_or(""));
        phase(removes, "remove", &format!("{remove}(\"{own}{word}-$i\")"));
    }
}
