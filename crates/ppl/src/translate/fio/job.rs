//! One job of fio: its options as facts, and the statements that do the same.

use super::values::{Data, Places, Sizes};
use crate::foreign::command::size;
use crate::translate::page::{Page, bytes, place};

/// Options of a section: names and values.
pub(crate) type Settings = Vec<(String, String)>;

/// Options that change nothing of what is measured, or are read apart.
const KNOWN: &[&str] = &[
    "name",
    "description",
    "group_reporting",
    "new_group",
    "stonewall",
    "wait_for_previous",
    "rw",
    "readwrite",
    "bs",
    "blocksize",
    "bssplit",
    "random_distribution",
    "verify",
    "do_verify",
    "zero_buffers",
    "buffer_compress_percentage",
    "dedupe_percentage",
    "size",
    "filesize",
    "numjobs",
    "iodepth",
    "ioengine",
    "direct",
    "buffered",
    "filename",
    "directory",
    "runtime",
    "time_based",
    "fsync",
    "fdatasync",
    "end_fsync",
    "fsync_on_close",
    "nrfiles",
    "rwmixread",
    "rwmixwrite",
    "thinktime",
    "rate",
    "rate_iops",
    "rate_process",
    "sync",
    "norandommap",
    "randrepeat",
    "invalidate",
    "thread",
    "refill_buffers",
    "gtod_reduce",
    "create_serialize",
    "fallocate",
    "exitall",
    "output",
    "output-format",
    "minimal",
    "eta",
    "percentile_list",
    "clat_percentiles",
    "disable_lat",
    "log_avg_msec",
    "write_bw_log",
    "write_lat_log",
    "write_iops_log",
    "per_job_logs",
    "unlink",
    "overwrite",
    "random_generator",
    "randseed",
    "status-interval",
    "append-terse",
];

/// The text of parameter `bs` where calls differ in size.
const UNIT: &str = "places are multiples of it";

/// Engines that make one call at a time.
const ONE_AT_A_TIME: &[&str] = &["psync", "sync", "vsync", "pvsync", "pvsync2"];

/// The facts of a job.
pub(crate) struct Job {
    pub(crate) name: String,
    /// `numjobs`
    pub(crate) clones: u64,
    /// It begins when the jobs before it are over.
    pub(crate) waits: bool,
    pub(crate) folder: Option<String>,
    /// Options without a counterpart.
    pub(crate) left_out: Vec<String>,
    /// A file that all clones share.
    file: Option<String>,
    engine: String,
    depth: u64,
    reads: bool,
    writes: bool,
    random: bool,
    repeats_places: bool,
    places: Places,
    data: Data,
    /// Per cent of reads in a mix.
    mix: u64,
    /// Sizes of reads, and sizes of writes.
    sizes: [Sizes; 2],
    /// Places are multiples of it.
    block: u64,
    size: u64,
    files: u64,
    direct: bool,
    seconds: Option<u64>,
    fsync: u64,
    fdatasync: u64,
    end_fsync: bool,
    sync: bool,
    think_us: u64,
    /// Cached data stays cached: `invalidate=0`.
    keeps_cached: bool,
    /// Calls per second, reads and writes together.
    rate: Option<u64>,
    poisson: bool,
}

impl Job {
    pub(crate) fn new(name: &str, settings: &Settings) -> Job {
        let get = |names: &[&str]| {
            let mut found =
                settings.iter().rev().filter(|setting| names.contains(&setting.0.as_str()));
            found.next().map(|setting| setting.1.as_str())
        };
        let number =
            |name: &str, default: u64| get(&[name]).and_then(|n| n.parse().ok()).unwrap_or(default);
        let on = |name: &str| get(&[name]).is_some_and(|value| value != "0");
        let bytes_of = |names: &[&str]| get(names).and_then(first_size).filter(|n| *n > 0);
        let rw = get(&["rw", "readwrite"]).unwrap_or("read").split(':').next().unwrap_or("read");
        let (reads, writes, random) = kind(rw).unwrap_or((true, false, false));
        let place_of =
            get(&["filename"]).map(|names| place(names.split(':').next().unwrap_or(names)));
        let folder =
            get(&["directory"]).map(|path| place(&format!("{path}/x")).0.unwrap_or_default());
        let mix =
            get(&["rwmixwrite"]).and_then(|n| n.parse::<u64>().ok()).map(|n| 100 - n.min(100));
        let blocks = get(&["bs", "blocksize"]).and_then(Sizes::of_blocks);
        let split = get(&["bssplit"]).map(Sizes::of_split);
        let sizes = split.clone().flatten().or(blocks).unwrap_or([4096, 4096].map(Sizes::one));
        let used = || [reads, writes].into_iter().zip(&sizes).filter(|of| of.0).map(|of| of.1);
        let block = used().map(Sizes::smallest).min().unwrap_or(4096);
        let largest = used().map(Sizes::largest).max().unwrap_or(block);
        let mean = used().map(Sizes::mean).max().unwrap_or(block);
        let files = number("nrfiles", 1).clamp(1, 1 << 20);
        let each = bytes_of(&["filesize"]);
        let size = each.or_else(|| bytes_of(&["size"]).map(|n| n / files)).unwrap_or(1 << 30);
        let runtime = get(&["runtime"]).and_then(seconds);
        let mut left_out: Vec<String> = settings
            .iter()
            .filter(|setting| !KNOWN.contains(&setting.0.as_str()))
            .map(|setting| format!("{}={}", setting.0, setting.1))
            .collect();
        if let (Some(None), Some(text)) = (split, get(&["bssplit"])) {
            left_out.push(format!("bssplit={text}"));
        }
        let size = ((size / block).max(1) * block).max(largest);
        let named = get(&["random_distribution"]).filter(|_| random);
        let places = named.map(|text| Places::of(text).filter(|places| places.fits(size / block)));
        if let (Some(None), Some(text)) = (&places, named) {
            left_out.push(format!("random_distribution={text}"));
        }
        let (data, without) = Data::of(|name| get(&[name]), &[block, largest]);
        left_out.extend(without);
        if kind(rw).is_none() {
            left_out.push(format!("rw={rw}"));
        }
        if runtime.is_some() && !on("time_based") {
            left_out.push("runtime (a limit; the size decides)".into());
        }
        let asked = get(&["rate_iops"]).map(|calls| both(calls, first_size));
        let bytes = || get(&["rate"]).map(|bytes| both(bytes, |n| Some(first_size(n)? / mean)));
        let asked = asked.or_else(bytes);
        if let Some(None) = asked {
            let name = if get(&["rate_iops"]).is_some() { "rate_iops" } else { "rate" };
            left_out.push(format!("{name}={}", get(&[name]).unwrap_or_default()));
        }
        let rates = asked.flatten();
        let rates = rates.unwrap_or_default();
        let (first, second) = (rates.first().copied(), rates.get(1).copied());
        let sum = [(reads, first), (writes, second.or(first))].into_iter().filter(|of| of.0);
        let sum = sum.filter_map(|of| of.1).fold(0, u64::saturating_add);
        // Of two rates each is that of its kind.
        let of_rates = second.filter(|_| reads && writes && sum > 0);
        let of_rates = of_rates.map(|second| 100 - ((100 * second + sum / 2) / sum).min(100));
        Job {
            name: place(name).1,
            clones: number("numjobs", 1).clamp(1, 1 << 16),
            waits: on("stonewall") || on("wait_for_previous"),
            folder: folder.or_else(|| place_of.as_ref().and_then(|place| place.0.clone())),
            left_out,
            file: place_of.map(|place| place.1),
            engine: get(&["ioengine"]).unwrap_or("psync").to_string(),
            depth: number("iodepth", 1),
            reads,
            writes,
            random,
            repeats_places: on("norandommap"),
            places: places.flatten().unwrap_or(Places::Even),
            data,
            mix: of_rates.or(mix).unwrap_or_else(|| number("rwmixread", 50)).min(100),
            sizes,
            block,
            size,
            files,
            direct: on("direct") || get(&["buffered"]) == Some("0"),
            seconds: runtime.filter(|_| on("time_based")),
            fsync: number("fsync", 0),
            fdatasync: number("fdatasync", 0),
            end_fsync: on("end_fsync") || on("fsync_on_close"),
            sync: get(&["sync"]).is_some_and(|value| value != "0" && value != "none"),
            think_us: get(&["thinktime"]).and_then(think_us).unwrap_or(0),
            rate: (sum > 0).then_some(sum),
            keeps_cached: get(&["invalidate"]) == Some("0"),
            poisson: get(&["rate_process"]) == Some("poisson"),
        }
    }

    /// Several calls are in flight at a time.
    fn is_queued(&self) -> bool {
        let at_a_time = self.engine == "mmap" || ONE_AT_A_TIME.contains(&self.engine.as_str());
        self.depth > 1 && !at_a_time
    }

    /// A comment about the queue of calls.
    pub(crate) fn queue_note(&self) -> Option<String> {
        self.is_queued().then(|| {
            format!("iodepth={} ({}): as many are under way by io_uring", self.depth, self.engine)
        })
    }

    /// The statements of the job. `alone`: sizes become parameters of the program.
    pub(crate) fn program(&self, page: &mut Page, alone: bool, in_group: bool) {
        let amounts = [
            ("size", bytes(self.size), "bytes of a file"),
            ("bs", bytes(self.block), if self.is_uniform() { "bytes of a call" } else { UNIT }),
        ];
        for (name, value, doc) in &amounts {
            match alone {
                true => page.param(name, value, doc),
                false => page.line(&format!("${name} = {value};")),
            }
        }
        page.line(if self.counts_blocks() { "$count = $size / $bs;" } else { "" });
        let name = self.path(in_group);
        let each = if self.files > 1 { format!("repeat $f {}", self.files) } else { String::new() };
        if self.reads {
            self.layout(page, &each, &name);
        }
        let options = self.options();
        page.line(&options);
        page.line(if options.is_empty() { "" } else { "{" });
        page.line(&format!("time[\"{}\", sync] {each} {{", self.name));
        page.line(&format!("$h = fopen(\"{name}\", \"{}\");", self.flags()));
        self.transfers(page);
        page.line(if self.writes && self.end_fsync { "fsync($h);" } else { "" });
        page.line("fclose($h); }");
        self.reads_back(page, &each, &name);
        page.line(if options.is_empty() { "" } else { "}" });
    }

    /// All calls are of the same size.
    fn is_uniform(&self) -> bool {
        let used = [self.reads, self.writes].into_iter().zip(&self.sizes).filter(|of| of.0);
        used.map(|of| of.1).all(|sizes| *sizes == Sizes::one(self.block))
    }

    /// The program has a variable for the number of blocks.
    fn counts_blocks(&self) -> bool {
        self.is_uniform() || self.random && self.places.repeats()
    }

    /// Every block of the files is met, and once.
    fn covers_all(&self) -> bool {
        let by_chance = self.repeats_places || self.places.repeats();
        self.is_uniform() && self.seconds.is_none() && !self.reads && !(self.random && by_chance)
    }

    /// Reads written data again, which checks it.
    fn reads_back(&self, page: &mut Page, each: &str, name: &str) {
        if !(self.writes && self.data.reads_back) {
            return;
        }
        let count = match self.covers_all() {
            true => "$count".to_string(),
            false => {
                page.comment("fio reads what it wrote; this reads the whole file, of which the rest is not checked");
                format!("size(\"{name}\") / $bs")
            }
        };
        page.line(&format!("time[\"{}-verify\", sync] {each} {{", self.name));
        page.line(&format!("$h = fopen(\"{name}\", \"O_RDONLY\");"));
        page.line(&format!("repeat $i {count} fread($h, $bs, $i * $bs);"));
        page.line("fclose($h); }");
    }

    /// The path of a file of this rank.
    fn path(&self, in_group: bool) -> String {
        let number = if self.files > 1 { ".$f" } else { "" };
        match (&self.file, in_group) {
            (Some(file), _) => format!("{file}{number}"),
            (None, true) => format!("{}.$$grank{number}", self.name),
            (None, false) => format!("{}.$$rank{number}", self.name),
        }
    }

    /// Creates the files that are read, as fio does.
    fn layout(&self, page: &mut Page, each: &str, name: &str) {
        page.comment("the files that are read, outside of what is measured");
        let with = with(&self.data.options());
        match self.file {
            Some(_) => {
                page.line(&format!("master {with} {each} write(\"{name}\", $size); barrier;"))
            }
            None => page.line(&format!("{with} {each} write(\"{name}\", $size);")),
        }
        if !self.direct && !self.keeps_cached && self.engine != "mmap" {
            page.comment("fio drops them from the page cache before it reads (invalidate=1)");
            let drop = format!(
                "$h = fopen(\"{name}\", \"r\"); fsync($h); fadvise($h, 0, 0, \"dontneed\"); fclose($h);"
            );
            page.line(&match each {
                "" => drop,
                each => format!("{each} {{ {drop} }}"),
            });
        }
    }

    fn options(&self) -> String {
        let mut options = Vec::new();
        if self.engine == "mmap" {
            options.push("engine=\"mmap\"".to_string());
        } else if self.direct {
            options.push("direct=true".to_string());
        }
        if self.is_queued() {
            options.push(format!("engine=\"uring\", depth={}", self.depth.min(65536)));
        }
        if self.writes && self.fsync == 1 {
            options.push("fsync=\"op\"".to_string());
        }
        if self.writes || self.data.verify {
            options.extend(self.data.options());
        }
        with(&options)
    }

    fn flags(&self) -> String {
        let flags = match (self.reads, self.writes) {
            (true, true) => "O_RDWR",
            (true, false) => "O_RDONLY",
            _ => "O_WRONLY|O_CREAT",
        };
        format!("{flags}{}", if self.sync && self.writes { "|O_SYNC" } else { "" })
    }

    fn transfers(&self, page: &mut Page) {
        let mut body = if self.is_uniform() { self.transfer() } else { self.transfers_of_sizes() };
        if self.writes {
            let syncs = every("fsync", self.fsync, 2).into_iter();
            let syncs = syncs.chain(every("fdatasync", self.fdatasync, 1));
            // fio's rate is that of reads and writes alone.
            let alone = if self.rate.is_some() { "with (rate=0) " } else { "" };
            body.extend(syncs.map(|sync| format!("{alone}{sync}")));
        }
        if self.think_us > 0 {
            body.push(format!("sleep({}us);", self.think_us));
        }
        if !self.is_uniform() && !self.random {
            let kinds =
                [(self.reads, false), (self.writes, true)].into_iter().filter(|kind| kind.0);
            kinds.for_each(|kind| page.line(&format!("{} = 0;", self.position(kind.1))));
        }
        let head = match self.seconds {
            // More calls than can be made in the time.
            Some(seconds) => format!("repeat $i 1t until {seconds}s"),
            None if !self.is_uniform() => {
                let counts = body.iter().any(|line| line.contains("$i"));
                page.line(if counts { "$done = 0; $i = 0;" } else { "$done = 0;" });
                body.extend(counts.then(|| "$i = $i + 1;".to_string()));
                "while ($done < $size)".into()
            }
            None => "repeat $i $count".into(),
        };
        let arrival = if self.poisson { ", arrival=\"poisson\"" } else { "" };
        let head = match self.rate {
            Some(rate) => format!("with (rate={rate}/s{arrival}) {head}"),
            None => head,
        };
        let text = body.join(" ");
        page.line(&match body.len() {
            1 => format!("{head} {text}"),
            _ => format!("{head} {{ {text} }}"),
        });
    }

    /// The statements of one call.
    fn transfer(&self) -> Vec<String> {
        let (mut body, block) = self.places.block();
        let again = self.seconds.is_some() || self.repeats_places || self.places.repeats();
        let place = match (self.random, self.seconds.is_some()) {
            (false, true) => "($i % $count) * $bs".to_string(),
            (false, false) => "$i * $bs".to_string(),
            (true, _) if again => format!("{block} * $bs"),
            (true, _) => "perm($i, $count) * $bs".to_string(),
        };
        if !self.random {
            body.clear();
        }
        match (self.reads, self.writes) {
            (true, true) => {
                body.push(format!("$at = {place};"));
                body.push(format!(
                    "mix {{ {}: fread($h, $bs, $at); {}: fwrite($h, $bs, $at); }}",
                    self.mix,
                    100 - self.mix
                ));
            }
            (true, false) => body.push(format!("fread($h, $bs, {place});")),
            _ => body.push(format!("fwrite($h, $bs, {place});")),
        }
        body
    }

    /// The same where calls differ in size: their places may overlap.
    fn transfers_of_sizes(&self) -> Vec<String> {
        match (self.reads, self.writes) {
            (true, true) => {
                let [reads, writes] = [false, true].map(|write| self.transfer_of(write).join(" "));
                let (mix, rest) = (self.mix, 100 - self.mix);
                vec![format!("mix {{ {mix}: {{ {reads} }} {rest}: {{ {writes} }} }}")]
            }
            (reads, _) => self.transfer_of(!reads),
        }
    }

    /// Where the next sequential call begins: reads and writes go on each from their last one.
    fn position(&self, write: bool) -> &'static str {
        match (self.reads && self.writes, write) {
            (false, _) => "$at",
            (true, false) => "$read_at",
            (true, true) => "$write_at",
        }
    }

    fn transfer_of(&self, write: bool) -> Vec<String> {
        let (drawn, bytes) = self.sizes[usize::from(write)].drawn();
        let mut body: Vec<String> = drawn.into_iter().collect();
        let call = if write { "fwrite" } else { "fread" };
        if self.random && self.places.repeats() {
            let (lines, block) = self.places.block();
            body.extend(lines);
            body.push(format!("{call}($h, {bytes}, min({block} * $bs, $size - {bytes}));"));
        } else if self.random {
            body.push(format!("{call}($h, {bytes}, rand(0, ($size - {bytes}) / $bs) * $bs);"));
        } else {
            let at = self.position(write);
            body.push(format!("if ({at} + {bytes} > $size) {at} = 0;"));
            body.push(format!("{call}($h, {bytes}, {at}); {at} = {at} + {bytes};"));
        }
        if self.seconds.is_none() {
            body.push(format!("$done = $done + {bytes};"));
        }
        body
    }
}

/// `with (verify=true)`, or nothing.
fn with(options: &[String]) -> String {
    if options.is_empty() { String::new() } else { format!("with ({})", options.join(", ")) }
}

/// Calls per second of `1000` and `2k`, or of `1000,500` for reads and writes; one left out has no limit, for
/// which 0 stands. `None`: it is not understood.
fn both(text: &str, rate: impl Fn(&str) -> Option<u64>) -> Option<Vec<u64>> {
    let number = |text: &str| if text.is_empty() { Some(0) } else { rate(text) };
    let rates: Option<Vec<u64>> = text.split(',').map(|text| number(text.trim())).collect();
    rates.filter(|rates| rates.len() <= 3 && rates.iter().any(|rate| *rate > 0))
}

/// Microseconds of `10`, `10us`, `5ms`, `1s`.
fn think_us(text: &str) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let number: u64 = text[..digits].parse().ok()?;
    let factor = match &text[digits..] {
        "" | "us" | "usec" => 1,
        "ms" | "msec" => 1000,
        "s" | "sec" => 1_000_000,
        _ => return None,
    };
    number.checked_mul(factor)
}

/// `fsync=32`: after each 32 writes. `least`: fewer are not said here.
fn every(call: &str, writes: u64, least: u64) -> Option<String> {
    match writes {
        n if n < least => None,
        1 => Some(format!("{call}($h);")),
        n => Some(format!("if (($i + 1) % {n} == 0) {call}($h);")),
    }
}

/// Whether a value of `rw` reads, writes, goes to random places.
fn kind(rw: &str) -> Option<(bool, bool, bool)> {
    Some(match rw {
        "read" => (true, false, false),
        "write" => (false, true, false),
        "rw" | "readwrite" => (true, true, false),
        "randread" => (true, false, true),
        "randwrite" => (false, true, true),
        "randrw" => (true, true, true),
        _ => return None,
    })
}

/// The size in `4k`, `4k,64k`, or the first of `4k-64k`.
fn first_size(text: &str) -> Option<u64> {
    size(text.split([',', '-', '/']).next()?.trim())
}

/// Seconds of `60`, `60s`, `5m`, `1h`.
fn seconds(text: &str) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let number: u64 = text[..digits].parse().ok()?;
    let factor = match &text[digits..] {
        "" | "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86400,
        _ => return None,
    };
    number.checked_mul(factor).filter(|n| *n > 0)
}
