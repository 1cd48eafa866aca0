//! A program in several files: every phase is a proc in a file of its own, which the program includes.
//!
//! ```text
//! app.ppl          include "app-load.ppl"; include "app-query.ppl"; phase_load(); phase_query();
//! app-load.ppl     define proc phase_load() { time["load"] { ... } }
//! ```

use super::super::expr::{constant, goes_on, holds};
use super::super::names::Part;
use super::super::procs::{Handles, stem};
use super::super::ranks::{Form, Item, Ranks};
use super::super::shape::Shape;
use super::super::think::Think;
use super::data::LongLists;
use super::{Lines, Writer, comment, directory};
use std::collections::BTreeSet;
use std::slice;

/// A file that a program includes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Included {
    /// Its name, beside the program.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// Phases that became procs in files of their own.
pub(super) struct Phases {
    /// What names of files begin with.
    name: String,
    /// What each file is, and its text.
    files: Vec<(String, Included)>,
    /// Names of the procs.
    procs: Vec<String>,
    /// All of the program, by labels from the outermost to the innermost one.
    all: BTreeSet<Vec<String>>,
}

/// The labels of a phase, from the outermost to the innermost one, and its open files.
pub(super) type Phase = (Vec<String>, Handles);

impl Phases {
    fn named(name: &str, items: &[Item], writer: &Writer<'_>) -> Phases {
        let all = items.iter().flat_map(|item| writer.labels(item)).collect();
        Phases { name: name.into(), files: Vec::new(), procs: Vec::new(), all }
    }

    /// What a phase is called: by its innermost label, or by all where others have the same.
    fn shown(&self, label: &[String]) -> String {
        let alike = self.all.iter().filter(|other| other.last() == label.last()).count();
        let from = if alike > 1 { 0 } else { label.len().saturating_sub(1) };
        label[from..].join(" ")
    }

    fn add(&mut self, label: &str, proc: String, text: &str) {
        self.procs.push(proc);
        let file = format!("{}-{}.ppl", self.name, file_stem(label));
        match self.files.iter_mut().find(|(_, part)| part.name == file) {
            Some((_, part)) => part.text += &format!("\n{text}\n"),
            None => {
                let part = Included { name: file, text: format!("{text}\n") };
                self.files.push((format!("The phase {label}"), part));
            }
        }
    }
}

/// A program without its head.
pub(super) struct Body {
    /// What the program includes: what each file is, for people, and its text.
    pub parts: Vec<(String, Included)>,
    /// Definitions that stay in the program.
    pub definitions: Lines,
    /// Its statements.
    pub body: Lines,
}

impl Body {
    /// Takes the directory out of all texts that is worth a name.
    pub(super) fn name_directory(&mut self) -> Option<String> {
        let parts = self.parts.iter().map(|(_, part)| part.text.as_str());
        let own = self.definitions.iter().chain(&self.body).map(String::as_str);
        let directory = directory::worth_a_name(parts.chain(own))?;
        let own = self.definitions.iter_mut().chain(&mut self.body);
        let parts = self.parts.iter_mut().map(|(_, part)| &mut part.text);
        own.chain(parts).for_each(|text| *text = directory::shortened(text, &directory));
        Some(directory)
    }
}

impl Writer<'_> {
    /// The files of a program that is called `name`; `None`: one file for all. `data` takes long lists.
    pub(super) fn files(
        &mut self,
        items: &[Item],
        name: Option<&str>,
        data: &mut Option<LongLists>,
    ) -> Body {
        let procs = self.procs;
        let procs: Lines = procs.iter().map(|proc| self.definition(proc)).collect();
        let Some(name) = name else {
            let body = [procs, self.body(items)].concat();
            return Body { parts: Vec::new(), definitions: self.lists(data), body };
        };
        self.phases = Some(Phases::named(name, items, self));
        let body = self.body(items);
        let mut phases = self.phases.take().map_or(Vec::new(), |phases| phases.files);
        if phases.is_empty() {
            return Body {
                parts: Vec::new(),
                definitions: self.lists(data),
                body: [procs, body].concat(),
            };
        }
        let others = [procs.clone(), body.clone()].concat();
        let lists = self.shared_lists(&mut phases, &others, data);
        let common = [("Lists", "lists", lists), ("Procs of several phases", "procs", procs)];
        let common = common.into_iter().filter(|(_, _, lines)| !lines.is_empty());
        let mut parts: Vec<(String, Included)> = Vec::new();
        for (what, ending, lines) in common {
            let taken: Vec<String> = phases.iter().map(|(_, part)| part.name.clone()).collect();
            let stem = unlike(
                &format!("{name}-{ending}"),
                &taken.iter().map(|t| t.replace(".ppl", "")).collect::<Vec<_>>(),
            );
            let part = Included { name: format!("{stem}.ppl"), text: lines.join("\n") + "\n" };
            parts.push((what.into(), part));
        }
        parts.extend(phases);
        Body { parts, definitions: Lines::new(), body }
    }

    /// An element that is one phase, with the open files that it takes and gives.
    pub(super) fn phase(&self, item: &Item) -> Option<Phase> {
        let mut labels = self.labels(item).into_iter();
        let label = labels.next().filter(|_| labels.next().is_none())?;
        let handles = Handles::of(inside(item).0, self.shaper, self.procs)?;
        // What counts from one call to the next is no variable of a proc.
        let counts = self.think == Think::Exact || goes_on(item, 0);
        (self.loops.is_empty() || !counts).then_some((label, handles))
    }

    /// The labels in it that have operations of their own, from the outermost to the innermost one.
    fn labels(&self, item: &Item) -> BTreeSet<Vec<String>> {
        let mut all = item.body.iter().fold(BTreeSet::new(), |mut all, inner| {
            all.append(&mut self.labels(inner));
            all
        });
        if let Form::Block(shape) = item.form
            && let Shape::Label(template) = self.shaper.shapes.all[shape as usize]
        {
            let label = self.label(template, item);
            if all.is_empty() || item.body.iter().any(|inner| self.works(inner)) {
                return BTreeSet::from([vec![label]]);
            }
            let within = |inner: Vec<String>| [vec![label.clone()], inner].concat();
            all = all.into_iter().map(within).collect();
        }
        all
    }

    /// There are operations in it that are in no label of it.
    fn works(&self, item: &Item) -> bool {
        match item.form {
            Form::Leaf(shape) => {
                matches!(self.shaper.shapes.all[shape as usize], Shape::Op(_))
            }
            Form::Call(_) => true,
            Form::Block(_) => false,
            _ => item.body.iter().any(|inner| self.works(inner)),
        }
    }

    /// The text of a label; numbers that differ are `*`.
    fn label(&self, template: u32, item: &Item) -> String {
        let mut numbers = item.numbers.iter();
        let parts = self.shaper.names.templates[template as usize].iter();
        let text = parts.map(|part| match (part, numbers.as_slice().first()) {
            (Part::Text(text), _) => String::from_utf8_lossy(text).into_owned(),
            (Part::Number { width }, number) => {
                numbers.next();
                let constant = number.and_then(constant);
                constant.map_or("*".into(), |number| format!("{number:0width$}"))
            }
        });
        model::escape::line(&text.collect::<String>())
    }

    /// Puts a phase into its file, and its call into the lines.
    pub(super) fn take_phase(&mut self, item: &Item, (label, handles): Phase, lines: &mut Lines) {
        let Some(mut phases) = self.phases.take() else { return };
        let label = phases.shown(&label);
        let name = unlike(&format!("phase_{}", stem(label.as_bytes())), &phases.procs);
        let (text, call) = self.as_proc(item, &name, &handles);
        lines.push(call);
        phases.add(&label, name, &text);
        self.phases = Some(phases);
    }

    /// Its definition and its call, which only those ranks make that have its files.
    fn as_proc(&mut self, item: &Item, name: &str, handles: &Handles) -> (String, String) {
        // What the program has made before its calls is made after the definition.
        let made = std::mem::take(&mut self.made);
        let (inside, ranks) = inside(item);
        let mut body = self.body(inside);
        self.made = made;
        let gives: Vec<String> = handles.leaves.iter().map(|file| self.file(*file)).collect();
        body.extend(match &gives[..] {
            [] => None,
            [file] => Some(format!("return {file};")),
            files => Some(format!("return [{}];", files.join(", "))),
        });
        let body = body.join("\n");
        let around = self.loops.iter().flat_map(|around| around.variables_in(&body));
        let needs = handles.needs.iter().map(|file| self.file(*file));
        let needs: Vec<String> = needs.chain(around.map(str::to_string)).collect();
        let needs = needs.join(", ");
        let text = format!("define proc {name}({needs}) {{\n{body}\n}}");
        let call = match &gives[..] {
            [] => vec![format!("{name}({needs});")],
            [file] => vec![format!("{file} = {name}({needs});")],
            files => {
                let taken = (0..).zip(files).map(|(at, file)| format!("{file} = $open[{at}];"));
                [format!("$open = {name}({needs});")].into_iter().chain(taken).collect()
            }
        };
        let call = match ranks {
            Some(ranks) => self.only_there(ranks, call),
            None => call.join("\n"),
        };
        (text, call)
    }

    /// Gives lists to the only phase that reads them; the others.
    fn shared_lists(
        &self,
        phases: &mut [(String, Included)],
        others: &[String],
        data: &mut Option<LongLists>,
    ) -> Lines {
        let mut shared = Lines::new();
        for (name, line) in self.named_lists(data) {
            let mut readers = phases.iter_mut().filter(|(_, part)| holds(&part.text, &name));
            match (readers.next(), readers.next()) {
                (Some((_, part)), None) if !others.iter().any(|text| holds(text, &name)) => {
                    part.text = format!("{line}\n\n{}", part.text);
                }
                _ => shared.push(line),
            }
        }
        shared
    }
}

/// What a phase consists of, and the only ranks that have it.
fn inside(item: &Item) -> (&[Item], Option<&Ranks>) {
    match &item.form {
        Form::Only(ranks) => (&item.body, Some(ranks)),
        _ => (slice::from_ref(item), None),
    }
}

/// The text of a part, with its head.
pub(super) fn with_head((what, part): (String, Included), head: &[String]) -> Included {
    let from = head.first().cloned().into_iter();
    let lines: Vec<String> = from.chain([format!("{what}.")]).collect();
    Included { text: format!("{}\n{}", comment(&lines), part.text), name: part.name }
}

/// The name, with a number if it is taken.
fn unlike(name: &str, taken: &[String]) -> String {
    let numbered = (2..).map(|number| format!("{name}_{number}"));
    let mut all = std::iter::once(name.to_string()).chain(numbered);
    all.find(|name| !taken.contains(name)).unwrap_or_default()
}

/// Longest part of a file's name that a label gives, in bytes.
const STEM_MAX: usize = 40;

/// What of a label can stand in the name of a file.
fn file_stem(label: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
    let all: String = label.chars().take(STEM_MAX).map(plain).collect();
    let words: Vec<&str> = all.split('-').filter(|word| !word.is_empty()).collect();
    if words.is_empty() { "phase".into() } else { words.join("-") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_become_names_of_files() {
        for (label, expected) in
            [("load", "load"), ("./a b/..", "a-b"), ("..", "phase"), ("step-#", "step")]
        {
            assert_eq!(file_stem(label), expected);
        }
        assert_eq!(unlike("a", &["a".into(), "a_2".into()]), "a_3");
    }
}
