//! Scripts of IOR, as the options of a call.
//!
//! ```text
//! IOR START
//!     api=MPIIO            -a MPIIO
//!     blockSize=1m   ->    -b 1m
//!     filePerProc=1        -F
//! RUN
//! IOR STOP
//! ```
//!
//! Names: IOR's user documentation, "Command line options" and "Configuration file"; letters of any case.

use super::Mistake;
use super::ior;
use crate::foreign::command;

/// Names with values and their letters.
const VALUES: &[(&str, &str)] = &[
    ("api", "-a"),
    ("testFile", "-o"),
    ("blockSize", "-b"),
    ("transferSize", "-t"),
    ("segmentCount", "-s"),
    ("numTasks", "-N"),
    ("repetitions", "-i"),
    ("taskPerNodeOffset", "-Q"),
    ("deadlineForStonewalling", "-D"),
    ("interTestDelay", "-d"),
];

/// Names that are switched on by 1.
const SWITCHES: &[(&str, &str)] = &[
    ("writeFile", "-w"),
    ("readFile", "-r"),
    ("checkWrite", "-W"),
    ("checkRead", "-R"),
    ("filePerProc", "-F"),
    ("collective", "-c"),
    ("reorderTasksConstant", "-C"),
    ("reorderTasks", "-C"),
    ("fsync", "-e"),
    ("fsyncPerWrite", "-Y"),
    ("useO_DIRECT", "-B"),
    ("randomOffset", "-z"),
    ("reorderTasksRandom", "-Z"),
    ("intraTestBarriers", "-g"),
    ("keepFile", "-k"),
    ("useExistingTestFile", "-E"),
    ("multiFile", "-m"),
    ("uniqueDir", "-u"),
    ("preallocate", "-p"),
];

/// Names that change nothing of what is measured.
pub(crate) const WITHOUT_EFFECT: &[&str] = &[
    "verbose",
    "showHelp",
    "showHints",
    "quitOnError",
    "testnum",
    "summaryFile",
    "summaryFormat",
    "saveRankPerformanceDetailsCSV",
];

/// The first test of a script; the others are left out.
pub(crate) fn translate(text: &str) -> Result<(String, Vec<String>), Mistake> {
    let mut options: Vec<(&str, &str)> = Vec::new();
    let mut tests = 0;
    let lines = text.lines().enumerate().map(|(at, line)| (at, line.trim()));
    let is_comment = |line: &str| line.is_empty() || line.starts_with('#');
    let is_word = |line: &str, word: &str| line.eq_ignore_ascii_case(word);
    let started = lines.skip_while(|(_, line)| !is_word(line, "IOR START")).skip(1);
    let own = started.take_while(|(_, line)| !is_word(line, "IOR STOP"));
    for (at, line) in own.filter(|(_, line)| !is_comment(line)) {
        if is_word(line, "RUN") {
            tests += 1;
            continue;
        }
        let Some((name, value)) = line.split_once('=') else {
            return Err(Mistake {
                line: at,
                what: format!("expected NAME=VALUE or RUN, found {line}"),
            });
        };
        if tests == 0 {
            options.push((name.trim(), value.trim()));
        }
    }
    let words: Vec<String> = options.iter().flat_map(|(name, value)| words(name, value)).collect();
    let call = command::ior(words.iter().map(String::as_str).collect());
    let mut more: Vec<String> = Vec::new();
    match tests {
        0 | 1 => {}
        2 => more.push("test 2 (each RUN is a program: keep one)".into()),
        _ => more.push(format!("tests 2 to {tests} (each RUN is a program: keep one)")),
    }
    Ok(ior::translate_with(&call, more))
}

/// A setting as words of a call. What has no letter is an option that nobody knows.
fn words(name: &str, value: &str) -> Vec<String> {
    let find = |rows: &[(&str, &'static str)]| {
        rows.iter().find(|row| row.0.eq_ignore_ascii_case(name)).map(|row| row.1.to_string())
    };
    let is_off = matches!(value, "0" | "false" | "FALSE");
    match (find(VALUES), find(SWITCHES)) {
        (Some(letter), _) => vec![letter, value.to_string()],
        (_, Some(letter)) if value == "1" || value.eq_ignore_ascii_case("true") => vec![letter],
        (_, Some(_)) if is_off => Vec::new(),
        _ if WITHOUT_EFFECT.iter().any(|known| known.eq_ignore_ascii_case(name)) => Vec::new(),
        // A directive of -O, the wear-out among them.
        _ => vec!["-O".into(), format!("{name}={value}")],
    }
}
