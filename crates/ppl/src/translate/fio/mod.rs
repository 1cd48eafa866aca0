//! Jobs of fio in PPL: [`jobs`] reads files and command lines, [`job`] writes one job, [`values`] reads
//! options with a form of their own.

mod job;
mod jobs;
mod values;

pub(crate) use super::fio::jobs::{translate_command, translate_file};
