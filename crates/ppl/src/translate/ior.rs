//! `ior -a POSIX -b 1m -t 64k -s 16 -F -C -e -w -r -o file` in PPL.
//!
//! A file is written, checked and read; one that is only read is from an earlier run. Rank r has block
//! `s * ranks + r` of a shared file, or block s of its own (`-F`), for segment s; a block is moved in
//! transfers of `-t` bytes.

use super::ior_script::WITHOUT_EFFECT;
use super::page::{After, Page, Start, bytes, place};
use crate::foreign::command::{Command, Options};

/// Options with values.
const VALUES: &[&str] = &[
    "a", "A", "b", "d", "D", "f", "G", "i", "j", "J", "l", "M", "N", "o", "O", "Q", "s", "t", "T",
    "U", "X", "-api",
];

/// Letters and their long names.
const LONG: &[(&str, &str)] =
    &[("-api", "a"), ("-collective", "c"), ("-posix.odirect", "B"), ("-dataPacketType", "l")];

/// Options that are in the program or told by [`notes`], or change nothing of what is measured.
const KNOWN: &[&str] = &[
    "a", "b", "t", "s", "o", "w", "r", "W", "R", "F", "C", "c", "e", "Y", "z", "B", "D", "f", "g",
    "i", "k", "K", "N", "O", "Q", "v", "h", "H", "q",
];

const BLOCK: u64 = 1 << 20;
const TRANSFER: u64 = 1 << 18;

pub(crate) fn translate(command: &Command<'_>) -> (String, Vec<String>) {
    translate_with(command, Vec::new())
}

/// The same; `left_out`: what the text has beside this call.
pub(crate) fn translate_with(
    command: &Command<'_>,
    left_out: Vec<String>,
) -> (String, Vec<String>) {
    let given = Options::read(&command.words, VALUES).with_letters(LONG);
    // `@` separates several files.
    let files = given.value("o").unwrap_or("testFile");
    let (folder, file) = place(files.split('@').next().unwrap_or(files));
    let job = job(&given, file);
    let start = Start {
        ranks: ranks(command, &given),
        mpi: job.mpi,
        folder,
        options: match job.write || job.checks() {
            true => given.reps("i"),
            false => format!("{} --prepare", given.reps("i")),
        },
        after: match (job.write, given.has("k")) {
            (_, true) => After::Keep,
            (true, false) => After::Clean,
            (false, false) => After::Stay,
        },
    };
    let mut page = Page::new("IOR", &start);
    if !job.write && job.checks() {
        page.comment(
            "checks what an earlier run with verify=true has written there, such as -w -k -W",
        );
    }
    remarks(&mut page, &given);
    let (block, transfer) = sizes(&given);
    page.param("block", &bytes(block), "-b: bytes of a rank in a segment");
    page.param("transfer", &bytes(transfer.min(block)), "-t: bytes of a call");
    let segments = given.number("s").unwrap_or("1");
    page.param("segments", segments, "-s: number of segments");
    given.others(KNOWN).for_each(|option| page.leaves_out(option));
    left_out.into_iter().for_each(|part| page.leaves_out(part));
    notes(&mut page, command, &given, &job);
    job.program(&mut page);
    page.finish()
}

/// The bytes of a block and of a transfer.
fn sizes(given: &Options<'_>) -> (u64, u64) {
    (given.size("b").unwrap_or(BLOCK), given.size("t").unwrap_or(TRANSFER))
}

fn job(given: &Options<'_>, file: String) -> Job {
    let neither = !["w", "r", "W", "R"].iter().any(|name| given.has(name));
    let mpi = api(given).is_some_and(|api| matches!(&api[..], "MPIIO" | "HDF5" | "NCMPI"));
    let collective = given.has("c");
    let limit = given.number("D").filter(|_| !(mpi && collective));
    Job {
        mpi,
        collective,
        own_files: given.has("F"),
        reorder: given.has("C").then(|| nodes_on(given)),
        barriers: given.has("g"),
        fsync: given.has("e"),
        fsync_each: given.has("Y"),
        random: given.has("z"),
        direct: given.has("B"),
        write: neither || given.has("w"),
        read: neither || given.has("r") || given.has("R"),
        check_written: given.has("W"),
        check_read: given.has("R"),
        stonewall: limit.map(|seconds| Stonewall {
            limit: format!("{seconds}s"),
            wear_out: directives(given).any(is_wear_out),
        }),
        file,
    }
}

fn api(given: &Options<'_>) -> Option<String> {
    given.value("a").map(str::to_ascii_uppercase)
}

/// `-Q`: how many nodes on the reader is.
fn nodes_on(given: &Options<'_>) -> u32 {
    given.number("Q").and_then(|nodes| nodes.parse().ok()).unwrap_or(1)
}

/// Ranks that take part: `-N` of those that the launcher starts.
fn ranks(command: &Command<'_>, given: &Options<'_>) -> Option<u64> {
    let part = given.number("N").and_then(|ranks| ranks.parse().ok());
    command.ranks.into_iter().chain(part).min()
}

/// `name=value` of `-O`.
fn directives<'t>(given: &Options<'t>) -> impl Iterator<Item = &'t str> {
    given.values("O").flat_map(|list| list.split(','))
}

/// It is not only about what is printed.
fn is_work(directive: &str) -> bool {
    let name = directive.split('=').next().unwrap_or(directive);
    !WITHOUT_EFFECT.iter().any(|known| known.eq_ignore_ascii_case(name))
}

fn is_wear_out(directive: &str) -> bool {
    directive.eq_ignore_ascii_case("stoneWallingWearOut=1")
}

/// Remarks on the program as a whole.
fn remarks(page: &mut Page, given: &Options<'_>) {
    if let Some(script) = given.value("f") {
        page.comment(&format!(
            "-f {script}: the script was not read, and its settings are missing"
        ));
    }
    let (block, transfer) = sizes(given);
    let (rest, whole) = (bytes(block % transfer), block / transfer);
    if block % transfer > 0 {
        let (block, transfer) = (bytes(block), bytes(transfer));
        page.comment(&format!("IOR refuses -b {block}, which is not a multiple of -t {transfer}:"));
        page.comment(&match whole {
            0 => format!("here a block is one transfer of {rest}"),
            _ => format!("here {whole} transfers of a block, without the last {rest} of it"),
        });
    }
}

/// Options of which the program has a part, or has them in other cases.
fn notes(page: &mut Page, command: &Command<'_>, given: &Options<'_>, job: &Job) {
    let unknown = |name: &str| match name {
        "s" => given.number("s").is_none(),
        name => given.size(name).is_none(),
    };
    for name in ["b", "t", "s"].into_iter().filter(|name| unknown(name)) {
        given.values(name).for_each(|value| page.leaves_out(format!("-{name} {value}")));
    }
    if job.random {
        page.leaves_out("-z across blocks");
    }
    if let Some(files) = given.value("o").filter(|files| files.contains('@')) {
        page.leaves_out(format!("-o {files}: several files"));
    }
    if job.stonewall.is_none()
        && let Some(limit) = given.value("D").filter(|limit| *limit != "0")
    {
        let collective = if job.collective { " with -c" } else { "" };
        page.leaves_out(format!("-D {limit}{collective}"));
    }
    // Without -C it is one of -Z, which is not translated either.
    if let Some(nodes) = given.value("Q").filter(|_| !given.has("C") || given.number("Q").is_none())
    {
        page.leaves_out(format!("-Q {nodes}"));
    }
    let part = given.value("N").filter(|part| {
        let part: Option<u64> = part.parse().ok();
        part.is_none_or(|part| command.ranks.is_some_and(|ranks| part > ranks))
    });
    part.iter().for_each(|part| page.leaves_out(format!("-N {part}")));
    let others =
        directives(given).filter(|directive| !is_wear_out(directive) && is_work(directive));
    others.for_each(|directive| page.leaves_out(format!("-O {directive}")));
    if let Some(api) = api(given).filter(|api| !matches!(&api[..], "POSIX" | "MPIIO")) {
        let calls = if job.mpi { "calls of MPI-IO" } else { "POSIX calls" };
        page.leaves_out(format!("-a {api}: these are {calls}"));
    }
}

/// Nodes between writer and checker (`-W`), whatever `-Q` says.
const CHECKED_NODES_ON: u32 = 2;

/// The facts of an IOR call.
struct Job {
    mpi: bool,
    collective: bool,
    own_files: bool,
    /// Nodes between writer and reader (`-C`, `-Q`).
    reorder: Option<u32>,
    /// Ranks meet after the open and before the close.
    barriers: bool,
    fsync: bool,
    fsync_each: bool,
    random: bool,
    direct: bool,
    write: bool,
    read: bool,
    /// Written data is read once more and checked (`-W`).
    check_written: bool,
    /// Read data is checked (`-R`).
    check_read: bool,
    stonewall: Option<Stonewall>,
    file: String,
}

/// The limit of a phase in time.
struct Stonewall {
    /// Such as `30s`.
    limit: String,
    /// Ranks that are behind go on to where the fastest one stopped.
    wear_out: bool,
}

/// A pass over the file.
#[derive(Clone, Copy, PartialEq)]
enum Pass {
    Write,
    Check,
    Read,
}

impl Pass {
    fn writes(self) -> bool {
        self == Pass::Write
    }

    fn label(self) -> &'static str {
        match self {
            Pass::Write => "time[\"write\", sync]",
            Pass::Check => "time[\"check\", sync]",
            Pass::Read => "time[\"read\", sync]",
        }
    }
}

impl Job {
    fn program(&self, page: &mut Page) {
        page.line("$transfers = $block / $transfer;");
        if self.stonewall.is_some() {
            page.line("$count = $segments * $transfers;");
        }
        within(page, &self.options(), |page| self.measured(page));
    }

    fn measured(&self, page: &mut Page) {
        let reads = self.check_written || self.read;
        if self.write {
            page.line(if self.counts() { "$written = 0;" } else { "" });
            self.pass(page, Pass::Write);
        }
        if self.counts() {
            page.line(&format!("$count = {};", self.written()));
        }
        if reads && self.reorder.is_some() {
            shift(page);
        }
        if self.check_written {
            self.turns_to(page, Pass::Check);
            self.pass(page, Pass::Check);
        }
        if self.read {
            self.turns_to(page, Pass::Read);
            let unchecked = self.check_written && !self.check_read;
            let options = if unchecked { vec!["verify=false"] } else { Vec::new() };
            within(page, &options, |page| self.pass(page, Pass::Read));
        }
    }

    /// Whose bytes a pass reads with `-C`. IOR checks what was written two nodes away.
    fn turns_to(&self, page: &mut Page, pass: Pass) {
        let nodes = match pass {
            Pass::Check => self.reorder.map(|_| CHECKED_NODES_ON),
            _ => self.reorder,
        };
        match nodes {
            None => {}
            Some(1) => page.line("$other = ($$rank + $shift) % $$size;"),
            Some(nodes) => page.line(&format!("$other = ($$rank + {nodes} * $shift) % $$size;")),
        }
    }

    /// Readers go as far as writers came before the limit.
    fn counts(&self) -> bool {
        self.write && (self.check_written || self.read) && self.stonewall.is_some()
    }

    /// How many transfers there are to read. Without wear-out, ranks differ in what they wrote.
    fn written(&self) -> &'static str {
        let level = self.stonewall.as_ref().is_some_and(|stonewall| stonewall.wear_out);
        if self.reorder.is_some() && !level { "gmin($written)" } else { "$written" }
    }

    /// The bytes that are read are examined.
    fn checks(&self) -> bool {
        self.check_written || self.check_read
    }

    /// Options of `with` that decide what the file is.
    fn contents(&self) -> Vec<&'static str> {
        let mut options = Vec::new();
        if self.mpi && self.own_files {
            options.push("comm=\"self\"");
        }
        if self.checks() {
            options.push("verify=true");
        }
        options
    }

    fn options(&self) -> Vec<&'static str> {
        let mut options = self.contents();
        if self.direct && !self.mpi {
            options.push("direct=true");
        }
        if self.fsync_each {
            options.push("fsync=\"op\"");
        }
        options
    }

    /// Goes over everything. With `-C` a rank reads what a rank of another node wrote.
    fn pass(&self, page: &mut Page, pass: Pass) {
        let rank = if !pass.writes() && self.reorder.is_some() { "$other" } else { "$$rank" };
        let meet = if self.barriers { "barrier;" } else { "" };
        page.line(&format!("{} {{", pass.label()));
        page.line(&self.open(rank, pass.writes()));
        page.line(meet);
        match &self.stonewall {
            Some(stonewall) => self.limited(page, pass, rank, stonewall),
            None => self.whole(page, pass, rank),
        }
        if pass.writes() && self.fsync {
            page.line(if self.mpi { "pfsync($h);" } else { "fsync($h);" });
        }
        page.line(meet);
        page.line(if self.mpi { "pfclose($h);" } else { "fclose($h);" });
        page.line("}");
    }

    fn whole(&self, page: &mut Page, pass: Pass, rank: &str) {
        page.line(&format!("repeat $s $segments {{ $at = {};", self.block(rank)));
        page.line(&format!("repeat $t $transfers {} }}", self.call(pass.writes())));
    }

    /// One loop over all transfers, since a limit is that of one loop. A check has none.
    fn limited(&self, page: &mut Page, pass: Pass, rank: &str, stonewall: &Stonewall) {
        let limit = match (pass, stonewall.wear_out) {
            (Pass::Check, _) => String::new(),
            (_, true) => format!("until {} level", stonewall.limit),
            (_, false) => format!("until {}", stonewall.limit),
        };
        page.line(&format!("repeat $i $count {limit} {{"));
        page.line("$s = $i / $transfers; $t = $i % $transfers;");
        page.line(&format!("$at = {};", self.block(rank)));
        page.line(&self.call(pass.writes()));
        let counts = pass == Pass::Write && self.counts();
        page.line(if counts { "$written = $written + 1; }" } else { "}" });
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

/// The distance of ranks from one node to the next: as many ranks as the first node has where they
/// fill node after node, and 1 where they go round. The first rank outside of rank 0's node has that
/// number in both cases. On one node there is none, and ranks read what they wrote.
fn shift(page: &mut Page) {
    page.comment(
        "-C: from one node to the next; on one node ranks read what they wrote, as in IOR",
    );
    page.line("$shift = $$size;");
    page.line("if ($$node > 0) $shift = $$rank;");
    page.line("$shift = gmin($shift);");
}

/// Adds the lines of `body`, in `with (options)` if there are any.
fn within(page: &mut Page, options: &[&str], body: impl FnOnce(&mut Page)) {
    if !options.is_empty() {
        page.line(&format!("with ({}) {{", options.join(", ")));
    }
    body(page);
    page.line(if options.is_empty() { "" } else { "}" });
}
