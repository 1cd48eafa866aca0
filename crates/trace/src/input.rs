//! Files and standard input -> bytes, decompressed by what they begin with; tables become text.

use crate::table;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::Path;

/// Bytes that are looked at to tell formats apart.
const BEGINNING: usize = 8192;
/// Compression inside of compression.
const LAYERS_MAX: usize = 4;
const BUFFER: usize = 1 << 16;

/// A log as bytes.
pub struct Input {
    /// Its content.
    pub bytes: Box<dyn BufRead>,
    /// How it begins.
    pub beginning: Vec<u8>,
}

/// Opens a log; `-` is standard input.
///
/// # Errors
/// It cannot be read, or is damaged.
pub fn open(path: &Path) -> io::Result<Input> {
    let raw: Box<dyn BufRead> = match path.as_os_str() == "-" {
        true => Box::new(BufReader::with_capacity(BUFFER, io::stdin())),
        false => Box::new(BufReader::with_capacity(BUFFER, File::open(path)?)),
    };
    decompressed(raw)
}

/// Takes compression off, and makes text of tables.
///
/// # Errors
/// As for [`open`].
pub fn decompressed(mut bytes: Box<dyn BufRead>) -> io::Result<Input> {
    for _ in 0..LAYERS_MAX {
        let (beginning, again) = begin(bytes)?;
        let inner: Box<dyn Read> = match &beginning[..] {
            [0x1f, 0x8b, ..] => Box::new(flate2::bufread::MultiGzDecoder::new(again)),
            [b'B', b'Z', b'h', b'1'..=b'9', ..] => {
                Box::new(bzip2::bufread::MultiBzDecoder::new(again))
            }
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => {
                Box::new(lzma_rust2::XzReader::new(again, true))
            }
            // Its frames, and those that are skipped: pzstd begins with one.
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => {
                Box::new(zstd::stream::read::Decoder::with_buffer(again)?)
            }
            beginning if table::is_one(beginning) => Box::new(table::Text::open(again)?),
            _ => return Ok(Input { bytes: again, beginning }),
        };
        bytes = Box::new(BufReader::with_capacity(BUFFER, inner));
    }
    Err(io::Error::other("it is compressed more than four times"))
}

/// The first bytes, and all of them once more.
fn begin(mut bytes: Box<dyn BufRead>) -> io::Result<(Vec<u8>, Box<dyn BufRead>)> {
    let mut beginning = Vec::new();
    let read = bytes.by_ref().take(BEGINNING as u64).read_to_end(&mut beginning);
    let rest: Box<dyn BufRead> = match read {
        Ok(_) => bytes,
        // What came before the cut counts, also if it is short.
        Err(error) if is_cut(&error) && !beginning.is_empty() => Box::new(BufReader::new(Cut)),
        Err(error) => return Err(error),
    };
    let again = Box::new(Cursor::new(beginning.clone()).chain(rest));
    Ok((beginning, again))
}

/// Compressed data end in the middle.
pub fn is_cut(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::UnexpectedEof
}

/// Where compressed data were cut off.
struct Cut;

impl Read for Cut {
    fn read(&mut self, _buffer: &mut [u8]) -> io::Result<usize> {
        Err(io::ErrorKind::UnexpectedEof.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;

    const TEXT: &[u8] = b"one\n";
    /// The output of Python's `lzma.compress` for it.
    const XZ: &[u8] = &[
        0xfd, 0x37, 0x7a, 0x58, 0x5a, 0, 0, 1, 0x69, 0x22, 0xde, 0x36, 2, 0, 0x21, 1, 0x16, 0, 0,
        0, 0x74, 0x2f, 0xe5, 0xa3, 1, 0, 3, 0x6f, 0x6e, 0x65, 0x0a, 0, 0x9f, 0xa8, 0x17, 0xf8, 0,
        1, 0x18, 4, 0x6b, 0xe9, 0xf0, 0xa5, 0x90, 0x42, 0x99, 0x0d, 1, 0, 0, 0, 0, 1, 0x59, 0x5a,
    ];
    /// A frame of zstd that readers skip: its length, then its bytes.
    const SKIPPED: &[u8] = &[0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 7, 7];

    fn all() -> [Vec<u8>; 4] {
        let mut gz = GzEncoder::new(Vec::new(), Compression::fast());
        gz.write_all(TEXT).unwrap();
        let mut bz2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
        bz2.write_all(TEXT).unwrap();
        let zst = zstd::encode_all(TEXT, 1).unwrap();
        [gz.finish().unwrap(), bz2.finish().unwrap(), XZ.to_vec(), zst]
    }

    fn plain(bytes: Vec<u8>) -> io::Result<Vec<u8>> {
        let (mut input, mut text) = (decompressed(Box::new(Cursor::new(bytes)))?, Vec::new());
        input.bytes.read_to_end(&mut text)?;
        assert!(text.starts_with(&input.beginning));
        Ok(text)
    }

    #[test]
    fn every_compression_is_taken_off_also_of_several_parts() {
        for whole in all() {
            assert_eq!(plain(whole.clone()).unwrap(), TEXT);
            // Compressors with threads, and `cat`, put parts one after the other.
            assert_eq!(plain([&whole[..], &whole].concat()).unwrap(), [TEXT, TEXT].concat());
            let cut = plain(whole[..whole.len() - 5].to_vec()).unwrap_err();
            assert_eq!(cut.kind(), io::ErrorKind::UnexpectedEof, "{whole:?}");
        }
        let [gz, _, _, zst] = all();
        assert_eq!(plain([SKIPPED, &zst, SKIPPED].concat()).unwrap(), TEXT);
        let twice = zstd::encode_all(&gz[..], 1).unwrap();
        assert_eq!(plain(twice).unwrap(), TEXT);
    }

    #[test]
    fn compression_without_end_is_refused() {
        let compress = |bytes: Vec<u8>| zstd::encode_all(&bytes[..], 1).unwrap();
        let deep = (0..LAYERS_MAX).fold(TEXT.to_vec(), |bytes, _| compress(bytes));
        let error = plain(deep).unwrap_err();
        assert_eq!(error.to_string(), "it is compressed more than four times");
    }
}
