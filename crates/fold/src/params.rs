//! Numbers that rule several places become parameters.

mod roles;

use super::expr::{bytes, constant};
use super::ranks::{Form, Item};
use super::shape::{Arg, Shape, Shaper, Statement};
use super::write::numbered;
use model::Op;
use roles::{Role, Roles};
use std::collections::HashMap;
use std::fmt::Write;

/// Most parameters of a kind.
const EACH_MAX: usize = 4;
/// Fewer iterations are a number: loops that happen to have as many have nothing in common.
const COUNT_MIN: i64 = 8;
/// Fewer bytes are a number, for the same reason.
const SIZE_MIN: i64 = 64;

/// Parameters of a program.
#[derive(Clone, Debug, Default)]
pub struct Params {
    counts: Vec<Param>,
    sizes: Vec<Param>,
}

#[derive(Clone, Debug)]
struct Param {
    /// `$page`
    name: String,
    value: i64,
    /// What it is, for people.
    about: String,
}

/// Values and their uses, in order of first use.
#[derive(Default)]
struct Uses {
    order: Vec<i64>,
    of: HashMap<i64, (u64, Roles)>,
}

impl Uses {
    fn add(&mut self, value: i64, weight: u64) -> &mut Roles {
        let (times, roles) = self.of.entry(value).or_insert_with(|| {
            self.order.push(value);
            (0, Roles::default())
        });
        *times += weight;
        roles
    }

    /// Those that are used most, twice at least, in order of first use; with their names.
    fn chosen(&self, plain: &str) -> Vec<Param> {
        let often = |value: &&i64| self.of[value].0 > 1;
        let mut best: Vec<i64> = self.order.iter().filter(often).copied().collect();
        best.sort_by_key(|value| std::cmp::Reverse(self.of[value].0));
        best.truncate(EACH_MAX);
        let chosen = self.order.iter().filter(|value| best.contains(value));
        let mut params: Vec<Param> = Vec::new();
        for value in chosen {
            let roles = &self.of[value].1;
            // The only one of its kind is what the word says.
            let word = if best.len() > 1 { roles.word() } else { None };
            let word = format!("${}", word.unwrap_or(plain));
            let taken = |name: &String| params.iter().any(|param| param.name == *name);
            let name = (0..).map(|at| numbered(&word, at)).find(|name| !taken(name));
            let about = roles.about();
            params.push(Param { name: name.unwrap_or(word), value: *value, about });
        }
        params
    }
}

impl Params {
    /// Those of a program: its statements and those of its procs. `variables`: of open files.
    pub fn of(bodies: &[&[Item]], shaper: &Shaper<'_>, variables: &[String]) -> Params {
        let (counts, sizes) = (Uses::default(), Uses::default());
        let mut found = Found { shaper, variables, counts, sizes };
        bodies.iter().copied().flatten().for_each(|item| found.collect(item, false));
        Params { counts: found.counts.chosen("count"), sizes: found.sizes.chosen("size") }
    }

    /// The parameter that is this number of iterations.
    pub fn count(&self, value: i64) -> Option<String> {
        named(&self.counts, value)
    }

    /// The parameter that is this number of bytes.
    pub fn size(&self, value: i64) -> Option<String> {
        named(&self.sizes, value)
    }

    /// Their names and values.
    pub fn all(&self) -> Vec<(String, i64)> {
        let all = self.counts.iter().chain(&self.sizes);
        all.map(|param| (param.name.clone(), param.value)).collect()
    }

    /// Their definitions.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for Param { name, value, about } in &self.counts {
            let _ = writeln!(text, "param {name} = {value}; /// {about}");
        }
        for Param { name, value, about } in &self.sizes {
            let _ = writeln!(text, "param {name} = {}; /// {about}", bytes(*value));
        }
        text
    }
}

fn named(params: &[Param], value: i64) -> Option<String> {
    params.iter().find(|param| param.value == value).map(|param| param.name.clone())
}

/// What is collected of a program.
struct Found<'a> {
    shaper: &'a Shaper<'a>,
    variables: &'a [String],
    counts: Uses,
    sizes: Uses,
}

impl Found<'_> {
    fn collect(&mut self, item: &Item, in_loop: bool) {
        match &item.form {
            Form::Loop => {
                let count = constant(&item.numbers[0]).filter(|count| *count >= COUNT_MIN);
                let role = roles::of_loop(&item.body, self.shaper);
                count.into_iter().for_each(|count| self.counts.add(count, 2).add(role));
            }
            Form::Leaf(shape) => {
                let shaper = self.shaper;
                if let Shape::Op(statement) = &shaper.shapes.all[*shape as usize] {
                    self.size(item, statement, in_loop);
                }
            }
            _ => {}
        }
        let inside = in_loop || item.form == Form::Loop;
        item.body.iter().for_each(|item| self.collect(item, inside));
    }

    fn size(&mut self, item: &Item, statement: &Statement, in_loop: bool) {
        // The number of a seek is a place, no size.
        if statement.op == Op::Fseek {
            return;
        }
        let is_bytes = |arg: &&Arg| matches!(arg, Arg::Bytes | Arg::Keyed(_));
        let bytes = statement.args.iter().filter(is_bytes).count();
        let first = item.numbers.len().checked_sub(bytes).filter(|_| bytes > 0);
        let size = first.and_then(|at| constant(&item.numbers[at]));
        let (Some(first), Some(size)) = (first, size.filter(|size| *size >= SIZE_MIN)) else {
            return;
        };
        let file = statement.args.iter().find_map(|arg| match arg {
            Arg::Handle(variable) => Some(self.variables[*variable as usize].as_str()),
            _ => None,
        });
        let role = match file {
            Some(_) => Role::of_size(size, item.numbers.get(first + 1)),
            None => Role::Whole,
        };
        // What a loop does often is worth a name, even in one place.
        let roles = self.sizes.add(size, 1 + u64::from(in_loop));
        roles.add(role);
        roles.used(statement.op, file);
    }
}
