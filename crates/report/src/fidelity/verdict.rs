//! One sentence on how faithful a replay is.

use super::{Differences, Execution, Fidelity, Kind};
use model::units::Measure;

/// Says whether operations differ, in what most of all, and what became of the elapsed time.
pub(super) fn sentence(found: &Fidelity) -> String {
    let (Some(original), Some(worst)) = (found.originals.first(), found.worst()) else {
        return "nothing was compared".into();
    };
    format!("{}; {}", operations(found, original, worst), elapsed(found))
}

fn operations(found: &Fidelity, original: &Execution, worst: &Execution) -> String {
    let all = grouped(original.operations);
    let differences = worst.differences.clone().unwrap_or_default();
    let one = format!("{} does", worst.name);
    let who = if found.replays.len() > 1 { "each replay does" } else { &one };
    match differences.operations {
        0 => format!("{who} what {} did, all of its {all} operations", original.name),
        n => format!(
            "{} differs from {} in {} of {all} operations{} ({})",
            worst.name,
            original.name,
            grouped(n),
            // Operations that are extra are none of the original's.
            match differences.extra {
                0 => String::new(),
                _ => format!(" there and {} here", grouped(worst.operations)),
            },
            kinds(&differences).join(", ")
        ),
    }
}

/// "3 missing, 1 with another offset".
pub(super) fn kinds(differences: &Differences) -> Vec<String> {
    let known = Kind::ALL.iter().map(|kind| (*kind, differences.count(*kind)));
    let found = known.filter(|(_, count)| *count > 0);
    found.map(|(kind, count)| format!("{} {}", grouped(count), kind.words())).collect()
}

impl Kind {
    /// As a sentence says it after a number.
    pub fn words(self) -> &'static str {
        match self {
            Kind::Missing => "missing",
            Kind::Extra => "extra",
            Kind::Order => "out of order",
            Kind::Names => "on another file",
            Kind::Offsets => "at another offset",
            Kind::Bytes => "of another size",
            Kind::Results => "with another result",
            Kind::OpenFlags => "with other open flags",
        }
    }
}

fn elapsed(found: &Fidelity) -> String {
    let figures = found.scopes.first().map_or(&[][..], |scope| &scope.figures[..]);
    let figure = figures.iter().find(|figure| figure.name == "elapsed");
    let Some(figure) = figure else { return "how long the original took is unknown".into() };
    let [ours, theirs] = [figure.original, figure.replay].map(Option::unwrap_or_default);
    let time = |ns: f64| Measure::Time.format(ns, 4);
    let several = found.originals.len() + found.replays.len() > 2;
    let medians = if several { " (medians)" } else { "" };
    let took = format!("it took {} instead of {}{medians}", time(theirs), time(ours));
    let Some(error) = figure.error_percent else { return took };
    let spread = figure.spread_percent.map_or_else(
        || "how far the original varies by itself is unknown".to_string(),
        |spread| {
            let n = found.originals.len();
            let within = if error.abs() <= spread { "within" } else { "beyond" };
            format!("{within} the {spread:.1} % that {n} originals vary by")
        },
    );
    format!("{took} ({error:+.1} %; {spread})")
}

/// With commas between thousands.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
