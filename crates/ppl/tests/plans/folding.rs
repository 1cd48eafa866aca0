//! Folding and executing give the same value or the same error, for all operators and pure functions.
//!
//! ```text
//! $a = "5.5"; print abs($a);                     folded: 5.5
//! $l = []; $l = ["5.5"]; print abs($l[0]);       executed: 5.5
//! ```

use crate::plan;
use model::Plan;
use model::function::FUNCTIONS;
use ppl::source::NoIncludes;
use ppl::{Binding, compile};
use proptest::prelude::*;

/// Values of every type that a program can write, among them those at which operators end.
const VALUES: &[&str] = &[
    "0",
    "1",
    "(-1)",
    "2",
    "7",
    "63",
    "64",
    "1k",
    "9223372036854775807",
    "(-9223372036854775807 - 1)",
    "0.0",
    "0.5",
    "(-2.5)",
    "1e300",
    "true",
    "false",
    "0ns",
    "5ms",
    "(-3s)",
    "(-9223372036854775807ns - 1ns)",
    "\"\"",
    "\"5.5\"",
    "\"-5.5\"",
    "\"10\"",
    "\"9\"",
    "\"-3\"",
    "\"64k\"",
    "\" 7 \"",
    "\"a\"",
    "\"b\"",
    "\"true\"",
    "\"5ms\"",
    "\"9223372036854775808\"",
    "[]",
    "[1, \"a\", [2.5]]",
    "[5ms]",
];

const OPERATORS: &[&str] =
    &["||", "&&", "==", "!=", "<", "<=", ">", ">=", "+", "-", "%", "*", "/", "^"];

/// What `print EXPRESSION` shows, or why it cannot; `values` are its constants `{0}`, `{1}`, `{2}`.
/// They are variables, because `+` joins a text in quotes to anything.
fn folded(form: &str, values: [&str; 3]) -> Result<String, String> {
    let [a, b, c] = values;
    let text = filled(form, ["$a", "$b", "$c"]);
    outcome(format!("$a = {a}; $b = {b}; $c = {c}; print {text};"), true)
}

/// The same with values that nobody knows before the run.
fn executed(form: &str, values: [&str; 3]) -> Result<String, String> {
    let [a, b, c] = values;
    let text = filled(form, ["$a", "$b", "$c"]);
    outcome(
        format!("$l = []; $l = [{a}, {b}, {c}]; $a = $l[0]; $b = $l[1]; $c = $l[2]; print {text};"),
        false,
    )
}

fn filled(form: &str, values: [&str; 3]) -> String {
    let [a, b, c] = values;
    form.replace("{0}", a).replace("{1}", b).replace("{2}", c)
}

fn outcome(text: String, is_folded: bool) -> Result<String, String> {
    let compiled = compile("test.ppl", text.clone().into(), &mut NoIncludes, &Binding::new(1));
    let Some(made) = compiled.plan else { return Err(compiled.diagnostics[0].message.clone()) };
    // A variable that is set once is a constant, too.
    assert_eq!(is_folded, is_constant(&made), "{text}: {}", ppl::listing(&made));
    match plan::run(&made, 0) {
        (lines, Ok(_)) => Ok(lines.join("\n")),
        (_, Err(error)) => Err(error.to_string()),
    }
}

/// The program is one statement: `print` and the end.
fn is_constant(plan: &Plan) -> bool {
    plan.code.len() == 2
}

/// All forms of one operator or function.
fn forms() -> Vec<String> {
    let mut forms: Vec<String> =
        ["-{0}", "!{0}", "{0}[{1}]", "[{0}, {1}]"].map(String::from).into();
    forms.extend(OPERATORS.iter().map(|op| format!("{{0}} {op} {{1}}")));
    for row in FUNCTIONS.iter().filter(|row| row.is_pure()) {
        let arguments = (1..=3).filter(|count| row.takes(*count));
        forms.extend(arguments.map(|count| {
            let args: Vec<String> = (0..count).map(|at| format!("{{{at}}}")).collect();
            format!("{}({})", row.name, args.join(", "))
        }));
    }
    forms
}

/// What differs.
fn difference(form: &str, values: [&str; 3]) -> Option<String> {
    let (folded, executed) = (folded(form, values), executed(form, values));
    // Static types refuse what every value of them would refuse, in other words.
    const BY_TYPE: [&str; 3] =
        ["expected a condition (a boolean", "expected a list before", "expected an integer index"];
    let by_type = |error: &String| BY_TYPE.iter().any(|words| error.starts_with(words));
    let refused = |found: &Result<String, String>| found.as_ref().is_err_and(by_type);
    let agree = folded == executed || refused(&folded) && executed.is_err();
    (!agree).then(|| format!("{}: {folded:?} but {executed:?}", filled(form, values)))
}

#[test]
fn folding_and_executing_agree_on_every_operator_and_function() {
    let mut found = Vec::new();
    for form in forms() {
        for a in VALUES {
            match form.contains("{1}") {
                true => found.extend(VALUES.iter().filter_map(|b| difference(&form, [a, b, "1"]))),
                false => found.extend(difference(&form, [a, "1", "1"])),
            }
        }
    }
    assert!(found.is_empty(), "{} differ:\n{}", found.len(), found.join("\n"));
}

#[test]
fn what_is_added_to_a_text_in_quotes_is_text() {
    for value in VALUES {
        let text = |head: &str, is_folded| {
            outcome(format!("{head} print 1 + 2 + \"7\" + $a + 3;"), is_folded)
        };
        let running = format!("$l = []; $l = [{value}]; $a = $l[0];");
        let (folded, executed) = (text(&format!("$a = {value};"), true), text(&running, false));
        assert_eq!(folded, executed, "{value}");
        assert!(
            folded.is_ok_and(|line| line.starts_with("print 37") && line.ends_with('3')),
            "{value}"
        );
    }
}

#[test]
fn texts_with_constants_are_those_with_variables() {
    for value in VALUES.iter().filter(|value| !value.starts_with('[')) {
        let text =
            |head: &str, is_folded| outcome(format!("{head} print \"<${{a}}>\", -$a;"), is_folded);
        let running = format!("$l = []; $l = [{value}]; $a = $l[0];");
        assert_eq!(text(&format!("param $a = {value};"), true), text(&running, false), "{value}");
    }
}

proptest! {
    #![proptest_config(crate::cases_of(2000))]

    /// Two operators or functions, one in the other: the same value, or both fail.
    #[test]
    fn folding_and_executing_agree(
        outer in prop::sample::select(forms()),
        inner in prop::sample::select(forms()),
        values in prop::array::uniform3(prop::sample::select(VALUES)),
    ) {
        let form = outer.replace("{0}", &format!("({inner})"));
        let (folded, executed) = (folded(&form, values), executed(&form, values));
        match (&folded, &executed) {
            (Err(_), Err(_)) => {}
            _ => prop_assert_eq!(&folded, &executed, "{}", filled(&form, values)),
        }
    }
}
