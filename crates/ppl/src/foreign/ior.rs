//! `ior -a POSIX -b 1m -t 64k -s 16 -F -C -e -w -r -o file` in PPL.
//!
//! Rank r has block `s * ranks + r` of a shared file, or block s of its own (`-F`), for segment s; a
//! block is moved in transfers of `-t` bytes.

use super::command::Command;
use super::options::Options;
use super::page::{Page, bytes, in_folder, place};

/// Options with values.
const VALUES: &[&str] = &[
    "a", "A", "b", "d", "D", "f", "G", "i", "I", "j", "J", "l", "M", "N", "o", "O", "q", "Q", "s",
    "S", "t", "T", "U", "X", "-api",
];

/// Options that are in the program, or change nothing of what is measured.
const KNOWN: &[&str] = &[
    "a",
    "b",
    "t",
    "s",
    "o",
    "w",
    "r",
    "W",
    "R",
    "F",
    "C",
    "c",
    "e",
    "Y",
    "z",
    "B",
    "-posix.odirect",
    "i",
    "k",
    "K",
    "N",
    "v",
    "m",
    "g",
    "h",
];

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
    let given = Options::read(&command.words, VALUES);
    let (folder, file) = place(given.value("o").unwrap_or("testFile"));
    let neither = !["w", "r", "W", "R"].iter().any(|name| given.has(name));
    let own_files = given.has("F");
    let job = Job {
        mpi: given.value("a").is_some_and(|api| !api.eq_ignore_ascii_case("posix")),
        collective: given.has("c"),
        own_files,
        reorder: given.has("C"),
        fsync: given.has("e"),
        fsync_each: given.has("Y"),
        random: given.has("z"),
        direct: given.has("B") || given.has("-posix.odirect"),
        write: neither || given.has("w"),
        read: neither || given.has("r") || given.has("R") || given.has("W"),
        file,
    };
    let ranks = command.ranks.or_else(|| given.value("N").and_then(|ranks| ranks.parse().ok()));
    let keep = if given.has("k") && folder.is_none() { " --keep" } else { "" };
    let run = format!("{}{}{keep}", in_folder(folder.as_deref()), given.reps("i"));
    let mut page = Page::new("IOR", ranks, &run);
    let amount = |name: &str, default: u64| bytes(given.size(name).unwrap_or(default));
    page.param("block", &amount("b", 1 << 20), "-b: bytes of a rank in a segment");
    page.param("transfer", &amount("t", 1 << 18), "-t: bytes of a call");
    let segments = given.number("s").unwrap_or("1");
    page.param("segments", segments, "-s: number of segments");
    given.others(KNOWN).for_each(|option| page.leaves_out(option));
    if job.random {
        page.leaves_out("-z across blocks");
    }
    match given.value("a").map(str::to_ascii_uppercase).as_deref() {
        None | Some("POSIX") => {}
        Some("MPIIO") if job.mpi => {}
        // One process each, or a library above MPI-IO.
        Some(_) if own_files => page.leaves_out("-a with -F: these are POSIX calls"),
        Some(_) => page.leaves_out("-a: these are calls of MPI-IO"),
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
        if self.mpi && self.own_files {
            options.push("comm=\"self\"");
        }
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
