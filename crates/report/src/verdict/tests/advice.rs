//! What a mark advises can be done with the operations of the run.

use super::{label, marks, sound};
use model::run::Run;

/// MPI-IO opens files itself: direct=true is no advice then.
#[test]
fn what_cannot_help_is_not_advised() {
    let mut run = sound();
    label(&mut run).fetched_bytes = Some(0);
    let advice = |run: &Run| {
        let mark = marks(run).into_iter().find(|mark| mark.code == "cached-reads");
        mark.expect("it fires").advice
    };
    assert!(advice(&run).starts_with("read with (direct=true)"));
    run.rows[0].op = "pfread".into();
    run.rows[0].bytes = 1;
    assert!(advice(&run).contains("direct=true does not concern MPI-IO"));
    assert!(!advice(&run).contains("read with (direct=true)"));
}

/// fsync takes no MPI file, and pfsync no other.
#[test]
fn unstable_writes_name_the_operation_that_makes_them_stable() {
    let mut run = sound();
    label(&mut run).unstable_bytes = label(&mut run).written_bytes;
    let advice = |run: &Run| {
        let mark = marks(run).into_iter().find(|mark| mark.code == "unstable-writes");
        mark.expect("it fires").advice
    };
    assert!(advice(&run).contains(" fsync($h)") && !advice(&run).contains("pfsync"));
    let mut mpi = run.rows[0].clone();
    mpi.op = "pfwrite".into();
    run.rows.push(mpi.clone());
    assert!(advice(&run).contains(" fsync($h)") && advice(&run).contains("pfsync($h)"));
    run.rows = vec![mpi];
    assert!(!advice(&run).contains(" fsync($h)") && advice(&run).contains("pfsync($h)"));
}
