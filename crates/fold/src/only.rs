//! A part of a log: one rank, one phase, or the files at and below one name.

use super::events::Events;
use super::log::Log;
use super::logged::Logged;
use super::{barriers, processes};
use model::event::NO_ID;

/// The part to keep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Only {
    /// This rank, which becomes the only one.
    Rank(u32),
    /// Operations in this label and in those inside it.
    Phase(String),
    /// Operations on this file, or on what is below this directory.
    Path(Vec<u8>),
}

impl Only {
    /// Parses a rank's number, a label or a name; `None` if the log has none of
    /// them.
    pub fn parse(text: &str, log: &Log) -> Option<Only> {
        if let Ok(rank) = text.parse() {
            return ((rank as usize) < log.ranks.len()).then_some(Only::Rank(rank));
        }
        let text = text.trim_end_matches('/');
        if log.labels.iter().any(|label| is_within(label.as_bytes(), text.as_bytes())) {
            return Some(Only::Phase(text.into()));
        }
        let known = log.paths.iter().any(|path| is_within(path, text.as_bytes()));
        known.then(|| Only::Path(text.into()))
    }

    /// Leaves everything else out of a log, also ranks that do nothing of it.
    pub fn keep(&self, log: &mut Log) {
        self.keep_operations(log);
        let kept: Vec<u32> = (0..log.ranks.len() as u32)
            .filter(|rank| !log.ranks[*rank as usize].is_empty())
            .collect();
        log.ranks.retain(|rank| !rank.is_empty());
        processes::keep(&mut log.processes, &kept);
        barriers::keep(&mut log.barriers, &kept);
    }

    fn keep_operations(&self, log: &mut Log) {
        let Log { ranks, paths, labels, .. } = log;
        let named = |id: u32, name: &[u8]| {
            id != NO_ID && paths.get(id as usize).is_some_and(|path| is_within(path, name))
        };
        let labelled = |id: u32, name: &str| {
            let label = labels.get(id as usize).filter(|_| id != NO_ID);
            label.is_some_and(|label| is_within(label.as_bytes(), name.as_bytes()))
        };
        match self {
            Only::Rank(kept) => {
                let others = (0..).zip(ranks).filter(|(rank, _)| rank != kept);
                others.for_each(|(_, events)| *events = Events::default());
            }
            Only::Phase(name) => retain(ranks, |entry| labelled(entry.event.label, name)),
            Only::Path(name) => retain(ranks, |entry| {
                named(entry.event.path, name) || named(entry.event.path2, name)
            }),
        }
    }
}

fn retain(ranks: &mut [Events], keeps: impl Fn(&Logged) -> bool) {
    ranks.iter_mut().for_each(|rank| rank.retain(&keeps));
}

/// It is this name, or below it.
fn is_within(path: &[u8], name: &[u8]) -> bool {
    path.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Event;
    use model::event::Details;

    #[test]
    fn a_rank_a_phase_or_a_name_is_kept() {
        let entry = |label: u32, path: u32| Logged {
            event: Event { label, path, path2: NO_ID, ..Event::default() },
            details: Details::default(),
        };
        let log = Log {
            paths: vec![b"d/a".to_vec(), b"da".to_vec()],
            labels: vec!["load".into(), "load/read".into(), "loading".into()],
            ranks: vec![
                Events::from_iter([entry(0, 0), entry(1, 1), entry(2, 0)]),
                Events::from_iter([entry(NO_ID, 1)]),
            ],
            ..Log::default()
        };
        for (text, left) in [("1", vec![1]), ("load", vec![2]), ("d/", vec![2]), ("d/a", vec![2])] {
            let mut part = log.clone();
            Only::parse(text, &log).expect(text).keep(&mut part);
            let counts: Vec<usize> = part.ranks.iter().map(Events::len).collect();
            assert_eq!(counts, left, "{text}");
        }
        assert_eq!((Only::parse("2", &log), Only::parse("l", &log)), (None, None));
    }
}
