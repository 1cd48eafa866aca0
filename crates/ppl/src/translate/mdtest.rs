//! `mdtest -n 1000 -d /mnt/dir -u -i 3 -F` in PPL.

use super::page::{After, Page, Start, bytes, folder};
use crate::foreign::command::{Command, Options};

/// Options with values.
const VALUES: &[&str] =
    &["a", "b", "d", "e", "f", "i", "I", "l", "n", "N", "O", "p", "s", "V", "w", "W", "x", "z"];

/// Options that are in the program, or change nothing of what is measured.
const KNOWN: &[&str] = &[
    "n", "I", "d", "u", "i", "F", "D", "C", "T", "E", "r", "w", "W", "e", "N", "v", "V", "P", "Y",
];

/// The phases: creation, stat, read, removal.
const PHASES: [&str; 4] = ["C", "T", READ, "r"];
/// That which only files have.
const READ: &str = "E";

/// The items of one kind: files or directories.
struct Items<'a> {
    word: &'a str,
    make: String,
    read: Option<String>,
    remove: &'a str,
    /// Seconds after which creation stops, and all ranks go on to what the fastest one has created.
    limit: Option<&'a str>,
    /// `sync` ends each phase, in its time.
    syncs: bool,
}

pub(crate) fn translate(command: &Command<'_>) -> (String, Vec<String>) {
    let given = Options::read(&command.words, VALUES);
    // Without a phase all of them are meant.
    let all = !PHASES.iter().any(|name| given.has(name));
    let phases = PHASES.map(|name| all || given.has(name));
    let mut page = Page::new("mdtest", &start(command, &given, phases));
    items(&mut page, &given);
    if let Some(limit) = given.value("W").filter(|value| *value != "0")
        && self::limit(&given, phases).is_none()
    {
        page.leaves_out(format!("-W {limit}"));
    }
    let written = given.size("w");
    let read = given.size("e");
    let has_files = given.has("F") || !given.has("D");
    let [own, seen, opened, gone] = places(&mut page, &given, phases, has_files);
    if phases[0] {
        page.line(if given.has("u") {
            "mkdir(\"rank-$$rank\");"
        } else {
            "master mkdir(\"shared\");"
        });
        page.line("barrier;");
    }
    let syncs = given.has("Y");
    let files = Items {
        word: "file",
        make: match written {
            Some(n) => format!("write(\"{own}file-$i\", {})", bytes(n)),
            None => format!("create(\"{own}file-$i\")"),
        },
        read: Some(match read {
            Some(n) => format!("read(\"{opened}file-$i\", {})", bytes(n)),
            None => format!("read(\"{opened}file-$i\")"),
        }),
        remove: "delete",
        limit: limit(&given, phases),
        syncs,
    };
    let directories = Items {
        word: "dir",
        make: format!("mkdir(\"{own}dir-$i\")"),
        read: None,
        remove: "rmdir",
        limit: None,
        syncs,
    };
    if given.has("D") || !given.has("F") {
        directories.phases(&mut page, phases, &seen, &gone);
    }
    if has_files {
        files.phases(&mut page, phases, &seen, &gone);
    }
    page.finish()
}

/// The beginning of names in each phase. With `-N`, a phase works on the items of the rank `N` further on
/// than the phase before; and with `-u`, items are made in the directory of the
/// next such rank, as mdtest does.
fn places(page: &mut Page, given: &Options<'_>, phases: [bool; 4], has_files: bool) -> [String; 4] {
    let (unique, stride) = (given.has("u"), given.number("N").and_then(|n| n.parse().ok()));
    let rank_of = |phase: usize, page: &mut Page| {
        let steps: u64 = stride.unwrap_or(0) * (phase as u64 + u64::from(unique));
        if steps == 0 {
            return "$$rank".to_string();
        }
        let variable = ["$create_of", "$stat_of", "$read_of", "$remove_of"][phase];
        if phases[phase] && (has_files || PHASES[phase] != READ) {
            page.line(&format!("{variable} = ($$rank + {steps}) % $$size;"));
        }
        variable.to_string()
    };
    std::array::from_fn(|phase| {
        let rank = rank_of(phase, page);
        if unique { format!("rank-{rank}/") } else { format!("shared/{rank}-") }
    })
}

/// `-W`: the limit of the phase that creates files, the only one that mdtest stops.
fn limit<'a>(given: &Options<'a>, [creates, ..]: [bool; 4]) -> Option<&'a str> {
    let is_used = creates && (given.has("F") || !given.has("D"));
    given.number("W").filter(|seconds| is_used && *seconds != "0")
}

/// How it is started. Each repetition of mdtest has a tree of its own; what is not created is that
/// of an earlier run.
fn start(command: &Command<'_>, given: &Options<'_>, [creates, _, _, removes]: [bool; 4]) -> Start {
    let reps = given.reps("i");
    let first = given.value("d").and_then(|folders| folders.split('@').next());
    let after = match () {
        _ if creates && (removes || !reps.is_empty()) => After::Clean,
        _ if creates => After::Keep,
        _ => After::Stay,
    };
    Start {
        ranks: command.ranks,
        folder: first.and_then(folder),
        options: if creates { reps } else { format!("{reps} --prepare") },
        after,
        ..Start::default()
    }
}

/// The number of items, and what of the options is not in the program.
fn items(page: &mut Page, given: &Options<'_>) {
    let (number, of_folder) = (given.number("n"), given.number("I"));
    let text = match (number, of_folder) {
        (Some(_), _) => "-n: items of each rank",
        (None, Some(_)) => "-I: items of each rank",
        (None, None) => "items of each rank; no -n is given",
    };
    page.param("num", number.or(of_folder).unwrap_or("100"), text);
    given.others(KNOWN).for_each(|option| page.leaves_out(option));
    if let Some(items) =
        given.value("I").filter(|items| number.is_some() || of_folder != Some(items))
    {
        page.leaves_out(format!("-I {items}"));
    }
    if let Some(folders) = given.value("d").filter(|folders| folders.contains('@')) {
        page.leaves_out(format!("-d {folders}: several directories"));
    }
}

impl Items<'_> {
    /// Creation, stat, read, removal, each in a label of its own.
    fn phases(&self, page: &mut Page, phases: [bool; 4], seen: &str, gone: &str) {
        let Items { word, make, read, remove, limit, .. } = self;
        let [creates, stats, reads, removes] = phases;
        // Later phases go as far as the first one came.
        let counts = limit.is_some() && (stats || reads || removes);
        let num = if counts { "$made" } else { "$num" };
        page.line(if counts { "$made = 0;" } else { "" });
        let mut phase = |on: bool, label: &str, call: &str| {
            let loop_ = match (label, limit) {
                ("create", Some(seconds)) if counts => {
                    format!(
                        "repeat $i $num until {seconds}s level {{ {call}; $made = $made + 1; }}"
                    )
                }
                ("create", Some(seconds)) => {
                    format!("repeat $i $num until {seconds}s level {call};")
                }
                ("create", None) => format!("repeat $i $num {call};"),
                _ => format!("repeat $i {num} {call};"),
            };
            if on {
                let body = if self.syncs { format!("{{ {loop_} sync; }}") } else { loop_ };
                page.line(&format!("time[\"{word}/{label}\", sync] {body}"));
            }
        };
        phase(creates, "create", make);
        phase(stats, "stat", &format!("stat(\"{seen}{word}-$i\")"));
        phase(reads && read.is_some(), "read", read.as_deref().unwrap_or(""));
        phase(removes, "remove", &format!("{remove}(\"{gone}{word}-$i\")"));
    }
}
