//! A program in several files: every phase is a proc in a file of its own, which the program includes.
//!
//! ```text
//! app.ppl          include "app-load.ppl"; include "app-query.ppl"; phase_load(); phase_query();
//! app-load.ppl     define proc phase_load() { time["load"] { ... } }
//! ```

use super::super::expr::holds;
use super::super::procs::{Handles, stem, text_of};
use super::super::ranks::{Form, Item, Ranks};
use super::super::shape::Shape;
use super::data::LongLists;
use super::{Lines, Writer, comment, directory};
use std::slice;

/// A file that a program includes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Included {
    /// Its name, beside the program.
    pub name: String,
    /// Its text.
    pub text: String,
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
        let mut phases: Vec<(String, Included)> = Vec::new();
        let mut names: Vec<String> = Vec::new();
        let mut body = Lines::new();
        for item in items {
            let Some((label, handles)) = self.phase(item) else {
                self.item(item, &mut body);
                continue;
            };
            let proc = unlike(&format!("phase_{}", stem(label.as_bytes())), &names);
            let (text, call) = self.as_proc(item, &proc, &handles);
            names.push(proc);
            body.push(call);
            let file = format!("{name}-{}.ppl", file_stem(&label));
            match phases.iter_mut().find(|(_, part)| part.name == file) {
                Some((_, part)) => part.text += &format!("\n{text}\n"),
                None => {
                    let part = Included { name: file, text: format!("{text}\n") };
                    phases.push((format!("The phase {label}"), part));
                }
            }
        }
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

    /// The label of an element that is a phase, and the open files that it takes and gives.
    fn phase(&self, item: &Item) -> Option<(String, Handles)> {
        let label = self.label(item)?;
        let handles = Handles::of(inside(item).0, self.shaper, self.procs)?;
        (handles.leaves.len() < 2).then_some((label, handles))
    }

    /// The first label in it.
    fn label(&self, item: &Item) -> Option<String> {
        if let Form::Block(shape) = item.form
            && let Shape::Label(template) = self.shaper.shapes.all[shape as usize]
        {
            let text = text_of(&self.shaper.names.templates[template as usize]);
            return Some(model::escape::line(&String::from_utf8_lossy(&text)));
        }
        item.body.iter().find_map(|inner| self.label(inner))
    }

    /// Its definition and its call, which only those ranks make that have its files.
    fn as_proc(&mut self, item: &Item, name: &str, handles: &Handles) -> (String, String) {
        // What the program has made before its calls is made after the definition.
        let made = std::mem::take(&mut self.made);
        let (inside, ranks) = inside(item);
        let mut body = self.body(inside);
        self.made = made;
        let gives = handles.leaves.first().map(|variable| self.file(*variable));
        body.extend(gives.iter().map(|file| format!("return {file};")));
        let needs: Vec<String> = handles.needs.iter().map(|file| self.file(*file)).collect();
        let needs = needs.join(", ");
        let text = format!("define proc {name}({needs}) {{\n{}\n}}", body.join("\n"));
        let gives = gives.map_or(String::new(), |file| format!("{file} = "));
        let call = format!("{gives}{name}({needs});");
        let call = match ranks {
            Some(ranks) => self.only_there(ranks, vec![call]),
            None => call,
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
