//! Logs of fio: what it did (`write_iolog`, versions 2 and 3), and how long each operation took
//! (`write_lat_log`, `write_bw_log`).

mod iolog;
mod samples;

pub use iolog::{Iolog, looks_like as looks_like_iolog};
pub use samples::{Samples, looks_like as looks_like_samples};
