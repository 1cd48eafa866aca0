//! The shim: where its file is found, how it is compiled, and its functions, opened with dlopen.

use crate::error::{Looked, MISSING, MpiError};
use crate::source::{SHIM_VERSION, arguments, compile};
use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
use object::{Object, ObjectSegment, ObjectSymbol};
use std::env;
use std::ffi::{CStr, c_char, c_int, c_longlong, c_void};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Why a place with a file of something else does not do.
const NO_SHIM: &str = "the file that is there is no MPI shim of Parabench";
/// A symbol that shims of every version export.
const VERSION_SYMBOL: &str = "pb_shim_version";

/// Most functions return an error code.
macro_rules! returned {
    () => {
        c_int
    };
    ($type:ty) => {
        $type
    };
}

macro_rules! functions {
    ($( $field:ident = $symbol:literal: fn($($arg:ty),*) $(-> $returned:ty)?; )*) => {
        /// The functions of shim/*.c, one field each; arguments are documented there.
        #[allow(missing_docs)]
        pub struct Shim {
            $( pub $field: unsafe extern "C" fn($($arg),*) -> returned!($($returned)?), )*
            _library: Library,
        }

        impl Shim {
            /// # Safety
            /// The library must be a shim of this version, so that the symbols have these types.
            unsafe fn resolve(library: Library) -> Result<Shim, libloading::Error> {
                // SAFETY: the caller vouches for the types; the pointers live as long as
                // the library, which is kept beside them and never closed before.
                unsafe {
                    Ok(Shim {
                        $( $field: *library.get(concat!($symbol, "\0").as_bytes())?, )*
                        _library: library,
                    })
                }
            }
        }
    };
}

functions! {
    init = "pb_init": fn(*mut c_int);
    finalize = "pb_finalize": fn();
    abort = "pb_abort": fn(c_int);
    library = "pb_library": fn(*mut c_char, c_int);
    standard = "pb_standard": fn(*mut c_int, *mut c_int);
    error = "pb_error": fn(c_int, *mut c_int, *mut c_char, c_int);
    error_name = "pb_error_name": fn(c_int, *mut c_char, c_int);
    comm_rank = "pb_comm_rank": fn(c_int, *mut c_int);
    comm_size = "pb_comm_size": fn(c_int, *mut c_int);
    comm_split = "pb_comm_split": fn(c_int, c_int, c_int, *mut c_int);
    comm_copy_start = "pb_comm_copy_start": fn(c_int, *mut c_int);
    comm_copy_test = "pb_comm_copy_test": fn(c_int, *mut c_int);
    comm_split_node = "pb_comm_split_node": fn(c_int, *mut c_int);
    comm_free = "pb_comm_free": fn(c_int);
    done = "pb_done": fn(c_int, *mut c_int);
    ibcast = "pb_ibcast": fn(c_int, *mut c_void, c_int, c_int, *mut c_int);
    iallreduce = "pb_iallreduce": fn(c_int, *mut c_longlong, c_int, c_int, *mut c_int);
    isend = "pb_isend": fn(c_int, *const c_void, c_int, c_int, c_int, *mut c_int);
    irecv = "pb_irecv": fn(c_int, *mut c_void, c_int, c_int, c_int, *mut c_int);
    posted = "pb_posted": fn(*mut c_int);
    post = "pb_post": fn(c_int, *const c_void, c_int, c_int);
    take = "pb_take": fn(c_int, *mut c_void, c_int, *mut c_int, *mut c_int);
    claims_make = "pb_claims_make": fn(c_int, c_int, c_longlong, c_int, *mut c_int);
    claims_free = "pb_claims_free": fn(c_int);
    claim_start = "pb_claim_start": fn(c_int, c_int, c_int);
    claim_wait = "pb_claim_wait": fn(c_int, c_int, c_int, *mut c_longlong);
    claim_set = "pb_claim_set": fn(c_int, c_int, c_int, c_longlong);
    hint_names = "pb_hint_names": fn(*const c_char, *mut c_char, c_int);
    type_contiguous = "pb_type_contiguous": fn(c_int, c_int, *mut c_int);
    type_vector = "pb_type_vector": fn(c_int, c_int, c_longlong, c_int, *mut c_int);
    type_indexed = "pb_type_indexed": fn(c_int, *const c_int, *const c_longlong, c_int, *mut c_int);
    type_subarray = "pb_type_subarray": fn(c_int, *const c_int, *const c_int, *const c_int, c_int, *mut c_int);
    type_struct = "pb_type_struct": fn(c_int, *const c_int, *const c_longlong, *const c_int, *mut c_int);
    type_free = "pb_type_free": fn(c_int);
    file_open = "pb_file_open": fn(c_int, *const c_char, c_int, c_int, *const *const c_char, *const *const c_char, *mut c_int);
    file_close = "pb_file_close": fn(c_int);
    file_delete = "pb_file_delete": fn(*const c_char);
    file_sync = "pb_file_sync": fn(c_int);
    file_set_size = "pb_file_set_size": fn(c_int, c_longlong);
    file_preallocate = "pb_file_preallocate": fn(c_int, c_longlong);
    file_set_atomicity = "pb_file_set_atomicity": fn(c_int, c_int);
    file_seek = "pb_file_seek": fn(c_int, c_longlong);
    file_get_size = "pb_file_get_size": fn(c_int, *mut c_longlong);
    file_set_view = "pb_file_set_view": fn(c_int, c_longlong, c_int, c_int);
    file_hints = "pb_file_hints": fn(c_int, *mut c_int);
    file_hint = "pb_file_hint": fn(c_int, c_int, *mut c_char, c_int, *mut c_char, c_int);
    large = "pb_large": fn();
    file_at = "pb_file_at": fn(c_int, c_int, c_longlong, *mut c_void, c_longlong, c_int) -> c_longlong;
    file_shared = "pb_file_shared": fn(c_int, c_int, *mut c_void, c_longlong, c_int) -> c_longlong;
    file_start = "pb_file_start": fn(c_int, c_int, c_longlong, *mut c_void, c_longlong, c_int, *mut c_int);
    wait = "pb_wait": fn(c_int) -> c_longlong;
}

impl Shim {
    /// Opens a compiled shim; the reason if it cannot be used.
    pub fn open(path: &Path) -> Result<Shim, String> {
        match std::fs::metadata(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Err(MISSING.into()),
            Err(error) => return Err(error.to_string()),
            Ok(facts) if !facts.is_file() => return Err("it is not a file".into()),
            Ok(_) => {}
        }
        let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
        if !is_shim(&bytes) {
            return Err(format!("{NO_SHIM}; remove it, or put one there: parabench mpi build"));
        }
        // MPI libraries load plug-ins that look for the library's own symbols:
        // hence RTLD_GLOBAL.
        // SAFETY: opening runs the initialisers of the MPI library; the file is one
        // the user named or compiled.
        let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_GLOBAL) }
            .map_err(|error| error.to_string())?;
        // SAFETY: the function takes nothing and returns an int in every version.
        let version = unsafe {
            library
                .get::<unsafe extern "C" fn() -> c_int>(b"pb_shim_version\0")
                .map(|version| version())
        };
        match version {
            Err(_) => Err(NO_SHIM.into()),
            Ok(SHIM_VERSION) => {
                // SAFETY: version and origin were checked just now.
                unsafe { Shim::resolve(library) }.map_err(|error| error.to_string())
            }
            Ok(_) => Err("it was compiled from the shim of another version of parabench; \
                 run: parabench mpi build"
                .into()),
        }
    }

    /// Turns an MPI error code into data.
    pub fn check(&self, call: &'static str, code: c_int) -> Result<(), MpiError> {
        if code == 0 {
            return Ok(());
        }
        let (mut class, mut text) = (0, [0u8; 512]);
        // SAFETY: the buffer has the given size; the shim ends the text with 0.
        unsafe { (self.error)(code, &mut class, text.as_mut_ptr().cast(), text.len() as c_int) };
        Err(MpiError::Call { call, class, text: c_text(&text) })
    }

    /// Name and version of the MPI library. May be called before `init`.
    pub fn library_version(&self) -> String {
        let mut text = [0u8; 8192];
        // SAFETY: the buffer has the given size; the shim ends the text with 0.
        unsafe { (self.library)(text.as_mut_ptr().cast(), text.len() as c_int) };
        c_text(&text)
    }

    /// Name and version of the MPI library: the start of [`Shim::library_version`], one line.
    pub fn library_name(&self) -> String {
        let text = self.library_version();
        // "Open MPI v4.1.4, package: ...", "MPICH Version:      4.0.2\nMPICH Release date: ..."
        let first = text.lines().next().unwrap_or_default();
        let first = first.split(", package").next().unwrap_or_default();
        let words = first.replace("Version:", " ");
        words.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Version of the MPI standard. May be called before `init`.
    pub fn standard_version(&self) -> (i32, i32) {
        let (mut version, mut subversion) = (0, 0);
        // SAFETY: two valid pointers.
        unsafe { (self.standard)(&mut version, &mut subversion) };
        (version, subversion)
    }
}

/// The bytes are a shim of some version: nothing of it is executed to find out. It is whole, too: the linker maps
/// what the headers say without a look at the file's length, and a process that touches pages beyond the end dies
/// of SIGBUS.
pub fn is_shim(bytes: &[u8]) -> bool {
    let Ok(file) = object::File::parse(bytes) else { return false };
    let mut symbols = file.dynamic_symbols();
    file.segments().all(|segment| segment.data().is_ok())
        && symbols.any(|symbol| symbol.is_definition() && symbol.name() == Ok(VERSION_SYMBOL))
}

/// A text of the shim's, which ends with 0.
pub(crate) fn c_text(bytes: &[u8]) -> String {
    let text = CStr::from_bytes_until_nul(bytes).unwrap_or_default();
    text.to_string_lossy().trim().to_string()
}

/// File name of the compiled shim.
pub const SHIM_FILE: &str = "libparabench_mpi_shim.so";

/// A shim that can be used.
pub struct Found {
    /// Its file.
    pub path: PathBuf,
    /// Name of its place, one of the [`places`].
    pub place: &'static str,
    /// Its functions.
    pub shim: Shim,
}

/// The variable that names a shim.
pub const VARIABLE: &str = "PARABENCH_MPI_SHIM";

/// Where the shim is looked for, in this order, with the name of each place. The variable is
/// the only place if it is set: who names a file does not want another.
pub fn places() -> Vec<(&'static str, PathBuf)> {
    if let Some(path) = env::var_os(VARIABLE) {
        // A name without a slash would be looked for among the system's libraries.
        let path = std::path::absolute(&path).unwrap_or_else(|_| path.into());
        return vec![("the variable PARABENCH_MPI_SHIM", path)];
    }
    let mut places = Vec::new();
    if let Ok(binary) = env::current_exe() {
        places.push(("beside the binary", binary.with_file_name(SHIM_FILE)));
        let library = binary.parent().and_then(Path::parent).map(|root| root.join("lib"));
        places.extend(library.map(|lib| ("in ../lib of the binary", lib.join(SHIM_FILE))));
    }
    let built = env!("PARABENCH_MPI_SHIM_BUILT");
    if !built.is_empty() {
        places.push(("where parabench was built", PathBuf::from(built)));
    }
    places
}

/// Opens the first shim that there is.
///
/// # Errors
/// [`MpiError::NoShim`] with every place that was looked at, and why it does not do. A file that cannot
/// be used ends the search: a later one may be for another MPI, and the job would end for a reason that
/// has nothing to do with this file.
pub fn find_shim() -> Result<Found, MpiError> {
    find_shim_in(places())
}

fn find_shim_in(places: Vec<(&'static str, PathBuf)>) -> Result<Found, MpiError> {
    let mut looked: Vec<Looked> = Vec::new();
    for (place, path) in places {
        match Shim::open(&path) {
            Ok(shim) => return Ok(Found { path, place, shim }),
            Err(reason) => looked.push(Looked { place, path, reason }),
        }
        if looked.last().is_some_and(|last| !last.is_missing()) {
            break;
        }
    }
    Err(MpiError::NoShim(looked))
}

/// The compiler to take if none is named: `MPICC`; else the first `mpicc_abi` or `mpicc` beside the
/// binary, which may lie in an environment of Python with an MPI, and in `PATH`.
pub fn default_mpicc() -> String {
    let named = env::var("MPICC").ok().filter(|name| !name.is_empty());
    let beside = env::current_exe().ok().and_then(|binary| Some(binary.parent()?.to_path_buf()));
    let path = env::var_os("PATH").unwrap_or_default();
    let mut places = beside.into_iter().chain(env::split_paths(&path));
    named.or_else(|| places.find_map(mpicc_in)).unwrap_or_else(|| "mpicc".into())
}

/// The compiler for the standard's ABI comes first: its shim goes with every MPI that has that.
fn mpicc_in(place: PathBuf) -> Option<String> {
    let found = ["mpicc_abi", "mpicc"].map(|name| place.join(name));
    let found = found.into_iter().find(|file| file.is_file())?;
    found.into_os_string().into_string().ok()
}

/// Where [`build_shim`] should put the shim so that [`find_shim`] finds it: beside the binary.
pub fn default_output() -> Option<PathBuf> {
    env::current_exe().ok().map(|binary| binary.with_file_name(SHIM_FILE))
}

/// Compiles the embedded source with `mpicc` into `output`, which is replaced at once when
/// the compiler has succeeded: processes that have it open keep the old one.
///
/// # Errors
/// [`MpiError::Compile`] with the command and what it said.
pub fn build_shim(mpicc: &str, output: &Path) -> Result<(), MpiError> {
    let mut fresh = output.as_os_str().to_owned();
    fresh.push(format!(".{}", std::process::id()));
    let fresh = PathBuf::from(fresh);
    let command = format!("{mpicc} {} {}", arguments().join(" "), output.display());
    let result = compile(mpicc, &fresh)
        .and_then(|()| std::fs::rename(&fresh, output).map_err(|error| error.to_string()));
    result.map_err(|text| {
        // What the compiler left half done is of no use.
        let _ = std::fs::remove_file(&fresh);
        MpiError::Compile(command, text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_compiler_of_an_environment_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().to_path_buf();
        assert_eq!(mpicc_in(place.clone()), None);
        for name in ["mpicc", "mpicc_abi"] {
            std::fs::write(place.join(name), "").unwrap();
            assert_eq!(mpicc_in(place.clone()), Some(format!("{}/{name}", place.display())));
        }
    }

    #[test]
    fn what_cannot_compile_says_why_and_leaves_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let output = folder.path().join("shim.so");
        for (mpicc, reason) in [("no-such-compiler", "No such file"), ("false", "exit status: 1")] {
            let Err(MpiError::Compile(command, text)) = build_shim(mpicc, &output) else {
                panic!("{mpicc} has compiled")
            };
            assert!(command.starts_with(mpicc) && command.ends_with("shim.so"), "{command}");
            assert!(text.contains(reason), "{text}");
        }
        assert_eq!(std::fs::read_dir(folder.path()).expect("readable").count(), 0);
    }

    #[test]
    fn a_file_that_is_no_shim_is_refused_with_the_reason() {
        let folder = tempfile::tempdir().expect("a folder");
        let text = folder.path().join("text.so");
        std::fs::write(&text, "no library").expect("written");
        let reason = |path: &Path| Shim::open(path).err().expect("refused");
        assert_eq!(reason(&folder.path().join("missing")), "there is no such file");
        assert!(reason(&text).contains("is no MPI shim"), "{}", reason(&text));
        assert_eq!(reason(folder.path()), "it is not a file");
        assert_eq!(reason(Path::new("/dev/zero")), "it is not a file");
    }

    #[test]
    fn a_file_that_is_no_shim_ends_the_search() {
        let folder = tempfile::tempdir().expect("a folder");
        let text = folder.path().join("text.so");
        std::fs::write(&text, "no library").expect("written");
        let places =
            vec![("first", folder.path().join("missing")), ("second", text), ("third", "x".into())];
        let Err(MpiError::NoShim(looked)) = find_shim_in(places) else { panic!("found") };
        let looked: Vec<_> = looked.iter().map(|one| (one.place, one.is_missing())).collect();
        assert_eq!(looked, [("first", true), ("second", false)]);
    }
}
