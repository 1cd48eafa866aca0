//! A line of a Chrome trace.

use serde::Deserialize;
use std::borrow::Cow;

/// A line. Fields that matter to nobody here are left out.
#[derive(Debug, Deserialize)]
pub struct Line<'a> {
    #[serde(borrow, default)]
    pub name: Cow<'a, str>,
    #[serde(borrow, default)]
    pub cat: Cow<'a, str>,
    #[serde(borrow, default)]
    pub ph: Value<'a>,
    #[serde(default)]
    pub pid: u64,
    #[serde(default)]
    pub tid: Option<u64>,
    #[serde(borrow, default)]
    pub ts: Value<'a>,
    #[serde(borrow, default)]
    pub dur: Value<'a>,
    #[serde(borrow, default)]
    pub args: Arguments<'a>,
}

/// Arguments of a call, or what a line of the recorder itself says.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Arguments<'a> {
    #[serde(borrow)]
    pub name: Value<'a>,
    #[serde(borrow)]
    pub value: Value<'a>,
    #[serde(borrow)]
    pub hash: Value<'a>,
    #[serde(borrow)]
    pub hhash: Value<'a>,
    #[serde(borrow)]
    pub cwd: Value<'a>,
    #[serde(borrow)]
    pub cmd_hash: Value<'a>,
    #[serde(borrow)]
    pub fhash: Value<'a>,
    #[serde(borrow)]
    pub fname: Value<'a>,
    #[serde(borrow)]
    pub newpath: Value<'a>,
    #[serde(borrow)]
    pub newpath_hash: Value<'a>,
    #[serde(borrow)]
    pub path2: Value<'a>,
    #[serde(borrow)]
    pub path2_hash: Value<'a>,
    #[serde(borrow)]
    pub ret: Value<'a>,
    #[serde(borrow)]
    pub count: Value<'a>,
    #[serde(borrow)]
    pub length: Value<'a>,
    #[serde(borrow)]
    pub bufsize: Value<'a>,
    #[serde(borrow)]
    pub size: Value<'a>,
    #[serde(borrow)]
    pub offset: Value<'a>,
    #[serde(borrow)]
    pub whence: Value<'a>,
    #[serde(borrow)]
    pub flags: Value<'a>,
    #[serde(borrow)]
    pub mode: Value<'a>,
}

/// A value: versions of DFTracer differ in which are numbers.
#[derive(Debug, Default, Deserialize)]
#[serde(untagged)]
pub enum Value<'a> {
    Integer(i64),
    Float(f64),
    Text(#[serde(borrow)] Cow<'a, str>),
    Other(serde::de::IgnoredAny),
    #[default]
    None,
}

impl Value<'_> {
    /// A text, or the digits of a number.
    pub fn text(&self) -> Option<Box<[u8]>> {
        match self {
            Value::Integer(number) => Some(number.to_string().into_bytes().into()),
            Value::Text(text) => Some(text.as_bytes().into()),
            _ => None,
        }
    }

    /// It is this text.
    pub fn is(&self, word: &[u8]) -> bool {
        matches!(self, Value::Text(text) if text.as_bytes() == word)
    }

    /// A number, also in quotes.
    pub fn number(&self) -> Option<i64> {
        match self {
            Value::Integer(number) => Some(*number),
            Value::Text(text) => text.parse().ok(),
            _ => None,
        }
    }

    /// A time; `unit`: nanoseconds.
    pub fn nanoseconds(&self, unit_ns: u64) -> Option<u64> {
        match self {
            Value::Integer(number) => Some(u64::try_from(*number).ok()?.saturating_mul(unit_ns)),
            // A cast saturates.
            Value::Float(number) => Some((number * unit_ns as f64).round() as u64),
            Value::Text(text) => Some(text.parse::<u64>().ok()?.saturating_mul(unit_ns)),
            _ => None,
        }
    }
}

/// The log begins like one of DFTracer.
pub fn looks_like(beginning: &[u8]) -> bool {
    let text = beginning.trim_ascii_start();
    let text = text.strip_prefix(b"[").unwrap_or(text).trim_ascii_start();
    let first = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let has = |word: &[u8]| memchr::memmem::find(first, word).is_some();
    first.starts_with(b"{") && has(b"\"ph\":") && has(b"\"cat\":") && has(b"\"pid\":")
}
