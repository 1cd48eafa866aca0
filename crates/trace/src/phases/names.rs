//! Names of phases: "write checkpoint-*", "read and write db", "delete *.tmp".

use super::patterns::{FILES, Patterns};
use super::{Phase, Verb, Word};
use hashbrown::{HashMap, HashSet};
use model::Op;
use model::event::NO_ID;
use rustc_hash::FxBuildHasher;

/// Share of what is moved that gives a phase its name.
const SHARE: u64 = 10;
/// Different names of a program; with more, they tell less of files.
const NAMES_MAX: usize = 24;

/// Files of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Of {
    /// Most are of this pattern.
    Pattern(u32),
    /// They end like this one.
    Ending(u32),
    /// Many.
    Files,
}

/// The program and what a phase of it does, most first.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Name {
    program: u32,
    parts: Vec<(Verb, Of)>,
}

/// All names.
#[derive(Debug, Default)]
pub struct Names {
    names: Vec<Name>,
    known: HashMap<Name, u32, FxBuildHasher>,
}

impl Names {
    /// The number of a phase's name.
    pub fn of(&mut self, phase: &Phase, patterns: &Patterns) -> u32 {
        let name = Name { program: phase.program, parts: parts(&phase.words, patterns) };
        if let Some(number) = self.known.get(&name) {
            return *number;
        }
        let number = self.names.len() as u32;
        self.names.push(name.clone());
        self.known.insert(name, number);
        number
    }

    /// The label of each name; new ones are appended. `parted`: names of phases that follow one another. A
    /// program in which no rank comes from one name to another keeps its own.
    pub fn labels(
        &self,
        patterns: &Patterns,
        parted: impl Iterator<Item = (u32, u32)>,
        labels: &mut Vec<Vec<u8>>,
    ) -> Vec<u32> {
        let mut texts: Vec<String> = Vec::new();
        let mut by_program: HashMap<u32, Vec<usize>, FxBuildHasher> = HashMap::default();
        for (number, name) in self.names.iter().enumerate() {
            by_program.entry(name.program).or_default().push(number);
            texts.push(String::new());
        }
        for numbers in by_program.values() {
            let all: Vec<&Name> = numbers.iter().map(|number| &self.names[*number]).collect();
            for (number, text) in numbers.iter().zip(program_texts(&all, patterns)) {
                texts[*number] = text;
            }
        }
        let name = |number: u32| (self.names[number as usize].program, &texts[number as usize]);
        let parted = parted.map(|(before, after)| (name(before), name(after)));
        let parted = parted.filter(|(before, after)| before.0 == after.0 && before.1 != after.1);
        let parted: HashSet<u32, FxBuildHasher> = parted.map(|(before, _)| before.0).collect();
        let mut made: HashMap<(u32, String), u32, FxBuildHasher> = HashMap::default();
        let mut label_of = Vec::new();
        for (name, text) in self.names.iter().zip(&texts) {
            let program = name.program;
            label_of.push(match parted.contains(&program) {
                false => program,
                true => *made.entry((program, text.clone())).or_insert_with(|| {
                    let inside = labels.get(program as usize).filter(|_| program != NO_ID);
                    let inside = inside.map_or(Vec::new(), |inside| [inside, &b"/"[..]].concat());
                    labels.push([&inside, text.as_bytes()].concat());
                    labels.len() as u32 - 1
                }),
            });
        }
        label_of
    }
}

/// As exact as few different ones allow.
fn program_texts(names: &[&Name], patterns: &Patterns) -> Vec<String> {
    let mut texts = Vec::new();
    for coarseness in 0..3 {
        texts = names.iter().map(|name| text(&name.parts, coarseness, patterns)).collect();
        let mut different: Vec<&String> = texts.iter().collect();
        different.sort_unstable();
        different.dedup();
        if different.len() <= NAMES_MAX {
            break;
        }
    }
    texts
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
