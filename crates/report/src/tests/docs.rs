//! The pages in docs/ that speak of this crate, held against the code.

use crate::events::{COLUMNS, Column};
use crate::ops;
use crate::text::flow;
use model::run::{LabelRow, Row, TimeRow};
use std::path::PathBuf;

fn page_path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)
}

fn page(name: &str) -> String {
    std::fs::read_to_string(page_path(name)).unwrap()
}

/// Blocks of the page in this language.
fn blocks<'a>(page: &'a str, language: &str) -> Vec<&'a str> {
    let start = format!("```{language}\n");
    page.split(&start).skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

#[test]
fn the_event_columns_are_documented_as_they_are() {
    let page = page("run-format.md");
    let item = |column: &Column| {
        let text = format!("- `{}` ({}): {}", column.name, column.type_name(), column.doc);
        flow(&text, 120) + "\n"
    };
    let list: String = COLUMNS.iter().map(item).collect();
    assert!(page.contains(&format!("\n\n{list}\n")), "docs/run-format.md must say\n{list}");
}

#[test]
fn the_examples_are_true() {
    let page = page("run-format.md");
    let blocks = blocks(&page, "json");
    let row: Row = serde_json::from_str(blocks[0]).unwrap();
    let label: LabelRow = serde_json::from_str(blocks[1]).unwrap();
    let time: TimeRow = serde_json::from_str(blocks[2]).unwrap();
    let mib = row.bytes as f64 / 1048576.0;
    let busy_s = row.count as f64 * row.mean_ns.unwrap() / 1e9;
    assert_eq!(label.busy_ns, time.last_end_ns - time.first_start_ns);
    let label_s = label.busy_ns as f64 / 1e9;
    assert_eq!(row.rank_mib_s, Some(mib / busy_s));
    assert_eq!(row.mib_s, Some(mib / label_s));
    assert_eq!(row.rank_ops_s, Some(row.count as f64 / busy_s));
    assert_eq!(row.ops_s, Some(row.count as f64 / label_s));
    assert_eq!((&time.label, &label.label), (&row.label, &row.label));
    for percentile in [row.p50_ns, row.p90_ns, row.p99_ns, row.p999_ns].map(Option::unwrap) {
        let bucket = model::histogram::bucket(percentile);
        assert_eq!(model::histogram::bucket_mid(bucket), percentile, "a bucket's midpoint");
    }
}

#[test]
fn every_field_of_a_row_stands_in_the_page() {
    let page = page("run-format.md");
    let row = serde_json::to_value(Row::default()).unwrap();
    let fields: Vec<&String> = row.as_object().unwrap().keys().collect();
    assert!(fields.iter().all(|field| page.contains(field.as_str())));
}

#[test]
fn buckets_start_where_the_page_says() {
    for bucket in 64..2000usize {
        let low = (64 + bucket as u64 % 64) << (bucket / 64 - 1);
        assert_eq!(model::histogram::bucket_low(bucket), low);
    }
}

/// The page is generated: `UPDATE_EXPECT=1 cargo test -p parabench-report` writes it anew.
#[test]
fn the_manual_of_operations_is_that_of_the_table() {
    expect_test::expect_file![page_path("operations.md")].assert_eq(&ops::markdown());
}

/// So are the lists of functions, internal variables and options in the reference of the language.
#[test]
fn the_reference_lists_the_words_of_the_tables() {
    let page = page("language.md");
    assert_eq!(page.matches("<!-- end -->").count(), 3);
    expect_test::expect_file![page_path("language.md")].assert_eq(&ops::with_lists(&page));
}
