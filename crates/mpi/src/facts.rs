//! Facts about the MPI of this machine: `parabench mpi info`.

use crate::world::World;
use std::ffi::CString;
use std::path::Path;

/// An MPI library, as it describes itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Name and version, one line.
    pub library: String,
    /// Everything it says about itself.
    pub library_text: String,
    /// Version of the MPI standard.
    pub standard: (i32, i32),
    /// Thread level: "single", "funneled", "serialized" or "multiple".
    pub thread_level: &'static str,
    /// Its MPI-IO: "ROMIO", "OMPIO", or why it is unknown.
    pub mpi_io: String,
    /// Ranks and machines of this start.
    pub ranks: u32,
    /// Machines.
    pub nodes: u32,
}

/// Asks the library. A file is made below `scratch` and removed.
pub fn facts(world: &World, scratch: &Path) -> Facts {
    let levels = ["single", "funneled", "serialized", "multiple"];
    let shim = world.shim();
    Facts {
        library: shim.library_name(),
        library_text: shim.library_version(),
        standard: shim.standard_version(),
        thread_level: usize::try_from(world.thread_level)
            .ok()
            .and_then(|level| levels.get(level).copied())
            .unwrap_or("unknown"),
        mpi_io: mpi_io(world, scratch),
        ranks: world.size,
        nodes: world.nodes,
    }
}

fn mpi_io(world: &World, scratch: &Path) -> String {
    let file = scratch.join(format!(".parabench-mpi-io-{}-{}", std::process::id(), world.rank));
    let text = hint_names(world, &file);
    let _ = std::fs::remove_file(&file);
    match text {
        Ok(names) => implementation(&names, &world.library()).into(),
        Err(reason) => format!("unknown: {reason}"),
    }
}

fn hint_names(world: &World, file: &Path) -> Result<String, String> {
    use std::os::unix::ffi::OsStrExt;
    let path = CString::new(file.as_os_str().as_bytes()).map_err(|error| error.to_string())?;
    let mut text = vec![0u8; 16 << 10];
    let (start, size) = (text.as_mut_ptr().cast(), text.len() as i32);
    // SAFETY: a C string and a buffer with its size, which the shim ends with 0.
    let code = unsafe { (world.shim().hint_names)(path.as_ptr(), start, size) };
    world.check("MPI_File_open", code).map_err(|error| error.to_string())?;
    let end = text.iter().position(|byte| *byte == 0).unwrap_or(0);
    Ok(String::from_utf8_lossy(&text[..end]).into_owned())
}

/// ROMIO names its hints; OMPIO is Open MPI's own.
fn implementation(hint_names: &str, library: &str) -> &'static str {
    let romio = |name: &str| name.starts_with("romio_") || name.starts_with("ind_rd_buffer");
    if hint_names.lines().any(romio) {
        "ROMIO"
    } else if library.starts_with("Open MPI") {
        "OMPIO"
    } else {
        "unknown"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_tell_the_implementation() {
        for (names, library, expected) in [
            ("cb_nodes\nromio_cb_read\n", "MPICH 4.0", "ROMIO"),
            ("cb_nodes\nromio_cb_read\n", "Open MPI v4.1.4", "ROMIO"),
            ("cb_nodes\n", "Open MPI v4.1.4", "OMPIO"),
            ("", "Some MPI", "unknown"),
        ] {
            assert_eq!(implementation(names, library), expected);
        }
    }
}
