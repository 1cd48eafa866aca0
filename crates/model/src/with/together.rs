//! Options of `with` that contradict each other: the checker asks for constants, each rank for values.

use super::WithOption;
use crate::value::Value;

/// What is in force of the options that can contradict each other; `None`: it is not known yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InForce {
    /// Files are opened with O_DIRECT.
    pub direct: Option<bool>,
    /// Files that are opened are mapped.
    pub mapped: Option<bool>,
    /// Reads and writes move nothing.
    pub null: Option<bool>,
    /// Data is verified.
    pub verify: Option<bool>,
    /// Operations under way at one time.
    pub depth: Option<u32>,
    /// Operations handed over together; 0: as the engine likes.
    pub batch: Option<u32>,
}

impl InForce {
    /// Outside every `with`.
    pub const DEFAULT: InForce = InForce {
        direct: Some(false),
        mapped: Some(false),
        null: Some(false),
        verify: Some(false),
        depth: Some(1),
        batch: Some(0),
    };

    /// In a proc, which can be called inside of any `with`.
    pub const UNKNOWN: InForce =
        InForce { direct: None, mapped: None, null: None, verify: None, depth: None, batch: None };

    /// An option is given; `value`: one that its row accepts, if it is known.
    pub fn set(&mut self, option: WithOption, value: Option<&Value>) {
        let on = || value.and_then(|value| value.as_condition().ok());
        let number = || value.and_then(|value| u32::try_from(value.as_int().ok()?).ok());
        let is = |name: &str| value.map(|value| *value == Value::str(name));
        match option {
            WithOption::Direct => self.direct = on(),
            WithOption::Engine => (self.mapped, self.null) = (is("mmap"), is("null")),
            WithOption::Verify => self.verify = on(),
            WithOption::Depth => self.depth = number(),
            WithOption::Batch => self.batch = number(),
            _ => {}
        }
    }

    /// The options that contradict each other for certain, and why.
    pub fn contradiction(&self) -> Option<([WithOption; 2], String)> {
        if self.mapped == Some(true) && self.direct == Some(true) {
            let what = "engine=\"mmap\" and direct=true contradict each other: a mapping shows the \
                        page cache, which O_DIRECT goes around; leave one of them out";
            return Some(([WithOption::Engine, WithOption::Direct], what.into()));
        }
        if self.null == Some(true) && self.verify == Some(true) {
            let what = "engine=\"null\" and verify=true contradict each other: nothing is written that \
                        could be read again; leave one of them out";
            return Some(([WithOption::Engine, WithOption::Verify], what.into()));
        }
        let (batch, depth) = (self.batch?, self.depth?);
        (batch > depth).then(|| {
            let why = format!(
                "batch={batch} is more than depth={depth}: so many operations are never under way \
                 together; give a larger depth or a smaller batch"
            );
            ([WithOption::Batch, WithOption::Depth], why)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_known_contradicts() {
        let mut options = InForce::DEFAULT;
        options.set(WithOption::Batch, Some(&Value::Int(8)));
        let (which, why) = options.contradiction().expect("depth is 1");
        assert_eq!(which, [WithOption::Batch, WithOption::Depth]);
        assert!(why.starts_with("batch=8 is more than depth=1"), "{why}");
        options.set(WithOption::Depth, None);
        assert_eq!(options.contradiction(), None);
        options.set(WithOption::Engine, Some(&Value::str("mmap")));
        assert_eq!(options.contradiction(), None);
        options.set(WithOption::Direct, Some(&Value::Bool(true)));
        assert!(options.contradiction().is_some());
        assert_eq!(InForce::UNKNOWN.contradiction(), None);
    }
}
