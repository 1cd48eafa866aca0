//! Whether a program lets the library in.

use object::LittleEndian;
use object::elf::{FileHeader64, PT_DYNAMIC, PT_INTERP, PT_NOTE};
use object::read::elf::{FileHeader, ProgramHeader};
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Headers and the first line of a script stand here.
const HEAD_BYTES: u64 = 8192;
/// Scripts whose interpreter is a script.
const SCRIPTS_MAX: usize = 4;
const SET_USER: u32 = 0o4000;
const SET_GROUP: u32 = 0o2000;

/// Why the library does not get in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hindrance {
    /// The dynamic linker takes no part in it.
    Static,
    /// It is executed with other rights, for which the dynamic linker brings in no library.
    Privileged,
    /// It is for another kind of CPU.
    Foreign,
    /// The runtime of Go makes its system calls itself.
    Go,
}

impl Hindrance {
    /// The hindrance as the end of a sentence.
    pub fn says(self) -> &'static str {
        match self {
            Hindrance::Static => "it is linked statically, which lets no library in",
            Hindrance::Privileged => "it is executed with the rights of another user or group",
            Hindrance::Foreign => "it is made for another kind of processor",
            Hindrance::Go => "it is written in Go, whose calls do not go through the C library",
        }
    }
}

/// Looks at a program, or at the interpreter of a script. `None`: the library gets in, as far as
/// the files tell.
pub fn look(program: &Path) -> Option<Hindrance> {
    let mut program = program.to_path_buf();
    for _ in 0..SCRIPTS_MAX {
        let head = head(&program)?;
        match interpreter(&head) {
            Some(other) => program = other,
            None => return is_privileged(&program).or_else(|| linking(&head)),
        }
    }
    None
}

fn head(program: &Path) -> Option<Vec<u8>> {
    let mut head = Vec::new();
    File::open(program).ok()?.take(HEAD_BYTES).read_to_end(&mut head).ok()?;
    Some(head)
}

/// `#!/bin/sh -e`.
fn interpreter(head: &[u8]) -> Option<PathBuf> {
    let line = head.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let text = String::from_utf8_lossy(line);
    text.split_whitespace().next().map(PathBuf::from)
}

fn is_privileged(program: &Path) -> Option<Hindrance> {
    let facts = fs::metadata(program).ok()?;
    let me = fs::metadata("/proc/self").ok()?;
    let gains = (facts.mode() & SET_USER != 0 && facts.uid() != me.uid())
        || (facts.mode() & SET_GROUP != 0 && facts.gid() != me.gid());
    gains.then_some(Hindrance::Privileged)
}

fn linking(head: &[u8]) -> Option<Hindrance> {
    if !head.starts_with(&object::elf::ELFMAG) {
        return None;
    }
    let Ok(header) = FileHeader64::<LittleEndian>::parse(head) else {
        return Some(Hindrance::Foreign);
    };
    let endian = LittleEndian;
    if header.e_machine(endian) != own_machine() {
        return Some(Hindrance::Foreign);
    }
    let parts = header.program_headers(endian, head).ok()?;
    // A library is no program, but can be one: the dynamic linker itself.
    let is = |kind| parts.iter().any(|part| part.p_type(endian) == kind);
    if !is(PT_INTERP) && !is(PT_DYNAMIC) {
        return Some(Hindrance::Static);
    }
    let mut notes = parts.iter().filter(|part| part.p_type(endian) == PT_NOTE);
    notes.any(|part| part.data(endian, head).is_ok_and(has_note_of_go)).then_some(Hindrance::Go)
}

/// A note of type 4 (its build) whose name is "Go".
fn has_note_of_go(notes: &[u8]) -> bool {
    const TYPE_AND_NAME: &[u8] = b"\x04\0\0\0Go\0\0";
    notes.windows(TYPE_AND_NAME.len()).any(|part| part == TYPE_AND_NAME)
}

/// The CPU that this program is for.
fn own_machine() -> u16 {
    match cfg!(target_arch = "aarch64") {
        true => object::elf::EM_AARCH64,
        false => object::elf::EM_X86_64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    /// A program of one header of this type.
    fn program(kind: u32, machine: u16) -> Vec<u8> {
        let mut bytes = vec![0; 64 + 56];
        bytes[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
        bytes[18..20].copy_from_slice(&machine.to_le_bytes());
        bytes[32] = 64;
        (bytes[54], bytes[56]) = (56, 1);
        bytes[64..68].copy_from_slice(&kind.to_le_bytes());
        bytes
    }

    /// A dynamically linked program with a second header, of the note that Go leaves.
    fn of_go() -> Vec<u8> {
        let mut bytes = program(PT_INTERP, own_machine());
        let note = b"\x04\0\0\0\x04\0\0\0\x04\0\0\0Go\0\0abcd";
        bytes.resize(64 + 2 * 56, 0);
        bytes[56] = 2;
        bytes[120..124].copy_from_slice(&PT_NOTE.to_le_bytes());
        bytes[128..136].copy_from_slice(&176_u64.to_le_bytes());
        bytes[152..160].copy_from_slice(&(note.len() as u64).to_le_bytes());
        bytes.extend(note);
        bytes
    }

    #[test]
    fn programs_that_let_nobody_in_are_known() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("program");
        for (bytes, found) in [
            (program(PT_INTERP, own_machine()), None),
            (program(PT_DYNAMIC, own_machine()), None),
            (program(1, own_machine()), Some(Hindrance::Static)),
            (program(PT_INTERP, 8), Some(Hindrance::Foreign)),
            (b"\x7fELF\x01\x01".to_vec(), Some(Hindrance::Foreign)),
            (of_go(), Some(Hindrance::Go)),
            (b"#!/nowhere\n".to_vec(), None),
            (b"text".to_vec(), None),
        ] {
            fs::write(&path, &bytes).expect("written");
            assert_eq!(look(&path), found, "{bytes:?}");
        }
        let script = folder.path().join("script");
        fs::write(&script, format!("#! {} -x\nrest", path.display())).expect("written");
        fs::write(&path, program(1, own_machine())).expect("written");
        assert_eq!(look(&script), Some(Hindrance::Static));
        assert_eq!(look(Path::new("/proc/self/exe")), None);
    }

    #[test]
    fn programs_with_other_rights_are_known() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("program");
        fs::write(&path, program(PT_INTERP, own_machine())).expect("written");
        // Only root gives files away.
        if std::os::unix::fs::chown(&path, Some(65534), None).is_err() {
            return;
        }
        for (mode, found) in [(0o755, None), (0o4755, Some(Hindrance::Privileged))] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("set");
            assert_eq!(look(&path), found, "{mode:o}");
        }
    }
}
