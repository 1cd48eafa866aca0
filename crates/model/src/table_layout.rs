//! Layouts of tables that a program gives for its report, in comments that begin with `#|`.
//!
//! ```text
//! #| table Checkpoint                              begins a layout; the first line without #| ends it
//! #| if paper                                      printed if the parameter `paper` is true
//! #| columns Op | Qty = count/rank, avg, MiB/s     columns of names, then figures of this run
//! #| beside Ceph | avg, MiB/s                      columns of published figures
//! #| note 1 client
//! #| create                                        a heading
//! #| write | dump | fwrite | 0.105 21.79           names, label, operation, published figures; "-": none
//! #| all | dump | | - 22.11                        without an operation: the label itself
//! ```
//!
//! Reads the text only; the report finds the figures.

use crate::op::Op;

/// A table of a report.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layout {
    /// Its title.
    pub title: String,
    /// Printed only if this parameter is true; "" if always.
    pub condition: String,
    /// Headings of the columns with names.
    pub names: Vec<String>,
    /// Columns with figures of the run.
    pub columns: Vec<Column>,
    /// Published figures.
    pub beside: Vec<Beside>,
    /// Lines from top to bottom.
    pub lines: Vec<Line>,
    /// Sentences below the table.
    pub notes: Vec<String>,
}

/// A column with figures of the run.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its heading; "" for that of the figure.
    pub name: String,
    /// Its figures.
    pub figure: Figure,
}

/// Columns with published figures of one system.
#[derive(Clone, Debug, PartialEq)]
pub struct Beside {
    /// The system.
    pub name: String,
    /// A column for each.
    pub figures: Vec<Figure>,
}

/// A line of a layout.
#[derive(Clone, Debug, PartialEq)]
pub enum Line {
    /// Text across the table.
    Heading(String),
    /// Figures.
    Row(Row),
}

/// A line with figures.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// As many as the layout has columns of names.
    pub names: Vec<String>,
    /// Label path.
    pub label: String,
    /// Operation, or `operation.part`; "" for the label itself.
    pub op: String,
    /// Published figures of all systems as they were printed, in the order of [`Layout::beside`].
    pub beside: Vec<String>,
}

macro_rules! figures {
    ($($variant:ident $word:literal $heading:literal $unit:literal $short:literal;)*) => {
        /// A figure of an operation or label.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Figure { $( #[doc = $word] $variant, )* }

        impl Figure {
            /// All of them.
            pub const ALL: &'static [Figure] = &[$(Figure::$variant),*];

            /// The word in a layout.
            pub fn word(self) -> &'static str {
                match self { $(Figure::$variant => $word),* }
            }

            /// Heading and unit of a column.
            pub fn heading(self) -> (&'static str, &'static str) {
                match self { $(Figure::$variant => ($heading, $unit)),* }
            }

            /// Both in one, below the name of a system.
            pub fn short(self) -> &'static str {
                match self { $(Figure::$variant => $short),* }
            }
        }
    };
}

figures! {
    Count "count" "count" "" "count";
    RankCount "count/rank" "count" "/rank" "count";
    Mean "avg" "avg" "ms" "avg ms";
    Min "min" "min" "ms" "min ms";
    P50 "p50" "p50" "ms" "p50 ms";
    P99 "p99" "p99" "ms" "p99 ms";
    Max "max" "max" "ms" "max ms";
    Seconds "time" "time" "s" "time s";
    EachSeconds "time/each" "time" "s/each" "time s";
    Rate "MiB/s" "MiB/s" "" "MiB/s";
    RankRate "MiB/s/rank" "MiB/s" "/rank" "MiB/s";
    Bandwidth "bandwidth" "MiB/s" "" "MiB/s";
    OpRate "ops/s" "ops/s" "" "ops/s";
    RankOpRate "ops/s/rank" "ops/s" "/rank" "ops/s";
}

/// A line of a layout that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// Position of the line in the text, bytes.
    pub start: usize,
    /// Length of the line, bytes.
    pub length: usize,
    /// Expected and found.
    pub what: String,
}

/// All layouts of a program's text; those with mistakes are left out.
pub fn parse(text: &str) -> (Vec<Layout>, Vec<Mistake>) {
    let mut reader = Reader::default();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let length = line.trim_end().len();
        match line.trim().strip_prefix("#|").map(str::trim) {
            Some(content) => reader.line(content, (start, length)),
            None => reader.end(),
        }
        start += line.len();
    }
    reader.end();
    (reader.layouts, reader.mistakes)
}

/// Reads line by line.
#[derive(Default)]
struct Reader {
    layouts: Vec<Layout>,
    mistakes: Vec<Mistake>,
    /// The layout that is read, where it began, and whether all of it was understood.
    open: Option<(Layout, (usize, usize), bool)>,
}

impl Reader {
    fn line(&mut self, content: &str, place: (usize, usize)) {
        let title = content.strip_prefix("table ").map(|title| title.trim().to_string());
        if let Some(title) = title {
            self.end();
            self.open = Some((Layout { title, ..Layout::default() }, place, true));
            return;
        }
        // Other comments may begin with #|, too.
        let open = self.open.as_mut().filter(|(.., is_whole)| *is_whole);
        let Some((layout, _, is_whole)) = open else { return };
        if let Err(what) = layout.read(content) {
            *is_whole = false;
            self.mistakes.push(Mistake { start: place.0, length: place.1, what });
        }
    }

    fn end(&mut self) {
        let Some((layout, place, is_whole)) = self.open.take() else { return };
        let has_rows = layout.lines.iter().any(|line| matches!(line, Line::Row(_)));
        if is_whole && !has_rows {
            let what = "expected lines `#| NAME | LABEL | OPERATION` in this table".into();
            self.mistakes.push(Mistake { start: place.0, length: place.1, what });
        } else if is_whole {
            self.layouts.push(layout);
        }
    }
}

impl Layout {
    /// The line that is none of the others' is a row or a heading.
    fn read(&mut self, content: &str) -> Result<(), String> {
        let (word, rest) = content.split_once(' ').unwrap_or((content, ""));
        match word {
            "if" => self.condition = rest.trim().trim_start_matches('$').into(),
            "columns" => (self.names, self.columns) = columns(rest)?,
            "beside" => self.beside.push(beside(rest)?),
            "note" => self.notes.push(rest.trim().into()),
            _ if content.contains('|') => {
                let row = self.row(content)?;
                self.lines.push(Line::Row(row));
            }
            _ => self.lines.push(Line::Heading(content.into())),
        }
        Ok(())
    }

    fn row(&self, content: &str) -> Result<Row, String> {
        if self.columns.is_empty() {
            return Err("expected `#| columns NAME | FIGURE, ..` before the first row".into());
        }
        let mut cells = content.split('|').map(str::trim);
        let names = listed(cells.next().unwrap_or(""));
        let [label, op] = [(); 2].map(|()| cells.next().unwrap_or("").to_string());
        let beside: Vec<String> =
            cells.flat_map(str::split_whitespace).map(str::to_string).collect();
        self.check_row(Row { names, label, op, beside })
    }

    fn check_row(&self, mut row: Row) -> Result<Row, String> {
        let published = self.beside.iter().map(|one| one.figures.len()).sum::<usize>();
        let (names, wanted) = (row.names.len(), self.names.len());
        let is_number = |text: &&String| *text == "-" || text.parse::<f64>().is_ok();
        let (op, part) =
            row.op.split_once('.').map_or((&*row.op, None), |(op, part)| (op, Some(part)));
        let known = Op::find(op);
        let wrong = row.beside.iter().find(|text| !is_number(text));
        match () {
            () if names != wanted => Err(format!("expected {wanted} names, found {names}")),
            () if row.label.is_empty() => Err("expected a label behind the name".into()),
            () if !op.is_empty() && known.is_none() => {
                Err(format!("expected an operation or nothing, found {op}"))
            }
            () if wrong.is_some() => {
                Err(format!("expected a number or -, found {}", wrong.map_or("", |text| text)))
            }
            () if row.beside.len() != published => Err(format!(
                "expected {published} published figures, - where there is none, found {}",
                row.beside.len()
            )),
            () => {
                let part = part.map(|part| format!(".{part}")).unwrap_or_default();
                row.op = known.map_or(String::new(), |op| format!("{}{part}", op.name()));
                Ok(row)
            }
        }
    }
}

/// Parts between commas.
fn listed(text: &str) -> Vec<String> {
    text.split(',').map(|part| part.trim().to_string()).collect()
}

/// `NAME, .. | HEADING = FIGURE, ..`
fn columns(text: &str) -> Result<(Vec<String>, Vec<Column>), String> {
    let (names, figures) = text.split_once('|').ok_or("expected `columns NAME | FIGURE, ..`")?;
    let columns = figures.split(',').map(|column| {
        let (name, word) = column.split_once('=').unwrap_or(("", column));
        Ok(Column { name: name.trim().into(), figure: figure(word.trim())? })
    });
    Ok((listed(names), columns.collect::<Result<_, String>>()?))
}

/// `SYSTEM | FIGURE, ..`
fn beside(text: &str) -> Result<Beside, String> {
    let (name, figures) = text.split_once('|').ok_or("expected `beside SYSTEM | FIGURE, ..`")?;
    let figures = figures.split(',').map(|word| figure(word.trim()));
    Ok(Beside { name: name.trim().into(), figures: figures.collect::<Result<_, _>>()? })
}

fn figure(word: &str) -> Result<Figure, String> {
    let found = Figure::ALL.iter().find(|figure| figure.word() == word);
    found.copied().ok_or_else(|| {
        let all: Vec<_> = Figure::ALL.iter().map(|figure| figure.word()).collect();
        format!("expected a figure ({}), found {word:?}", all.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "$x = 1;
#| table Checkpoint
#| if paper
#| columns Op, form | Qty = count/rank, avg, MiB/s
#| beside Ceph | avg, MiB/s
#| note 1 client
#| create
#| write, new | dump | FWrite.data | 0.105 -
#| all, - | dump || - 22.11
sync;
";

    #[test]
    fn a_layout_has_names_figures_and_published_figures() {
        let (layouts, mistakes) = parse(TABLE);
        assert_eq!(mistakes, []);
        let [layout] = &layouts[..] else { panic!("{layouts:?}") };
        assert_eq!((&*layout.title, &*layout.condition), ("Checkpoint", "paper"));
        assert_eq!(layout.names, ["Op", "form"]);
        let figures: Vec<_> = layout.columns.iter().map(|one| (&*one.name, one.figure)).collect();
        let wanted = [("Qty", Figure::RankCount), ("", Figure::Mean), ("", Figure::Rate)];
        assert_eq!(figures, wanted);
        assert_eq!(layout.beside[0].figures, [Figure::Mean, Figure::Rate]);
        assert_eq!(layout.notes, ["1 client"]);
        let [Line::Heading(heading), Line::Row(write), Line::Row(all)] = &layout.lines[..] else {
            panic!("{layout:?}")
        };
        assert_eq!(heading, "create");
        assert_eq!((&*write.label, &*write.op), ("dump", "fwrite.data"));
        assert_eq!(write.beside, ["0.105", "-"]);
        assert_eq!((&*all.op, &all.beside[1]), ("", &"22.11".to_string()));
    }

    #[test]
    fn a_mistake_has_its_line_and_leaves_the_layout_out() {
        for (from, to, what) in [
            ("count/rank", "count/rnk", "expected a figure (count,"),
            ("FWrite", "fwirte", "expected an operation or nothing, found fwirte"),
            ("0.105 -", "0.105", "expected 2 published figures, - where there is none, found 1"),
            ("0.105", "O.105", "expected a number or -, found O.105"),
            ("write, new", "write", "expected 2 names, found 1"),
            ("| dump | FW", "|  | FW", "expected a label"),
        ] {
            let text = TABLE.replace(from, to);
            assert_ne!(text, TABLE);
            let (layouts, mistakes) = parse(&text);
            assert_eq!(layouts, []);
            let Mistake { start, length, what: found } = &mistakes[0];
            assert!(found.starts_with(what), "{found}");
            let line = &text[*start..start + length];
            assert!(line.starts_with("#| ") && !line.contains('\n'), "{line}");
        }
        assert_eq!(parse("#| table empty\n#| heading").1.len(), 1);
    }

    #[test]
    fn other_comments_are_no_layouts() {
        assert_eq!(parse("#| a box |\n#| a | b |\n# table x\nsync;"), (Vec::new(), Vec::new()));
    }
}
