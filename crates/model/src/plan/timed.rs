//! Instructions whose number of executions depends on a time limit.

use super::{Instr, Pc, Plan};

impl Plan {
    /// For each instruction: it is in a loop `until` a time limit that is `counted`, also in a proc that is
    /// called there. `counted` is asked with the instruction of the limit. The loops of `level` are none: there
    /// all members come to the same number of iterations.
    pub fn timed(&self, counted: impl Fn(Pc) -> bool) -> Vec<bool> {
        let mut timed = vec![false; self.code.len()];
        for (pc, instr) in (0..).zip(&self.code) {
            if let Instr::Limit { exit, .. } = instr
                && counted(pc)
            {
                self.add_timed(pc, *exit, &mut timed);
            }
        }
        timed
    }

    /// Adds instructions and, as long as there are new ones, the procs that they call.
    fn add_timed(&self, from: Pc, to: Pc, timed: &mut [bool]) {
        let mut parts = vec![(from, to)];
        while let Some((from, to)) = parts.pop() {
            for pc in from as usize..(to as usize).min(timed.len()) {
                let is_new = !std::mem::replace(&mut timed[pc], true);
                if let (true, Instr::CallProc { proc, .. }) = (is_new, self.code[pc]) {
                    parts.extend(self.body_of(proc));
                }
            }
        }
    }

    /// The instructions of a proc: up to the next one.
    fn body_of(&self, proc: u32) -> Option<(Pc, Pc)> {
        let entry = self.procs.get(proc as usize)?.entry;
        let later = self.procs.iter().map(|other| other.entry).filter(|other| *other > entry);
        Some((entry, later.min().unwrap_or(self.code.len() as Pc)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Args, Proc, Slot};
    use super::*;

    #[test]
    fn procs_of_limited_loops_belong_to_them() {
        let limit = Instr::Limit { end: Slot(0), exit: 3 };
        let call = |proc| Instr::CallProc { proc, args: Args::default() };
        let code = vec![
            Instr::LabelLeave,
            limit,
            call(1),
            call(0),
            Instr::Halt,
            Instr::Return,
            call(1),
            Instr::Return,
        ];
        let proc = |entry| Proc { name: String::new(), entry, params: 0, locals: 0 };
        let plan = Plan { code, procs: vec![proc(5), proc(6)], ..Plan::default() };
        let timed = plan.timed(|pc| pc == 1);
        assert_eq!(timed, [false, true, true, false, false, false, true, true]);
        assert!(!plan.timed(|_| false).contains(&true));
    }
}
