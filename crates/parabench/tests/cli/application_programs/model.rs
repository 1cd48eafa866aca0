//! What an application should come to: operations, bytes, files left. Tests fill it by doing what the application does.

use std::collections::BTreeMap;

/// Of one operation.
#[derive(Debug, Default, PartialEq)]
pub struct Counts {
    /// Operations.
    pub count: u64,
    /// Those of them that failed as the program had announced.
    pub expected: u64,
    /// Bytes moved.
    pub bytes: u64,
}

/// Of an application.
#[derive(Default)]
pub struct Model {
    /// By operation.
    pub counts: BTreeMap<String, Counts>,
    /// Sizes of the files left, by their path.
    pub left: BTreeMap<String, u64>,
}

impl Model {
    /// An operation that moves bytes.
    pub fn moves(&mut self, op: &str, bytes: u64) {
        self.many(1, op, bytes);
    }

    /// An operation that moves none.
    pub fn calls(&mut self, op: &str) {
        self.many(1, op, 0);
    }

    /// Several operations, each of so many bytes.
    pub fn many(&mut self, count: u64, op: &str, bytes: u64) {
        let sum = self.counts.entry(op.to_string()).or_default();
        sum.count += count;
        sum.bytes += count * bytes;
    }

    /// An operation that fails as announced.
    pub fn expected(&mut self, op: &str) {
        self.calls(op);
        self.counts.get_mut(op).expect("just counted").expected += 1;
    }

    /// A file that is written by one statement.
    pub fn write(&mut self, path: impl Into<String>, bytes: u64) {
        self.moves("write", bytes);
        self.left.insert(path.into(), bytes);
    }

    /// A file whose bytes are counted elsewhere.
    pub fn leaves(&mut self, path: impl Into<String>, bytes: u64) {
        self.left.insert(path.into(), bytes);
    }

    /// A file that is removed.
    pub fn delete(&mut self, path: &str) {
        self.calls("delete");
        assert!(self.left.remove(path).is_some(), "{path} is not there");
    }

    /// A file that gets another name, and replaces what had it.
    pub fn rename(&mut self, from: &str, to: impl Into<String>) {
        self.calls("rename");
        let bytes = self.left.remove(from).unwrap_or_else(|| panic!("{from} is not there"));
        self.left.insert(to.into(), bytes);
    }
}
