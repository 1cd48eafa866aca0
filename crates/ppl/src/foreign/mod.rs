//! People who come from elsewhere: words and whole texts of other languages and tools.
//!
//! ```text
//! [global]          run        error[E0004]: this is a fio job file, not a PPL program
//! rw=randread     ------>        help: `parabench translate FILE -o x.ppl` makes a program of it
//! bs=4k
//!                translate     param $bs = 4k; ...
//!                 ------>      not translated: ...
//! ```
//!
//! fio, IOR, mdtest and PIObench are translated; for other languages a table has one hint each ([`recognize`]).
//! Only texts with mistakes are recognized in place of a program, so a program that parses is never taken for something
//! else.
//!
//! Reads from top to bottom: [`translate`] calls the translators ([`fio`], [`ior_script`], [`ior`], [`mdtest`],
//! [`piobench`]), which write on a [`page`] what they read from a [`command`]; [`recognize`] names the tool; [`words`]
//! stands alone.

mod command;
mod fio;
mod ior;
mod ior_script;
mod mdtest;
mod page;
mod piobench;
mod recognize;
mod translate;
pub(crate) mod words;

pub(crate) use crate::foreign::recognize::diagnose;
pub use crate::foreign::translate::{NoTranslation, Translation, translate};
