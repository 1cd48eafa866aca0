//! What is said of the ranks of one execution: how much they have done, where, at which rates, and
//! which rank and which machines are behind.

use super::{seconds, shortened};
use engine::comm::{Sample, Slowest, Standing};
use indicatif::HumanCount;
use model::rehearsal::{RankFigures, Rehearsal};
use model::units::{format_bytes, significant};
use std::collections::BTreeMap;
use std::ops::Range;

/// What is known of the ranks of one execution.
#[derive(Default)]
pub(super) struct Line {
    /// Operations of all ranks, if they are known.
    all: Option<u64>,
    /// What all had done at the line before, to tell rates.
    before: Standing,
    nodes: BTreeMap<u32, Told>,
}

/// What a machine has told last, and the rate since the word before.
#[derive(Default)]
struct Told {
    last: Standing,
    rate: Rate,
}

/// What ranks did in a second.
#[derive(Clone, Copy, Debug, Default)]
struct Rate {
    operations: f64,
    /// If that is known.
    bytes: Option<f64>,
}

impl Rate {
    /// Between two words of the same ranks.
    fn between(then: &Standing, now: &Standing) -> Rate {
        let passed_s = now.at_ns.saturating_sub(then.at_ns) as f64 / 1e9;
        let rate = |then: u64, now: u64| now.saturating_sub(then) as f64 / passed_s.max(1e-9);
        Rate {
            operations: rate(then.operations, now.operations),
            bytes: now.bytes.map(|bytes| rate(then.bytes.unwrap_or(0), bytes)),
        }
    }

    fn and(self, other: Rate) -> Rate {
        let bytes = self.bytes.zip(other.bytes).map(|(one, other)| one + other);
        Rate { operations: self.operations + other.operations, bytes }
    }
}

impl Line {
    pub(super) fn of(rehearsal: &Rehearsal) -> Line {
        Line { all: operations(rehearsal), ..Line::default() }
    }

    /// The rate of all since the line before: of several machines the sum of theirs, each between two
    /// words of its own. One that has told nothing new keeps its rate.
    fn rate(&mut self, sample: &Sample) -> Rate {
        let now = Standing { at_ns: sample.at_ns, ..sample.all.clone() };
        let before = std::mem::replace(&mut self.before, now);
        for (node, standing) in &sample.nodes {
            let told = self.nodes.entry(*node).or_default();
            if standing.at_ns > told.last.at_ns {
                told.rate = Rate::between(&told.last, standing);
                told.last = standing.clone();
            }
        }
        let of_nodes = self.nodes.values().map(|told| told.rate).reduce(Rate::and);
        of_nodes.unwrap_or_else(|| Rate::between(&before, &self.before))
    }

    /// "slowest: rank 2 (31 %)" if that is behind what all ranks together have done.
    fn slowest(&self, sample: &Sample) -> Option<String> {
        let Slowest { rank, done, all } = sample.all.slowest.filter(|_| sample.running > 1)?;
        let percent = |done: u64, all: u64| (done as f64 / all as f64 * 100.0).floor();
        match self.all {
            Some(of_all) if of_all > 0 && all > 0 => {
                let (own, mean) = (percent(done, all), percent(sample.all.operations, of_all));
                (own < mean).then(|| format!("slowest: rank {rank} ({own} %)"))
            }
            _ => {
                let mean = sample.all.operations / u64::from(sample.running);
                (done < mean).then(|| format!("slowest: rank {rank} ({})", counted(done)))
            }
        }
    }

    /// The line of a sample; its rates are those since the one before.
    pub(super) fn next(&mut self, sample: &Sample, hosts: &[String]) -> String {
        let rate = self.rate(sample);
        let mut parts = vec![seconds(sample.at_ns / 1_000_000_000)];
        parts.extend(label(sample));
        let done = sample.all.operations;
        parts.push(match self.all {
            Some(all) if all > 0 && done <= all => {
                let share = (done as f64 / all as f64 * 100.0).floor();
                format!("{share} % of {}", counted(all))
            }
            _ => counted(done),
        });
        parts.push(format!("{} ops/s", HumanCount(rate.operations as u64)));
        if let Some(bytes) = sample.all.bytes.filter(|bytes| *bytes > 0) {
            parts.push(match rate.bytes.unwrap_or(0.0) / 1_048_576.0 {
                0.0 => format!("{} so far", format_bytes(bytes)),
                mib_s => format!("{} MiB/s", significant(mib_s)),
            });
        }
        parts.push(at_work(sample));
        parts.extend(self.slowest(sample));
        parts.extend(self.of_nodes(hosts));
        parts.extend(silent(sample));
        parts.join(", ")
    }

    /// "nodes 96 (cn07) to 104 (cn02) MiB/s": the slowest machine and the fastest one, by bytes if any
    /// were moved.
    fn of_nodes(&self, hosts: &[String]) -> Option<String> {
        let bytes = |rate: &Rate| rate.bytes.unwrap_or(0.0) / 1_048_576.0;
        let by_bytes = self.nodes.values().any(|told| bytes(&told.rate) > 0.0);
        let figure = |rate: &Rate| if by_bytes { bytes(rate) } else { rate.operations };
        let rates = self.nodes.iter().map(|(node, told)| (figure(&told.rate), *node));
        let order = |a: &(f64, u32), b: &(f64, u32)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
        let (least, most) = (rates.clone().min_by(order)?, rates.max_by(order)?);
        let shown = |(rate, node): (f64, u32)| {
            let host = hosts.get(node as usize).map_or_else(|| node.to_string(), String::clone);
            match by_bytes {
                true => format!("{} ({host})", significant(rate)),
                false => format!("{} ({host})", HumanCount(rate as u64)),
            }
        };
        let unit = if by_bytes { "MiB/s" } else { "ops/s" };
        let all = || format!("nodes {} to {} {unit}", shown(least), shown(most));
        (self.nodes.len() > 1).then(all)
    }
}

/// "without 2 nodes that have told nothing yet".
fn silent(sample: &Sample) -> Option<String> {
    match sample.silent {
        0 => None,
        1 => Some("without 1 node that has told nothing yet".into()),
        silent => Some(format!("without {silent} nodes that have told nothing yet")),
    }
}

/// "1 operation", "2,000 operations".
fn counted(operations: u64) -> String {
    let plural = if operations == 1 { "" } else { "s" };
    format!("{} operation{plural}", HumanCount(operations))
}

/// "in read", "in read (3 ranks)" where others are elsewhere.
fn label(sample: &Sample) -> Option<String> {
    let (label, ranks) = sample.all.label.as_ref()?;
    let label = shortened(label);
    Some(match *ranks == sample.running {
        true => format!("in {label}"),
        false if *ranks == 1 => format!("in {label} (1 rank)"),
        false => format!("in {label} ({ranks} ranks)"),
    })
}

/// "4 ranks" that have not ended; "3 of 4 ranks at work" if others wait.
fn at_work(sample: &Sample) -> String {
    let working = sample.running.saturating_sub(sample.waiting);
    match sample.running {
        1 if working == 1 => "1 rank".into(),
        running if working == running => format!("{running} ranks"),
        running => format!("{working} of {running} ranks at work"),
    }
}

/// Operations of all ranks, if the rehearsal came to the end and their number does not depend on the time
/// that they take: a rehearsal has its own.
fn operations(rehearsal: &Rehearsal) -> Option<u64> {
    let of = |(ranks, rank): &(Range<u32>, RankFigures)| {
        rank.operations().saturating_mul(u64::from(ranks.end - ranks.start))
    };
    (rehearsal.complete && !rehearsal.by_time)
        .then(|| rehearsal.ranks.iter().map(of).fold(0, u64::saturating_add))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(at_s: u64, operations: u64, bytes: Option<u64>) -> Sample {
        let label = Some(("read".into(), 4));
        let all = Standing { operations, bytes, label, ..Standing::default() };
        Sample { at_ns: at_s * 1_000_000_000, all, running: 4, ..Sample::default() }
    }

    #[test]
    fn a_line_tells_share_rates_label_and_ranks() {
        let mut line = Line { all: Some(2_000_000), ..Line::default() };
        line.next(&sample(11, 650_000, Some(10 << 20)), &[]);
        assert_eq!(
            line.next(&sample(12, 860_000, Some(822 << 20)), &[]),
            "12 s, in read, 43 % of 2,000,000 operations, 210,000 ops/s, 812 MiB/s, 4 ranks"
        );
        let mut idle = Sample { waiting: 3, ..sample(75, 860_000, Some(822 << 20)) };
        idle.all.label = Some(("read".into(), 1));
        assert_eq!(
            line.next(&idle, &[]),
            "1 min 15 s, in read (1 rank), 43 % of 2,000,000 operations, 0 ops/s, \
             822 MiB so far, 1 of 4 ranks at work"
        );
    }

    #[test]
    fn what_is_not_known_is_left_out() {
        let mut line = Line::default();
        let mut sample = Sample { running: 1, ..sample(2, 10, None) };
        sample.all.label = None;
        assert_eq!(line.next(&sample, &[]), "2 s, 10 operations, 5 ops/s, 1 rank");
        // A share above all would be a wrong total.
        let mut line = Line { all: Some(3), ..Line::default() };
        assert_eq!(line.next(&sample, &[]), "2 s, 10 operations, 5 ops/s, 1 rank");
    }

    #[test]
    fn a_number_that_depends_on_the_time_gives_no_share() {
        let known = Rehearsal { complete: true, ..Rehearsal::default() };
        let timed = Rehearsal { by_time: true, ..known.clone() };
        let unfinished = Rehearsal { complete: false, ..known.clone() };
        let told = [known, timed, unfinished].map(|rehearsal| operations(&rehearsal));
        assert_eq!(told, [Some(0), None, None]);
    }

    #[test]
    fn the_slowest_rank_and_machine_are_named() {
        let of = |operations, bytes| Standing { operations, bytes, ..Standing::default() };
        let at = |at_s, nodes: [Standing; 2], slowest| {
            let mut sample = sample(at_s, nodes[0].operations + nodes[1].operations, None);
            sample.all.slowest = Some(slowest);
            let at_ns = sample.at_ns;
            let nodes = nodes.map(|standing| Standing { at_ns, ..standing });
            Sample { nodes: (0..).zip(nodes).collect(), ..sample }
        };
        let hosts = ["cn02".to_string(), "cn07".to_string()];
        let mut line = Line { all: Some(1000), ..Line::default() };
        let slowest = |done, all| Slowest { rank: 3, done, all };
        let told = line.next(&at(1, [of(100, Some(0)), of(60, Some(0))], slowest(20, 250)), &hosts);
        assert!(
            told.ends_with("slowest: rank 3 (8 %), nodes 60 (cn07) to 100 (cn02) ops/s"),
            "{told}"
        );
        let moved = [of(200, Some(8 << 20)), of(120, Some(4 << 20))];
        let told = line.next(&at(3, moved.clone(), slowest(80, 250)), &hosts);
        assert!(told.ends_with("4 ranks, nodes 2 (cn07) to 4 (cn02) MiB/s"), "{told}");
        let mut line = Line::default();
        let told = line.next(&at(3, moved, slowest(70, 0)), &[]);
        assert!(
            told.contains("slowest: rank 3 (70 operations), nodes 1.33 (1) to 2.67 (0)"),
            "{told}"
        );
    }

    /// Three machines with two ranks each, 10 operations of 1 MiB in a second on each.
    #[test]
    fn rates_of_machines_are_those_between_their_own_words() {
        let told = |at_s: u64| Standing {
            at_ns: at_s * 1_000_000_000,
            operations: 10 * at_s,
            bytes: Some((10 * at_s) << 20),
            ..Standing::default()
        };
        let at = |at_s: u64, words: &[u64]| {
            let nodes: Vec<(u32, Standing)> = (0..).zip(words.iter().map(|s| told(*s))).collect();
            let all = nodes.iter().fold(Standing::default(), |all, node| all.and(&node.1));
            let all = Standing { bytes: Some(all.operations << 20), ..all };
            let silent = 3 - words.len() as u32;
            Sample {
                at_ns: at_s * 1_000_000_000,
                all,
                running: 6,
                nodes,
                silent,
                ..Sample::default()
            }
        };
        let mut line = Line::default();
        let says = |text: String, end: &str| assert!(text.ends_with(end), "{text}");
        says(
            line.next(&at(10, &[10]), &[]),
            " 10 ops/s, 10 MiB/s, 6 ranks, without 2 nodes that have told nothing yet",
        );
        // The second word of node 0, the first ones of the others, which are as late as they like.
        for words in [[20, 11, 19], [30, 29, 21], [40, 29, 40]] {
            says(
                line.next(&at(words[0], &words), &[]),
                " 30 ops/s, 30 MiB/s, 6 ranks, nodes 10 (0) to 10 (2) MiB/s",
            );
        }
    }
}
