//! Binary logs made for tests, in every format, byte order and compression.

use super::log::names as module_names;
use bzip2::write::BzEncoder;
use flate2::write::ZlibEncoder;
use std::io::Write;

/// How a log is written.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// Its format: (3, 21).
    pub format: (u8, u8),
    /// Byte order of its numbers.
    pub big_endian: bool,
    /// 0: zlib, 1: bzip2, 2: none.
    pub compression: u8,
}

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

impl Form {
    /// The newest format, not compressed.
    pub fn newest(big_endian: bool) -> Form {
        Form { format: (3, 41), big_endian, compression: 2 }
    }

    fn is_wide(self) -> bool {
        self.format >= (3, 41)
    }

    /// Bytes before the places of the regions, and number of modules.
    fn header(self) -> (usize, usize) {
        if self.is_wide() { (32, 64) } else { (24, 16) }
    }

    fn word(self, word: u64) -> [u8; 8] {
        if self.big_endian { word.to_be_bytes() } else { word.to_le_bytes() }
    }

    fn half(self, half: u32) -> [u8; 4] {
        if self.big_endian { half.to_be_bytes() } else { half.to_le_bytes() }
    }

    /// A text of eight bytes or less as the word that is written as such.
    pub fn text(self, text: &str) -> u64 {
        let mut bytes = [0; 8];
        bytes[..text.len()].copy_from_slice(text.as_bytes());
        if self.big_endian { u64::from_be_bytes(bytes) } else { u64::from_le_bytes(bytes) }
    }

    /// Bytes as a region: two streams one after the other, as several ranks write them.
    fn packed(self, bytes: &[u8]) -> Vec<u8> {
        let halves = bytes.split_at(bytes.len() / 2);
        let both = [halves.0, halves.1].map(|half| match self.compression {
            0 => {
                let mut packed = ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
                packed.write_all(half).expect("memory");
                packed.finish().expect("memory")
            }
            1 => {
                let mut packed = BzEncoder::new(Vec::new(), bzip2::Compression::fast());
                packed.write_all(half).expect("memory");
                packed.finish().expect("memory")
            }
            _ => half.to_vec(),
        });
        both.concat()
    }

    fn job(self, ranks: u64) -> Vec<u8> {
        let narrow = [7, 1_795_253_061, 1_795_253_071, ranks, 1];
        let wide = [7, 1_795_253_061, 0, 1_795_253_071, 0, ranks, 1];
        let head = if self.is_wide() { &wide[..] } else { &narrow[..] };
        let mut job: Vec<u8> = head.iter().flat_map(|part| self.word(*part)).collect();
        job.resize(job.len() + 1024, 0);
        job.extend(b"/bin/app -x");
        job.resize(8 * head.len() + 1024 + 64, 0);
        job
    }

    fn table(self, names: &[(u64, &str)]) -> Vec<u8> {
        let mut table = Vec::new();
        for (id, name) in names {
            table.extend(self.word(*id));
            if self.format == (3, 0) {
                table.extend(self.half(name.len() as u32));
            }
            table.extend(name.as_bytes());
            if self.format != (3, 0) {
                table.push(0);
            }
        }
        table
    }
}

/// A log of a job of so many ranks, with names of files.
pub fn log(form: Form, ranks: u64, names: &[(u64, &str)], modules: &[Module]) -> Vec<u8> {
    let (start, places) = form.header();
    let header_bytes = start + 16 + places * 20;
    let mut regions = vec![[0; 2]; places];
    let mut versions = vec![0u32; places];
    let mut body = form.packed(&form.job(ranks));
    let table = form.packed(&form.table(names));
    let table_at = header_bytes + body.len();
    body.extend(&table);
    for module in modules {
        let place = module_names((form.format.0.into(), form.format.1.into()))
            .split(' ')
            .position(|name| name == module.name);
        let place = place.expect("a module of this format");
        let bytes: Vec<u8> = module.words.iter().flat_map(|part| form.word(*part)).collect();
        let bytes = form.packed(&bytes);
        regions[place] = [(header_bytes + body.len()) as u64, bytes.len() as u64];
        versions[place] = module.version;
        body.extend(bytes);
    }
    let mut bytes = format!("{}.{:02}\0\0\0\0", form.format.0, form.format.1).into_bytes();
    bytes.extend(form.word(6_567_223));
    bytes.push(form.compression);
    bytes.resize(start, 0);
    bytes.extend([table_at as u64, table.len() as u64].map(|part| form.word(part)).concat());
    bytes.extend(regions.iter().flatten().flat_map(|part| form.word(*part)));
    bytes.extend(versions.iter().flat_map(|version| form.half(*version)));
    assert_eq!(bytes.len(), header_bytes);
    bytes.extend(body);
    bytes
}
