//! Tests of plans: what they do, what they look like.
//!
//! [`tree`] and [`plan`] are two interpreters that have nothing in common: one walks the
//! tree, one executes the plan. Both write down what a rank does, so that they can be
//! compared. `tree.rs` stands alone, so that other crates can include it.

mod definitions;
mod examples;
mod extents;
mod folding;
mod generate;
mod golden;
mod interpreters;
mod kinds;
mod pieces;
mod plan;
mod tree;

/// Cases of each property, more with `PROPTEST_CASES=n`.
fn cases() -> proptest::test_runner::Config {
    cases_of(300)
}

/// The same for a property whose cases are cheap.
fn cases_of(usual: u32) -> proptest::test_runner::Config {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok());
    let failure_persistence = None;
    proptest::test_runner::Config {
        failure_persistence,
        ..proptest::test_runner::Config::with_cases(cases.unwrap_or(usual))
    }
}
