//! Columns -> events: what a column of numbers or of texts says about the rows.

use super::columns::Column;
use super::names::decode;
use super::read::{EventRow, invalid};
use model::Op;
use model::event::NO_ID;
use parquet::data_type::ByteArray;
use parquet::errors::Result;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};

/// Names and places that the events so far refer to.
#[derive(Debug, Default)]
pub(super) struct Tables {
    pub labels: Names<String>,
    pub paths: Names<Vec<u8>>,
    pub calls: Names<String>,
    pub hosts: BTreeMap<u32, String>,
}

/// Texts by id, each once.
#[derive(Debug)]
pub(super) struct Names<T> {
    ids: HashMap<Vec<u8>, u32>,
    pub texts: Vec<T>,
}

impl<T> Default for Names<T> {
    fn default() -> Names<T> {
        Names { ids: HashMap::new(), texts: Vec::new() }
    }
}

/// An event with its rank, and its value in a column of texts.
type Row<'a> = (&'a mut EventRow, Option<&'a ByteArray>);

impl<T> Names<T> {
    /// Puts the ids of a column's names into the events: [`NO_ID`] where there is none.
    fn put<'a>(
        &mut self,
        rows: impl Iterator<Item = Row<'a>>,
        field: impl Fn(&mut EventRow) -> &mut u32,
        make: impl Fn(&str) -> Option<T>,
    ) -> Result<()> {
        let mut previous: Option<(&ByteArray, u32)> = None;
        for (row, name) in rows {
            let id = match (name, previous) {
                (None, _) => NO_ID,
                (Some(name), Some((same, id))) if same.data() == name.data() => id,
                (Some(name), _) => self.id(name, &make)?,
            };
            previous = name.map(|name| (name, id));
            *field(row) = id;
        }
        Ok(())
    }

    /// The id of `name`; `make` gives the text of a new one.
    fn id(&mut self, name: &ByteArray, make: impl Fn(&str) -> Option<T>) -> Result<u32> {
        if let Some(id) = self.ids.get(name.data()) {
            return Ok(*id);
        }
        let text = make(name.as_utf8()?).ok_or_else(|| invalid("name"))?;
        let id = self.texts.len() as u32;
        if id == NO_ID {
            return Err(invalid("number of names"));
        }
        self.texts.push(text);
        self.ids.insert(name.data().to_vec(), id);
        Ok(id)
    }
}

impl Tables {
    /// Gives the events what a column of texts says about them.
    pub fn put(
        &mut self,
        column: &str,
        values: &[Option<ByteArray>],
        events: &mut [EventRow],
    ) -> Result<()> {
        let rows = events.iter_mut().zip(values.iter().map(Option::as_ref));
        match column {
            "host" => put_hosts(&mut self.hosts, rows),
            "op" => put_ops(rows),
            "label" => {
                // Rows of a run call "in no label" "", events call it NO_ID.
                let rows = rows.map(|(row, label)| (row, label.filter(|label| !label.is_empty())));
                self.labels.put(rows, |row| &mut row.event.label, |text| Some(text.into()))
            }
            "path" => self.paths.put(rows, |row| &mut row.event.path, decode),
            "path2" => self.paths.put(rows, |row| &mut row.event.path2, decode),
            "call" => {
                let rows = rows.map(|(row, call)| (row, call.filter(|call| !call.is_empty())));
                self.calls.put(rows, |row| &mut row.details.call, |text| Some(text.into()))
            }
            // `file` follows from the site.
            _ => Ok(()),
        }
    }
}

fn put_hosts<'a>(
    hosts: &mut BTreeMap<u32, String>,
    rows: impl Iterator<Item = Row<'a>>,
) -> Result<()> {
    for (row, host) in rows {
        if let Entry::Vacant(entry) = hosts.entry(row.rank) {
            let host = host.ok_or_else(|| invalid("host"))?;
            entry.insert(host.as_utf8()?.to_string());
        }
    }
    Ok(())
}

fn put_ops<'a>(rows: impl Iterator<Item = Row<'a>>) -> Result<()> {
    let mut previous: Option<(&ByteArray, Op)> = None;
    for (row, name) in rows {
        let name = name.ok_or_else(|| invalid("op"))?;
        let op = match previous {
            Some((same, op)) if same.data() == name.data() => op,
            _ => Op::find(name.as_utf8()?).ok_or_else(|| invalid("op"))?,
        };
        previous = Some((name, op));
        row.event.op = op as u8;
    }
    Ok(())
}

/// Gives the events what a column of numbers says about them.
pub(super) fn put_numbers(column: &Column, values: &[i64], events: &mut [EventRow]) -> Result<()> {
    let largest = match column.name {
        "errno" => i64::from(u16::MAX),
        "flags" => i64::from(u8::MAX),
        _ => i64::MAX,
    };
    if largest < i64::MAX && values.iter().any(|value| !(0..=largest).contains(value)) {
        return Err(invalid(column.name));
    }
    for (row, value) in events.iter_mut().zip(values) {
        (column.put)(row, *value as u64);
    }
    Ok(())
}
