//! How well rules fit a log.

use super::Rules;
use crate::gaps::{Gap, Gaps};
use crate::import::{Error, Scanner, cannot_read};
use crate::input::Input;
use model::escape;
use model::run::TraceGap;
use std::fmt::Write;
use std::path::PathBuf;

/// What each rule took of some logs.
#[derive(Clone, Debug)]
pub struct Fit {
    /// Name, line in the rules file, whether it skips, and lines of each rule.
    pub rules: Vec<(String, usize, bool, u64)>,
    /// Lines in all.
    pub lines: u64,
    /// Those that no rule takes.
    pub untaken: Option<TraceGap>,
    /// Those that a rule takes, but that make no operation.
    pub unfit: Option<TraceGap>,
}

impl Rules {
    /// Reads logs and counts; nothing is kept of them.
    ///
    /// # Errors
    /// A log cannot be read.
    pub fn check(&self, inputs: Vec<(PathBuf, Input)>) -> Result<Fit, Error> {
        let mut gaps = Gaps::default();
        let (mut lines, mut taken) = (0, vec![0; self.lines.len()]);
        for (path, input) in inputs {
            let name = escape::line(&path.to_string_lossy());
            let read = self.scanner(input, &name);
            let mut log = read.map_err(|error| cannot_read(&path, 0, &error))?;
            loop {
                let read = log.advance(&mut gaps);
                let read = read.map_err(|error| cannot_read(&path, log.count(), &error))?;
                if read.is_none() {
                    break;
                }
                log.record(&mut gaps);
            }
            lines += log.count();
            taken.iter_mut().zip(&log.taken).for_each(|(sum, count)| *sum += count);
        }
        let rules = self.lines.iter().zip(taken);
        let rules = rules.map(|(rule, lines)| (rule.name.clone(), rule.place, rule.skips, lines));
        let told = |gap: Gap| gaps.told_of(gap);
        let (untaken, unfit) = (told(Gap::Unparsed), told(Gap::UnfitLines));
        Ok(Fit { rules: rules.collect(), lines, untaken, unfit })
    }
}

impl Fit {
    /// Every line makes an operation, or is skipped.
    pub fn is_whole(&self) -> bool {
        self.untaken.is_none() && self.unfit.is_none()
    }

    /// A table of rules, then the first lines that do not fit.
    pub fn text(&self) -> String {
        let mut text = format!("{:>12}  of {} lines\n", "lines", self.lines);
        for (name, place, skips, lines) in &self.rules {
            let skips = if *skips { ", skips" } else { "" };
            let _ = writeln!(text, "{lines:>12}  {name} (line {place}{skips})");
        }
        let untaken = self.untaken.as_ref().map_or(0, |gap| gap.count);
        let _ = writeln!(text, "{untaken:>12}  no rule");
        let unfit = self.unfit.as_ref().map_or(0, |gap| gap.count);
        let _ = writeln!(text, "{unfit:>12}  a rule, but no operation");
        for (gap, says) in [(&self.untaken, "No rule takes"), (&self.unfit, "No operation in")] {
            for (at, example) in gap.iter().flat_map(|gap| &gap.examples).enumerate() {
                let head = if at == 0 { format!("\n{says}:\n") } else { String::new() };
                let _ = writeln!(text, "{head}  {example}");
            }
        }
        text
    }
}
