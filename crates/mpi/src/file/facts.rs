//! Facts about open files: who opened them, which hints were requested and
//! which are in effect, where the file system keeps them.

use crate::shim::Shim;
use crate::world::World;
use engine::call::MpiFile;
use engine::comm::Members;
use model::run::MpiFileFacts;
use std::collections::HashMap;
use std::ffi::{CStr, OsStr, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Most files with facts; more are opened without.
const FILES_MAX: usize = 64;
/// Bytes of what `lfs` says that are kept.
const LAYOUT_MAX_BYTES: usize = 2048;

/// Files by number, and facts that were reported before.
#[derive(Debug, Default)]
pub(super) struct Kept {
    members: HashMap<c_int, Members>,
    told: Vec<(Vec<u8>, String)>,
}

impl Kept {
    /// The members that opened a file.
    pub(super) fn members(&self, file: MpiFile) -> Option<Members> {
        self.members.get(&file.0).cloned()
    }

    /// Keeps who opened it. Member 0 gives the facts of the first files with different names
    /// or hints; of files that ranks open alone only rank 0, because there is one for each.
    pub(super) fn opened(
        &mut self,
        world: &World,
        (file, path): (MpiFile, &CStr),
        members: &Members,
        hints: &str,
    ) -> Option<MpiFileFacts> {
        self.members.insert(file.0, members.clone());
        let is_known = self.told.iter().any(|told| told.0 == path.to_bytes() && told.1 == hints);
        let tells = if members.is_alone() { Some(0) } else { members.ranks.first() };
        if tells != Some(world.rank) || is_known || self.told.len() == FILES_MAX {
            return None;
        }
        self.told.push((path.to_bytes().to_vec(), hints.to_string()));
        Some(MpiFileFacts {
            path: String::from_utf8_lossy(path.to_bytes()).into_owned(),
            ranks: members.ranks.len() as u32,
            requested_hints: hints.to_string(),
            effective_hints: effective(world.shim(), file),
            file_system: file_system(path),
            layout: layout(path).unwrap_or_default(),
        })
    }
}

/// `MPI_File_get_info`: hints in effect, `key=value;key=value`.
fn effective(shim: &Shim, file: MpiFile) -> String {
    let mut count = 0;
    // SAFETY: a handle the shim gave and a valid pointer.
    if unsafe { (shim.file_hints)(file.0, &mut count) } != 0 {
        return String::new();
    }
    let hints = (0..count).filter_map(|number| hint(shim, file, number));
    hints.collect::<Vec<_>>().join(";")
}

fn hint(shim: &Shim, file: MpiFile, number: c_int) -> Option<String> {
    let (mut key, mut value) = ([0 as c_char; 256], [0 as c_char; 1024]);
    let sizes = (key.len() as c_int, value.len() as c_int);
    // SAFETY: a handle the shim gave; buffers of the sizes that are told, zero before, and
    // ended with 0 by the shim.
    unsafe {
        let (key_at, value_at) = (key.as_mut_ptr(), value.as_mut_ptr());
        let code = (shim.file_hint)(file.0, number, key_at, sizes.0, value_at, sizes.1);
        let key = CStr::from_ptr(key.as_ptr()).to_string_lossy().into_owned();
        let value = CStr::from_ptr(value.as_ptr()).to_string_lossy();
        (code == 0 && !key.is_empty()).then(|| format!("{key}={}", value.trim()))
    }
}

fn file_system(path: &CStr) -> String {
    let path = Path::new(OsStr::from_bytes(path.to_bytes()));
    engine::host::mount_of(path).map(|mount| mount.file_system).unwrap_or_default()
}

/// The answer of `lfs getstripe`, if there is an `lfs`.
fn layout(path: &CStr) -> Option<String> {
    let places = std::env::var_os("PATH")?;
    let lfs = std::env::split_paths(&places).map(|place: PathBuf| place.join("lfs"));
    let lfs = lfs.into_iter().find(|lfs| lfs.is_file())?;
    let mut command = Command::new(lfs);
    command.arg("getstripe").arg(OsStr::from_bytes(path.to_bytes())).stdin(Stdio::null());
    let output = command.output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8_lossy(&output.stdout);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let end =
        (0..=LAYOUT_MAX_BYTES.min(words.len())).rev().find(|at| words.is_char_boundary(*at))?;
    Some(words[..end].to_string()).filter(|text| !text.is_empty())
}
