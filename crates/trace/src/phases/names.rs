//! Names of phases: "write checkpoint-*", "read and write db", "delete *.tmp".

use super::patterns::{FILES, Patterns};
use super::{Phase, Verb, Word};
use hashbrown::{HashMap, HashSet};
use model::Op;
use model::event::NO_ID;
use rustc_hash::FxBuildHasher;
use std::collections::{BTreeMap, BTreeSet};

/// Share of what is moved that gives a phase its name.
const SHARE: u64 = 10;
/// Different names of a program; with more, they tell less of files.
const NAMES_MAX: usize = 24;

/// Files of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    /// Most are of this pattern.
    Pattern(u32),
    /// They end like this one.
    Ending(u32),
    /// Many.
    Files,
}

/// The label of each phase of a rank; new ones are appended. A program in which no rank comes from one name to
/// another keeps its own.
pub fn label_phases(
    phases: &[(u64, &Phase)],
    patterns: &Patterns,
    labels: &mut Vec<Vec<u8>>,
) -> Vec<u32> {
    let names = name_phases(phases, patterns);
    let changes = |at: &usize| {
        let ((rank, phase), (next_rank, next)) = (phases[*at - 1], phases[*at]);
        rank == next_rank && phase.program == next.program && names[*at - 1] != names[*at]
    };
    let parted = (1..phases.len()).filter(changes).map(|at| phases[at].1.program);
    let parted: HashSet<u32, FxBuildHasher> = parted.collect();
    let mut made: HashMap<(u32, &str), u32, FxBuildHasher> = HashMap::default();
    let label = |((_, phase), name): (&(u64, &Phase), _)| {
        let program = phase.program;
        if !parted.contains(&program) {
            return program;
        }
        *made.entry((program, name)).or_insert_with(|| {
            let inside = labels.get(program as usize).filter(|_| program != NO_ID);
            let inside = inside.map_or(Vec::new(), |inside| [inside, &b"/"[..]].concat());
            labels.push([&inside, name.as_bytes()].concat());
            labels.len() as u32 - 1
        })
    };
    phases.iter().zip(names.iter().map(String::as_str)).map(label).collect()
}

/// As exact as few different names of a program allow.
fn name_phases(phases: &[(u64, &Phase)], patterns: &Patterns) -> Vec<String> {
    let parts: Vec<_> = phases.iter().map(|(_, phase)| parts(&phase.words, patterns)).collect();
    let mut names = vec![String::new(); phases.len()];
    let mut left: Vec<usize> = (0..phases.len()).collect();
    for coarseness in 0..3 {
        left.iter().for_each(|at| names[*at] = text(&parts[*at], coarseness, patterns));
        let mut different: BTreeMap<u32, BTreeSet<&str>> = BTreeMap::new();
        for at in &left {
            different.entry(phases[*at].1.program).or_default().insert(&names[*at]);
        }
        left.retain(|at| different[&phases[*at].1.program].len() > NAMES_MAX);
    }
    names
}

/// The files with most bytes, or with most operations if no bytes were moved. Where nearly all operations are on
/// names, the commonest comes before what moved most.
fn parts(words: &[Word], patterns: &Patterns) -> Vec<(Verb, Of)> {
    let (names, moves): (Vec<Word>, Vec<Word>) =
        words.iter().copied().partition(|word| matches!(word.verb, Verb::Other(_)));
    let count = |words: &[Word]| words.iter().map(|word| word.count).sum::<u64>();
    let has_moved = words.iter().any(|word| word.bytes > 0);
    if !has_moved || count(&moves) > count(words) / SHARE {
        return most_of(words, patterns);
    }
    let first = |words: &[Word]| most_of(words, patterns).into_iter().next();
    first(&names).into_iter().chain(first(&moves)).collect()
}

/// The kinds with most bytes, or with most operations if no bytes were moved.
fn most_of(words: &[Word], patterns: &Patterns) -> Vec<(Verb, Of)> {
    let moved: u64 = words.iter().map(|word| word.bytes).fold(0, u64::saturating_add);
    let weight = |word: &Word| if moved > 0 { word.bytes } else { word.count };
    let mut verbs: Vec<(Verb, u64)> = Vec::new();
    for word in words {
        match verbs.iter_mut().find(|(verb, _)| *verb == word.verb) {
            Some((_, sum)) => *sum = sum.saturating_add(weight(word)),
            None => verbs.push((word.verb, weight(word))),
        }
    }
    verbs.sort_by_key(|(verb, sum)| (u64::MAX - *sum, *verb));
    // Of operations on names the commonest says enough.
    let most = if moved > 0 { 2 } else { 1 };
    let total = verbs.iter().map(|(_, sum)| *sum).fold(0, u64::saturating_add);
    let shown = verbs.iter().take(most).filter(|(_, sum)| *sum > 0 && *sum >= total / SHARE);
    shown.map(|(verb, sum)| (*verb, of(*verb, *sum, words, weight, patterns))).collect()
}

/// The pattern that half of it is; else the ending that all have.
fn of(
    verb: Verb,
    sum: u64,
    words: &[Word],
    weight: impl Fn(&Word) -> u64,
    patterns: &Patterns,
) -> Of {
    let own = || words.iter().filter(|word| word.verb == verb && weight(word) > 0);
    let Some(first) = own().max_by_key(|word| (weight(word), u32::MAX - word.pattern)) else {
        return Of::Files;
    };
    if first.pattern == FILES {
        return Of::Files;
    }
    if weight(first) >= sum / 2 {
        return Of::Pattern(first.pattern);
    }
    let ending = patterns.ending(first.pattern);
    let same =
        ending != patterns.text(FILES) && own().all(|word| patterns.ending(word.pattern) == ending);
    if same { Of::Ending(first.pattern) } else { Of::Files }
}

/// "read a and write b", "read and write a"; `coarseness` 0: with names, 1: with their endings, 2: verbs.
fn text(parts: &[(Verb, Of)], coarseness: u8, patterns: &Patterns) -> String {
    let of = |of: Of| match of {
        Of::Pattern(pattern) if coarseness == 0 => patterns.text(pattern).to_string(),
        Of::Pattern(pattern) | Of::Ending(pattern) if coarseness < 2 => patterns.ending(pattern),
        _ => patterns.text(FILES).to_string(),
    };
    let parts: Vec<(&str, String)> = parts.iter().map(|part| (word(part.0), of(part.1))).collect();
    match &parts[..] {
        [] => "other".into(),
        [(verb, files)] => format!("{verb} {files}"),
        [(verb, files), (other, same), ..] if files == same => {
            format!("{verb} and {other} {files}")
        }
        [(verb, files), (other, others), ..] => format!("{verb} {files} and {other} {others}"),
    }
}

fn word(verb: Verb) -> &'static str {
    match verb {
        Verb::Read => "read",
        Verb::Write => "write",
        Verb::Open => "open",
        Verb::Other(op) => Op::from_u8(op).map_or("other", |op| match op {
            Op::Readdir => "list",
            op => op.name(),
        }),
    }
}
