//! Near-misses: sequences of statements that repeat with other numbers and names, with inner loops of
//! other lengths and with parts left out become loops over lists.
//!
//! ```text
//! open read close open read read read close open close ...
//!     -> repeat $i 100 { open(names[$i]) repeat counts[$i] read close }
//! ```
//!
//! What repeats is looked for in the classes of statements alone (`parse`); what their numbers are is
//! found afterwards (`emit`, `fit`). Only what takes less text stays (`cost`).

mod cost;
mod emit;
mod fit;
mod flat;
mod parse;
mod profile;

use super::alike::Alike;
use super::loops::Node;
use super::{lists, meet};

/// So few elements are short enough.
const SHORT: usize = 4;
/// Sequences of fewer statements are left as they are.
const FEW: usize = 8;

/// The shortest form of a sequence that was folded into regular loops.
pub fn shortened(nodes: Vec<Node>, alike: &mut Alike<'_>) -> Vec<Node> {
    let plain = lists::listed(nodes.clone());
    if plain.len() < SHORT {
        return plain;
    }
    let mut ragged = Vec::new();
    let mut parts = nodes.split(meet::is_in).peekable();
    let mut meetings = nodes.iter().filter(|node| meet::is_in(node));
    while let Some(part) = parts.next() {
        ragged.extend(without_meetings(part, alike));
        ragged.extend(meetings.next().filter(|_| parts.peek().is_some()).cloned());
    }
    // Few elements are easy to read: they stay unless much is won.
    let worth = if plain.len() < FEW { cost::bytes(&plain) * 2 / 3 } else { cost::bytes(&plain) };
    if cost::bytes(&ragged) < worth { ragged } else { plain }
}

fn without_meetings(nodes: &[Node], alike: &mut Alike<'_>) -> Vec<Node> {
    let Some(flat) = flat::flat(nodes).filter(|flat| flat.len() >= FEW) else {
        return lists::listed(nodes.to_vec());
    };
    let classes: Vec<u64> = flat.iter().map(|node| alike.class(node)).collect();
    let parsed = parse::parse(&classes);
    emit::emit(&parsed, &flat, alike)
}

#[cfg(test)]
mod tests {
    use super::super::alike::Plain;
    use super::super::loops::{Folder, Kind};
    use super::*;

    /// `a0 a1`: shape and number.
    fn folded(text: &str) -> String {
        let mut folder = Folder::default();
        for word in text.split_whitespace() {
            let (shape, number) = word.split_at(1);
            let bases: Vec<i64> = number.split(',').filter_map(|n| n.parse().ok()).collect();
            folder.push(Node::leaf(shape.as_bytes()[0].into(), &bases, 1));
        }
        show(&folder.finish(&mut Plain::default().alike()))
    }

    fn show(nodes: &[Node]) -> String {
        let node = |node: &Node| {
            let numbers = node.numbers.iter().map(|number| {
                let mut text = number.base.to_string();
                number.steps.iter().for_each(|step| text.push_str(&format!("+{step}")));
                if let Some(list) = &number.list {
                    text = format!("{:?}@{},{}", list.values, list.depth, list.root);
                }
                text
            });
            let numbers = numbers.collect::<Vec<_>>().join("|").replace(' ', "");
            match &node.kind {
                Kind::Leaf => format!("{}{numbers}", node.shape as u8 as char),
                Kind::Loop(body) | Kind::Block(body) => format!("{numbers}{{{}}}", show(body)),
            }
        };
        nodes.iter().map(node).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn inner_loops_of_other_lengths_have_a_list_of_counts() {
        let files = [3, 1, 4, 0, 5, 9, 2, 6];
        let text: String = files.iter().map(|n| format!("o {} c ", "r ".repeat(*n))).collect();
        assert_eq!(folded(&text), "8{o [3,1,4,0,5,9,2,6]@0,0{r} c}");
    }

    #[test]
    fn numbers_of_inner_loops_run_through_one_list_or_grow() {
        let text: String = [3u64, 1, 4, 2, 5, 9, 2, 6]
            .iter()
            .map(|n| {
                let reads = (0..*n).map(|k| format!("r{},{} ", k * 4, (n * 37 + k * k * 11) % 17));
                format!("o {} c ", reads.collect::<String>())
            })
            .collect();
        let shown = folded(&text);
        assert!(shown.starts_with("8{o [3,1,4,2,5,9,2,6]@0,0{r0+4+0|[9,3,2,"), "{shown}");
        assert!(shown.contains("]@0,1} c}"), "{shown}");
    }

    #[test]
    fn parts_that_are_left_out_are_loops_of_no_iteration() {
        let text: String =
            (0..12).map(|n| if n % 5 < 2 { "a b c d s x e " } else { "a b c d s e " }).collect();
        assert_eq!(folded(&text), "12{a b c d s [1,1,0,0,0,1,1,0,0,0,1,1]@0,0{x} e}");
    }

    #[test]
    fn neighbours_are_left_out_together_and_lists_are_as_long_as_their_loops() {
        // The last iteration leaves x and y out.
        let drawn = [(1u64, 7u64), (0, 0), (1, 3), (1, 8), (0, 0), (1, 4), (1, 9), (0, 0)];
        let text: String = drawn
            .iter()
            .map(|(there, number)| match there {
                1 => format!("a b c d s x{number} y e "),
                _ => "a b c d s e ".to_string(),
            })
            .collect();
        let expected = "8{a b c d s [1,0,1,1,0,1,1,0]@0,0{x[7,0,3,8,0,4,9,0]@1,1 y} e}";
        assert_eq!(folded(&text), expected);
    }
}
