//! `ior -a POSIX -b 1m -t 64k -s 16 -F -C -e -w -r -o file` in PPL.
//!
//! Rank r has block `s * ranks + r` of a shared file, or block s of its own (`-F`), for segment s; a
//! block is moved in transfers of `-t` bytes.

use super::command::{Command, options, size};
use super::page::{Page, bytes, in_folder, place};

/// Options with values.
const VALUES: &[&str] = &[
    "a", "A", "b", "d", "D", "f", "G", "i", "I", "j", "J", "l", "M", "N", "o", "O", "q", "Q", "s",
    "S", "t", "T", "U", "X", "-api",
];

/// Options that change nothing of what is measured.
const SILENT: &[&str] =
    &["v", "k", "K", "m", "i", "g", "h", "N", "a", "b", "t", "s", "o", "w", "r"];

/// What IOR is asked for.
struct Job {
    mpi: bool,
    collective: bool,
    own_files: bool,
    reorder: bool,
    fsync: bool,
    fsync_each: bool,
    random: bool,
    direct: bool,
    write: bool,
    read: bool,
    file: String,
}

pub(super) fn translate(command: &Command<'_>) -> Option<String> {
    let given = options(&command.words, VALUES);
    let value =
        |name: &str| given.iter().rev().find(|option| option.0 == name).and_then(|option| option.1);
    let has = |name: &str| given.iter().any(|option| option.0 == name);
    let (folder, file) = place(value("o").unwrap_or("testFile"));
    let neither = !["w", "r", "W", "R"].iter().any(|name| has(name));
    let own_files = has("F");
    let job = Job {
        mpi: !own_files && value("a").is_some_and(|api| !api.eq_ignore_ascii_case("posix")),
        collective: has("c"),
        own_files,
        reorder: has("C"),
        fsync: has("e"),
        fsync_each: has("Y"),
        random: has("z"),
        direct: has("B") || has("-posix.odirect"),
        write: neither || has("w"),
        read: neither || has("r") || has("R") || has("W"),
        file,
    };
    let ranks = command.ranks.or_else(|| value("N").and_then(|ranks| ranks.parse().ok()));
    let reps = value("i").and_then(|reps| reps.parse::<u32>().ok()).filter(|reps| *reps > 1);
    let reps = reps.map(|reps| format!(" --reps {reps}")).unwrap_or_default();
    let keep = if has("k") && folder.is_none() { " --keep" } else { "" };
    let run = format!("{}{reps}{keep}", in_folder(folder.as_deref()));
    let mut page = Page::new("IOR", ranks, &run);
    let amount = |name: &str, default: u64| bytes(value(name).and_then(size).unwrap_or(default));
    page.param("block", &amount("b", 1 << 20), "-b: bytes of a rank in a segment");
    page.param("transfer", &amount("t", 1 << 18), "-t: bytes of a call");
    let segments = value("s").filter(|n| n.parse::<u32>().is_ok_and(|n| n > 0)).unwrap_or("1");
    page.param("segments", segments, "-s: number of segments");
    let known = |name: &str| {
        SILENT.contains(&name) || "FCeYzBcWR".contains(name) || name == "-posix.odirect"
    };
    for (name, value) in given.iter().filter(|option| !known(&option.0)) {
        page.leaves_out(format!(
            "-{name}{}",
            value.map(|value| format!(" {value}")).unwrap_or_default()
        ));
    }
    job.program(&mut page);
    Some(page.finish())
}

impl Job {
    fn program(&self, page: &mut Page) {
        page.line("$transfers = $block / $transfer;");
        if self.read && !self.write {
            // Without -w the file is one of an earlier run.
            self.phase(page, true, "");
            page.line("barrier;");
        }
        let options = self.options();
        let (open, close) = if options.is_empty() { ("", "") } else { ("{", "}") };
        page.line(&format!("{options} {open}"));
        if self.write {
            self.phase(page, true, "time[\"write\", sync]");
        }
        if self.read {
            self.phase(page, false, "time[\"read\", sync]");
        }
        page.line(close);
    }

    fn options(&self) -> String {
        let mut options = Vec::new();
        if self.direct && !self.mpi {
            options.push("direct=true");
        }
        if self.fsync_each {
            options.push("fsync=\"op\"");
        }
        if options.is_empty() { String::new() } else { format!("with ({})", options.join(", ")) }
    }

    /// Writes or reads everything. With `-C` a rank reads what its neighbour wrote.
    fn phase(&self, page: &mut Page, writes: bool, label: &str) {
        let rank = match !writes && self.reorder {
            true => "$other",
            false => "$$rank",
        };
        if rank == "$other" {
            page.line("$other = ($$rank + 1) % $$size;");
        }
        page.line(&format!("{label} {{"));
        page.line(&self.open(rank, writes));
        page.line(&format!("repeat $s $segments {{ $at = {};", self.block(rank)));
        page.line(&format!("repeat $t $transfers {} }}", self.call(writes)));
        if writes && self.fsync {
            page.line(if self.mpi { "pfsync($h);" } else { "fsync($h);" });
        }
        page.line(if self.mpi { "pfclose($h); }" } else { "fclose($h); }" });
    }

    fn open(&self, rank: &str, writes: bool) -> String {
        let name = if self.own_files { format!("{}.{rank}", self.file) } else { self.file.clone() };
        match (self.mpi, writes) {
            (true, true) => format!("$h = pfopen(\"{name}\", \"crw\");"),
            (true, false) => format!("$h = pfopen(\"{name}\", \"r\");"),
            (false, true) => format!("$h = fopen(\"{name}\", \"O_RDWR|O_CREAT\");"),
            (false, false) => format!("$h = fopen(\"{name}\", \"r\");"),
        }
    }

    /// Where the rank's block of a segment begins.
    fn block(&self, rank: &str) -> String {
        match self.own_files {
            true => "$s * $block".to_string(),
            false => format!("($s * $$size + {rank}) * $block"),
        }
    }

    fn call(&self, writes: bool) -> String {
        let within = if self.random { "perm($t, $transfers)" } else { "$t" };
        let call = match (self.mpi, writes) {
            (true, true) => "pfwrite",
            (true, false) => "pfread",
            (false, true) => "fwrite",
            (false, false) => "fread",
        };
        let all = if self.mpi && self.collective { ", \"all\"" } else { "" };
        format!("{call}($h, $transfer, $at + {within} * $transfer{all});")
    }
}
