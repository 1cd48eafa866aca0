//! Reading back the events of a run and making the data of all its pictures.

use crate::Result;
use crate::figure::{Figure, Goal};
use crate::product::Scratch;
use model::event::{Event, NO_ID};
use model::run::{Row, VERSION};
use model::{Histogram, Op, Run};
use page::views;
use report::events::{EventWriter, Origin};
use report::store;
use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

const EVENTS: u64 = 10_000_000;
const RANKS: u64 = 64;
const RUNS: usize = 5;

/// Seconds and memory of a process that reads a run with 10^7 events and makes all views.
pub fn pictures(place: &Scratch) -> Result<Vec<Figure>> {
    let folder = place.path().join("pictures");
    fs::create_dir_all(&folder)?;
    write_run(&folder, EVENTS)?;
    let (mut seconds, mut memory) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let mut worker = Command::new(place.own_binary());
        let output = worker.args(["worker", "pictures"]).arg(&folder).output()?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into());
        }
        let text = String::from_utf8(output.stdout)?;
        let mut words = text.split_whitespace().map(str::parse::<f64>);
        let mut next = || words.next().ok_or("the worker failed");
        seconds.push(next()??);
        memory.push(next()?? / 1e9);
    }
    fs::remove_dir_all(&folder)?;
    Ok(vec![
        Figure::measured("all views of 10^7 events", &seconds, " s", Goal::AtMost(5.0)),
        Figure::measured("their peak memory", &memory, " GB", Goal::AtMost(1.0)),
    ])
}

/// Makes all views of the run in a folder, and prints seconds and the largest resident memory.
pub fn make_once(folder: &str) -> Result<()> {
    let start = Instant::now();
    let run = store::read(Path::new(folder))?;
    let (made, _) = views::stored(Path::new(folder), &run)?;
    for view in &made.views {
        report::chart::csv(view, &mut io::sink())?;
    }
    let seconds = start.elapsed().as_secs_f64();
    // All but those of labels over time and of sweeps, which this run does not have.
    if made.views.len() < 9 {
        return Err(format!("views are missing: {:?}", made.absent).into());
    }
    println!("{seconds} {}", crate::language::peak_bytes()?);
    Ok(())
}

/// A shared file and 1,000 own files per rank; two labels, reads, writes and stat.
pub fn write_run(folder: &Path, events: u64) -> Result<()> {
    let per_rank = events / RANKS;
    let mut histogram = Histogram::default();
    let mut table = EventWriter::create(folder, &[])?;
    for rank in 0..RANKS {
        let mut paths = vec!["shared".to_string()];
        paths.extend((0..1000).map(|file| format!("dir-{rank}/file-{file}")));
        let mut state = rank + 1;
        let mut now_ns = 1000 * rank;
        let mut own = Vec::with_capacity(per_rank as usize);
        for seq in 0..per_rank {
            // Numerical Recipes' linear congruential generator: times and offsets that do not compress.
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let noise = state >> 16 & 0x3ff;
            let (op, path, offset_bytes, done_bytes) = match seq % 4 {
                0 => (Op::Stat, 1 + (seq / 4 % 1000) as u32, 0, 0),
                1 => (Op::Fread, 0, (state >> 8 & 0xffff) * 4096, 4096),
                _ => (Op::Fwrite, 0, (seq * RANKS + rank) * 4096, 4096),
            };
            let busy_ns = 2000 + noise;
            let label = u32::from(seq > per_rank / 2);
            own.push(Event {
                seq,
                start_ns: now_ns,
                end_ns: now_ns + busy_ns,
                intended_start_ns: now_ns,
                busy_ns,
                offset_bytes,
                requested_bytes: done_bytes,
                done_bytes,
                label,
                path,
                path2: NO_ID,
                op: op as u8,
                ..Event::default()
            });
            if rank == 0 {
                histogram.record(busy_ns);
            }
            now_ns += busy_ns + 100;
        }
        let origin = Origin { rank: rank as u32, host: "node", ..Origin::default() };
        table.rank(&origin, &["write", "read"], &paths, own.iter())?;
    }
    let row = |label: &str| Row {
        label: label.into(),
        op: "fwrite".into(),
        count: events / 2,
        bytes: events / 2 * 4096,
        mean_ns: histogram.mean(),
        histogram: Some(histogram.clone()),
        ..Row::default()
    };
    let mut run = Run { version: VERSION, rows: vec![row("write"), row("read")], ..Run::default() };
    run.run.ranks = RANKS as u32;
    run.run.events = Some(table.finish()?);
    Ok(store::write(folder, &run)?)
}
