//! Jobs of fio, from a file or a command line, in PPL.
//!
//! ```text
//! [global]                  param $size = 1g; param $bs = 4k;
//! bs=4k                     with (direct=true) {
//! direct=1                      time["db", sync] {
//! [db]                 ->           $h = fopen("db.$$rank", "r");
//! rw=randread                       repeat $i $count fread($h, $bs, perm($i, $count) * $bs);
//! size=1g                           fclose($h);
//! numjobs=4                     }
//! ```
//!
//! Clones of a job (`numjobs`) are ranks. Jobs that fio executes at the same time are groups.

use super::given::Settings;
use super::job::Job;
use crate::foreign::command::Command;
use crate::translate::Translated;
use crate::translate::page::{Page, Start};

/// More jobs than this are not translated.
const MAX_JOBS: usize = 1000;

/// Translates a job file.
pub(crate) fn translate_file(text: &str) -> Translated {
    let mut global = Settings::new();
    let mut sections: Vec<(String, Settings)> = Vec::new();
    let mut in_global = true;
    for line in text.lines().map(without_comment).filter(|line| !line.is_empty()) {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            in_global = name.trim() == "global";
            if !in_global {
                sections.push((name.trim().to_string(), global.clone()));
            }
            continue;
        }
        let (name, value) = line.split_once('=').unwrap_or((line, "1"));
        let setting = (name.trim().to_string(), value.trim().to_string());
        match sections.last_mut().filter(|_| !in_global) {
            Some((_, settings)) => settings.push(setting),
            None => global.push(setting),
        }
    }
    if sections.is_empty() {
        sections.push(("job".to_string(), global));
    }
    program("fio job", sections)
}

/// fio cuts every line at the first `;` or `#`.
fn without_comment(line: &str) -> &str {
    line.split([';', '#']).next().unwrap_or(line).trim()
}

/// Translates `fio --name=a --rw=read ...`; options before the first `--name` hold for all jobs.
pub(crate) fn translate_command(command: &Command<'_>) -> Translated {
    let mut global = Settings::new();
    let mut sections: Vec<(String, Settings)> = Vec::new();
    let mut words = command.words.iter().copied().peekable();
    while let Some(word) = words.next() {
        // Two dashes or one.
        let name = word.strip_prefix('-').map(|name| name.strip_prefix('-').unwrap_or(name));
        let Some(name) = name else {
            return Err(format!("it starts a job file: translate {word} itself"));
        };
        let (name, value) = match name.split_once('=') {
            Some(pair) => pair,
            None => (name, words.next_if(|next| !next.starts_with('-')).unwrap_or("1")),
        };
        if name == "name" {
            sections.push((value.to_string(), global.clone()));
            continue;
        }
        let setting = (name.to_string(), value.to_string());
        match sections.last_mut() {
            Some((_, settings)) => settings.push(setting),
            None => global.push(setting),
        }
    }
    if sections.is_empty() {
        sections.push(("job".to_string(), global));
    }
    program("fio", sections)
}

/// The jobs that a program can do, and what is left out of the others.
fn read_jobs(sections: &[(String, Settings)]) -> (Vec<Job>, Vec<String>) {
    let (mut jobs, mut left_out) = (Vec::new(), Vec::new());
    for (name, settings) in sections {
        match Job::new(name, settings) {
            Ok(job) => jobs.push(job),
            Err(option) => left_out.push(format!("job {name}: {option}")),
        }
    }
    (jobs, left_out)
}

fn program(what: &str, sections: Vec<(String, Settings)>) -> Translated {
    if sections.len() > MAX_JOBS {
        return Err(format!("it has {} jobs, at most {MAX_JOBS} are translated", sections.len()));
    }
    let (jobs, mut left_out) = read_jobs(&sections);
    if jobs.is_empty() {
        return Err(format!("no program does its {}", left_out.join(", ")));
    }
    let one_by_one = jobs.iter().skip(1).any(|job| job.waits);
    let clones = jobs.iter().map(|job| job.clones);
    let ranks = if one_by_one { clones.max().unwrap_or(1) } else { clones.sum() };
    let folder = jobs.iter().find_map(|job| job.folder.clone());
    let mut page = Page::new(what, &Start { ranks: Some(ranks), folder, ..Start::default() });
    for option in jobs.iter().flat_map(|job| &job.left_out) {
        if !left_out.contains(option) {
            left_out.push(option.clone());
        }
    }
    left_out.into_iter().for_each(|option| page.leaves_out(option));
    if let Some(note) = jobs.iter().find_map(Job::queue_note) {
        page.comment(&note);
    }
    // Jobs one after the other with equally many clones need no groups.
    let in_groups = jobs.iter().any(|job| job.clones != ranks);
    if in_groups {
        define_groups(&mut page, &jobs, one_by_one);
    }
    for (number, job) in jobs.iter().enumerate() {
        if number > 0 && one_by_one {
            page.line("barrier;");
        }
        if in_groups {
            page.line(&format!("group \"{}\" {{", job.name));
        }
        job.program(&mut page, jobs.len() == 1, in_groups);
        page.line(if in_groups { "}" } else { "" });
    }
    Ok(page.finish())
}

/// Groups of jobs at the same time are disjoint (tag D), others begin at rank 0.
fn define_groups(page: &mut Page, jobs: &[Job], one_by_one: bool) {
    let tag = if one_by_one { "" } else { ":D" };
    let groups: Vec<String> =
        jobs.iter().map(|job| format!("\"{}\"{tag} = {}", job.name, job.clones)).collect();
    page.line(&format!("define groups {{{}}};", groups.join(", ")));
}
