//! Runs for the tests of all modules, and the tests of documents.

mod docs;
pub mod sample;
mod schema;
