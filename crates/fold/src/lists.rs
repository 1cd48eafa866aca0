//! Definitions of lists. Long lists are in a data file beside the program: a value in each
//! line, and its number of repetitions where that is shorter.
//!
//! ```text
//! app.ppl     $values = [7, 2, 9, 4]; $values2 = list("app.data", "values2");
//! app.data    [values2 16298]
//!             4096
//!             8192 3
//! ```
//!
//! Lists of numbers are called after what their numbers are.

use super::names::quoted;
use super::statement::Interner;

/// A file beside the program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DataFile {
    /// Its name.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// Longest list in a program, in bytes: some 60 numbers of six digits, five lines. Who reads a program
/// sees from that what numbers there are; more of them hide what is done with them.
const LIST_MAX: usize = 500;

/// Lists in a data file.
pub struct LongLists {
    /// Its name.
    name: String,
    /// Its text so far.
    text: String,
    count: usize,
}

impl LongLists {
    pub fn named(name: &str) -> LongLists {
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

    /// The file and its number of lists, if it has any.
    pub fn file(self, head: &[String]) -> Option<(DataFile, usize)> {
        if self.count == 0 {
            return None;
        }
        let from = head.first().cloned().into_iter();
        let lines: Vec<String> = from
            .chain(["Lists: a value in each line, or a value and how often it comes.".into()])
            .collect();
        Some((DataFile { text: comment(&lines) + &self.text, name: self.name }, self.count))
    }
}

/// The definition of a list, which is called `name` in the file of data that takes long ones.
pub fn definition(
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

/// Lines of a comment. What a stored run says about itself is a stranger's text: none of it ends the line.
pub fn comment(lines: &[String]) -> String {
    let lines = lines.iter().map(|line| format!("# {}", model::escape::line(line)));
    lines.map(|line| format!("{}\n", line.trim_end())).collect()
}

/// Meaning of a list's numbers in the first statement that reads it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// Anything else.
    #[default]
    Values,
    /// Parts of names.
    Numbers,
    /// Bytes of an operation.
    Sizes,
    /// Places in files.
    Offsets,
    /// Iterations of a loop.
    Counts,
    /// Whether something is executed, 1 or 0.
    Flags,
    /// Nanoseconds or microseconds.
    Pauses,
}

impl Role {
    /// Names of lists, without numbers.
    pub const NAMES: [&str; 7] =
        ["values", "numbers", "sizes", "offsets", "counts", "flags", "pauses"];

    fn name(self) -> &'static str {
        Role::NAMES[self as usize]
    }
}

/// Lists of a program.
#[derive(Clone, Debug, Default)]
pub struct Tables {
    lists: Interner<Vec<i64>>,
    names: Vec<String>,
    /// Meaning of the next list.
    role: Role,
    /// Some list has values by rank.
    by_rank: bool,
}

impl Tables {
    /// Sets the meaning of lists made from now on.
    pub fn hold(&mut self, role: Role) {
        self.role = role;
    }

    /// A list has values by rank.
    pub fn hold_by_rank(&mut self) {
        self.by_rank = true;
    }

    /// Some list has.
    pub fn are_by_rank(&self) -> bool {
        self.by_rank
    }

    /// The variable of the list, which is made when it is asked for first.
    pub fn name(&mut self, values: Vec<i64>) -> &str {
        let at = self.lists.number(values) as usize;
        if at == self.names.len() {
            let like = format!("${}", self.role.name());
            let count = self.names.iter().filter(|name| name.starts_with(&like)).count();
            self.names.push(numbered(&like, count));
        }
        &self.names[at]
    }

    /// All lists with their variables.
    pub fn all(&self) -> impl Iterator<Item = (&str, &Vec<i64>)> {
        self.names.iter().map(String::as_str).zip(&self.lists.all)
    }
}

/// `$x`, `$x2`, `$x3`
pub fn numbered(name: &str, at: usize) -> String {
    if at == 0 { name.to_string() } else { format!("{name}{}", at + 1) }
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

#[cfg(test)]
mod tables_tests {
    use super::*;

    #[test]
    fn lists_are_called_after_what_they_hold_first() {
        let mut tables = Tables::default();
        assert_eq!(tables.name(vec![1, 5]), "$values");
        tables.hold(Role::Sizes);
        assert_eq!(tables.name(vec![2, 3]), "$sizes");
        assert_eq!(tables.name(vec![1, 5]), "$values");
        assert_eq!(tables.name(vec![4]), "$sizes2");
        let all: Vec<_> = tables.all().map(|(name, values)| (name, values.len())).collect();
        assert_eq!(all, [("$values", 2), ("$sizes", 2), ("$sizes2", 1)]);
    }
}

#[cfg(test)]
mod comment_tests {
    use super::comment;

    #[test]
    fn no_text_ends_a_comment() {
        for text in ["2021\nwrite(\"f\", 1);", "a\r\nb", "a\u{2028}b", "a\u{85}b"] {
            let made = comment(&[text.to_string()]);
            assert!(made.starts_with("# ") && made.ends_with('\n'), "{made:?}");
            assert!(!made.trim_end().contains(|c: char| c.is_control()), "{made:?}");
        }
    }
}
