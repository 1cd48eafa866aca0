//! Claims on made runs, false alarms and power on noise, formats with hostile names.

use super::inference::{Estimate, holm, mann_whitney};
use super::*;
use crate::sample::{HARD_LABELS, listing1};
use crate::stats::bootstrap::SplitMix64;

/// Noise of an AR(1) process: neighbours depend on each other by `phi`; standard deviation 1.
struct Noise {
    draw: SplitMix64,
    phi: f64,
    last: f64,
}

impl Noise {
    fn new(seed: u64, phi: f64) -> Noise {
        let mut noise = Noise { draw: SplitMix64(seed), phi, last: 0.0 };
        noise.last = noise.normal();
        noise
    }

    fn uniform(&mut self) -> f64 {
        (self.draw.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Box & Muller 1958.
    fn normal(&mut self) -> f64 {
        let (radius, angle) = (self.uniform().max(1e-300), self.uniform());
        (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
    }

    /// `n` rates around `centre` with this share as standard deviation.
    fn rates(&mut self, n: usize, centre: f64, share: f64) -> Vec<f64> {
        let mut rate = || {
            self.last = self.phi * self.last + (1.0 - self.phi * self.phi).sqrt() * self.normal();
            centre * (share * self.last).exp()
        };
        (0..n).map(|_| rate()).collect()
    }
}

/// A run of `rates.len()` repetitions of one operation for each of the samples.
fn run(samples: &[Vec<f64>]) -> Run {
    let mut made = listing1();
    made.times.clear();
    let row = made.rows[0].clone();
    made.rows.clear();
    for (number, rates) in samples.iter().enumerate() {
        for (repetition, rate) in rates.iter().enumerate() {
            made.rows.push(model::run::Row {
                label: format!("phase {number}"),
                repetition: repetition as u32,
                mib_s: Some(*rate),
                ..row.clone()
            });
        }
    }
    made
}

fn estimate(base: &[f64], new: &[f64]) -> Estimate {
    inference::Contrast::new(base, new).estimate()
}

fn side(name: &str, samples: &[Vec<f64>]) -> Side {
    Side { name: name.into(), runs: vec![run(samples)] }
}

const OPTIONS: Options = Options { min_effect: 0.02, anyway: false };

fn compared(base: &[Vec<f64>], new: &[Vec<f64>]) -> Comparison {
    compare(&side("A", base), &side("B", new), &OPTIONS).expect("the same program")
}

fn compared_one(base: &[f64], new: &[f64]) -> Comparison {
    compared(&[base.to_vec()], &[new.to_vec()])
}

/// Computed with scipy 1.17.1: `scipy.stats.mannwhitneyu(a, b)`, exact or with the continuity
/// correction, two-sided.
#[test]
fn mann_whitney_agrees_with_scipy() {
    let steps = |n: usize, from: f64| -> Vec<f64> { (0..n).map(|at| at as f64 + from).collect() };
    let cases: [(Vec<f64>, Vec<f64>, f64); 6] = [
        (vec![1.0, 2.0, 3.0, 4.0, 5.0], vec![6.0, 7.0, 8.0, 9.0, 2.5], 0.055_555_555_555_555_55),
        (
            vec![3.1, 2.7, 3.9, 4.4, 2.2, 3.3, 5.0],
            vec![4.1, 5.2, 3.5, 6.3, 4.8],
            0.073_232_323_232_323_23,
        ),
        (
            vec![1.0, 2.0, 2.0, 3.0, 3.0, 3.0, 4.0, 5.0],
            vec![3.0, 4.0, 4.0, 5.0, 5.0, 6.0, 6.0, 7.0],
            0.010_515_245_935_858,
        ),
        (vec![1.0; 3], vec![1.0; 3], 1.0),
        (steps(10, 0.0), steps(10, 100.0), 1.082_508_822_446_903e-5),
        (steps(25, 0.0), steps(25, 7.5), 0.002_035_157_807_278),
    ];
    for (a, b, p) in cases {
        let found = mann_whitney(&a, &b);
        assert!((found / p - 1.0).abs() < 1e-5, "{a:?} {b:?}: {found}, not {p}");
        assert_eq!(mann_whitney(&b, &a), found, "the sides are alike");
    }
}

#[test]
fn holm_corrects_as_holm_does() {
    let close = |found: Vec<f64>, expected: &[f64]| {
        assert_eq!(found.len(), expected.len());
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?}");
    };
    close(holm(&[0.01, 0.04, 0.03, 0.005]), &[0.03, 0.06, 0.06, 0.02]);
    close(holm(&[0.9, 0.5]), &[1.0, 1.0]);
    close(holm(&[]), &[]);
}

#[test]
fn a_factor_is_found_with_its_interval_in_both_directions() {
    let a: Vec<f64> = vec![100.0, 101.0, 99.0, 100.5, 99.5, 100.2, 99.8];
    let b: Vec<f64> = a.iter().map(|rate| rate * 1.9).collect();
    let found = compared_one(&a, &b);
    let row = &found.rows[0];
    assert_eq!(row.claim, Claim::Faster);
    assert_eq!(row.cliffs_delta, Some(1.0));
    assert!(row.ci95_low < row.ratio && row.ratio < row.ci95_high);
    assert_eq!(row.sentence, "write of \"phase 0\" is 1.9 x [1.9, 1.9] faster on B");
    let back = compared_one(&b, &a);
    assert_eq!(back.rows[0].sentence, "write of \"phase 0\" is 1.9 x [1.9, 1.9] slower on B");
    // The same twice, and what is below the smallest effect.
    let small: Vec<f64> = a.iter().map(|rate| rate * 1.015).collect();
    let found = compared_one(&a, &small);
    assert_eq!(found.rows[0].claim, Claim::None);
    assert!(found.rows[0].p_holm.unwrap() < 0.05, "it is there, and not worth a claim");
    let text = &found.rows[0].sentence;
    assert!(
        text.starts_with("write of \"phase 0\": no difference is claimed; one of up to"),
        "{text}"
    );
    let eager = Options { min_effect: 0.01, ..OPTIONS };
    let found = compare(&side("A", &[a]), &side("B", &[small]), &eager).unwrap();
    assert_eq!(found.rows[0].claim, Claim::Faster);
    let same = compared(&[vec![7.0; 6]], &[vec![7.0; 6]]);
    assert_eq!(same.rows[0].sentence, "write of \"phase 0\": no difference: the rate is the same");
}

#[test]
fn few_repetitions_claim_nothing() {
    let found = compared(&[vec![100.0; 4]], &[vec![900.0; 9]]);
    let row = &found.rows[0];
    assert_eq!((row.claim, row.p, row.ci95_low), (Claim::TooFew, None, None));
    assert_eq!(row.ratio.map(f64::round), Some(9.0));
    assert!(row.sentence.contains("4 and 9 repetitions; a claim needs at least 5"), "{row:?}");
}

/// Runs of one repetition each are repetitions of their side; times are better when smaller.
#[test]
fn several_runs_are_repetitions_and_less_time_is_faster() {
    let of = |scale: f64| -> Vec<Run> {
        let one = |at: u32| {
            let mut made = listing1();
            made.rows.retain(|row| row.op == "stat");
            made.rows[0].mean_ns = Some(scale * (800.0 + f64::from(at * 5 % 7)));
            made
        };
        (0..6).map(one).collect()
    };
    let (a, b) =
        (Side { name: "A".into(), runs: of(1.0) }, Side { name: "B".into(), runs: of(0.5) });
    let found = compare(&a, &b, &OPTIONS).unwrap();
    let stat = found.rows.iter().find(|row| row.op == "stat").unwrap();
    assert_eq!((stat.base_n, stat.claim), (6, Claim::Faster));
    assert_eq!(stat.ratio.map(|ratio| (ratio * 100.0).round()), Some(200.0));
    let label = found.rows.iter().find(|row| row.op.is_empty()).unwrap();
    assert_eq!((label.metric, label.claim), (Metric::TimeNs, Claim::None));
}

/// The promise: of 1,000 pairs of the same thing at most 6 % come out as different, although
/// neighbouring repetitions depend on each other.
#[test]
fn the_same_thing_twice_is_rarely_called_different() {
    for (phi, share, reps) in [(0.4, 0.02, 10), (0.3, 0.05, 12), (0.0, 0.05, 10), (0.4, 0.03, 20)] {
        let mut alarms = 0;
        for pair in 0..1000u64 {
            let rates = |side: u64| Noise::new(pair * 2 + side, phi).rates(reps, 100.0, share);
            let found = estimate(&rates(0), &rates(1));
            let effect = found.ratio.max(1.0 / found.ratio) - 1.0;
            alarms += u32::from(found.p < SIGNIFICANCE && effect > OPTIONS.min_effect);
        }
        assert!(alarms <= 60, "phi {phi}, noise {share}, {reps} repetitions: {alarms} of 1000");
    }
}

/// The same through the whole comparison, several rows at a time: one wrong claim in any row counts.
#[test]
fn several_rows_are_not_a_licence_for_false_alarms() {
    let mut alarms = 0;
    for pair in 0..1000u64 {
        let samples = |side: u64| -> Vec<Vec<f64>> {
            (0..3)
                .map(|row| Noise::new(pair * 6 + side * 3 + row, 0.4).rates(10, 50.0, 0.02))
                .collect()
        };
        let (a, b) = (samples(0), samples(1));
        let mut rows: Vec<Row> = (0..3).map(|at| bare(&a[at], &b[at])).collect();
        judge(&mut rows, &OPTIONS, "B");
        alarms += u32::from(rows.iter().any(|row| row.claim != Claim::None));
    }
    assert!(alarms <= 60, "{alarms} of 1000");
}

/// A row as [`row`] makes it, without the cost of making runs.
fn bare(a: &[f64], b: &[f64]) -> Row {
    let found = estimate(a, b);
    Row {
        label: String::new(),
        op: "write".into(),
        cell: 0,
        metric: Metric::MibS,
        base_n: a.len(),
        new_n: b.len(),
        base_median: 0.0,
        new_median: 0.0,
        ratio: Some(found.ratio),
        ci95_low: None,
        ci95_high: None,
        cliffs_delta: Some(found.delta),
        p: Some(found.p),
        p_holm: None,
        claim: Claim::None,
        sentence: String::new(),
        latency: None,
    }
}

#[test]
fn a_slow_down_of_5_per_cent_is_found() {
    let mut found = 0;
    for pair in 0..200u64 {
        let a = Noise::new(pair * 2 + 9000, 0.0).rates(10, 100.0, 0.02);
        let b = Noise::new(pair * 2 + 9001, 0.0).rates(10, 95.0, 0.02);
        found += u32::from(compared_one(&a, &b).rows[0].claim == Claim::Slower);
    }
    assert!(found >= 180, "{found} of 200");
}

#[test]
fn other_programs_and_parameters_are_refused_by_name() {
    let base = side("A", &[vec![1.0; 5]]);
    let mut new = base.clone();
    new.runs[0].run.params[0].value = "5".into();
    new.runs[0].run.program.files[0].text.push(';');
    new.runs[0].run.host.kernel = "6.18".into();
    let why = compare(&base, &new, &OPTIONS).unwrap_err();
    assert!(why.iter().any(|why| why == "parameter num: 10000 in A, 5 in B"), "{why:?}");
    assert!(why.iter().any(|why| why.starts_with("text of file 1: ")), "{why:?}");
    assert_eq!(why.len(), 2, "the kernel is no reason: {why:?}");
    let anyway = Options { anyway: true, ..OPTIONS };
    let found = compare(&base, &new, &anyway).unwrap();
    let what: Vec<&str> = found.differences.iter().map(|d| d.what.as_str()).collect();
    assert_eq!(what, ["text of file 1", "parameter num", "kernel"]);
}

#[test]
fn gates_hold_fail_or_cannot_be_judged() {
    let base = side("A", &[vec![100.0; 5], vec![50.0; 5]]);
    let new = side("B", &[vec![97.0; 5], vec![40.0; 5]]);
    for (gate, holds, words) in [
        ("phase 0:write.mib_s >= 0.95", true, "0.970"),
        ("phase 0:write.mib_s >= 0.98", false, "0.970"),
        ("write.mib_s >= 0.95", false, "0.800"),
        ("write.p99_ns <= 1", true, "1.000"),
        ("stat.mean_ns <= 1", false, "it has phase 0:write, phase 1:write"),
    ] {
        let result = Gate::parse(gate).unwrap().judge(&base, &new);
        assert_eq!(result.holds, holds, "{result:?}");
        assert!(result.reasons.join(" ").contains(words), "{result:?}");
    }
    let single = side("C", &[vec![100.0]]);
    let result = Gate::parse("write.mib_s > 0.1").unwrap().judge(&base, &single);
    assert!(!result.holds && result.reasons[0].contains("5 and 1 repetitions"), "{result:?}");
}

/// Pictures of both sides are well-formed, whatever the names, and have both sides in them.
#[test]
fn the_page_shows_both_sides_and_is_inert() {
    for label in ["load", "<script>alert(1)</script>&\"", HARD_LABELS[3]] {
        let rates = |centre: f64| vec![(0..6).map(|at| centre + f64::from(at % 3)).collect()];
        let (mut base, mut new) = (side(label, &rates(100.0)), side("B", &rates(130.0)));
        for row in base.runs.iter_mut().chain(&mut new.runs).flat_map(|run| &mut run.rows) {
            row.label = label.to_string();
        }
        let found = compare(&base, &new, &OPTIONS).unwrap();
        let views = pictures::views(&base, &new, &found);
        let names: Vec<&str> = views.iter().map(|view| view.name.as_str()).collect();
        assert_eq!(names, ["ratios", "repetitions-0", "latencies-0"]);
        let page = pictures::html(&[(&base, &new, &found)]);
        let inside = page.split_once('\n').unwrap().1;
        let page = roxmltree::Document::parse(inside).unwrap_or_else(|error| panic!("{error}"));
        assert!(!page.descendants().any(|node| node.has_tag_name("script")));
        let svgs = page.descendants().filter(|node| node.tag_name().name() == "svg").count();
        assert!(svgs >= 3, "{svgs} pictures");
    }
}

#[test]
fn every_format_survives_hostile_names() {
    let long = "l|\"<&".repeat(60);
    for label in HARD_LABELS.iter().chain([&long.as_str()]) {
        let mut base = side(label, &[vec![100.0; 5]]);
        base.runs[0].rows.iter_mut().for_each(|row| row.label = label.to_string());
        let mut found = compare(&base, &base, &OPTIONS).unwrap();
        let gate =
            GateResult { gate: label.to_string(), holds: false, reasons: vec![long.clone()] };
        found.gates.push(gate);
        let value: serde_json::Value = serde_json::from_str(&show::json(&found)).unwrap();
        assert_eq!(value["rows"][0]["label"], **label);
        let table = show::table(&found, crate::table::Terminal::default());
        assert!(!table.chars().any(|c| c.is_control() && c != '\n'), "{table:?}");
        let markdown = show::markdown(&found);
        assert!(!markdown.chars().any(|c| c.is_control() && c != '\n'), "{markdown:?}");
        let junit = show::junit(&[found]);
        let xml =
            roxmltree::Document::parse(&junit).unwrap_or_else(|error| panic!("{error}: {junit}"));
        let case = xml.descendants().find(|node| node.has_tag_name("testcase")).unwrap();
        assert_eq!(case.attribute("name"), Some(crate::text::escape(label).as_str()));
        assert!(case.children().any(|child| child.has_tag_name("failure")));
    }
}
