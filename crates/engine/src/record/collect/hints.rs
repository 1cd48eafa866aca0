//! Hints of MPI files that were asked for and are not in effect.

use model::run::MpiFileFacts;
use std::collections::BTreeMap;

/// Sentences that a run shows at most.
const SHOWN: usize = 8;

/// A sentence for each hint that was ignored or changed, by what the library says of the file. A
/// library that says nothing at all is not asked.
pub(super) fn ignored<'f>(files: impl Iterator<Item = &'f MpiFileFacts>) -> Vec<String> {
    let mut sentences = Vec::new();
    for file in files.filter(|file| !file.effective_hints.is_empty()) {
        let effective: BTreeMap<&str, &str> =
            file.effective_hints.split(';').filter_map(|pair| pair.split_once('=')).collect();
        for (key, value) in model::hints::parse(&file.requested_hints).unwrap_or_default() {
            let sentence = match effective.get(key) {
                Some(found) if *found == value => continue,
                Some(found) => format!("the hint {key}={value} is not in effect: it is {found}"),
                None => {
                    format!("the hint {key}={value} is not in effect: the MPI library ignored it")
                }
            };
            if !sentences.contains(&sentence) && sentences.len() < SHOWN {
                sentences.push(sentence);
            }
        }
    }
    sentences
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(requested: &str, effective: &str) -> MpiFileFacts {
        MpiFileFacts {
            requested_hints: requested.into(),
            effective_hints: effective.into(),
            ..MpiFileFacts::default()
        }
    }

    #[test]
    fn what_is_not_in_effect_is_said_once() {
        let files = [
            file("cb_nodes=2;nonsense=1;striping_factor=8", "cb_nodes=2;striping_factor=1"),
            file("nonsense=1", "cb_nodes=2"),
            file("nonsense=2", ""),
            file("", "cb_nodes=2"),
        ];
        assert_eq!(
            ignored(files.iter()),
            [
                "the hint nonsense=1 is not in effect: the MPI library ignored it",
                "the hint striping_factor=8 is not in effect: it is 1",
            ]
        );
        assert_eq!(ignored([].into_iter()), Vec::<String>::new());
    }
}
