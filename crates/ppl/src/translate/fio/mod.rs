//! Jobs of fio in PPL: [`jobs`] reads files and command lines, [`job`] writes one job, [`given`] reads
//! options and lists those without a counterpart, [`values`] reads options with a form of their own.

mod given;
mod job;
mod jobs;
mod values;

pub(crate) use super::fio::jobs::{translate_command, translate_file};
