//! Figures of labels while the program runs, over all ranks (`seconds("write")`), and those that the program makes of
//! them (`score`).
//!
//! ```text
//! record of this rank ─▶ LabelFigures ─▶ bytes ─▶ a gather for every 8 bytes ─▶ LabelFigures of all ranks ─▶ value
//! ```

use super::rank::Machine;
use super::step::Step;
use super::tally::{Fault, Flow, Pause, came};
use crate::backend::Backend;
use crate::collect::{LabelFigures, never_executed};
use crate::comm::{Comm, Given, Members, Poll};
use crate::recorder::{RankRecord, ScoreRecord};
use model::Value;
use model::function::{Calc, Choice, Figure};
use model::merge::Merge;
use model::plan::{Function, Operand, Pc};
use model::value::{self, EvalError};

/// Bytes that a rank gives at a time.
const WORD: usize = 8;

/// Bytes of every rank on their way to all: 8 in each gather, until the longest are through.
#[derive(Debug)]
pub(super) struct Exchange {
    own: Vec<u8>,
    /// Words that all have given; `None`: the number of bytes comes first.
    given: Option<usize>,
    /// Bytes of each rank, and how many of them count.
    all: Vec<(Vec<u8>, usize)>,
}

/// A label and what its figures are of, as every rank has to ask for them.
type Asked<'a> = (&'a str, Option<Choice>);

impl<B: Backend> Machine<'_, B> {
    /// `seconds(label)` and the like. May be asked again with the same arguments.
    pub(super) fn measured(
        &mut self,
        site: Pc,
        function: Function,
        args: &[Operand],
        comm: &mut dyn Comm,
    ) -> Flow<Value> {
        let Calc::Measured(figure) = function.row().calc else {
            return Err(EvalError::Unset.into());
        };
        let mut label = Vec::new();
        self.env.render(site, args[0], &mut label)?;
        let label = String::from_utf8_lossy(&label).into_owned();
        let choice = match args.get(1) {
            Some(word) => {
                let mut text = Vec::new();
                self.env.render(site, *word, &mut text)?;
                Some(figure.choice(&text)?)
            }
            None => None,
        };
        let all = self.figures_of_all(site, function, (&label, choice), comm)?;
        self.value_of(figure, &label, &all)
    }

    /// The label's figures over all ranks.
    fn figures_of_all(
        &mut self,
        site: Pc,
        function: Function,
        asked: Asked<'_>,
        comm: &mut dyn Comm,
    ) -> Flow<LabelFigures> {
        let world = Members { set: 0, ranks: (0..self.prepared.plan.ranks).into() };
        let mut exchange = match self.scratch.exchange.take() {
            Some(begun) => begun,
            None => {
                let own = LabelFigures::of_rank(&self.so_far()?, asked.0, asked.1);
                Exchange::new(pack(asked, own))
            }
        };
        while !exchange.is_done() {
            let given = Given::new(function, &Value::Int(exchange.next())).unwrap_or_default();
            let poll = comm.gather(&world, site, (function, given), &mut self.scratch.given)?;
            if poll == Poll::Pending {
                self.scratch.exchange = Some(exchange);
                return Err(Pause::Pending.into());
            }
            came(poll)?;
            exchange.take(&self.scratch.given);
        }
        let mut sum = LabelFigures::default();
        for (rank, (bytes, length)) in exchange.all.iter().enumerate() {
            let figures = unpack(asked, &bytes[..*length]);
            sum.merge_from(figures.map_err(|found| {
                let (name, label) = (function.row().name, asked.0);
                let message =
                    format!("{name}: rank {rank} asks for {found}, this rank for \"{label}\"");
                Fault::message(message)
            })?);
        }
        Ok(sum)
    }

    fn so_far(&self) -> Flow<RankRecord> {
        self.io.recorder.figures_so_far().map_err(Fault::message)
    }

    /// The value. What a rehearsal or `--only` leaves out counts as 1, so that formulas have values.
    fn value_of(&self, figure: Figure, label: &str, all: &LabelFigures) -> Flow<Value> {
        if all.is_open() {
            return Err(Fault::message(format!("the label \"{label}\" has not ended")));
        }
        match all.value(figure) {
            Some(value) => Ok(value),
            None if self.io.accounts || self.io.labels.leaves_out() => Ok(match figure {
                Figure::Seconds | Figure::Rate => Value::Float(1.0),
                Figure::Count | Figure::Bytes => Value::Int(1),
            }),
            None => Err(Fault::message(never_executed(label, &self.so_far()?))),
        }
    }

    /// `score`: rank 0 keeps the value.
    pub(super) fn score(&mut self, step: Step<'_>) -> Flow {
        let value = match value::number(self.env.value(step.site, step.args[1])?)? {
            Value::Duration(ns) => ns as f64 / 1e9,
            number => number.as_float()?,
        };
        if !value.is_finite() {
            return Err(Fault::message(format!("expected a finite score, found {value}")));
        }
        if self.env.scope.rank != 0 || self.io.accounts || self.io.labels.leaves_out() {
            return Ok(());
        }
        let (mut name, mut unit) = (Vec::new(), Vec::new());
        self.env.render(step.site, step.args[0], &mut name)?;
        if step.args[2] != Operand::ABSENT {
            self.env.render(step.site, step.args[2], &mut unit)?;
        } else if matches!(self.env.value(step.site, step.args[1])?, Value::Duration(_)) {
            unit.push(b's');
        }
        let [name, unit] = [name, unit].map(|text| String::from_utf8_lossy(&text).into_owned());
        self.io.recorder.score(ScoreRecord { name, value, unit });
        Ok(())
    }
}

impl Exchange {
    fn new(own: Vec<u8>) -> Exchange {
        Exchange { own, given: None, all: Vec::new() }
    }

    /// All ranks have given all.
    fn is_done(&self) -> bool {
        let longest = self.all.iter().map(|(_, length)| *length).max().unwrap_or(0);
        self.given.is_some_and(|words| words * WORD >= longest)
    }

    /// The number that this rank gives next.
    fn next(&self) -> i64 {
        let Some(words) = self.given else { return self.own.len() as i64 };
        let rest = self.own.get(words * WORD..).unwrap_or_default();
        let mut word = [0; WORD];
        let length = rest.len().min(WORD);
        word[..length].copy_from_slice(&rest[..length]);
        i64::from_le_bytes(word)
    }

    /// Takes the numbers that all have given.
    fn take(&mut self, given: &[Value]) {
        let numbers = given.iter().map(|value| value.as_int().unwrap_or(0));
        match &mut self.given {
            None => {
                self.all = numbers.map(|length| (Vec::new(), length as usize)).collect();
                self.given = Some(0);
            }
            Some(words) => {
                *words += 1;
                for ((bytes, _), number) in self.all.iter_mut().zip(numbers) {
                    bytes.extend_from_slice(&number.to_le_bytes());
                }
            }
        }
    }
}

/// Figures, after what they are of.
fn pack((label, choice): Asked<'_>, figures: LabelFigures) -> Vec<u8> {
    let key =
        format!("\"{label}\" {}", choice.map_or(String::new(), |choice| format!("{choice:?}")));
    postcard::to_stdvec(&(key, figures)).unwrap_or_default()
}

/// The figures of a rank; an error is what it asks for, if that is something else.
fn unpack((label, choice): Asked<'_>, bytes: &[u8]) -> Result<LabelFigures, String> {
    let damaged = |_| "something unknown".to_string();
    let (key, figures): (String, LabelFigures) = postcard::from_bytes(bytes).map_err(damaged)?;
    let own =
        format!("\"{label}\" {}", choice.map_or(String::new(), |choice| format!("{choice:?}")));
    if key == own { Ok(figures) } else { Err(key.trim_end().to_string()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_all_lengths_arrive() {
        let texts: Vec<Vec<u8>> = [0, 1, 8, 30].map(|len| (1..=len).collect()).into();
        let mut ranks: Vec<Exchange> =
            texts.iter().map(|text| Exchange::new(text.clone())).collect();
        let mut rounds = 0;
        while !ranks[0].is_done() {
            let given: Vec<Value> = ranks.iter().map(|rank| Value::Int(rank.next())).collect();
            ranks.iter_mut().for_each(|rank| rank.take(&given));
            rounds += 1;
        }
        assert_eq!(rounds, 1 + 30usize.div_ceil(WORD));
        for rank in &ranks {
            assert!(rank.is_done());
            let arrived: Vec<&[u8]> = rank.all.iter().map(|(bytes, len)| &bytes[..*len]).collect();
            assert_eq!(arrived, texts);
        }
    }

    #[test]
    fn ranks_that_ask_for_different_labels_are_noticed() {
        let bytes = pack(("a", None), LabelFigures::default());
        assert!(unpack(("a", None), &bytes).is_ok());
        assert_eq!(unpack(("b", None), &bytes), Err("\"a\"".into()));
        assert!(unpack(("a", Some(Choice::Op(model::Op::Write))), &bytes).is_err());
    }
}
