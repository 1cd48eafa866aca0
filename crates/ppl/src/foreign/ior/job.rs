//! What IOR does, in PPL: a file is written, checked and read; one that is only read is that of an
//! earlier run.
//!
//! Rank r has block `s * ranks + r` of a shared file, or block s of its own (`-F`), for segment s; a
//! block is moved in transfers of `-t` bytes.

use super::super::page::Page;

/// The check of what was written goes so many nodes on, whatever `-Q` says.
const CHECKED_NODES_ON: u32 = 2;

/// What IOR is asked for.
pub(super) struct Job {
    pub(super) mpi: bool,
    pub(super) collective: bool,
    pub(super) own_files: bool,
    /// So many nodes on is the reader (`-C`, `-Q`).
    pub(super) reorder: Option<u32>,
    /// Ranks meet after the open and before the close.
    pub(super) barriers: bool,
    pub(super) fsync: bool,
    pub(super) fsync_each: bool,
    pub(super) random: bool,
    pub(super) direct: bool,
    pub(super) write: bool,
    pub(super) read: bool,
    /// What was written is read once more and checked (`-W`).
    pub(super) check_written: bool,
    /// What is read is checked (`-R`).
    pub(super) check_read: bool,
    pub(super) stonewall: Option<Stonewall>,
    pub(super) file: String,
}

/// The limit of a phase in time.
pub(super) struct Stonewall {
    /// Such as `30s`.
    pub(super) limit: String,
    /// Ranks that are behind go on to where the fastest one stopped.
    pub(super) wear_out: bool,
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
    pub(super) fn program(&self, page: &mut Page) {
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
    pub(super) fn checks(&self) -> bool {
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

/// What `body` adds, in `with (options)` if there are any.
fn within(page: &mut Page, options: &[&str], body: impl FnOnce(&mut Page)) {
    if !options.is_empty() {
        page.line(&format!("with ({}) {{", options.join(", ")));
    }
    body(page);
    page.line(if options.is_empty() { "" } else { "}" });
}
