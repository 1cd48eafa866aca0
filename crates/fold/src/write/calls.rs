//! Procs and their calls, as text.

use super::super::alike::NumberKind;
use super::super::procs::Proc;
use super::super::ranks::Spread;
use super::{Lines, Writer, block};

impl Writer<'_> {
    /// `define proc name($file, $n) { ... }`
    pub(super) fn definition(&mut self, proc: &Proc) -> String {
        let params = proc.params.iter().map(|param| param.name.to_string());
        self.made = params.clone().map(|name| (name.clone(), name)).collect();
        let mut body = self.body(&proc.body);
        self.made.clear();
        body.extend(proc.returns.map(|variable| format!("return {};", self.file(variable))));
        let handles = proc.handles.iter().map(|variable| self.file(*variable));
        let all: Vec<String> = handles.chain(params).collect();
        let head = format!("define proc {}({})", proc.name, all.join(", "));
        // A proc has braces, even around one statement.
        match &body[..] {
            [one] if !one.contains('\n') => format!("{head} {{\n{one}\n}}"),
            _ => block(&head, body),
        }
    }

    /// `name($file, 3);`
    pub(super) fn call(&mut self, at: usize, numbers: &[Spread], lines: &mut Lines) -> String {
        let procs = self.procs;
        let proc = &procs[at];
        self.sizes.unit = None;
        let mut args: Vec<String> = proc.handles.iter().map(|v| self.file(*v)).collect();
        for (param, number) in proc.params.iter().zip(numbers) {
            args.push(match param.kind {
                NumberKind::Name => self.named(Some(number), lines),
                NumberKind::Count => self.linear(number).shown(&self.plain(), false),
                NumberKind::Bytes => self.size(number),
            });
        }
        let gives = proc.returns.map(|variable| format!("{} = ", self.file(variable)));
        format!("{}{}({});", gives.unwrap_or_default(), proc.name, args.join(", "))
    }

    fn size(&mut self, number: &Spread) -> String {
        let linear = self.linear(number);
        let param = linear.constant().and_then(|value| self.params.size(value));
        param.unwrap_or_else(|| linear.shown(&self.plain(), true))
    }
}
