//! Work that is spread over ranks.

use super::*;
use model::run::RankError;

/// Ranks that stop at a time limit differ in what they did, not in when they ended.
#[test]
fn unequal_work_is_said_of_ranks_that_had_the_same_to_do() {
    let mut run = sound();
    balance(&mut run, Balance { slowest_busy_ns: 400_000_000, ..EVEN });
    assert_eq!(codes(&run), ["unequal-work"]);
    let mut killed = run.clone();
    killed.run.rank_errors = vec![RankError::default()];
    assert!(!codes(&killed).contains(&"unequal-work".to_string()));
    for part in ["until", "wear-out"] {
        let mut timed = run.clone();
        timed.rows.iter_mut().for_each(|row| row.label = format!("stress/{part}"));
        assert!(!codes(&timed).contains(&"unequal-work".to_string()), "{part}");
    }
}
