//! What a parameter is called: what its number is to the files that it is used for.

use super::super::alike::{NumberKind, kinds};
use super::super::expr::constant;
use super::super::ranks::{Form, Item, Spread, Value};
use super::super::shape::Shaper;
use model::Op;
use std::collections::BTreeSet;

/// What devices place data by, in bytes.
const SECTOR: i64 = 512;
/// Largest page of a file system or database, in bytes.
const PAGE_MAX: i64 = 64 << 10;
/// Smallest buffer of a program that reads or writes one byte after the other, in bytes.
const BUFFER_MIN: i64 = 4 << 10;
/// Most operations that are named.
const OPS_MAX: usize = 2;

/// What a number is in one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Bytes at the beginning of a file.
    Header,
    /// Bytes at whole sectors: a power of two as memory has it.
    Page,
    /// Larger ones.
    Block,
    /// One after the other: a power of two.
    Buffer,
    /// Any other number of bytes.
    Record,
    /// A file's content.
    Whole,
    /// Iterations that use a file each.
    Files,
    /// Other iterations.
    Iterations,
}

impl Role {
    /// That of a transfer of so many bytes; `offset`: where, if not where the last one ended.
    pub fn of_size(size: i64, offset: Option<&Spread>) -> Role {
        let power = size.count_ones() == 1;
        match offset {
            Some(offset) if constant(offset) == Some(0) => Role::Header,
            Some(offset) if power && size >= SECTOR && is_multiple(offset, SECTOR) => {
                if size <= PAGE_MAX { Role::Page } else { Role::Block }
            }
            None if power && size >= BUFFER_MIN => Role::Buffer,
            _ => Role::Record,
        }
    }

    fn word(self) -> Option<&'static str> {
        match self {
            Role::Header => Some("header"),
            Role::Page => Some("page"),
            Role::Block => Some("block"),
            Role::Buffer => Some("buffer"),
            Role::Record => Some("record"),
            Role::Files => Some("files"),
            Role::Whole | Role::Iterations => None,
        }
    }
}

/// What a number is in all places.
#[derive(Debug, Default)]
pub struct Roles {
    all: BTreeSet<Role>,
    ops: BTreeSet<&'static str>,
    files: BTreeSet<String>,
}

impl Roles {
    /// It is this in one more place.
    pub fn add(&mut self, role: Role) {
        self.all.insert(role);
    }

    /// An operation has so many bytes; `file`: the variable of its file.
    pub fn used(&mut self, op: Op, file: Option<&str>) {
        self.ops.insert(op.name());
        self.files.insert(file.unwrap_or_default().to_string());
    }

    /// The word for it; `None`: it is different things.
    pub fn word(&self) -> Option<&'static str> {
        let mut all = self.all.iter().filter(|role| {
            // The first page of a file is a page.
            **role != Role::Header || !self.all.contains(&Role::Page)
        });
        all.next().filter(|_| all.next().is_none()).and_then(|role| role.word())
    }

    /// What it is, in a few words.
    pub fn about(&self) -> String {
        if self.ops.is_empty() {
            let each = self.all.len() == 1 && self.all.contains(&Role::Files);
            return if each { "files".into() } else { "iterations".into() };
        }
        let ops: Vec<&str> = self.ops.iter().copied().collect();
        let ops = if ops.len() > OPS_MAX { "request".into() } else { ops.join(" or ") };
        let of = match self.files.first() {
            Some(file) if self.files.len() == 1 && !file.is_empty() => format!(" of {file}"),
            _ => String::new(),
        };
        format!("bytes per {ops}{of}")
    }
}

/// What the iterations of a loop are: each uses another file, or something else.
pub fn of_loop(body: &[Item], shaper: &Shaper<'_>) -> Role {
    if body.iter().any(|item| names_vary(item, 0, shaper)) { Role::Files } else { Role::Iterations }
}

/// A name follows the loop so many loops further out.
fn names_vary(item: &Item, depth: usize, shaper: &Shaper<'_>) -> bool {
    if let Form::Leaf(shape) = item.form {
        let kinds = kinds(&shaper.shapes.all[shape as usize], &shaper.names);
        let follows = |number: &Spread| {
            number.steps.get(depth).is_some_and(|step| *step != Value::Same(0))
                || number.list.as_ref().is_some_and(|list| list.depth == depth)
        };
        let mut names =
            item.numbers.iter().zip(kinds).filter(|(_, kind)| *kind != NumberKind::Bytes);
        return names.any(|(number, _)| follows(number));
    }
    let inner = depth + usize::from(item.form == Form::Loop);
    item.body.iter().any(|item| names_vary(item, inner, shaper))
}

/// All that the number can be are multiples.
fn is_multiple(number: &Spread, of: i64) -> bool {
    let divides = |value: &i64| value % of == 0;
    let value = |value: &Value| match value {
        Value::Same(value) => divides(value),
        Value::Affine { base, step } | Value::Shifted { base, step, .. } => {
            divides(base) && divides(step)
        }
        Value::Grid { base, outer, inner, .. } => [base, outer, inner].into_iter().all(divides),
        Value::Table(_, values) => values.iter().all(divides),
        Value::Param(_) => false,
    };
    let listed = number.list.as_ref().is_none_or(|list| match &list.drawn {
        Some((_, unit)) => divides(unit),
        None => list.values.iter().all(divides),
    });
    listed && value(&number.base) && number.steps.iter().all(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offset(base: i64, step: i64) -> Spread {
        Spread { base: Value::Same(base), steps: vec![Value::Same(step)], list: None }
    }

    #[test]
    fn sizes_are_called_what_they_are() {
        for (size, at, expected) in [
            (4096, Some(offset(0, 4096)), Role::Page),
            (4096, Some(offset(100, 4096)), Role::Record),
            (2 << 20, Some(offset(0, 2 << 20)), Role::Block),
            (256 << 10, Some(offset(12 << 10, 256 << 10)), Role::Block),
            (47008, Some(offset(0, 47008)), Role::Record),
            (100, Some(offset(0, 0)), Role::Header),
            (128 << 10, None, Role::Buffer),
            (100, None, Role::Record),
        ] {
            assert_eq!(Role::of_size(size, at.as_ref()), expected, "{size} at {at:?}");
        }
    }

    #[test]
    fn what_is_different_things_has_the_plain_name() {
        let word = |all: &[Role]| {
            let mut roles = Roles::default();
            all.iter().for_each(|role| roles.add(*role));
            roles.word()
        };
        assert_eq!(word(&[Role::Page, Role::Header]), Some("page"));
        assert_eq!(word(&[Role::Page, Role::Record]), None);
        assert_eq!((word(&[Role::Whole]), word(&[Role::Header])), (None, Some("header")));
    }
}
