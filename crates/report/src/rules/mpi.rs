//! Rules about defects of MPI libraries; docs/mpi-io.md has them all.

use super::rule::{Rule, remark, verdict};
use model::run::{Job, PatternWrites, Run};

/// Rules about MPI libraries.
pub const RULES: &[Rule] = &[
    verdict(
        "mpi-lost-bytes",
        lost_bytes,
        "set OMPI_MCA_fbtl_posix_write_datasieving=0, or use Open MPI from 4.1.7 or 5.0.6; with (verify=true) shows \
         lost bytes (docs/mpi-io.md)",
    ),
    remark(
        "mpi-holes",
        holes,
        "make the files as long as they become before, with pfsetsize, or forbid data sieving: \
         hints=\"romio_ds_write=disable\", OMPI_MCA_fbtl_posix_write_datasieving=0 (docs/mpi-io.md)",
    ),
    remark("mpi-hang", hang, "use another MPI, such as MPICH 4.1 or Open MPI (docs/mpi-io.md)"),
];

/// A library and its version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Library {
    /// Open MPI, whose MPI-IO is OMPIO unless somebody chose ROMIO.
    Ompio([u32; 3]),
    /// MPICH, whose MPI-IO is ROMIO.
    Mpich([u32; 3]),
    Other,
}

/// OMPIO with data sieving and without the locks that it needs (open-mpi/ompi#12756).
const UNLOCKED: [([u32; 3], [u32; 3]); 2] = [([4, 1, 0], [4, 1, 6]), ([5, 0, 0], [5, 0, 5])];

fn library(job: &Job) -> Library {
    let version = |text: &str| {
        let mut numbers = text.trim_start_matches('v').split('.');
        // "4.2.0b1" belongs to 4.2.0.
        let digits = |part: &str| part.chars().take_while(char::is_ascii_digit).collect::<String>();
        [0; 3].map(|_: u32| {
            numbers.next().and_then(|part| digits(part).parse::<u32>().ok()).unwrap_or(0)
        })
    };
    let after = |name: &str| job.mpi.strip_prefix(name).map(|rest| version(rest.trim_start()));
    let chosen = setting(job, "OMPI_MCA_io").unwrap_or("");
    match (after("Open MPI"), after("MPICH")) {
        (Some(_), _) if chosen.starts_with("^ompio") || chosen.starts_with("romio") => {
            Library::Other
        }
        (Some(version), _) => Library::Ompio(version),
        (_, Some(version)) => Library::Mpich(version),
        _ => Library::Other,
    }
}

/// The value of a variable that concerns MPI-IO.
fn setting<'j>(job: &'j Job, name: &str) -> Option<&'j str> {
    job.settings.iter().find_map(|setting| setting.strip_prefix(name)?.strip_prefix('='))
}

fn sieves(job: &Job) -> bool {
    setting(job, "OMPI_MCA_fbtl_posix_write_datasieving") != Some("0")
}

/// `"cells" (multipartition, level 1)`, of the patterns that were written.
fn written(run: &Run, meant: impl Fn(&PatternWrites) -> bool) -> Option<String> {
    let wrote =
        run.rows.iter().any(|row| row.bytes > 0 && matches!(&*row.op, "pwrite" | "pfwrite"));
    let all = run.run.evidence.mpi_writes.iter().filter(|one| wrote && meant(one));
    let named = all.map(|one| format!("\"{}\" ({}, level {})", one.pattern, one.kind, one.level));
    let named: Vec<String> = named.collect();
    (!named.is_empty()).then(|| named.join(", "))
}

fn lost_bytes(run: &Run) -> Option<String> {
    let job = run.run.job.as_ref()?;
    let Library::Ompio(version) = library(job) else { return None };
    let unlocked = UNLOCKED.iter().any(|(from, to)| (*from..=*to).contains(&version));
    if !unlocked || !sieves(job) || run.run.ranks < 2 {
        return None;
    }
    let patterns = written(run, |one| one.level == 1 && one.kind == "multipartition")?;
    Some(format!("{patterns} was written by {}, which loses bytes of it in some runs", job.mpi))
}

fn holes(run: &Run) -> Option<String> {
    let job = run.run.job.as_ref()?;
    let fills = |level: u8| match library(job) {
        Library::Ompio([major, minor, _]) => {
            (major, minor) >= (4, 1) && sieves(job) && matches!(level, 1 | 3)
        }
        Library::Mpich(_) => level >= 2 && !forbids_sieving(run),
        Library::Other => false,
    };
    let patterns = written(run, |one| one.holes && fills(one.level))?;
    Some(format!(
        "{patterns} leaves holes: {} writes whole ranges of such files, in new ones with other bytes than zeros \
         between the extents",
        job.mpi
    ))
}

/// All files were opened with data sieving disabled.
fn forbids_sieving(run: &Run) -> bool {
    let files = &run.run.evidence.mpi_io;
    let forbids = |hints: &str| hints.split(';').any(|hint| hint == "romio_ds_write=disable");
    !files.is_empty() && files.iter().all(|file| forbids(&file.effective_hints))
}

fn hang(run: &Run) -> Option<String> {
    let job = run.run.job.as_ref()?;
    let by_pmix = setting(job, "SLURM_MPI_TYPE").is_some_and(|kind| kind.starts_with("pmix"));
    let hangs = matches!(library(job), Library::Mpich([4, 0, _]));
    if !hangs || by_pmix || job.nodes.len() < 2 {
        return None;
    }
    Some(format!(
        "{} on several hosts may hang in MPI_Finalize; results are stored before, and the job ends 10 s later",
        job.mpi
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_libraries_are_read() {
        for (mpi, expected) in [
            ("Open MPI v4.1.4", Library::Ompio([4, 1, 4])),
            ("Open MPI v5.0.6rc1", Library::Ompio([5, 0, 6])),
            ("MPICH 4.0.2", Library::Mpich([4, 0, 2])),
            ("MPICH 5.0", Library::Mpich([5, 0, 0])),
            ("Intel(R) MPI Library 2021.11", Library::Other),
            ("", Library::Other),
        ] {
            assert_eq!(library(&Job { mpi: mpi.into(), ..Job::default() }), expected, "{mpi}");
        }
        let settings = vec!["OMPI_MCA_io=^ompio".into()];
        let romio = Job { mpi: "Open MPI v4.1.4".into(), settings, ..Job::default() };
        assert_eq!(library(&romio), Library::Other);
    }
}
