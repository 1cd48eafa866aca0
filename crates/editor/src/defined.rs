//! Names that a program defines, offered where it uses such names: patterns, groups, variables with open files.
//!
//! They are read from the outline, which there is for programs with mistakes, too. Not here: all places of a name
//! (`names`).

use crate::outline::{Item, Kind};
use crate::palette::Entry;
use model::Op;
use model::op::{OPS, ParamKind};

/// Names as they are written, in the order of the text.
#[derive(Debug, Default)]
pub(crate) struct Defined {
    patterns: Vec<String>,
    groups: Vec<String>,
    handles: Vec<String>,
    mpi_handles: Vec<String>,
}

impl Defined {
    /// The names of a program.
    pub(crate) fn of(items: &[Item]) -> Defined {
        let mut all = Defined::default();
        items.iter().for_each(|item| all.add(item));
        all
    }

    fn add(&mut self, item: &Item) {
        let value = |name: &str| {
            let found = item.parameters.iter().find(|one| one.name == name);
            found.and_then(|one| one.value.clone())
        };
        match (item.kind, item.op) {
            (Kind::Pattern, _) => self.patterns.extend(value("name")),
            (Kind::Groups, _) => {
                let names = item.parameters.iter().map(|one| format!("\"{}\"", one.name));
                self.groups.extend(names);
            }
            (_, Some(Op::Pfopen)) => self.mpi_handles.extend(value("variable")),
            (_, Some(op)) if op.row().gives_handle() => self.handles.extend(value("variable")),
            _ => {}
        }
        item.children.iter().for_each(|child| self.add(child));
    }

    /// The names that a parameter of an operation may be.
    fn of_kind(&self, kind: ParamKind) -> &[String] {
        match kind {
            ParamKind::Pattern => &self.patterns,
            ParamKind::Group => &self.groups,
            ParamKind::Handle => &self.handles,
            ParamKind::MpiHandle => &self.mpi_handles,
            _ => &[],
        }
    }

    /// Makes the names choices of the parameters that take them.
    pub(crate) fn offer(&self, items: &mut [Item]) {
        for item in items {
            let params = item.op.map_or(&[][..], |op| op.row().params);
            for one in &mut item.parameters {
                let param = params.iter().find(|param| one.name == param.name);
                let names = match param {
                    Some(param) => self.of_kind(param.kind),
                    None if one.shape == "group" => &self.groups,
                    None => &[],
                };
                one.choices.extend_from_slice(names);
            }
            self.offer(&mut item.children);
        }
    }

    /// Replaces names in an example by names that the program defines.
    pub(crate) fn fit(&self, entry: &mut Entry) {
        if entry.name == "group" {
            return put(&mut entry.text, "\"writers\"", &self.groups);
        }
        let Some(row) = OPS.iter().find(|row| row.name == entry.name) else { return };
        for param in row.params {
            match param.kind {
                ParamKind::Pattern => put(&mut entry.text, "\"tiles\"", &self.patterns),
                ParamKind::Handle => put(&mut entry.text, "$h", &self.handles),
                ParamKind::MpiHandle => put(&mut entry.text, "$h", &self.mpi_handles),
                _ => {}
            }
        }
    }
}

/// The newest name instead of one that the program does not have.
fn put(text: &mut String, example: &str, names: &[String]) {
    if names.iter().any(|name| name == example) {
        return;
    }
    if let Some(newest) = names.last() {
        *text = text.replacen(example, newest, 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outline::Outline;
    use crate::palette;

    const PROGRAM: &str = r#"define groups {"in":D, "out":D};
define pattern "p" level 0 = strided(block=4k, count=2);
$file = fopen("a", "r");
fread($file, "p");
group "in" { pwrite("b", "p"); }
"#;

    /// The choices of a parameter of the item with an id.
    fn choices(id: &str, name: &str) -> Vec<String> {
        let mut outline = Outline::new(PROGRAM);
        Defined::of(&outline.items).offer(&mut outline.items);
        let item = outline.find(id).expect("an item");
        let found = item.parameters.iter().find(|one| one.name == name);
        found.expect("a parameter").choices.clone()
    }

    #[test]
    fn forms_offer_the_names_of_the_program() {
        assert_eq!(choices("3", "handle"), ["$file"]);
        assert_eq!(choices("3", "n"), ["\"p\""]);
        assert_eq!(choices("4", "group"), ["\"in\"", "\"out\""]);
        assert_eq!(choices("4.0", "pattern"), ["\"p\""]);
    }

    #[test]
    fn new_parts_use_the_names_of_the_program() {
        let defined = Defined::of(&Outline::new(PROGRAM).items);
        let text = |name: &str| {
            let mut all = palette::entries(&[]).into_iter();
            let mut entry = all.find(|entry| entry.name == name).expect("an entry");
            defined.fit(&mut entry);
            entry.text
        };
        assert_eq!(text("fread"), "fread($file, 4k, 0);");
        assert_eq!(text("pwrite"), "pwrite(\"data\", \"p\");");
        assert_eq!(text("group"), "group \"out\" {}");
        assert_eq!(text("pfread"), "pfread($h, \"p\");");
        assert_eq!(text("fopen"), "$h = fopen(\"data\", \"w+\");");
    }
}
