//! The source of the shim and how it is compiled; build.rs does it the same way, by this file.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Source of the shim, embedded in the binary.
pub const SHIM_SOURCE: &str =
    concat!(include_str!("../shim/shim.c"), include_str!("../shim/files.c"));

/// A hash of the source, so that the border between Rust and C cannot change unnoticed.
pub const SHIM_VERSION: i32 = hash(SHIM_SOURCE.as_bytes());

/// FNV-1a, 31 bits: http://www.isthe.com/chongo/tech/comp/fnv/
const fn hash(source: &[u8]) -> i32 {
    let (mut hash, mut at) = (0x811c_9dc5u32, 0);
    while at < source.len() {
        hash = (hash ^ source[at] as u32).wrapping_mul(0x0100_0193);
        at += 1;
    }
    (hash >> 1) as i32
}

/// The words of the compiler, up to the name of the result.
pub fn arguments() -> Vec<String> {
    let words = ["-shared", "-fPIC", "-O2", "-x", "c", "-", "-o"];
    let define = format!("-DPB_SHIM_VERSION={SHIM_VERSION}");
    [define].into_iter().chain(words.map(str::to_string)).collect()
}

/// Compiles the source with `mpicc` into `output`. It goes in by standard input: no file has to be
/// made for it.
///
/// # Errors
/// The message of the compiler, or why it could not be started.
pub fn compile(mpicc: &str, output: &Path) -> Result<(), String> {
    let mut command = Command::new(mpicc);
    let command = command.args(arguments()).arg(output);
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    let written =
        child.stdin.take().map_or(Ok(()), |mut stdin| stdin.write_all(SHIM_SOURCE.as_bytes()));
    let output = child.wait_with_output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return written.map_err(|error| error.to_string());
    }
    let said = [output.stderr, output.stdout].concat();
    Err(format!("{}\n{}", output.status, String::from_utf8_lossy(&said)))
}
