//! Sequences that are alike -> the sequence that holds them all, with parts that some leave out.

use super::super::ranks::common;
use std::cmp::Reverse;
use std::collections::HashMap;

/// Most different sequences.
const KINDS_MAX: usize = 48;
/// Most elements of what holds them all.
const SLOTS_MAX: usize = 96;

/// What a statement takes, in bytes.
pub const STATEMENT: usize = 40;
/// What an optional part takes, with a list of its numbers.
pub const OPTION: usize = 70;
/// What its entry in a list takes.
pub const ENTRY: usize = 3;

/// A sequence of which others are parts.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// Classes of its elements.
    pub slots: Vec<u64>,
    /// Elements that every sequence has.
    pub always: Vec<bool>,
}

impl Profile {
    /// The profile of sequences; `None`: they are too different.
    pub fn of(segments: &[&[u64]]) -> Option<Profile> {
        let mut kinds: HashMap<&[u64], usize> = HashMap::new();
        for segment in segments {
            *kinds.entry(segment).or_default() += 1;
            if kinds.len() > KINDS_MAX {
                return None;
            }
        }
        let mut kinds: Vec<(&[u64], usize)> = kinds.into_iter().collect();
        kinds.sort_by_key(|(kind, times)| (Reverse(*times), Reverse(kind.len()), *kind));
        let mut slots = kinds[0].0.to_vec();
        for (kind, _) in &kinds[1..] {
            slots = joined(&slots, kind);
            if slots.len() > SLOTS_MAX {
                return None;
            }
        }
        while let Some(unused) = unused(&slots, &kinds) {
            slots.remove(unused);
        }
        let mut always = vec![true; slots.len()];
        for (kind, _) in &kinds {
            let places = places(&slots, kind);
            let mut at = 0;
            always.iter_mut().enumerate().for_each(|(slot, always)| {
                let is_there = places.get(at) == Some(&slot);
                at += usize::from(is_there);
                *always &= is_there;
            });
        }
        Some(Profile { slots, always })
    }

    /// Places of the elements of a sequence that it holds.
    pub fn places(&self, segment: &[u64]) -> Vec<usize> {
        places(&self.slots, segment)
    }

    /// The longest beginning of a sequence that is one more of them.
    pub fn beginning(&self, rest: &[u64]) -> Option<usize> {
        let (mut slot, mut taken, mut whole) = (0, 0, None);
        loop {
            if self.always[slot..].iter().all(|always| !always) {
                whole = Some(taken);
            }
            let next = rest.get(taken)?;
            let found = self.slots[slot..].iter().position(|class| class == next);
            let ahead = found.filter(|ahead| self.always[slot..slot + ahead].iter().all(|a| !a));
            let Some(ahead) = ahead else { return whole };
            (slot, taken) = (slot + ahead + 1, taken + 1);
            if taken == rest.len() {
                let is_whole = self.always[slot..].iter().all(|always| !always);
                return if is_whole { Some(taken) } else { whole };
            }
        }
    }

    /// What a loop over these sequences saves, in bytes, roughly.
    pub fn gain(&self, segments: &[&[u64]]) -> Option<usize> {
        let elements: usize = segments.iter().map(|segment| segment.len()).sum();
        let options = self.always.iter().filter(|always| !**always).count();
        let takes = self.slots.len() * STATEMENT + options * (OPTION + ENTRY * segments.len());
        (elements * STATEMENT).checked_sub(takes)
    }
}

fn places(slots: &[u64], segment: &[u64]) -> Vec<usize> {
    common(slots, segment).into_iter().map(|(slot, _)| slot).collect()
}

/// An element that none of the sequences needs: what each has was put elsewhere for the sake of others.
fn unused(slots: &[u64], kinds: &[(&[u64], usize)]) -> Option<usize> {
    let mut used = vec![false; slots.len()];
    let all = kinds.iter().flat_map(|(kind, _)| places(slots, kind));
    all.for_each(|slot| used[slot] = true);
    used.iter().position(|used| !used)
}

/// The shortest sequence that holds both.
fn joined(slots: &[u64], segment: &[u64]) -> Vec<u64> {
    let mut all = Vec::with_capacity(slots.len() + segment.len());
    let mut taken = (0, 0);
    let pairs = common(slots, segment).into_iter().map(|(a, b)| (a, b, true));
    for (a, b, both) in pairs.chain([(slots.len(), segment.len(), false)]) {
        all.extend_from_slice(&slots[taken.0..a]);
        all.extend_from_slice(&segment[taken.1..b]);
        if both {
            all.push(slots[a]);
        }
        taken = (a + 1, b + 1);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(texts: &[&str]) -> (String, String) {
        let all: Vec<Vec<u64>> =
            texts.iter().map(|text| text.bytes().map(u64::from).collect()).collect();
        let all: Vec<&[u64]> = all.iter().map(Vec::as_slice).collect();
        let profile = Profile::of(&all).unwrap();
        let slots = profile.slots.iter().map(|slot| *slot as u8 as char).collect();
        let always = profile.always.iter().map(|a| if *a { '+' } else { '-' }).collect();
        (slots, always)
    }

    #[test]
    fn a_profile_holds_all_and_tells_what_some_leave_out() {
        for (texts, slots, always) in [
            (&["abc", "abc"][..], "abc", "+++"),
            (&["abc", "ac", "abc"], "abc", "+-+"),
            (&["abc", "abxc"], "abxc", "++-+"),
            (&["ab", "ac"], "abc", "+--"),
        ] {
            assert_eq!(of(texts), (slots.to_string(), always.to_string()), "{texts:?}");
        }
    }

    #[test]
    fn some_sequence_has_each_element() {
        let mut state = 1u64;
        let mut drawn = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        for _ in 0..200 {
            let mut segment = || (0..=drawn(9)).map(|_| drawn(3)).collect::<Vec<u64>>();
            let all: Vec<Vec<u64>> = (0..12).map(|_| segment()).collect();
            let all: Vec<&[u64]> = all.iter().map(Vec::as_slice).collect();
            let profile = Profile::of(&all).unwrap();
            let has = |slot: usize| all.iter().any(|one| profile.places(one).contains(&slot));
            assert!((0..profile.slots.len()).all(has), "{all:?}");
            assert!(all.iter().all(|one| profile.places(one).len() == one.len()), "{all:?}");
        }
    }

    #[test]
    fn the_last_one_ends_where_it_is_whole() {
        let profile = Profile { slots: vec![1, 2, 3], always: vec![true, false, true] };
        for (rest, length) in
            [(&[1, 2, 3, 9][..], Some(3)), (&[1, 3], Some(2)), (&[1, 2, 9], None), (&[1], None)]
        {
            assert_eq!(profile.beginning(rest), length, "{rest:?}");
        }
    }
}
