//! `mdtest -n 1000 -d /mnt/dir -u -i 3 -F` in PPL.

use super::page::{After, Page, Start, bytes, folder};
use crate::foreign::command::{Command, Options};

/// Options with values.
const VALUES: &[&str] =
    &["a", "b", "d", "e", "f", "i", "I", "l", "n", "N", "O", "p", "s", "V", "w", "W", "x", "z"];

/// Options that are in the program, or change nothing of what is measured.
const KNOWN: &[&str] = &[
    "n", "I", "d", "u", "i", "F", "D", "C", "T", "E", "r", "U", "w", "W", "e", "N", "v", "V", "P",
    "Y",
];

/// The phases: creation, stat, read, removal.
const PHASES: [&str; 4] = ["C", "T", READ, "r"];
/// The phase that renames directories.
const RENAME: &str = "U";
/// The directory that mdtest makes in that of `-d`; each of its names is looked up from there.
const TREES: &str = "test-dir.0-0";
/// That which only files have.
const READ: &str = "E";

/// The items of one kind: files or directories.
struct Items<'a> {
    word: &'a str,
    make: String,
    read: Option<String>,
    /// They are renamed after all were read, each to the name of the one before.
    renames: bool,
    remove: &'a str,
    /// Seconds after which creation stops, and all ranks go on to what the fastest one has created.
    limit: Option<&'a str>,
    /// `sync` ends each phase, in its time.
    syncs: bool,
}

pub(crate) fn translate(command: &Command<'_>) -> (String, Vec<String>) {
    let given = Options::read(&command.words, VALUES);
    // Without a phase all of them are meant.
    let all = !PHASES.iter().chain([&RENAME]).any(|name| given.has(name));
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
        make_trees(&mut page, given.has("u"));
    }
    let syncs = given.has("Y");
    let files = Items {
        word: "file",
        make: match written {
            Some(n) => format!("write({}, {})", own.name("file", "$i"), bytes(n)),
            None => format!("create({})", own.name("file", "$i")),
        },
        read: Some(match read {
            Some(n) => format!("read({}, {})", opened.name("file", "$i"), bytes(n)),
            None => format!("read({})", opened.name("file", "$i")),
        }),
        renames: false,
        remove: "delete",
        limit: limit(&given, phases),
        syncs,
    };
    let directories = Items {
        word: "dir",
        make: format!("mkdir({})", own.name("dir", "$i")),
        read: None,
        renames: all || given.has(RENAME),
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

/// The trees of mdtest: one for all ranks, or with `-u` one for each.
fn make_trees(page: &mut Page, is_unique: bool) {
    if is_unique {
        page.line(&format!("master mkdir(\"{TREES}\");"));
        page.line("barrier;");
        page.line(&format!("mkdir(\"{TREES}/mdtest_tree.$$rank.0\");"));
    } else {
        page.line(&format!("master {{ mkdir(\"{TREES}\"); mkdir(\"{TREES}/mdtest_tree.0\"); }}"));
    }
    page.line("barrier;");
}

/// Whose items a phase works on: a rank in the program's words.
struct Place {
    rank: String,
    is_unique: bool,
}

impl Place {
    /// The name of an item, quoted.
    fn name(&self, kind: &str, item: &str) -> String {
        let Place { rank, is_unique } = self;
        let tree = if *is_unique { format!("{rank}.0") } else { "0".into() };
        format!("\"{TREES}/mdtest_tree.{tree}/{kind}.mdtest.{rank}.{item}\"")
    }
}

/// The place of names in each phase. With `-N`, a phase works on the items of the rank `N` further on
/// than the phase before; and with `-u`, items are made in the directory of the
/// next such rank, as mdtest does.
fn places(page: &mut Page, given: &Options<'_>, phases: [bool; 4], has_files: bool) -> [Place; 4] {
    let (unique, stride) = (given.has("u"), given.number("N").and_then(|n| n.parse().ok()));
    let renames = given.has(RENAME);
    let rank_of = |phase: usize, page: &mut Page| {
        let steps: u64 = stride.unwrap_or(0) * (phase as u64 + u64::from(unique));
        if steps == 0 {
            return "$$rank".to_string();
        }
        let variable = ["$create_of", "$stat_of", "$read_of", "$remove_of"][phase];
        let is_used = phases[phase] || phase == 1 && renames;
        if is_used && (has_files || PHASES[phase] != READ) {
            page.line(&format!("{variable} = ($$rank + {steps}) % $$size;"));
        }
        variable.to_string()
    };
    std::array::from_fn(|phase| {
        let rank = rank_of(phase, page);
        Place { rank, is_unique: unique }
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
    fn phases(&self, page: &mut Page, phases: [bool; 4], seen: &Place, gone: &Place) {
        let Items { word, make, read, renames, remove, limit, .. } = self;
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
                page.line(&labelled(word, label, &loop_, self.syncs));
            }
        };
        phase(creates, "create", make);
        phase(stats, "stat", &format!("stat({})", seen.name(word, "$i")));
        phase(reads && read.is_some(), "read", read.as_deref().unwrap_or(""));
        if *renames {
            rename_all(page, seen, self.syncs);
        }
        let mut phase = |on: bool, label: &str, call: &str| {
            if on {
                page.line(&labelled(word, label, &format!("repeat $i {num} {call};"), self.syncs));
            }
        };
        phase(removes, "remove", &format!("{remove}({})", gone.name(word, "$i")));
    }
}

/// A phase with its label; `sync` belongs to its time.
fn labelled(word: &str, label: &str, body: &str, syncs: bool) -> String {
    let body = if syncs { format!("{{ {body} sync; }}") } else { body.to_string() };
    format!("time[\"{word}/{label}\", sync] {body}")
}

/// "Directory rename" of mdtest 4.1: the first directory makes room, each other one takes the name of the one before,
/// and the first takes the name that is left. As many renames as directories; a single one is not renamed.
fn rename_all(page: &mut Page, of: &Place, syncs: bool) {
    let [first, aside] = ["0", "0-XX"].map(|item| of.name("dir", item));
    let [each, before, free] = ["$i", "$before", "$free"].map(|item| of.name("dir", item));
    page.line("$before = 0;");
    page.line("$free = $num - 2;");
    page.line("time[\"dir/rename\", sync] if ($num > 1) {");
    page.line(&format!("    rename({first}, {aside});"));
    page.line("    repeat $i 1..$num - 1 {");
    page.line(&format!("        rename({each}, {before});"));
    page.line("        $before = $i;");
    page.line("    }");
    page.line(&format!("    rename({aside}, {free});"));
    if syncs {
        page.line("    sync;");
    }
    page.line("}");
}
