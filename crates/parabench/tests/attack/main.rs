//! Wrong and odd inputs from a hostile or careless user: every one of them ends with a
//! sentence and the right exit code, and leaves nothing behind.
//!
//! ```text
//! values.rs   programs that grow without end, deep recursion
//! words.rs    labels and options without sense
//! files.rs    result folders and reports that are none, full disks
//! odd.rs      one table of programs and what must be said about them
//! ```

#[path = "../cli/scene.rs"]
#[allow(dead_code, reason = "the words of tests/cli; not all are needed here")]
mod scene;
#[path = "../cli/tmpfs.rs"]
#[allow(dead_code, reason = "the words of tests/cli; not all are needed here")]
mod tmpfs;

mod files;
mod odd;
mod values;
mod words;
