//! The processes between a launcher and this one, and those of the same job beside it, as /proc shows them.
//!
//! ```text
//! hydra_pmi_proxy ─┬─ strace -f parabench check x.ppl ── parabench check x.ppl    the whole of rank 0
//!                  └─ sh job.sh ─┬─ parabench check x.ppl                         a command of rank 1
//!                                └─ parabench run x.ppl
//! ```
//!
//! What belongs to somebody else, such as a daemon, cannot be read and counts as the launcher.

use crate::launcher::{self, Launcher};
use std::fs;
use std::path::PathBuf;
use std::process;

/// This process is the whole of its rank: the launcher has started it, or a command that does no more than
/// start it, such as strace or timeout. A script of which it is one command may have others that join the job.
pub fn is_whole_rank() -> bool {
    let Some(job) = launcher::job() else { return false };
    let own = words(process::id());
    above(process::id(), job.launcher).all(|process| starts(&words(process), &own))
}

/// The ranks of the job whose processes on this machine execute this program, in ascending order.
pub fn ranks_here() -> Vec<u32> {
    let Some(job) = launcher::job() else { return Vec::new() };
    let program = |process: u32| fs::read_link(proc(process, "exe")).ok();
    let (own, start) = (program(process::id()), daemon(process::id(), job.launcher));
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let all = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_kin =
        |process: &u32| program(*process) == own && daemon(*process, job.launcher) == start;
    let mut ranks: Vec<u32> =
        all.filter(is_kin).filter_map(|process| rank(job.launcher, &variables(process))).collect();
    ranks.sort_unstable();
    ranks.dedup();
    ranks
}

/// The launcher's process on this machine, which has started all ranks here.
pub fn launcher_process() -> Option<u32> {
    daemon(process::id(), launcher::job()?.launcher)
}

/// The processes above this one that have its rank, too.
fn above(process: u32, launcher: Launcher) -> impl Iterator<Item = u32> {
    let parents = std::iter::successors(parent(process), |process| parent(*process));
    parents.take_while(move |process| rank(launcher, &variables(*process)).is_some())
}

/// The process that has started the rank.
fn daemon(process: u32, launcher: Launcher) -> Option<u32> {
    parent(above(process, launcher).last().unwrap_or(process))
}

/// A command line ends with another one, as words or as the only command of a shell's text.
fn starts(outer: &[Vec<u8>], inner: &[Vec<u8>]) -> bool {
    let is_text = |text: &Vec<u8>| {
        let words = text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        words.skip_while(|word| *word == b"exec").eq(inner.iter().map(Vec::as_slice))
    };
    !inner.is_empty() && (outer.ends_with(inner) || outer.last().is_some_and(is_text))
}

/// The rank that variables as in /proc/PID/environ give.
fn rank(launcher: Launcher, variables: &[u8]) -> Option<u32> {
    variables.split(|byte| *byte == 0).find_map(|variable| {
        let text = std::str::from_utf8(variable).ok()?;
        let (name, value) = text.split_once('=')?;
        launcher.names_rank(name).then(|| value.parse().ok())?
    })
}

fn proc(process: u32, file: &str) -> PathBuf {
    format!("/proc/{process}/{file}").into()
}

fn variables(process: u32) -> Vec<u8> {
    fs::read(proc(process, "environ")).unwrap_or_default()
}

fn words(process: u32) -> Vec<Vec<u8>> {
    let line = fs::read(proc(process, "cmdline")).unwrap_or_default();
    let line = line.strip_suffix(&[0]).unwrap_or(&line);
    line.split(|byte| *byte == 0).filter(|_| !line.is_empty()).map(<[u8]>::to_vec).collect()
}

/// /proc/PID/stat, field 4: after the name in parentheses, which may hold spaces.
fn parent(process: u32) -> Option<u32> {
    let stat = fs::read_to_string(proc(process, "stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok().filter(|parent| *parent > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(words: &str) -> Vec<Vec<u8>> {
        words.split('|').map(|word| word.as_bytes().to_vec()).collect()
    }

    #[test]
    fn a_wrapper_ends_with_the_words_that_it_starts() {
        let own = line("parabench|check|a b.ppl");
        assert!(starts(&line("strace|-f|parabench|check|a b.ppl"), &own));
        assert!(!starts(&line("sh|job.sh"), &own) && !starts(&own, &[]));
        let own = line("parabench|check|x.ppl");
        assert!(starts(&line("timeout|9|bash|-c|parabench check x.ppl"), &own));
        assert!(starts(&line("sh|-c|exec  parabench check x.ppl "), &own));
        let two = "sh|-c|parabench check x.ppl; parabench run x.ppl";
        assert!(!starts(&line(two), &own) && !starts(&line(two), &line("parabench|run|x.ppl")));
    }

    #[test]
    fn a_script_has_the_rank_that_a_launcher_has_not() {
        let script = b"PATH=/bin\0PMI_RANK=1\0PMI_SIZE=2\0";
        assert_eq!(rank(Launcher::Pmi, script), Some(1));
        assert_eq!(rank(Launcher::OpenMpi, script), None);
        assert_eq!(rank(Launcher::Pmi, b"PATH=/bin\0PMI_RANKS=1\0"), None);
        assert_eq!(rank(Launcher::Pmi, b""), None);
    }

    #[test]
    fn a_process_knows_its_words_and_its_parent() {
        assert!(words(process::id())[0].ends_with(b"mpi") || !words(process::id()).is_empty());
        assert_eq!(parent(process::id()), Some(std::os::unix::process::parent_id()));
    }
}
