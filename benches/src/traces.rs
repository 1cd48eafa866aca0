//! Speed of importing generated logs: from their bytes to sorted, labelled events; beside it the same
//! bytes read and cut into lines, which no import can do without.

use crate::Result;
use crate::figure::{Figure, Goal, median, range, three};
use crate::language::processor_s;
use crate::product::Scratch;
use std::fs;
use std::hint::black_box;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;
use trace::{Options, Selection, import};

const LINES: u64 = 2_000_000;
const FILES: u64 = 1000;
/// Ranks of the log of Darshan, files of each, and transfers of each file.
const RANKS: u64 = 64;
const RANK_FILES: u64 = 4;
const SEGMENTS: u64 = 16_384;
const RUNS: usize = 5;

/// A log: what figures call it, how it is written, its events, the goal in millions per second.
type Log = (&'static str, fn(&Path) -> Result<()>, u64, Goal);

const LOGS: &[Log] = &[
    ("import strace, 2 * 10^6 lines of 1,000 files", strace, LINES, Goal::AtLeast(1.0)),
    (
        "import DXT, binary, 4 * 10^6 segments",
        dxt,
        RANKS * RANK_FILES * SEGMENTS,
        Goal::AtLeast(5.0),
    ),
    ("import DXT, text, 2 * 10^6 lines", dxt_text, LINES, Goal::None),
    ("import fio's iolog, 2 * 10^6 lines", iolog, LINES, Goal::None),
    ("import Recorder, text, 2 * 10^6 lines", recorder, LINES, Goal::None),
    ("import DFTracer, 2 * 10^6 lines", dftracer, LINES, Goal::None),
    ("import blkparse, 2 * 10^6 requests", blkparse, LINES, Goal::None),
];

/// Million events per second of processor time.
pub fn traces(place: &Scratch) -> Result<Vec<Figure>> {
    LOGS.iter().map(|log| figure(place, log)).collect()
}

fn figure(place: &Scratch, (name, write, events, goal): &Log) -> Result<Figure> {
    let file = place.path().join("generated.log");
    write(&file)?;
    let (mut raw, mut rates) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        raw.push(per_second(*events, || looked_through(&file))?);
        rates.push(per_second(*events, || imported(&file, *events))?);
    }
    fs::remove_file(&file)?;
    let ratio = median(&rates) / median(&raw);
    Ok(Figure {
        name: (*name).into(),
        raw: format!("{} M/s", three(median(&raw))),
        product: format!("{} M/s, {} of raw", three(median(&rates)), three(ratio)),
        result: median(&rates),
        range: Some(range(&rates)),
        unit: " M/s",
        goal: *goal,
    })
}

/// Millions per second of processor time.
fn per_second(events: u64, work: impl Fn() -> Result<()>) -> Result<f64> {
    let start_s = processor_s()?;
    work()?;
    Ok(events as f64 / 1e6 / (processor_s()? - start_s))
}

/// Reads a file and finds the ends of its lines.
fn looked_through(file: &Path) -> Result<()> {
    let mut input = BufReader::with_capacity(1 << 16, fs::File::open(file)?);
    loop {
        let bytes = input.fill_buf()?;
        if bytes.is_empty() {
            return Ok(());
        }
        black_box(memchr::memchr_iter(b'\n', bytes).fold(0, |last, at| last ^ at));
        let used = bytes.len();
        input.consume(used);
    }
}

fn imported(file: &Path, expected: u64) -> Result<()> {
    let options = Options { format: None, which: Selection::All };
    let imported = import(&[file.into()], &options)?;
    let mut events = 0;
    for event in imported.events {
        event?;
        events += 1;
    }
    if events != expected {
        return Err(format!("{events} events of {expected}").into());
    }
    Ok(())
}

/// Opens, then reads with offsets, writes, questions for attributes and seeks in turn.
fn strace(file: &Path) -> Result<()> {
    let mut out = BufWriter::new(fs::File::create(file)?);
    for line in 0..LINES {
        let (file, us) = (line % FILES, line * 30);
        let (fd, path) = (file + 3, format!("/data/dir{}/file-{file}", file % 10));
        let offset = line * 512;
        let call = match line / FILES {
            0 => {
                format!("openat(AT_FDCWD</data>, \"{path}\", O_RDWR|O_CREAT, 0644) = {fd}<{path}>")
            }
            turn => match turn % 4 {
                0 => format!("pread64({fd}<{path}>, \"\"..., 4096, {offset}) = 4096"),
                1 => format!("write({fd}<{path}>, \"\"..., 8192) = 8192"),
                2 => format!(
                    "newfstatat(AT_FDCWD</data>, \"{path}\", {{st_mode=S_IFREG|0644, st_size=8192, ...}}, 0) = 0"
                ),
                _ => format!("lseek({fd}<{path}>, {offset}, SEEK_SET) = {offset}"),
            },
        };
        let (second, us) = (1_795_253_061 + us / 1_000_000, us % 1_000_000);
        writeln!(out, "17367 {second}.{us:06} {call} <0.000012>")?;
    }
    Ok(out.flush()?)
}

/// Log of format 3.21 without compression: header, job, names, and one region of DXT_POSIX.
fn dxt(file: &Path) -> Result<()> {
    const HEADER: usize = 24 + 16 + 16 * 20;
    const JOB: usize = 40 + 1024 + 64;
    const DXT_POSIX: usize = 9;
    let mut names = Vec::new();
    for number in 0..RANKS * RANK_FILES {
        names.extend((number + 1).to_le_bytes());
        names.extend(format!("/data/dir{}/file-{number}\0", number % 10).as_bytes());
    }
    let region_at = HEADER + JOB + names.len();
    let length = RANKS * RANK_FILES * (104 + 32 * SEGMENTS);
    let mut head = b"3.21\0\0\0\0".to_vec();
    head.extend(6_567_223_u64.to_le_bytes());
    head.extend([2, 0, 0, 0, 0, 0, 0, 0]);
    head.extend([(HEADER + JOB) as u64, names.len() as u64].map(u64::to_le_bytes).concat());
    let place = head.len() + 16 * DXT_POSIX;
    head.resize(HEADER, 0);
    let region = [region_at as u64, length].map(u64::to_le_bytes).concat();
    head[place..place + 16].copy_from_slice(&region);
    let mut out = BufWriter::new(fs::File::create(file)?);
    out.write_all(&head)?;
    let mut job = [7, 1_795_253_061, 1_795_253_071, RANKS, 1].map(u64::to_le_bytes).concat();
    job.resize(40 + 1024, 0);
    job.extend(b"/bin/app");
    job.resize(JOB, 0);
    out.write_all(&job)?;
    out.write_all(&names)?;
    for number in 0..RANKS * RANK_FILES {
        let mut record = [number + 1, number / RANK_FILES, 0].map(u64::to_le_bytes).concat();
        record.extend(format!("{:\0<64}", format!("node{}", number / 16)).as_bytes());
        record.extend([SEGMENTS / 2, SEGMENTS / 2].map(u64::to_le_bytes).concat());
        out.write_all(&record)?;
        for segment in 0..SEGMENTS {
            let start_s = (number % RANK_FILES) as f64 + segment as f64 * 5e-5;
            let times = [start_s, start_s + 2e-5].map(f64::to_le_bytes).concat();
            out.write_all(&[segment * 65_536, 65_536].map(u64::to_le_bytes).concat())?;
            out.write_all(&times)?;
        }
    }
    Ok(out.flush()?)
}

/// Writes `head` and a line per number.
fn lines(file: &Path, head: &str, line: impl Fn(u64) -> String) -> Result<()> {
    let mut out = BufWriter::new(fs::File::create(file)?);
    out.write_all(head.as_bytes())?;
    for number in 0..LINES {
        writeln!(out, "{}", line(number))?;
    }
    Ok(out.flush()?)
}

fn dxt_text(file: &Path) -> Result<()> {
    let head = "# darshan log version: 3.21\n# exe: /bin/app\n# nprocs: 1\n# start_time: 1795253061\n\
                # DXT, file_id: 1, file_name: /data/file\n# DXT, rank: 0, hostname: node0\n";
    lines(file, head, |n| {
        let (verb, offset, start_s) = (["read", "write"][n as usize % 2], n * 4096, n as f64 / 1e4);
        format!(" X_POSIX 0 {verb} {n} {offset} 4096 {start_s:.4} {:.4}", start_s + 1e-4)
    })
}

fn iolog(file: &Path) -> Result<()> {
    lines(file, "fio version 3 iolog\n", |n| {
        let verb = ["read", "write"][n as usize % 2];
        format!("{} /data/file-{} {verb} {} 4096", n * 30, n % FILES, n * 512)
    })
}

fn recorder(file: &Path) -> Result<()> {
    lines(file, "", |n| {
        let (function, start_s) = (["pread", "pwrite"][n as usize % 2], n as f64 * 3e-5);
        let (end_s, name) = (start_s + 1e-5, n % FILES);
        format!("{start_s:.6} {end_s:.6} {function} 0 0 ( /data/file-{name} %p 4096 {} )", n * 512)
    })
}

fn dftracer(file: &Path) -> Result<()> {
    let hash = |n: u64| {
        format!(
            r#"{{"id":{n},"name":"FH","cat":"dftracer","pid":7,"tid":7,"ph":"M","args":{{"name":"/data/file-{n}","value":"{n:x}"}}}}"#
        )
    };
    let head: String = (0..FILES).map(|n| hash(n) + "\n").collect();
    lines(file, &format!("[\n{head}"), |n| {
        let (name, hash) = (["pread", "pwrite"][n as usize % 2], n % FILES);
        format!(
            r#"{{"id":{n},"name":"{name}","cat":"POSIX","pid":7,"tid":7,"ts":{},"dur":12,"ph":"X","args":{{"fhash":"{hash:x}","count":4096,"offset":{},"ret":4096}}}}"#,
            n * 30,
            n * 512
        )
    })
}

fn blkparse(file: &Path) -> Result<()> {
    lines(file, "", |n| {
        let (second, ns) = (n * 30_000 / 1_000_000_000, n * 30_000 % 1_000_000_000);
        let kind = ["R", "W"][n as usize % 2];
        let line = |action: &str, ns: u64| {
            format!("8,0 3 {n} {second}.{ns:09} 697 {action} {kind} {} + 8 [app]", n * 8)
        };
        format!("{}\n{}\n{}", line("Q", ns), line("D", ns + 1000), line("C", ns + 9000))
    })
}
