//! `define pattern`: the form with numbers alone, kinds with arguments by their table
//! ([`crate::kinds`]), and the names that refer to a pattern. Bodies of extents: [`super::generator`].

use super::Lower;
use super::generator::Use;
use super::value::Ev;
use crate::ast::{Expr, ExprId, Name, PatternDef};
use crate::diag::{Code, Diagnostic};
use crate::facts::Kind;
use crate::kinds::{Arguments, KINDS, KindRow, Parameter, find_kind};
use crate::suggest::nearest;
use model::Value;
use model::pattern::{Geometry, Random, Strided, Subarray};
use model::plan::{Pattern, Span};
use model::types::Types;

/// More patterns than this are refused: every rank works out all of them for each of its groups.
const MAX_PATTERNS: usize = 256;

impl Lower<'_> {
    /// Looks at the name of a pattern, which holds in the whole program.
    pub(super) fn pattern_definition(&mut self, number: u32) {
        let place = self.ast.expr_span(self.ast.patterns[number as usize].name);
        let Some((name, ordinal)) = self.pattern_name(number) else { return };
        if Value::str(&name).as_int().is_ok() {
            let message =
                format!("expected a name for the pattern that is no number, found \"{name}\"");
            self.reports.push(Diagnostic::new(Code::BadValue, place, message));
            // Nothing can use it, so that this is not said as well.
            self.use_pattern(&name);
        }
        if ordinal as usize == MAX_PATTERNS {
            let message = format!("expected at most {MAX_PATTERNS} patterns, found one more");
            self.reports.push(Diagnostic::new(Code::BadValue, place, message));
        }
    }

    /// The name of a pattern and its place among all, if this is its first definition.
    fn pattern_name(&mut self, number: u32) -> Option<(String, u32)> {
        let name = self.plain_string(self.ast.patterns[number as usize].name)?;
        let symbol = self.facts.symbol(self.facts.find(Kind::Pattern, &name)?);
        (symbol.number == number).then_some((name, symbol.ordinal))
    }

    /// The definition in the text: it sees the constants of this moment.
    pub(super) fn pattern_defined(&mut self, number: u32, span: Span) {
        let def = self.ast.patterns[number as usize];
        let Some((name, ordinal)) = self.pattern_name(number) else { return };
        if ordinal as usize > MAX_PATTERNS {
            return;
        }
        let place = self.ast.expr_span(def.name);
        let pattern = match (def.kind, def.body) {
            (None, None) => {
                let values: Vec<ExprId> = self.ast.exprs_in(def.values).collect();
                self.pattern(name, &values, place)
            }
            (kind, body) => {
                let level = match def.level {
                    Some(level) => self.constant_in(level, 0, 3, "a level"),
                    None => Some(0),
                };
                let known = match (kind, body) {
                    (Some(kind), _) => self.pattern_of_kind(kind, &def, span),
                    (_, Some(body)) => {
                        Some((self.generator(body, None), Pattern::EXTENTS.to_string()))
                    }
                    (None, None) => None,
                };
                let whole = level.zip(known);
                whole.map(|(level, (geometry, definition))| Pattern {
                    name,
                    geometry,
                    definition,
                    level: level as u8,
                    group: None,
                })
            }
        };
        self.plan.patterns.extend(pattern);
    }

    /// `[type,] iterations, elements, level [, group]`
    fn pattern(&mut self, name: String, values: &[ExprId], place: Span) -> Option<Pattern> {
        let last_is_text =
            values.last().is_some_and(|id| self.ast.expr(*id) == Expr::Str) && values.len() > 3;
        let (numbers, group) = match values.split_last() {
            Some((last, rest)) if last_is_text => (rest, Some(*last)),
            _ => (values, None),
        };
        let (kind, [iterations, elements, level]) = match numbers {
            [a, b, c] => (None, [*a, *b, *c]),
            [kind, a, b, c] => (Some(*kind), [*a, *b, *c]),
            _ => {
                let message = format!(
                    "expected {{name, [type 1 or 2,] iterations, elements, level [, group]}}, \
                     found {} values",
                    values.len() + 1
                );
                self.reports.push(Diagnostic::new(Code::Arguments, place, message));
                return None;
            }
        };
        let group = group.map(|id| self.group_name(id));
        let kind = kind.map_or(Some(1), |id| self.constant_in(id, 1, 2, "the pattern's type"))?;
        let strided = Strided {
            count: self.constant_in(iterations, 0, i64::MAX, "a number of iterations")?,
            block_bytes: self.constant_in(elements, 0, i64::MAX, "a number of elements (bytes)")?,
            header_bytes: 0,
            as_subarray: kind == 2,
        };
        let Strided { block_bytes, count, .. } = strided;
        Some(Pattern {
            name,
            geometry: Geometry::Strided(strided),
            definition: format!("strided(block={block_bytes}, count={count}, header=0)"),
            level: self.constant_in(level, 0, 3, "a level")? as u8,
            group: group.flatten(),
        })
    }

    /// A constant integer of a range.
    fn constant_in(&mut self, id: ExprId, least: i64, most: i64, what: &str) -> Option<u64> {
        let ev = self.integer(id, what);
        if ev.is_bad() {
            return None;
        }
        let span = self.ast.expr_span(id);
        let found = self.constant(ev).and_then(|value| value.as_int().ok());
        match found {
            Some(n) if (least..=most).contains(&n) => Some(n as u64),
            _ => {
                let found =
                    found.map_or("an expression that is not constant".into(), |n| n.to_string());
                let range = match most {
                    i64::MAX => format!("at least {least}"),
                    _ => format!("from {least} to {most}"),
                };
                let message = format!("expected {what} {range}, found {found}");
                self.reports.push(Diagnostic::new(Code::BadValue, span, message));
                None
            }
        }
    }

    /// The active group uses a pattern here; whether it exists for so many is looked at when
    /// all are defined. `written`: by MPI-IO, perhaps through a view.
    pub(super) fn note_use(&mut self, name: &str, written: bool, span: Span) {
        if let Some(active) = self.around.active.as_ref().filter(|_| self.is_alive())
            && let Ok(members) = u32::try_from(active.len())
            && members > 0
        {
            self.pattern_uses.push(Use { name: name.into(), members, written, span });
        }
    }

    /// A name that has to be a pattern's; `None`: there is none of that name.
    pub(super) fn use_pattern(&mut self, name: &str) -> Option<()> {
        let symbol = self.facts.find(Kind::Pattern, name)?;
        self.notes.used.insert(symbol);
        Some(())
    }

    /// A value that only a run knows may be the name of each pattern: it is not said that nothing uses them.
    pub(super) fn may_name_patterns(&mut self, ev: Ev) {
        if self.constant(ev).is_none() && ev.types.may(Types::STR) {
            let names = self.facts.names(Kind::Pattern);
            let symbols = names.filter_map(|name| self.facts.find(Kind::Pattern, name));
            self.notes.used.extend(symbols);
        }
    }

    #[cold]
    pub(super) fn unknown_pattern(&mut self, name: &str, span: Span) {
        let near = nearest(name, self.facts.names(Kind::Pattern));
        let help = match near {
            Some(near) => {
                // It was meant, so it is not said that nothing uses it.
                self.use_pattern(near);
                format!("the nearest is \"{near}\"")
            }
            None => format!("define it: define pattern {{\"{name}\", 10, 1m, 0}};"),
        };
        let message = format!("expected the name of a pattern, found \"{name}\"");
        self.reports.push(Diagnostic::new(Code::UnknownName, span, message).help(help));
    }

    /// The pattern that a kind and its arguments make.
    fn pattern_of_kind(
        &mut self,
        name: Name,
        def: &PatternDef,
        span: Span,
    ) -> Option<(Geometry, String)> {
        let Some(row) = find_kind(self.ast.names.text(name)) else {
            self.unknown_kind(name, span);
            return None;
        };
        let mut given: Vec<(&'static str, Value)> = Vec::new();
        let mut complete = true;
        for id in self.ast.exprs_in(def.values) {
            match self.kind_argument(row, &given, id) {
                Some(argument) => given.push(argument),
                None => complete = false,
            }
        }
        if !complete {
            return None;
        }
        let arguments = match row.complete(&given) {
            Ok(arguments) => arguments,
            Err(Parameter { name, doc, .. }) => {
                let message = format!("the argument `{name}` of {} is missing: {doc}", row.name);
                self.arguments_of_kind(row, span, message, None);
                return None;
            }
        };
        if let Err(said) = row.check(&arguments) {
            self.reports.push(Diagnostic::new(Code::BadValue, span, said).help(written(row)));
            return None;
        }
        let definition = arguments.definition();
        let geometry = match def.body {
            Some(body) => self.generator(body, Some((def.params, arguments, span))),
            None => self.built_in(row, &arguments),
        };
        Some((geometry, definition))
    }

    /// A kind that the run knows by itself.
    fn built_in(&self, row: &KindRow, arguments: &Arguments) -> Geometry {
        let number = |name| arguments.number(name);
        let header_bytes = number("header");
        match row.name {
            "random" => Geometry::Random(Random {
                min_bytes: number("min"),
                max_bytes: number("max"),
                count: number("count"),
                header_bytes,
                seed: self.plan.seed,
            }),
            "subarray" => Geometry::Subarray(Subarray {
                sizes: arguments.numbers("sizes"),
                grid: arguments.numbers("grid"),
                element_bytes: number("elem"),
                header_bytes,
            }),
            _ => Geometry::Strided(Strided {
                block_bytes: number("block"),
                count: number("count"),
                header_bytes,
                as_subarray: false,
            }),
        }
    }

    /// `name=value`
    fn kind_argument(
        &mut self,
        row: &'static KindRow,
        given: &[(&'static str, Value)],
        id: ExprId,
    ) -> Option<(&'static str, Value)> {
        let span = self.ast.expr_span(id);
        let Expr::Named(name, value) = self.ast.expr(id) else {
            let message = format!("expected name=value, found {}", self.reader.text(span));
            self.arguments_of_kind(row, span, message, None);
            return None;
        };
        let text = self.ast.names.text(name);
        let Some(param) = row.param(text) else {
            let near = nearest(text, row.params.iter().map(|param| param.name));
            let message = format!("{} has no argument `{text}`", row.name);
            self.arguments_of_kind(row, span, message, near);
            return None;
        };
        if given.iter().any(|(known, _)| *known == param.name) {
            let message = format!("the argument `{text}` is there twice");
            self.arguments_of_kind(row, span, message, None);
            return None;
        }
        Some((param.name, self.accepted(row, param, value)?))
    }

    fn accepted(
        &mut self,
        row: &'static KindRow,
        param: &'static Parameter,
        id: ExprId,
    ) -> Option<Value> {
        let ev = self.expr(id);
        if ev.is_bad() {
            return None;
        }
        let accepted = match self.constant(ev) {
            Some(value) => param.accepts.accept(value),
            None => Err(format!(
                "expected {} made of constants and parameters",
                param.accepts.expected()
            )),
        };
        let span = self.ast.expr_span(id);
        let described = |said: String| {
            let help = format!("{} is: {}; {}", param.name, param.doc, written(row));
            Diagnostic::new(Code::BadValue, span, said).help(help)
        };
        accepted.map_err(|said| self.reports.push(described(said))).ok()
    }

    #[cold]
    fn arguments_of_kind(
        &mut self,
        row: &KindRow,
        span: Span,
        message: String,
        near: Option<&str>,
    ) {
        let help = match near {
            Some(near) => format!("the nearest is {near}; {}", written(row)),
            None => written(row),
        };
        self.reports.push(Diagnostic::new(Code::Arguments, span, message).help(help));
    }

    #[cold]
    fn unknown_kind(&mut self, name: Name, span: Span) {
        let text = self.ast.names.text(name);
        let names = KINDS.iter().map(|row| row.name);
        let help = match nearest(text, names.clone()).and_then(find_kind) {
            Some(row) => format!("the nearest is {}; {}", row.name, written(row)),
            None => format!("there are {}", names.collect::<Vec<_>>().join(" ")),
        };
        let message = format!("expected a kind of pattern, found `{text}`");
        self.reports.push(Diagnostic::new(Code::UnknownName, span, message).help(help));
    }
}

fn written(row: &KindRow) -> String {
    format!("it is written {}", row.signature())
}
