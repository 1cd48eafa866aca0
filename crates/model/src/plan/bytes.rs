//! A plan as bytes: what rank 0 of an MPI job sends to the others, and what a run leaves beside its
//! records so that a reader finds its sites even if it is killed.
//!
//! ```text
//! parabench plan 0.1.0\n | checksum, 8 bytes | the plan in postcard's format
//! ```
//!
//! Only the version that wrote the bytes reads them: it is no exchange format.

use super::Plan;
use crate::limits::{self, MAX_LIST_DEPTH};
use crate::value::{Outcome, Value};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The first bytes of every plan.
const MAGIC: &[u8] = b"parabench plan ";
/// The only version that reads what this one writes.
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The longest version that a message repeats.
const MAX_VERSION_BYTES: usize = 32;

impl Plan {
    /// The plan as bytes; [`Plan::from_bytes`] gives an equal one back.
    pub fn to_bytes(&self) -> Vec<u8> {
        let payload = postcard::to_stdvec(self).expect("all lengths are known, memory grows");
        sealed(&payload)
    }

    /// A number that changes when the plan does, wherever the directories `paths` lie: of equal
    /// length, such as fresh names beside each other, they count as the same.
    pub fn fingerprint<'a>(&self, paths: impl IntoIterator<Item = &'a [u8]>) -> u64 {
        let mut bytes = self.to_bytes();
        // The checksum in the head knows the paths.
        bytes.drain(..bytes.len().min(MAGIC.len() + VERSION.len() + 1 + 8));
        paths.into_iter().for_each(|path| blank(&mut bytes, path));
        hash(&bytes)
    }

    /// The plan that [`Plan::to_bytes`] made these bytes of. All that it refers to is there
    /// ([`Plan::verify`]).
    ///
    /// # Errors
    /// A sentence: the bytes are no plan, one of another version, or damaged.
    pub fn from_bytes(bytes: &[u8]) -> Result<Plan, String> {
        let rest = bytes.strip_prefix(MAGIC).ok_or("expected a plan, found something else")?;
        let end = rest.iter().take(MAX_VERSION_BYTES).position(|byte| *byte == b'\n');
        let (version, rest) = rest.split_at(end.ok_or_else(|| damaged("its head is cut off"))?);
        if version != VERSION.as_bytes() {
            let version = String::from_utf8_lossy(version).escape_debug().to_string();
            return Err(format!("the plan was made by parabench {version}, this is {VERSION}"));
        }
        let (checksum, payload) =
            rest[1..].split_first_chunk().ok_or_else(|| damaged("its head is cut off"))?;
        if u64::from_le_bytes(*checksum) != hash(payload) {
            return Err(damaged("its checksum is wrong"));
        }
        let (plan, rest): (Plan, _) =
            postcard::take_from_bytes(payload).map_err(|error| damaged(&error.to_string()))?;
        match rest.is_empty() {
            true => plan.verify().map(|()| plan).map_err(|wrong| damaged(&wrong)),
            false => Err(damaged("bytes follow it")),
        }
    }
}

/// A payload behind the head of a plan, whether it is one or not: for tests of what reads it.
#[doc(hidden)]
pub fn sealed(payload: &[u8]) -> Vec<u8> {
    let checksum = hash(payload).to_le_bytes();
    [MAGIC, VERSION.as_bytes(), b"\n", &checksum, payload].concat()
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

/// A value, list by list in reading order, so that malformed bytes cannot nest lists beyond what
/// the stack bears.
#[derive(Serialize, Deserialize)]
enum Word {
    Unset,
    Int(i64),
    Float(f64),
    Bool(bool),
    Duration(i64),
    Str(Vec<u8>),
    Handle(u64, u16),
    Outcome(u64, u16),
    /// This number of values follows.
    List(u32),
}

fn write(value: &Value, words: &mut Vec<Word>) {
    words.push(match value {
        Value::Unset => Word::Unset,
        Value::Int(n) => Word::Int(*n),
        Value::Float(x) => Word::Float(*x),
        Value::Bool(b) => Word::Bool(*b),
        Value::Duration(ns) => Word::Duration(*ns),
        Value::Str(text) => Word::Str(text.clone()),
        Value::Handle(handle, errno) => Word::Handle(*handle, *errno),
        Value::Outcome(Outcome { bytes, errno }) => Word::Outcome(*bytes, *errno),
        Value::List(items) => Word::List(items.len() as u32),
    });
    if let Value::List(items) = value {
        items.iter().for_each(|item| write(item, words));
    }
}

fn read(words: &mut std::vec::IntoIter<Word>, depth: usize) -> Result<Value, String> {
    Ok(match words.next().ok_or("a value ends early")? {
        Word::Unset => Value::Unset,
        Word::Int(n) => Value::Int(n),
        Word::Float(x) => Value::Float(x),
        Word::Bool(b) => Value::Bool(b),
        Word::Duration(ns) => Value::Duration(ns),
        Word::Str(text) => Value::Str(text),
        Word::Handle(handle, errno) => Value::Handle(handle, errno),
        Word::Outcome(bytes, errno) => Value::Outcome(Outcome { bytes, errno }),
        Word::List(count) => {
            let depth = depth.checked_sub(1).ok_or("lists are nested too deep")?;
            let items: Result<_, _> = (0..count).map(|_| read(words, depth)).collect();
            limits::list(items?).map_err(|error| error.to_string())?
        }
    })
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut words = Vec::new();
        write(self, &mut words);
        words.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
        let mut words = Vec::<Word>::deserialize(deserializer)?.into_iter();
        let value = read(&mut words, MAX_LIST_DEPTH).map_err(D::Error::custom)?;
        match words.next() {
            None => Ok(value),
            Some(_) => Err(D::Error::custom("words follow a value")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Instr, SourceFile, Span};
    use proptest::prelude::*;

    fn nested(depth: usize) -> Vec<Word> {
        let lists = (0..depth).map(|_| Word::List(1));
        lists.chain([Word::Int(7)]).collect()
    }

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
    fn another_version_is_named() {
        let other = [MAGIC, b"9.8.7\n"].concat();
        let error = Plan::from_bytes(&other).unwrap_err();
        assert_eq!(error, format!("the plan was made by parabench 9.8.7, this is {VERSION}"));
        assert_eq!(Plan::from_bytes(b"PAR1").unwrap_err(), "expected a plan, found something else");
    }

    #[test]
    fn lists_are_not_nested_beyond_the_limit() {
        let read = |depth| {
            let bytes = postcard::to_stdvec(&nested(depth)).unwrap();
            postcard::from_bytes::<Value>(&bytes).is_ok()
        };
        assert!(read(MAX_LIST_DEPTH));
        assert!(!read(MAX_LIST_DEPTH + 1));
        assert!(!read(1_000_000));
    }

    #[test]
    fn parts_that_do_not_fit_are_refused() {
        let broken = |change: fn(&mut Plan)| {
            let mut plan = plan();
            change(&mut plan);
            Plan::from_bytes(&plan.to_bytes()).is_err()
        };
        assert!(broken(|plan| plan.spans.clear()));
        assert!(broken(|plan| plan.locals.push(Vec::new())));
        assert!(broken(|plan| plan.files[0].start = u32::MAX));
        assert!(broken(|plan| plan.files.push(plan.files[0].clone())));
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_plan_or_a_sentence(payload: Vec<u8>) {
            let _ = Plan::from_bytes(&payload);
            let _ = Plan::from_bytes(&sealed(&payload));
        }

        #[test]
        fn a_changed_plan_is_one_or_a_sentence(changes in prop::collection::vec(any::<(u16, u8)>(), 1..8)) {
            let mut payload = postcard::to_stdvec(&plan()).unwrap();
            for (at, byte) in changes {
                let at = usize::from(at) % payload.len();
                payload[at] = byte;
            }
            if let Ok(plan) = Plan::from_bytes(&sealed(&payload)) {
                prop_assert_eq!(Plan::from_bytes(&plan.to_bytes()), Ok(plan));
            }
        }
    }
}
