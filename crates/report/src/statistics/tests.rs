//! Figures over repetitions: which executions enter them, and what is said of them.

use super::*;
use crate::tests::sample;
use model::sweep::Execution;

fn figure<'a>(found: &'a [Statistic], label: &str, op: &str, metric: Metric) -> &'a Statistic {
    let is = |s: &&Statistic| s.label == label && s.op == op && s.metric == metric && s.cell == 1;
    found.iter().find(is).expect("a statistic")
}

#[test]
fn every_row_has_its_figure_over_the_repetitions() {
    let found = of(&sample::sweep(2, 10));
    // MiB/s of cell 1 is 200 and a little more with every repetition; see sample::sweep.
    let write = figure(&found, "io", "write", Metric::MibS);
    assert_eq!((write.n, write.median), (10, 204.5));
    assert!(write.ci95_low.unwrap() < 204.5 && write.ci95_high.unwrap() > 204.5);
    let stat = figure(&found, "io", "stat", Metric::OpsS);
    let label = figure(&found, "io", "", Metric::TimeNs);
    assert_eq!(label.median, 1e9 / 2.0 + 4.5e6);
    assert_eq!(stat.n, 10);
    assert_eq!(figure(&found, "io", "stat", Metric::MeanNs).mean, 1000.0);
    assert_eq!(found[0].metric, Metric::TimeNs, "the label comes before its operations");
    assert!(of(&sample::listing1()).is_empty());
}

#[test]
fn what_did_not_finish_is_left_out() {
    let mut run = sample::sweep(1, 6);
    let order = &mut run.run.sweep.as_mut().unwrap().order;
    order[5].outcome = "interrupted".into();
    let found = of(&run);
    assert!(found.iter().all(|statistic| statistic.n == 5));
    order_is_kept(&run.run.sweep.unwrap().order);
}

fn order_is_kept(order: &[Execution]) {
    assert_eq!(order.len(), 6, "the execution itself is told");
}
