//! The state of a paused rank: its place, its variables, its open files.

use super::rank::Machine;
use model::Value;
use model::open_flags::text_of_flags;
use model::plan::Pc;
use model::watched::{OpenFile, Variable};

/// Letters of a value that are shown.
const LETTERS: usize = 200;

impl Machine<'_> {
    /// The instruction that it executes next, or at which it waits.
    pub(crate) fn pc(&self) -> Pc {
        self.position.pc
    }

    /// The calls of the procs that are running, the innermost first.
    pub(crate) fn open_calls(&self) -> Vec<Pc> {
        self.position.callers().collect()
    }

    /// Labels around it, `outer/inner`.
    pub(crate) fn label(&self) -> String {
        let record = self.io.recorder.figures_so_far();
        let path = record.ok().and_then(|record| {
            let label = record.labels.get(self.io.labels.id() as usize)?;
            Some(String::from_utf8_lossy(&label.path).into_owned())
        });
        path.unwrap_or_default()
    }

    /// The innermost group; "" outside of all.
    pub(crate) fn group(&self) -> String {
        self.env.scope.group_name(self.env.plan).into()
    }

    /// Parameters and variables: global ones, then those of the running procs, the innermost first. Those that always
    /// have the same value are constants in the code and have no place.
    pub(crate) fn variables(&self) -> Vec<Variable> {
        let plan = self.env.plan;
        let params = plan.params.iter().filter(|(name, _)| !plan.globals.contains(name));
        let params = params.map(|(name, value)| show(name, value, ""));
        let others = self.named_values().map(|(name, value, proc)| show(name, value, proc));
        params.chain(others).collect()
    }

    /// Names, values, and names of the procs that they belong to.
    fn named_values(&self) -> impl Iterator<Item = (&str, &Value, &str)> {
        let plan = self.env.plan;
        let globals = plan.globals.iter().zip(&self.env.values);
        let globals = globals.map(|(name, value)| (&**name, value, ""));
        let own = self.frames().flat_map(move |(pc, base)| {
            let proc = proc_at(plan, pc);
            let names = proc.map_or(&[][..], |proc| &plan.locals[proc]);
            let name = proc.map_or("", |proc| &plan.procs[proc].name);
            let values = self.env.values.get(base..).unwrap_or_default();
            names.iter().zip(values).map(move |(own, value)| (&**own, value, name))
        });
        globals.chain(own).filter(|(name, ..)| !name.is_empty())
    }

    /// Running procs: an instruction in each, and where its variables begin.
    fn frames(&self) -> impl Iterator<Item = (Pc, usize)> {
        let calls = self.position.calls.iter().rev();
        let mut inner = (self.position.pc, self.env.base);
        calls.map(move |call| std::mem::replace(&mut inner, (call.return_to - 1, call.outer_base)))
    }
}

impl Machine<'_> {
    /// Files that it has open.
    pub(crate) fn open_files(&mut self) -> Vec<OpenFile> {
        let held = |number: u64| {
            let holds = |value: &Value| matches!(value, Value::Handle(own, _) if *own == number);
            let holders = self.named_values().filter(|(_, value, _)| holds(value));
            holders.map(|(name, ..)| format!("${name}")).collect::<Vec<_>>()
        };
        let files: Vec<_> = self
            .io
            .handles
            .list()
            .map(|(number, file, handle)| {
                let path = self.env.plan.named(&handle.path);
                let path = String::from_utf8_lossy(&path).into_owned();
                let variables = held(number);
                (
                    file,
                    OpenFile { path, position: handle.position, variables, ..OpenFile::default() },
                )
            })
            .collect();
        let backend = &mut self.io.backend;
        let complete = |(file, shown)| {
            let (flags, size_bytes) = backend.flags_and_size(file).unwrap_or((0, 0));
            let flags = if file.is_ok() { text_of_flags(flags as u32) } else { "MPI".into() };
            OpenFile { flags, size_bytes, ..shown }
        };
        files.into_iter().map(complete).collect()
    }
}

/// The proc that an instruction belongs to: procs are behind the program, one after the other.
fn proc_at(plan: &model::Plan, pc: Pc) -> Option<usize> {
    let before = plan.procs.iter().enumerate().filter(|(_, proc)| proc.entry <= pc);
    before.max_by_key(|(_, proc)| proc.entry).map(|(at, _)| at)
}

fn show(name: &str, value: &Value, proc: &str) -> Variable {
    let value = match value {
        Value::Unset => None,
        value => {
            let text = value.to_string();
            let cut = text.char_indices().nth(LETTERS).map(|(end, _)| format!("{}…", &text[..end]));
            Some(cut.unwrap_or(text))
        }
    };
    Variable { name: name.into(), value, proc: proc.into() }
}
