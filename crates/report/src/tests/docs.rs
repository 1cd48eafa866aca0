//! The pages in docs/ that speak of this crate, held against the code.

use crate::events::{COLUMNS, Column};
use crate::ops::{CLASSES, Word, facts, of_class, paragraph, signature, words};
use crate::text::flow;
use model::op::{OPS, Op};
use model::run::{LabelRow, Row, TimeRow};
use model::with::{OPTIONS, OptionRow, Takers};
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
    let manual = markdown();
    for row in OPS {
        assert_eq!(manual.matches(&format!("\n### {}\n", row.name)).count(), 1);
        assert!(manual.contains(&format!("- example: `{}`\n", row.example)), "{}", row.name);
    }
    expect_test::expect_file![page_path("operations.md")].assert_eq(&manual);
}

/// So are the lists of functions, internal variables and options in the reference of the language.
#[test]
fn the_reference_lists_the_words_of_the_tables() {
    let page = page("language.md");
    assert_eq!(page.matches("<!-- end -->").count(), 3);
    expect_test::expect_file![page_path("language.md")].assert_eq(&with_lists(&page));
}

/// The whole table as a Markdown page.
fn markdown() -> String {
    let mut out = String::from(
        "# Operations\n\n\
         Generated from the tables of the language (`crates/model/src/{op,function,internal,with}.rs`). `[x=d]` may be left\n\
         out; d then holds.\n\
         Sizes and offsets are bytes; suffixes `k m g t` are powers of 1024.\n\n\
         Where an operation names errors under *lacking*, a file system says by them that it has no such operation: they\n\
         count as expected, not as failed, and a remark of the run names the operation.\n",
    );
    for (class, heading) in CLASSES {
        out.push_str(&format!("\n## {heading}\n"));
        for row in of_class(class) {
            let doc = paragraph(row.doc, 0, 120);
            out.push_str(&format!("\n### {}\n\n`{}`\n\n{doc}\n", row.name, signature(row)));
            for (term, text) in facts(row) {
                let code = if term == "example" { "`" } else { "" };
                out.push_str(&format!("- {term}: {code}{text}{code}\n"));
            }
        }
    }
    for (heading, words) in words() {
        out.push_str(&format!("\n## {heading}\n"));
        for word in words {
            out.push_str(&format!("\n### {}\n\n{}", word.form, paragraph(word.doc, 0, 120)));
        }
    }
    out
}

/// A page whose lists of functions, internal variables and options are made anew: each stands between
/// a line `<!-- Functions of expressions -->`, its heading, and a line `<!-- end -->`.
fn with_lists(page: &str) -> String {
    let item = |word: &Word| {
        let option = OPTIONS.iter().find(|row| row.form == word.form);
        let facts = option.map_or(String::new(), option_facts);
        flow(&format!("- `{}`: {}{facts}", word.form, word.doc), 120) + "\n"
    };
    words().into_iter().fold(page.to_string(), |page, (heading, words)| {
        let begin = format!("<!-- {heading} -->\n");
        let Some((before, rest)) = page.split_once(&begin) else { return page };
        let Some((_, after)) = rest.split_once("<!-- end -->\n") else { return page.clone() };
        let list: String = words.iter().map(item).collect();
        format!("{before}{begin}{list}<!-- end -->\n{after}")
    })
}

/// Default of an option, and the operations that take it.
fn option_facts(row: &OptionRow) -> String {
    let names = |ops: &[Op]| ops.iter().map(|op| op.name()).collect::<Vec<_>>().join(" ");
    let takers = match row.takers {
        Takers::Paths => "all that name files, `sync`".to_string(),
        Takers::Io => "all I/O".to_string(),
        Takers::Ops(ops) => format!("`{}`", names(ops)),
        Takers::Words(words) => {
            let of = |(word, ops): &(&str, &[Op])| format!("`\"{word}\"` by `{}`", names(ops));
            words.iter().map(of).collect::<Vec<_>>().join(", ")
        }
    };
    let default = row.off.first().filter(|word| !word.is_empty());
    let default = default.map_or(String::new(), |word| format!(" Default: `{word}`."));
    let by = if matches!(row.takers, Takers::Words(_)) { "" } else { "by " };
    format!("{default} Taken {by}{takers}.")
}
