//! What an editor knows about a program, as a language server without a transport.
//!
//! ```text
//! message (JSON-RPC) ──Session::handle──▶ answers and notifications
//! ```
//!
//! | file | contents |
//! |---|---|
//! | `session`, `requests` | messages, open documents |
//! | `text`, `analysis`, `tokens` | positions, a compiled document, what is around a place |
//! | `diagnostics`, `completion`, `hover`, `signature`, `names`, `symbols`, `figures` | one request of the protocol each, or a few |
//! | `outline`, `parameters`, `defined`, `gesture`, `palette` | the program as a tree, and edits of it |
//! | `textmate` | the grammar for editors that colour without a server |
//!
//! There is no second grammar: everything is read from the syntax tree, the facts and the tables of the
//! language. Not here: files (they come through a [`Host`]) and drawing.
#![warn(clippy::disallowed_methods)]

mod analysis;
mod completion;
mod defined;
mod diagnostics;
mod figures;
pub mod gesture;
mod host;
mod hover;
mod names;
pub mod outline;
pub mod palette;
mod parameters;
mod requests;
mod session;
mod signature;
mod symbols;
mod text;
pub mod textmate;
mod tokens;

pub use host::{Host, Program};
pub use session::Session;
