//! Parts that some iterations leave out -> statements that are drawn by how often they came.

use super::super::loops::Gap;
use super::super::ranks::{Form, Item, Spread, Value};
use super::super::regular::gcd;
use super::super::shape::{Shape, Shaper};
use model::Op;

/// Replaces parts of which each iteration has one, or none, by a choice; the number of parts.
pub fn mixed(items: &mut Vec<Item>, shaper: &Shaper<'_>, bound: f64) -> u64 {
    let mut all = Vec::with_capacity(items.len());
    let mut parts = 0;
    let mut left = std::mem::take(items).into_iter().peekable();
    while let Some(item) = left.next() {
        let Some(mut free) = options(&item, shaper, bound) else {
            all.push(item);
            continue;
        };
        let mut options_here = vec![item];
        // More parts, none of which comes with those before.
        while let Some(next) = left.peek()
            && let Some(more) = options(next, shaper, bound)
            && more.len() == free.len()
            && free.iter().zip(&more).all(|(a, b)| *a == 0 || *b == 0)
        {
            free.iter_mut().zip(more).for_each(|(a, b)| *a += b);
            options_here.extend(left.next());
        }
        parts += options_here.len() as u64;
        all.push(choice(options_here, &free));
    }
    *items = all;
    parts
}

/// By execution: whether the part comes. `None`: it is none, or may not be drawn.
fn options(item: &Item, shaper: &Shaper<'_>, bound: f64) -> Option<Vec<i64>> {
    let list = item.numbers.first().and_then(|number| number.list.as_ref())?;
    let may = item.form == Form::Loop
        && list.drawn.is_none()
        && item.numbers[0].base == Value::Same(0)
        && list.values.iter().all(|times| matches!(times, 0 | 1))
        && item.body.iter().all(|inner| is_free(inner, shaper))
        && looks_random(&list.values)
        && chosen_often(&list.values, bound);
    may.then(|| list.values.clone())
}

/// It depends on no other iteration: it opens and closes nothing, and reads no list.
fn is_free(item: &Item, shaper: &Shaper<'_>) -> bool {
    let Form::Leaf(shape) = item.form else { return false };
    let Shape::Op(statement) = &shaper.shapes.all[shape as usize] else { return false };
    let own = |number: &Spread| {
        number.list.as_ref().is_none_or(|list| list.drawn.is_some())
            && number.steps.first().is_none_or(|step| *step == Value::Same(0))
    };
    statement.gives.is_none()
        && !matches!(statement.op, Op::Fclose | Op::Pfclose)
        && item.numbers.iter().all(own)
}

/// As many runs as the order of coins has (Wald and Wolfowitz 1940), at the level of 5 %.
fn looks_random(values: &[i64]) -> bool {
    let ones = values.iter().sum::<i64>() as f64;
    let number = values.len() as f64;
    let zeros = number - ones;
    if values.len() < 16 || ones == 0.0 || zeros == 0.0 {
        return false;
    }
    let runs = values.chunk_by(|a, b| a == b).count() as f64;
    let mean = 2.0 * ones * zeros / number + 1.0;
    let variance = (mean - 1.0) * (mean - 2.0) / (number - 1.0);
    (runs - mean).abs() <= 1.96 * variance.sqrt()
}

/// Drawn, it comes as often as it came but for half of the bound: the standard deviation of the binomial
/// distribution.
fn chosen_often(values: &[i64], bound: f64) -> bool {
    let (ones, number) = (values.iter().sum::<i64>() as f64, values.len() as f64);
    ((1.0 - ones / number) / ones).sqrt() <= bound / 2.0
}

fn choice(options: Vec<Item>, taken: &[i64]) -> Item {
    let times = |item: &Item| item.numbers[0].list.as_ref().map_or(0, |l| l.values.iter().sum());
    let mut cases: Vec<(i64, Vec<Item>)> = options
        .into_iter()
        .map(|option| (times(&option), option.body.into_iter().map(out_of_loop).collect()))
        .collect();
    let none = taken.iter().filter(|taken| **taken == 0).count() as i64;
    if none > 0 {
        cases.push((none, Vec::new()));
    }
    let unit = cases.iter().fold(0, |unit, (times, _)| gcd(unit, *times)).max(1);
    let case = |(times, body): (i64, Vec<Item>)| Item {
        form: Form::Case((times / unit) as u64),
        numbers: Vec::new(),
        gap: Gap::default(),
        body,
    };
    let body = cases.into_iter().map(case).collect();
    Item { form: Form::Mix, numbers: Vec::new(), gap: Gap::default(), body }
}

/// A statement without the loop of one iteration around it.
fn out_of_loop(mut item: Item) -> Item {
    for number in &mut item.numbers {
        if !number.steps.is_empty() {
            number.steps.remove(0);
        }
        if let Some(list) = &mut number.list {
            list.depth = list.depth.saturating_sub(1);
            list.root = list.root.saturating_sub(1);
        }
    }
    item
}
