//! A plan as bytes: what rank 0 of an MPI job sends to the others, and what a run leaves beside its
//! records so that a reader finds its sites even if it is killed.
//!
//! ```text
//! parabench plan 0.1.0\n | checksum, 8 bytes | the plan in postcard's format
//! ```
//!
//! Only the version that wrote the bytes reads them: it is no exchange format.

use super::Plan;

/// The first bytes of every plan.
const MAGIC: &[u8] = b"parabench plan ";
/// The only version that reads what this one writes.
const VERSION: &str = env!("CARGO_PKG_VERSION");

impl Plan {
    /// The plan as bytes; [`Plan::from_bytes`] gives an equal one back.
    pub fn to_bytes(&self) -> Vec<u8> {
        let payload = postcard::to_stdvec(self).expect("all lengths are known, memory grows");
        let checksum = hash(&payload).to_le_bytes();
        [MAGIC, VERSION.as_bytes(), b"\n", &checksum, &payload].concat()
    }

    /// A number that changes when the plan does, wherever the program and the directories `paths` lie: of equal
    /// length, such as fresh names beside each other, they count as the same.
    pub fn fingerprint<'a>(&self, paths: impl IntoIterator<Item = &'a [u8]>) -> u64 {
        let mut plan = self.clone();
        for file in &mut plan.files {
            let start = file.name.rfind('/').map_or(0, |slash| slash + 1);
            file.name.drain(..start);
        }
        let mut bytes = plan.to_bytes();
        // The checksum in the head knows the paths.
        bytes.drain(..bytes.len().min(MAGIC.len() + VERSION.len() + 1 + 8));
        paths.into_iter().for_each(|path| blank(&mut bytes, path));
        hash(&bytes)
    }

    /// The plan that [`Plan::to_bytes`] made these bytes of.
    ///
    /// # Errors
    /// A sentence: the bytes are no plan, one of another version, or damaged.
    pub fn from_bytes(bytes: &[u8]) -> Result<Plan, String> {
        let rest = bytes.strip_prefix(MAGIC).ok_or("expected a plan, found something else")?;
        let rest = rest.strip_prefix(VERSION.as_bytes()).and_then(|rest| rest.strip_prefix(b"\n"));
        let rest =
            rest.ok_or_else(|| format!("the plan was made by another parabench than {VERSION}"))?;
        let (checksum, payload) =
            rest.split_first_chunk().ok_or_else(|| damaged("its head is cut off"))?;
        if u64::from_le_bytes(*checksum) != hash(payload) {
            return Err(damaged("its checksum is wrong"));
        }
        postcard::from_bytes(payload).map_err(|error| damaged(&error.to_string()))
    }
}

fn damaged(why: &str) -> String {
    format!("the plan is damaged: {why}")
}

/// Overwrites a path wherever it stands.
fn blank(bytes: &mut [u8], path: &[u8]) {
    let mut at = 0;
    while !path.is_empty() && at + path.len() <= bytes.len() {
        let here = &mut bytes[at..at + path.len()];
        if here == path {
            here.fill(0);
            at += path.len();
        } else {
            at += 1;
        }
    }
}

/// FNV-1a: bytes that were changed by accident hardly keep it.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::MAX_LIST_DEPTH;
    use crate::plan::{Instr, SourceFile, Span};
    use crate::value::Value;
    use proptest::prelude::*;

    fn plan() -> Plan {
        let text = "print [1, [\"a\"]];".to_string();
        let list = Value::List([Value::Int(1), Value::List([Value::str("a")].into())].into());
        Plan {
            code: vec![Instr::Halt],
            spans: vec![Span { start: 0, end: 3 }],
            consts: vec![list, Value::Float(f64::NAN), Value::Unset],
            files: vec![SourceFile { name: "x.ppl".into(), start: 0, text: text.into() }],
            ..Plan::default()
        }
    }

    #[test]
    fn a_plan_survives() {
        assert_eq!(Plan::from_bytes(&plan().to_bytes()), Ok(plan()));
        assert_eq!(Plan::from_bytes(&Plan::default().to_bytes()), Ok(Plan::default()));
    }

    #[test]
    fn every_damage_is_found() {
        let bytes = plan().to_bytes();
        for at in 0..bytes.len() {
            assert!(Plan::from_bytes(&bytes[..at]).is_err(), "cut at {at}");
            let mut changed = bytes.clone();
            changed[at] ^= 0x20;
            assert!(Plan::from_bytes(&changed).is_err(), "changed at {at}");
        }
    }

    #[test]
    fn another_version_is_refused() {
        let other = [MAGIC, b"9.8.7\n"].concat();
        let error = Plan::from_bytes(&other).unwrap_err();
        assert_eq!(error, format!("the plan was made by another parabench than {VERSION}"));
        assert_eq!(Plan::from_bytes(b"PAR1").unwrap_err(), "expected a plan, found something else");
    }

    #[test]
    fn lists_are_not_nested_beyond_the_limit() {
        // A list of one list: its number in the enum, then its length.
        let read = |depth| {
            let number = postcard::to_stdvec(&Value::List([].into())).unwrap()[0];
            let mut bytes = [number, 1].repeat(depth);
            bytes.extend(postcard::to_stdvec(&Value::Int(7)).unwrap());
            postcard::from_bytes::<Value>(&bytes).is_ok()
        };
        assert!(read(MAX_LIST_DEPTH));
        assert!(!read(MAX_LIST_DEPTH + 1));
        assert!(!read(1_000_000));
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_plan_or_a_sentence(payload: Vec<u8>) {
            let _ = Plan::from_bytes(&payload);
        }
    }
}
