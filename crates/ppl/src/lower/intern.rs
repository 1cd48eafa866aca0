//! Constants and texts, each kept once: tables of indices into the plan's own arrays.

use hashbrown::HashTable;
use model::Value;
use model::plan::{Piece, Plan, Template};
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};

/// Finds what the plan has already.
pub(super) struct Interner {
    consts: HashTable<u32>,
    templates: HashTable<u32>,
    /// Integers used lately, by their low bits. Others are kept twice: looking for each costs
    /// more than that.
    recent: [Option<(i64, u32)>; RECENT],
}

/// Constants and templates that are looked up. In longer programs most later ones are
/// used once, so that looking for them costs more than keeping some twice.
const MAX_LOOKED_UP: usize = 1 << 15;

/// Entries of [`Interner::recent`].
const RECENT: usize = 256;

impl Default for Interner {
    fn default() -> Interner {
        let (consts, templates) = (HashTable::default(), HashTable::default());
        Interner { consts, templates, recent: [None; RECENT] }
    }
}

impl Interner {
    /// The number of a constant integer.
    #[inline]
    pub(super) fn integer(&mut self, plan: &mut Plan, n: i64) -> u32 {
        let slot = (n ^ n >> 10 ^ n >> 20) as usize % RECENT;
        if let Some((known, index)) = self.recent[slot]
            && known == n
        {
            return index;
        }
        plan.consts.push(Value::Int(n));
        let index = plan.consts.len() as u32 - 1;
        self.recent[slot] = Some((n, index));
        index
    }

    /// The number of a constant.
    pub(super) fn constant(&mut self, plan: &mut Plan, value: Value) -> u32 {
        let hash = value_hash(&value);
        let consts = &mut plan.consts;
        if let Some(known) = self.consts.find(hash, |at| consts[*at as usize] == value) {
            return *known;
        }
        consts.push(value);
        self.keep_constant(consts, hash)
    }

    /// The number of the last constant, which is new.
    fn keep_constant(&mut self, consts: &[Value], hash: u64) -> u32 {
        let new = consts.len() as u32 - 1;
        if self.consts.len() < MAX_LOOKED_UP {
            self.consts.insert_unique(hash, new, |at| value_hash(&consts[*at as usize]));
        }
        new
    }

    /// The number of a constant text; copied only if it is new.
    pub(super) fn text(&mut self, plan: &mut Plan, text: &[u8]) -> u32 {
        let hash = text_hash(text);
        let consts = &mut plan.consts;
        let same = |at: &u32| matches!(&consts[*at as usize], Value::Str(known) if known == text);
        if let Some(known) = self.consts.find(hash, same) {
            return *known;
        }
        consts.push(Value::Str(text.to_vec()));
        self.keep_constant(consts, hash)
    }

    /// The number of a template whose texts stand at the end of [`Plan::text`] from
    /// `mark` on; they are taken away again if the plan has it already.
    pub(super) fn template(&mut self, plan: &mut Plan, pieces: &[Piece], mark: usize) -> u32 {
        let hash = pieces_hash(&plan.text, pieces);
        let same = |at: &u32| {
            let known = pieces_of(plan, plan.templates[*at as usize]);
            known.len() == pieces.len()
                && known.iter().zip(pieces).all(|(a, b)| same_piece(&plan.text, *a, *b))
        };
        if let Some(known) = self.templates.find(hash, same) {
            let known = *known;
            plan.text.truncate(mark);
            return known;
        }
        let start = plan.pieces.len() as u32;
        plan.pieces.extend_from_slice(pieces);
        plan.templates.push(Template { start, end: plan.pieces.len() as u32 });
        let new = plan.templates.len() as u32 - 1;
        if self.templates.len() < MAX_LOOKED_UP {
            let again =
                |at: &u32| pieces_hash(&plan.text, pieces_of(plan, plan.templates[*at as usize]));
            self.templates.insert_unique(hash, new, again);
        }
        new
    }
}

fn pieces_of(plan: &Plan, template: Template) -> &[Piece] {
    &plan.pieces[template.start as usize..template.end as usize]
}

fn same_piece(text: &[u8], a: Piece, b: Piece) -> bool {
    match (a, b) {
        (Piece::Text { start, end }, Piece::Text { start: s, end: e }) => {
            text[start as usize..end as usize] == text[s as usize..e as usize]
        }
        (a, b) => a == b,
    }
}

fn text_hash(text: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    text.hash(&mut hasher);
    hasher.finish()
}

fn value_hash(value: &Value) -> u64 {
    let mut hasher = FxHasher::default();
    match value {
        Value::Str(text) => return text_hash(text),
        Value::Int(n) | Value::Duration(n) => n.hash(&mut hasher),
        Value::Float(x) => x.to_bits().hash(&mut hasher),
        Value::Bool(b) => b.hash(&mut hasher),
        Value::List(items) => items.iter().for_each(|item| value_hash(item).hash(&mut hasher)),
        Value::Unset | Value::Handle(..) | Value::Outcome(_) => {}
    }
    hasher.finish()
}

fn pieces_hash(text: &[u8], pieces: &[Piece]) -> u64 {
    let mut hasher = FxHasher::default();
    for piece in pieces {
        match piece {
            Piece::Text { start, end } => text[*start as usize..*end as usize].hash(&mut hasher),
            Piece::Value(operand) => operand.hash(&mut hasher),
            Piece::Internal(what) => what.hash(&mut hasher),
            Piece::Formatted { value, format } => (value, format).hash(&mut hasher),
        }
    }
    hasher.finish()
}
