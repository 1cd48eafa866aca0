//! What a rank has recorded so far, read while it goes on. The rank does nothing for it: its area
//! lies in memory, blocks become visible when they are complete, and counters are single words.

use super::layout::*;
use bytemuck::{Pod, Zeroable};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Blocks that are followed in one look: the rest is for the next one.
const BLOCKS: usize = 4096;
/// Counters that are read in one look. With more of them, sums are not known.
const STATS: usize = 1024;

/// A reader that remembers what it has seen of a rank's area.
#[derive(Debug)]
pub struct Live {
    /// Word of the next block.
    next: u64,
    labels: Vec<Vec<u8>>,
    /// Words of the stats' payloads.
    stats: Vec<u64>,
}

/// How far one rank is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Operations done, failed ones included, and bytes that they have moved; `None` if that would
    /// take too long to tell.
    pub sums: Option<(u64, u64)>,
    /// Path of the innermost label that the rank is inside of.
    pub label: Option<Vec<u8>>,
    /// It has not ended its program.
    pub runs: bool,
}

impl Default for Live {
    fn default() -> Live {
        Live { next: HEADER_WORDS as u64, labels: Vec::new(), stats: Vec::new() }
    }
}

impl Live {
    /// How far the rank is that records there.
    ///
    /// # Errors
    /// Those of reading, or of an area that is none yet.
    pub fn look(&mut self, area: &File) -> io::Result<Seen> {
        let header: Header = read_at(area, 0)?;
        if header.magic != MAGIC {
            return Err(io::ErrorKind::InvalidData.into());
        }
        self.follow(area, header.used)?;
        let label = header.inside.checked_sub(1);
        let label = label.and_then(|id| self.labels.get(usize::try_from(id).ok()?));
        Ok(Seen {
            sums: self.sums(area)?,
            label: label.cloned(),
            runs: header.state == State::Running as u64,
        })
    }

    fn sums(&self, area: &File) -> io::Result<Option<(u64, u64)>> {
        if self.stats.len() > STATS {
            return Ok(None);
        }
        let (mut operations, mut bytes) = (0u64, 0u64);
        for at in &self.stats {
            let stat: Stat = read_at(area, *at)?;
            let done = [stat.done.count, stat.failed, stat.expected];
            operations = done.into_iter().fold(operations, u64::saturating_add);
            bytes = bytes.saturating_add(stat.bytes);
        }
        Ok(Some((operations, bytes)))
    }

    /// Takes note of blocks that were added.
    fn follow(&mut self, area: &File, used: u64) -> io::Result<()> {
        for _ in 0..BLOCKS {
            if self.next >= used {
                return Ok(());
            }
            let (kind, words) = split_head(read_at(area, self.next)?);
            let payload = self.next + 1;
            match kind_of(kind) {
                Some(Kind::Label) => self.labels.push(label(area, payload, words)?),
                Some(Kind::Stat) if words as usize >= words_of::<Stat>() => {
                    self.stats.push(payload)
                }
                _ => {}
            }
            self.next = payload + u64::from(words);
        }
        Ok(())
    }
}

/// The path in a label's block.
fn label(area: &File, payload: u64, words: u32) -> io::Result<Vec<u8>> {
    let Label { path_bytes, .. } = read_at(area, payload)?;
    let room = (words as usize).saturating_sub(words_of::<Label>()) * 8;
    let mut path = vec![0; (path_bytes as usize).min(room).min(MAX_LABEL_BYTES)];
    area.read_exact_at(&mut path, 8 * (payload + words_of::<Label>() as u64))?;
    Ok(path)
}

/// A struct at a word.
fn read_at<T: Pod + Zeroable>(area: &File, word: u64) -> io::Result<T> {
    let mut value = T::zeroed();
    area.read_exact_at(bytemuck::bytes_of_mut(&mut value), 8 * word)?;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::super::{Medium, Meta, Recorder, Timing, memory_file};
    use super::*;
    use model::Op;
    use model::event::NO_ID;
    use model::plan::LabelKind;

    #[test]
    fn labels_and_sums_are_seen_while_the_rank_records() {
        let area = memory_file().unwrap();
        let medium = Medium::Memory(area.try_clone().unwrap().into());
        let meta = Meta { rank: 0, ranks: 1, sites: 4, events: None };
        let mut recorder = Recorder::create(medium, &meta).unwrap();
        let mut live = Live::default();
        let seen = Seen { sums: Some((0, 0)), label: None, runs: true };
        assert_eq!(live.look(&area).unwrap(), seen);
        let outer = recorder.label(NO_ID, b"outer", LabelKind::Wall);
        let inner = recorder.label(outer, b"inner", LabelKind::Wall);
        for label in [outer, inner] {
            for op in [Op::Fread, Op::Fwrite] {
                let stat = recorder.stat(label, op);
                recorder.done(stat, 1, Timing::default(), 1000, false);
            }
        }
        recorder.inside(outer);
        let label = Some(b"outer".to_vec());
        assert_eq!(live.look(&area).unwrap(), Seen { sums: Some((4, 4000)), label, runs: true });
        recorder.inside(inner);
        let stat = recorder.stat(inner, Op::Fread);
        recorder.done(stat, 1, Timing::default(), 24, false);
        let label = Some(b"outer/inner".to_vec());
        assert_eq!(live.look(&area).unwrap(), Seen { sums: Some((5, 4024)), label, runs: true });
        recorder.inside(NO_ID);
        recorder.finish(State::Finished, &Default::default());
        let seen = Seen { sums: Some((5, 4024)), label: None, runs: false };
        assert_eq!(live.look(&area).unwrap(), seen);
    }

    #[test]
    fn what_is_no_area_is_an_error() {
        let file = memory_file().unwrap();
        assert!(Live::default().look(&file).is_err());
        file.write_all_at(&[7; 4096], 0).unwrap();
        assert!(Live::default().look(&file).is_err());
    }
}
