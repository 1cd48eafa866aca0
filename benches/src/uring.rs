//! Random reads of 4 KiB with O_DIRECT through io_uring, beside fio with the same engine, depth and file:
//! calls per second, and processor time per call. On the disk that holds the binaries, in turns.

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

/// What one run gave.
#[derive(Clone, Copy)]
struct Speed {
    calls_per_s: f64,
    cpu_ns_per_call: f64,
}

/// Rates of Parabench divided by those of fio, and the same of processor time.
pub fn uring(place: &Scratch) -> Result<Vec<Figure>> {
    let binary = place.own_binary();
    let disk = tempfile::Builder::new()
        .prefix("parabench-bench-")
        .tempdir_in(binary.parent().ok_or("this binary lies in no directory")?)?;
    let directory = disk.path().join("run").to_string_lossy().into_owned();
    let file = format!("with (fsync=\"close\") write(\"file\", {});", BLOCKS * 4096);
    place.run(&file, &["--dir", &directory])?;
    let mut figures = Vec::new();
    for depth in DEPTHS {
        let (mut theirs, mut ours) = (Vec::new(), Vec::new());
        for pair in 0..=PAIRS {
            let peer = fio(Path::new(&directory), depth)?;
            let own = parabench(place, &directory, depth)?;
            if pair > 0 {
                theirs.extend(peer);
                ours.push(own);
            }
        }
        figures.extend(compare(depth, &theirs, &ours));
    }
    Ok(figures)
}

fn parabench(place: &Scratch, directory: &str, depth: u32) -> Result<Speed> {
    let program = format!(
        "with (direct=true) $h = fopen(\"file\", \"r\"); with (engine=\"uring\", depth={depth}) \
         time[\"t\"] repeat 1t until {SECONDS}s fread($h, 4k, rand(0, {}) * 4k); fclose($h);",
        BLOCKS - 1
    );
    let run = place.run(&program, &["--dir", directory])?;
    let (calls, ns) = (run.operations()?, run.label_ns("t/until").or(run.label_ns("t"))?);
    Ok(Speed { calls_per_s: calls * 1e9 / ns, cpu_ns_per_call: run.cpu_ns()? / calls })
}

/// `None`: fio is not installed.
fn fio(directory: &Path, depth: u32) -> Result<Option<Speed>> {
    let output = Command::new("fio")
        .args(["--name=t", "--rw=randread", "--bs=4k", "--direct=1", "--ioengine=io_uring"])
        .args(["--norandommap", "--fixedbufs", "--registerfiles", "--time_based"])
        .args([format!("--iodepth={depth}"), format!("--runtime={SECONDS}")])
        .args([format!("--size={}", BLOCKS * 4096), "--output-format=json".into()])
        .arg(format!("--filename={}", directory.join("file").display()))
        .output();
    let Ok(output) = output else { return Ok(None) };
    let report: Value = serde_json::from_slice(&output.stdout)
        .map_err(|_| format!("fio failed: {}", String::from_utf8_lossy(&output.stderr)))?;
    let job = &report["jobs"][0];
    let number = |value: &Value| value.as_f64().ok_or("fio's report lacks a figure");
    let cpu_percent = number(&job["usr_cpu"])? + number(&job["sys_cpu"])?;
    let cpu_ns = cpu_percent / 100.0 * number(&job["job_runtime"])? * 1e6;
    let calls = number(&job["read"]["total_ios"])?;
    let calls_per_s = number(&job["read"]["iops"])?;
    Ok(Some(Speed { calls_per_s, cpu_ns_per_call: cpu_ns / calls }))
}

fn compare(depth: u32, theirs: &[Speed], ours: &[Speed]) -> [Figure; 2] {
    let rate = |speed: &Speed| speed.calls_per_s / 1e3;
    let cpu = |speed: &Speed| speed.cpu_ns_per_call;
    let name = |what: &str| match theirs.is_empty() {
        true => format!("{what} at depth {depth} (fio is not installed)"),
        false => format!("{what} at depth {depth}, against fio"),
    };
    [
        figure(name("io_uring, O_DIRECT"), (theirs, ours), rate, " k/s", Goal::AtLeast(1.0)),
        figure(name("processor time per call"), (theirs, ours), cpu, " ns", Goal::AtMost(1.0)),
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
