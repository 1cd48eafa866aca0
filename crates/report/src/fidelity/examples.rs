//! The first place of each kind of difference, with what stands around it on either side.

use super::stream::{Near, Step, Texts};
use super::tally::{Example, Kind};
use model::event::{NO_ID, rename_word};
use model::op::Class;
use model::{Op, Run, errno};
use serde::Serialize;

/// The first operation that differs in one way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct First {
    /// How it differs.
    pub kind: Kind,
    /// Its rank.
    pub rank: u32,
    /// The original around it.
    pub original: Vec<ShownStep>,
    /// The replay around it.
    pub replay: Vec<ShownStep>,
}

/// An operation as people read it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ShownStep {
    /// It is the one that differs, not one around it.
    pub here: bool,
    /// Its number on its rank, from 0.
    pub number: u64,
    /// The operation as text: `fwrite a, 4096 bytes at 0`.
    pub text: String,
    /// Where it stands: `x.ppl:3` or `app.strace:17`; "" if nobody tells.
    pub place: String,
}

/// Examples as they are shown, in the order of [`Kind`].
pub(super) fn first_differences(
    examples: &[Example],
    texts: &Texts,
    runs: [&Run; 2],
) -> Vec<First> {
    let mut sorted: Vec<&Example> = examples.iter().collect();
    sorted.sort_by_key(|example| example.kind);
    let first = |example: &&Example| {
        let side = |at: usize, here: Option<Step>| {
            let shown = Shown { texts, run: runs[at], here };
            shown.around(&example.near[at])
        };
        First {
            kind: example.kind,
            rank: example.rank,
            original: side(0, example.ours),
            replay: side(1, example.theirs),
        }
    };
    sorted.iter().map(first).collect()
}

struct Shown<'a> {
    texts: &'a Texts,
    run: &'a Run,
    here: Option<Step>,
}

impl Shown<'_> {
    fn around(&self, near: &Near) -> Vec<ShownStep> {
        near.past.iter().chain(&near.next).map(|step| self.step(step)).collect()
    }

    fn step(&self, step: &Step) -> ShownStep {
        ShownStep {
            here: self.here == Some(*step),
            number: step.seq,
            text: self.text(step),
            place: self.place(step),
        }
    }

    fn text(&self, step: &Step) -> String {
        let op = Op::from_u8(step.op);
        let mut text = op.map_or("?", Op::name).to_string();
        let copies = op.is_some_and(Op::is_between_files);
        let moves = op.is_some_and(|op| matches!(op.row().class, Class::Read | Class::Write));
        for (sign, name) in [(" ", step.name), (if copies { " from " } else { " to " }, step.name2)]
        {
            if name != NO_ID {
                text.push_str(&format!("{sign}{}", self.texts.shown(name)));
            }
        }
        match (step.asked, step.offset) {
            (0, 0) => {}
            (how, _) if op == Some(Op::Rename) => {
                text.extend(rename_word(how).map(|how| format!(", \"{how}\"")));
            }
            (asked, offset) => text.push_str(&format!(", {asked} bytes at {offset}")),
        }
        if copies {
            text.push_str(&format!(" from {}", step.from));
        }
        match step.errno {
            0 if moves && step.done < step.asked => {
                text.push_str(&format!(": {} moved", step.done))
            }
            0 => {}
            number => text.push_str(&format!(": {}", errno::name(number))),
        }
        text
    }

    fn place(&self, step: &Step) -> String {
        let header = &self.run.run;
        if let Some(trace) = &header.trace {
            let log = trace.logs.get(step.log as usize).filter(|_| step.log_line > 0);
            return log.map_or_else(String::new, |log| format!("{}:{}", log.name, step.log_line));
        }
        let site = header.sites.iter().find(|site| site.site == step.site);
        site.map_or_else(String::new, |site| format!("{}:{}", site.file, site.line))
    }
}
