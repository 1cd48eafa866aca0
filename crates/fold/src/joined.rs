//! Loops over lists that go on in a loop of their kind become one.
//!
//! ```text
//! repeat $i 3 r(list[$i])  repeat $i 2 r(other[$i])    ->    repeat $i 5 r(both[$i])
//! ```
//!
//! Long irregular input is looked through in parts ([`super::loops`]); where a part ends is no matter of
//! the program.

use super::loops::{Kind, List, Node, Number};

/// Makes one loop of two outermost ones that follow each other; gives the second one back where they
/// are not alike.
pub(super) fn join(first: &mut Node, second: Node) -> Option<Node> {
    let (Some(count), Some(more)) = (iterations(first), iterations(&second)) else {
        return Some(second);
    };
    let mut numbers = Vec::new();
    if !body_of_both(first, &second, [count, more], &mut numbers) {
        return Some(second);
    }
    first.add_gaps(&second);
    first.numbers[0].base += more;
    let mut numbers = numbers.into_iter();
    let own = std::mem::take(&mut first.numbers);
    first.each_mut(&mut |number| {
        let wild = std::mem::take(&mut number.wild);
        *number = numbers.next().unwrap_or_default();
        number.wild = wild;
    });
    first.numbers = own;
    first.each_mut(&mut |_| ());
    None
}

/// How often an outermost loop is executed.
fn iterations(node: &Node) -> Option<i64> {
    let Kind::Loop(_) = node.kind else { return None };
    let count = &node.numbers[0];
    (count.steps.is_empty() && count.list.is_none()).then_some(count.base)
}

/// Collects the numbers of what stands in both; false: they are not alike.
fn body_of_both(a: &Node, b: &Node, counts: [i64; 2], numbers: &mut Vec<Number>) -> bool {
    a.body().len() == b.body().len()
        && a.body().iter().zip(b.body()).all(|(a, b)| {
            let alike = a.shape == b.shape
                && std::mem::discriminant(&a.kind) == std::mem::discriminant(&b.kind)
                && a.numbers.len() == b.numbers.len();
            alike
                && a.numbers.iter().zip(&b.numbers).all(|(a, b)| {
                    let both = of_both(a, b, counts);
                    numbers.extend(both.clone());
                    both.is_some()
                })
                && body_of_both(a, b, counts, numbers)
        })
}

/// A number that is the first in the first iterations, and then the second.
fn of_both(a: &Number, b: &Number, [count, more]: [i64; 2]) -> Option<Number> {
    let (step, inner) = a.steps.split_last()?;
    let (other_step, other_inner) = b.steps.split_last()?;
    if inner != other_inner {
        return None;
    }
    let goes_on = step == other_step && a.base.checked_add(step.checked_mul(count)?)? == b.base;
    let outermost = inner.len();
    match (&a.list, &b.list) {
        (None, None) if goes_on => Some(a.clone()),
        (Some(x), Some(y))
            if goes_on && (x.depth, x.root) == (y.depth, y.root) && x.root == outermost =>
        {
            let values = x.values.iter().chain(y.values.iter()).copied().collect();
            let list = Some(List { values, ..x.clone() });
            Some(Number { list, ..a.clone() })
        }
        _ => {
            let values = values(a, count)?.chain(values(b, more)?).collect();
            let mut steps = a.steps.clone();
            steps[outermost] = 0;
            let list = Some(List { depth: outermost, root: outermost, values });
            Some(Number { base: 0, steps, list, wild: Vec::new() })
        }
    }
}

/// What a number is in each iteration of the outermost loop, where all indices of inner ones are 0.
fn values(number: &Number, count: i64) -> Option<impl Iterator<Item = i64> + '_> {
    let step = *number.steps.last()?;
    let outermost = number.steps.len() - 1;
    let of_inner = |list: &List| (list.depth, list.root) != (outermost, outermost);
    if number.list.as_ref().is_some_and(of_inner) {
        return None;
    }
    number.base.checked_add(step.checked_mul(count)?)?;
    let listed = move |at: i64| number.list.as_ref().map_or(0, |list| list.values[at as usize]);
    Some((0..count).map(move |at| number.base + step * at + listed(at)))
}

#[cfg(test)]
mod tests {
    use super::super::alike::Plain;
    use super::super::loops::Folder;
    use super::*;

    fn folded(numbers: &[(u32, i64)]) -> Vec<Node> {
        let mut folder = Folder::default();
        numbers.iter().for_each(|(shape, n)| folder.push(Node::leaf(*shape, &[*n], 0)));
        folder.finish(&mut Plain::default().alike())
    }

    fn joined(parts: [&[(u32, i64)]; 2]) -> Option<Node> {
        let [mut first, second] = parts.map(folded);
        assert_eq!((first.len(), second.len()), (1, 1));
        join(&mut first[0], second[0].clone()).is_none().then(|| first.remove(0))
    }

    #[test]
    fn lists_go_on_in_the_list_of_the_next_loop() {
        let all = [7, 2, 9, 4, 11, 3, 3, 8, 1, 5, 5, 6].map(|n| (1, n));
        assert_eq!(joined([&all[..6], &all[6..]]), Some(folded(&all).remove(0)));
    }

    #[test]
    fn rules_become_lists_beside_lists() {
        let all = [0, 8, 16, 24, 7, 2, 9, 4].map(|n| (1, n));
        let found = joined([&all[..4], &all[4..]]).expect("alike");
        let list = found.body()[0].numbers[0].list.as_ref().expect("a list");
        assert_eq!(&list.values[..], [0, 8, 16, 24, 7, 2, 9, 4]);
    }

    #[test]
    fn others_stay_apart() {
        let (some, others) = ([7, 2, 9, 4].map(|n| (1, n)), [7, 2, 9, 4].map(|n| (2, n)));
        assert_eq!(joined([&some, &others]), None);
    }
}
