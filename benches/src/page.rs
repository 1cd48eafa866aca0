//! The page of a large run: its making, its size, and how fast a browser draws it.
//!
//! `web/tests/speed.mjs` looks at the page in Chromium: time to the first picture of the time line, and times of
//! frames while it is zoomed. Without Node.js or Chromium these figures are left out, and a note says so.

use crate::Result;
use crate::figure::{Figure, Goal};
use crate::pictures::write_run;
use crate::product::Scratch;
use std::fs;
use std::path::Path;
use std::process::Command;

const RUNS: usize = 3;
const MIB: f64 = 1_048_576.0;

/// Events, most MiB of the page, most milliseconds to the first picture.
const SIZES: [(u64, f64, f64); 2] = [(1_000_000, 2.0, 1000.0), (10_000_000, 3.0, 1000.0)];

/// Figures of pages of 10^6 and 10^7 events.
pub fn page(place: &Scratch) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for (events, most_mib, most_ms) in SIZES {
        let folder = place.path().join("page");
        fs::create_dir_all(&folder)?;
        write_run(&folder, events)?;
        let file = place.path().join("page.html");
        let seconds: Vec<f64> =
            (0..RUNS).map(|_| make(place, &folder, &file)).collect::<Result<_>>()?;
        let name = |what: &str| format!("page of {events} events: {what}");
        let mib = fs::metadata(&file)?.len() as f64 / MIB;
        figures.extend([
            Figure::measured(&name("processor time"), &seconds, " s", Goal::AtMost(3.0)),
            Figure::measured(&name("size"), &[mib], " MiB", Goal::AtMost(most_mib)),
        ]);
        match look(&file) {
            Ok((first_ms, frame_ms)) => figures.extend([
                Figure::measured(&name("first picture"), &first_ms, " ms", Goal::AtMost(most_ms)),
                Figure::measured(&name("frame"), &frame_ms, " ms", Goal::AtMost(33.3)),
            ]),
            Err(error) => eprintln!("benches: the page is not looked at: {error}"),
        }
        fs::remove_dir_all(&folder)?;
    }
    Ok(figures)
}

/// Makes the page; gives the processor time of the command in seconds.
fn make(place: &Scratch, folder: &Path, file: &Path) -> Result<f64> {
    let output = Command::new("bash")
        .args(["-c", "TIMEFORMAT='%U %S'; time \"$0\" report \"$1\" --html \"$2\""])
        .arg(place.product())
        .arg(folder)
        .arg(file)
        .output()?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() {
        return Err(text.into());
    }
    let times = text.lines().last().unwrap_or_default().split_whitespace();
    Ok(times.map(str::parse::<f64>).sum::<std::result::Result<f64, _>>()?)
}

/// Milliseconds to the first picture in several loads, and of frames while the time line is zoomed.
fn look(file: &Path) -> Result<(Vec<f64>, Vec<f64>)> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../web/tests/speed.mjs");
    let output = Command::new("node").arg(script).arg(file).output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    let found: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let numbers = |name: &str| -> Vec<f64> {
        found[name].as_array().into_iter().flatten().filter_map(serde_json::Value::as_f64).collect()
    };
    Ok((numbers("first_ms"), numbers("frame_ms")))
}
