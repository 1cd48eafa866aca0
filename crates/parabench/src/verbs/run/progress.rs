//! How far the ranks are, on standard error if somebody looks at it. The parent
//! draws; its supervisor calls it only while no rank is inside a label.

use crate::console;
use engine::comm::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use model::Plan;

/// A bar, or a line where the plan does not tell how much there is to do.
pub struct Bar {
    drawn: Option<ProgressBar>,
}

impl Bar {
    /// Nothing is drawn yet.
    pub fn new(plan: &Plan, quiet: bool) -> Bar {
        let drawn = (!quiet && console::is_watched()).then(|| draw(plan));
        Bar { drawn }
    }

    /// Draws how far the ranks are, or says that they wait to be started.
    pub fn show(&mut self, progress: &Progress) {
        if progress.held {
            say_ready();
            return;
        }
        let Some(bar) = &self.drawn else { return };
        bar.set_position(progress.operations);
        let waiting = match progress.waiting {
            0 => String::new(),
            n => format!(", {n} waiting"),
        };
        bar.set_message(format!("{} ranks at work{waiting}", progress.running));
    }

    /// Takes it off the terminal.
    pub fn clear(self) {
        if let Some(bar) = self.drawn {
            bar.finish_and_clear();
        }
    }
}

/// How far a sweep is: executions, and an estimate of the rest from those that are over.
pub struct SweepBar {
    drawn: Option<ProgressBar>,
}

impl SweepBar {
    /// `executions`: at most.
    pub fn new(executions: u64, quiet: bool) -> SweepBar {
        const TEMPLATE: &str =
            "{bar:30} {pos} of {len} executions, about {eta} left, {prefix} {msg}";
        let drawn = (!quiet && console::is_watched()).then(|| {
            let target = ProgressDrawTarget::stderr();
            let bar = ProgressBar::with_draw_target(Some(executions), target);
            let style = ProgressStyle::with_template(TEMPLATE);
            bar.with_style(style.expect("a constant that is well-formed"))
        });
        SweepBar { drawn }
    }

    /// An execution of this cell begins.
    pub fn begin(&self, cell: &str) {
        if let Some(bar) = &self.drawn {
            bar.set_prefix(model::escape::line(cell));
            bar.set_message("");
        }
    }

    /// The ranks are so far, or wait to be started.
    pub fn show(&self, progress: &Progress) {
        if progress.held {
            say_ready();
        } else if let Some(bar) = &self.drawn {
            bar.set_message(format!("({} operations)", progress.operations));
        }
    }

    /// It is over.
    pub fn done(&self) {
        if let Some(bar) = &self.drawn {
            bar.inc(1);
        }
    }

    /// An execution that is not needed.
    pub fn skip(&self) {
        if let Some(bar) = &self.drawn {
            bar.set_length(bar.length().unwrap_or(1).saturating_sub(1));
        }
    }

    /// Takes it off the terminal.
    pub fn clear(&self) {
        if let Some(bar) = &self.drawn {
            bar.finish_and_clear();
        }
    }
}

fn say_ready() {
    let pid = std::process::id();
    console::say(&format!("ready; to start: kill -USR1 {pid}\n"));
}

fn draw(plan: &Plan) -> ProgressBar {
    let operations = operations(plan);
    let template = match operations {
        Some(_) => "{bar:30} {human_pos} of {human_len} operations, {msg}",
        None => "{human_pos} operations, {msg}",
    };
    let bar = ProgressBar::with_draw_target(operations, ProgressDrawTarget::stderr());
    bar.with_style(ProgressStyle::with_template(template).expect("a constant that is well-formed"))
}

/// Operations of all ranks, if the budget knows them all.
fn operations(plan: &Plan) -> Option<u64> {
    let known = plan.budget.iter().all(|(_, budget)| budget.exact);
    let of = |(ranks, budget): &(std::ops::Range<u32>, model::plan::Budget)| {
        let each: u64 = budget.ops.iter().map(|(_, op)| op.count).sum();
        each.saturating_mul(u64::from(ranks.end - ranks.start))
    };
    known.then(|| plan.budget.iter().map(of).sum())
}
