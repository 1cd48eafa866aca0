//! Variables of open files are named after their files: `$content_db` instead of `$file2`.
//!
//! A statement knows the place of its open file among those that are open, as the kernel's
//! descriptors are places. Which opens reach which uses of a place is followed through loops, ranks
//! and procs; those that meet at a use share a variable. Two places never share one, so no open file
//! is lost.

mod flow;
mod stem;

use super::procs::Proc;
use super::ranks::{Form, Item};
use super::shape::{Arg, Shape, Shaper};
use super::write::numbered;
use flow::Flow;

/// Gives each open file of a program its own variable; their names, by number.
pub fn named(items: &mut [Item], procs: &mut [Proc], shaper: &mut Shaper<'_>) -> Vec<String> {
    let flow = Flow::of(items, procs, shaper);
    let mut variables = Variables::default();
    let mut left = flow.found().map(|(place, stem)| variables.number(place, &stem));
    for proc in procs.iter_mut() {
        proc.handles.iter_mut().for_each(|place| replace(place, &mut left));
        proc.body.iter_mut().for_each(|item| rename(item, shaper, &mut left));
        proc.returns.iter_mut().for_each(|place| replace(place, &mut left));
    }
    items.iter_mut().for_each(|item| rename(item, shaper, &mut left));
    drop(left);
    variables.names
}

/// Variables by place and name.
#[derive(Default)]
struct Variables {
    known: Vec<(u32, String)>,
    names: Vec<String>,
}

impl Variables {
    fn number(&mut self, place: u32, stem: &str) -> u32 {
        let known = self.known.iter().position(|(p, s)| *p == place && s == stem);
        known.unwrap_or_else(|| {
            let alike = self.known.iter().filter(|(_, other)| other == stem).count();
            self.names.push(numbered(&format!("${stem}"), alike));
            self.known.push((place, stem.to_string()));
            self.known.len() - 1
        }) as u32
    }
}

fn replace(place: &mut u32, left: &mut impl Iterator<Item = u32>) {
    if let Some(variable) = left.next() {
        *place = variable;
    }
}

/// Puts variables in the place of places, in the order in which the flow met them.
fn rename(item: &mut Item, shaper: &mut Shaper<'_>, left: &mut impl Iterator<Item = u32>) {
    if let Form::Leaf(shape) = &mut item.form
        && let Shape::Op(statement) = &shaper.shapes.all[*shape as usize]
        && (statement.gives.is_some() || statement.args.iter().any(is_handle))
    {
        let mut statement = statement.clone();
        for arg in &mut statement.args {
            if let Arg::Handle(place) = arg {
                replace(place, left);
            }
        }
        statement.gives.iter_mut().for_each(|place| replace(place, left));
        *shape = shaper.shapes.number(Shape::Op(statement));
    }
    item.body.iter_mut().for_each(|item| rename(item, shaper, left));
}

fn is_handle(arg: &Arg) -> bool {
    matches!(arg, Arg::Handle(_))
}
