//! Binary logs made for tests: format 3.41, not compressed.

/// A module of records that are words of 64 bits.
#[derive(Clone)]
pub struct Module {
    /// Its name.
    pub name: &'static str,
    /// Version of its records.
    pub version: u32,
    /// The records.
    pub words: Vec<u64>,
}

/// Modules of a log of format 3.41.
const PLACES: usize = 64;
const HEADER_BYTES: usize = 32 + 16 + PLACES * 20;
const JOB_BYTES: usize = 56 + 1024 + 64;

/// A log of a job of so many ranks, with names of files.
pub fn log(big_endian: bool, ranks: u64, names: &[(u64, &str)], modules: &[Module]) -> Vec<u8> {
    let word = |word: u64| if big_endian { word.to_be_bytes() } else { word.to_le_bytes() };
    let mut job = [7, 1_795_253_061, 0, 1_795_253_071, 0, ranks, 1].map(word).concat();
    job.resize(56 + 1024, 0);
    job.extend(b"/bin/app -x");
    job.resize(JOB_BYTES, 0);
    let mut table = Vec::new();
    for (id, name) in names {
        table.extend(word(*id));
        table.extend(name.as_bytes());
        table.push(0);
    }
    let mut regions = [[0; 2]; PLACES];
    let mut versions = [0u32; PLACES];
    let mut body = [job, table.clone()].concat();
    for module in modules {
        let place = super::log::NAMES_341.iter().position(|name| *name == module.name);
        let place = place.expect("a module of this format");
        let length = 8 * module.words.len() as u64;
        regions[place] = [(HEADER_BYTES + body.len()) as u64, length];
        versions[place] = module.version;
        body.extend(module.words.iter().flat_map(|part| word(*part)));
    }
    let mut bytes = b"3.41\0\0\0\0".to_vec();
    bytes.extend(word(6_567_223));
    bytes.push(2);
    bytes.resize(32, 0);
    bytes.extend([(HEADER_BYTES + JOB_BYTES) as u64, table.len() as u64].map(word).concat());
    bytes.extend(regions.iter().flatten().flat_map(|part| word(*part)));
    for version in versions {
        bytes.extend(if big_endian { version.to_be_bytes() } else { version.to_le_bytes() });
    }
    assert_eq!(bytes.len(), HEADER_BYTES);
    bytes.extend(body);
    bytes
}
