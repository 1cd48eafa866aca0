//! The lists of numbers of a program, called after what their numbers are.

use super::statement::Interner;

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
