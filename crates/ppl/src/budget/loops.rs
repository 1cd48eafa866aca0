//! Loops: looked at as a whole, once for all turns, where every figure of the body is
//! the same in each; else turn by turn, as long as there is time for that.

use super::abs::{Abs, Turn, Why};
use super::walk::{Exit, Walk, loop_bit};
use model::iteration::count as turns;
use model::plan::{Instr, LoopCode, NO_SLOT, Pc};
use model::{Op, Value};

impl Walk<'_, '_> {
    /// A `repeat`: the instruction after it, or how the walk ended in it.
    pub(super) fn repeat(&mut self, _: Pc, number: u32) -> Result<Pc, Exit> {
        let code = self.shared.plan.loops[number as usize];
        let range = [code.from, code.to, code.step].map(|operand| self.abs(operand).int());
        let (from, to, step) = match range {
            [Ok(from), Ok(to), Ok(step)] => (from, to, step),
            [a, b, c] => {
                let why = [a, b, c].into_iter().filter_map(Result::err).max();
                return self.unknown_turns(&code, why.unwrap_or(Why::Never));
            }
        };
        if step == 0 || (code.counted && to < 0) {
            // The rank ends here with an error.
            return if self.is_certain() { Err(Exit::Stopped) } else { Ok(code.exit) };
        }
        let count = turns(from, to, step);
        let turn = Turn { from, step, turns: count, level: self.level };
        match count {
            0 => Ok(code.exit),
            _ if count > 1 && self.can_be_whole(number, &code, turn) => self.whole(&code, turn),
            _ if self.affordable(&code, count) => self.turn_by_turn(&code, turn),
            _ => {
                self.hangs_on(Why::Never);
                self.whole_at_least(&code, turn)
            }
        }
    }

    fn affordable(&self, code: &LoopCode, count: u64) -> bool {
        let length = u64::from(code.exit - code.body);
        count.checked_mul(length).is_some_and(|steps| steps < self.shared.steps)
    }

    /// It is not known how often: nothing in it counts.
    fn unknown_turns(&mut self, code: &LoopCode, why: Why) -> Result<Pc, Exit> {
        self.hangs_on(why);
        self.havoc(code, why);
        self.maybe += 1;
        let exit = self.body(code);
        self.maybe -= 1;
        self.havoc(code, why);
        exit
    }

    /// All turns do the same as far as it matters; found out once by a look at the body.
    fn can_be_whole(&mut self, number: u32, code: &LoopCode, turn: Turn) -> bool {
        if let Some(verdict) = self.shared.verdicts[number as usize] {
            return verdict;
        }
        let plan = self.shared.plan;
        let leaves = plan.code[code.body as usize..code.exit as usize - 1]
            .iter()
            .any(|instr| matches!(instr, Instr::Jump { to } if *to == code.exit));
        let verdict = !leaves && {
            let outer = std::mem::take(&mut self.needs_turns);
            let slots = self.assigned(code.body, code.exit - 1);
            let values: Vec<Abs> = slots.iter().map(|slot| self.value(*slot)).collect();
            let skip = self.skip.clone();
            let scopes = (self.groups.clone(), self.options.clone());
            self.probing += 1;
            let _ = self.whole(code, turn);
            self.probing -= 1;
            self.skip = skip;
            (self.groups, self.options) = scopes;
            for (slot, value) in slots.into_iter().zip(values) {
                self.set_value(slot, value);
            }
            std::mem::replace(&mut self.needs_turns, outer) & loop_bit(turn.level) == 0
        };
        self.shared.verdicts[number as usize] = Some(verdict);
        verdict
    }

    /// One look at the body stands for all turns.
    fn whole(&mut self, code: &LoopCode, turn: Turn) -> Result<Pc, Exit> {
        self.havoc(code, Why::Turn(turn.level));
        if code.var != NO_SLOT {
            self.set_value(code.var, Abs::Turn(turn));
        }
        let outer = self.weight;
        self.weight = outer.saturating_mul(turn.turns);
        if outer.checked_mul(turn.turns).is_none() {
            // More than can be counted.
            self.hangs_on(Why::Never);
        }
        self.level += 1;
        let seeks = self.sets_positions(code);
        let below = self.seeks_below;
        self.seeks_below = if seeks { self.level } else { below };
        self.files.enter_loop();
        let handles = self.handles.enter_loop();
        let exit = self.body(code);
        self.level -= 1;
        self.seeks_below = below;
        self.handles.leave_loop(handles, turn.turns, seeks);
        self.files.leave_loop(turn.level, turn.turns);
        self.weight = outer;
        self.settle(code, turn);
        exit
    }

    /// The body may set a position in a file; procs are not looked into.
    fn sets_positions(&self, code: &LoopCode) -> bool {
        let plan = self.shared.plan;
        plan.code[code.body as usize..code.exit as usize].iter().any(|instr| match instr {
            Instr::Op { op, .. } => *op == Op::Fseek,
            Instr::CallProc { .. } => self.shared.seeks,
            _ => false,
        })
    }

    /// There is no time for every turn: the first stands for itself.
    fn whole_at_least(&mut self, code: &LoopCode, turn: Turn) -> Result<Pc, Exit> {
        if code.var != NO_SLOT {
            self.set_value(code.var, Abs::Known(Value::Int(turn.from)));
        }
        let exit = self.body(code);
        self.havoc(code, Why::Never);
        exit
    }

    fn turn_by_turn(&mut self, code: &LoopCode, turn: Turn) -> Result<Pc, Exit> {
        let mut value = turn.from;
        for _ in 0..turn.turns {
            if code.var != NO_SLOT {
                self.set_value(code.var, Abs::Known(Value::Int(value)));
            }
            match self.run(code.body, code.exit - 1) {
                Exit::Reached => {}
                Exit::Left(to) => return Ok(to),
                Exit::Stopped => return Err(Exit::Stopped),
            }
            value = value.saturating_add(turn.step);
        }
        Ok(code.exit)
    }

    /// The body, once.
    fn body(&mut self, code: &LoopCode) -> Result<Pc, Exit> {
        match self.run(code.body, code.exit - 1) {
            Exit::Stopped => Err(Exit::Stopped),
            _ => Ok(code.exit),
        }
    }

    /// What the body writes is not known.
    fn havoc(&mut self, code: &LoopCode, why: Why) {
        for slot in self.assigned(code.body, code.exit - 1) {
            self.set_value(slot, Abs::Unknown(why));
        }
        if code.var != NO_SLOT {
            self.set_value(code.var, Abs::Unknown(why));
        }
    }

    /// After the last turn: loop variables have their last value, other values that change
    /// from turn to turn are not known.
    fn settle(&mut self, code: &LoopCode, turn: Turn) {
        let bit = 1u64.checked_shl(turn.level).unwrap_or(u64::MAX);
        for slot in self.assigned(code.body, code.exit - 1) {
            let settled = match self.value(slot) {
                Abs::Turn(inner) if inner.level == turn.level => {
                    let last = inner.last().map(Value::Int);
                    last.map_or(Abs::Unknown(Why::Never), Abs::Known)
                }
                Abs::Text(key) if key.turns & bit != 0 => Abs::Unknown(Why::Never),
                // One of many.
                Abs::Handle(number) if self.handles.list[number as usize].level > turn.level => {
                    Abs::Unknown(Why::Never)
                }
                Abs::Unknown(Why::Turn(level)) if level == turn.level => Abs::Unknown(Why::Never),
                _ => continue,
            };
            self.set_value(slot, settled);
        }
    }
}
