//! The same work beside fio, in turns: calls per second, and processor time per call. Random reads of
//! 4 KiB with O_DIRECT through io_uring at several depths, on the disk that holds the binaries, and
//! random reads and writes of 4 KiB by pread and pwrite (fio's psync) in memory.

use crate::Result;
use crate::figure::{Figure, Goal, median, range, three};
use crate::product::Scratch;
use serde_json::Value;
use std::path::Path;
use std::process::Command;

const DEPTHS: [u32; 4] = [1, 8, 32, 128];
/// Pairs that count; one more goes before them.
const PAIRS: usize = 5;
const SECONDS: u32 = 2;
/// Blocks of the file: 256 MiB.
const BLOCKS: u64 = 65_536;
/// What a run measures lies in this file.
const FILE: &str = "file";

/// What one run gave.
#[derive(Clone, Copy)]
struct Speed {
    calls_per_s: f64,
    cpu_ns_per_call: f64,
}

/// Work that both sides can do.
struct Work {
    name: String,
    /// Further words for fio.
    fio: Vec<String>,
    /// Our program.
    program: String,
    /// Our calls per second divided by fio's.
    goal: Goal,
}

/// Through io_uring, at each depth.
pub fn uring(place: &Scratch) -> Result<Vec<Figure>> {
    let binary = place.own_binary();
    let disk = tempfile::Builder::new()
        .prefix("parabench-bench-")
        .tempdir_in(binary.parent().ok_or("this binary lies in no directory")?)?;
    beside(place, &disk.path().join("run"), DEPTHS.map(deep))
}

fn deep(depth: u32) -> Work {
    let words = ["--rw=randread", "--direct=1", "--ioengine=io_uring", "--fixedbufs"];
    let options = format!("engine=\"uring\", depth={depth}, direct=true");
    Work {
        name: format!("io_uring, O_DIRECT at depth {depth}"),
        fio: [&words[..], &["--registerfiles", &format!("--iodepth={depth}")]]
            .concat()
            .iter()
            .map(ToString::to_string)
            .collect(),
        program: program(&options, "r", "fread"),
        goal: Goal::AtLeast(1.0),
    }
}

/// By pread and pwrite. fio writes one block again and again, with another start each time; with
/// `refill_buffers` its data never repeat, as ours never do.
pub fn psync(place: &Scratch) -> Result<Vec<Figure>> {
    let work = |(name, words, mode, operation): (&str, &[&str], &str, &str)| Work {
        name: format!("{name} 4 KiB at random places"),
        fio: words.iter().map(ToString::to_string).collect(),
        program: program("", mode, operation),
        goal: Goal::AtLeast(1.05),
    };
    let write = ["--ioengine=psync", "--rw=randwrite", "--refill_buffers"];
    let all = [
        ("pread", &["--ioengine=psync", "--rw=randread"][..], "r", "fread"),
        ("pwrite", &write[..2], "r+", "fwrite"),
        ("refill_buffers, pwrite", &write, "r+", "fwrite"),
    ];
    beside(place, &place.path().join("run"), all.map(work))
}

fn program(options: &str, mode: &str, operation: &str) -> String {
    format!(
        "with ({options}) {{ $h = fopen(\"{FILE}\", \"{mode}\"); \
         time[\"t\"] repeat 1t until {SECONDS}s {operation}($h, 4k, rand(0, {}) * 4k); fclose($h); }}",
        BLOCKS - 1
    )
}

/// Rates of Parabench divided by those of fio, and the same of processor time.
fn beside(
    place: &Scratch,
    directory: &Path,
    all: impl IntoIterator<Item = Work>,
) -> Result<Vec<Figure>> {
    let text = directory.to_string_lossy().into_owned();
    let file = format!("with (fsync=\"close\") write(\"{FILE}\", {});", BLOCKS * 4096);
    place.run(&file, &["--dir", &text])?;
    let mut figures = Vec::new();
    for work in all {
        let (mut theirs, mut ours) = (Vec::new(), Vec::new());
        for pair in 0..=PAIRS {
            let peer = fio(directory, &work)?;
            let own = parabench(place, &text, &work)?;
            if pair > 0 {
                theirs.extend(peer);
                ours.push(own);
            }
        }
        figures.extend(compare(&work, &theirs, &ours));
    }
    Ok(figures)
}

fn parabench(place: &Scratch, directory: &str, work: &Work) -> Result<Speed> {
    let run = place.run(&work.program, &["--dir", directory])?;
    let (calls, ns) = (run.operations()?, run.label_ns("t/until").or(run.label_ns("t"))?);
    Ok(Speed { calls_per_s: calls * 1e9 / ns, cpu_ns_per_call: run.cpu_ns()? / calls })
}

/// `None`: fio is not installed.
fn fio(directory: &Path, work: &Work) -> Result<Option<Speed>> {
    let output = Command::new("fio")
        .args(["--name=t", "--bs=4k", "--norandommap", "--time_based", "--output-format=json"])
        .args(&work.fio)
        .args([format!("--runtime={SECONDS}"), format!("--size={}", BLOCKS * 4096)])
        .arg(format!("--filename={}", directory.join(FILE).display()))
        .output();
    let Ok(output) = output else { return Ok(None) };
    let report: Value = serde_json::from_slice(&output.stdout)
        .map_err(|_| format!("fio failed: {}", String::from_utf8_lossy(&output.stderr)))?;
    let job = &report["jobs"][0];
    let number = |value: &Value| value.as_f64().ok_or("fio's report lacks a figure");
    let cpu_percent = number(&job["usr_cpu"])? + number(&job["sys_cpu"])?;
    let cpu_ns = cpu_percent / 100.0 * number(&job["job_runtime"])? * 1e6;
    let sum = |figure: &str| {
        Ok::<f64, &str>(number(&job["read"][figure])? + number(&job["write"][figure])?)
    };
    Ok(Some(Speed { calls_per_s: sum("iops")?, cpu_ns_per_call: cpu_ns / sum("total_ios")? }))
}

fn compare(work: &Work, theirs: &[Speed], ours: &[Speed]) -> [Figure; 2] {
    let rate = |speed: &Speed| speed.calls_per_s / 1e3;
    let cpu = |speed: &Speed| speed.cpu_ns_per_call;
    let peer = if theirs.is_empty() { "(fio is not installed)" } else { "against fio" };
    let calls = format!("{}, {peer}", work.name);
    let time = format!("its processor time per call, {peer}");
    [
        figure(calls, (theirs, ours), rate, " k/s", work.goal),
        figure(time, (theirs, ours), cpu, " ns", Goal::AtMost(1.0)),
    ]
}

fn figure(
    name: String,
    (theirs, ours): (&[Speed], &[Speed]),
    of: impl Fn(&Speed) -> f64,
    unit: &str,
    goal: Goal,
) -> Figure {
    let all = |speeds: &[Speed]| speeds.iter().map(&of).collect::<Vec<f64>>();
    let ratios: Vec<f64> = ours.iter().zip(theirs).map(|(own, peer)| of(own) / of(peer)).collect();
    let shown = |values: Vec<f64>| match values.is_empty() {
        true => String::new(),
        false => format!("{}{unit}", three(median(&values))),
    };
    Figure {
        name,
        raw: shown(all(theirs)),
        product: shown(all(ours)),
        result: median(&ratios),
        range: (!ratios.is_empty()).then(|| range(&ratios)),
        unit: "",
        goal,
    }
}
