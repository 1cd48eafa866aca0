//! One job of fio: its options as facts, and the statements that do the same.

use super::given::{Given, Settings, split_names, switch, time, time_us};
use super::values::{Data, Places, Rates, Sizes};
use crate::foreign::command::size;
use crate::translate::page::{Page, bytes, place};

/// Options that are read, or whose effect the program has anyway.
const KNOWN: &[&str] = &[
    "name",
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
    "thinktime_blocks",
    "startdelay",
    "loops",
    "io_size",
    "io_limit",
    "number_ios",
    "rate",
    "rate_iops",
    "rate_process",
    "sync",
    "norandommap",
    "randrepeat",
    "invalidate",
    "thread",
    "refill_buffers",
    "create_serialize",
    "fallocate",
    "unlink",
    "overwrite",
    "random_generator",
    "randseed",
];

/// The text of parameter `bs` where calls differ in size.
const UNIT: &str = "places are multiples of it";

/// Engines that make one call at a time.
const ONE_AT_A_TIME: &[&str] = &["psync", "sync", "vsync", "pvsync", "pvsync2"];

/// Engines that read and write files.
const ENGINES: &[&str] = &[
    "psync", "sync", "vsync", "pvsync", "pvsync2", "libaio", "io_uring", "posixaio", "mmap", "null",
];

/// Engines that read and write files by calls of their own: plain ones stand for them, and the engine is listed.
const OTHER_ENGINES: &[&str] =
    &["splice", "sg", "io_uring_cmd", "libpmem", "solarisaio", "windowsaio"];

/// An engine that works on names of files: one operation for each.
pub(crate) struct OnNames {
    engine: &'static str,
    operation: &'static str,
    /// The operation that makes what has to be there before.
    before: Option<&'static str>,
}

const ON_NAMES: &[OnNames] = &[
    OnNames { engine: "filecreate", operation: "create", before: None },
    OnNames { engine: "filestat", operation: "stat", before: Some("create") },
    OnNames { engine: "filedelete", operation: "delete", before: Some("create") },
    OnNames { engine: "dircreate", operation: "mkdir", before: None },
    OnNames { engine: "dirstat", operation: "stat", before: Some("mkdir") },
    OnNames { engine: "dirdelete", operation: "rmdir", before: Some("mkdir") },
];

impl OnNames {
    fn of(engine: &str) -> Option<&'static OnNames> {
        ON_NAMES.iter().find(|row| row.engine == engine)
    }
}

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
    /// Files that all clones share; without any each clone has its own.
    names: Vec<String>,
    engine: String,
    on_names: Option<&'static OnNames>,
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
    /// It runs for this long, microseconds, however often it goes through its files.
    time_us: Option<u64>,
    /// It ends after this long, microseconds, if its calls are not over before.
    limit_us: Option<u64>,
    fsync: u64,
    fdatasync: u64,
    end_fsync: bool,
    /// Flag of files that are written: `|O_SYNC`, `|O_DSYNC` or nothing.
    sync: &'static str,
    think_us: u64,
    /// It pauses after each of so many calls.
    think_blocks: u64,
    /// Pause before the first call, microseconds.
    delay_us: u64,
    /// Passes through all files.
    loops: u64,
    /// Calls on each file, if not as many as it has blocks.
    calls: Option<u64>,
    /// Cached data stays cached: `invalidate=0`.
    keeps_cached: bool,
    /// Files that are written are there before.
    overwrites: bool,
    /// The space of files that are written is reserved before.
    allocates: bool,
    /// Calls per second, reads and writes together.
    rate: Option<u64>,
    poisson: bool,
}

impl Job {
    /// # Errors
    /// The option that no program can do, as it was written.
    pub(crate) fn new(name: &str, settings: &Settings) -> Result<Job, String> {
        let given = Given::new(settings, KNOWN);
        let engine = given.text(&["ioengine"]).unwrap_or("psync");
        let on_names = OnNames::of(engine);
        if on_names.is_none() && OTHER_ENGINES.contains(&engine) {
            given.leave_out(format!("ioengine={engine}"));
        } else if on_names.is_none() && !ENGINES.contains(&engine) {
            return Err(format!("ioengine={engine}"));
        }
        let rw = last(settings, &["rw", "readwrite"]).unwrap_or("read");
        let (kind_of_rw, modifier) = rw.split_once(':').unwrap_or((rw, ""));
        let kind = kind(kind_of_rw).ok_or_else(|| format!("rw={rw}"))?;
        if !matches!(modifier, "" | "1") {
            given.leave_out(format!("rw={rw}"));
        }
        Ok(Job::of(name, engine, on_names, kind, given))
    }

    /// `kind`: reads, writes, goes to random places.
    fn of(
        name: &str,
        engine: &str,
        on_names: Option<&'static OnNames>,
        kind: (bool, bool, bool),
        given: Given<'_>,
    ) -> Job {
        let (reads, writes, random) = kind;
        let (folder, names) = named_files(&given);
        let files = given.number("nrfiles", 1).clamp(1, 1 << 20);
        let files = if names.len() > 1 { names.len() as u64 } else { files };
        let sizes = Sizes::given(&given);
        let used = || [reads, writes].into_iter().zip(&sizes).filter(|of| of.0).map(|of| of.1);
        let block = used().map(Sizes::smallest).min().unwrap_or(4096);
        let largest = used().map(Sizes::largest).max().unwrap_or(block);
        let mean = used().map(Sizes::mean).max().unwrap_or(block);
        let (whole, each) = (given.bytes(&["size"]), given.bytes(&["filesize"]));
        let size = each.or_else(|| whole.map(|n| n / files)).unwrap_or(1 << 30);
        let size = ((size / block).max(1) * block).max(largest);
        let places = given.text(&["random_distribution"]).filter(|_| random).map(|text| {
            let places = Places::of(text).filter(|places| places.fits(size / block));
            if places.is_none() {
                given.leave_out(format!("random_distribution={text}"));
            }
            places.unwrap_or(Places::Even)
        });
        let (data, without) = Data::of(|name| given.text(&[name]), &[block, largest]);
        without.into_iter().for_each(|option| given.leave_out(option));
        let runtime = given.read(&["runtime"], |text| time_us(text, "s").filter(|us| *us > 0));
        let is_timed = given.is_on("time_based");
        let is_uniform = used().all(|sizes| *sizes == Sizes::one(block));
        if runtime.is_some() && !is_timed && !is_uniform {
            given.leave_out("runtime (a limit; the size decides)".into());
        }
        let calls = calls_on_file(&given, block, files, is_uniform).filter(|_| !is_timed);
        if is_timed && on_names.is_some() {
            given.leave_out("time_based".into());
        }
        let rates = Rates::given(&given, reads, writes, mean);
        let mix = given.read(&["rwmixwrite"], percent).map(|writes| 100 - writes);
        let mix = mix.or_else(|| given.read(&["rwmixread"], percent));
        let buffered = given.read(&["buffered"], switch);
        Job {
            name: place(name).1,
            clones: given.number("numjobs", 1).clamp(1, 1 << 16),
            waits: given.is_on("stonewall") || given.is_on("wait_for_previous"),
            folder,
            names,
            engine: engine.to_string(),
            on_names,
            depth: given.number("iodepth", 1),
            reads,
            writes,
            random,
            repeats_places: given.is_on("norandommap"),
            places: places.unwrap_or(Places::Even),
            data,
            mix: rates.mix.or(mix).unwrap_or(50),
            sizes,
            block,
            size,
            files,
            direct: given.is_on("direct") || buffered == Some(false),
            time_us: runtime.filter(|_| is_timed),
            limit_us: runtime.filter(|_| !is_timed),
            fsync: given.number("fsync", 0),
            fdatasync: given.number("fdatasync", 0),
            end_fsync: given.is_on("end_fsync") || given.is_on("fsync_on_close"),
            sync: given.read(&["sync"], sync_flag).unwrap_or(""),
            think_us: given.read(&["thinktime"], |text| time_us(text, "us")).unwrap_or(0),
            think_blocks: given.number("thinktime_blocks", 1),
            delay_us: given.read(&["startdelay"], |text| time_us(text, "s")).unwrap_or(0),
            loops: given.number("loops", 1).clamp(1, 1 << 20),
            calls,
            rate: rates.sum,
            keeps_cached: given.read(&["invalidate"], switch) == Some(false),
            overwrites: given.is_on("overwrite"),
            allocates: given.read(&["fallocate"], is_allocated).unwrap_or(true) && engine != "null",
            poisson: given.read(&["rate_process"], is_poisson).unwrap_or(false),
            left_out: given.left_out(),
        }
    }

    /// Several calls are in flight at a time.
    fn is_queued(&self) -> bool {
        let at_a_time = matches!(self.engine.as_str(), "mmap" | "null")
            || ONE_AT_A_TIME.contains(&self.engine.as_str());
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
        if let Some(on_names) = self.on_names {
            return self.program_on_names(page, on_names, in_group);
        }
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
        page.line(&self.list_of_names());
        let name = self.path(in_group);
        let each = self.each_file();
        if self.reads || self.overwrites {
            self.layout(page, &each, &name);
        } else if self.allocates {
            self.allocate(page, &each, &name);
        }
        let options = self.options();
        page.line(&options);
        page.line(if options.is_empty() { "" } else { "{" });
        if self.delay_us > 0 {
            page.line(&format!("sleep({});", time(self.delay_us)));
        }
        // With a runtime passes are counted by time.
        let loops = if self.loops > 1 && self.time_us.is_none() {
            format!("repeat {}", self.loops)
        } else {
            String::new()
        };
        page.line(&format!("time[\"{}\", sync] {loops} {each} {{", self.name));
        page.line(&format!("$h = fopen({name}, \"{}\");", self.flags()));
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
        let is_whole = self.time_us.is_none() && self.limit_us.is_none() && self.calls.is_none();
        self.is_uniform() && is_whole && !self.reads && !(self.random && by_chance)
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
                format!("size({name}) / $bs")
            }
        };
        page.line(&format!("time[\"{}-verify\", sync] {each} {{", self.name));
        page.line(&format!("$h = fopen({name}, \"O_RDONLY\");"));
        page.line(&format!("repeat $i {count} fread($h, $bs, $i * $bs);"));
        page.line("fclose($h); }");
    }

    /// The loop over the files, if there are several.
    fn each_file(&self) -> String {
        if self.files > 1 { format!("repeat $f {}", self.files) } else { String::new() }
    }

    /// The statement that lists the names of several files.
    fn list_of_names(&self) -> String {
        if self.names.len() < 2 {
            return String::new();
        }
        let names: Vec<String> = self.names.iter().map(|name| format!("\"{name}\"")).collect();
        format!("$names = [{}];", names.join(", "))
    }

    /// The path of a file of this rank, as an expression.
    fn path(&self, in_group: bool) -> String {
        let number = if self.files > 1 { ".$f" } else { "" };
        match (&self.names[..], in_group) {
            ([], true) => format!("\"{}.$$grank{number}\"", self.name),
            ([], false) => format!("\"{}.$$rank{number}\"", self.name),
            ([file], _) => format!("\"{file}{number}\""),
            _ => "$names[$f]".to_string(),
        }
    }

    /// The statements of a job that works on names.
    fn program_on_names(&self, page: &mut Page, on_names: &OnNames, in_group: bool) {
        page.line(&self.list_of_names());
        let (name, each) = (self.path(in_group), self.each_file());
        if let Some(before) = on_names.before {
            page.comment("what has to be there, outside of what is measured");
            page.line(&format!("{each} {before}({name});"));
        }
        page.line(&format!("time[\"{}\", sync] {each} {}({name});", self.name, on_names.operation));
    }

    /// Creates the files that have to be there, as fio does.
    fn layout(&self, page: &mut Page, each: &str, name: &str) {
        page.comment(match self.reads {
            true => "the files that are read, outside of what is measured",
            false => "the files that are overwritten, outside of what is measured",
        });
        // Of a direct job fio's files were never in the page cache.
        let way = match self.direct && self.size.is_multiple_of(4096) {
            true => "direct=true, transfer=1m",
            false => "fsync=\"close\"",
        };
        let with = with(&[vec![way.to_string()], self.data.options()].concat());
        self.once_for_each_file(page, &format!("{with} {each} write({name}, $size);"));
        if self.drops_cached() {
            page.comment("fio drops them from the page cache before it reads (invalidate=1)");
            let drop =
                format!("$h = fopen({name}, \"r\"); fadvise($h, 0, 0, \"dontneed\"); fclose($h);");
            page.line(&match each {
                "" => drop,
                each => format!("{each} {{ {drop} }}"),
            });
        }
    }

    /// Allocates files before they are written, as fio does by default.
    fn allocate(&self, page: &mut Page, each: &str, name: &str) {
        page.comment("fio allocates files before it writes them (fallocate=native); file systems may not be able to");
        self.once_for_each_file(
            page,
            &format!("with (expect=\"EOPNOTSUPP\") {each} allocate({name}, $size);"),
        );
    }

    /// A statement for each file: of all ranks if each has its own, else of one for all.
    fn once_for_each_file(&self, page: &mut Page, statement: &str) {
        match self.names.is_empty() {
            true => page.line(statement),
            false => page.line(&format!("master {statement} barrier;")),
        }
    }

    /// fio drops what it reads from the page cache.
    fn drops_cached(&self) -> bool {
        let reads_cached = !self.direct && self.engine != "mmap" && self.engine != "null";
        self.reads && reads_cached && !self.keeps_cached
    }

    fn options(&self) -> String {
        let mut options = Vec::new();
        if matches!(self.engine.as_str(), "mmap" | "null") {
            options.push(format!("engine=\"{}\"", self.engine));
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
        format!("{flags}{}", if self.writes { self.sync } else { "" })
    }

    fn transfers(&self, page: &mut Page) {
        let mut body = if self.is_uniform() { self.transfer() } else { self.transfers_of_sizes() };
        if !self.is_uniform() && self.has_passes() && self.drops_cached() {
            page.comment("fio drops the files before each pass, this before the first alone");
        }
        if self.writes {
            let syncs = every("fsync", self.fsync, 2).into_iter();
            let syncs = syncs.chain(every("fdatasync", self.fdatasync, 1));
            // fio's rate is that of reads and writes alone.
            let alone = if self.rate.is_some() { "with (rate=0) " } else { "" };
            body.extend(syncs.map(|sync| format!("{alone}{sync}")));
        }
        if self.think_us > 0 {
            let blocks = self.think_blocks;
            let when =
                if blocks > 1 { format!("if (($i + 1) % {blocks} == 0) ") } else { String::new() };
            body.push(format!("{when}sleep({}us);", self.think_us));
        }
        if !self.is_uniform() && !self.random {
            let kinds =
                [(self.reads, false), (self.writes, true)].into_iter().filter(|kind| kind.0);
            kinds.for_each(|kind| page.line(&format!("{} = 0;", self.position(kind.1))));
        }
        let head = match self.time_us {
            // More calls than can be made in the time.
            Some(us) => format!("repeat $i 1t until {}", self.time_of_file(us)),
            None if !self.is_uniform() => {
                let counts = body.iter().any(|line| line.contains("$i"));
                page.line(if counts { "$done = 0; $i = 0;" } else { "$done = 0;" });
                body.extend(counts.then(|| "$i = $i + 1;".to_string()));
                "while ($done < $size)".into()
            }
            None => {
                let calls = self.calls.map_or("$count".to_string(), |calls| calls.to_string());
                let until = self.limit_us.map(|us| format!(" until {}", self.time_of_file(us)));
                format!("repeat $i {calls}{}", until.unwrap_or_default())
            }
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

    /// The part of a time that each file has in each pass.
    fn time_of_file(&self, us: u64) -> String {
        let passes = if self.time_us.is_some() { 1 } else { self.loops };
        time((us / self.files / passes).max(1))
    }

    /// The statements of one call.
    fn transfer(&self) -> Vec<String> {
        let (mut body, block) = self.places.block();
        let again = self.time_us.is_some() || self.repeats_places || self.places.repeats();
        // More calls than the file has blocks begin with its first block again.
        let passes =
            self.time_us.is_some() || self.calls.is_some_and(|n| n > self.size / self.block);
        // Each process of a job has an order of its own.
        let order = if self.clones > 1 { ", $$rank" } else { "" };
        let place = match (self.random, passes) {
            (false, true) => "($i % $count) * $bs".to_string(),
            (false, false) => "$i * $bs".to_string(),
            (true, _) if again => format!("{block} * $bs"),
            (true, true) => format!("perm($i % $count, $count{order}) * $bs"),
            (true, false) => format!("perm($i, $count{order}) * $bs"),
        };
        if !self.random {
            body.clear();
        }
        body.extend(self.drop_before_pass());
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

    /// It goes through its files more than once.
    fn has_passes(&self) -> bool {
        self.time_us.is_some() || self.loops > 1
    }

    /// fio drops its files from the page cache before each pass through them.
    fn drop_before_pass(&self) -> Option<String> {
        let alone = if self.rate.is_some() { "with (rate=0) " } else { "" };
        let drop = format!("if ($i % $count == 0) {alone}fadvise($h, 0, 0, \"dontneed\");");
        (self.has_passes() && self.drops_cached()).then_some(drop)
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
        if self.time_us.is_none() {
            body.push(format!("$done = $done + {bytes};"));
        }
        body
    }
}

/// `with (verify=true)`, or nothing.
fn with(options: &[String]) -> String {
    if options.is_empty() { String::new() } else { format!("with ({})", options.join(", ")) }
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

/// The last value of an option, as it was written.
fn last<'s>(settings: &'s Settings, names: &[&str]) -> Option<&'s str> {
    let mut settings = settings.iter().rev();
    Some(settings.find(|setting| names.contains(&setting.0.as_str()))?.1.as_str())
}

/// Calls on each of the files, if `io_size` or `number_ios` say so. Calls of different sizes have no number.
fn calls_on_file(given: &Given<'_>, block: u64, files: u64, is_uniform: bool) -> Option<u64> {
    let read = |names: &[&str], unit: u64| {
        let calls = given.read(names, |text| {
            let number = size(text).filter(|number| *number > 0 && is_uniform)?;
            Some((number / unit / files).max(1))
        });
        calls.filter(|calls| *calls < 1 << 40)
    };
    let (bytes, calls) = (read(&["io_size", "io_limit"], block), read(&["number_ios"], 1));
    bytes.into_iter().chain(calls).min()
}

/// The folder of the files, and their names, if they are named.
fn named_files(given: &Given<'_>) -> (Option<String>, Vec<String>) {
    let below = |path: &str| place(&format!("{path}/x")).0.unwrap_or_default();
    let folder = given.text(&["directory"]).map(below);
    let places = given.read(&["filename"], |text| {
        let places: Vec<_> = split_names(text).iter().map(|name| place(name)).collect();
        // A run has one directory.
        let same = places.iter().all(|place| place.0 == places[0].0);
        (same && !places.is_empty()).then_some(places)
    });
    let places = places.unwrap_or_default();
    let folder = folder.or_else(|| places.first().and_then(|place| place.0.clone()));
    (folder, places.into_iter().map(|place| place.1).collect())
}

fn percent(text: &str) -> Option<u64> {
    text.parse::<u64>().ok().filter(|percent| *percent <= 100)
}

/// The flag for a value of `sync`.
fn sync_flag(text: &str) -> Option<&'static str> {
    match text {
        "0" | "none" => Some(""),
        "1" | "sync" => Some("|O_SYNC"),
        "dsync" => Some("|O_DSYNC"),
        _ => None,
    }
}

/// `fallocate=...`; other values reserve space in ways that no operation has.
fn is_allocated(text: &str) -> Option<bool> {
    match text {
        "native" | "posix" | "1" => Some(true),
        "none" | "0" => Some(false),
        _ => None,
    }
}

fn is_poisson(text: &str) -> Option<bool> {
    match text {
        "linear" => Some(false),
        "poisson" => Some(true),
        _ => None,
    }
}
