//! Folded programs for other numbers of ranks and other sizes, where their text allows it.

use super::apart;
use crate::error::{Error, Result};
use fold::Folded;
use model::units::parse_integer_text;

/// Multiplies parameters; what a size is a factor of follows.
///
/// # Errors
/// There is no such parameter; a place in a file does not follow it; the program fails then, or ranks
/// write what only one of them wrote.
pub fn scaled(mut folded: Folded, factors: &[(String, f64)], ranks: u32) -> Result<Folded> {
    if factors.is_empty() {
        return Ok(folded);
    }
    let failed = |why| Error::input(format!("--scale: the program fails as it is: {why}"));
    let before = apart::writes(&folded, ranks, u64::MAX).map_err(failed)?;
    for (name, factor) in factors {
        let Some((_, value)) = folded.params.iter().find(|(known, _)| *known == format!("${name}"))
        else {
            return Err(no_such(name, &folded));
        };
        let fixed = folded.fixed.sizes.iter().find(|(size, _)| size == name);
        if let Some((_, place)) = fixed {
            let why = format!("--scale {name}: a place in a file does not follow it: ({place})");
            return Err(Error::input(why).help("change the text by hand, or scale another one"));
        }
        let new = product(*value, *factor)
            .map_err(|why| Error::input(format!("--scale {name}={factor}: {value} {why}")))?;
        folded.text = with_param(&folded.text, name, (new, *factor));
    }
    let failed = |why| Error::input(format!("--scale: the program fails then: {why}"));
    match apart::writes(&folded, ranks, before.most()).map_err(failed)?.other_than(&before) {
        None => Ok(folded),
        Some(why) => Err(Error::input(format!("--scale: then {why}"))
            .help("change the text by hand, or scale another parameter")),
    }
}

fn no_such(name: &str, folded: &Folded) -> Error {
    let known: Vec<&str> = folded.params.iter().map(|(name, _)| &name[1..]).collect();
    let help = match known.is_empty() {
        true => "it has none".into(),
        false => format!("it has {}", known.join(", ")),
    };
    Error::input(format!("--scale {name}: the program has no such parameter")).help(help)
}

/// A number of iterations or bytes times a factor, or why there is none.
fn product(value: i64, factor: f64) -> std::result::Result<i64, &'static str> {
    /// Beyond this, not every whole number is one of 64-bit floating point.
    const EXACT_MAX: f64 = (1_u64 << 53) as f64;
    let exact = value as f64 * factor;
    let whole = exact.round();
    match () {
        () if whole > EXACT_MAX => Err("times that is too large"),
        // Factors like 0.1 are not exact themselves.
        () if whole < 1.0 || (exact - whole).abs() > whole * 1e-12 => {
            Err("times that is no whole number")
        }
        () => Ok(whole as i64),
    }
}

/// The text with a parameter of this value, that of the run times a factor, which it says.
fn with_param(text: &str, name: &str, (value, factor): (i64, f64)) -> String {
    let start = format!("param ${name} = ");
    let line = |line: &str| match line.strip_prefix(&start).and_then(|rest| rest.split_once(';')) {
        Some((old, rest)) if parse_integer_text(old.as_bytes()).is_some() => {
            let rest = if rest.contains("///") { format!("{rest},") } else { " ///".into() };
            let value = fold::expr::bytes(value);
            format!("{start}{value};{rest} {factor} times that of the run\n")
        }
        _ => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

/// Makes sure that the program runs on so many ranks, which are apart where those of the run are.
///
/// # Errors
/// It names ranks; it fails then; names become negative; ranks write where others do.
pub fn for_ranks(folded: &Folded, ranks: u32, own_ranks: u32) -> Result<()> {
    if ranks == own_ranks {
        return Ok(());
    }
    if let Some(why) = &folded.fixed.ranks {
        return Err(Error::input(format!("--ranks {ranks}: the program names ranks: {why}"))
            .help("change the text by hand"));
    }
    let failed = |why| Error::input(format!("--ranks {ranks}: the program fails then: {why}"));
    let as_recorded = apart::writes(folded, own_ranks, u64::MAX).map_err(failed)?;
    match apart::writes(folded, ranks, as_recorded.most()).map_err(failed)?.other_than(&as_recorded)
    {
        None => Ok(()),
        Some(why) => Err(Error::input(format!("--ranks {ranks}: {why}"))
            .help("the run does not show what more ranks would do there; change the text by hand")),
    }
}
