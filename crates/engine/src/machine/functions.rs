//! Functions of expressions that are not pure: they draw random numbers, or ask a pattern or the back-end.

use super::eval::{Env, Random};
use super::extents::Ready;
use super::rank::Machine;
use super::tally::{Fault, Flow};
use crate::backend::Backend;
use crate::call::Call;
use crate::rng::RankRng;
use model::function::{Calc, Draw, Question};
use model::pattern::Extent;
use model::plan::{Args, Function, Operand, Pc, Slot, Source};
use model::value::{self, Eval, EvalError};
use model::{Value, errno};
use std::collections::hash_map::Entry;

impl<B: Backend> Machine<'_, B> {
    /// `dst = function(args)`
    pub(super) fn function(&mut self, site: Pc, function: Function, dst: Slot, args: Args) -> Flow {
        let args = &self.prepared.plan.args[args.range()];
        let env = &mut self.env;
        let value = match function.row().calc {
            Calc::Drawn(what) => drawn(env, site, what, args)?,
            Calc::Queried(Question::Size) => {
                let size = self.size_of((site, function), args[0])?;
                Value::Int(size.map_or(-1, |bytes| bytes as i64))
            }
            Calc::Queried(Question::Exists) => {
                Value::Bool(self.size_of((site, function), args[0])?.is_some())
            }
            Calc::Queried(Question::Pieces) => of_pattern(env, site, args[0], |p| Ok(p.count()))?,
            Calc::Queried(Question::PieceOffset) => of_piece(env, site, args, |p| p.offset_bytes)?,
            Calc::Queried(Question::PieceSize) => of_piece(env, site, args, |p| p.length_bytes)?,
            // The evaluator and the execute loop have taken them.
            Calc::Pure(_)
            | Calc::Collective(_)
            | Calc::Measured(_)
            | Calc::Read
            | Calc::Queried(Question::Tested | Question::Next) => return Ok(()),
        };
        self.env.set(dst, value);
        Ok(())
    }

    /// `size(path)`, `exists(path)`: asks the back-end; not timed, not counted. `None`: it is not there.
    fn size_of(&mut self, (site, function): (Pc, Function), path: Operand) -> Flow<Option<u64>> {
        self.env.path(site, path, &mut self.io.paths[0])?;
        let path = self.io.paths[0].as_c_str();
        // Whose size is asked for has to be there; a rehearsal takes nothing for granted of the other.
        let call = match function {
            Function::Exists => Call::Access { path },
            _ => Call::Stat { path },
        };
        let reply = match self.io.backend.prepare(&call) {
            Ok(()) => self.io.backend.issue(call),
            Err(errno) => -i64::from(errno),
        };
        match u64::try_from(reply) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(_) if matches!(-reply as i32, libc::ENOENT | libc::ENOTDIR) => Ok(None),
            Err(_) => {
                let path = String::from_utf8_lossy(self.io.paths[0].bytes());
                let (name, text) = (errno::name(-reply as u16), errno::text(-reply as u16));
                Err(Fault::message(format!("\"{path}\" cannot be looked at: {name} ({text})")))
            }
        }
    }
}

/// Asks the pattern that the first argument names.
fn of_pattern(
    env: &mut Env<'_>,
    site: Pc,
    pattern: Operand,
    ask: impl FnOnce(&mut Ready<'_>) -> Flow<u64>,
) -> Flow<Value> {
    let Some(ready) = env.extents_of(site, pattern)? else {
        let found = env.value(site, pattern)?.describe();
        return Err(Fault::message(format!("expected the name of a pattern, found {found}")));
    };
    ask(ready).map(|n| Value::Int(n as i64))
}

/// Asks for a piece: `piece_offset(pattern, i)`, `piece_size(pattern, i)`.
fn of_piece(
    env: &mut Env<'_>,
    site: Pc,
    args: &[Operand],
    ask: impl FnOnce(Extent) -> u64,
) -> Flow<Value> {
    let i = env.size(site, args[1])?;
    of_pattern(env, site, args[0], |ready| {
        let count = ready.count();
        let missing = || format!("expected a piece from 0 to below {count}, found {i}");
        ready.extent(i).map(ask).ok_or_else(|| Fault::message(missing()))
    })
}

/// `empirical(list)`
fn element(env: &mut Env<'_>, site: Pc, list: Operand) -> Eval<Value> {
    let Value::List(items) = env.value(site, list)?.clone() else {
        return Err(EvalError::Type("a list", env.value(site, list)?.describe()));
    };
    let weighted = matches!(items.first(), Some(Value::List(_)));
    if items.is_empty() {
        return Err(EvalError::Range("expected a list with a value", "an empty one".into()));
    }
    let Random { rank: stream, weights, .. } = &mut env.random;
    if !weighted {
        let at = stream.uniform(0, items.len() as i64 - 1)?;
        return value::number(&items[at as usize]);
    }
    let made;
    let sums = match list.source() {
        Source::Const(number) => match weights.entry(number) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(free) => free.insert(sums_of_weights(&items)?),
        },
        _ => {
            made = sums_of_weights(&items)?;
            &made
        }
    };
    let chosen = stream.below(sums[sums.len() - 1]);
    let at = sums.partition_point(|sum| *sum <= chosen).min(sums.len() - 1);
    value::number(pair(&items[at])?.0)
}

fn pair(item: &Value) -> Eval<(&Value, f64)> {
    let wrong = || EvalError::Type("a value and its weight, such as [4k, 70]", item.describe());
    let Value::List(pair) = item else { return Err(wrong()) };
    let [value, weight] = &pair[..] else { return Err(wrong()) };
    let weight = weight.as_float()?;
    let usable = weight.is_finite() && weight >= 0.0;
    usable.then_some((value, weight)).ok_or_else(|| {
        EvalError::Range("expected a weight that is not negative", weight.to_string())
    })
}

fn sums_of_weights(items: &[Value]) -> Eval<Vec<f64>> {
    let mut sum = 0.0;
    let sums = items.iter().map(|item| {
        sum += pair(item)?.1;
        Ok(sum)
    });
    let sums = sums.collect::<Eval<Vec<f64>>>()?;
    match sum > 0.0 && sum.is_finite() {
        true => Ok(sums),
        false => Err(EvalError::Range("expected a weight above 0", "none".into())),
    }
}

fn drawn(env: &mut Env<'_>, site: Pc, what: Draw, args: &[Operand]) -> Eval<Value> {
    if what == Draw::Empirical {
        return element(env, site, args[0]);
    }
    let first = value::number(env.value(site, args[0])?)?;
    let second = match args.get(1) {
        Some(operand) => value::number(env.value(site, *operand)?)?,
        None => Value::Unset,
    };
    let stream = &mut env.random.rank;
    if let Value::Duration(first_ns) = first {
        return duration(stream, what, first_ns, &second);
    }
    Ok(match what {
        Draw::Uniform => Value::Int(stream.uniform(first.as_int()?, second.as_int()?)?),
        Draw::Normal => Value::Float(stream.normal(first.as_float()?, second.as_float()?)?),
        Draw::Zipf => Value::Int(stream.zipf(first.as_int()?, second.as_float()?)?),
        Draw::Exponential => Value::Float(stream.exponential(first.as_float()?)?),
        Draw::Empirical => Value::Unset,
    })
}

/// A duration of a distribution of durations. A normal one has a tail below 0, which counts as 0,
/// so that a program can sleep for what it draws.
fn duration(stream: &mut RankRng, what: Draw, first_ns: i64, second: &Value) -> Eval<Value> {
    let second_ns = match second {
        Value::Duration(ns) => *ns,
        _ if what == Draw::Exponential => 0,
        other => return Err(EvalError::Type("a duration, as the first is", other.describe())),
    };
    let ns = match what {
        Draw::Uniform => return stream.uniform(first_ns, second_ns).map(Value::Duration),
        Draw::Normal => stream.normal(first_ns as f64, second_ns as f64)?,
        Draw::Exponential => stream.exponential(first_ns as f64)?,
        Draw::Zipf | Draw::Empirical => {
            return Err(EvalError::Type("an integer", "a duration".into()));
        }
    };
    Ok(Value::Duration(ns.max(0.0) as i64))
}
