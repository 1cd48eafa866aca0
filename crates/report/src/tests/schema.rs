//! The schemas in docs/ are those of the types: `UPDATE_EXPECT=1 cargo test -p parabench-report schema` writes
//! them.

use crate::compare::Comparison;
use crate::fidelity::Fidelity;
use crate::json::View;
use expect_test::expect_file;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde_json::{Value, json};

/// Objects have no other fields, and descriptions are plain text instead of Rust documentation.
fn tidy(schema: &mut Schema) {
    if schema.get("properties").is_some() {
        schema.insert("additionalProperties".into(), json!(false));
    }
    let most = match schema.remove("format").as_ref().and_then(Value::as_str) {
        Some("uint32") => Some(u64::from(u32::MAX)),
        Some("uint64") => Some(u64::MAX),
        _ => None,
    };
    if let Some(most) = most {
        schema.insert("maximum".into(), json!(most));
    }
    if let Some(Value::String(text)) = schema.get_mut("description") {
        *text = text.replace("[`", "`").replace("`]", "`").replace('\n', " ");
    }
}

fn schema<T: JsonSchema>(name: &str, title: &str, about: &str) -> String {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let mut schema = settings
        .with_transform(RecursiveTransform(tidy))
        .into_generator()
        .into_root_schema_for::<T>();
    let address =
        format!("https://github.com/parabench/parabench/blob/main/docs/{name}.schema.json");
    for (key, text) in [("$id", address.as_str()), ("title", title), ("description", about)] {
        schema.insert(key.into(), json!(text));
    }
    serde_json::to_string_pretty(&schema).expect("a schema is JSON") + "\n"
}

#[test]
fn schema_of_runs() {
    let about = "The object that `parabench run --format json` prints and that `--out DIR` stores as DIR/run.json. \
        Definitions of rows, times and rates: docs/run-format.md. Units stand last in the names; times are \
        nanoseconds.";
    let schema = schema::<View<'_>>("run", "A run of Parabench", about);
    expect_file!["../../../../docs/run.schema.json"].assert_eq(&schema);
}

#[test]
fn schema_of_comparisons() {
    let about = "What `parabench compare --format json` prints: one such object for each comparison, on a line of \
        its own.";
    let schema = schema::<Comparison>("compare", "Comparison of two sides", about);
    expect_file!["../../../../docs/compare.schema.json"].assert_eq(&schema);
}

#[test]
fn schema_of_fidelity() {
    let about =
        "What `parabench fidelity --format json` prints: how far a replay is from an original.";
    let schema = schema::<Fidelity>("fidelity", "Fidelity of a replay", about);
    expect_file!["../../../../docs/fidelity.schema.json"].assert_eq(&schema);
}
