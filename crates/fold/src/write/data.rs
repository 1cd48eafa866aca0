//! Definitions of lists. What nobody reads stands in a file of data beside the program, a value in each
//! line, and how often it comes where that is shorter.
//!
//! ```text
//! app.ppl     $values = [7, 2, 9, 4]; $values2 = list("app.data", "values2");
//! app.data    [values2 16298]
//!             4096
//!             8192 3
//! ```

use super::super::expr::listed;
use super::{Included, Lines, Writer, comment, numbered, quoted};

/// Longest list in a program, in bytes: some 60 numbers of six digits, five lines. Who reads a program
/// sees from that what numbers there are; more of them hide what is done with them.
const LIST_MAX: usize = 500;

/// Lists that stand in a file of data.
pub(super) struct LongLists {
    /// Its name.
    name: String,
    /// Its text so far.
    text: String,
    count: usize,
}

impl LongLists {
    pub(super) fn named(name: &str) -> LongLists {
        LongLists { name: name.into(), text: String::new(), count: 0 }
    }

    /// Takes the values of a list, under this name; its definition in the program.
    fn take(&mut self, list: &str, name: &str, values: &[String]) -> String {
        self.count += 1;
        self.text.push_str(&format!("\n[{name} {}]\n", values.len()));
        for run in values.chunk_by(|a, b| a == b) {
            let times = format!(" {}", run.len());
            let apart = (run[0].len() + 1) * (run.len() - 1);
            let (lines, times) =
                if apart > times.len() { (1, times.as_str()) } else { (run.len(), "") };
            for _ in 0..lines {
                self.text.extend([&run[0], times, "\n"]);
            }
        }
        format!("{list} = list(\"{}\", \"{name}\");", quoted(self.name.as_bytes()))
    }

    /// The file, if a list stands in it, and how many do.
    pub(super) fn file(self, head: &[String]) -> Option<(Included, usize)> {
        if self.count == 0 {
            return None;
        }
        let from = head.first().cloned().into_iter();
        let lines: Vec<String> = from
            .chain(["Lists: a value in each line, or a value and how often it comes.".into()])
            .collect();
        Some((Included { text: comment(&lines) + &self.text, name: self.name }, self.count))
    }
}

/// The definition of a list, which is called `name` in the file of data that takes long ones.
pub(super) fn definition(
    list: &str,
    name: &str,
    values: &[String],
    data: &mut Option<LongLists>,
) -> String {
    let length = values.iter().map(|value| value.len() + ", ".len()).sum::<usize>();
    match data.as_mut().filter(|_| length > LIST_MAX) {
        Some(data) => data.take(list, name, values),
        None => format!("{list} = [{}];", values.join(", ")),
    }
}

impl Writer<'_> {
    /// Lists of numbers, names and pauses: what they are called, and their definitions. `data` takes
    /// long ones.
    pub(super) fn named_lists(&self, data: &mut Option<LongLists>) -> Vec<(String, String)> {
        let tables = self.tables.all().map(|(name, table)| (name.to_string(), listed(table)));
        let names = self.names.iter().enumerate().map(|(at, names)| {
            let names = names.iter().map(|name| format!("\"{name}\"")).collect();
            (numbered("$names", at), names)
        });
        let all = tables.chain(names).chain(self.lists_of_pauses());
        let line = |(name, values): (String, Vec<String>)| {
            let line = definition(&name, &name[1..], &values, data);
            (name, line)
        };
        all.map(line).collect()
    }

    pub(super) fn lists(&self, data: &mut Option<LongLists>) -> Lines {
        self.named_lists(data).into_iter().map(|(_, line)| line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_repeats_stands_once_where_that_is_shorter() {
        let mut lists = LongLists::named("a b.data");
        let values: Vec<String> =
            ["0", "7", "7", "7", "1000", "1000", "0", "0"].map(String::from).into();
        let line = lists.take("$values2", "values2", &values);
        assert_eq!(line, "$values2 = list(\"a b.data\", \"values2\");");
        assert_eq!(lists.text, "\n[values2 8]\n0\n7 3\n1000 2\n0\n0\n");
        let (file, count) = lists.file(&["Folded from x.".into()]).unwrap();
        assert!(count == 1 && file.text.starts_with("# Folded from x.\n# Lists"), "{file:?}");
        assert_eq!(LongLists::named("a").file(&[]), None);
    }
}
