//! People who come from elsewhere: words and whole texts of other languages and tools.
//!
//! ```text
//! [global]                     error[E0004]: this is a fio job file, not a PPL program
//! rw=randread     --run-->       help: `parabench translate FILE -o x.ppl` makes a program of it
//! bs=4k
//! ```
//!
//! Only texts with mistakes are recognized in place of a program, so a program that parses is never taken for something
//! else. Jobs of fio, IOR, mdtest and PIObench can be translated ([`crate::translate`](fn@crate::translate)); for other
//! languages a table has one hint each.
//!
//! Reads from top to bottom: [`recognize`] names the tool, [`command`] takes a command line apart; [`shell`] (variables
//! of scripts) and [`words`] stand alone.

pub(crate) mod command;
pub(crate) mod recognize;
pub(crate) mod shell;
pub(crate) mod words;

pub(crate) use crate::foreign::recognize::diagnose;
