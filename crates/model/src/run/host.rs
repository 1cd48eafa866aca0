//! The machine of a run and the storage that it used.

use crate::directory;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// The machine and the storage.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// Host name.
    pub name: String,
    /// Kernel release.
    pub kernel: String,
    /// Processor model.
    pub cpu: String,
    /// Processors that the ranks of this machine may use; under MPI, those of rank 0.
    pub cpus: u32,
    /// Main memory, bytes.
    pub memory_bytes: u64,
    /// Run directory.
    pub directory: String,
    /// The storage below it.
    #[serde(flatten)]
    pub storage: Storage,
    /// Directories that the program could use besides the run directory.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub directories: Vec<Directory>,
}

/// A directory besides the run directory, and the storage below it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Directory {
    /// What the program calls it.
    pub name: String,
    /// Its path.
    pub directory: String,
    /// A scratch directory, because nobody granted another one.
    pub scratch: bool,
    /// The storage below it.
    #[serde(flatten)]
    pub storage: Storage,
}

/// The storage below a directory; of files in memory nothing is known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Storage {
    /// Mount point that the directory lies on.
    pub mount: String,
    /// Mounted device or source.
    pub device: String,
    /// File system type.
    pub file_system: String,
    /// Mount options.
    pub mount_options: String,
    /// Block devices below the file system, from the mounted one down; empty where there are none
    /// or they cannot be seen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<Device>,
}

impl Host {
    /// Names and paths of the further directories.
    fn further(&self) -> impl Iterator<Item = (&str, &str)> {
        self.directories.iter().map(|one| (&*one.name, &*one.directory))
    }

    /// A path as users read it: `NAME:path` if it lies in a further directory, whose own place may be
    /// another one in each run.
    pub fn named<'p>(&self, path: &'p [u8]) -> Cow<'p, [u8]> {
        directory::named(self.further(), path)
    }

    /// The same for the paths in a message.
    pub fn named_in(&self, text: &str) -> String {
        directory::named_in(self.further(), text)
    }
}

/// A block device below the file system, or what lies below a loop device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// Name in the kernel: "sda", "loop3"; of a file system in memory its type.
    pub name: String,
    /// "loop", "memory" (ram disk, zram, file system in memory), "rotating", or "disk".
    pub kind: String,
    /// File behind a loop device; "" for others.
    pub file: String,
}
