//! Rows of a table of Parquet -> fields.

use super::field::{Field, Fields};
use super::{Rules, Taken, table};
use crate::by_line::Source;
use crate::input::Input;
use crate::table::{Table, columns, copied};
use std::io;

/// A table and the fields that its columns are.
pub struct Rows<'r> {
    rules: &'r Rules,
    table: Table,
    fields: Vec<Field>,
    shown: Vec<u8>,
}

impl<'r> Rows<'r> {
    /// Reads a table that examples call `name` and whose columns `rules` name.
    ///
    /// # Errors
    /// It is damaged, or lacks a column.
    pub fn new(
        rules: &'r Rules,
        input: Input,
        name: &str,
        names: &[(Field, String)],
    ) -> io::Result<Rows<'r>> {
        let file = copied(input)?;
        let asked: Vec<&str> = names.iter().map(|(_, column)| column.as_str()).collect();
        let table = Table::open(&file, name, &asked)?;
        if let Some(missing) = (0..asked.len()).find(|column| !table.has(*column)) {
            return Err(table::missing(asked[missing], &columns(&file)?));
        }
        let fields = names.iter().map(|(field, _)| *field).collect();
        Ok(Rows { rules, table, fields, shown: Vec::new() })
    }
}

impl super::Rows for Rows<'_> {
    fn next(&mut self, fields: &mut Fields) -> io::Result<Option<Taken>> {
        fields.clear();
        if !self.table.advance()? {
            return Ok(None);
        }
        self.shown = self.table.shown();
        for (at, field) in self.fields.iter().enumerate() {
            fields.set(*field, self.table.text(at).trim_ascii());
        }
        self.rules.translate(fields);
        Ok(Some(Taken::Row))
    }

    fn number(&self) -> u64 {
        self.table.number()
    }

    fn shown(&self) -> &[u8] {
        &self.shown
    }

    fn is_cut(&self) -> bool {
        false
    }
}
