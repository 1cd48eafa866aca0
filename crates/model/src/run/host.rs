//! The machine of a run and the storage that it used.

use crate::directory;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// The machine and the storage.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Host {
    /// Host name.
    pub name: String,
    /// Kernel release.
    pub kernel: String,
    /// Processor model.
    pub cpu: String,
    /// CPUs that the ranks of this machine may use; under MPI, that rank 0 may use.
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Directory {
    /// Name in the program.
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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

impl Storage {
    /// Another machine has the same below the same path, mounted in the same way. Block devices may
    /// bear other names there.
    pub fn is_mounted_like(&self, other: &Storage) -> bool {
        let facts = |of: &Storage| [&of.mount, &of.device, &of.file_system].map(Clone::clone);
        facts(self) == facts(other)
            && self.options_beyond(other).is_empty()
            && other.options_beyond(self).is_empty()
    }

    /// Mount options that another machine's mount has not; without the address of the machine itself.
    pub fn options_beyond<'a>(&'a self, other: &Storage) -> Vec<&'a str> {
        let options = self.mount_options.split(',').filter(|option| !option.is_empty());
        let theirs: Vec<&str> = other.mount_options.split(',').collect();
        let is_own = |option: &&str| option.starts_with("clientaddr=") || theirs.contains(option);
        options.filter(|option| !is_own(option)).collect()
    }
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Device {
    /// Name in the kernel: "sda", "loop3"; of a file system in memory its type.
    pub name: String,
    /// "loop", "memory" (ram disk, zram, file system in memory), "rotating", or "disk".
    pub kind: String,
    /// File behind a loop device; "" for others.
    pub file: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_are_compared_without_the_address_of_the_machine() {
        let nfs = |options: &str| Storage {
            mount: "/data".into(),
            device: "srv:/x".into(),
            file_system: "nfs4".into(),
            mount_options: options.into(),
            ..Storage::default()
        };
        let first = nfs("rw,wsize=1048576,clientaddr=10.0.0.1");
        assert!(nfs("wsize=1048576,rw,clientaddr=10.0.0.2").is_mounted_like(&first));
        let other = nfs("rw,wsize=65536,sync,clientaddr=10.0.0.2");
        assert!(!other.is_mounted_like(&first));
        assert_eq!(other.options_beyond(&first), ["wsize=65536", "sync"]);
        assert_eq!(first.options_beyond(&other), ["wsize=1048576"]);
        assert!(!Storage { device: "srv2:/x".into(), ..first.clone() }.is_mounted_like(&first));
    }
}
