//! Claims on made runs, false alarms and power on noise, formats with hostile names.

use super::design::{same_signs, separated};
use super::inference::{Contrast, Memo};
use super::inference::{Family, decide};
use super::*;
use crate::gate::{GateResult, Verdict};
use crate::statistics::Metric;
use crate::stats::SplitMix64;
use crate::tests::sample::{HARD_LABELS, listing1, row as sample_row};
use crate::text::Detail;
use model::Run;
use model::sweep::SharedDevice;
use proptest::prelude::*;

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

/// A run of `rates.len()` repetitions of one operation for each of the samples; the labels take as long as
/// the rates say. No typical calls.
fn run(samples: &[Vec<f64>]) -> Run {
    let mut made = listing1();
    let (label, row) = (made.labels[0].clone(), made.rows[0].clone());
    (made.labels, made.rows) = (Vec::new(), Vec::new());
    for (number, rates) in samples.iter().enumerate() {
        let name = format!("phase {number}");
        for (repetition, rate) in (0u32..).zip(rates) {
            made.rows.push(model::run::Row {
                label: name.clone(),
                repetition,
                mib_s: Some(*rate),
                p50_ns: None,
                ..row.clone()
            });
            made.labels.push(model::run::LabelRow {
                label: name.clone(),
                repetition,
                busy_ns: (1e14 / rate).round() as u64,
                ..label.clone()
            });
        }
    }
    made
}

/// The rows that are tested first.
fn of_labels(found: &Comparison) -> Vec<&Row> {
    found.rows.iter().filter(|row| row.tier == Tier::Label).collect()
}

fn side(name: &str, samples: &[Vec<f64>]) -> Side {
    let mut run = run(samples);
    run.run.started = format!("when {name} was run");
    Side { name: name.into(), runs: vec![run] }
}

const OPTIONS: Options = Options { min_effect: Some(0.02), anyway: false };

fn compared(base: &[Vec<f64>], new: &[Vec<f64>]) -> Comparison {
    compare(&side("A", base), &side("B", new), &OPTIONS).expect("the same program")
}

fn compared_one(base: &[f64], new: &[f64]) -> Comparison {
    compared(&[base.to_vec()], &[new.to_vec()])
}

fn steps(n: usize, from: f64) -> Vec<f64> {
    (0..n).map(|at| at as f64 + from).collect()
}

#[track_caller]
fn close(found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 1e-9, "{found}, not {expected}");
}

/// scipy 1.17.1: `mannwhitneyu(a, b)`, exact, or beyond 20 with the continuity correction; with
/// ties all choices of the midranks one by one.
#[test]
fn the_test_of_two_samples_agrees_with_scipy() {
    let ties = [1.0, 2.0, 2.0, 3.0, 3.0, 3.0, 4.0, 5.0];
    let others = [3.0, 4.0, 4.0, 5.0, 5.0, 6.0, 6.0, 7.0];
    let thrice = |sample: &[f64], last: f64| [&sample.repeat(3)[..], &[last]].concat();
    let cases: [(Vec<f64>, Vec<f64>, f64); 7] = [
        (vec![1.0, 2.0, 3.0, 4.0, 5.0], vec![6.0, 7.0, 8.0, 9.0, 2.5], 0.055_555_555_555_555_55),
        (
            vec![3.1, 2.7, 3.9, 4.4, 2.2, 3.3, 5.0],
            vec![4.1, 5.2, 3.5, 6.3, 4.8],
            0.073_232_323_232_323_23,
        ),
        (ties.to_vec(), others.to_vec(), 0.009_634_809_634_809_635),
        (vec![1.0; 3], vec![1.0; 3], 1.0),
        (steps(10, 1.0), steps(10, 101.0), 1.082_508_822_446_903e-5),
        (steps(25, 1.0), steps(25, 8.5), 0.002_035_157_807_278_379),
        (thrice(&ties, 1.0), thrice(&others, 9.0), 1.471_694_050_476_586e-6),
    ];
    for (a, b, p) in cases {
        // The order in time is one without dependence.
        let p_of = |a: &[f64], b: &[f64]| {
            Contrast::samples(&shuffled(a), &shuffled(b)).p(&mut Memo::default())
        };
        close(p_of(&a, &b), p);
        assert_eq!(p_of(&b, &a), p_of(&a, &b), "the sides are alike");
    }
}

/// In an order whose neighbours do not resemble each other: from the outside to the middle.
fn shuffled(sample: &[f64]) -> Vec<f64> {
    let (n, sorted) = (sample.len(), crate::stats::sorted(sample));
    (0..n).map(|at| if at % 2 == 0 { sorted[at / 2] } else { sorted[n - 1 - at / 2] }).collect()
}

/// scipy 1.17.1: `wilcoxon(d)`, exact, or beyond 40 with the continuity correction; with ties and
/// zeros all signs of the midranks one by one.
#[test]
fn the_test_of_blocks_agrees_with_scipy() {
    let p = |differences: &[f64]| {
        let new: Vec<f64> = differences.iter().map(|d| d.exp()).collect();
        Contrast::blocks(&vec![1.0; new.len()], &new).p(&mut Memo::default())
    };
    close(p(&[0.1, 0.2, -0.05, 0.3, 0.15, 0.08, 0.22, 0.01]), 0.023_437_5);
    close(p(&[1.0, 1.0, -1.0, 2.0, 2.0, 0.0, 3.0, -2.0, 4.0, 4.0]), 0.082_031_25);
    close(p(&steps(50, -15.5)), 0.000_316_985_182_764_947_9);
    close(p(&steps(10, 1.0)), same_signs(10));
}

#[test]
fn a_factor_is_found_with_its_interval_in_both_directions() {
    let a: Vec<f64> = vec![100.0, 101.0, 99.0, 100.5, 99.5, 100.2, 99.8];
    let b: Vec<f64> = a.iter().map(|rate| rate * 1.9).collect();
    let found = compared_one(&a, &b);
    let row = &found.rows[0];
    assert_eq!(row.claim, Claim::Faster);
    assert_eq!(row.cliffs_delta, 1.0);
    assert!(row.ci95_low.unwrap() < row.speedup && row.speedup < row.ci95_high.unwrap());
    assert!(row.sentence.contains("B is 1.90x faster (1.88 to 1.92)"), "{row:?}");
    let back = compared_one(&b, &a);
    assert!(back.rows[0].sentence.contains("B is 1.90x slower (1.88 to 1.92)"), "{back:?}");
    // What is below the smallest effect, and the same twice.
    let small: Vec<f64> = a.iter().map(|rate| rate * 1.015).collect();
    let found = compared_one(&a, &small);
    let row = &found.rows[0];
    assert_eq!(row.claim, Claim::None);
    assert!(row.p_adjusted.unwrap() > 0.05 && row.ci95_low.unwrap() > 1.0, "{row:?}");
    assert!(row.sentence.contains("two runs may differ by 2 % (--min-effect)"), "{row:?}");
    let eager = Options { min_effect: Some(0.0), ..OPTIONS };
    let found = compare(&side("A", &[a]), &side("B", &[small]), &eager).unwrap();
    assert_eq!(found.rows[0].claim, Claim::Faster);
    let same = compared(&[vec![7.0; 6]], &[vec![7.0; 6]]);
    assert_eq!(
        same.rows[0].sentence,
        "time of label \"phase 0\": no difference: the figures are the same"
    );
}

#[test]
fn few_repetitions_claim_nothing_and_the_sentence_says_how_many_would() {
    let found = compared(&[vec![100.0; 4]], &[vec![900.0; 9]]);
    let row = &found.rows[0];
    assert_eq!((row.claim, row.p, row.ci95_low), (Claim::TooFew, None, None));
    assert_eq!(row.speedup.round(), 9.0);
    let text = "4 and 9 repetitions";
    assert!(row.sentence.contains(text), "{row:?}");
    // Eight rows: 2 / C(10, 5) * 8 is above 0.05, 2 / C(12, 6) * 8 below.
    let rows = |n: usize, factor: f64| -> Vec<Vec<f64>> {
        (0..8).map(|at| shuffled(&steps(n, 100.0 * factor + f64::from(at)))).collect()
    };
    let found = compared(&rows(5, 1.0), &rows(5, 9.0));
    for row in of_labels(&found) {
        assert_eq!((row.claim, row.least_n, row.ci95_low), (Claim::TooFew, 6, None), "{row:?}");
        let text = "with 8 tests at least 6";
        assert!(row.sentence.contains(text), "{row:?}");
    }
    let shown = shown(&found, Detail::Short);
    assert_eq!(shown.matches("at least 6").count(), 1, "{shown}");
    let found = compared(&rows(6, 1.0), &rows(6, 9.0));
    assert!(of_labels(&found).iter().all(|row| row.claim == Claim::Faster), "{:?}", found.rows);
}

/// However much the repetitions resemble their neighbours.
#[test]
fn a_complete_separation_of_ten_against_ten_is_claimed() {
    let rows = |from: f64| -> Vec<Vec<f64>> { (0..8).map(|_| steps(10, from)).collect() };
    let found = compared(&rows(100.0), &rows(14_200.0));
    for row in of_labels(&found) {
        assert_eq!((row.claim, row.cliffs_delta), (Claim::Faster, 1.0), "{row:?}");
        assert!(row.lag1.is_some() && row.ci95_low.unwrap() > 100.0, "{row:?}");
    }
    // Two effective samples of five at least.
    assert!(found.rows[0].p.unwrap() < separated(5, 5));
}

/// The interval is the inversion of the test that decides: it excludes 1 exactly for what
/// differs after the correction, and no sentence says anything else.
fn agree(found: &Comparison) -> Result<(), TestCaseError> {
    for row in &found.rows {
        let (Some(p), ratio) = (row.p_adjusted, row.speedup) else { continue };
        let least = if found.design == Design::Samples { 1.0 + found.min_effect } else { 1.0 };
        let excludes = row.ci95_low.is_some_and(|low| low > least)
            || row.ci95_high.is_some_and(|high| high < 1.0 / least);
        prop_assert_eq!(excludes, p < SIGNIFICANCE, "{:?}", row);
        prop_assert!(row.ci95_low.is_none_or(|low| low <= ratio * (1.0 + 1e-12)), "{:?}", row);
        prop_assert!(row.ci95_high.is_none_or(|high| ratio <= high * (1.0 + 1e-12)), "{:?}", row);
        let claimed = matches!(row.claim, Claim::Faster | Claim::Slower);
        prop_assert!(!claimed || excludes, "{:?}", row);
        prop_assert_eq!(row.sentence.contains(": B is "), claimed);
        let (low, high) = (row.ci95_low.unwrap_or(0.0), row.ci95_high.unwrap_or(f64::INFINITY));
        prop_assert!(row.claim != Claim::Faster || low > 1.0, "{:?}", row);
        prop_assert!(row.claim != Claim::Slower || high < 1.0, "{:?}", row);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    /// Whole numbers: with many ties. The sizes: few, exact, and beyond.
    #[test]
    fn interval_test_and_sentence_never_contradict_each_other(
        samples in prop::collection::vec((
            prop::collection::vec(90u32..110, 3..9),
            prop::collection::vec(95u32..115, 3..9),
        ), 1..5),
        times in prop::sample::select(vec![1usize, 1, 2, 4]),
    ) {
        let whole = |sample: &Vec<u32>| -> Vec<f64> {
            sample.iter().map(|x| f64::from(*x)).collect::<Vec<_>>().repeat(times)
        };
        let (a, b): (Vec<_>, Vec<_>) = samples.iter().map(|(a, b)| (whole(a), whole(b))).unzip();
        agree(&compared(&a, &b))?;
        let (base, new) = (side("A", &a), side("B", &b));
        agree(&compare_blocks(&base, &new, &OPTIONS))?;
    }
}

/// 14 and 10 figures, 12 and 12: the pooled ranks are the same, the sums that can be drawn are not.
#[test]
fn rows_of_other_numbers_have_their_own_p() {
    let samples: [(&[u32], &[u32]); 2] = [
        (&[102, 90, 94, 95, 96, 91, 97], &[102, 103, 104, 95, 96]),
        (&[90, 91, 102, 92, 99, 101], &[95, 107, 105, 96, 108, 104]),
    ];
    let twice = |sample: &[u32]| sample.iter().map(|x| f64::from(*x)).collect::<Vec<_>>().repeat(2);
    let (a, b): (Vec<_>, Vec<_>) = samples.iter().map(|(a, b)| (twice(a), twice(b))).unzip();
    agree(&compared(&a, &b)).expect("agreement");
    agree(&compare_blocks(&side("A", &a), &side("B", &b), &OPTIONS)).expect("agreement");
}

/// Labels first: of each its time and its typical calls; operations below; setup is never tested.
#[test]
fn every_quantity_is_tested_once() {
    let of = |started: &str| -> Side {
        let mut made = listing1();
        made.run.started = started.into();
        let moving = |row: model::run::Row| model::run::Row {
            mib_s: Some(5.0),
            rank_mib_s: Some(6.0),
            ..row
        };
        made.rows = vec![
            moving(sample_row("one", "write", 20, 9, [1; 5])),
            sample_row("two", "mkdir", 1, 0, [1; 5]),
            sample_row("two", "stat", 9, 0, [1; 5]),
            moving(sample_row("two", "read", 9, 9, [1; 5])),
            sample_row("outer/inner", "stat", 9, 0, [1; 5]),
            sample_row("", "stat", 9, 0, [1; 5]),
        ];
        let row = made.labels[0].clone();
        let label = |label: &str| model::run::LabelRow { label: label.into(), ..row.clone() };
        made.labels = ["one", "two", "outer", "outer/inner"].map(label).to_vec();
        Side { name: started.into(), runs: vec![made] }
    };
    let found = compare(&of("A"), &of("B"), &OPTIONS).unwrap();
    let rows = found.rows.iter().map(|row| (&row.label[..], &row.op[..], row.metric, row.tier));
    assert_eq!(
        rows.collect::<Vec<_>>(),
        [
            ("one", "", Metric::TimeNs, Tier::Label),
            ("one", "", Metric::TypicalNs, Tier::Label),
            ("one", "write", Metric::RankMibS, Tier::Described),
            ("one", "write", Metric::P50Ns, Tier::Described),
            ("two", "", Metric::TimeNs, Tier::Label),
            ("two", "stat", Metric::MeanNs, Tier::Operation),
            ("two", "read", Metric::RankMibS, Tier::Operation),
            ("two", "mkdir", Metric::MeanNs, Tier::Described),
            ("outer/inner", "", Metric::TimeNs, Tier::Label),
            ("outer/inner", "stat", Metric::MeanNs, Tier::Described),
            ("", "stat", Metric::MeanNs, Tier::Described),
        ]
    );
}

/// A program without labels asks about its operations, but not about setup.
#[test]
fn without_labels_operations_are_the_questions() {
    let of = |started: &str, ops: &[(&str, u64)]| -> Side {
        let mut made = listing1();
        made.run.started = started.into();
        made.labels.clear();
        made.rows = ops.iter().map(|(op, count)| sample_row("", op, *count, 0, [1; 5])).collect();
        Side { name: started.into(), runs: vec![made] }
    };
    let tested = |ops: &[(&str, u64)]| {
        let found = compare(&of("A", ops), &of("B", ops), &OPTIONS).unwrap();
        let rows = of_labels(&found).into_iter();
        rows.map(|row| (row.op.clone(), row.metric)).collect::<Vec<_>>()
    };
    let stat = |metric: Metric| ("stat".to_string(), metric);
    assert_eq!(tested(&[("mkdir", 1), ("stat", 9)]), [stat(Metric::MeanNs)]);
    assert_eq!(tested(&[("stat", 50)]), [stat(Metric::MeanNs), stat(Metric::P50Ns)]);
    assert_eq!(tested(&[("stat", 1)]), [stat(Metric::MeanNs)]);
}

/// Runs of six repetitions of a label with two operations; `calls` and `scale` of the reads.
fn two_operations(started: &str, calls: u64, scale: f64) -> Side {
    let mut made = crate::tests::sample::sweep(1, 10);
    made.run.started = started.into();
    let sweep = made.run.sweep.as_mut().unwrap();
    sweep.dimensions.clear();
    for row in &mut made.rows {
        let noise = 1.0 + 0.01 * f64::from(row.repetition * 7 % 10);
        if row.op == "write" {
            row.count = calls;
            row.bytes = calls << 20;
            row.p50_ns = row.p50_ns.map(|ns| (ns as f64 * scale * noise) as u64);
            row.rank_mib_s = row.rank_mib_s.map(|rate| rate / scale / noise);
        }
    }
    for label in &mut made.labels {
        let noise = 1.0 + 0.01 * f64::from(label.repetition * 3 % 10);
        label.busy_ns = (1e9 * scale * calls as f64 / 100.0 * noise) as u64;
    }
    Side { name: started.into(), runs: vec![made] }
}

/// More calls and longer calls are both found; without a difference no operation is tested.
#[test]
fn amounts_come_first_and_time_is_tested_all_the_same() {
    let base = two_operations("A", 100, 1.0);
    let same = compare(&base, &two_operations("B", 100, 1.0), &OPTIONS).unwrap();
    assert!(same.amounts.is_empty());
    let operations = |found: &Comparison| -> Vec<bool> {
        let below = found.rows.iter().filter(|row| row.tier == Tier::Operation);
        below.map(|row| row.p.is_some()).collect()
    };
    assert_eq!(operations(&same), [false; 4], "{same:?}");
    let more = compare(&base, &two_operations("B", 300, 1.0), &OPTIONS).unwrap();
    assert_eq!(more.amounts.len(), 1);
    assert_eq!((more.amounts[0].base_bytes, more.amounts[0].new_bytes), (100 << 20, 300 << 20));
    let text = shown(&more, Detail::Short);
    let sentence = "In io B writes 3.0x as much (300 MiB, A 100 MiB) and takes 3.0x as long";
    assert!(text.contains(sentence), "{text}");
    let slower = compare(&base, &two_operations("B", 100, 2.0), &OPTIONS).unwrap();
    assert!(operations(&slower).iter().all(|tested| *tested), "{slower:?}");
    let text = shown(&slower, Detail::Short);
    assert!(
        text.contains("B is 2.0x slower in io (1.9 to 2.1)")
            && text.contains(": write 2.0x slower"),
        "{text}"
    );
    // Calls that are longer in a label whose time says nothing.
    let mut noisy = two_operations("B", 100, 1.1);
    for label in &mut noisy.runs[0].labels {
        label.busy_ns = 500_000_000 * u64::from(1 + label.repetition % 3);
    }
    let found = compare(&base, &noisy, &OPTIONS).unwrap();
    let text = shown(&found, Detail::Short);
    assert!(text.contains("slower in io by p50 ("), "{text}");
}

/// Work that varies from one repetition to the next is a result: the rate is compared.
#[test]
fn of_work_that_varies_the_rate_is_tested() {
    let varying = |started: &str| {
        let mut side = two_operations(started, 100, 1.0);
        for row in side.runs[0].rows.iter_mut().filter(|row| row.op == "write") {
            row.count += u64::from(row.repetition);
        }
        side
    };
    let found = compare(&varying("A"), &varying("B"), &OPTIONS).unwrap();
    let rows = of_labels(&found).into_iter().map(|row| (&row.op[..], row.metric));
    assert_eq!(rows.collect::<Vec<_>>(), [("write", Metric::MibS), ("write", Metric::P50Ns)]);
    assert!(found.amounts.is_empty());
}

fn shown(found: &Comparison, detail: Detail) -> String {
    show::table(found, crate::table::Terminal::default(), detail)
}

/// Two phases at 100 columns, with remarks, operations that differ and one that is on one side only.
#[test]
fn a_comparison_of_two_phases_has_at_most_15_lines() {
    let two_phases = |name: &str, scale: f64| {
        let mut side = two_operations(name, 100, scale);
        let run = &mut side.runs[0];
        for row in run.rows.clone() {
            run.rows.push(model::run::Row { label: "other".into(), ..row });
        }
        for label in run.labels.clone() {
            run.labels.push(model::run::LabelRow { label: "other".into(), ..label });
        }
        side
    };
    for scale in [1.0, 1.04, 3.0] {
        let (base, mut new) = (two_phases("A", 1.0), two_phases("B", scale));
        let extra = model::run::Row { op: "fsync".into(), ..new.runs[0].rows[0].clone() };
        new.runs[0].rows.push(extra);
        new.runs[0].run.host.kernel = "6.18".into();
        let found = compare(&base, &new, &OPTIONS).unwrap();
        let text = shown(&found, Detail::Short);
        assert!(text.lines().count() <= 15, "{} lines:\n{text}", text.lines().count());
        assert!(text.lines().all(|line| crate::text::width(line) <= 100), "{text}");
        assert!(text.contains("Only in B: fsync in io"), "{text}");
        let full = shown(&found, Detail::Full);
        assert!(full.contains("differs: kernel") && full.lines().count() > 25, "{full}");
    }
}

/// A sweep of two points: parameters are columns and named values in every format.
#[test]
fn every_format_names_the_parameters_of_a_sweep() {
    let grid = |started: &str, scale: f64| {
        let mut run = crate::tests::sample::sweep(2, 6);
        run.run.started = started.into();
        run.labels.iter_mut().for_each(|row| row.busy_ns = (row.busy_ns as f64 * scale) as u64);
        Side { name: started.into(), runs: vec![run] }
    };
    let found = compare(&grid("A", 1.0), &grid("B", 1.5), &OPTIONS).unwrap();
    let json = serde_json::to_string_pretty(&found).unwrap() + "\n";
    expect_test::expect_file!["golden/compare.json"].assert_eq(&json);
    let mut csv = Vec::new();
    crate::csv::comparisons(std::slice::from_ref(&found), &mut csv).unwrap();
    let csv = String::from_utf8(csv).unwrap().replace("\r\n", "\n");
    expect_test::expect_file!["golden/compare.csv"].assert_eq(&csv);
    assert!(csv.starts_with("base,new,label,op,cell,block,tier,"), "{csv}");
    let markdown = show::markdown(&found, Detail::Short);
    expect_test::expect_file!["golden/compare.md"].assert_eq(&markdown);
    expect_test::expect_file!["golden/compare.txt"].assert_eq(&shown(&found, Detail::Short));
}

#[test]
fn a_run_compared_with_itself_is_noticed() {
    let a = side("A", &[vec![1.0; 6]]);
    let why = compare(&a, &a, &OPTIONS).unwrap_err();
    assert_eq!(why.len(), 1, "{why:?}");
    let found = compare(&a, &a, &Options { anyway: true, ..OPTIONS }).unwrap();
    assert_eq!(found.notes, why);
    let several = Side { name: "C".into(), runs: [a.runs.clone(), side("B", &[]).runs].concat() };
    assert!(compare(&several, &a, &OPTIONS).is_err());
}

#[test]
fn marks_of_either_side_and_optional_stopping_stand_in_the_comparison() {
    let (mut a, mut b) = (side("A", &[vec![1.0; 6]]), side("B", &[vec![1.0; 6]]));
    a.runs[0].run.evidence.marks.clear();
    b.runs[0].run.evidence.marks[0].seen = "all of it was in memory".into();
    a.runs[0].run.sweep =
        Some(model::sweep::Sweep { until_ci: Some(0.02), ..model::sweep::Sweep::default() });
    let found = compare(&a, &b, &OPTIONS).unwrap();
    let marks: Vec<_> = found.marks.iter().map(|mark| (mark.side, &mark.code[..])).collect();
    assert_eq!(marks, [("B", "cached-reads")]);
    assert_eq!(found.notes.len(), 1, "{found:?}");
    let text = "B: cached-reads: all of it was in memory";
    assert!(shown(&found, Detail::Full).contains(text), "{found:?}");
    assert!(show::markdown(&found, Detail::Full).contains(text), "{found:?}");
    assert!(shown(&found, Detail::Short).contains("! B: memory speed, not disk"), "{found:?}");
    // What both sides have is there once.
    (a.runs[0].run.sweep, a.runs[0].run.evidence.marks) =
        (None, b.runs[0].run.evidence.marks.clone());
    let table = shown(&compare(&a, &b, &OPTIONS).unwrap(), Detail::Full);
    assert_eq!(table.matches("cached-reads").count(), 1, "{table}");
    assert!(table.contains("A and B: cached-reads: "), "{table}");
    let table = shown(&compare(&a, &b, &OPTIONS).unwrap(), Detail::Short);
    assert!(table.contains("! A and B: memory speed"), "{table}");
}

/// Runs of one repetition each are repetitions of their side; times are better when smaller.
#[test]
fn several_runs_are_repetitions_and_less_time_is_faster() {
    let of = |scale: f64| -> Vec<Run> {
        let one = |at: u32| {
            let mut made = listing1();
            made.labels.clear();
            made.rows.retain(|row| row.op == "stat");
            made.rows[0].ops_s = None;
            made.rows[0].mean_ns = Some(scale * (800.0 + f64::from(at * 5 % 7)));
            made
        };
        (0..6).map(one).collect()
    };
    let (a, b) =
        (Side { name: "A".into(), runs: of(1.0) }, Side { name: "B".into(), runs: of(0.5) });
    let found = compare(&a, &b, &OPTIONS).unwrap();
    let stat = &found.rows[0];
    assert_eq!((stat.base_n, stat.claim, stat.metric), (6, Claim::Faster, Metric::MeanNs));
    assert_eq!((stat.speedup * 100.0).round(), 200.0);
    let table = shown(&found, Detail::Full);
    let line = table.lines().find(|line| line.contains("mean time, ns")).unwrap();
    assert!(line.contains("803.5") && line.contains("401.8"), "{line}");
}

/// Pairs of runs that are compared to count false claims.
const PAIRS: u64 = 2000;

/// A difference in one quantity of runs one after the other, as a comparison finds it, without the cost of runs
/// and intervals.
fn is_claimed(contrast: &Contrast, memo: &mut Memo) -> bool {
    contrast.p_beyond(1.0 + Design::Samples.min_effect(), memo) < SIGNIFICANCE
}

/// The same of blocks.
fn is_claimed_in_blocks(contrast: &Contrast, memo: &mut Memo) -> bool {
    let ratio = contrast.ratio();
    contrast.p(memo) < SIGNIFICANCE && ratio.max(1.0 / ratio) - 1.0 > Design::Blocks.min_effect()
}

/// The share of [`PAIRS`] that come out as different.
fn alarms(is_alarm: impl Fn(u64, &mut Memo) -> bool) -> f64 {
    let mut memo = Memo::default();
    (0..PAIRS).filter(|pair| is_alarm(*pair, &mut memo)).count() as f64 / PAIRS as f64
}

/// Runs made one after the other keep the promise of 5 %, also if neighbours depend on each other and the second
/// run is `shift` faster without a cause.
#[test]
fn the_same_thing_twice_is_rarely_called_different() {
    for (phi, share, reps, shift) in [
        (0.0, 0.05, 10, 0.0),
        (0.0, 0.02, 10, 0.03),
        (0.2, 0.02, 10, 0.03),
        (0.4, 0.02, 10, 0.03),
        (0.4, 0.02, 20, 0.03),
        (0.4, 0.05, 10, 0.0),
    ] {
        let found = alarms(|pair, memo| {
            let rates = |side: u64, centre: f64| {
                Noise::new(pair * 2 + side, phi).rates(reps, centre, share)
            };
            let (a, b) = (rates(0, 100.0), rates(1, 100.0 * (1.0 + shift)));
            is_claimed(&Contrast::samples(&a, &b), memo)
        });
        assert!(found <= 0.05, "phi {phi}, noise {share}, {reps}, shift {shift}: {found}");
    }
}

/// Blocks of A and B: noise that depends on its neighbours, however much, and a drift of the
/// machine by a fifth make no more false claims than 5 %.
#[test]
fn blocks_keep_the_promise_whatever_the_noise() {
    for (phi, share, drift) in
        [(0.0, 0.03, 0.0), (0.4, 0.03, 0.0), (0.4, 0.05, 0.0), (0.8, 0.05, 0.2), (0.95, 0.03, 0.2)]
    {
        let found = alarms(|pair, memo| {
            let (a, b) = in_blocks(pair, 10, phi, share, drift, 1.0);
            is_claimed_in_blocks(&Contrast::blocks(&a, &b), memo)
        });
        assert!(found <= 0.05, "phi {phi}, noise {share}, drift {drift}: {found}");
    }
}

/// Rates of a machine that drifts: two executions a block, a coin says which comes first.
fn in_blocks(
    seed: u64,
    blocks: usize,
    phi: f64,
    share: f64,
    drift: f64,
    factor: f64,
) -> (Vec<f64>, Vec<f64>) {
    let rates = Noise::new(seed, phi).rates(2 * blocks, 100.0, share);
    let drifted = |at: usize| rates[at] * (1.0 + drift * at as f64 / (2 * blocks) as f64);
    let mut coin = SplitMix64(seed ^ 0xc0_1111);
    let block = |block: usize| {
        let (first, second) = (drifted(2 * block), drifted(2 * block + 1));
        let (a, b) = if coin.below(2) == 0 { (first, second) } else { (second, first) };
        (a, b * factor)
    };
    (0..blocks).map(block).unzip()
}

/// Several labels at a time: one wrong claim in any of them counts.
#[test]
fn several_rows_are_not_a_licence_for_false_alarms() {
    let found = alarms(|pair, memo| {
        let contrast = |row: u64| {
            let rates =
                |side: u64| Noise::new(pair * 6 + side * 3 + row, 0.2).rates(10, 50.0, 0.02);
            Contrast::samples(&rates(0), &rates(1))
        };
        let all: Vec<Contrast> = (0..3).map(contrast).collect();
        let p: Vec<f64> = all.iter().map(|one| one.p(memo)).collect();
        let families: Vec<Family> =
            (0..p.len()).map(|at| Family { opening: vec![at], below: Vec::new() }).collect();
        let decisions = decide(&p, &families, SIGNIFICANCE).into_iter().flatten();
        let differs = decisions.map(|decision| decision.adjusted_p < SIGNIFICANCE);
        all.iter().zip(differs).any(|(one, differs)| differs && is_claimed(one, memo))
    });
    assert!(found <= 0.07, "{found}");
}

/// 2 % and 3 % noise, neighbours independent and not: 5 % in blocks, 10 % between runs.
#[test]
fn slow_downs_are_found() {
    for (phi, share, least) in [(0.0, 0.02, 190), (0.0, 0.03, 160), (0.3, 0.02, 180)] {
        let memo = &mut Memo::default();
        let of_samples = |pair: &u64, memo: &mut Memo| {
            let rates = |side: u64, centre: f64| {
                Noise::new(pair * 2 + 9000 + side, phi).rates(10, centre, share)
            };
            is_claimed(&Contrast::samples(&rates(0, 100.0), &rates(1, 90.0)), memo)
        };
        let found = (0..200u64).filter(|pair| of_samples(pair, memo)).count();
        assert!(found >= least, "runs, phi {phi}, noise {share}: {found}");
        let mut in_blocks = |pair: &u64| {
            let (a, b) = in_blocks(*pair, 10, phi, share, 0.2, 0.95);
            is_claimed_in_blocks(&Contrast::blocks(&a, &b), memo)
        };
        let found = (0..200u64).filter(&mut in_blocks).count();
        assert!(found >= 160, "blocks, phi {phi}, noise {share}: {found}");
    }
}

/// Cells 0 and 1 of one run; each side has its marks, its value and nothing of the other.
#[test]
fn a_run_of_blocks_is_split_into_its_sides() {
    let mut run = crate::tests::sample::sweep(2, 6);
    run.run.sweep.as_mut().unwrap().versus = true;
    run.run.evidence.marks[0].seen = "first at block=64k, repetition 3: slow".into();
    let (a, b) = split(&run).unwrap();
    assert_eq!((&a.name[..], &b.name[..]), ("block=4k", "block=64k"));
    let marks = |side: &Side| side.runs[0].run.evidence.marks.len();
    assert_eq!((marks(&a), marks(&b)), (0, 1));
    let found = within(&run, &Options::default()).unwrap();
    let time = &found.rows[0];
    assert_eq!((found.design, time.base_n, time.claim), (Design::Blocks, 6, Claim::TooFew));
    let text = "with 2 tests at least 7";
    assert!(time.sentence.contains(text), "{time:?}");
    // What the run says as a whole.
    let mut a = a;
    assert_eq!(compare_blocks(&a, &b, &OPTIONS).remarks, Vec::<String>::new());
    a.runs[0].run.sweep.as_mut().unwrap().shared_device = Some(SharedDevice::Swapped);
    let remarks = compare_blocks(&a, &b, &OPTIONS).remarks;
    assert!(remarks[0].contains("on one device"), "{remarks:?}");
    // A block without its A is left out.
    run.run.sweep.as_mut().unwrap().order[1].outcome = "failed".into();
    let found = within(&run, &Options::default()).unwrap();
    assert_eq!(found.rows[0].base_n, 5);
    assert_eq!(found.notes.len(), 1, "{:?}", found.notes);
    assert!(split(&crate::tests::sample::sweep(2, 6)).is_none());
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
fn gates_pass_fail_or_are_undecided() {
    let spread = |centre: f64| -> Vec<f64> {
        [0.99, 1.01, 1.0, 0.985, 1.015].iter().map(|part| part * centre).collect()
    };
    let base = side("A", &[spread(100.0), spread(50.0)]);
    let new = side("B", &[spread(97.0), spread(40.0)]);
    for (gate, verdict, words) in [
        ("phase 0:write.mib_s >= 0.9", Verdict::Pass, "0.970 (0.9"),
        ("phase 0:write.mib_s >= 0.97", Verdict::Undecided, "(0.9"),
        ("phase 0:write.mib_s >= 1.1", Verdict::Fail, "0.970"),
        ("write.mib_s >= 0.9", Verdict::Fail, "0.800"),
        ("write.p99_ns <= 1", Verdict::Pass, "1.000"),
        ("stat.mean_ns <= 1", Verdict::Fail, "phase 0:write and phase 1:write"),
    ] {
        let result = Gate::parse(gate).unwrap().judge(&base, &new, Design::Samples);
        assert_eq!(result.verdict, verdict, "{result:?}");
        assert!(result.reasons.join(" ").contains(words), "{result:?}");
    }
    let unknown = |gate: &str| Gate::parse(gate).unwrap().unknown(&base, &new);
    assert_eq!(unknown("write.mib_s >= 90 %"), None);
    let found = unknown("wirte.mib_s >= 90 %").unwrap();
    assert_eq!(
        (found.what, &found.name[..], found.known),
        ("operation", "wirte", vec!["write".to_string()])
    );
    let found = unknown("fase:write.mib_s >= 0.9").unwrap();
    assert_eq!((found.what, found.known.len()), ("label", 2));
    let single = side("C", &[vec![100.0]]);
    let result = Gate::parse("write.mib_s > 0.1").unwrap().judge(&base, &single, Design::Samples);
    assert_eq!(result.verdict, Verdict::Undecided);
    assert!(result.reasons[0].contains("5 and 1"), "{result:?}");
    assert!(Verdict::Undecided.fails(true) && !Verdict::Undecided.fails(false));
}

/// Gates of a tolerance of 5 % on 200 pairs of the same thing: with noise of 5 % hardly any fails
/// (two dozen of 60 did when medians alone decided), with 2 % most pass.
#[test]
fn gates_on_the_same_thing_twice_do_not_fail() {
    let gate = Gate::parse("write.mib_s >= 0.95").unwrap();
    for (share, least_passing) in [(0.05, 20), (0.02, 180)] {
        let mut verdicts = [0; 3];
        for pair in 0..200u64 {
            let rates = |side: u64| Noise::new(pair * 2 + side, 0.2).rates(10, 100.0, share);
            let (a, b) = (side("A", &[rates(0)]), side("B", &[rates(1)]));
            verdicts[gate.judge(&a, &b, Design::Samples).verdict as usize] += 1;
        }
        let [passing, _, failing] = verdicts;
        assert!(failing <= 5 && passing >= least_passing, "noise {share}: {verdicts:?}");
    }
}

/// Every row has its pictures, whatever the names.
#[test]
fn pictures_show_both_sides() {
    for label in ["load", "<script>alert(1)</script>&\"", HARD_LABELS[3]] {
        let rates = |centre: f64| vec![(0..6).map(|at| centre + f64::from(at % 3)).collect()];
        let (mut base, mut new) = (side(label, &rates(100.0)), side("B", &rates(130.0)));
        for row in base.runs.iter_mut().chain(&mut new.runs).flat_map(|run| &mut run.rows) {
            row.label = label.to_string();
        }
        for row in base.runs.iter_mut().chain(&mut new.runs).flat_map(|run| &mut run.labels) {
            row.label = label.to_string();
        }
        let found = compare(&base, &new, &OPTIONS).unwrap();
        let views = show::views(&base, &new, &found);
        let names: Vec<&str> = views.iter().map(|view| view.name.as_str()).collect();
        assert_eq!(names, ["ratios", "repetitions-0", "latencies-0"]);
    }
}

#[test]
fn every_format_survives_hostile_names() {
    let long = "l|\"<&".repeat(60);
    for label in HARD_LABELS.iter().chain([&long.as_str()]) {
        let mut base = side(label, &[vec![100.0; 5]]);
        base.runs[0].rows.iter_mut().for_each(|row| row.label = label.to_string());
        base.runs[0].labels.iter_mut().for_each(|row| row.label = label.to_string());
        base.runs[0].run.evidence.marks[0].seen = label.to_string();
        let anyway = Options { anyway: true, ..OPTIONS };
        let mut found = compare(&base, &base, &anyway).unwrap();
        let (verdict, reasons) = (Verdict::Fail, vec![long.clone()]);
        let gate = GateResult { gate: label.to_string(), verdict, reasons };
        found.gates.push(gate);
        let value: serde_json::Value = serde_json::from_str(&crate::json::object(&found)).unwrap();
        assert_eq!(value["rows"][0]["label"], **label);
        for detail in [Detail::Short, Detail::Full] {
            for text in [shown(&found, detail), show::markdown(&found, detail)] {
                assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
            }
        }
        let junit = show::junit(&[found], true);
        let xml =
            roxmltree::Document::parse(&junit).unwrap_or_else(|error| panic!("{error}: {junit}"));
        let case = xml.descendants().find(|node| node.has_tag_name("testcase")).unwrap();
        assert_eq!(case.attribute("name"), Some(crate::text::escape(label).as_str()));
        assert!(case.children().any(|child| child.has_tag_name("failure")));
    }
}
