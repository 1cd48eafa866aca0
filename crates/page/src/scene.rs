//! A program that was executed to be looked at, as JSON for the studio: `web/src/studio/shapes.ts` has the fields.
//!
//! ```text
//! Watched ── lanes   phases, waits, barriers, signals
//!         ── work    operations, bytes, files per phase
//!         ── map     which rank touches which bytes of a file
//!         ── aggregate::watched    operations over time, as tiles
//! ```
//!
//! All lists are bounded. Not here: how the program is executed (crate `engine`). A server does both:
//!
//! ```text
//! let watched = engine::watch::watch(&plan, &config, false, Limits::default())?;
//! Scene::new(&plan, &watched).to_json()
//! ```

mod lanes;
mod map;
mod work;

use crate::aggregate::Aggregates;
use crate::aggregate::watched::{Rows, condense};
use lanes::{Lane, Meeting, Signal};
use map::FileMap;
use model::Plan;
use model::watched::{Found, Place, Watched};
use serde::Serialize;
use work::Work;

/// Ranks of a finding that are named.
const RANKS: usize = 64;

/// A picture of a program for the studio.
#[derive(Debug, Serialize)]
pub struct Scene {
    ranks: u32,
    whole: bool,
    about: String,
    operations: u64,
    expected_operations: Option<u64>,
    expected_about: bool,
    end_ns: u64,
    labels: Vec<String>,
    lanes: Vec<Lane>,
    meetings: Vec<Meeting>,
    signals: Vec<Signal>,
    left_out: u64,
    work: Vec<Work>,
    time: Option<Aggregates>,
    files: Vec<FileMap>,
    more_files: usize,
    peak: Peak,
    findings: Vec<Finding>,
}

#[derive(Debug, Serialize)]
struct Peak {
    bytes: u64,
    files: u64,
    about: bool,
}

#[derive(Debug, Serialize)]
struct Finding {
    kind: &'static str,
    message: String,
    place: Option<Place>,
    ranks: Vec<u32>,
}

impl Scene {
    /// The picture of the ranks of this plan.
    pub fn new(plan: &Plan, watched: &Watched) -> Scene {
        let rows = Rows::new(watched);
        let (files, more_files) = map::maps(&rows);
        let lanes = lanes::lanes(plan, watched);
        let rehearsal = &watched.rehearsal;
        let operations = rows.rows.len() as u64;
        let known = rehearsal.complete || rehearsal.about;
        let expected = match watched.whole {
            true => Some(operations),
            false => Some(work::expected(watched)).filter(|count| known && *count > operations),
        };
        let expected_about = !watched.whole && rehearsal.about;
        Scene {
            ranks: plan.ranks,
            whole: watched.whole,
            about: about(watched.whole, operations, expected, expected_about),
            operations,
            expected_operations: expected,
            expected_about,
            end_ns: watched.ranks.iter().map(|rank| rank.end_ns).max().unwrap_or(0),
            labels: lanes.labels,
            lanes: lanes.lanes,
            meetings: lanes.meetings,
            signals: lanes.signals,
            left_out: lanes.left_out,
            work: work::work(watched, &rows),
            time: condense(watched, &rows),
            files,
            more_files,
            peak: Peak {
                bytes: rehearsal.peak_bytes,
                files: rehearsal.peak_files,
                about: rehearsal.peak_about,
            },
            findings: watched.findings.iter().map(|one| finding(plan, one)).collect(),
        }
    }

    /// Operations over time as the script of a page reads them; "" without operations.
    pub fn time_line(&self) -> String {
        self.time.as_ref().map_or(String::new(), Aggregates::time_line)
    }

    /// As JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

fn about(whole: bool, operations: u64, expected: Option<u64>, is_about: bool) -> String {
    let shown = grouped(operations);
    match expected {
        _ if whole => String::new(),
        None => format!("the first {shown} operations"),
        Some(all) => {
            let about = if is_about { "about " } else { "" };
            format!("the first {shown} of {about}{} operations", grouped(all))
        }
    }
}

/// 1,234,567
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn finding(plan: &Plan, found: &Found) -> Finding {
    let span = found.site.and_then(|site| plan.spans.get(site as usize).copied());
    Finding {
        kind: if found.happened { "failure" } else { "doubt" },
        message: found.message.clone(),
        place: span.and_then(|span| Place::new(plan, span)),
        ranks: found.ranks.iter().take(RANKS).copied().collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_is_said() {
        assert_eq!(about(true, 7, Some(7), false), "");
        assert_eq!(about(false, 60_000, None, true), "the first 60,000 operations");
        let said = about(false, 60_000, Some(3_200_000), true);
        assert_eq!(said, "the first 60,000 of about 3,200,000 operations");
        assert_eq!(about(false, 5, Some(999), false), "the first 5 of 999 operations");
    }
}
