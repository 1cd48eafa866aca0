//! Folded programs for other numbers of ranks and other sizes, where their text allows it.

use super::proof::try_out;
use super::writes::Overlap;
use crate::error::{Error, Result};
use model::units::parse_integer_text;
use trace::fold::Folded;

/// Multiplies parameters; what a size is a factor of follows.
///
/// # Errors
/// There is no such parameter; a place in a file does not follow it; the program fails then, or ranks
/// write what only one of them wrote.
pub fn scaled(mut folded: Folded, factors: &[(String, i64)], ranks: u32) -> Result<Folded> {
    if factors.is_empty() {
        return Ok(folded);
    }
    let before = try_out(&folded, ranks).map_err(|why| failed("as it is", &why))?;
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
        let Some(new) = value.checked_mul(*factor) else {
            return Err(Error::input(format!("--scale {name}={factor}: the product is too large")));
        };
        folded.text = with_param(&folded.text, name, (new, *factor));
    }
    let after = try_out(&folded, ranks).map_err(|why| failed("then", &why))?;
    match after.new_overlap(before) {
        None => Ok(folded),
        Some(Overlap { file, at, ranks: (one, other) }) => {
            let file = model::escape::line(&String::from_utf8_lossy(&file));
            let why = format!("then ranks {one} and {other} both write \"{file}\" at byte {at}");
            let help = "in the run no two ranks write the same bytes: change the text by hand";
            Err(Error::input(format!("--scale: {why}")).help(help))
        }
    }
}

fn failed(when: &str, why: &str) -> Error {
    Error::input(format!("--scale: the program fails {when}: {why}"))
}

fn no_such(name: &str, folded: &Folded) -> Error {
    let known: Vec<&str> = folded.params.iter().map(|(name, _)| &name[1..]).collect();
    let help = match known.is_empty() {
        true => "it has none".into(),
        false => format!("it has {}", known.join(", ")),
    };
    Error::input(format!("--scale {name}: the program has no such parameter")).help(help)
}

/// The text with a parameter of this value, that of the run times a factor, which it says.
fn with_param(text: &str, name: &str, (value, factor): (i64, i64)) -> String {
    let start = format!("param ${name} = ");
    let line = |line: &str| match line.strip_prefix(&start).and_then(|rest| rest.split_once(';')) {
        Some((old, rest)) if parse_integer_text(old.as_bytes()).is_some() => {
            let rest = if rest.contains("///") { format!("{rest},") } else { " ///".into() };
            let value = trace::fold::expr::bytes(value);
            format!("{start}{value};{rest} {factor} times that of the run\n")
        }
        _ => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

/// Makes sure that the program runs on so many ranks.
///
/// # Errors
/// It names ranks; it fails then.
pub fn for_ranks(folded: &Folded, ranks: u32) -> Result<()> {
    if let Some(why) = &folded.fixed.ranks {
        return Err(Error::input(format!("--ranks {ranks}: the program names ranks: {why}"))
            .help("change the text by hand"));
    }
    let failed = |why| Error::input(format!("--ranks {ranks}: the program fails then: {why}"));
    try_out(folded, ranks).map(|_| ()).map_err(failed)
}
