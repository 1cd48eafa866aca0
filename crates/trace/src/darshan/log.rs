//! Binary logs of Darshan, formats 3.00 to 3.41.
//!
//! ```text
//! header: "3.21", magic, compression, places of the regions ─▶ job, names, one region per module
//! module DXT_POSIX: file record (id, rank, host, counts) and its segments, again and again
//! ```
//!
//! Regions are compressed each for itself, of several streams one after the other. Layouts are facts of
//! darshan-log-format.h and darshan-dxt-log-format.h. Modules other than DXT hold counters: POSIX,
//! MPI-IO and STDIO become sums (`counters`), these, HDF5 and PnetCDF layers (`modules`), LUSTRE and HEATMAP
//! facts of their own (`beside`); others are counted, not read.

use super::counters::layout;
use super::modules::is_layer;
use super::segment::{Owner, Segment, nanoseconds};
use crate::gaps::{Gap, Gaps};
use crate::record::Record;
use crate::scanner::Scanner;
use crate::selection::Selection;
use crate::sums::Sums;
use hashbrown::{HashMap, HashSet};
use model::op::Class;
use model::run::{TraceJob, TraceJobModule, TraceMount, TraceMoved};
use rustc_hash::FxBuildHasher;
use std::io::{self, BufRead, BufReader, Read};
use std::ops::Range;
use std::rc::Rc;

const MAGIC: i64 = 6_567_223;
/// Largest log that is read: its regions lie anywhere in it.
const LOG_MAX: u64 = 1 << 32;
/// Names of all files together, bytes; jobs with a million files have a tenth.
const NAMES_MAX: u64 = 1 << 30;
const JOB_BYTES: u64 = 4096;
const BUFFER: usize = 1 << 16;
const VERSION_BYTES: u64 = 8;
const RANK_MAX: i64 = 1 << 24;
/// Modules of transfers one by one, and the last versions of their records that are read. The next ones have the
/// thread.
const DXT: [(&str, u32); 2] = [("DXT_POSIX", 1), ("DXT_MPIIO", 2)];
/// The module of the C library's streams.
const STDIO: &str = "STDIO";
/// Record of a file in a DXT module, and of a transfer.
const FILE_BYTES: usize = 104;
const SEGMENT_BYTES: usize = 32;

/// A region of the log.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Region {
    offset: u64,
    pub(crate) length: u64,
}

/// The header of a log.
#[derive(Clone, Debug, Default)]
pub(crate) struct Header {
    pub(crate) big_endian: bool,
    compression: u8,
    /// A bit per module that Darshan had no room for.
    partial: u64,
    length: u64,
    names: Region,
    modules: Vec<Region>,
    /// Versions of the modules' records.
    versions: Vec<u32>,
    format: (u64, u64),
}

/// Reads one log.
pub struct Binary {
    pub(crate) header: Header,
    pub(crate) log: Rc<Vec<u8>>,
    pub(crate) paths: HashMap<u64, Box<[u8]>, FxBuildHasher>,
    pub(crate) owner: Owner,
    pub(crate) job: TraceJob,
    /// Regions that are still to be read, the last one first, and whether they are of MPI-IO.
    layers: Vec<(bool, Region)>,
    reader: Option<(bool, BufReader<Box<dyn Read>>)>,
    /// Number of the file.
    file: u64,
    /// Transfers left of the file: writes, then reads.
    left: (u64, u64),
    segment: Option<Segment>,
    count: u64,
    traced: Traced,
    /// Bytes over time of transfers of MPI-IO that became those of POSIX.
    pub(crate) above: Option<TraceMoved>,
}

/// Number and bytes of transfers.
type Amount = (u64, u64);

/// Transfers that the log has one by one: by layer (MPI-IO or not), direction (writes or not) and file.
type Traced = HashMap<(bool, bool, u64), Amount, FxBuildHasher>;

fn add_amount(sum: &mut Amount, count: u64, bytes: u64) {
    *sum = (sum.0.saturating_add(count), sum.1.saturating_add(bytes));
}

impl Binary {
    /// Reads a log as a whole: up to 4 GiB of compressed bytes.
    ///
    /// # Errors
    /// It is damaged, or of another format.
    pub fn new(input: Box<dyn BufRead>) -> io::Result<Binary> {
        let (mut input, mut log) = (input.take(LOG_MAX), Vec::new());
        // What is no such log is not read as a whole.
        input.by_ref().take(VERSION_BYTES).read_to_end(&mut log)?;
        known_format(&log)?;
        input.read_to_end(&mut log)?;
        let log = Rc::new(log);
        let header = Header::read(&log)?;
        let mut owner = Owner::default();
        let job = header.job(&log, &mut owner)?;
        let paths = header.paths(&log)?;
        // DXT_POSIX comes first: it decides which transfers of MPI-IO are taken.
        let [posix, mpi_io] = header.dxt();
        let layers = vec![(true, mpi_io), (false, posix)];
        let (reader, left, segment, count) = (None, (0, 0), None, 0);
        let (file, traced) = (0, Traced::default());
        Ok(Binary {
            header,
            log,
            paths,
            owner,
            job,
            layers,
            reader,
            left,
            segment,
            count,
            file,
            traced,
            above: None,
        })
    }

    /// The next file record of the regions; false at their end.
    fn next_file(&mut self, gaps: &mut Gaps) -> io::Result<bool> {
        loop {
            if self.reader.is_none() {
                let Some((is_mpi, region)) = self.layers.pop() else { return Ok(false) };
                let region = self.header.open(&self.log, region)?;
                self.reader = Some((is_mpi, BufReader::with_capacity(BUFFER, region)));
            }
            let Some((is_mpi, reader)) = &mut self.reader else { return Ok(false) };
            let mut record = [0; FILE_BYTES];
            if !fill(reader, &mut record)? {
                self.reader = None;
                continue;
            }
            let is_mpi = *is_mpi;
            self.take_file(is_mpi, &record, gaps)?;
            return Ok(true);
        }
    }

    fn take_file(&mut self, is_mpi: bool, record: &[u8], gaps: &mut Gaps) -> io::Result<()> {
        let fields = Fields { bytes: record, big_endian: self.header.big_endian };
        let (id, rank) = (fields.u64(0), fields.u64(8) as i64);
        let counts = (fields.u64(88), fields.u64(96));
        if !(0..=RANK_MAX).contains(&rank) || counts.0.checked_add(counts.1).is_none() {
            return Err(damaged("a file record with an impossible rank or count"));
        }
        let host = &record[24..88];
        let end = host.iter().position(|byte| *byte == 0).unwrap_or(host.len());
        self.owner.host = host[..end].to_vec();
        self.owner.rank = rank as u64;
        self.owner.path = match self.paths.get(&id) {
            Some(path) => path.to_vec(),
            None => format!("record-{id}").into_bytes(),
        };
        (self.file, self.left) = (id, counts);
        if self.header.is_partial(if is_mpi { "DXT_MPIIO" } else { "DXT_POSIX" }) {
            gaps.add(Gap::Partial);
        }
        if counts != (0, 0) && !(is_mpi && self.owner.is_covered()) {
            self.owner.file(is_mpi, gaps);
        }
        Ok(())
    }

    fn next_segment(&mut self) -> io::Result<Segment> {
        let cut = || damaged("the transfers of a file end in the middle");
        let (is_mpi, reader) = self.reader.as_mut().ok_or_else(cut)?;
        // Mostly it is in memory as a whole: there are millions of them.
        let whole = reader.buffer().first_chunk().copied();
        let mut record = whole.unwrap_or([0; SEGMENT_BYTES]);
        match whole {
            Some(_) => reader.consume(SEGMENT_BYTES),
            None if !fill(reader, &mut record)? => return Err(cut()),
            None => {}
        }
        let fields = Fields { bytes: &record, big_endian: self.header.big_endian };
        let writes = self.left.0 > 0;
        let left = if writes { &mut self.left.0 } else { &mut self.left.1 };
        *left -= 1;
        let time = |at| nanoseconds(f64::from_bits(fields.u64(at)));
        let bytes = u64::try_from(fields.u64(8) as i64).unwrap_or(0);
        let (offset, span_ns) = (fields.u64(0) as i64, (time(16), time(24)));
        add_amount(self.traced.entry((*is_mpi, writes, self.file)).or_default(), 1, bytes);
        Ok(Segment { is_mpi: *is_mpi, writes, offset, bytes, span_ns })
    }
}

impl Scanner for Binary {
    fn advance(&mut self, gaps: &mut Gaps) -> io::Result<Option<u64>> {
        self.count += 1;
        if self.count == 1 {
            self.header.count_other_modules(gaps);
            // The job is known even if no call of it is.
            return Ok(Some(self.owner.start_ns));
        }
        if self.left == (0, 0) {
            self.segment = None;
            let more = self.next_file(gaps)?;
            return Ok(more.then_some(self.owner.start_ns));
        }
        let segment = self.next_segment()?;
        self.segment = Some(segment);
        Ok(Some(self.owner.start_ns.saturating_add(segment.span_ns.0)))
    }

    fn record(&mut self, gaps: &mut Gaps) -> Option<Record<'_>> {
        let Some(segment) = self.segment else { return Some(self.owner.introduction(0)) };
        if segment.is_mpi && self.owner.is_covered() {
            gaps.add_bytes(Gap::Layers, segment.bytes);
            self.add_above(&segment);
            return None;
        }
        Some(self.owner.record(0, &segment))
    }

    fn count(&self) -> u64 {
        self.count.saturating_sub(2)
    }

    fn job(&self) -> Option<TraceJob> {
        Some(self.job.clone())
    }

    fn sums(&mut self, which: &Selection, sums: &mut Sums, gaps: &mut Gaps) -> io::Result<()> {
        let mut posix = HashSet::default();
        let [dxt_posix, dxt_mpi_io] = self.header.dxt().map(|region| region.length > 0);
        for (module, has_events) in [("POSIX", dxt_posix), ("MPI-IO", dxt_mpi_io), (STDIO, false)] {
            self.sums_of(module, has_events, which, &mut posix, sums, gaps)?;
        }
        self.layers(which, &mut sums.layers)?;
        self.layouts(which, &mut sums.layouts, gaps)?;
        // Where the transfers are there one by one, they tell more.
        sums.moved.extend(self.above.take());
        if dxt_posix { Ok(()) } else { self.moved(&mut sums.moved) }
    }
}

/// Files by number.
pub(crate) type Files = HashSet<u64, FxBuildHasher>;

impl Binary {
    /// Adds the counters of a module. `has_events`: its transfers are in the log one by one.
    fn sums_of(
        &self,
        module: &str,
        has_events: bool,
        which: &Selection,
        posix: &mut Files,
        sums: &mut Sums,
        gaps: &mut Gaps,
    ) -> io::Result<()> {
        let (region, version) = self.header.named(module);
        let Some(layout) = layout(module, version) else { return Ok(()) };
        let mut reader = self.header.open(&self.log, region)?;
        let mut record = vec![0; layout.bytes()];
        let label = self.label(module);
        let mut counted = Traced::default();
        while fill(&mut reader, &mut record)? {
            let fields = Fields { bytes: &record, big_endian: self.header.big_endian };
            let (id, rank) = (fields.u64(0), u32::try_from(fields.u64(8)).ok());
            let is_covered = module == "MPI-IO" && posix.contains(&id);
            if module == "POSIX" {
                posix.insert(id);
            }
            if !self.paths.get(&id).is_none_or(|path| which.keeps(path)) {
                continue;
            }
            // Times of MPI-IO calls include the POSIX calls below them.
            if !is_covered {
                sums.add_times(&label, layout.kind_times(|at| fields.u64(at)));
            }
            for count in layout.counts {
                let sum = count.sum(&layout, |at| fields.u64(at));
                let moves = matches!(count.op.row().class, Class::Read | Class::Write);
                if moves && is_covered && !has_events {
                    (0..sum.count.min(1)).for_each(|_| gaps.add_bytes(Gap::Layers, sum.bytes));
                } else if !(moves && has_events) {
                    sums.add(&label, count.op, rank, &sum);
                } else if !is_covered {
                    let of = (module == "MPI-IO", count.op.row().class == Class::Write, id);
                    add_amount(counted.entry(of).or_default(), sum.count, sum.bytes);
                }
            }
        }
        self.count_untraced(&counted, gaps);
        Ok(())
    }

    /// Counts the transfers that only the counters have: Darshan traces as long as it has memory.
    fn count_untraced(&self, counted: &Traced, gaps: &mut Gaps) {
        for (of, (count, bytes)) in counted {
            let traced = self.traced.get(of).copied().unwrap_or_default();
            let count = count.saturating_sub(traced.0);
            if count > 0 {
                gaps.add_amount(Gap::Untraced, count, bytes.saturating_sub(traced.1));
            }
        }
    }

    /// Sums of POSIX and MPI-IO have the label of the program's events, sums of streams their own.
    fn label(&self, module: &str) -> String {
        let command = &self.owner.command;
        let name = command.rsplit(|byte| *byte == b'/').next().unwrap_or(command);
        let name = String::from_utf8_lossy(name);
        match module {
            STDIO if name.is_empty() => "stdio".into(),
            STDIO => format!("{name}/stdio"),
            _ => name.into_owned(),
        }
    }
}

/// The text behind the job: `command` and arguments, then a line `type<tab>mount point` for each file system.
fn command_and_mounts(text: &[u8]) -> (String, Vec<TraceMount>) {
    let end = memchr::memchr(0, text).unwrap_or(text.len());
    let text = String::from_utf8_lossy(&text[..end]);
    let mut lines = text.split('\n');
    let command = lines.next().unwrap_or_default().to_string();
    let mount = |line: &str| {
        let (kind, path) = line.split_once('\t')?;
        Some(TraceMount { path: path.into(), kind: kind.into() })
    };
    (command, lines.filter_map(mount).collect())
}

/// Of lines `name=value` the one with the library's version.
fn library(metadata: &[u8]) -> String {
    let end = memchr::memchr(0, metadata).unwrap_or(metadata.len());
    let text = String::from_utf8_lossy(&metadata[..end]);
    let version = text.lines().find_map(|line| line.strip_prefix("lib_ver="));
    version.unwrap_or_default().to_string()
}

/// Its version, at the log's beginning.
fn known_format(log: &[u8]) -> io::Result<(u64, u64)> {
    format_of(log).ok_or_else(|| damaged("no version of Darshan 3 at its beginning"))
}

impl Header {
    fn read(log: &[u8]) -> io::Result<Header> {
        let format = known_format(log)?;
        let place = log.get(8..16).ok_or_else(|| damaged("it ends in its header"))?;
        let big_endian = place == MAGIC.to_be_bytes();
        if !big_endian && place != MAGIC.to_le_bytes() {
            return Err(damaged("the magic number of Darshan is missing"));
        }
        // Format 3.41 has room for more modules and a wider flag.
        let wide = format >= (3, 41);
        let (count, names) = if wide { (64, 32) } else { (16, 24) };
        let length = names + 16 + count * 20;
        let bytes = log.get(..length).ok_or_else(|| damaged("it ends in its header"))?;
        let fields = Fields { bytes, big_endian };
        let region = |at| Region { offset: fields.u64(at), length: fields.u64(at + 8) };
        let modules = (0..count).map(|module| region(names + 16 + module * 16)).collect();
        let version = |module| fields.u32(names + 16 + count * 16 + module * 4);
        let versions = (0..count).map(version).collect();
        let flags = if wide { fields.u64(24) } else { fields.u32(20).into() };
        Ok(Header {
            big_endian,
            compression: bytes[16],
            partial: flags,
            length: length as u64,
            names: region(names),
            modules,
            versions,
            format,
        })
    }

    /// Names of the modules. Format 3.20 has one more of HDF5, 3.41 one more of PnetCDF.
    fn names(&self) -> impl Iterator<Item = &'static str> {
        names(self.format).split(' ')
    }

    /// Regions of the modules DXT_POSIX and DXT_MPIIO, if their records are of a version that is read.
    fn dxt(&self) -> [Region; 2] {
        DXT.map(|(name, last)| {
            let (region, version) = self.named(name);
            if version <= last { region } else { Region::default() }
        })
    }

    /// Region and version of a module; of one that the format does not have nothing, in no version.
    pub(crate) fn named(&self, name: &str) -> (Region, u32) {
        let place = self.names().position(|known| known == name);
        place.map_or((Region::default(), 0), |at| (self.modules[at], self.versions[at]))
    }

    /// Counts modules that hold counters instead of events: modules that become sums, and others.
    /// Modules of [`super::beside`] are reported, or have less detail than events.
    fn count_other_modules(&self, gaps: &mut Gaps) {
        for place in (0..self.modules.len()).filter(|place| self.modules[*place].length > 0) {
            let name = self.names().nth(place).unwrap_or("others");
            let version = self.versions[place];
            let dxt = DXT.iter().find(|row| row.0 == name);
            if self.has_bit(place) && dxt.is_none() {
                gaps.add_name(Gap::PartialModules, name.as_bytes());
            }
            if dxt.is_some_and(|row| version > row.1) {
                gaps.add_name(Gap::LaterModules, format!("{name} (version {version})").as_bytes());
            }
            if dxt.is_some() || matches!((name, version), ("LUSTRE" | "HEATMAP", 1)) {
                continue;
            }
            match layout(name, version) {
                Some(_) => gaps.add_name(Gap::Sums, name.as_bytes()),
                None if is_layer(name, version) => {}
                None => gaps.add_name(Gap::Aggregated, name.as_bytes()),
            }
        }
    }

    /// Darshan had no room for all records of the module.
    pub(crate) fn is_partial(&self, module: &str) -> bool {
        self.names().position(|known| known == module).is_some_and(|at| self.has_bit(at))
    }

    fn has_bit(&self, place: usize) -> bool {
        place < 64 && self.partial >> place & 1 == 1
    }

    /// Modules with a region.
    fn listed(&self) -> Vec<TraceJobModule> {
        let present = (0..self.modules.len()).filter(|place| self.modules[*place].length > 0);
        let module = |place: usize| TraceJobModule {
            name: self.names().nth(place).map_or_else(|| format!("module {place}"), String::from),
            version: self.versions[place],
            is_partial: self.has_bit(place),
        };
        present.map(module).collect()
    }

    fn job(&self, log: &Rc<Vec<u8>>, owner: &mut Owner) -> io::Result<TraceJob> {
        let length = self.names.offset.saturating_sub(self.length);
        let region = Region { offset: self.length, length };
        let mut bytes = Vec::new();
        self.open(log, region)?.take(JOB_BYTES).read_to_end(&mut bytes)?;
        // Format 3.41 has nanoseconds beside the seconds.
        let wide = self.format >= (3, 41);
        let head = if wide { 56 } else { 40 };
        if bytes.len() < head + 1024 {
            return Err(damaged("the description of the job is too short"));
        }
        let fields = Fields { bytes: &bytes, big_endian: self.big_endian };
        let ns = if wide { fields.u64(16).min(999_999_999) } else { 0 };
        owner.start_ns = fields.u64(8).saturating_mul(1_000_000_000).saturating_add(ns);
        let ranks = fields.u64(if wide { 40 } else { 24 });
        owner.ranks = if ranks <= RANK_MAX as u64 { ranks as u32 } else { 0 };
        let command = &bytes[head + 1024..];
        let end = command.iter().position(|byte| matches!(byte, b' ' | b'\n' | 0));
        owner.command = command[..end.unwrap_or(command.len())].to_vec();
        let (end_at, ranks_at, job_at) = if wide { (24, 40, 48) } else { (16, 24, 32) };
        let end_ns = if wide { fields.u64(32).min(999_999_999) } else { 0 };
        let end_ns = fields.u64(end_at).saturating_mul(1_000_000_000).saturating_add(end_ns);
        let run_ns = end_ns.saturating_sub(owner.start_ns);
        let (command, mounts) = command_and_mounts(command);
        Ok(TraceJob {
            job: fields.u64(job_at) as i64,
            uid: fields.u64(0) as i64,
            processes: fields.u64(ranks_at),
            start_ns: owner.start_ns,
            end_ns,
            run_ns: if wide { run_ns } else { run_ns.saturating_add(1_000_000_000) },
            command,
            format: format!("{}.{:02}", self.format.0, self.format.1),
            library: library(&bytes[head..head + 1024]),
            mounts,
            modules: self.listed(),
        })
    }

    /// Paths by number. Format 3.00 has their length before them.
    fn paths(&self, log: &Rc<Vec<u8>>) -> io::Result<HashMap<u64, Box<[u8]>, FxBuildHasher>> {
        let mut bytes = Vec::new();
        self.open(log, self.names)?.take(NAMES_MAX).read_to_end(&mut bytes)?;
        let mut paths = HashMap::default();
        let mut rest = &bytes[..];
        while rest.len() > 8 {
            let fields = Fields { bytes: rest, big_endian: self.big_endian };
            let id = fields.u64(0);
            let (start, end) = match self.format {
                (3, 0) if rest.len() >= 12 => (12, (fields.u32(8) as usize).saturating_add(12)),
                _ => (8, memchr::memchr(0, &rest[8..]).map_or(rest.len(), |at| 8 + at)),
            };
            let path = rest.get(start..end).ok_or_else(|| damaged("a name is too long"))?;
            paths.insert(id, path.into());
            let used = if self.format == (3, 0) { end } else { end + 1 };
            rest = rest.get(used..).unwrap_or_default();
        }
        Ok(paths)
    }

    /// A region without its compression.
    pub(crate) fn open(&self, log: &Rc<Vec<u8>>, region: Region) -> io::Result<Box<dyn Read>> {
        let part = Part::of(log, region).ok_or_else(|| damaged("a region lies behind its end"))?;
        let bytes = io::Cursor::new(part);
        Ok(match self.compression {
            _ if region.length == 0 => Box::new(io::empty()),
            0 => Box::new(Streams { bytes: Some(bytes), stream: None }),
            1 => Box::new(bzip2::bufread::MultiBzDecoder::new(bytes)),
            2 => Box::new(bytes),
            _ => return Err(damaged("its compression is unknown")),
        })
    }
}

/// A region's bytes where they are: the log is held in memory once.
struct Part {
    log: Rc<Vec<u8>>,
    range: Range<usize>,
}

impl Part {
    fn of(log: &Rc<Vec<u8>>, region: Region) -> Option<Part> {
        let end = usize::try_from(region.offset.checked_add(region.length)?).ok()?;
        let range = region.offset as usize..end;
        log.get(range.clone())?;
        Some(Part { log: log.clone(), range })
    }
}

impl AsRef<[u8]> for Part {
    fn as_ref(&self) -> &[u8] {
        &self.log[self.range.clone()]
    }
}

/// Streams of zlib one after the other, as one.
struct Streams {
    bytes: Option<io::Cursor<Part>>,
    stream: Option<flate2::bufread::ZlibDecoder<io::Cursor<Part>>>,
}

impl Read for Streams {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(stream) = &mut self.stream {
                let read = stream.read(buffer)?;
                if read > 0 || buffer.is_empty() {
                    return Ok(read);
                }
                self.bytes = self.stream.take().map(flate2::bufread::ZlibDecoder::into_inner);
            }
            match self.bytes.take() {
                Some(bytes) if bytes.position() < bytes.get_ref().range.len() as u64 => {
                    self.stream = Some(flate2::bufread::ZlibDecoder::new(bytes));
                }
                _ => return Ok(0),
            }
        }
    }
}

/// Numbers at places of a record that is long enough.
pub(crate) struct Fields<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) big_endian: bool,
}

impl Fields<'_> {
    pub(crate) fn u64(&self, at: usize) -> u64 {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&self.bytes[at..at + 8]);
        if self.big_endian { u64::from_be_bytes(bytes) } else { u64::from_le_bytes(bytes) }
    }

    fn u32(&self, at: usize) -> u32 {
        let mut bytes = [0; 4];
        bytes.copy_from_slice(&self.bytes[at..at + 4]);
        if self.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    }
}

/// Fills a record; false if there is none left.
pub(crate) fn fill(reader: &mut (impl Read + ?Sized), record: &mut [u8]) -> io::Result<bool> {
    let mut filled = 0;
    while filled < record.len() {
        match reader.read(&mut record[filled..])? {
            0 if filled == 0 => return Ok(false),
            0 => return Err(damaged("a region ends in the middle of a record")),
            read => filled += read,
        }
    }
    Ok(true)
}

pub(crate) fn damaged(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("it is no whole log of Darshan ({why})"))
}

/// Names of the modules in a format, with blanks between them.
pub(crate) fn names(format: (u64, u64)) -> &'static str {
    if format >= (3, 41) {
        "NULL POSIX MPI-IO H5F H5D PNETCDF_FILE PNETCDF_VAR BG/Q LUSTRE STDIO DXT_POSIX DXT_MPIIO MDHIM APXC \
         APMPI HEATMAP DFS DAOS"
    } else if format >= (3, 20) {
        "NULL POSIX MPI-IO H5F H5D PNETCDF BG/Q LUSTRE STDIO DXT_POSIX DXT_MPIIO MDHIM APXC APMPI HEATMAP"
    } else {
        "NULL POSIX MPI-IO HDF5 PNETCDF BG/Q LUSTRE STDIO DXT_POSIX DXT_MPIIO"
    }
}

/// `3.21` as (3, 21).
fn format_of(log: &[u8]) -> Option<(u64, u64)> {
    let text = log.get(..8)?;
    let end = text.iter().position(|byte| *byte == 0)?;
    let (major, minor) = std::str::from_utf8(&text[..end]).ok()?.split_once('.')?;
    let format = (major.parse().ok()?, minor.parse().ok()?);
    (format.0 == 3).then_some(format)
}

/// The log begins like a binary one of Darshan 2.
pub fn looks_like_old_log(beginning: &[u8]) -> bool {
    beginning.starts_with(b"2.") && has_magic(beginning)
}

/// The log begins like a binary one of Darshan 3.
pub fn looks_like_log(beginning: &[u8]) -> bool {
    has_magic(beginning) && format_of(beginning).is_some()
}

fn has_magic(beginning: &[u8]) -> bool {
    let is_magic = |bytes: &[u8]| bytes == MAGIC.to_le_bytes() || bytes == MAGIC.to_be_bytes();
    beginning.get(8..16).is_some_and(is_magic)
}
