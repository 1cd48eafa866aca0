//! Numbers of like sequences -> what is the same in all of them, and parameters.

use super::super::alike::{NumberKind, kinds};
use super::super::ranks::{Form, Item, Spread, Value};
use super::super::shape::Shaper;
use super::{Param, Proc};
use std::rc::Rc;

/// Most parameters that a person wants to read.
const PARAMS_MAX: usize = 6;

/// A sequence whose numbers are parameters, and what they are in each place.
#[derive(Debug)]
pub struct Bound {
    /// The statements.
    pub body: Vec<Item>,
    /// Their parameters.
    pub params: Vec<Param>,
    /// Values by place.
    pub args: Vec<Vec<Spread>>,
}

/// A number of a statement with the loops of the sequence around it.
struct Number<'a> {
    spread: &'a Spread,
    depth: usize,
    kind: NumberKind,
}

/// Makes one sequence of those in several places; `None`: they differ too much.
pub fn bound(places: &[&[Item]], shaper: &Shaper<'_>, procs: &[Proc]) -> Option<Bound> {
    let numbers = places.iter().map(|items| {
        let mut all = Vec::new();
        items.iter().for_each(|item| collect(item, 0, shaper, procs, &mut all));
        all
    });
    let numbers: Vec<Vec<Number<'_>>> = numbers.collect();
    let mut params: Vec<(Param, Vec<Spread>)> = Vec::new();
    let mut values = Vec::with_capacity(numbers[0].len());
    for (at, first) in numbers[0].iter().enumerate() {
        let column: Vec<Spread> = numbers.iter().map(|own| outer(&own[at])).collect();
        let same = |other: &Spread| is_free(other) && other.base == column[0].base;
        let stays = column.iter().all(same);
        let base =
            if stays { column[0].base.clone() } else { param(&mut params, first.kind, column) };
        values.push(inner(first, base));
        if params.len() > PARAMS_MAX {
            return None;
        }
    }
    let mut body = places[0].to_vec();
    let mut values = values.into_iter();
    body.iter_mut().for_each(|item| replace(item, &mut values));
    let of = |place: usize| params.iter().map(|(_, column)| column[place].clone()).collect();
    let args = (0..places.len()).map(of).collect();
    Some(Bound { body, args, params: params.into_iter().map(|(param, _)| param).collect() })
}

/// The parameter with these values.
fn param(params: &mut Vec<(Param, Vec<Spread>)>, kind: NumberKind, column: Vec<Spread>) -> Value {
    let same = params.iter().find(|(param, values)| {
        (param.kind == NumberKind::Name) == (kind == NumberKind::Name) && *values == column
    });
    if let Some((param, _)) = same {
        return Value::Param(Rc::clone(&param.name));
    }
    let like = params.iter().filter(|(param, _)| param.kind == kind).count();
    let name = match kind {
        NumberKind::Count => "$n",
        NumberKind::Bytes => "$bytes",
        NumberKind::Name => "$name",
    };
    let name: Rc<str> = super::super::write::numbered(name, like).into();
    params.push((Param { name: Rc::clone(&name), kind }, column));
    Value::Param(name)
}

fn collect<'a>(
    item: &'a Item,
    depth: usize,
    shaper: &Shaper<'_>,
    procs: &[Proc],
    all: &mut Vec<Number<'a>>,
) {
    let kinds = match &item.form {
        Form::Leaf(shape) => kinds(&shaper.shapes.all[*shape as usize], &shaper.names),
        Form::Call(proc) => procs[*proc].params.iter().map(|param| param.kind).collect(),
        _ => Vec::new(),
    };
    for (at, spread) in item.numbers.iter().enumerate() {
        let kind = kinds.get(at).copied().unwrap_or(NumberKind::Count);
        all.push(Number { spread, depth, kind });
    }
    let inner = depth + usize::from(item.form == Form::Loop);
    item.body.iter().for_each(|item| collect(item, inner, shaper, procs, all));
}

fn replace(item: &mut Item, values: &mut impl Iterator<Item = Spread>) {
    item.numbers.iter_mut().for_each(|number| {
        if let Some(value) = values.next() {
            *number = value;
        }
    });
    item.body.iter_mut().for_each(|item| replace(item, values));
}

/// What a number is where the sequence begins.
fn outer(number: &Number<'_>) -> Spread {
    let Number { spread, depth, .. } = number;
    let steps = spread.steps.get(*depth..).unwrap_or_default().to_vec();
    let list = spread.list.clone().filter(|list| list.depth >= *depth).map(|mut list| {
        (list.depth, list.root) = (list.depth - depth, list.root - depth);
        list
    });
    Spread { base: spread.base.clone(), steps, list }
}

/// The number in the sequence.
fn inner(number: &Number<'_>, base: Value) -> Spread {
    let Number { spread, depth, .. } = number;
    let steps = spread.steps.iter().take(*depth).cloned().collect();
    Spread { base, steps, list: spread.list.clone().filter(|list| list.depth < *depth) }
}

/// It depends on no loop around the sequence.
fn is_free(spread: &Spread) -> bool {
    spread.list.is_none() && spread.steps.iter().all(|step| *step == Value::Same(0))
}
