//! Progress as JSON lines on standard error (`--progress json`), for programs; docs/run-format.md defines the fields.

use super::progress::{rate, share};
use crate::console;
use crate::error::Exit;
use engine::comm::Sample;
use serde::Serialize;
use std::time::Duration;

/// One line.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "lowercase")]
enum Line<'a> {
    Start { executions: u64 },
    Execution { number: u64, point: &'a str },
    Sample(Figures<'a>),
    End { exit_code: u8 },
}

/// How far the ranks are. Rates are those since the sample before.
#[derive(Serialize)]
struct Figures<'a> {
    execution: u64,
    time_s: f64,
    left_s: Option<f64>,
    operations: u64,
    expected: Option<u64>,
    share: Option<f64>,
    ops_s: f64,
    bytes: Option<u64>,
    mib_s: Option<f64>,
    label: Option<&'a str>,
    labels: &'a [Option<String>],
    waiting: Option<&'a str>,
}

/// Before the first execution; `executions`: the largest number of them.
pub fn start(executions: u64) {
    write(&Line::Start { executions });
}

/// An execution of a sweep begins.
pub fn execution(number: u64, point: &str) {
    write(&Line::Execution { number, point });
}

/// How far the ranks of an execution are. `now`: time since the start of the first one.
pub fn sample(
    execution: u64,
    before: &Sample,
    sample: &Sample,
    now: Duration,
    left: Option<Duration>,
) {
    write(&Line::Sample(figures(execution, before, sample, now, left)));
}

/// After the results were stored and printed.
pub fn end(exit: Exit) {
    write(&Line::End { exit_code: exit.code() });
}

fn figures<'a>(
    execution: u64,
    before: &Sample,
    sample: &'a Sample,
    now: Duration,
    left: Option<Duration>,
) -> Figures<'a> {
    let rate = |then: u64, now: u64| rate(before, sample, now.saturating_sub(then));
    let mib_s = |bytes: u64| rate(before.bytes.unwrap_or(0), bytes) / 1_048_576.0;
    Figures {
        execution,
        time_s: now.as_secs_f64(),
        left_s: left.map(|left| left.as_secs_f64()),
        operations: sample.operations,
        expected: sample.expected,
        share: share(sample),
        ops_s: rate(before.operations, sample.operations),
        bytes: sample.bytes,
        mib_s: sample.bytes.map(mib_s),
        label: sample.label.as_deref(),
        labels: &sample.labels,
        waiting: sample.waiting.as_deref(),
    }
}

/// Written in one piece; harmful characters in names become escapes of JSON.
fn write(line: &Line<'_>) {
    if let Ok(text) = serde_json::to_string(line) {
        console::say_made(&format!("{}\n", model::escape::json(&text)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_those_since_the_sample_before() {
        let at = |at_ns, operations, bytes| Sample {
            at_ns,
            operations,
            expected: Some(400),
            bytes: Some(bytes),
            label: Some("read".into()),
            labels: vec![Some("read".into()), None],
            ..Sample::default()
        };
        let (before, now) = (at(1_000_000_000, 100, 1 << 20), at(1_500_000_000, 200, 3 << 20));
        let left = Some(Duration::from_secs(2));
        let line = Line::Sample(figures(3, &before, &now, Duration::from_millis(1600), left));
        let read: serde_json::Value = serde_json::to_value(&line).expect("JSON");
        let expected = serde_json::json!({
            "event": "sample", "execution": 3, "time_s": 1.6, "left_s": 2.0, "operations": 200,
            "expected": 400, "share": 0.5, "ops_s": 200.0, "bytes": 3 << 20, "mib_s": 4.0,
            "label": "read", "labels": ["read", null], "waiting": null,
        });
        assert_eq!(read, expected);
    }
}
