//! Views become MPI datatypes: one line for the library instead of a call for each piece.
//!
//! Counts of the C functions are `int`; what needs more is built from pieces.

use crate::shim::Shim;
use model::pattern::{Datatype, Extent, View};
use std::ffi::c_int;

/// MPI_BYTE in the shim's table.
pub(crate) const BYTE: c_int = 0;
/// Pieces that long byte runs are cut into.
const PIECE_BYTES: u64 = 1 << 30;

/// A view as MPI knows it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Built {
    pub(crate) displacement_bytes: u64,
    pub(crate) filetype: c_int,
    /// Where the bytes lie in memory, if not one after the other.
    pub(crate) memory: Option<c_int>,
}

/// An MPI error code with the function that gave it; code -1: counts beyond what MPI takes.
pub(crate) type Made<T> = Result<T, (&'static str, c_int)>;

/// Makes datatypes; intermediate ones are freed, which does not touch what is made of them.
pub(crate) struct Builder<'s> {
    shim: &'s Shim,
}

impl<'s> Builder<'s> {
    pub(crate) fn new(shim: &'s Shim) -> Builder<'s> {
        Builder { shim }
    }

    /// The types of a view.
    pub(crate) fn view(&self, view: &View) -> Made<Built> {
        let filetype = self.datatype(&view.filetype)?;
        let memory = match &view.memory {
            None => None,
            Some(blocks) => Some(self.indexed(blocks)?),
        };
        Ok(Built { displacement_bytes: view.displacement_bytes, filetype, memory })
    }

    fn datatype(&self, datatype: &Datatype) -> Made<c_int> {
        match datatype {
            Datatype::Contiguous { bytes } => self.bytes(*bytes),
            Datatype::Vector { count, stride_bytes, of } => self.vector(*count, *stride_bytes, of),
            Datatype::Subarray { sizes, subsizes, starts, element_bytes } => {
                let element = self.bytes(*element_bytes)?;
                let made = self.subarray([sizes, subsizes, starts], element);
                self.free(element);
                made
            }
            Datatype::Indexed { blocks } => self.indexed(blocks),
            Datatype::Struct { members } => {
                let mut parts = Vec::with_capacity(members.len());
                for (at, of) in members {
                    parts.push((*at, self.datatype(of)?));
                }
                self.structure(&parts)
            }
        }
    }

    /// A contiguous type of this number of bytes.
    fn bytes(&self, bytes: u64) -> Made<c_int> {
        if let Ok(count) = c_int::try_from(bytes) {
            return self.made("MPI_Type_contiguous", |made| {
                // SAFETY: a valid pointer and the handle of MPI_BYTE.
                unsafe { (self.shim.type_contiguous)(count, BYTE, made) }
            });
        }
        let piece = self.bytes(PIECE_BYTES)?;
        let body = self.blocks(bytes / PIECE_BYTES, 1, PIECE_BYTES, piece);
        self.free(piece);
        let rest = self.bytes(bytes % PIECE_BYTES)?;
        self.structure(&[(0, body?), (bytes / PIECE_BYTES * PIECE_BYTES, rest)])
    }

    fn vector(&self, count: u64, stride_bytes: u64, of: &Datatype) -> Made<c_int> {
        match of {
            Datatype::Contiguous { bytes } if *bytes <= c_int::MAX as u64 => {
                self.blocks(count, *bytes as c_int, stride_bytes, BYTE)
            }
            _ => {
                let element = self.datatype(of)?;
                let made = self.blocks(count, 1, stride_bytes, element);
                self.free(element);
                made
            }
        }
    }

    fn blocks(&self, count: u64, len: c_int, stride: u64, of: c_int) -> Made<c_int> {
        let count = int(count)?;
        self.made("MPI_Type_create_hvector", |made| {
            // SAFETY: a valid pointer, a handle the shim gave.
            unsafe { (self.shim.type_vector)(count, len, stride as i64, of, made) }
        })
    }

    fn subarray(&self, numbers: [&Vec<u64>; 3], element: c_int) -> Made<c_int> {
        let mut ints = [const { Vec::new() }; 3];
        for (ints, numbers) in ints.iter_mut().zip(numbers) {
            *ints = numbers.iter().map(|n| int(*n)).collect::<Result<Vec<c_int>, _>>()?;
        }
        let [sizes, subsizes, starts] = &ints;
        self.made("MPI_Type_create_subarray", |made| {
            let dims = sizes.len() as c_int;
            let (sizes, subsizes, starts) = (sizes.as_ptr(), subsizes.as_ptr(), starts.as_ptr());
            // SAFETY: three arrays of `dims` numbers, a valid pointer, a handle the shim gave.
            unsafe { (self.shim.type_subarray)(dims, sizes, subsizes, starts, element, made) }
        })
    }

    fn indexed(&self, blocks: &[Extent]) -> Made<c_int> {
        let pieces = blocks.iter().flat_map(|block| {
            (0..block.length_bytes.div_ceil(PIECE_BYTES)).map(|i| {
                let from = i * PIECE_BYTES;
                let len = (block.length_bytes - from).min(PIECE_BYTES) as c_int;
                (len, (block.offset_bytes + from) as i64)
            })
        });
        let (lens, starts): (Vec<c_int>, Vec<i64>) = pieces.unzip();
        let count = int(lens.len() as u64)?;
        self.made("MPI_Type_create_hindexed", |made| {
            // SAFETY: two arrays of `count` numbers and a valid pointer.
            unsafe { (self.shim.type_indexed)(count, lens.as_ptr(), starts.as_ptr(), BYTE, made) }
        })
    }

    /// Types at positions; frees them.
    fn structure(&self, parts: &[(u64, c_int)]) -> Made<c_int> {
        let lens = vec![1; parts.len()];
        let starts: Vec<i64> = parts.iter().map(|part| part.0 as i64).collect();
        let types: Vec<c_int> = parts.iter().map(|part| part.1).collect();
        let made = int(parts.len() as u64).and_then(|count| {
            self.made("MPI_Type_create_struct", |made| {
                let (lens, starts, types) = (lens.as_ptr(), starts.as_ptr(), types.as_ptr());
                // SAFETY: three arrays of `count` numbers and a valid pointer.
                unsafe { (self.shim.type_struct)(count, lens, starts, types, made) }
            })
        });
        types.into_iter().for_each(|of| self.free(of));
        made
    }

    fn made(&self, call: &'static str, make: impl FnOnce(&mut c_int) -> c_int) -> Made<c_int> {
        let mut made = -1;
        match make(&mut made) {
            0 => Ok(made),
            code => Err((call, code)),
        }
    }

    /// Forgets a type.
    pub(crate) fn free(&self, of: c_int) {
        // SAFETY: a handle the shim gave, freed once.
        unsafe { (self.shim.type_free)(of) };
    }
}

fn int(n: u64) -> Made<c_int> {
    c_int::try_from(n).map_err(|_| ("a datatype with a count above 2^31 - 1", -1))
}
