//! Programs after parallel I/O of ORNL and after applications: counts, bytes and places, from their definitions.

use super::{Case, hold};

/// Create and resize by 1, 2, 4, ... ranks: a file of all and one of each, `files` times.
fn management(words: &'static str, ranks: u64, files: u64) -> Case {
    let numbers: Vec<u64> =
        (0..20).map(|k| 1 << k).take_while(|processes| *processes <= ranks).collect();
    let mut expected = Vec::new();
    for processes in &numbers {
        let name = |phase: &str| -> &'static str { format!("{processes} processes/{phase}").leak() };
        for phase in ["create shared", "create subfiles"] {
            expected.push((name(phase), "fopen", files * processes, 0));
            expected.push((name(phase), "fclose", files * processes, 0));
        }
        expected.push((name("resize all"), "ftruncate", files * processes, 0));
        expected.push((name("resize one"), "ftruncate", files, 0));
    }
    let all: u64 = numbers.iter().sum();
    expected.push(("", "fopen", 2 * files * all, 0));
    expected.push(("", "fclose", 2 * files * all, 0));
    // Of the first repetition there is nothing to remove.
    expected.push(("", "delete", (files - 1) * (2 * numbers.len() as u64 + all), 0));
    Case { words, ranks, expected, places: None }
}

#[test]
fn management_creates_and_resizes_by_doubling_numbers_of_ranks() {
    for ranks in [1, 2, 3, 4] {
        hold(&management("@management", ranks, 10));
    }
    hold(&management("@management files=2 bytes=4k", 4, 2));
}
