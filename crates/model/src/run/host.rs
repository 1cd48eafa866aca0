//! The machine of a run and the storage that it used.

use serde::{Deserialize, Serialize};

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
    /// Mount point it lies on.
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
    /// Mount point it lies on.
    pub mount: String,
    /// Mounted device or source.
    pub device: String,
    /// File system type.
    pub file_system: String,
    /// Mount options.
    pub mount_options: String,
    /// Block devices below the file system, as those of the host.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<Device>,
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
