//! A small interpreter of plans that writes the same lines as the one of trees.

use super::tree::{MAX_LINES, shortened};
use model::plan::{
    Args, BinaryOp, Function, Instr, Internal, NO_SLOT, Operand, Pc, Piece, Plan, Slot, Source,
};
use model::value::Eval;
use model::{Op, Value, limits, value};

/// What one rank does; see [`super::tree::trace`].
pub fn trace(plan: &Plan, rank: u32) -> Vec<String> {
    let mut machine = Machine {
        plan,
        rank,
        pc: 0,
        values: vec![Value::Unset; plan.globals.len()],
        base: plan.globals.len(),
        calls: Vec::new(),
        groups: Vec::new(),
        handles: 0,
        lines: Vec::new(),
    };
    let last = loop {
        if machine.lines.len() >= MAX_LINES {
            break "cut";
        }
        match machine.step() {
            Ok(true) => {}
            Ok(false) => break "end",
            Err(_) => break "error",
        }
    };
    machine.lines.push(last.into());
    machine.lines
}

struct Machine<'a> {
    plan: &'a Plan,
    rank: u32,
    pc: Pc,
    values: Vec<Value>,
    base: usize,
    calls: Vec<(Pc, usize)>,
    groups: Vec<(u32, u32)>,
    handles: u64,
    lines: Vec<String>,
}

impl Machine<'_> {
    fn line(&mut self, line: String) {
        self.lines.push(shortened(line));
    }

    fn step(&mut self) -> Eval<bool> {
        let pc = self.pc;
        let instr = self.plan.code[pc as usize];
        self.pc += 1;
        match instr {
            Instr::Halt => return Ok(false),
            Instr::Move { dst, src } => {
                let value = self.value(src)?;
                self.set(dst, value);
            }
            Instr::Unary { op, dst, a } => {
                let value = value::unary(op, &self.value(a)?)?;
                self.set(dst, value);
            }
            Instr::Binary { op, dst, a, b } => {
                assert!(!matches!(op, BinaryOp::And | BinaryOp::Or));
                let value = value::binary(op, &self.value(a)?, &self.value(b)?)?;
                self.set(dst, value);
            }
            Instr::Function { function, dst, args } => {
                let value = self.function(function, args)?;
                self.set(dst, value);
            }
            Instr::Internal { what, dst } => {
                let value = self.internal(what);
                self.set(dst, value);
            }
            Instr::List { dst, args } => {
                let items = self.all(args)?;
                self.set(dst, limits::list(items)?);
            }
            Instr::Index { dst, list, index } => {
                let value = value::index(&self.value(list)?, &self.value(index)?)?;
                self.set(dst, value);
            }
            Instr::Test { dst, a } => {
                let value = Value::Bool(self.value(a)?.as_condition()?);
                self.set(dst, value);
            }
            Instr::Jump { to } => self.pc = to,
            Instr::JumpIf { cond, when, to } => {
                if self.value(cond)?.as_condition()? == when {
                    self.pc = to;
                }
            }
            Instr::Loop { code } => self.start_loop(code)?,
            Instr::Next { code } => self.next_turn(code),
            Instr::LabelEnter { label } => {
                let text = self.value(self.plan.labels[label as usize].text)?;
                self.line(format!("time {text}"));
            }
            Instr::LabelLeave => self.line("time end".into()),
            Instr::GroupEnter { group, skip } => {
                let inner = self.plan.sets[self.set_id() as usize].enter[group as usize];
                match self.plan.sets[inner as usize].members.contains(&self.rank) {
                    true => self.groups.push((inner, group)),
                    false => self.pc = skip,
                }
            }
            Instr::GroupLeave => drop(self.groups.pop()),
            Instr::Master { skip } => {
                if self.plan.sets[self.set_id() as usize].members.start != self.rank {
                    self.pc = skip;
                }
            }
            Instr::Barrier { group } => {
                let name = group.map_or("", |group| &self.plan.groups[group as usize].name);
                self.line(format!("barrier {name}").trim_end().to_string());
            }
            Instr::WithEnter { .. } => self.line("with".into()),
            Instr::WithLeave => self.line("with end".into()),
            Instr::Op { op, dst, args } => self.op(op, dst, args)?,
            Instr::CallProc { proc, args } => {
                let mut frame = self.all(args)?;
                let callee = &self.plan.procs[proc as usize];
                frame.resize(callee.locals as usize, Value::Unset);
                self.calls.push((self.pc, self.base));
                self.base = self.values.len();
                self.values.extend(frame);
                self.pc = callee.entry;
            }
            Instr::Extent { .. } => panic!("extents stand in patterns, which nothing calls"),
            Instr::Return => {
                self.values.truncate(self.base);
                (self.pc, self.base) = self.calls.pop().expect("a call");
            }
        }
        Ok(true)
    }

    fn start_loop(&mut self, code: u32) -> Eval<()> {
        let code = self.plan.loops[code as usize];
        let from = self.value(code.from)?.as_int()?;
        let to = self.value(code.to)?.as_int()?;
        let step = self.value(code.step)?.as_int()?;
        if step == 0 || (code.counted && to < 0) {
            return Err(value::EvalError::DivisionByZero);
        }
        if if step > 0 { from >= to } else { from <= to } {
            self.pc = code.exit;
            return Ok(());
        }
        for (at, n) in [from, to, step].into_iter().enumerate() {
            self.set(Slot(code.state.0 + at as u32), Value::Int(n));
        }
        if code.var != NO_SLOT {
            self.set(code.var, Value::Int(from));
        }
        assert_eq!(self.pc, code.body);
        Ok(())
    }

    fn next_turn(&mut self, code: u32) {
        let code = self.plan.loops[code as usize];
        let state = [0, 1, 2].map(|at| match self.get(Slot(code.state.0 + at)) {
            Value::Int(n) => *n,
            other => panic!("the state of a loop is {other:?}"),
        });
        let [at, to, step] = state;
        let next = at + step;
        if if step > 0 { next < to } else { next > to } {
            self.set(code.state, Value::Int(next));
            if code.var != NO_SLOT {
                self.set(code.var, Value::Int(next));
            }
            self.pc = code.body;
        } else {
            assert_eq!(self.pc, code.exit);
        }
    }

    fn op(&mut self, op: Op, dst: Slot, args: u32) -> Eval<()> {
        let first = args as usize;
        let operands = match op {
            Op::Print => {
                let count = self.value(self.plan.args[first])?.as_size()? as usize;
                &self.plan.args[first + 1..first + 1 + count]
            }
            _ => &self.plan.args[first..first + op.row().params.len()],
        };
        let mut words = vec![op.name().to_string()];
        for operand in operands {
            words.push(match operand.source() {
                Source::Absent => "-".into(),
                _ => self.value(*operand)?.to_string(),
            });
        }
        self.line(words.join(" "));
        if op == Op::Assert && words[1] == "false" {
            return Err(value::EvalError::Unset);
        }
        if dst != NO_SLOT {
            self.handles += 1;
            self.set(dst, Value::Handle(self.handles));
        }
        Ok(())
    }

    fn function(&mut self, function: Function, args: Args) -> Eval<Value> {
        let values = self.all(args)?;
        let op = match function {
            Function::Len => {
                return match &values[0] {
                    Value::List(items) => Ok(Value::Int(items.len() as i64)),
                    Value::Str(text) => Ok(Value::Int(text.len() as i64)),
                    _ => Err(value::EvalError::Unset),
                };
            }
            Function::Min => BinaryOp::Lt,
            Function::Max => BinaryOp::Gt,
            other => unreachable!("{other:?} is not generated"),
        };
        let mut best = values[0].clone();
        best.as_float()?;
        for value in &values[1..] {
            if value::binary(op, value, &best)?.as_condition()? {
                best = value.clone();
            }
        }
        Ok(best)
    }

    fn internal(&self, what: Internal) -> Value {
        let members = &self.plan.sets[self.set_id() as usize].members;
        Value::Int(match what {
            Internal::Rank => i64::from(self.rank),
            Internal::GroupRank => i64::from(self.rank - members.start),
            Internal::GroupSize => members.len() as i64,
            Internal::GroupName => {
                let group = self.groups.last().map(|(_, group)| *group);
                let name = group.map_or("", |group| &self.plan.groups[group as usize].name);
                return Value::str(name);
            }
            other => unreachable!("{other:?} is not generated"),
        })
    }

    fn set_id(&self) -> u32 {
        self.groups.last().map_or(0, |(set, _)| *set)
    }

    fn at(&self, slot: Slot) -> usize {
        match slot.0 & Slot::LOCAL {
            0 => slot.0 as usize,
            _ => self.base + (slot.0 & !Slot::LOCAL) as usize,
        }
    }

    fn get(&self, slot: Slot) -> &Value {
        &self.values[self.at(slot)]
    }

    fn set(&mut self, slot: Slot, value: Value) {
        let at = self.at(slot);
        self.values[at] = value;
    }

    fn all(&mut self, args: Args) -> Eval<Vec<Value>> {
        let operands = self.plan.args[args.range()].to_vec();
        operands.into_iter().map(|operand| self.value(operand)).collect()
    }

    fn value(&self, operand: Operand) -> Eval<Value> {
        match operand.source() {
            Source::Slot(slot) => match self.get(slot) {
                Value::Unset => Err(value::EvalError::Unset),
                value => Ok(value.clone()),
            },
            Source::Const(index) => Ok(self.plan.consts[index as usize].clone()),
            Source::Template(index) => {
                let template = self.plan.templates[index as usize];
                let mut out = Vec::new();
                for piece in &self.plan.pieces[template.start as usize..template.end as usize] {
                    match piece {
                        Piece::Text { start, end } => {
                            out.extend_from_slice(&self.plan.text[*start as usize..*end as usize]);
                        }
                        Piece::Value(operand) => self.value(*operand)?.render(&mut out)?,
                        Piece::Internal(what) => self.internal(*what).render(&mut out)?,
                    }
                }
                limits::check_text(out.len())?;
                Ok(Value::Str(out))
            }
            Source::Absent => Err(value::EvalError::Unset),
        }
    }
}
