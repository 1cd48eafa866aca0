//! People who come from elsewhere: words and whole texts of other languages and tools.
//!
//! ```text
//! [global]                          error[E0004]: this is a fio job file, not a PPL program
//! rw=randread            ----->       help: in PPL:
//! bs=4k                                     param $bs = 4k; ...
//! ```
//!
//! fio, IOR and mdtest are translated; for other languages a table has one hint each ([`recognize`]).
//! Only texts with mistakes come here, so a program that parses is never taken for something else.
//!
//! Reads from top to bottom: [`recognize`] calls the translators ([`fio`], [`ior`], [`mdtest`]), which
//! write on a [`page`] what they read from a [`command`]; [`words`] stands alone.

mod command;
mod fio;
mod ior;
mod mdtest;
mod page;
mod recognize;
pub(crate) mod words;

pub(crate) use crate::foreign::recognize::diagnose;
