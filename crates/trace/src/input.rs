//! Files and standard input -> bytes, decompressed by what they begin with.

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

/// Takes compression off.
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
            [0x28, 0xb5, 0x2f, 0xfd, ..] => {
                let decoder = ruzstd::decoding::StreamingDecoder::new(again);
                Box::new(decoder.map_err(|error| io::Error::other(error.to_string()))?)
            }
            _ => return Ok(Input { bytes: again, beginning }),
        };
        bytes = Box::new(BufReader::with_capacity(BUFFER, inner));
    }
    Err(io::Error::other("it is compressed more than four times"))
}

/// The first bytes, and all of them once more.
fn begin(mut bytes: Box<dyn BufRead>) -> io::Result<(Vec<u8>, Box<dyn BufRead>)> {
    let mut beginning = Vec::new();
    bytes.by_ref().take(BEGINNING as u64).read_to_end(&mut beginning)?;
    let again = Box::new(Cursor::new(beginning.clone()).chain(bytes));
    Ok((beginning, again))
}
