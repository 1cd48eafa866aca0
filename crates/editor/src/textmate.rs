//! The grammar for editors that colour without a server, in the form of TextMate: made from the tables of the
//! language. `editors/vscode/syntaxes/ppl.tmLanguage.json` is its text.

use model::function::FUNCTIONS;
use model::internal::INTERNALS;
use model::op::OPS;
use model::with::OPTIONS;
use ppl::kinds::KINDS;
use ppl::word::KEYWORDS;
use serde_json::{Value, json};

/// Words that are keywords at some places only.
const MORE_KEYWORDS: [&str; 12] = [
    "by", "groups", "hints", "in", "layout", "level", "pattern", "proc", "step", "sync", "to",
    "until",
];

/// The grammar as JSON, with a line end.
pub fn grammar() -> String {
    let text = serde_json::to_string_pretty(&value());
    text.unwrap_or_default() + "\n"
}

fn value() -> Value {
    let keywords = KEYWORDS.iter().map(|(text, _)| *text).chain(MORE_KEYWORDS);
    let operations = OPS.iter().flat_map(|row| row.aliases.iter().copied().chain([row.name]));
    let functions = FUNCTIONS.iter().map(|row| row.name);
    let kinds = KINDS.iter().map(|row| row.name);
    let options = OPTIONS.iter().map(|row| row.name);
    let internals = INTERNALS.iter().map(|row| row.name).chain(["env"]);
    let rule =
        |name: &str, pattern: String| json!({"name": format!("{name}.ppl"), "match": pattern});
    json!({
        "$schema": "https://raw.githubusercontent.com/martinring/tmlanguage/master/tmlanguage.json",
        "name": "PPL",
        "scopeName": "source.ppl",
        "fileTypes": ["ppl"],
        "patterns": [
            {"include": "#comments"},
            {"include": "#strings"},
            {"include": "#variables"},
            rule("variable.parameter.option", format!(r"\b(?:{})(?=\s*=(?!=))", words(options))),
            rule("keyword.control", format!(r"(?i)\b(?:{})\b", words(keywords))),
            rule("support.function.operation", format!(r"(?i)\b(?:{})\b", words(operations))),
            rule("support.function.builtin", format!(r"\b(?:{})\b(?=\s*\()", words(functions))),
            rule("support.type.pattern", format!(r"\b(?:{})\b(?=\s*\()", words(kinds))),
            rule("constant.language", r"\b(?:true|false|SEEK_SET|SEEK_CUR|SEEK_END)\b".into()),
            rule("constant.numeric", r"\b0o[0-7]+\b|\b\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?:[kmgtpKMGTP](?:iB|B)?|ns|us|ms|s|min|h)?(?:/s)?\b".into()),
            rule("keyword.operator", r"\.\.|&&|\|\||[=!<>]=|[+-]=|[-+*/%^=<>!]".into()),
        ],
        "repository": {
            "comments": {"patterns": [
                {"name": "comment.block.documentation.ppl", "match": "///.*$"},
                {"name": "comment.line.ppl", "match": "(?:#|//).*$"},
                {"name": "comment.block.ppl", "begin": r"/\*", "end": r"\*/"},
            ]},
            "strings": {"patterns": [{
                "name": "string.quoted.double.ppl",
                "begin": "\"",
                "end": "\"|$",
                "patterns": [
                    {"name": "constant.character.escape.ppl", "match": r#"\\(?:["\\nt$]|x[0-9A-Fa-f]{2})"#},
                    {"include": "#variables"},
                ],
            }]},
            "variables": {"patterns": [
                rule("variable.language", format!(r"\$\$(?:{})\b", words(internals))),
                rule("variable.other", r"\$\{\w+(?::\w+)?\}|\$\w+".into()),
            ]},
        },
    })
}

fn words<'a>(all: impl Iterator<Item = &'a str>) -> String {
    let mut all: Vec<&str> = all.collect();
    all.sort_unstable();
    all.dedup();
    all.join("|")
}
