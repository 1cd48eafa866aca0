//! The report of a run in its parts: title, tables, evidence, marks, failures.

use super::{facts, failures, nodes, summary, sweep, times, work};
use crate::document::{Block, Item};
use crate::text::Paint;
use model::run::Run;

/// Everything that a report says of a run.
pub fn blocks(run: &Run) -> Vec<Block> {
    let bad = run.run.exit_code != 0;
    let title = Block::Facts(if bad { Paint::Bad } else { Paint::Heading }, facts::title(run));
    let mut blocks = vec![title];
    blocks.extend(figures(run));
    blocks.push(Block::Facts(Paint::Plain, facts::facts(run)));
    blocks.push(Block::List(remarks(run)));
    blocks.extend(failed(run));
    blocks
}

/// The tables of a run.
pub fn figures(run: &Run) -> Vec<Block> {
    let (figures, tables) = match &run.run.sweep {
        Some(sweep) => (sweep::blocks(run, sweep), Vec::new()),
        None if run.rows.is_empty() => {
            (vec![Block::Text("No I/O operation was executed.".into())], vec![times::sheet(run)])
        }
        None => (Vec::new(), vec![summary::sheet(run), times::sheet(run)]),
    };
    let further = [nodes::sheet(run), work::shares(run), work::arrivals(run)];
    let tables = tables.into_iter().chain(further).flatten();
    figures.into_iter().chain(tables.map(Block::Sheet)).collect()
}

/// Notes, then what the evidence says against the figures, and how to fix it.
fn remarks(run: &Run) -> Vec<Item> {
    let evidence = &run.run.evidence;
    let notes = evidence.notes.iter().map(|note| Item::new(format!("note: {note}")));
    let marks = evidence.marks.iter().map(|mark| {
        let (word, paint) =
            if mark.counts { ("verdict", Paint::Bad) } else { ("remark", Paint::Plain) };
        let text = format!("{word} {}: {}", mark.code, mark.seen_in_executions());
        Item { paint, text, more: vec![format!("fix: {}", mark.advice)] }
    });
    notes.chain(marks).collect()
}

/// Failed operations and ranks that did not finish; nothing if all went well.
pub fn failed(run: &Run) -> Vec<Block> {
    vec![Block::List(failures::failures(run)), Block::List(failures::rank_errors(run))]
}
