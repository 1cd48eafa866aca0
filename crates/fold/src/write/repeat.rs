//! Loops, and parts that some iterations leave out.
//!
//! ```text
//! repeat $i $count { fread($file, 4k); if ($i % 25 == 24) { fstat($file); } }
//! ```

use super::super::expr::{Linear, Loop, Sizes, name_of_loop, place_in};
use super::super::ranks::{Item, Spread, Value};
use super::super::regular::condition;
use super::super::tables::Role;
use super::{Writer, block, numbered};

impl Writer<'_> {
    pub(super) fn repeat(&mut self, item: &Item) -> String {
        let name = name_of_loop(self.loops.len());
        let mut frame = Loop::of(name, item);
        let option = !frame.is_used() && is_option(&item.numbers[0]);
        let condition = self.condition(&item.numbers[0]).filter(|_| option);
        let count = match condition {
            Some(_) => Linear::default(),
            None => {
                self.tables.hold(if option { Role::Flags } else { Role::Counts });
                self.linear(&item.numbers[0])
            }
        };
        if let Some((cursor, further)) = frame.cursor() {
            *cursor = numbered("$at", self.counted);
            self.counted += 1;
            self.cursors.push((cursor.clone(), self.loops.len() - *further));
        }
        let cursor = frame.cursor().map(|(cursor, _)| cursor.clone());
        let constant = count.constant();
        let shown = match constant.and_then(|count| self.params.count(count)) {
            Some(param) => param,
            None => count.shown(&Sizes::default(), false),
        };
        let head = match (option, condition) {
            (true, Some(condition)) => format!("if ({condition})"),
            (true, None) => format!("if ({shown} == 1)"),
            _ => frame.head(&shown, constant.filter(|_| !shown.starts_with('$'))),
        };
        self.loops.push(frame);
        let mut body = self.body(&item.body);
        self.loops.pop();
        body.extend(cursor.map(|cursor| format!("{cursor} = {cursor} + 1;")));
        block(&head, body)
    }

    /// When a count of 0 and 1 is 1.
    fn condition(&mut self, count: &Spread) -> Option<String> {
        let list = count.list.as_ref().filter(|list| list.rows.is_none())?;
        let around = self.loops.iter().rev().nth(list.depth)?;
        condition(&list.values, &place_in(list, around, &mut self.tables))
    }
}

/// Iterations are one or none each time.
fn is_option(count: &Spread) -> bool {
    let steady = count.base == Value::Same(0) && count.steps.iter().all(|s| *s == Value::Same(0));
    let list = count.list.as_ref().filter(|_| steady);
    list.is_some_and(|list| list.values.iter().all(|times| matches!(times, 0 | 1)))
}
