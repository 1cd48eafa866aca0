//! `--out DIR`: the run as DIR/run.json, written whole or not at all, and back.
//!
//! ```text
//! DIR/run.json         this file: the run with its histograms
//! DIR/events.parquet   crate::events, only with --events
//! ```
//!
//! The format is that of [`crate::json`] plus the rows' histograms; see docs/run-format.md.

use crate::file::{AtomicFile, StoreError, named, open_regular};
use model::histogram::{BUCKETS, Histogram};
use model::run::{RANKS_MAX, Run, VERSION};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::error::Category;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::path::Path;

/// Name of the stored run in its folder.
pub const RUN_FILE: &str = "run.json";
/// Largest file that is read, bytes: sweeps of 100,000 executions have a tenth of it.
const SIZE_MAX: u64 = 1 << 30;
const EXPECTED: &str = "a run of Parabench (run.json)";

/// Writes `run` with everything in it to `dir`/run.json; an older one is replaced in one step.
/// `dir` must exist.
///
/// # Errors
/// [`StoreError::Io`]; the older file is then untouched.
pub fn write(dir: &Path, run: &Run) -> Result<(), StoreError> {
    let path = dir.join(RUN_FILE);
    let written = write_file(&path, run).and_then(AtomicFile::commit);
    written.map_err(|error| StoreError::io(&path, "write", error))
}

/// The same where no run is stored yet: of two that try, one succeeds.
///
/// # Errors
/// [`StoreError::Io`]; an older file is then untouched.
pub fn write_new(dir: &Path, run: &Run) -> Result<(), StoreError> {
    let path = dir.join(RUN_FILE);
    let written = write_file(&path, run).and_then(AtomicFile::commit_new);
    written.map_err(|error| StoreError::io(&path, "write", error))
}

fn write_file(path: &Path, run: &Run) -> io::Result<AtomicFile> {
    let file = AtomicFile::create(path)?;
    let mut out = BufWriter::new(file.handle()?);
    crate::json::write_full(run, &mut out)?;
    out.flush()?;
    Ok(file)
}

/// Reads a run back: `path` is the folder, or the file itself.
///
/// # Errors
/// A missing, truncated, damaged, newer or foreign file, each told apart.
pub fn read(path: &Path) -> Result<Run, StoreError> {
    let path = if path.is_dir() { path.join(RUN_FILE) } else { named(path) };
    let (file, size_bytes) = open_regular(&path, EXPECTED, SIZE_MAX)?;
    parse(BufReader::new(file), size_bytes, &path)
}

/// Fields by which a run of any version is recognised.
#[derive(Deserialize)]
struct Probe {
    version: Option<u64>,
    rows: Option<IgnoredAny>,
    run: Option<IgnoredAny>,
}

/// Reads the text twice, as a stream: other JSON is found out without keeping any of it.
fn parse(mut text: impl Read + Seek, size_bytes: u64, path: &Path) -> Result<Run, StoreError> {
    let damaged = |error| damaged(error, size_bytes, path);
    let probe: Probe =
        serde_json::from_reader(&mut text).map_err(|error| match error.classify() {
            Category::Data => foreign(path),
            // Not even the beginning is that of JSON.
            Category::Syntax if (error.line(), error.column()) == (1, 1) => foreign(path),
            _ => damaged(error),
        })?;
    let Probe { version: Some(version @ 1..), rows: Some(_), run: Some(_) } = probe else {
        return Err(foreign(path));
    };
    if version != u64::from(VERSION) {
        return Err(StoreError::Version { path: path.into(), found: version, read: VERSION });
    }
    text.rewind().map_err(|error| StoreError::io(path, "read", error))?;
    let run: Run = serde_json::from_reader(text).map_err(damaged)?;
    check_ranks(&run)
        .and_then(|()| check_histograms(&run))
        .map_err(|detail| corrupt(path, detail))?;
    Ok(run)
}

fn corrupt(path: &Path, detail: String) -> StoreError {
    StoreError::Corrupt { path: path.into(), detail }
}

/// Readers go through all ranks and machines: their number is that of a run, not any that a file may name.
fn check_ranks(run: &Run) -> Result<(), String> {
    let ranks = run.run.ranks;
    if ranks > RANKS_MAX {
        return Err(format!("{ranks} ranks, at most {RANKS_MAX} are possible"));
    }
    let job = run.run.job.iter().map(|job| &job.nodes);
    let sweep = run.run.sweep.iter().flat_map(|sweep| &sweep.machines);
    for nodes in job.chain(sweep.map(|machines| &machines.nodes)) {
        let spans = nodes.iter().flat_map(|node| &node.ranks);
        let sizes = spans.map(|[first, last]| u64::from(last.saturating_sub(*first)) + 1);
        let sum = sizes.fold(0, u64::saturating_add);
        if sum > u64::from(RANKS_MAX) {
            return Err(format!("machines with {sum} ranks, at most {RANKS_MAX} are possible"));
        }
    }
    Ok(())
}

fn foreign(path: &Path) -> StoreError {
    StoreError::Foreign { path: path.into(), expected: EXPECTED }
}

fn damaged(error: serde_json::Error, size_bytes: u64, path: &Path) -> StoreError {
    match error.classify() {
        Category::Io => StoreError::io(path, "read", error.into()),
        Category::Eof => StoreError::Truncated { path: path.into(), size_bytes },
        // A number at the end was cut off.
        _ if error.column() as u64 >= size_bytes
            && error.to_string().starts_with("invalid number") =>
        {
            StoreError::Truncated { path: path.into(), size_bytes }
        }
        _ => StoreError::Corrupt { path: path.into(), detail: error.to_string() },
    }
}

/// The functions of [`Histogram`] rely on what its type does not say.
fn check_histograms(run: &Run) -> Result<(), String> {
    let rows = run.rows.iter().flat_map(|row| [&row.histogram, &row.failed_histogram]).flatten();
    let more = run.run.times_more.iter().map(|more| &more.histogram);
    match rows.chain(more).all(is_valid) {
        true => Ok(()),
        false => Err("a histogram whose buckets and counts disagree".into()),
    }
}

fn is_valid(histogram: &Histogram) -> bool {
    let buckets = &histogram.buckets;
    let ascending = buckets.windows(2).all(|pair| pair[0].0 < pair[1].0);
    let in_range = buckets.last().is_none_or(|last| usize::from(last.0) < BUCKETS);
    let sum = buckets.iter().try_fold(0u64, |sum, bucket| sum.checked_add(bucket.1));
    ascending && in_range && sum == Some(histogram.count) && histogram.min <= histogram.max
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::sample;
    use proptest::prelude::*;
    use std::fs;

    fn read_back(content: &[u8]) -> Result<Run, StoreError> {
        parse(io::Cursor::new(content), content.len() as u64, Path::new("/runs/run.json"))
    }

    fn stored(run: &Run) -> Vec<u8> {
        let mut bytes = Vec::new();
        crate::json::write_full(run, &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn a_stored_run_comes_back_whole() {
        for run in
            [sample::listing1(), sample::aborted(), Run { version: VERSION, ..Run::default() }]
        {
            let dir = tempfile::tempdir().unwrap();
            write(dir.path(), &run).unwrap();
            assert_eq!(read(dir.path()).unwrap(), run);
        }
    }

    #[test]
    fn the_file_itself_can_be_named_and_histograms_may_be_absent() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("results");
        let run = sample::listing1();
        fs::write(&path, crate::json::to_string(&run)).unwrap();
        let back = read(&path).unwrap();
        assert_eq!(back.run, run.run);
        assert!(back.rows.iter().all(|row| row.histogram.is_none()));
    }

    #[test]
    fn every_defect_is_one_clear_sentence() {
        let good = stored(&sample::listing1());
        let newer = String::from_utf8(good.clone()).unwrap().replacen(
            r#""version":2"#,
            r#""version":7"#,
            1,
        );
        let older = newer.replacen(r#""version":7"#, r#""version":1"#, 1);
        let comma = good[..good.len() / 2].iter().rposition(|byte| *byte == b',');
        let half = &good[..comma.unwrap()];
        for (content, sentence) in [
            (half, format!("run.json ends in the middle after {} bytes: copy it again, or repeat the run", half.len())),
            (b"", "run.json ends in the middle after 0 bytes: copy it again, or repeat the run".into()),
            (b"\x7fELF", "run.json is not a run of Parabench (run.json): give a folder that `parabench run --out`, `record` or `import` has written".into()),
            (br#"{"version":?"#, "run.json is damaged (expected value at line 1 column 12): copy it again, or repeat the run".into()),
            (b"[1,2]", "run.json is not a run of Parabench (run.json): give a folder that `parabench run --out`, `record` or `import` has written".into()),
            (br#"{"fio version":"fio-3.33","jobs":[]}"#, "run.json is not a run of Parabench (run.json): give a folder that `parabench run --out`, `record` or `import` has written".into()),
            (br#"{"version":"1","rows":[],"run":{}}"#, "run.json is not a run of Parabench (run.json): give a folder that `parabench run --out`, `record` or `import` has written".into()),
            (br#"{"version":2,"rows":[],"labels":[],"times":[],"run":{}}"#, "run.json is damaged (missing field `program` at line 1 column 54): copy it again, or repeat the run".into()),
            (older.as_bytes(), "run.json has format version 1, this Parabench reads 2: repeat the run, or use an older Parabench".into()),
            (newer.as_bytes(), "run.json has format version 7, this Parabench reads 2: use a newer Parabench".into()),
        ] {
            let error = read_back(content).unwrap_err().to_string();
            let (_, said) = error.rsplit_once("/run.json ").expect(&error);
            assert_eq!(format!("run.json {said}"), sentence);
        }
    }

    #[test]
    fn a_missing_run_tells_what_to_give() {
        let dir = tempfile::tempdir().unwrap();
        let error = read(dir.path()).unwrap_err().to_string();
        assert!(error.starts_with("there is no /"), "{error}");
        assert!(
            error.ends_with("run.json: give a folder that `parabench run --out`, `record` or `import` has written"),
            "{error}"
        );
    }

    #[test]
    fn a_new_run_replaces_none() {
        let dir = tempfile::tempdir().unwrap();
        let run = sample::listing1();
        write_new(dir.path(), &run).unwrap();
        assert!(write_new(dir.path(), &Run::default()).is_err());
        assert_eq!(read(dir.path()).unwrap(), run);
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_named() {
        let error = write(Path::new("/proc/nowhere"), &Run::default()).unwrap_err().to_string();
        assert!(error.starts_with("cannot write /proc/nowhere/run.json: "), "{error}");
    }

    #[test]
    fn histograms_that_would_mislead_are_refused() {
        for (buckets, count) in [
            (vec![(65_000, 1)], 1),
            (vec![(9, 1), (8, 1)], 2),
            (vec![(8, 1)], 2),
            (vec![(8, u64::MAX), (9, 1)], 0),
        ] {
            let mut run = sample::listing1();
            run.rows[0].histogram = Some(Histogram { buckets, count, ..Histogram::default() });
            assert!(matches!(read_back(&stored(&run)), Err(StoreError::Corrupt { .. })));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_run_comes_back(run in sample::any_run()) {
            prop_assert_eq!(read_back(&stored(&run)).unwrap(), run);
        }

        #[test]
        fn any_cut_is_an_error_never_a_panic(cut in 0.0f64..1.0) {
            let good = stored(&sample::aborted());
            let cut = (cut * (good.len() - 2) as f64) as usize;
            let error = read_back(&good[..cut]).unwrap_err();
            prop_assert!(matches!(error, StoreError::Truncated { .. }), "{}", error);
        }

        #[test]
        fn any_flipped_byte_is_read_or_refused(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
            let mut bytes = stored(&sample::aborted());
            let at = at.index(bytes.len());
            bytes[at] = byte;
            let read = read_back(&bytes);
            prop_assert!(read.is_ok() || !read.unwrap_err().to_string().is_empty());
        }
    }
}
