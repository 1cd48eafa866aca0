//! The trees of all ranks -> one tree whose numbers depend on the rank.
//!
//! ```text
//! rank 0: write(f-0)  rank 1: write(f-1)  ...    -> write(f-$$rank)
//! ```
//!
//! Trees of the same form become one, whatever their numbers; of the forms that are left, common
//! parts are found as `diff` finds them, if that makes the text shorter.

use super::long_pauses::{LONG_NS, far_longer};
use super::regular::even_step;
use super::repeats::common_subsequence;
use super::statement::NumberKind;
use super::tree::{
    BARRIER, BARRIERS, Gap, Kind, LONG_PAUSE, List, Node, Number, PAUSE, barrier_gaps,
    between_barriers, count_barriers, hash_of, write_out_barriers,
};
use std::collections::HashMap;
use std::rc::Rc;

/// Ranks, ascending.
pub type Ranks = Rc<[u32]>;

/// A value that may depend on the rank.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Value {
    /// The same on all ranks.
    Same(i64),
    /// `base + step * rank`
    Affine {
        /// On rank 0.
        base: i64,
        /// Growth per rank.
        step: i64,
    },
    /// `base + step * ((rank + shift) % size)`: that of another rank.
    Shifted {
        /// Smallest value.
        base: i64,
        /// Growth per rank.
        step: i64,
        /// Distance of the other rank.
        shift: i64,
    },
    /// `base + outer * (rank / width) + inner * (rank % width)`
    Grid {
        /// On rank 0.
        base: i64,
        /// Growth per `width` ranks.
        outer: i64,
        /// Growth within them.
        inner: i64,
        /// Ranks of a row.
        width: i64,
    },
    /// Anything: the values of these ranks.
    Table(Ranks, Vec<i64>),
    /// A parameter of a proc.
    Param(Rc<str>),
}

impl Value {
    /// The value on a rank; `size`: number of ranks.
    pub fn at(&self, rank: u32, size: u32) -> i64 {
        let r = i64::from(rank);
        match self {
            Value::Same(value) => *value,
            Value::Affine { base, step } => base + step * r,
            Value::Shifted { base, step, shift } => base + step * ((r + shift) % i64::from(size)),
            Value::Grid { base, outer, inner, width } => {
                base + outer * (r / width) + inner * (r % width)
            }
            Value::Param(_) => 0,
            Value::Table(ranks, values) => {
                ranks.binary_search(&rank).ok().and_then(|at| values.get(at).copied()).unwrap_or(0)
            }
        }
    }

    /// The simplest form that gives every rank its value.
    fn fit(values: &[(u32, i64)], size: u32, kind: Option<NumberKind>) -> Value {
        let first = values.first().copied().unwrap_or_default();
        if values.iter().all(|(_, value)| *value == first.1) {
            return Value::Same(first.1);
        }
        let (second, size) = (values[1], i64::from(size));
        let fits = |rule: &Value| {
            let is_rule = values.len() > 2 || rule.is_meant(kind);
            is_rule && values.iter().all(|(rank, value)| rule.at(*rank, size as u32) == *value)
        };
        let shifts = (1..size).filter(|_| values.len() as i64 == size);
        // Fewer rows than two would fit what follows no rule.
        let grids = (2..=size / 2).filter_map(|width| Value::grid(values, width));
        let rules = Value::affine(first, second).into_iter();
        let rules = rules.chain(shifts.filter_map(|shift| Value::shifted(values, shift)));
        let mut rules = rules.chain(Value::every(first, second)).chain(grids);
        rules.find(fits).unwrap_or_else(|| Value::table(values))
    }

    /// A line through two values is a rule, not chance: numbers of names that go on, parts of a file side by side, or
    /// places that somebody chose.
    fn is_meant(&self, kind: Option<NumberKind>) -> bool {
        let (Value::Affine { base, step } | Value::Grid { base, outer: step, inner: 0, .. }) =
            *self
        else {
            return false;
        };
        let is_multiple = step != 0 && base % step == 0;
        match kind {
            Some(NumberKind::Bytes) => {
                let is_part = is_multiple && matches!(base / step, 0 | 1);
                is_part || base % SECTOR_BYTES == 0 && step % SECTOR_BYTES == 0
            }
            Some(NumberKind::Name) => false,
            Some(NumberKind::Count) | None => is_multiple,
        }
    }

    fn affine((a, first): (u32, i64), (b, second): (u32, i64)) -> Option<Value> {
        let (width, grown) = (i64::from(b) - i64::from(a), second.checked_sub(first)?);
        let step = grown / width;
        let base = first.checked_sub(step.checked_mul(i64::from(a))?)?;
        (small(base) && small(step)).then_some(Value::Affine { base, step })
    }

    fn shifted(values: &[(u32, i64)], shift: i64) -> Option<Value> {
        let size = values.len() as i64;
        let of_zero = values.get(((size - shift) % size) as usize)?.1;
        let of_one = values.get(((size - shift + 1) % size) as usize)?.1;
        let step = of_one.checked_sub(of_zero)?;
        let value = Value::Shifted { base: of_zero, step, shift };
        let fits = values.iter().all(|(r, v)| {
            let at = (i64::from(*r) + shift) % size;
            step.checked_mul(at).and_then(|grown| grown.checked_add(of_zero)) == Some(*v)
        });
        fits.then_some(value)
    }

    /// For ranks at equal distances: `base + outer * (rank / width)`
    fn every((a, first): (u32, i64), (b, second): (u32, i64)) -> Option<Value> {
        let (width, outer) = (i64::from(b) - i64::from(a), second.checked_sub(first)?);
        let base = first.checked_sub(outer.checked_mul(i64::from(a) / width)?)?;
        let all_small = small(base) && small(outer);
        (width > 1 && all_small).then_some(Value::Grid { base, outer, inner: 0, width })
    }

    fn grid(values: &[(u32, i64)], width: i64) -> Option<Value> {
        let at = |rank: i64| values.iter().find(|(r, _)| i64::from(*r) == rank).map(|(_, v)| *v);
        let (base, next, above) = (at(0)?, at(1)?, at(width)?);
        let (inner, outer) = (next.checked_sub(base)?, above.checked_sub(base)?);
        let all_small = small(base) && small(inner) && small(outer);
        all_small.then_some(Value::Grid { base, outer, inner, width })
    }

    fn table(values: &[(u32, i64)]) -> Value {
        let (ranks, values): (Vec<u32>, Vec<i64>) = values.iter().copied().unzip();
        Value::Table(ranks.into(), values)
    }
}

/// Multiples of it are places in files that somebody chose.
const SECTOR_BYTES: i64 = 512;

/// Products with ranks and numbers of iterations do not overflow.
fn small(number: i64) -> bool {
    number.unsigned_abs() < 1 << 60 >> 10
}

/// A number of the tree of all ranks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Spread {
    /// Its value where all indices are 0.
    pub base: Value,
    /// Growth per iteration, innermost loop first.
    pub steps: Vec<Value>,
    /// Values added in the iterations of one loop.
    pub list: Option<Listed>,
}

impl Spread {
    /// The same everywhere.
    pub fn constant(value: i64) -> Spread {
        Spread { base: Value::Same(value), steps: Vec::new(), list: None }
    }
}

/// Values by iteration.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Listed {
    /// Number of the loop, counted from the innermost.
    pub depth: usize,
    /// Its iterations are counted within one execution of this loop.
    pub root: usize,
    /// The values; one row after the other, if ranks have different ones.
    pub values: Vec<i64>,
    /// Then whose they are.
    pub rows: Option<Rows>,
}

/// Rows of a list.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Rows {
    /// The ranks that they belong to.
    pub ranks: Ranks,
    /// Where each begins.
    pub starts: Vec<i64>,
}

impl Rows {
    /// Rows of these lengths.
    fn new(ranks: Ranks, lengths: impl Iterator<Item = usize>) -> Rows {
        let mut next = 0;
        let starts = lengths.map(|length| {
            next += length as i64;
            next - length as i64
        });
        Rows { ranks, starts: starts.collect() }
    }

    /// How far each is behind the one before it, if all are as far.
    pub fn distance(&self) -> Option<i64> {
        even_step(&self.starts)
    }
}

impl Listed {
    fn merge(nodes: &[(u32, &Node)], at: usize) -> Option<Listed> {
        let list = |node: &Node| node.numbers[at].list.clone();
        let List { depth, root, values: first } = list(nodes[0].1)?;
        let rows = || nodes.iter().filter_map(|(rank, node)| Some((*rank, list(node)?.values)));
        if rows().all(|(_, row)| row == first) {
            return Some(Listed { depth, root, values: first.to_vec(), rows: None });
        }
        let ranks: Ranks = nodes.iter().map(|(rank, _)| *rank).collect();
        let rows_of = Rows::new(ranks, rows().map(|(_, row)| row.len()));
        let values = rows().flat_map(|(_, row)| row.to_vec()).collect();
        Some(Listed { depth, root, values, rows: Some(rows_of) })
    }
}

/// Kind of an element.
#[derive(Clone, Debug, PartialEq)]
pub enum Form {
    /// A statement of this shape.
    Leaf(u32),
    /// The first number is the count.
    Loop,
    /// A block with this label.
    Block(u32),
    /// Only some ranks.
    Only(Ranks),
    /// A proc; its numbers are what it is given.
    Call(Call),
}

/// A call of a proc.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Number of the proc.
    pub proc: usize,
    /// Variables of the open files that it is given.
    pub handles: Vec<u32>,
    /// Variable of the open file that it returns.
    pub returns: Option<u32>,
}

/// An element of the tree of all ranks.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// Its kind.
    pub form: Form,
    /// Its own numbers.
    pub numbers: Vec<Spread>,
    /// Time before it.
    pub gap: Gap,
    /// Elements of a loop or block.
    pub body: Vec<Item>,
}

impl Item {
    /// One without numbers and pauses.
    pub fn new(form: Form, body: Vec<Item>) -> Item {
        Item { form, numbers: Vec::new(), gap: Gap::default(), body }
    }

    /// It is a pause that has its own time in each iteration.
    pub fn is_pause(&self) -> bool {
        self.form == Form::Leaf(PAUSE)
    }

    /// Gives it and everything in it, in order.
    pub fn each<'a>(&'a self, take: &mut impl FnMut(&'a Item)) {
        take(self);
        self.body.iter().for_each(|item| item.each(take));
    }
}

/// The number of all ranks, and what their numbers mean: every step of the merge needs both.
#[derive(Clone, Copy)]
struct All<'a> {
    /// The number of ranks.
    size: u32,
    /// Kinds of the numbers of a shape.
    kinds: &'a dyn Fn(u32) -> Vec<NumberKind>,
    /// Pauses of some ranks that last this long are apart from short ones of the others, nanoseconds.
    long_ns: u64,
}

/// Pauses of this share of all pauses of a rank are not averaged with far shorter ones of other ranks.
const LONG: f64 = 0.05;

/// Makes one tree of the trees of all ranks. `kinds`: of the numbers of a shape.
pub fn unify(trees: &[Vec<Node>], kinds: &dyn Fn(u32) -> Vec<NumberKind>) -> Vec<Item> {
    let all = (0..).zip(trees).map(|(rank, tree)| (rank, tree.as_slice())).collect();
    let pauses_ns: f64 = trees.iter().flatten().map(pauses_ns).sum();
    let long_ns = LONG_NS.max((LONG * pauses_ns / trees.len().max(1) as f64) as u64);
    unify_some(all, All { size: trees.len() as u32, kinds, long_ns })
}

fn pauses_ns(node: &Node) -> f64 {
    node.gap.sum_ns as f64 + node.body.iter().map(pauses_ns).sum::<f64>()
}

/// Unifies the trees of some ranks. If all meet equally often, the parts between two meetings are
/// unified one by one.
fn unify_some(trees: Vec<(u32, &[Node])>, of: All<'_>) -> Vec<Item> {
    let alike = |counts: Vec<usize>| counts.windows(2).all(|pair| pair[0] == pair[1]);
    let counts: Vec<usize> = trees.iter().map(|(_, tree)| count_barriers(tree)).collect();
    if counts.iter().all(|count| *count == 0) {
        return unify_groups(trees, of);
    }
    if alike(counts) {
        return in_turns(&trees, of);
    }
    let out: Vec<(u32, Vec<Node>)> =
        trees.iter().map(|(rank, tree)| (*rank, write_out_barriers(tree))).collect();
    match alike(out.iter().map(|(_, tree)| count_barriers(tree)).collect()) {
        true => {
            let out: Vec<_> = out.iter().map(|(rank, tree)| (*rank, &tree[..])).collect();
            in_turns(&out, of)
        }
        false => unify_groups(trees, of),
    }
}

/// Trees that meet equally often.
fn in_turns(trees: &[(u32, &[Node])], of: All<'_>) -> Vec<Item> {
    let mut parts: Vec<_> =
        trees.iter().map(|(rank, tree)| (*rank, between_barriers(tree))).collect();
    let mut gaps: Vec<_> = trees.iter().map(|(_, tree)| barrier_gaps(tree)).collect();
    let mut items = Vec::new();
    loop {
        let next = parts.iter_mut().filter_map(|(rank, parts)| Some((*rank, parts.next()?)));
        let next: Vec<(u32, &[Node])> = next.collect();
        if next.is_empty() {
            items.pop();
            return items;
        }
        items.extend(unify_groups(next, of));
        let gap = gaps.iter_mut().filter_map(Iterator::next).sum();
        items.push(Item { gap, ..Item::new(Form::Leaf(BARRIER), Vec::new()) });
    }
}

/// Trees without meetings at their top.
fn unify_groups(trees: Vec<(u32, &[Node])>, of: All<'_>) -> Vec<Item> {
    let members = trees.len();
    let mut groups: Vec<Group<'_>> = Vec::new();
    let mut known: HashMap<u64, usize> = HashMap::new();
    for (rank, tree) in trees {
        let forms: Vec<u64> = tree.iter().map(form).collect();
        let at = *known.entry(hash_of(&forms)).or_insert_with(|| {
            groups.push(Group { forms, ranks: Vec::new(), trees: Vec::new() });
            groups.len() - 1
        });
        groups[at].ranks.push(rank);
        groups[at].trees.push(tree);
    }
    let merged = groups.iter().fold(Vec::new(), |merged, group| merge(merged, group));
    grouped(merged, members, of)
}

/// Ranks whose trees have the same form.
struct Group<'a> {
    forms: Vec<u64>,
    ranks: Vec<u32>,
    trees: Vec<&'a [Node]>,
}

/// An element at the top with the nodes of the ranks that have it.
#[derive(Clone)]
struct Merged<'a> {
    form: u64,
    nodes: Vec<(u32, &'a Node)>,
}

/// A node without its numbers; of a block only its label, because ranks may do different things in it.
fn form(node: &Node) -> u64 {
    let body = || node.body.iter().map(form).collect::<Vec<_>>();
    let place = |list: &List| (list.depth, list.root);
    let lists: Vec<Option<(usize, usize)>> =
        node.numbers.iter().map(|number| number.list.as_ref().map(place)).collect();
    match node.kind {
        Kind::Leaf => hash_of(&(node.shape, 0, lists)),
        // Ranks that meet in a loop do so together, whatever else they do in it.
        Kind::Loop if count_barriers(&node.body) > 0 => {
            hash_of(&(node.shape, 3, lists, count_barriers(&node.body), node.numbers[0].base))
        }
        Kind::Loop => hash_of(&(node.shape, 1, lists, body())),
        Kind::Block => hash_of(&(node.shape, 2, lists)),
    }
}

/// Puts the elements of a group among those that are there: side by side where they are alike.
fn merge<'a>(merged: Vec<Merged<'a>>, group: &Group<'a>) -> Vec<Merged<'a>> {
    let nodes = |at: usize| -> Vec<(u32, &'a Node)> {
        group.ranks.iter().zip(&group.trees).map(|(rank, tree)| (*rank, &tree[at])).collect()
    };
    let old: Vec<u64> = merged.iter().map(|element| element.form).collect();
    let pairs = common_subsequence(&old, &group.forms);
    let mut all = Vec::with_capacity(merged.len() + group.forms.len());
    let mut left = merged.into_iter();
    let mut taken = (0, 0);
    for (a, b) in pairs.into_iter().chain([(old.len(), group.forms.len())]) {
        all.extend(left.by_ref().take(a - taken.0));
        let own = (taken.1..b).map(|at| Merged { form: group.forms[at], nodes: nodes(at) });
        all.extend(own);
        if let Some(mut both) = left.next() {
            both.nodes.extend(nodes(b));
            all.push(both);
        }
        taken = (a + 1, b + 1);
    }
    all
}

/// Puts neighbours of the same ranks into one block for these ranks.
fn grouped(merged: Vec<Merged<'_>>, members: usize, of: All<'_>) -> Vec<Item> {
    let mut items: Vec<Item> = Vec::new();
    let mut last: Option<Ranks> = None;
    for element in merged {
        let mut nodes = element.nodes;
        nodes.sort_by_key(|(rank, _)| *rank);
        let ranks: Ranks = nodes.iter().map(|(rank, _)| *rank).collect();
        let mut item = item(&nodes, of);
        let pause = long_pause(&nodes, of, &mut item);
        let both = pause.into_iter().chain([item]);
        if ranks.len() == members {
            items.extend(both);
            last = None;
            continue;
        }
        match items.last_mut() {
            Some(only) if last.as_ref() == Some(&ranks) => only.body.extend(both),
            _ => items.push(Item::new(Form::Only(Rc::clone(&ranks)), both.collect())),
        }
        last = Some(ranks);
    }
    items
}

/// Some ranks pause far longer before a statement than the others. The pause becomes a statement of these ranks.
fn long_pause(nodes: &[(u32, &Node)], of: All<'_>, item: &mut Item) -> Option<Item> {
    let pauses_ns = nodes.iter().map(|(_, node)| node.gap.sum_ns);
    let from_ns = far_longer(pauses_ns, of.long_ns).filter(|_| !item.is_pause())?;
    let (long, others): (Vec<_>, Vec<_>) =
        nodes.iter().partition(|(_, node)| node.gap.sum_ns >= from_ns);
    let Gap { count, meets_end, .. } = item.gap;
    item.gap = Gap { count, meets_end, ..gap_of(&others) };
    let pause = Item {
        gap: Gap { meets_end: false, ..gap_of(&long) },
        ..Item::new(Form::Leaf(LONG_PAUSE), Vec::new())
    };
    let ranks = long.iter().map(|(rank, _)| *rank).collect();
    Some(Item::new(Form::Only(ranks), vec![pause]))
}

fn gap_of(nodes: &[(u32, &Node)]) -> Gap {
    nodes.iter().map(|(_, node)| &node.gap).sum()
}

/// One element of nodes of the same form.
fn item(nodes: &[(u32, &Node)], all: All<'_>) -> Item {
    let first = nodes[0].1;
    let form = match first.kind {
        Kind::Leaf => Form::Leaf(first.shape),
        Kind::Loop => Form::Loop,
        Kind::Block => Form::Block(first.shape),
    };
    let kinds = if first.kind == Kind::Leaf { (all.kinds)(first.shape) } else { Vec::new() };
    let number = |at: usize| {
        let value = |of: &dyn Fn(&Number) -> i64| {
            let values: Vec<(u32, i64)> =
                nodes.iter().map(|(rank, node)| (*rank, of(&node.numbers[at]))).collect();
            Value::fit(&values, all.size, kinds.get(at).copied())
        };
        let steps = (0..first.numbers[at].steps.len()).map(|step| value(&|n| n.steps[step]));
        let list = Listed::merge(nodes, at);
        Spread { base: value(&|n| n.base), steps: steps.collect(), list }
    };
    let bodies = nodes.iter().map(|(rank, node)| (*rank, &node.body[..])).collect();
    let numbers = (0..first.numbers.len()).map(number).collect();
    let body = unify_some(bodies, all);
    Item { form, numbers, gap: gap_of(nodes), body }
}

/// All ranks meet where the text says that only some come: true, but hard to see.
pub fn is_hidden(items: &[Item]) -> bool {
    let meets = |item: &Item| matches!(item.form, Form::Leaf(shape) if BARRIERS.contains(&shape));
    let hides = |item: &Item| matches!(item.form, Form::Only(_)) && any(&item.body, &meets);
    any(items, &hides)
}

fn any(items: &[Item], is_it: &impl Fn(&Item) -> bool) -> bool {
    items.iter().any(|item| is_it(item) || any(&item.body, is_it))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_take_the_simplest_form() {
        for (values, expected) in [
            (&[5, 5, 5, 5][..], Value::Same(5)),
            (&[7, 10, 13, 16], Value::Affine { base: 7, step: 3 }),
            (&[1, 2, 3, 0], Value::Shifted { base: 0, step: 1, shift: 1 }),
            (&[8, 0, 4], Value::Shifted { base: 0, step: 4, shift: 2 }),
            (&[0, 1, 10, 11, 20, 21], Value::Grid { base: 0, outer: 10, inner: 1, width: 2 }),
            (&[0, 0, 1, 1], Value::Grid { base: 0, outer: 1, inner: 0, width: 2 }),
            (&[9, 2, 4, 4], Value::Table([0, 1, 2, 3].into(), vec![9, 2, 4, 4])),
        ] {
            let pairs: Vec<(u32, i64)> = (0..).zip(values.iter().copied()).collect();
            let value = Value::fit(&pairs, values.len() as u32, None);
            assert_eq!(value, expected, "{values:?}");
            for (rank, number) in pairs {
                assert_eq!(value.at(rank, values.len() as u32), number);
            }
        }
        let some = Value::fit(&[(1, 3), (3, 9)], 4, None);
        assert_eq!(some, Value::Affine { base: 0, step: 3 });
        let odd = Value::fit(&[(1, 7), (3, 8), (5, 9)], 6, None);
        assert_eq!(odd, Value::Grid { base: 7, outer: 1, inner: 0, width: 2 });
    }

    #[test]
    fn two_values_are_a_rule_only_if_they_look_chosen() {
        let (bytes, count) = (Some(NumberKind::Bytes), Some(NumberKind::Count));
        for (values, kind, is_rule) in [
            ([24_306, 24_608], bytes, false),
            ([24_306, 24_307], bytes, false),
            ([9, 8], bytes, false),
            ([0, 302], bytes, true),
            ([0, 4096], bytes, true),
            ([4096, 69_632], bytes, true),
            ([0, 1], count, true),
            ([7, 8], count, true),
            ([10, 20], count, true),
            ([2018, 603], count, false),
            ([1, 0], None, true),
        ] {
            let value = Value::fit(&[(0, values[0]), (1, values[1])], 2, kind);
            assert_eq!(matches!(value, Value::Affine { .. }), is_rule, "{values:?} {kind:?}");
            // The same two values on ranks 0 and 2, or 1 and 3, of four.
            for first in [0, 1] {
                let value = Value::fit(&[(first, values[0]), (first + 2, values[1])], 4, kind);
                assert_eq!(matches!(value, Value::Table(..)), !is_rule, "{value:?} {kind:?}");
            }
        }
    }

    fn show(items: &[Item]) -> String {
        let show = |item: &Item| match &item.form {
            Form::Leaf(shape) => format!("{}", *shape as u8 as char),
            Form::Only(ranks) => format!("{ranks:?}({})", show(&item.body)),
            _ => format!("{{{}}}", show(&item.body)),
        };
        items.iter().map(show).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn long_pauses_of_some_ranks_are_their_own() {
        const MS: u64 = 1_000_000;
        for (pauses_ms, expected, mean_ms) in [
            ([500, 0, 1], "[0](\u{12}) a", 0),
            ([500, 300, 1], "[0, 1](\u{12}) a", 0),
            ([500, 100, 1], "a", 200),
            ([0, 0, 0], "a", 0),
        ] {
            let trees = pauses_ms.map(|ms| vec![Node::leaf(97, &[], ms * MS)]);
            let items = unify(&trees, &|_| Vec::new());
            assert_eq!(show(&items), expected, "{pauses_ms:?}");
            let last = items.last().map(|item| item.gap.mean_ns() / MS);
            assert_eq!(last, Some(mean_ms), "{pauses_ms:?}");
        }
    }

    #[test]
    fn common_parts_stand_once() {
        let tree = |text: &str| -> Vec<Node> {
            text.bytes().map(|shape| Node::leaf(shape.into(), &[], 0)).collect()
        };
        for (texts, expected) in [
            (&["abc", "abc"][..], "a b c"),
            (&["mab", "ab", "ab"], "[0](m) a b"),
            (&["abcdefgh", "abcdeXgh"], "a b c d e [0](f) [1](X) g h"),
            (&["abcd", "wxyz"], "[0](a b c d) [1](w x y z)"),
        ] {
            let trees: Vec<Vec<Node>> = texts.iter().map(|text| tree(text)).collect();
            assert_eq!(show(&unify(&trees, &|_| Vec::new())), expected, "{texts:?}");
        }
    }
}
