//! The file of a recording that counts what is lost, by program.
//!
//! ```text
//! lost    128 bytes each: named, 1000 calls, 0 programs, "./app"; named, 0 calls, 2 programs, "/bin/static"
//! ```

use bytemuck::{Pod, Zeroable};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Its name.
pub const FILE: &str = "lost";
/// Entries that the recorder makes.
const ENTRIES: usize = 512;
const NAMED: u32 = 2;

/// `struct pb_lost`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct Entry {
    state: u32,
    unused: u32,
    calls: u64,
    programs: u64,
    name: [u8; 104],
}

/// Lost records of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    pub program: Vec<u8>,
    /// Calls of it that were not recorded.
    pub calls: u64,
    /// How often it was executed without being recorded.
    pub programs: u64,
}

/// Reads the file of a folder; nothing is lost where it has none.
pub fn read(folder: &Path) -> io::Result<Vec<Lost>> {
    let mut bytes = Vec::new();
    match File::open(folder.join(FILE)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        file => file?.take((ENTRIES * size_of::<Entry>()) as u64).read_to_end(&mut bytes)?,
    };
    let entries = bytes.chunks_exact(size_of::<Entry>()).map(bytemuck::pod_read_unaligned);
    let named = entries.filter(|entry: &Entry| entry.state == NAMED);
    let all = named.map(|entry| Lost {
        program: entry.name.split(|byte| *byte == 0).next().unwrap_or_default().to_vec(),
        calls: entry.calls,
        programs: entry.programs,
    });
    Ok(all.filter(|lost| lost.calls > 0 || lost.programs > 0).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn what_is_lost_is_read_by_program() {
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(read(folder.path()).expect("no file"), []);
        let entry = |state, calls, programs, text: &[u8]| {
            let mut name = [0; 104];
            name[..text.len()].copy_from_slice(text);
            Entry { state, unused: 0, calls, programs, name }
        };
        let long = [b'x'; 104];
        let entries = [
            entry(NAMED, 0, 0, b"./nothing"),
            entry(NAMED, 3, 0, b"./app"),
            entry(1, 9, 9, b"./half"),
            entry(NAMED, u64::MAX, 2, &long),
        ];
        let mut bytes: Vec<u8> = entries.iter().flat_map(bytemuck::bytes_of).copied().collect();
        bytes.extend([7; 100]);
        fs::write(folder.path().join(FILE), bytes).expect("written");
        let lost =
            |program: &[u8], calls, programs| Lost { program: program.to_vec(), calls, programs };
        let found = read(folder.path()).expect("entries");
        assert_eq!(found, [lost(b"./app", 3, 0), lost(&long, u64::MAX, 2)]);
    }
}
