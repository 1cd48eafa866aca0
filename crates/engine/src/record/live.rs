//! What a rank has recorded so far, read while it goes on. The rank does nothing for it: its area
//! lies in memory, blocks become visible when they are complete, and counters are single words.

use super::layout::*;
use super::stats::{S_BYTES, STAT_WORDS};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Blocks that are followed in one look: the rest is for the next one.
const BLOCKS: usize = 4096;
/// Counters that are read in one look. With more of them, bytes are not known.
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

impl Default for Live {
    fn default() -> Live {
        Live { next: HEADER_WORDS as u64, labels: Vec::new(), stats: Vec::new() }
    }
}

impl Live {
    /// Bytes that operations have moved; `None` if that would take too long to tell.
    ///
    /// # Errors
    /// Those of reading, or of an area that is none yet.
    pub fn bytes(&mut self, area: &File) -> io::Result<Option<u64>> {
        self.follow(area)?;
        if self.stats.len() > STATS {
            return Ok(None);
        }
        let mut bytes = 0u64;
        for at in &self.stats {
            bytes = bytes.saturating_add(word(area, at + S_BYTES as u64)?);
        }
        Ok(Some(bytes))
    }

    /// The path of a label that has been seen.
    pub fn label(&self, id: u32) -> Option<&[u8]> {
        self.labels.get(id as usize).map(Vec::as_slice)
    }

    /// Takes note of blocks that were added.
    fn follow(&mut self, area: &File) -> io::Result<()> {
        if word(area, H_MAGIC as u64)? != MAGIC {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let used = word(area, H_USED as u64)?;
        for _ in 0..BLOCKS {
            if self.next >= used {
                return Ok(());
            }
            let (kind, words) = halves(word(area, self.next)?);
            let payload = self.next + 1;
            match Kind::from_u32(kind) {
                Some(Kind::Label) => self.labels.push(label(area, payload, words)?),
                Some(Kind::Stat) if words as usize >= STAT_WORDS => self.stats.push(payload),
                _ => {}
            }
            self.next = payload + u64::from(words);
        }
        Ok(())
    }
}

/// The path in a label's block.
fn label(area: &File, payload: u64, words: u32) -> io::Result<Vec<u8>> {
    let (_, bytes) = halves(word(area, payload + super::labels::L_KIND_BYTES as u64)?);
    let room = (words as usize).saturating_sub(super::labels::L_PATH) * 8;
    let mut path = vec![0; (bytes as usize).min(room).min(MAX_LABEL_BYTES)];
    area.read_exact_at(&mut path, 8 * (payload + super::labels::L_PATH as u64))?;
    Ok(path)
}

fn word(area: &File, at: u64) -> io::Result<u64> {
    let mut bytes = [0; 8];
    area.read_exact_at(&mut bytes, 8 * at)?;
    Ok(u64::from_ne_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::super::{Medium, Meta, Recorder, Timing, memory_file};
    use super::*;
    use model::Op;
    use model::event::NO_ID;
    use model::plan::LabelKind;

    #[test]
    fn labels_and_bytes_are_seen_while_the_rank_records() {
        let area = memory_file().unwrap();
        let medium = Medium::Memory(area.try_clone().unwrap().into());
        let meta = Meta { rank: 0, ranks: 1, sites: 4, events: None };
        let mut recorder = Recorder::create(medium, &meta).unwrap();
        let mut live = Live::default();
        assert_eq!(live.bytes(&area).unwrap(), Some(0));
        let outer = recorder.label(NO_ID, b"outer", LabelKind::Wall);
        let inner = recorder.label(outer, b"inner", LabelKind::Wall);
        for label in [outer, inner] {
            for op in [Op::Fread, Op::Fwrite] {
                let stat = recorder.stat(label, op);
                recorder.done(stat, 1, Timing::default(), 1000, false);
            }
        }
        assert_eq!(live.bytes(&area).unwrap(), Some(4000));
        assert_eq!(live.label(outer), Some(&b"outer"[..]));
        assert_eq!(live.label(inner), Some(&b"outer/inner"[..]));
        assert_eq!(live.label(inner + 1), None);
        let stat = recorder.stat(inner, Op::Fread);
        recorder.done(stat, 1, Timing::default(), 24, false);
        assert_eq!(live.bytes(&area).unwrap(), Some(4024));
    }

    #[test]
    fn what_is_no_area_is_an_error() {
        let file = memory_file().unwrap();
        assert!(Live::default().bytes(&file).is_err());
        file.write_all_at(&[7; 4096], 0).unwrap();
        assert!(Live::default().bytes(&file).is_err());
    }
}
