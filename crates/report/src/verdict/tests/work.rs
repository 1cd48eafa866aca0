//! Work that is spread over ranks.

use super::*;
use model::run::RankError;

/// How much ranks do in a loop `until` a time limit is theirs; what stands beside it is the program's.
#[test]
fn unequal_work_is_not_said_where_a_time_limit_decides() {
    let mut run = sound();
    balance(&mut run, Balance { slowest_busy_ns: 400_000_000, ..EVEN });
    let (name, op) = (run.rows[0].label.clone(), run.rows[0].op.clone());
    let mut timed = run.clone();
    timed.run.evidence.labels[1].timed = true;
    timed.run.evidence.labels[1].label = name;
    timed.run.sites = vec![Site { op, timed: true, ..Site::default() }];
    assert!(!codes(&timed).contains(&"unequal-work".to_string()));
    let changes: [fn(&mut Run); 3] = [
        |run| run.run.evidence.labels[1].label = "other".into(),
        |run| run.run.evidence.labels[1].cell = 1,
        |run| run.run.sites[0].op = "stat".into(),
    ];
    for change in changes {
        let mut other = timed.clone();
        change(&mut other);
        assert!(codes(&other).contains(&"unequal-work".to_string()), "{:?}", other.run.sites);
    }
}

/// Ranks that stop at a time limit differ in what they did, not in when they ended.
#[test]
fn unequal_work_is_said_of_ranks_that_had_the_same_to_do() {
    let mut run = sound();
    balance(&mut run, Balance { slowest_busy_ns: 400_000_000, ..EVEN });
    assert_eq!(codes(&run), ["unequal-work"]);
    let mut killed = run.clone();
    killed.run.rank_errors = vec![RankError::default()];
    assert!(!codes(&killed).contains(&"unequal-work".to_string()));
    for part in ["until", "wear-out", "until/inner"] {
        let mut timed = run.clone();
        timed.rows.iter_mut().for_each(|row| row.label = format!("stress/{part}"));
        assert!(!codes(&timed).contains(&"unequal-work".to_string()), "{part}");
    }
}
