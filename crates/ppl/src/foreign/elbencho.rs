//! `elbencho -w -r -t 4 -b 1m -s 1g --direct /mnt/file{1..4}` in PPL; with `-n`, `-N` many small files.

use super::braces::expand;
use super::command::Command;
use super::options::Options;
use super::page::{After, Page, Start, bytes, folder, place};

/// Options with values; those of one letter have a long name too.
const VALUES: &[&str] = &[
    "t",
    "-threads",
    "b",
    "-block",
    "s",
    "-size",
    "n",
    "-dirs",
    "N",
    "-files",
    "-iodepth",
    "-rankoffset",
    "-hosts",
    "-hostsfile",
    "-rwmixpct",
    "-timelimit",
    "i",
    "-iterations",
    "-resfile",
    "-csvfile",
    "-livecsv",
    "-label",
];

/// Letters and their long names.
const LONG: &[(&str, &str)] = &[
    ("-write", "w"),
    ("-read", "r"),
    ("-threads", "t"),
    ("-block", "b"),
    ("-size", "s"),
    ("-dirs", "n"),
    ("-files", "N"),
    ("-mkdirs", "d"),
    ("-delfiles", "F"),
    ("-deldirs", "D"),
    ("-iterations", "i"),
];

/// Options that are in the program, or change nothing of what is measured.
const KNOWN: &[&str] = &[
    "w", "r", "t", "b", "s", "n", "N", "d", "F", "D", "i", "-direct", "-rand", "-stat", "-sync",
    "-lat", "-nolive", "",
];

pub(super) fn translate(command: &Command<'_>) -> Option<String> {
    let given = Options::read(&command.words, VALUES).with_letters(LONG);
    let paths: Vec<String> = given.values("").flat_map(expand).collect();
    let many = given.has("n") || given.has("N");
    let first = paths.first().map_or("", String::as_str);
    let folder = if many { folder(first) } else { place(first).0 };
    let is_beside = |path: &&String| !many && place(path).0 == folder;
    let files: Vec<String> = paths.iter().filter(is_beside).map(|path| place(path).1).collect();
    // The folders of ranks are ours, and made anew.
    let cleans = many && (given.has("D") || !given.reps("i").is_empty());
    let start = Start {
        ranks: given.number("t").and_then(|ranks| ranks.parse().ok()),
        folder: folder.clone(),
        options: given.reps("i"),
        after: if cleans { After::Clean } else { After::Stay },
        ..Start::default()
    };
    let mut page = Page::new("elbencho", &start);
    page.param("size", &bytes(given.size("s").unwrap_or(1 << 20)), "-s: bytes of a file");
    page.param("block", &bytes(given.size("b").unwrap_or(1 << 20)), "-b: bytes of a call");
    given.others(KNOWN).for_each(|option| page.leaves_out(option));
    paths.iter().skip(1).filter(|path| !is_beside(path)).for_each(|path| page.leaves_out(path));
    let phases = Phases {
        write: given.has("w"),
        read: given.has("r"),
        stat: given.has("-stat"),
        delete: given.has("F"),
        remove: given.has("D"),
        random: given.has("-rand"),
        direct: given.has("-direct"),
    };
    match many {
        true => phases.many_files(
            &mut page,
            given.number("n").unwrap_or("1"),
            given.number("N").unwrap_or("1"),
        ),
        false => phases.shared_files(&mut page, &files),
    }
    Some(page.finish())
}

/// What is done.
struct Phases {
    write: bool,
    read: bool,
    stat: bool,
    delete: bool,
    /// Directories are removed.
    remove: bool,
    random: bool,
    direct: bool,
}

impl Phases {
    /// Every rank has its part of each file.
    fn shared_files(&self, page: &mut Page, files: &[String]) {
        let (each, file) = match files {
            [] => ("", "\"data\"".to_string()),
            [file] => ("", format!("\"{file}\"")),
            _ => {
                let quoted: Vec<String> = files.iter().map(|file| format!("\"{file}\"")).collect();
                page.line(&format!("$files = [{}];", quoted.join(", ")));
                ("repeat $file in $files ", "$file".to_string())
            }
        };
        page.line("$part = $size / $$size;");
        page.line("$blocks = $part / $block;");
        let at = if self.random { "perm($i, $blocks)" } else { "$i" };
        let place = format!("$$rank * $part + {at} * $block");
        if !self.write {
            page.line(&format!("master {each}write({file}, $size); barrier; # what is read"));
        }
        self.open_options(page, false);
        for (_, label, flags, call) in self.transfers() {
            let open = format!("$h = fopen({file}, \"{flags}\");");
            page.line(&format!("time[\"{label}\", sync] {each} {{ {open}"));
            page.line(&format!("repeat $i $blocks {call}($h, $block, {place}); fclose($h); }}"));
        }
        self.close_options(page, false);
        if self.stat {
            page.line(&format!("time[\"stat\", sync] {each} stat({file});"));
        }
        if self.delete {
            page.line(&format!("barrier; master time[\"delete\"] {each} delete({file});"));
        }
    }

    /// Every rank has directories with files of its own.
    fn many_files(&self, page: &mut Page, dirs: &str, files: &str) {
        page.param("dirs", dirs, "-n: directories of each rank");
        page.param("files", files, "-N: files of each directory");
        page.line("mkdir(\"r$$rank\");");
        page.line("time[\"mkdir\", sync] repeat $d $dirs mkdir(\"r$$rank/d$d\");");
        let each = "repeat $d $dirs repeat $f $files";
        let name = "\"r$$rank/d$d/f$f\"";
        if !self.write {
            page.line(&format!("{each} write({name}, $size);"));
        }
        self.open_options(page, true);
        for (_, label, _, _) in self.transfers() {
            let bytes = if label == "write" { ", $size" } else { "" };
            page.line(&format!("time[\"{label}\", sync] {each}"));
            page.line(&format!("{label}({name}{bytes});"));
        }
        self.close_options(page, true);
        if self.stat {
            page.line(&format!("time[\"stat\", sync] {each} stat({name});"));
        }
        if self.delete {
            page.line(&format!("time[\"delete\", sync] {each} delete({name});"));
        }
        if self.remove {
            page.line("time[\"rmdir\", sync] repeat $d $dirs rmdir(\"r$$rank/d$d\");");
        }
    }

    /// Label, flags and call of the phases that move data.
    fn transfers(&self) -> impl Iterator<Item = (bool, &'static str, &'static str, &'static str)> {
        let all = [
            (self.write, "write", "O_WRONLY|O_CREAT", "fwrite"),
            (self.read, "read", "r", "fread"),
        ];
        all.into_iter().filter(|phase| phase.0)
    }

    /// `whole`: the calls move whole files, which are cut into blocks.
    fn open_options(&self, page: &mut Page, whole: bool) {
        let direct = if self.direct { "direct=true" } else { "" };
        let transfer = if whole { "transfer=$block" } else { "" };
        let options = [direct, transfer].into_iter().filter(|option| !option.is_empty());
        let options: Vec<&str> = options.collect();
        if !options.is_empty() {
            page.line(&format!("with ({}) {{", options.join(", ")));
        }
    }

    fn close_options(&self, page: &mut Page, whole: bool) {
        page.line(if self.direct || whole { "}" } else { "" });
    }
}
