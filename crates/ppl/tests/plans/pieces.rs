//! Walks through what the patterns of any text give. It stands alone: the fuzz target
//! `fuzz/fuzz_targets/pattern.rs` includes it.

use model::Plan;
use model::pattern::{MAX_OFFSET_BYTES, Share};
use ppl::source::NoIncludes;
use ppl::{Binding, compile};

/// Pieces of a member that are looked at.
const FIRST: usize = 500;
/// Instructions that a generator may take for a member.
const STEPS: u64 = 20_000;

/// Compiles a program for so many ranks; its patterns are refused in a sentence, or give pieces
/// that exist. Whether there was a plan, and how many shares of a member had a piece.
pub fn walk(text: &str, ranks: u32) -> (bool, usize) {
    let compiled = compile("test.ppl", text.into(), &mut NoIncludes, &Binding::new(ranks));
    assert!(compiled.diagnostics.iter().all(|diagnostic| !diagnostic.message.is_empty()));
    let Some(plan) = compiled.plan else { return (false, 0) };
    let groups = [1, ranks, 100_000].map(|members| walk_group(&plan, members));
    (true, groups.iter().sum())
}

fn walk_group(plan: &Plan, members: u32) -> usize {
    let mut with_pieces = 0;
    for (pattern, g) in
        plan.patterns.iter().flat_map(|p| [0, members / 2, members - 1].map(|g| (p, g)))
    {
        match pattern.share(plan, g, members, STEPS) {
            Ok(share) => with_pieces += usize::from(walk_share(&share)),
            Err(said) => assert!(!said.is_empty()),
        }
    }
    with_pieces
}

/// Whether there is a piece.
fn walk_share(share: &Share<'_>) -> bool {
    let first: Vec<_> = share.extents().take(FIRST).collect();
    for piece in &first {
        let end = piece.offset_bytes.checked_add(piece.length_bytes);
        assert!(end.is_some_and(|end| end <= MAX_OFFSET_BYTES), "{piece:?}");
    }
    if first.len() < FIRST && share.runs().take(FIRST + 1).count() <= FIRST {
        let bytes: u64 = first.iter().map(|piece| piece.length_bytes).sum();
        assert_eq!((share.count(), share.bytes()), (first.len() as u64, bytes));
        assert_eq!(share.view().filetype.bytes(), bytes);
        assert_eq!(
            share.end_bytes(),
            first.iter().map(|piece| piece.end_bytes()).max().unwrap_or(0)
        );
        assert_eq!(share.extent(first.len() as u64), None);
    }
    assert_eq!(share.extent(0), first.first().copied());
    !first.is_empty()
}
