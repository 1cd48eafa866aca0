//! Counters of each layer and file: where they stand in the records of every module and version.
//!
//! A record is words of 64 bits: id of the file, rank (-1: all ranks together), counters (i64), then times (f64,
//! seconds). Names and order are facts of darshan-posix-log-format.h, darshan-mpiio-log-format.h,
//! darshan-stdio-log-format.h, darshan-hdf5-log-format.h and darshan-pnetcdf-log-format.h; older versions are those
//! that darshan-util's `*-logutils.c` reads. A counter below 0 was not kept.

use super::layers::{COUNTS, Layers, Record};
use super::log::{Binary, Fields, fill};
use super::segment::nanoseconds;
use crate::selection::Selection;
use model::run::{TraceAmounts, TraceSize};
use std::collections::HashMap;
use std::io;

/// The layers from the top of an application down, and their names in formats before 3.20 and 3.41.
const LAYERS: [(&str, &str); 7] = [
    ("POSIX", "POSIX"),
    ("MPI-IO", "MPI-IO"),
    ("STDIO", "STDIO"),
    ("H5F", "HDF5"),
    ("H5D", "H5D"),
    ("PNETCDF_FILE", "PNETCDF"),
    ("PNETCDF_VAR", "PNETCDF_VAR"),
];

const HEAD: &str = "ID RANK";
/// A dataset or variable, and the file that it is in.
const PART_HEAD: &str = "ID RANK FILE";
const SHARED: &str = "FASTEST_RANK FASTEST_RANK_BYTES SLOWEST_RANK SLOWEST_RANK_BYTES";
const SIZES: &str = "MAX_TIME_SIZES*2 SIZE_READ*10 SIZE_WRITE*10";
/// Times of transfers, since and before version 3 of POSIX and MPI-IO.
const STAMPS: &str =
    "OPEN_START READ_START WRITE_START CLOSE_START OPEN_END READ_END WRITE_END CLOSE_END";
const OLD_STAMPS: &str = "OPEN_START READ_START WRITE_START READ_END WRITE_END CLOSE_END";
const TIMES: &str =
    "READ_TIME WRITE_TIME META_TIME MAX_TIMES*2 FASTEST_RANK_TIME SLOWEST_RANK_TIME VARIANCES*2";

const POSIX: &str = "MODE BYTES_READ BYTES_WRITTEN MAX_BYTES*2 CONSEC_READS CONSEC_WRITES SEQ_READS SEQ_WRITES \
                     RW_SWITCHES MEM_NOT_ALIGNED MEM_ALIGNMENT FILE_NOT_ALIGNED FILE_ALIGNMENT";
const POSIX_4_CALLS: &str = "OPENS FILENOS DUPS READS WRITES SEEKS STATS MMAPS FSYNCS FDSYNCS RENAME_SOURCES \
                             RENAME_TARGETS RENAMED_FROM";
const POSIX_2_CALLS: &str = "OPENS READS WRITES SEEKS STATS MMAPS FSYNCS FDSYNCS";
const STRIDES: &str = "STRIDES*8";
const COMMON: &str = "ACCESS*4 ACCESS_COUNT*4";
const MPI_IO: &str = "INDEP_OPENS COLL_OPENS INDEP_READS INDEP_WRITES COLL_READS COLL_WRITES SPLIT_READS SPLIT_WRITES \
                      NB_READS NB_WRITES SYNCS HINTS VIEWS MODE BYTES_READ BYTES_WRITTEN RW_SWITCHES";
const STDIO: &str = "READS WRITES SEEKS FLUSHES BYTES_WRITTEN BYTES_READ MAX_BYTES*2";
const STDIO_TIMES: &str = "META_TIME WRITE_TIME READ_TIME OPEN_START CLOSE_START WRITE_START READ_START OPEN_END CLOSE_END \
                           WRITE_END READ_END FASTEST_RANK_TIME SLOWEST_RANK_TIME VARIANCES*2";
const FILE_STAMPS: &str = "OPEN_START CLOSE_START OPEN_END CLOSE_END";
const H5D: &str = "OPENS READS WRITES FLUSHES BYTES_READ BYTES_WRITTEN RW_SWITCHES SELECTIONS*3";
/// Four access sizes, ten lengths and strides behind each.
const COMMON_BLOCKS: &str = "ACCESS*44 ACCESS_COUNT*4";
const H5D_REST: &str = "SPACE*3 CHUNKS*5 FLAGS*2";
const NC_FILE: &str =
    "CREATES OPENS REDEFS INDEP_WAITS COLL_WAITS SYNCS BYTES_READ BYTES_WRITTEN WAIT_FAILURES";
const NC_FILE_TIMES: &str =
    "OPEN_START CLOSE_START WAIT_START OPEN_END CLOSE_END WAIT_END META_TIME WAIT_TIME";
const NC_VAR: &str = "OPENS INDEP_READS INDEP_WRITES COLL_READS COLL_WRITES NB_READS NB_WRITES BYTES_READ BYTES_WRITTEN \
                      RW_SWITCHES CALLS*32";

/// Names of a record's words in order; `NAME*4` are four words.
fn words(layer: &str, version: u32) -> Option<&'static [&'static str]> {
    Some(match (layer, version) {
        ("POSIX", 4) => {
            &[HEAD, POSIX_4_CALLS, POSIX, SIZES, STRIDES, COMMON, SHARED, STAMPS, TIMES]
        }
        ("POSIX", 3) => {
            &[HEAD, POSIX_2_CALLS, POSIX, SIZES, STRIDES, COMMON, SHARED, STAMPS, TIMES]
        }
        ("POSIX", 2) => {
            &[HEAD, POSIX_2_CALLS, POSIX, SIZES, STRIDES, COMMON, SHARED, OLD_STAMPS, TIMES]
        }
        ("MPI-IO", 3) => &[HEAD, MPI_IO, SIZES, COMMON, SHARED, STAMPS, TIMES],
        ("MPI-IO", 1 | 2) => &[HEAD, MPI_IO, SIZES, COMMON, SHARED, OLD_STAMPS, TIMES],
        ("STDIO", 2) => &[HEAD, "OPENS FDOPENS", STDIO, SHARED, STDIO_TIMES],
        ("STDIO", 1) => &[HEAD, "OPENS", STDIO, SHARED, STDIO_TIMES],
        ("H5F", 3) => &[HEAD, "OPENS FLUSHES USE_MPIIO", FILE_STAMPS, "META_TIME"],
        ("H5F", 2) => &[HEAD, "OPENS", FILE_STAMPS],
        ("H5F", 1) => &[HEAD, "OPENS OPEN_START CLOSE_END"],
        ("H5D", 2) => &[PART_HEAD, H5D, SIZES, COMMON_BLOCKS, H5D_REST, SHARED, STAMPS, TIMES],
        ("H5D", 1) => &[HEAD, H5D, SIZES, COMMON_BLOCKS, H5D_REST, SHARED, STAMPS, TIMES],
        ("PNETCDF_FILE", 3) => &[HEAD, NC_FILE, NC_FILE_TIMES],
        ("PNETCDF_FILE", 2) => &[HEAD, "INDEP_OPENS COLL_OPENS", FILE_STAMPS],
        ("PNETCDF_FILE", 1) => &[HEAD, "INDEP_OPENS COLL_OPENS OPEN_START CLOSE_END"],
        ("PNETCDF_VAR", 1) => {
            &[PART_HEAD, NC_VAR, SIZES, COMMON_BLOCKS, "SPACE*4", SHARED, STAMPS, TIMES]
        }
        _ => return None,
    })
}

/// Records of a module in one version: first word of each name, and how many there are.
struct Shape {
    places: HashMap<&'static str, (usize, usize)>,
    words: usize,
    /// Words of each of [`COUNTS`].
    counts: Vec<Vec<usize>>,
}

/// The module's records become a layer.
pub(super) fn is_layer(module: &str, version: u32) -> bool {
    let layer = LAYERS.iter().find(|layer| layer.0 == module || layer.1 == module);
    layer.is_some_and(|layer| words(layer.0, version).is_some())
}

impl Shape {
    fn of(layer: &str, version: u32) -> Option<Shape> {
        let (mut places, mut end) = (HashMap::new(), 0);
        for word in words(layer, version)?.iter().flat_map(|words| words.split(' ')) {
            let (name, count) = word.split_once('*').unwrap_or((word, "1"));
            let count = count.parse().unwrap_or(1);
            places.insert(name, (end, count));
            end += count;
        }
        let place = |name: &&str| places.get(name).map(|place| place.0);
        let counts = COUNTS.iter().map(|(_, names)| names.iter().filter_map(place).collect());
        Some(Shape { counts: counts.collect(), places, words: end })
    }

    /// A counter; `None`: this version does not have it, or it was not kept.
    fn count(&self, fields: &Fields<'_>, name: &str) -> Option<u64> {
        counter(fields, self.places.get(name)?.0)
    }

    /// A time in nanoseconds; one below 0 is 0.
    fn ns(&self, fields: &Fields<'_>, name: &str) -> Option<u64> {
        let (at, _) = self.places.get(name)?;
        Some(nanoseconds(f64::from_bits(fields.u64(8 * at))))
    }

    /// Behind the last byte that was read or written: Darshan keeps the offset of that byte, 0 also where there is none.
    fn end_bytes(&self, fields: &Fields<'_>) -> Option<u64> {
        let (at, _) = *self.places.get("MAX_BYTES")?;
        let moved = |name: &str| self.count(fields, name).is_some_and(|bytes| bytes > 0);
        let ends = [(at, "BYTES_READ"), (at + 1, "BYTES_WRITTEN")].map(|(at, bytes)| {
            counter(fields, at).map(|last| last.saturating_add(u64::from(moved(bytes))))
        });
        ends.into_iter().flatten().max()
    }

    fn bins(&self, fields: &Fields<'_>, name: &str) -> Option<[u64; 10]> {
        let (at, _) = *self.places.get(name)?;
        let bins: Vec<Option<u64>> = (at..at + 10).map(|at| counter(fields, at)).collect();
        bins.iter().any(Option::is_some).then(|| std::array::from_fn(|bin| bins[bin].unwrap_or(0)))
    }

    /// The four commonest access sizes.
    fn common(&self, fields: &Fields<'_>) -> Vec<TraceSize> {
        let both = (self.places.get("ACCESS"), self.places.get("ACCESS_COUNT"));
        let (Some((sizes, span)), Some((counts, _))) = both else { return Vec::new() };
        let size = |at: usize| {
            let count = counter(fields, counts + at).filter(|count| *count > 0)?;
            Some(TraceSize { bytes: counter(fields, sizes + at * (span / 4))?, count })
        };
        (0..4).filter_map(size).collect()
    }

    fn record(&self, fields: &Fields<'_>) -> Record {
        let count = |name: &str| self.count(fields, name);
        let ns = |name: &str| self.ns(fields, name);
        let sum = |words: &Vec<usize>| {
            let known = words.iter().filter_map(|at| counter(fields, *at));
            known.fold(None, |sum: Option<u64>, one| Some(sum.unwrap_or(0).saturating_add(one)))
        };
        let amounts = TraceAmounts {
            read_bytes: count("BYTES_READ"),
            written_bytes: count("BYTES_WRITTEN"),
            read_ns: ns("READ_TIME"),
            write_ns: ns("WRITE_TIME"),
            meta_ns: ns("META_TIME"),
        };
        Record {
            id: fields.u64(0),
            rank: u32::try_from(fields.u64(8)).ok(),
            amounts,
            counts: self.counts.iter().map(sum).collect(),
            end_bytes: self.end_bytes(fields),
            read_sizes: self.bins(fields, "SIZE_READ"),
            write_sizes: self.bins(fields, "SIZE_WRITE"),
            common: self.common(fields),
            // Darshan writes 0 where there was none.
            first_open_ns: ns("OPEN_START").filter(|ns| *ns > 0),
            last_close_ns: ns("CLOSE_END").filter(|ns| *ns > 0),
            slowest_rank: count("SLOWEST_RANK").and_then(|rank| u32::try_from(rank).ok()),
            slowest_rank_ns: ns("SLOWEST_RANK_TIME"),
            fastest_rank_ns: ns("FASTEST_RANK_TIME"),
        }
    }
}

fn counter(fields: &Fields<'_>, at: usize) -> Option<u64> {
    u64::try_from(fields.u64(8 * at) as i64).ok()
}

impl Binary {
    /// Adds the counters of all modules, of the files that are kept.
    pub(super) fn layers(&self, which: &Selection, layers: &mut Layers) -> io::Result<()> {
        for (order, (name, old_name)) in LAYERS.iter().enumerate() {
            let module = match self.header.named(name) {
                (_, 0) => old_name,
                _ => name,
            };
            let (region, version) = self.header.named(module);
            let Some(shape) = Shape::of(name, version).filter(|_| region.length > 0) else {
                continue;
            };
            let layer = layers.layer(order, name);
            layer.is_partial |= self.header.is_partial(module);
            let mut reader = self.header.open(&self.log, region)?;
            let mut bytes = vec![0; 8 * shape.words];
            while fill(&mut reader, &mut bytes)? {
                let fields = Fields { bytes: &bytes, big_endian: self.header.big_endian };
                let path = self.paths.get(&fields.u64(0)).map(|path| &path[..]);
                if path.is_none_or(|path| which.keeps(path)) {
                    layer.add(&shape.record(&fields), path, &self.job);
                }
            }
        }
        layers.end_log(self.job.processes);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes of a record: `sizeof` of the struct in its header, and `*_SIZE_n` of older versions.
    #[test]
    fn records_are_as_long_as_those_of_darshan() {
        for (layer, version, bytes) in [
            ("POSIX", 4, 704),
            ("POSIX", 3, 664),
            ("POSIX", 2, 648),
            ("MPI-IO", 3, 560),
            ("MPI-IO", 2, 544),
            ("STDIO", 2, 248),
            ("STDIO", 1, 240),
            ("H5F", 3, 80),
            ("H5F", 2, 56),
            ("H5F", 1, 40),
            ("H5D", 2, 912),
            ("H5D", 1, 904),
            ("PNETCDF_FILE", 3, 152),
            ("PNETCDF_FILE", 2, 64),
            ("PNETCDF_FILE", 1, 48),
            ("PNETCDF_VAR", 1, 1120),
        ] {
            let shape = Shape::of(layer, version).expect("a layout");
            assert_eq!(8 * shape.words, bytes, "{layer} {version}");
            let other = super::super::counters::layout(layer, version);
            assert!(other.is_none_or(|layout| layout.bytes() == bytes), "{layer} {version}");
        }
        assert!(Shape::of("POSIX", 1).is_none() && Shape::of("POSIX", 5).is_none());
    }
}
