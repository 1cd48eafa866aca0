//! Definitions of patterns, as text.

use super::super::expr::listed;
use super::super::kinds;
use super::super::patterns::{Extents, name};
use super::super::ranks::{Item, Spread};
use super::data::{LongLists, definition};
use super::{Lines, Writer};

impl Writer<'_> {
    /// `define pattern "extents" { repeat $i 3 extent($i * 16k + $$grank * 4k, 4k); }`
    pub(super) fn patterns(&mut self, data: &mut Option<LongLists>) -> Lines {
        let shaper = self.shaper;
        let all = (0..).zip(shaper.patterns.levels());
        all.map(|(number, (level, extents))| {
            let level = level.map_or(String::new(), |level| format!("level {level} "));
            let what = match extents {
                Extents::Kind(kind) => format!("= {};", kinds::written(kind)),
                Extents::Body(body) => self.generator(number, body, data),
            };
            format!("define pattern \"{}\" {level}{what}", name(number))
        })
        .collect()
    }

    fn generator(&mut self, number: u32, body: &[Item], data: &mut Option<LongLists>) -> String {
        // A pattern reads no lists of the program: it has its own.
        let tables = std::mem::take(&mut self.tables);
        let mut lines = self.body(body);
        let own = std::mem::replace(&mut self.tables, tables);
        let lists = own.all().map(|(list, values)| {
            let pattern = name(number);
            definition(list, &format!("{pattern}-{}", &list[1..]), &listed(values), data)
        });
        lines.splice(..0, lists);
        // All ranks use it, as the group that the program begins with.
        let text = lines.join("\n").replace("$$rank", "$$grank").replace("$$size", "$$gsize");
        let text = text.replace("master", "if ($$grank == 0)");
        format!("{{\n{text}\n}}")
    }

    /// `extent($i * 16k, 4k);`
    pub(super) fn extent(&mut self, numbers: &[Spread]) -> String {
        let shown = |number: &Spread, writer: &mut Self| {
            let linear = writer.linear(number);
            linear.shown(&writer.plain(), true)
        };
        self.sizes.unit = None;
        format!("extent({}, {});", shown(&numbers[0], self), shown(&numbers[1], self))
    }
}
