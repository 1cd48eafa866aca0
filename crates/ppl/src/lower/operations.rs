//! Operations: their arguments by position and name, paths, and files that ranks open together.

use super::state::{Ev, Lower};
use crate::arguments::{TOGETHER, places_together, unnamed};
use crate::ast::{Expr, ExprId, List};
use crate::check::texts::{self, Problem, Problems};
use crate::diag::{Code, Diagnostic};
use crate::facts::{Kind, SymbolId};
use crate::word::{nearest, suggest};
use model::directory::link_leaves;
use model::op::{Needs, Param, ParamKind, SEEKS};
use model::plan::{Operand, Piece, Source, Span, Template};
use model::types::Types;
use model::{Op, Value, value};
use std::borrow::Cow;

/// No operation has more parameters.
const MOST: usize = 5;

impl Lower<'_> {
    /// Notes the first statement in the text that needs MPI, of those that no constant switches off.
    fn note_mpi(&mut self, op: Op, span: Span) {
        let is_first = self.notes.needs_mpi.is_none_or(|(_, first)| span.start < first.start);
        if is_first && self.is_alive() {
            self.notes.needs_mpi = Some((op, span));
        }
    }

    /// The arguments of an operation in [`model::Plan::args`]: where they begin.
    /// `None`: they are wrong and reported.
    pub(crate) fn op_arguments(&mut self, op: Op, args: List, span: Span) -> Option<u32> {
        if op == Op::Print {
            return Some(self.print_arguments(args, span));
        }
        let ids = self.by_parameter(op, args, span)?;
        if op.row().needs == Needs::Mpi {
            self.note_mpi(op, span);
            self.needs_all(op, &ids, span);
            if matches!(op, Op::Pfopen | Op::Pwrite | Op::Pread) {
                self.not_direct(op, span);
            }
        }
        let params = op.row().params;
        let mut operands = [Operand::ABSENT; MOST];
        let mut complete = true;
        let mut distance = self.distance(op, &ids);
        for (at, (param, id)) in params.iter().zip(ids).enumerate() {
            if let Some(id) = id {
                let operand = match distance.take_if(|_| at == 1) {
                    Some(distance) => distance,
                    None => self.argument(op, param, id),
                };
                match operand {
                    Some(operand) => operands[at] = self.kept_operand(operand, span),
                    None => complete = false,
                }
            }
        }
        if op == Op::Symlink && complete {
            self.check_symlink(&operands, span);
        }
        if complete && ids.len() > 1 {
            let handle = self.handle_symbol(ids[0]);
            self.check_blocks(op, handle, &operands, span);
        }
        let start = self.plan.args.len() as u32;
        self.plan.args.extend_from_slice(&operands[..params.len()]);
        complete.then_some(start)
    }

    /// `print`: the number of values, then the values.
    fn print_arguments(&mut self, args: List, span: Span) -> u32 {
        let ids: Vec<ExprId> = self.ast.exprs_in(args).collect();
        let values = ids.into_iter().map(|id| {
            let ev = self.expr(id);
            self.kept_operand(ev.operand, span)
        });
        let values: Vec<Operand> = values.collect();
        let count = self.known(Value::Int(values.len() as i64)).operand;
        let start = self.plan.args.len() as u32;
        self.plan.args.push(count);
        self.plan.args.extend(values);
        start
    }

    /// Assigns arguments to parameters.
    #[inline]
    fn by_parameter(&mut self, op: Op, args: List, span: Span) -> Option<[Option<ExprId>; MOST]> {
        let params = op.row().params;
        let mut found = [None; MOST];
        // As many as are required: those, also where an optional one stands between them.
        let exact = args.len as usize == op.row().required();
        for (at, id) in self.ast.exprs_in(args).enumerate() {
            let (at, id) = match self.ast.expr(id) {
                Expr::Named(name, value) => (self.parameter_named(op, name, id)?, value),
                Expr::Str if at == 2 && places_together(op) => {
                    (unnamed(op, at, exact, self.is_together(id)), id)
                }
                _ => (unnamed(op, at, exact, false), id),
            };
            if at >= params.len() || found[at].is_some() {
                return self.wrong_arguments(op, args, span);
            }
            found[at] = Some(id);
        }
        let missing =
            |(param, id): (&Param, Option<ExprId>)| param.default.is_none() && id.is_none();
        if params.iter().zip(found).any(missing) {
            return self.wrong_arguments(op, args, span);
        }
        if places_together(op) && !self.check_placement(op, &found) {
            return None;
        }
        Some(found)
    }

    fn parameter_named(&mut self, op: Op, name: crate::ast::Name, id: ExprId) -> Option<usize> {
        let text = self.ast.names.text(name);
        let names = || op.row().params.iter().map(|param| param.name);
        let found = names().position(|known| known == text);
        if found.is_none() {
            let help = suggest(text, names());
            let help = help.unwrap_or_else(|| format!("it is written {}", op.row().signature()));
            let message = format!("{op} has no argument `{text}`");
            let span = self.ast.expr_span(id);
            self.reports.push(Diagnostic::new(Code::Arguments, span, message).help(help));
        }
        found
    }

    #[cold]
    fn wrong_arguments<T>(&mut self, op: Op, args: List, span: Span) -> Option<T> {
        let found = match args.len {
            1 => "1 argument".to_string(),
            n => format!("{n} arguments"),
        };
        let message = format!("expected {}, found {found}", op.row().signature());
        let help = format!("for example {}", op.row().example);
        self.reports.push(Diagnostic::new(Code::Arguments, span, message).help(help));
        // Mistakes in the arguments themselves are reported too.
        for id in self.ast.exprs_in(args) {
            if !matches!(self.ast.expr(id), Expr::Named(..) | Expr::Word(_) | Expr::Str) {
                self.expr(id);
            }
        }
        None
    }
}

/// Words of an argument that a number can be given for.
const NUMERIC: Types = Types::AS_INT;

/// The largest set of permission bits.
const MODES: u64 = 0o7777;

/// Its decimal digits are permission bits that people write, such as 644, and its value is not:
/// 420 and 511 are 0o644 and 0o777.
fn reads_like_octal(bits: u64) -> bool {
    let digits = bits.to_string();
    (3..=4).contains(&digits.len())
        && u64::from_str_radix(&digits, 8).is_ok()
        && !is_usual_mode(bits)
}

/// Each digit lets read or nothing, and nobody may do more than the owner, nor others more than the group.
fn is_usual_mode(bits: u64) -> bool {
    let [owner, group, others] = [bits >> 6, bits >> 3 & 7, bits & 7];
    let reads = |digit: u64| digit == 0 || (4..=7).contains(&digit);
    [owner, group, others].into_iter().all(reads) && group & !owner == 0 && others & !group == 0
}

impl Lower<'_> {
    /// Lowers an argument; `None` if it is wrong, which is reported.
    #[inline]
    pub(crate) fn argument(&mut self, op: Op, param: &Param, id: ExprId) -> Option<Operand> {
        use ParamKind as K;
        match param.kind {
            K::Path | K::LinkTarget => self.path(id, param.kind),
            K::Size | K::Offset | K::Count | K::Member | K::Mode => {
                let ev = self.expr(id);
                self.number_of(op, param, id, ev)
            }
            K::Handle => self.handle(op, id, Types::HANDLE, "a file handle of fopen or fcreat"),
            K::MpiHandle => self.handle(op, id, Types::MPI, "an MPI file handle of pfopen"),
            K::Flags => self.flags(id),
            K::MpiMode => self.mpi_mode(id),
            K::Pattern => self.pattern_or_size(op, param, id),
            K::Group => self.group_argument(op, id),
            K::Duration => self.duration(op, id),
            K::Condition => {
                let ev = self.condition_value(id);
                (!ev.is_bad()).then_some(ev.operand)
            }
            K::Number => {
                let wanted = Types::AS_INT.or(Types::FLOAT).or(Types::DURATION);
                let ev = self.of_types(op, id, wanted, "a number")?;
                match self.constant(ev).map(value::number) {
                    Some(Err(error)) if self.is_alive() => {
                        self.no_value(error, self.ast.expr_span(id));
                        None
                    }
                    _ => Some(ev.operand),
                }
            }
            K::Whence => self.whence(id),
            K::Collective => self.together(id),
            K::Sizes => self.sizes(op, id),
            K::Word(words) => self.word(op, param, words, id),
            K::Attribute => self.attribute(op, id),
            _ => {
                let ev = self.expr(id);
                (!ev.is_bad()).then_some(ev.operand)
            }
        }
    }

    fn expected(&mut self, op: Op, what: &str, ev: Ev, id: ExprId) -> Option<Operand> {
        let found = self.describe(ev);
        let help = format!("{op} is written {}", op.row().signature());
        let message = format!("expected {what}, found {found}");
        let diagnostic = Diagnostic::new(Code::WrongType, self.ast.expr_span(id), message);
        self.reports.push(diagnostic.help(help));
        None
    }

    /// The value of an argument of some types; `None`: it is another one, which is reported.
    fn of_types(&mut self, op: Op, id: ExprId, wanted: Types, what: &str) -> Option<Ev> {
        let ev = self.expr(id);
        if ev.is_bad() {
            return None;
        }
        if !ev.types.may(wanted) {
            self.expected(op, what, ev, id);
            return None;
        }
        Some(ev)
    }

    /// The text that an argument always is, if it is executed.
    pub(crate) fn known_argument(&self, ev: Ev) -> Option<String> {
        match self.constant(ev) {
            Some(Value::Str(text)) if self.is_alive() => {
                Some(String::from_utf8_lossy(text).into_owned())
            }
            _ => None,
        }
    }

    /// A number that is not negative; a constant becomes an integer.
    fn number_of(&mut self, op: Op, param: &Param, id: ExprId, ev: Ev) -> Option<Operand> {
        if ev.is_bad() {
            return None;
        }
        if !self.is_alive() {
            return Some(ev.operand);
        }
        let what = match param.kind {
            ParamKind::Size => "a number of bytes",
            ParamKind::Pattern => "a number of bytes or the name of a pattern",
            ParamKind::Offset => "a position in bytes",
            ParamKind::Mode => "permission bits",
            ParamKind::Member => "a member number",
            _ => "a number",
        };
        if !ev.types.may(NUMERIC) {
            return self.expected(op, what, ev, id);
        }
        if param.kind == ParamKind::Mode && !self.check_mode(ev, id) {
            return None;
        }
        match self.constant(ev).map(Value::as_size) {
            None => Some(ev.operand),
            Some(Ok(n))
                if matches!(self.constant(ev), Some(Value::Int(_))) || n > i64::MAX as u64 =>
            {
                Some(ev.operand)
            }
            Some(Ok(n)) => Some(self.known(Value::Int(n as i64)).operand),
            Some(Err(error)) => {
                self.no_value(error, self.ast.expr_span(id));
                None
            }
        }
    }

    /// Permission bits: those that do not exist are refused, and a warning says where decimal
    /// digits look like octal ones.
    fn check_mode(&mut self, ev: Ev, id: ExprId) -> bool {
        let Some(Ok(bits)) = self.constant(ev).map(Value::as_size) else { return true };
        let span = self.ast.expr_span(id);
        if bits > MODES {
            let message = format!("expected permission bits up to 0o7777, found {bits}");
            let help = "permission bits are written 0o644";
            self.reports.push(Diagnostic::new(Code::BadValue, span, message).help(help));
            return false;
        }
        let text = self.sources.text(span);
        if reads_like_octal(bits) && !text.starts_with("0o") {
            let message = format!("decimal {bits} is mode 0o{bits:o}");
            let help = format!("write 0o{bits} for the mode that chmod(1) calls {bits}");
            let diagnostic = Diagnostic::new(Code::DecimalMode, span, message).help(help);
            self.reports.push(match text == bits.to_string() {
                true => diagnostic.fix(span, format!("0o{bits}")),
                false => diagnostic,
            });
        }
        true
    }

    fn handle(&mut self, op: Op, id: ExprId, wanted: Types, what: &str) -> Option<Operand> {
        let ev = self.expr(id);
        if ev.is_bad() {
            return None;
        }
        match ev.types.may(wanted) || !self.is_alive() {
            true => Some(ev.operand),
            false => self.expected(op, what, ev, id),
        }
    }

    /// A text; one that is known now has to be right. `wrong` completes what is said of a text that is
    /// not; one that is known at run time only is looked at there.
    fn text_argument(
        &mut self,
        op: Op,
        id: ExprId,
        wanted: &str,
        wrong: impl FnOnce(&str, Diagnostic) -> Option<Diagnostic>,
    ) -> Option<Operand> {
        let ev = self.of_types(op, id, Types::STR, wanted)?;
        let Some(text) = self.known_argument(ev) else { return Some(ev.operand) };
        let message = format!("expected {wanted}, found \"{text}\"");
        let said = Diagnostic::new(Code::BadValue, self.ast.expr_span(id), message);
        let Some(said) = wrong(&text, said) else { return Some(ev.operand) };
        self.reports.push(said);
        None
    }

    fn flags(&mut self, id: ExprId) -> Option<Operand> {
        self.text_argument(Op::Fopen, id, "open flags in quotes", |text, said| {
            texts::wrong_flags(text).map(|help| said.help(help))
        })
    }

    /// One of some words.
    fn word(&mut self, op: Op, param: &Param, words: &[&str], id: ExprId) -> Option<Operand> {
        let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
        let (last, others) = quoted.split_last()?;
        let wanted = match others {
            [] => format!("{last} as {}", param.name),
            others => format!("{} or {last} as {}", others.join(", "), param.name),
        };
        let span = self.ast.expr_span(id);
        self.text_argument(op, id, &wanted, |text, said| {
            match (words.contains(&text), nearest(text, words.iter().copied())) {
                (true, _) => None,
                (false, Some(word)) => Some(said.fix(span, format!("\"{word}\""))),
                (false, None) => Some(said),
            }
        })
    }

    /// The name of an extended attribute. Those of other namespaces are the system's: they say who
    /// may do what.
    fn attribute(&mut self, op: Op, id: ExprId) -> Option<Operand> {
        let span = self.ast.expr_span(id);
        let wanted = "the name of an attribute that begins with user.";
        self.text_argument(op, id, wanted, |text, said| match text.contains('.') {
            _ if text.starts_with("user.") => None,
            true => Some(said.help("programs can use the attributes of the namespace user. only")),
            false => Some(said.fix(span, format!("\"user.{text}\""))),
        })
    }

    fn mpi_mode(&mut self, id: ExprId) -> Option<Operand> {
        let help = "letters of r w c x a, with r, w or both (w where c or x stands), as in \"crw\"";
        self.text_argument(Op::Pfopen, id, "an MPI open mode in quotes", |text, said| {
            (!texts::is_mpi_mode(text.as_bytes())).then(|| said.help(help))
        })
    }

    /// Sizes of buffers.
    fn sizes(&mut self, op: Op, id: ExprId) -> Option<Operand> {
        const WANTED: &str = "a list of numbers of bytes";
        let ev = self.of_types(op, id, Types::LIST, WANTED)?;
        let Some(Value::List(items)) = self.constant(ev) else { return Some(ev.operand) };
        let wrong = items.iter().find(|item| item.as_size().is_err());
        let Some(found) = wrong.map(Value::describe).filter(|_| self.is_alive()) else {
            return Some(ev.operand);
        };
        let message = format!("expected {WANTED}, found {found} in it");
        let diagnostic = Diagnostic::new(Code::WrongType, self.ast.expr_span(id), message);
        self.reports.push(diagnostic.help(format!("for example {}", op.row().example)));
        None
    }

    /// Lowers an argument that may name a pattern.
    fn pattern_named(&mut self, id: ExprId) -> Ev {
        let ev = match self.plain_string(id) {
            Some(name) if self.use_pattern(&name).is_some() => self.known_text(name.as_bytes()),
            _ => self.expr(id),
        };
        self.may_name_patterns(ev);
        ev
    }

    /// The name of a pattern, or a number of bytes.
    fn pattern_or_size(&mut self, op: Op, param: &Param, id: ExprId) -> Option<Operand> {
        let span = self.ast.expr_span(id);
        let ev = self.pattern_named(id);
        let Some(Value::Str(text)) = self.constant(ev) else {
            // `pwrite` and `pread` have no place for the offset that a number would need.
            if matches!(op, Op::Pwrite | Op::Pread) && !ev.types.may(Types::STR) && !ev.is_bad() {
                return self.expected(op, "the name of a pattern in quotes", ev, id);
            }
            return self.number_of(op, param, id, ev);
        };
        let text = String::from_utf8_lossy(text).into_owned();
        if self.use_pattern(&text).is_some() {
            self.note_use(&text, matches!(op, Op::Pwrite | Op::Pfwrite), span);
            return Some(ev.operand);
        }
        if Value::str(&text).as_int().is_ok() || !self.is_alive() {
            return self.number_of(op, param, id, ev);
        }
        self.unknown_pattern(&text, span);
        None
    }

    /// The name of a pattern as the argument of a function.
    pub(crate) fn pattern_argument(&mut self, id: ExprId) -> Ev {
        let span = self.ast.expr_span(id);
        let ev = self.pattern_named(id);
        let is_open = self.constant(ev).is_none() && ev.types.may(Types::STR);
        if ev.is_bad() || is_open || !self.is_alive() {
            return ev;
        }
        let Some(Value::Str(text)) = self.constant(ev) else {
            let message = format!("expected the name of a pattern, found {}", ev.types.describe());
            return self.wrong_type(span, message);
        };
        let text = String::from_utf8_lossy(text).into_owned();
        if self.use_pattern(&text).is_some() {
            self.note_use(&text, false, span);
            return ev;
        }
        self.unknown_pattern(&text, span);
        Ev::BAD
    }

    fn group_argument(&mut self, op: Op, id: ExprId) -> Option<Operand> {
        if self.ast.expr(id) != Expr::Str {
            let ev = self.expr(id);
            return match ev.is_bad() {
                true => None,
                false => self.expected(op, "the name of a group in quotes", ev, id),
            };
        }
        let group = self.group_named(id)?;
        let name = self.plan.groups[group as usize].name.clone();
        Some(self.known_text(name.as_bytes()).operand)
    }

    fn duration(&mut self, op: Op, id: ExprId) -> Option<Operand> {
        let ev = self.expr(id);
        if ev.is_bad() {
            return None;
        }
        if !self.is_alive() {
            return Some(ev.operand);
        }
        if !ev.types.may(NUMERIC.or(Types::DURATION)) {
            return self.expected(op, "a duration, or microseconds as an integer", ev, id);
        }
        if let Some(Err(error)) = self.constant(ev).map(Value::as_duration_ns) {
            self.no_value(error, self.ast.expr_span(id));
            return None;
        }
        Some(ev.operand)
    }

    /// `SEEK_SET`, which is what holds without it, `SEEK_CUR` or `SEEK_END`.
    fn whence(&mut self, id: ExprId) -> Option<Operand> {
        match self.seeks_from(id) {
            Some("SEEK_SET") => return Some(Operand::ABSENT),
            Some(word) => return Some(self.known_text(word.as_bytes()).operand),
            None => {}
        }
        let span = self.ast.expr_span(id);
        let message = format!("expected {}, found {}", SEEKS.join(", "), self.sources.text(span));
        let help =
            "positions count from the start of the file, from the current one or from its end";
        self.reports.push(Diagnostic::new(Code::BadValue, span, message).help(help));
        None
    }

    fn seeks_from(&mut self, id: ExprId) -> Option<&'static str> {
        let text = self.sources.text(self.ast.expr_span(id));
        let is_word = matches!(self.ast.expr(id), Expr::Word(_) | Expr::Str);
        SEEKS.into_iter().find(|word| is_word && text.trim_matches('"') == *word)
    }

    /// The offset of `fseek($h, off, SEEK_CUR)`, which may be negative; `None`: it counts from the start.
    pub(crate) fn distance(
        &mut self,
        op: Op,
        ids: &[Option<ExprId>; MOST],
    ) -> Option<Option<Operand>> {
        let is_seek = matches!(op, Op::Fseek | Op::Pfseek);
        let [_, Some(off), Some(whence), ..] = *ids else { return None };
        if !is_seek || self.seeks_from(whence).is_none_or(|word| word == SEEKS[0]) {
            return None;
        }
        let ev = self.expr(off);
        if ev.is_bad() {
            return Some(None);
        }
        if !ev.types.may(NUMERIC) && self.is_alive() {
            return Some(self.expected(op, "a distance in bytes", ev, off));
        }
        Some(match self.constant(ev).map(Value::as_int) {
            Some(Ok(n)) => Some(self.known(Value::Int(n)).operand),
            Some(Err(error)) if self.is_alive() => {
                self.no_value(error, self.ast.expr_span(off));
                None
            }
            _ => Some(ev.operand),
        })
    }

    /// `"all"`, `"shared"`, `"ordered"`
    fn together(&mut self, id: ExprId) -> Option<Operand> {
        if let Some(word) = self.plain_string(id).filter(|word| TOGETHER.contains(&word.as_str())) {
            return Some(self.known_text(word.as_bytes()).operand);
        }
        let span = self.ast.expr_span(id);
        let message = format!(
            "expected \"all\" (collective), \"shared\" or \"ordered\" (shared file pointer), found {}",
            self.sources.text(span)
        );
        self.reports.push(Diagnostic::new(Code::BadValue, span, message));
        None
    }

    /// The word for how members work together may take the place of the offset.
    fn is_together(&mut self, id: ExprId) -> bool {
        self.plain_string(id).is_some_and(|word| TOGETHER.contains(&word.as_str()))
    }

    /// `pfwrite($h, pattern)` has its level from the pattern; the shared file pointer has its own
    /// position.
    fn check_placement(&mut self, op: Op, ids: &[Option<ExprId>; MOST]) -> bool {
        let [_, Some(what), offset, together, _] = *ids else { return true };
        let name =
            self.plain_string(what).filter(|name| self.facts.find(Kind::Pattern, name).is_some());
        let word = together.and_then(|id| self.plain_string(id));
        let (place, message, help) = match (name, offset, word.as_deref(), together) {
            (Some(name), _, _, Some(id)) => (
                id,
                format!("the level of the pattern \"{name}\" says who calls together"),
                format!("{op}($h, \"{name}\"); or a number of bytes instead of the pattern"),
            ),
            (None, Some(id), Some("shared" | "ordered"), _) => (
                id,
                "the shared file pointer has a position of its own".to_string(),
                format!("leave the offset out: {op}($h, 4k, \"shared\");"),
            ),
            _ => return true,
        };
        let span = self.ast.expr_span(place);
        self.reports.push(Diagnostic::new(Code::Arguments, span, message).help(help));
        if let Some(name) = self.plain_string(what) {
            self.use_pattern(&name);
        }
        false
    }

    /// Lowers a path; `None` if it is wrong, which is reported.
    pub(crate) fn path(&mut self, id: ExprId, kind: ParamKind) -> Option<Operand> {
        let span = self.ast.expr_span(id);
        let ev = self.expr(id);
        if ev.is_bad() {
            return None;
        }
        if !ev.types.may(Types::STR) {
            let message = format!("expected a path in quotes, found {}", ev.types.describe());
            let help = match ev.types.may(Types::HANDLE) {
                true => {
                    "by handles files are read, written and copied with fread($h, n, off), fwrite($h, n, off) \
                     and fcopy($from, $to, n)"
                }
                false => "a path is text; a number in it is written \"file-$i\"",
            };
            self.reports.push(Diagnostic::new(Code::WrongType, span, message).help(help));
            return None;
        }
        let text = match (ev.operand.source(), self.constant(ev)) {
            (Source::Template(index), _) => {
                self.warn_filled_blanks(index, span);
                Cow::Owned(self.skeleton(index))
            }
            (_, Some(Value::Str(text))) => Cow::Borrowed(&**text),
            _ => return Some(ev.operand),
        };
        if texts::problems(&text, &self.roots) == Problems::default() {
            return Some(ev.operand);
        }
        let text = text.into_owned();
        self.check_path(&text, kind, span).then_some(ev.operand)
    }

    /// `"file-${i:6}"`: zeros were probably meant.
    fn warn_filled_blanks(&mut self, template: u32, span: Span) {
        let Template { start, end } = self.plan.templates[template as usize];
        let pieces = &self.plan.pieces[start as usize..end as usize];
        let filled = pieces.iter().find_map(|piece| match piece {
            Piece::Formatted { format, .. } if format.width > 1 && !format.zeros => Some(*format),
            _ => None,
        });
        if let Some(format) = filled {
            let message = format!("`:{format}` puts blanks before the number, in a name");
            let help = format!("write ${{...:0{format}}} for zeros");
            self.reports.push(Diagnostic::new(Code::PathBlank, span, message).help(help));
        }
    }

    /// The literal text of a template with a letter in place of each value.
    fn skeleton(&self, template: u32) -> Vec<u8> {
        let template = self.plan.templates[template as usize];
        let mut text = Vec::with_capacity(64);
        for piece in &self.plan.pieces[template.start as usize..template.end as usize] {
            match piece {
                Piece::Text { start, end } => {
                    text.extend_from_slice(&self.plan.text[*start as usize..*end as usize]);
                }
                // What follows a directory may be a whole path.
                _ if self.roots.iter().any(|path| path.as_bytes() == text) => {
                    text.extend_from_slice(b"/x");
                }
                _ => text.push(b'x'),
            }
        }
        text
    }

    /// Whether a path can be used, as far as its text is known.
    fn check_path(&mut self, text: &[u8], kind: ParamKind, span: Span) -> bool {
        let problems = texts::problems(text, &self.roots);
        if problems.blank {
            let message = "a blank at the start or end of a path component is part of the name";
            let help = "take it away unless the file is really called so";
            self.reports.push(Diagnostic::new(Code::PathBlank, span, message).help(help));
        }
        // What a symbolic link holds is relative to its place; that is looked at with it.
        let leaves = problems.worst.filter(|problem| {
            self.is_alive() && !(kind == ParamKind::LinkTarget && *problem == Problem::Parent)
        });
        let Some(problem) = leaves else { return true };
        let code = match problem {
            Problem::Nul => Code::BadValue,
            _ => Code::LeavesDirectory,
        };
        let message = problem.message(&String::from_utf8_lossy(text));
        self.reports.push(Diagnostic::new(code, span, message).help(problem.help()));
        false
    }

    /// A symbolic link whose constant target leads out of the directory.
    fn check_symlink(&mut self, operands: &[Operand], span: Span) {
        let text = |operand: Operand| self.plan.literal(operand).map(<[u8]>::to_vec);
        let (Some(target), Some(name)) = (text(operands[0]), text(operands[1])) else { return };
        if link_leaves(&target, &name) && self.is_alive() {
            let shown = String::from_utf8_lossy(&target).into_owned();
            let message = format!("expected a target inside the run directory, found \"{shown}\"");
            let help = "a link's target is relative to the directory that holds the link";
            self.reports.push(Diagnostic::new(Code::LeavesDirectory, span, message).help(help));
        }
    }
}

/// Operations on MPI files that open what they name.
const NAMES_FILE: [Op; 3] = [Op::Pfopen, Op::Pwrite, Op::Pread];

impl Lower<'_> {
    /// Reports a collective operation that only some members reach; files
    /// that ranks open alone are nobody else's.
    fn needs_all(&mut self, op: Op, ids: &[Option<ExprId>; MOST], span: Span) {
        if !op.is_collective() && !self.is_called_together(op, ids) {
            return;
        }
        let handle = self.handle_symbol(ids[0]);
        let is_own = handle.is_some_and(|symbol| self.notes.opened_alone.contains(&symbol));
        if is_own || self.around.alone && NAMES_FILE.contains(&op) {
            return;
        }
        self.collective(&format!("{op}, which all members do together,"), span);
    }

    /// The variable that an argument is.
    fn handle_symbol(&self, argument: Option<ExprId>) -> Option<SymbolId> {
        let id = argument.filter(|id| matches!(self.ast.expr(*id), Expr::Var(_)))?;
        self.mentioned(self.ast.expr_span(id).start).map(|mention| mention.symbol)
    }

    /// A transfer says it by a word, or by the level of its pattern.
    fn is_called_together(&mut self, op: Op, ids: &[Option<ExprId>; MOST]) -> bool {
        if !matches!(op, Op::Pfwrite | Op::Pfread) {
            return false;
        }
        let word = ids[3].and_then(|id| self.plain_string(id));
        let name = ids[1].and_then(|id| self.plain_string(id));
        let pattern = self.plan.patterns.iter().find(|known| Some(&known.name) == name.as_ref());
        matches!(word.as_deref(), Some("all" | "ordered"))
            || pattern.is_some_and(|pattern| pattern.level > 0)
    }
}
