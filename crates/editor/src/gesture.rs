//! Gestures on the outline as edits of the text: `parabench/gesture`.
//!
//! ```text
//! text, gesture ─▶ edits ─▶ text that parses, has the intended statements, and is laid out by the formatter
//! ```
//!
//! A gesture moves the text of statements as it is written, comments included. What it would spoil is refused
//! with a sentence that says why.

use crate::outline::{Body, Item, Kind, OFF, OFF_MORE, Outline, begins_line, switched_off};
use crate::parameters::{FLAG, LIST, Parameter};
use crate::text::{Edit, Text};
use model::plan::Span;
use serde::Deserialize;

/// A change of the outline by the user.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum Gesture {
    /// New statements.
    Insert {
        /// Their text.
        text: String,
        /// Where.
        place: Place,
    },
    /// A statement goes somewhere else.
    Move {
        /// The item.
        id: String,
        /// Where.
        place: Place,
    },
    /// A copy of a statement behind it.
    Duplicate {
        /// The item.
        id: String,
    },
    /// A statement is removed.
    Delete {
        /// The item.
        id: String,
    },
    /// A statement becomes a comment.
    SwitchOff {
        /// The item.
        id: String,
    },
    /// A comment becomes the statement that it was.
    SwitchOn {
        /// The item.
        id: String,
    },
    /// A parameter gets another value.
    SetParameter {
        /// The item.
        id: String,
        /// The parameter's name.
        name: String,
        /// Its value as text of the language; `None`: what is written is removed.
        value: Option<String>,
    },
    /// Statements become the body of another one.
    Wrap {
        /// The first item.
        id: String,
        /// The last one, a sibling; absent: the first is the only one.
        #[serde(default)]
        to: Option<String>,
        /// The text before the body: `repeat $i 10`.
        head: String,
    },
    /// The body of a statement takes its place.
    Unwrap {
        /// The item.
        id: String,
    },
}

/// A place for statements.
#[derive(Clone, Debug, Deserialize)]
pub struct Place {
    /// On which side of the item.
    pub at: Side,
    /// The item; absent: the program.
    #[serde(default)]
    pub id: Option<String>,
}

/// The side of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Side {
    /// Before it.
    Before,
    /// Behind it.
    After,
    /// At the end of its body.
    Inside,
}

/// The result of a gesture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    /// The new text.
    pub text: String,
    /// The id of the item to select.
    pub select: Option<String>,
}

type Result<T> = std::result::Result<T, String>;

/// Applies a gesture to a text.
///
/// # Errors
/// It is not possible: a sentence says why.
pub fn apply(text: &str, gesture: &Gesture) -> Result<Done> {
    let outline = Outline::new(text);
    if let Some(mistake) = &outline.mistake {
        return Err(format!("the program has a mistake, fix it first: {mistake}"));
    }
    let page = Page { text: Text::new(text.to_string()), outline: &outline };
    let (edits, select) = page.edits(gesture)?;
    let raw = page.text.with(&edits);
    let (formatted, found) = ppl::format(&raw);
    if let Some(mistake) = found.iter().find(|found| found.severity() == ppl::Severity::Error) {
        return Err(format!("this would not be a program: {}", mistake.message));
    }
    let done = Done { text: formatted, select };
    if let Gesture::SetParameter { id, name, value } = gesture {
        check_parameter(&done.text, id, name, value.as_deref())?;
    }
    Ok(done)
}

/// The parameter has the value now; `1) write(2` would be something else.
fn check_parameter(text: &str, id: &str, name: &str, value: Option<&str>) -> Result<()> {
    let outline = Outline::new(text);
    let found = outline.find(id).and_then(|item| parameter(item, name));
    let written = found.and_then(|found| found.value.as_deref());
    let bare = |text: &str| text.split_whitespace().collect::<String>();
    match value {
        None => Ok(()),
        Some(value) if written.is_some_and(|written| bare(written) == bare(value)) => Ok(()),
        Some(_) if written.is_none() && found.is_none() => Ok(()),
        Some(value) => Err(format!("{value} is not read as one value here; put it in parentheses")),
    }
}

fn parameter<'a>(item: &'a Item, name: &str) -> Option<&'a Parameter> {
    item.parameters.iter().find(|one| one.name == name)
}

/// A text with its outline.
struct Page<'a> {
    text: Text,
    outline: &'a Outline,
}

/// Edits, and the id of the item to select.
type Edits = (Vec<Edit>, Option<String>);

impl Page<'_> {
    fn edits(&self, gesture: &Gesture) -> Result<Edits> {
        match gesture {
            Gesture::Insert { text, place } => self.insert(text, place),
            Gesture::Move { id, place } => self.move_item(id, place),
            Gesture::Duplicate { id } => self.duplicate(id),
            Gesture::Delete { id } => self.delete(id),
            Gesture::SwitchOff { id } => self.switch_off(id),
            Gesture::SwitchOn { id } => self.switch_on(id),
            Gesture::SetParameter { id, name, value } => {
                self.set_parameter(id, name, value.as_deref())
            }
            Gesture::Wrap { id, to, head } => self.wrap(id, to.as_deref().unwrap_or(id), head),
            Gesture::Unwrap { id } => self.unwrap(id),
        }
    }

    fn item(&self, id: &str) -> Result<&Item> {
        self.outline.find(id).ok_or_else(|| format!("there is no statement {id} any more"))
    }

    /// A statement among others, not a part of one.
    fn statement(&self, id: &str, what: &str) -> Result<&Item> {
        let item = self.item(id)?;
        match item.kind {
            Kind::Branch => Err(format!("a branch cannot be {what}; take the statement around it")),
            _ => Ok(item),
        }
    }

    fn slice(&self, start: u32, end: u32) -> &str {
        self.text.as_str().get(start as usize..end as usize).unwrap_or("")
    }

    /// Where a statement ends together with the comments behind it on its line.
    fn end_of(&self, item: &Item) -> u32 {
        let mut end = item.span.end;
        for comment in self.comments_from(item.span.end) {
            if !is_blank(self.slice(end, comment.start)) {
                break;
            }
            end = comment.end;
        }
        let rest = self.text.as_str().get(end as usize..).unwrap_or("");
        let line = rest.split(['\n', '\r']).next().unwrap_or("");
        if is_blank(line) { end } else { item.span.end }
    }

    fn comments_from(&self, place: u32) -> impl Iterator<Item = &Span> {
        let first = self.outline.comments.partition_point(|comment| comment.start < place);
        self.outline.comments[first..].iter()
    }

    /// A line end, unless nothing but blanks is behind a place on its line.
    fn line_end(&self, place: u32) -> &'static str {
        let rest = self.text.as_str().get(place as usize..).unwrap_or("");
        let line = rest.split(['\n', '\r']).next().unwrap_or("");
        if is_blank(line) { "" } else { "\n" }
    }

    /// A place and, if nothing else is on its lines, these.
    fn lines_of(&self, span: Span) -> Span {
        let text = self.text.as_str();
        let is_alone = begins_line(text, span) && self.line_end(span.end).is_empty();
        let next = text[span.end as usize..].find('\n').filter(|_| is_alone);
        let Some(next) = next else { return span };
        let indent = text[..span.start as usize].len()
            - text[..span.start as usize].trim_end_matches([' ', '\t']).len();
        Span { start: span.start - indent as u32, end: span.end + next as u32 + 1 }
    }

    /// Where a statement begins together with the comments directly above it. The head of the file is no
    /// comment of the first statement.
    fn start_of(&self, item: &Item) -> u32 {
        let mut start = item.span.start;
        if !begins_line(self.text.as_str(), item.span) {
            return start;
        }
        let before = self.outline.comments.partition_point(|one| one.start < item.span.start);
        for comment in self.outline.comments[..before].iter().rev() {
            let between = self.slice(comment.end, start);
            let is_off = [OFF, OFF_MORE]
                .iter()
                .any(|mark| self.slice(comment.start, comment.end).starts_with(mark));
            let is_next = between.trim().is_empty() && between.matches('\n').count() == 1;
            if !is_next || is_off || !begins_line(self.text.as_str(), *comment) {
                break;
            }
            start = comment.start;
        }
        let is_head = self.text.as_str()[..start as usize].trim().is_empty();
        if is_head { item.span.start } else { start }
    }

    /// Edits that put statements at a place, and the id that the first of them gets.
    fn put(&self, place: &Place, new: &str, is_top: bool) -> Result<Edits> {
        let Some(id) = &place.id else { return Ok(self.put_in_program(place.at, new)) };
        if is_top {
            let first = id.split('.').next().unwrap_or(id);
            let side = if place.at == Side::Before { Side::Before } else { Side::After };
            // Inside of something a definition goes before it.
            let side = if first == id && place.at != Side::Inside { side } else { Side::Before };
            return Ok(self.put_beside(first, self.item(first)?, side, new));
        }
        let item = self.item(id)?;
        match (place.at, item.kind) {
            (Side::Inside, Kind::If) => {
                let id = format!("{id}.0");
                self.put_inside(&id, self.item(&id)?, new)
            }
            (Side::Inside, _) => self.put_inside(id, item, new),
            (_, Kind::Branch) => Err("a statement cannot be beside a branch".into()),
            (side, _) => Ok(self.put_beside(id, item, side, new)),
        }
    }

    fn put_in_program(&self, side: Side, new: &str) -> Edits {
        let (items, len) = (&self.outline.items, self.text.as_str().len());
        match (side, items.first()) {
            (Side::Before, Some(first)) => self.put_beside("0", first, Side::Before, new),
            _ => (vec![Edit::insert(len, format!("\n{new}\n"))], Some(items.len().to_string())),
        }
    }

    fn put_beside(&self, id: &str, item: &Item, side: Side, new: &str) -> Edits {
        let (start, end) = (self.start_of(item), self.end_of(item));
        if item.is_bare {
            // The place of one statement is that of a block.
            let (before, after) = match side {
                Side::Before => (format!("{{\n{new}\n"), "\n}".to_string()),
                _ => ("{\n".to_string(), format!("\n{new}\n}}")),
            };
            let edits = vec![
                Edit::insert(item.span.start as usize, before),
                Edit::insert(end as usize, after),
            ];
            return (edits, Some(beside(id, side)));
        }
        let edit = match side {
            Side::Before => Edit::insert(start as usize, format!("{new}\n")),
            _ => Edit::insert(end as usize, format!("\n{new}{}", self.line_end(end))),
        };
        (vec![edit], Some(beside(id, side)))
    }

    fn put_inside(&self, id: &str, item: &Item, new: &str) -> Result<Edits> {
        let select = Some(format!("{id}.{}", item.children.len()));
        match item.body {
            Some(Body::Braces(span)) => {
                let inner = self.slice(span.start, span.end - 1).trim_end().len();
                let at = span.start as usize + inner;
                Ok((vec![Edit::insert(at, format!("\n{new}\n"))], select))
            }
            Some(Body::Bare(span)) => Ok(match item.children.first() {
                Some(child) => {
                    let (edits, _) = self.put_beside("", child, Side::After, new);
                    (edits, select)
                }
                None => (vec![Edit::replace(span, format!("{{\n{new}\n}}"))], select),
            }),
            None => Err(format!("{} holds no statements", item.title)),
        }
    }

    fn insert(&self, new: &str, place: &Place) -> Result<Edits> {
        let made = Outline::new(new);
        let is_top = made.items.iter().any(|item| item.is_top);
        // What is allowed inside of something alone is judged in its place.
        if made.items.is_empty() && made.complete && made.comments.is_empty() {
            return Err("there is nothing to insert".into());
        }
        self.put(place, new.trim(), is_top)
    }

    fn move_item(&self, id: &str, place: &Place) -> Result<Edits> {
        let item = self.statement(id, "moved")?;
        if let Some(target) = &place.id {
            if target == id {
                return Ok((Vec::new(), Some(id.to_string())));
            }
            if target.starts_with(&format!("{id}.")) {
                return Err("a statement cannot be moved into itself".into());
            }
        }
        let (start, end) = (self.start_of(item), self.end_of(item));
        let (mut edits, select) = self.put(place, self.slice(start, end), item.is_top)?;
        let taken = Span { start, end };
        let is_own = |edit: &Edit| edit.start >= start as usize && edit.end <= end as usize;
        if edits.iter().any(is_own) {
            // The place is at the statement's own edge: it is there already.
            let is_inside =
                edits.iter().any(|one| one.start > start as usize && one.end < end as usize);
            return if is_inside {
                Err("it is there already".into())
            } else {
                Ok((Vec::new(), Some(id.to_string())))
            };
        }
        edits.push(match item.is_bare {
            true => Edit::replace(taken, "{}"),
            false => Edit::replace(self.lines_of(taken), ""),
        });
        Ok((edits, select.map(|select| after_removal(&select, id, item.is_bare))))
    }

    fn duplicate(&self, id: &str) -> Result<Edits> {
        let item = self.item(id)?;
        let is_of_mix = item.kind == Kind::Branch && !item.parameters.is_empty();
        if item.kind == Kind::Branch && !is_of_mix {
            return Err("a branch cannot be duplicated; take the statement around it".into());
        }
        let copy = self.slice(item.span.start, self.end_of(item)).to_string();
        Ok(self.put_beside(id, item, Side::After, &copy))
    }

    fn delete(&self, id: &str) -> Result<Edits> {
        let item = self.item(id)?;
        let mut span = item.span;
        // What `///` says would be said of the next statement.
        let behind = Span { start: item.span.end, end: self.end_of(item) };
        if self.slice(behind.start, behind.end).trim_start().starts_with("///") {
            span.end = behind.end;
        }
        if item.kind == Kind::Branch {
            return self.delete_branch(id, item);
        }
        let edit = match item.is_bare {
            true => Edit::replace(span, "{}"),
            false => Edit::replace(self.lines_of(span), ""),
        };
        Ok((vec![edit], self.neighbour(id)))
    }

    fn delete_branch(&self, id: &str, item: &Item) -> Result<Edits> {
        let above = id.rsplit_once('.').map(|(above, _)| above.to_string());
        if !item.parameters.is_empty() {
            return Ok((vec![Edit::replace(item.span, "")], above));
        }
        if id.ends_with(".0") {
            return Err("the first branch cannot be deleted; delete the statement".into());
        }
        Ok((vec![Edit::replace(item.span, "")], above))
    }

    /// The item that takes the place of a deleted one.
    fn neighbour(&self, id: &str) -> Option<String> {
        let (above, number) = split(id);
        let siblings = match above {
            "" => self.outline.items.len(),
            above => self.outline.find(above)?.children.len(),
        };
        match (number, siblings) {
            (_, 0 | 1) => Some(above.to_string()).filter(|above| !above.is_empty()),
            (number, siblings) => Some(join(above, number.min(siblings - 2))),
        }
    }

    fn switch_off(&self, id: &str) -> Result<Edits> {
        let item = self.statement(id, "switched off")?;
        if item.kind == Kind::Off {
            return Err("it is switched off already".into());
        }
        let span = Span { start: item.span.start, end: self.end_of(item) };
        let indent = self.indent(span.start);
        let dedented = |line: &str| {
            let blanks = line.len() - line.trim_start_matches([' ', '\t']).len();
            line[blanks.min(indent)..].trim_end().to_string()
        };
        let lines: Vec<String> = self.slice(span.start, span.end).lines().map(dedented).collect();
        let marked = lines.iter().enumerate().map(|(at, line)| {
            format!("{} {line}", if at == 0 { OFF } else { OFF_MORE }).trim_end().to_string()
        });
        let comment = marked.collect::<Vec<_>>().join("\n");
        let text = match item.is_bare {
            true => format!("{{\n{comment}\n}}"),
            false => {
                let is_first = begins_line(self.text.as_str(), span);
                let before = if is_first { "" } else { "\n" };
                format!("{before}{comment}{}", self.line_end(span.end))
            }
        };
        Ok((vec![Edit::replace(span, text)], Some(id.to_string())))
    }

    /// Blanks before the line of a place.
    fn indent(&self, place: u32) -> usize {
        let before = &self.text.as_str()[..place as usize];
        let line = before.rsplit('\n').next().unwrap_or("");
        line.len() - line.trim_start_matches([' ', '\t']).len()
    }

    fn switch_on(&self, id: &str) -> Result<Edits> {
        let item = self.item(id)?;
        let all = switched_off(self.text.as_str(), &self.outline.comments);
        let found = all.into_iter().find(|(span, _)| *span == item.span);
        let Some((span, lines)) = found.filter(|_| item.kind == Kind::Off) else {
            return Err("it is not switched off".into());
        };
        Ok((vec![Edit::replace(span, lines.join("\n"))], Some(id.to_string())))
    }

    fn set_parameter(&self, id: &str, name: &str, value: Option<&str>) -> Result<Edits> {
        let item = self.item(id)?;
        let found = parameter(item, name);
        let found = found.ok_or_else(|| format!("{} has no parameter {name}", item.title))?;
        let value = value.map(str::trim).filter(|value| !value.is_empty());
        let edits = match (value, found.shape) {
            (Some("true"), FLAG) => add(found, "")?,
            (None | Some("false"), FLAG) => found.removing.clone().unwrap_or_default(),
            (Some(other), FLAG) => return Err(format!("expected true or false, found {other}")),
            (None, _) if found.span.is_none() => Vec::new(),
            (None, _) => match &found.removing {
                Some(edits) => edits.clone(),
                None => return Err(format!("{name} has to be given")),
            },
            (Some(value), shape) => {
                check_value(value, shape)?;
                match found.span {
                    Some(span) => vec![Edit::replace(span, value)],
                    None => add(found, value)?,
                }
            }
        };
        Ok((edits, Some(id.to_string())))
    }

    fn wrap(&self, id: &str, to: &str, head: &str) -> Result<Edits> {
        let (first, last) = (self.statement(id, "wrapped")?, self.statement(to, "wrapped")?);
        let (above, from) = split(id);
        let (above_last, until) = split(to);
        if above != above_last || until < from {
            return Err("the statements have to follow each other".into());
        }
        let siblings = match above {
            "" => &self.outline.items[..],
            above => &self.item(above)?.children[..],
        };
        if siblings[from..=until].iter().any(|item| item.is_top) {
            return Err("a definition is at top level only".into());
        }
        let head = head.trim();
        let end = self.end_of(last);
        let edits = vec![
            Edit::insert(first.span.start as usize, format!("{head} {{\n")),
            Edit::insert(end as usize, format!("\n}}{}", self.line_end(end))),
        ];
        self.check_head(head)?;
        Ok((edits, Some(id.to_string())))
    }

    /// It is the text of one statement up to its body.
    fn check_head(&self, head: &str) -> Result<()> {
        let made = Outline::new(&format!("{head} {{}}"));
        let is_one = made.complete && made.items.len() == 1 && made.items[0].body.is_some();
        let is_if = made.complete && made.items.len() == 1 && made.items[0].kind == Kind::If;
        match (is_one && !made.items[0].is_top) || is_if {
            true => Ok(()),
            false => Err(format!("{head} is not the beginning of a statement with a body")),
        }
    }

    fn unwrap(&self, id: &str) -> Result<Edits> {
        let item = self.statement(id, "unwrapped")?;
        let inner = match item.body {
            _ if item.is_top => None,
            Some(Body::Braces(span)) if item.is_bare => Some((span.start, span.end)),
            Some(Body::Braces(span)) => Some((span.start + 1, span.end - 1)),
            Some(Body::Bare(span)) => Some((span.start, span.end)),
            None => None,
        };
        let Some((start, end)) = inner else {
            return Err(format!("{} has no body that can take its place", item.title));
        };
        let inside = self.slice(start, end);
        let blanks = inside.len() - inside.trim_start().len();
        let start = start + blanks as u32;
        let end = start + inside.trim().len() as u32;
        let head = Span { start: item.span.start, end: start };
        let tail = Span { start: end, end: item.span.end };
        let edits = vec![
            Edit::replace(head, self.kept(head.start, head.end)),
            Edit::replace(tail, self.line_end(tail.end)),
        ];
        Ok((edits, Some(id.to_string())))
    }

    /// The comments between two places, each on a line.
    fn kept(&self, start: u32, end: u32) -> String {
        let inside = self.comments_from(start).take_while(|comment| comment.end <= end);
        inside.map(|comment| format!("{}\n", self.slice(comment.start, comment.end))).collect()
    }
}

fn add(found: &Parameter, value: &str) -> Result<Vec<Edit>> {
    let Some(adding) = &found.adding else {
        return match found.span {
            Some(_) => Ok(Vec::new()),
            None => Err(format!("{} cannot be added here", found.name)),
        };
    };
    let text = format!("{}{value}{}", adding.before, adding.after);
    let mut edits = adding.besides.clone();
    edits.push(Edit::insert(adding.at as usize, text));
    Ok(edits)
}

/// The text is one value, or for a list some.
fn check_value(value: &str, shape: &str) -> Result<()> {
    let text = match shape {
        LIST => format!("print {value};"),
        "variable" => format!("{value} = 1;"),
        "word" => format!("fseek($h, 0, {value});"),
        _ => format!("$x = {};", value.strip_suffix('%').unwrap_or(value)),
    };
    let made = Outline::new(&text);
    let is_one = made.complete && made.items.len() == 1 && made.comments.is_empty();
    match is_one && !value.contains(['\n', '\r']) {
        true => Ok(()),
        false => Err(format!("{value} is not a value of the language; a text needs quotes")),
    }
}

fn is_blank(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' ' | b'\t'))
}

/// The id of the item around one, "" for the program, and the item's number in it.
fn split(id: &str) -> (&str, usize) {
    let (above, number) = id.rsplit_once('.').unwrap_or(("", id));
    (above, number.parse().unwrap_or(0))
}

fn join(above: &str, number: usize) -> String {
    if above.is_empty() { number.to_string() } else { format!("{above}.{number}") }
}

/// The id of what is put before or behind an item.
fn beside(id: &str, side: Side) -> String {
    let (above, number) = split(id);
    join(above, number + usize::from(side != Side::Before))
}

/// An id after the item `gone` was taken away.
fn after_removal(id: &str, gone: &str, is_bare: bool) -> String {
    let (above, number) = split(gone);
    let prefix = if above.is_empty() { String::new() } else { format!("{above}.") };
    let Some(rest) = id.strip_prefix(&prefix).filter(|_| !is_bare) else { return id.to_string() };
    let (first, more) =
        rest.split_once('.').map_or((rest, None), |(first, more)| (first, Some(more)));
    match first.parse::<usize>() {
        Ok(at) if at > number => {
            let more = more.map_or(String::new(), |more| format!(".{more}"));
            format!("{prefix}{}{more}", at - 1)
        }
        _ => id.to_string(),
    }
}

#[cfg(test)]
mod tests;
