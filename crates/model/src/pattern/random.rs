//! `random`: members take turns, and every turn has another length.
//!
//! ```text
//! turn t = 0, 1, ...  belongs to member t mod G
//! length(t) in min..=max, drawn from a generator that all members share
//! offset(t) = header + length(0) + ... + length(t - 1)
//! ```
//!
//! The random strided pattern of PIObench (Shorter, MS thesis, Clemson; the formula is a reconstruction), as media
//! files with frames of different sizes have it. A member has to add up the lengths of all:
//! making its extents takes time in proportion to `count * G`.

use super::{Argument, Promise, Run, Runs, Shape, fits, product, sum};
use crate::permutation::mix;
use serde::{Deserialize, Serialize};

/// Most turns of all members: adding up their lengths takes about a second.
const MAX_TURNS: u64 = 1 << 28;

/// Turns of random length.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Random {
    /// Least bytes of an extent.
    pub min_bytes: u64,
    /// Most bytes of an extent.
    pub max_bytes: u64,
    /// Extents of each member.
    pub count: u64,
    /// Where the pattern begins in the file.
    pub header_bytes: u64,
    /// Seed of the lengths: that of the program.
    pub seed: u64,
}

impl Random {
    /// Bytes of turn `t`: uniform by multiplication (Lemire 2019, without rejection: the bias
    /// is below 2^-40 for extents below 16 MiB).
    #[inline]
    fn length_bytes(&self, t: u64) -> u64 {
        let choices = u128::from(self.max_bytes - self.min_bytes) + 1;
        let bits = mix(self.seed ^ mix(t));
        self.min_bytes + ((u128::from(bits) * choices) >> 64) as u64
    }

    fn bound(&self, members: u32) -> Option<u64> {
        sum(self.header_bytes, product(&[self.max_bytes, self.count, members.into()])?)
    }
}

impl Shape for Random {
    fn check_numbers(&self) -> Result<(), String> {
        if self.min_bytes > self.max_bytes {
            return Err(format!(
                "expected min to be at most max, found min={} and max={}",
                self.min_bytes, self.max_bytes
            ));
        }
        Ok(())
    }

    fn check(&self, members: u32) -> Result<(), String> {
        self.check_numbers()?;
        fits(self.bound(members), members)?;
        if self.count.saturating_mul(members.into()) > MAX_TURNS {
            return Err(format!(
                "expected at most {MAX_TURNS} pieces of all members, found count={} for each of \
                 {members}: every member adds up the lengths of all",
                self.count
            ));
        }
        Ok(())
    }

    fn end(&self, members: u32) -> Option<u64> {
        self.bound(members)?;
        let turns = self.count * u64::from(members);
        Some(self.header_bytes + (0..turns).map(|t| self.length_bytes(t)).sum::<u64>())
    }

    fn runs(&self, member: u32, members: u32) -> Runs<'_> {
        let (member, members) = (u64::from(member), u64::from(members));
        let mut offset_bytes = self.header_bytes;
        let mut t = 0;
        Box::new((0..self.count).map(move |u| {
            let own = u * members + member;
            while t < own {
                offset_bytes += self.length_bytes(t);
                t += 1;
            }
            Run::single(offset_bytes, self.length_bytes(own))
        }))
    }

    fn promise(&self, members: u32) -> Promise {
        Promise { disjoint: true, covers: Some(self.header_bytes..self.end_bytes(members)) }
    }

    fn count(&self, _member: u32, _members: u32) -> u64 {
        self.count
    }

    fn bytes(&self, member: u32, members: u32) -> u64 {
        let turns = (0..self.count).map(|u| u * u64::from(members) + u64::from(member));
        turns.map(|t| self.length_bytes(t)).sum()
    }

    fn arguments(&self) -> Vec<(&'static str, Argument)> {
        vec![
            ("min", Argument::Number(self.min_bytes)),
            ("max", Argument::Number(self.max_bytes)),
            ("count", Argument::Number(self.count)),
            ("header", Argument::Number(self.header_bytes)),
        ]
    }
}
