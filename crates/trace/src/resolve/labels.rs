//! Labels of events: the program, and within it the function that made the call, if the log tells.

use super::Words;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

/// Different labels; further places in a program are `(more)`.
const LABELS_MAX: usize = 4096;

/// All labels.
#[derive(Clone, Debug, Default)]
pub(super) struct Labels {
    words: Words,
    /// By the program's label.
    sites: HashMap<u32, HashMap<Box<[u8]>, u32, FxBuildHasher>, FxBuildHasher>,
}

impl Labels {
    /// That of a program.
    pub(super) fn program(&mut self, name: &[u8]) -> u32 {
        self.words.number(name)
    }

    /// That of a place in a program, which has the label `program`.
    pub(super) fn site(&mut self, program: u32, site: &[u8]) -> u32 {
        let known = self.sites.entry(program).or_default();
        if let Some(label) = known.get(site) {
            return *label;
        }
        let outer = self.words.0.get(program as usize).map_or(&b""[..], |name| &name[..]);
        let has_room = self.words.0.len() < LABELS_MAX;
        let inner = if has_room { site } else { b"(more)" };
        let label = if outer.is_empty() { inner.to_vec() } else { [outer, b"/", inner].concat() };
        let label = self.words.number(&label);
        if has_room {
            known.insert(site.into(), label);
        }
        label
    }

    /// Some calls have a place in the program.
    pub(super) fn has_sites(&self) -> bool {
        !self.sites.is_empty()
    }

    /// Labels by id.
    pub(super) fn into_words(self) -> Vec<Vec<u8>> {
        self.words.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::event::NO_ID;

    #[test]
    fn places_are_labels_within_programs_and_bounded() {
        let mut labels = Labels::default();
        let app = labels.program(b"app");
        let (main, again) = (labels.site(app, b"main"), labels.site(app, b"main"));
        assert_eq!((main, again, labels.site(NO_ID, b"main")), (1, 1, 2));
        let last = (0..10_000).map(|n| labels.site(app, n.to_string().as_bytes())).last();
        let words = labels.into_words();
        assert_eq!((&words[1][..], &words[2][..]), (&b"app/main"[..], &b"main"[..]));
        assert_eq!((words.len(), &words[last.unwrap() as usize][..]), (4097, &b"app/(more)"[..]));
    }
}
