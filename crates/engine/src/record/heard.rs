//! Events of simulated ranks that somebody hears as they are made: they take no memory then.

use super::events::EVENT_WORDS;
use super::layout::as_bytes;
use model::Event;
use std::cell::RefCell;
use std::rc::Rc;

/// Who hears events.
pub trait Listen {
    /// A rank has executed an operation. They come in order for each rank, not over ranks.
    fn event(&mut self, rank: u32, event: &Event, paths: &Paths<'_>);

    /// No more is needed: all ranks are interrupted.
    fn is_enough(&self) -> bool {
        false
    }
}

/// Takes the events of all ranks; they are not kept.
#[derive(Clone)]
pub struct Listener(pub Rc<RefCell<dyn Listen>>);

/// Names that the events of a rank refer to.
pub struct Paths<'a> {
    pub(super) words: &'a [u64],
    /// Words at which they begin: number of bytes, bytes.
    pub(super) places: &'a [u32],
}

impl Paths<'_> {
    /// The path with this id.
    pub fn path(&self, id: u32) -> Option<&[u8]> {
        let words = &self.words[*self.places.get(id as usize)? as usize..];
        as_bytes(&words[1..]).get(..words[0] as usize)
    }
}

impl Listener {
    /// Gives events as they lie in memory.
    pub(super) fn hear(&self, rank: u32, events: &[u64], paths: &Paths<'_>) {
        let mut who = self.0.borrow_mut();
        for event in events.as_chunks::<EVENT_WORDS>().0 {
            who.event(rank, bytemuck::cast_ref(event), paths);
        }
    }
}

impl std::fmt::Debug for Listener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Listener")
    }
}
