//! What MPI libraries do to files.

use super::*;
use model::run::{MpiFileFacts, PatternWrites};

/// A run of four ranks by this library, which wrote a pattern of this kind at this level.
fn by_library(mpi: &str, kind: &str, level: u8) -> Run {
    let mut run = sound();
    run.rows[0].op = "pwrite".into();
    run.rows[0].bytes = 1 << 20;
    let holes = kind == "strided";
    let writes = PatternWrites { pattern: "p".into(), level, kind: kind.into(), holes };
    run.run.evidence.mpi_writes.push(writes);
    run.run.ranks = 4;
    run.run.job = Some(Job { mpi: mpi.into(), ..Job::default() });
    run
}

#[test]
fn what_libraries_do_to_files_is_marked() {
    let open = "Open MPI v4.1.4";
    let mpich = "MPICH 4.0.2";
    for (mpi, kind, level, expected) in [
        (open, "multipartition", 1, Some("mpi-lost-bytes")),
        ("Open MPI v5.0.5", "multipartition", 1, Some("mpi-lost-bytes")),
        ("Open MPI v4.1.7", "multipartition", 1, None),
        ("Open MPI v5.0.6", "multipartition", 1, None),
        ("Open MPI v4.0.7", "multipartition", 1, None),
        (open, "multipartition", 3, None),
        (mpich, "multipartition", 1, None),
        (open, "strided", 1, Some("mpi-holes")),
        (open, "strided", 3, Some("mpi-holes")),
        (open, "strided", 2, None),
        (mpich, "strided", 1, None),
        (mpich, "strided", 2, Some("mpi-holes")),
        (mpich, "strided", 3, Some("mpi-holes")),
        (mpich, "segmented", 2, None),
    ] {
        let mut run = by_library(mpi, kind, level);
        let found = |run: &Run| codes(run).into_iter().find(|code| code.starts_with("mpi-"));
        assert_eq!(found(&run).as_deref(), expected, "{mpi} {kind} {level}");
        let cure = "OMPI_MCA_fbtl_posix_write_datasieving=0".to_string();
        run.run.job.as_mut().unwrap().settings = vec![cure];
        let hints = "a=b;romio_ds_write=disable".to_string();
        run.run.evidence.mpi_io =
            vec![MpiFileFacts { effective_hints: hints, ..MpiFileFacts::default() }];
        assert_eq!(found(&run), None, "cured: {mpi} {kind} {level}");
    }
    let mut hangs = by_library(mpich, "segmented", 0);
    let job = hangs.run.job.as_mut().unwrap();
    (job.launcher, job.nodes) = ("srun".into(), vec![Node::default(); 2]);
    assert!(codes(&hangs).contains(&"mpi-hang".to_string()));
    hangs.run.job.as_mut().unwrap().launcher = "mpiexec".into();
    assert!(codes(&hangs).contains(&"mpi-hang".to_string()));
    hangs.run.job.as_mut().unwrap().settings = vec!["SLURM_MPI_TYPE=pmix".into()];
    assert!(!codes(&hangs).contains(&"mpi-hang".to_string()));
}
