//! `mdtest -n 1000 -d /mnt/dir -u -i 3 -F` in PPL.

use super::command::{Command, options, size};
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
    let given = options(&command.words, VALUES);
    let value =
        |name: &str| given.iter().rev().find(|option| option.0 == name).and_then(|option| option.1);
    let has = |name: &str| given.iter().any(|option| option.0 == name);
    let number = |name: &str| value(name).filter(|n| n.parse::<u32>().is_ok_and(|n| n > 0));
    let run = match value("d").map(place) {
        Some((Some(folder), name)) => format!(" --dir {folder}/{name}"),
        Some((None, name)) if name != "data" => format!(" --dir {name}"),
        _ => String::new(),
    };
    let reps = number("i").filter(|reps| *reps != "1").map(|reps| format!(" --reps {reps}"));
    let mut page = Page::new("mdtest", command.ranks, &(run + &reps.unwrap_or_default()));
    page.param("num", number("n").unwrap_or("100"), "-n: items of each rank");
    let written = value("w").and_then(size).filter(|n| *n > 0);
    let read = value("e").and_then(size).filter(|n| *n > 0);
    for (name, value) in given.iter().filter(|option| !KNOWN.contains(&option.0.as_str())) {
        page.leaves_out(format!(
            "-{name}{}",
            value.map(|value| format!(" {value}")).unwrap_or_default()
        ));
    }
    let neighbour = number("N").map(|shift| format!("$other = ($$rank + {shift}) % $$size;"));
    let other = if neighbour.is_some() { "$other" } else { "$$rank" };
    page.line(neighbour.as_deref().unwrap_or(""));
    let folder =
        |rank: &str| if has("u") { format!("rank-{rank}/") } else { format!("shared/{rank}-") };
    page.line(if has("u") { "mkdir(\"rank-$$rank\");" } else { "master mkdir(\"shared\");" });
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
    let all = !["C", "T", "E", "r"].iter().any(|name| has(name));
    let phases = ["C", "T", "E", "r"].map(|name| all || has(name));
    if has("D") || !has("F") {
        directories.phases(&mut page, phases, &own, &others);
    }
    if has("F") || !has("D") {
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
