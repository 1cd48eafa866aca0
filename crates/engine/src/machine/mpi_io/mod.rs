//! Statements of MPI-IO become calls on MPI files.
//!
//! A collective statement has four steps: every expression is
//! evaluated (a rank whose expression has no value ends before anybody waits for it inside
//! MPI), the members meet at a barrier that can be released and find out whether all have come to
//! the same statement, they agree on what a back-end call needs, and then they call. Only the
//! last step is timed.
//!
//! | file | what |
//! |---|---|
//! | `members` | what members do together |
//! | `files` | opening, closing, sizes: one call each |
//! | `patterns` | which bytes a statement means: patterns, members, views |
//! | `data` | statements that move bytes: what they mean, which ranks have to be there |
//! | `moving` | their calls: for each piece, or over all pieces through a view |
//! | `calls` | one after the other, or several at a time |
//! | `end` | what a read can have moved at most |

mod calls;
mod data;
mod end;
mod files;
mod members;
mod moving;
pub(super) mod patterns;

pub(super) use data::{transfer, whole_file};
pub(super) use files::{close, delete, on_file, open, preallocate, seek, set_size, sync};
