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
//! | `data` | statements that move bytes: what they mean, which ranks have to be there |
//! | `calls` | their calls: for each extent, one after the other or several at a time, or over all through a view |

mod calls;
mod data;
mod files;
mod members;
