//! Definitions of lists. Long lists are in a data file beside the program: a value in each
//! line, and its number of repetitions where that is shorter.
//!
//! ```text
//! app.ppl     $values = [7, 2, 9, 4]; $values2 = list("app.data", "values2");
//! app.data    [values2 16298]
//!             4096
//!             8192 3
//! ```

use super::expr::quoted;

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

/// Lines of a comment.
pub fn comment(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{}\n", format!("# {line}").trim_end())).collect()
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
