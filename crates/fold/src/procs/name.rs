//! What a proc is called: what it does most, and to which file.

use super::super::names::Part;
use super::super::ranks::{Form, Item, Value};
use super::super::shape::{Arg, Shape, Shaper};
use super::Proc;
use model::Op;

/// `write_state`, `look_at_content_db`
pub fn name(body: &[Item], shaper: &Shaper<'_>, others: &[Proc]) -> String {
    let (mut ops, mut path) = (Vec::new(), None);
    body.iter().for_each(|item| collect(item, shaper, &mut ops, &mut path));
    let has = |wanted: &[Op]| ops.iter().any(|op| wanted.contains(op));
    let verb = match () {
        () if has(&[Op::Fwrite, Op::Writev, Op::Write, Op::Append]) => "write",
        () if has(&[Op::Copy, Op::Fcopy, Op::Reflink, Op::Freflink]) => "copy",
        () if has(&[Op::Fread, Op::Readv, Op::Read]) => "read",
        () if has(&[Op::Delete, Op::Rmdir]) => "remove",
        () if has(&[Op::Mkdir, Op::Create, Op::Fcreat, Op::Link, Op::Symlink]) => "make",
        () if has(&[Op::Rename]) => "rename",
        () if has(&[Op::Fopen]) => "open",
        () if has(&[Op::Fclose]) => "close",
        () => "look_at",
    };
    let stem = path.map(|path| stem(&path)).filter(|stem| !stem.is_empty());
    let name = format!("{verb}_{}", stem.unwrap_or("file".into()));
    let taken = |name: &str| others.iter().any(|other| other.name == name);
    let numbered = (2..).map(|number| format!("{name}_{number}"));
    let mut all = std::iter::once(name.clone()).chain(numbered);
    all.find(|name| !taken(name)).unwrap_or_default()
}

fn collect(item: &Item, shaper: &Shaper<'_>, ops: &mut Vec<Op>, path: &mut Option<Vec<u8>>) {
    if let Form::Leaf(shape) = &item.form
        && let Shape::Op(statement) = &shaper.shapes.all[*shape as usize]
    {
        ops.push(statement.op);
        let named = statement.args.iter().find_map(|arg| match (arg, item.numbers.first()) {
            (Arg::Path(template), _) => Some(text(&shaper.names.templates[*template as usize])),
            (Arg::Named, Some(number)) => match number.base {
                Value::Same(id) if number.list.is_none() => Some(shaper.path(id).to_vec()),
                _ => None,
            },
            _ => None,
        });
        *path = path.take().or(named);
    }
    item.body.iter().for_each(|item| collect(item, shaper, ops, path));
}

/// A template without its numbers.
pub fn text(template: &[Part]) -> Vec<u8> {
    let texts = template.iter().map(|part| match part {
        Part::Text(text) => &text[..],
        Part::Number { .. } => &b"-"[..],
    });
    texts.collect::<Vec<_>>().concat()
}

/// The last part of a path, in letters and underscores.
pub fn stem(path: &[u8]) -> String {
    let last =
        path.rsplit(|byte| *byte == b'/').find(|part| part.iter().any(u8::is_ascii_alphabetic));
    let letters = last.unwrap_or_default().iter();
    let letters = letters.map(|byte| match byte.is_ascii_alphabetic() {
        true => byte.to_ascii_lowercase() as char,
        false => '_',
    });
    let text: String = letters.collect();
    let words: Vec<&str> = text.split('_').filter(|word| !word.is_empty()).take(3).collect();
    words.join("_")
}
