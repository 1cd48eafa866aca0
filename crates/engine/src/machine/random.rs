//! Random numbers of expressions, and the functions that draw them.

use super::eval::Env;
use super::fault::Fault;
use crate::clock::Clock;
use crate::rng::{self, RankRng};
use model::Value;
use model::plan::{Args, BinaryOp, Function, Operand, Pc, Slot};
use model::value::{self, Eval};
use std::collections::HashMap;
use std::ops::Range;

/// The streams of one rank.
pub(super) struct Random {
    pub(super) rank: RankRng,
    seed: u64,
    /// How often a site has drawn `$$crand`.
    drawn: HashMap<Pc, u64>,
}

impl Random {
    pub(super) fn new(seed: u64, rank: u32) -> Random {
        Random { rank: RankRng::new(seed, rank), seed, drawn: HashMap::new() }
    }

    /// `$$crand` at a site.
    pub(super) fn common(&mut self, site: Pc, members: &Range<u32>) -> u32 {
        let drawn = self.drawn.entry(site).or_insert(0);
        let occurrence = *drawn;
        *drawn += 1;
        rng::common_rand(self.seed, members, site, occurrence)
    }

    /// `perm(i, n)`.
    fn perm(&self, i: i64, n: i64) -> Eval<i64> {
        rng::perm(i, n, self.seed)
    }
}

/// `dst = function(args)`; `size` asks the back-end for the size of a path.
pub(super) fn call<K: Clock>(
    env: &mut Env<'_, K>,
    site: Pc,
    function: Function,
    dst: Slot,
    args: Args,
    size: impl FnOnce(&mut Env<'_, K>, Operand) -> Result<u64, Fault>,
) -> Result<(), Fault> {
    let plan = env.plan;
    let args = &plan.args[args.range()];
    let value = match function {
        Function::Min => extreme(env, site, args, BinaryOp::Lt)?,
        Function::Max => extreme(env, site, args, BinaryOp::Gt)?,
        Function::Size => Value::Int(size(env, args[0])? as i64),
        Function::Pieces | Function::PieceOffset | Function::PieceSize => {
            Value::Int(of_pattern(env, site, function, args)?)
        }
        _ => drawn(env, site, function, args)?,
    };
    env.set(dst, value);
    Ok(())
}

/// `pieces(pattern)`, `piece_offset(pattern, i)`, `piece_size(pattern, i)`.
fn of_pattern<K: Clock>(
    env: &mut Env<'_, K>,
    site: Pc,
    function: Function,
    args: &[Operand],
) -> Result<i64, Fault> {
    let i = match args.get(1) {
        Some(operand) => env.size(site, *operand)?,
        None => 0,
    };
    let Some(ready) = env.pieces(site, args[0])? else {
        let found = env.value(site, args[0])?.describe();
        return Err(Fault::Message(format!("expected the name of a pattern, found {found}")));
    };
    if function == Function::Pieces {
        return Ok(ready.count() as i64);
    }
    let count = ready.count();
    let piece = ready.piece(i).ok_or_else(|| {
        Fault::Message(format!("expected a piece from 0 to below {count}, found {i}"))
    })?;
    let n = if function == Function::PieceSize { piece.length_bytes } else { piece.offset_bytes };
    Ok(n as i64)
}

/// The smallest (`wins` is `<`) or largest (`>`) argument.
fn extreme<K: Clock>(
    env: &mut Env<'_, K>,
    site: Pc,
    args: &[Operand],
    wins: BinaryOp,
) -> Eval<Value> {
    let mut best = env.value(site, args[0])?.clone();
    best.as_float()?;
    for operand in &args[1..] {
        let value = env.value(site, *operand)?;
        if value::binary(wins, value, &best)?.as_condition()? {
            best = value.clone();
        }
    }
    Ok(best)
}

fn drawn<K: Clock>(
    env: &mut Env<'_, K>,
    site: Pc,
    function: Function,
    args: &[Operand],
) -> Eval<Value> {
    let first = env.value(site, args[0])?.clone();
    let second = match args.get(1) {
        Some(operand) => env.value(site, *operand)?.clone(),
        None => Value::Unset,
    };
    let random = &mut env.random;
    Ok(match function {
        Function::Abs => model::function::absolute(&first)?,
        Function::Len => model::function::length(&first)?,
        Function::Rand => Value::Int(random.rank.uniform(first.as_int()?, second.as_int()?)?),
        Function::Normal => {
            Value::Float(random.rank.normal(first.as_float()?, second.as_float()?)?)
        }
        Function::Zipf => Value::Int(random.rank.zipf(first.as_int()?, second.as_float()?)?),
        Function::Exp => Value::Float(random.rank.exponential(first.as_float()?)?),
        Function::Perm => Value::Int(random.perm(first.as_int()?, second.as_int()?)?),
        Function::Min
        | Function::Max
        | Function::Size
        | Function::Pieces
        | Function::PieceOffset
        | Function::PieceSize => Value::Unset,
    })
}
