//! The shim's functions, opened with dlopen.

use crate::error::MpiError;
use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
use std::ffi::{c_char, c_int, c_longlong, c_void};
use std::path::Path;

/// Version of the border between this code and shim.c.
const SHIM_VERSION: c_int = 1;

macro_rules! functions {
    ($( $field:ident = $symbol:literal: fn($($arg:ty),*); )*) => {
        /// The functions of shim.c, one field each; arguments are documented there.
        #[allow(missing_docs)]
        pub struct Shim {
            $( pub $field: unsafe extern "C" fn($($arg),*) -> c_int, )*
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
    comm_rank = "pb_comm_rank": fn(c_int, *mut c_int);
    comm_size = "pb_comm_size": fn(c_int, *mut c_int);
    comm_split = "pb_comm_split": fn(c_int, c_int, c_int, *mut c_int);
    comm_split_node = "pb_comm_split_node": fn(c_int, *mut c_int);
    comm_free = "pb_comm_free": fn(c_int);
    barrier = "pb_barrier": fn(c_int);
    bcast = "pb_bcast": fn(c_int, *mut c_void, c_int, c_int);
    allreduce = "pb_allreduce": fn(c_int, *mut c_longlong, c_int, c_int);
    gather_counts = "pb_gather_counts": fn(c_int, c_int, *mut c_int);
    gatherv = "pb_gatherv": fn(c_int, *const c_void, c_int, *mut c_void, *const c_int, *const c_int);
    send = "pb_send": fn(c_int, *const c_void, c_int, c_int, c_int);
    recv = "pb_recv": fn(c_int, *mut c_void, c_int, c_int, c_int);
    probe = "pb_probe": fn(c_int, c_int, *mut c_int, *mut c_int);
    counters_make = "pb_counters_make": fn(c_int);
    counter_add = "pb_counter_add": fn(c_int, c_longlong, *mut c_longlong);
    counters_free = "pb_counters_free": fn();
}

impl Shim {
    /// Opens a compiled shim; the reason if it cannot be used.
    pub fn open(path: &Path) -> Result<Shim, String> {
        if !path.is_file() {
            return Err("there is no such file".into());
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
            Err(_) => Err("this is not an MPI shim of parabench".into()),
            Ok(SHIM_VERSION) => {
                // SAFETY: version and origin were checked just now.
                unsafe { Shim::resolve(library) }.map_err(|error| error.to_string())
            }
            Ok(other) => Err(format!(
                "it is a shim of version {other}, this binary needs version {SHIM_VERSION}; run: parabench mpi build"
            )),
        }
    }

    /// Turns an MPI error code into data.
    pub fn check(&self, call: &'static str, code: c_int) -> Result<(), MpiError> {
        if code == 0 {
            return Ok(());
        }
        let (mut class, mut text) = (0, [0u8; 512]);
        // SAFETY: the buffer has the size that is told; the shim ends the text with 0.
        unsafe { (self.error)(code, &mut class, text.as_mut_ptr().cast(), text.len() as c_int) };
        Err(MpiError::Call { call, class, text: c_text(&text) })
    }

    /// Name and version of the MPI library. May be called before `init`.
    pub fn library_version(&self) -> String {
        let mut text = [0u8; 8192];
        // SAFETY: the buffer has the size that is told; the shim ends the text with 0.
        unsafe { (self.library)(text.as_mut_ptr().cast(), text.len() as c_int) };
        c_text(&text)
    }

    /// Version of the MPI standard. May be called before `init`.
    pub fn standard_version(&self) -> (i32, i32) {
        let (mut version, mut subversion) = (0, 0);
        // SAFETY: two valid pointers.
        unsafe { (self.standard)(&mut version, &mut subversion) };
        (version, subversion)
    }
}

fn c_text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).trim().to_string()
}
