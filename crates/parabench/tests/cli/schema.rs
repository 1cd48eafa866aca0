//! Every JSON object of a run is held against docs/run.schema.json.

use crate::scene::{Done, root};
use jsonschema::Validator;
use serde_json::Value;
use std::sync::OnceLock;

fn validator() -> &'static Validator {
    static VALIDATOR: OnceLock<Validator> = OnceLock::new();
    VALIDATOR.get_or_init(|| {
        let text = std::fs::read_to_string(root().join("docs/run.schema.json")).expect("a schema");
        let schema: Value = serde_json::from_str(&text).expect("JSON");
        jsonschema::validator_for(&schema).expect("a sound schema")
    })
}

/// Holds an object against the schema.
#[track_caller]
pub fn assert_valid(run: &Value) {
    let errors: Vec<String> =
        validator().iter_errors(run).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:#?}");
}

/// Standard output as the one object of a run, valid.
#[track_caller]
pub fn run_object(done: &Done) -> Value {
    let lines = done.out.lines().count();
    assert_eq!(
        lines, 1,
        "one object on one line: {}\n--- err, {:?}\n{}",
        done.out, done.code, done.err
    );
    let run = done.json();
    assert_valid(&run);
    assert_eq!(run["run"]["exit_code"].as_i64(), done.code.map(i64::from), "{run:#}");
    run
}
