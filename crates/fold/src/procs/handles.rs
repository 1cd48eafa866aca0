//! Which open files a sequence needs, and which it leaves open.

use super::super::ranks::{Form, Item};
use super::super::shape::{Arg, Shape, Shaper};
use super::Proc;
use model::Op;

/// Open files of a sequence, as variables.
#[derive(Clone, Debug, Default)]
pub struct Handles {
    /// Those that must be open before.
    pub needs: Vec<u32>,
    /// Of them those that it closes.
    closes: Vec<u32>,
    /// Those that it opens and does not close.
    pub leaves: Vec<u32>,
}

impl Handles {
    /// Those of a sequence; `None`: it is not known when they are open.
    pub fn of(items: &[Item], shaper: &Shaper<'_>, procs: &[Proc]) -> Option<Handles> {
        let mut all = Handles::default();
        for item in items {
            match &item.form {
                Form::Leaf(shape) => {
                    let Shape::Op(statement) = &shaper.shapes.all[*shape as usize] else {
                        continue;
                    };
                    for arg in &statement.args {
                        if let Arg::Handle(variable) = arg {
                            all.uses(*variable)?;
                            if matches!(statement.op, Op::Fclose | Op::Pfclose) {
                                all.close(*variable);
                            }
                        }
                    }
                    let opened = statement.gives.filter(|_| statement.errno == 0);
                    opened.into_iter().for_each(|variable| all.leaves.push(variable));
                }
                Form::Loop | Form::Only(_) | Form::Mix | Form::Case(_) => {
                    let inner = Handles::of(&item.body, shaper, procs)?;
                    if !inner.leaves.is_empty() || !inner.closes.is_empty() {
                        return None;
                    }
                    // Ranks that leave this out may have nothing open that they could hand over.
                    let is_open = |variable: &u32| all.leaves.contains(variable);
                    if matches!(item.form, Form::Only(_)) && !inner.needs.iter().all(is_open) {
                        return None;
                    }
                    inner.needs.iter().try_for_each(|variable| all.uses(*variable))?;
                }
                Form::Call(proc) => {
                    let inner = Handles::of(&procs[*proc].body, shaper, procs)?;
                    inner.needs.iter().try_for_each(|variable| all.uses(*variable))?;
                    inner.closes.iter().for_each(|variable| all.close(*variable));
                    all.leaves.extend(inner.leaves);
                }
                Form::Block(_) => {
                    let inner = Handles::of(&item.body, shaper, procs)?;
                    inner.needs.iter().try_for_each(|variable| all.uses(*variable))?;
                    inner.closes.iter().for_each(|variable| all.close(*variable));
                    all.leaves.extend(inner.leaves);
                }
            }
        }
        Some(all)
    }

    fn uses(&mut self, variable: u32) -> Option<()> {
        if self.leaves.contains(&variable) {
            return Some(());
        }
        if self.closes.contains(&variable) {
            return None;
        }
        if !self.needs.contains(&variable) {
            self.needs.push(variable);
        }
        Some(())
    }

    fn close(&mut self, variable: u32) {
        match self.leaves.iter().position(|open| *open == variable) {
            Some(at) => {
                self.leaves.remove(at);
            }
            None => self.closes.push(variable),
        }
    }
}
