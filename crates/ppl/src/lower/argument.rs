//! One argument of an operation, by the kind of its parameter.

use super::Lower;
use super::op::MOST;
use super::value::Ev;
use crate::ast::{Expr, ExprId};
use crate::check::flags;
use crate::diag::{Code, Diagnostic};
use crate::facts::Kind;
use crate::suggest::nearest;
use model::op::{Param, ParamKind, SEEKS};
use model::plan::{Operand, Source};
use model::types::Types;
use model::{Op, Value};

/// How the members of a communicator work together in one call.
const TOGETHER: [&str; 3] = ["all", "shared", "ordered"];

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

/// The operation that does with the name of a file what this one does with an open file.
fn by_name(op: Op) -> Option<Op> {
    let takes = |op: Op| op.row().params.first().map(|param| param.kind);
    let same = Op::find(op.name().strip_prefix('f')?)?;
    let other = takes(op) == Some(ParamKind::Handle) && takes(same) == Some(ParamKind::Path);
    other.then_some(same)
}

impl Lower<'_> {
    /// Lowers an argument; `None` if it is wrong, which is reported.
    #[inline]
    pub(super) fn argument(&mut self, op: Op, param: &Param, id: ExprId) -> Option<Operand> {
        use ParamKind as K;
        match param.kind {
            K::Path | K::LinkTarget => self.path(id, param.kind),
            kind if Self::is_number(kind) => self.number(op, param, id),
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
        let found = match self.constant(ev) {
            Some(value) => value.describe(),
            None => ev.types.describe(),
        };
        let mut help = format!("{op} is written {}", op.row().signature());
        if let Some(same) = by_name(op).filter(|_| ev.types.may(Types::STR)) {
            help += &format!("; with names: {}", same.row().signature());
        }
        let message = format!("expected {what}, found {found}");
        let diagnostic = Diagnostic::new(Code::WrongType, self.ast.expr_span(id), message);
        self.reports.push(diagnostic.help(help));
        None
    }

    /// A number that is not negative; a constant becomes an integer.
    fn number(&mut self, op: Op, param: &Param, id: ExprId) -> Option<Operand> {
        let ev = self.expr(id);
        self.number_of(op, param, id, ev)
    }

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
        let text = self.reader.text(span);
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

    fn flags(&mut self, id: ExprId) -> Option<Operand> {
        let ev = self.expr(id);
        if ev.is_bad() {
            return None;
        }
        if !ev.types.may(Types::STR) {
            return self.expected(Op::Fopen, "open flags in quotes", ev, id);
        }
        if let Source::Const(index) = ev.operand.source()
            && self.is_alive()
            && let Some(Value::Str(text)) = self.plan.consts.get(index as usize)
            && let Err(problem) = flags::check(text)
        {
            let span = self.ast.expr_span(id);
            let diagnostic = Diagnostic::new(Code::BadValue, span, problem.message);
            self.reports.push(diagnostic.help(problem.help));
            return None;
        }
        Some(ev.operand)
    }

    /// One of some words; a text that is known at run time only is looked at there.
    fn word(&mut self, op: Op, param: &Param, words: &[&str], id: ExprId) -> Option<Operand> {
        let ev = self.expr(id);
        if ev.is_bad() {
            return None;
        }
        let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
        let (last, others) = quoted.split_last()?;
        let wanted = match others {
            [] => format!("{last} as {}", param.name),
            others => format!("{} or {last} as {}", others.join(", "), param.name),
        };
        if !ev.types.may(Types::STR) {
            return self.expected(op, &wanted, ev, id);
        }
        let Some(Value::Str(text)) = self.constant(ev) else { return Some(ev.operand) };
        if words.iter().any(|word| word.as_bytes() == text.as_slice()) || !self.is_alive() {
            return Some(ev.operand);
        }
        let found = String::from_utf8_lossy(text).into_owned();
        let span = self.ast.expr_span(id);
        let message = format!("expected {wanted}, found \"{found}\"");
        let diagnostic = Diagnostic::new(Code::BadValue, span, message);
        self.reports.push(match nearest(&found, words.iter().copied()) {
            Some(word) => diagnostic.fix(span, format!("\"{word}\"")),
            None => diagnostic,
        });
        None
    }

    /// Sizes of buffers.
    fn sizes(&mut self, op: Op, id: ExprId) -> Option<Operand> {
        const WANTED: &str = "a list of numbers of bytes";
        let ev = self.expr(id);
        if ev.is_bad() {
            return None;
        }
        if !ev.types.may(Types::LIST) {
            return self.expected(op, WANTED, ev, id);
        }
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

    /// The name of an extended attribute. Those of other namespaces are the system's: they say who
    /// may do what.
    fn attribute(&mut self, op: Op, id: ExprId) -> Option<Operand> {
        let ev = self.expr(id);
        if ev.is_bad() {
            return None;
        }
        if !ev.types.may(Types::STR) {
            return self.expected(op, "the name of an attribute in quotes", ev, id);
        }
        let Some(Value::Str(text)) = self.constant(ev) else { return Some(ev.operand) };
        if text.starts_with(b"user.") || !self.is_alive() {
            return Some(ev.operand);
        }
        let found = String::from_utf8_lossy(text).into_owned();
        let span = self.ast.expr_span(id);
        let message =
            format!("expected the name of an attribute that begins with user., found \"{found}\"");
        let diagnostic = Diagnostic::new(Code::BadValue, span, message);
        self.reports.push(match found.contains('.') {
            true => diagnostic.help("programs can use the attributes of the namespace user. only"),
            false => diagnostic.fix(span, format!("\"user.{found}\"")),
        });
        None
    }

    fn mpi_mode(&mut self, id: ExprId) -> Option<Operand> {
        let ev = self.expr(id);
        if ev.is_bad() {
            return None;
        }
        if !ev.types.may(Types::STR) {
            return self.expected(Op::Pfopen, "a mode in quotes", ev, id);
        }
        if let Some(Value::Str(text)) = self.constant(ev)
            && !flags::is_mpi_mode(text)
        {
            let found = String::from_utf8_lossy(text).into_owned();
            let message = format!("expected an MPI open mode, found \"{found}\"");
            let help =
                "letters of r w c x a, with r, w or both (w where c or x stands), as in \"crw\"";
            let span = self.ast.expr_span(id);
            self.reports.push(Diagnostic::new(Code::BadValue, span, message).help(help));
            return None;
        }
        Some(ev.operand)
    }

    /// The name of a pattern, or a number of bytes.
    fn pattern_or_size(&mut self, op: Op, param: &Param, id: ExprId) -> Option<Operand> {
        let span = self.ast.expr_span(id);
        self.note_needed(id);
        let ev = match self.plain_string(id) {
            Some(name) if self.use_pattern(&name).is_some() => self.known_text(name.as_bytes()),
            _ => self.expr(id),
        };
        let Some(Value::Str(text)) = self.constant(ev) else {
            self.may_name_patterns(ev);
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
    pub(super) fn pattern_argument(&mut self, id: ExprId) -> Ev {
        let span = self.ast.expr_span(id);
        self.note_needed(id);
        let ev = match self.plain_string(id) {
            Some(name) if self.use_pattern(&name).is_some() => self.known_text(name.as_bytes()),
            _ => self.expr(id),
        };
        let known = self.constant(ev).map(|value| value.to_string());
        if known.is_none() {
            self.may_name_patterns(ev);
        }
        if ev.is_bad() || known.is_none() && ev.types.may(Types::STR) || !self.is_alive() {
            return ev;
        }
        let text = known.unwrap_or_default();
        if ev.types.may(Types::STR) && self.use_pattern(&text).is_some() {
            self.note_use(&text, false, span);
            return ev;
        }
        if ev.types.may(Types::STR) {
            self.unknown_pattern(&text, span);
            return Ev::BAD;
        }
        let message = format!("expected the name of a pattern, found {}", ev.types.describe());
        self.wrong_type(span, message)
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
        let message = format!("expected {}, found {}", SEEKS.join(", "), self.reader.text(span));
        let help =
            "positions count from the start of the file, from the current one or from its end";
        self.reports.push(Diagnostic::new(Code::BadValue, span, message).help(help));
        None
    }

    fn seeks_from(&mut self, id: ExprId) -> Option<&'static str> {
        let text = self.reader.text(self.ast.expr_span(id));
        let is_word = matches!(self.ast.expr(id), Expr::Word(_) | Expr::Str);
        SEEKS.into_iter().find(|word| is_word && text.trim_matches('"') == *word)
    }

    /// The offset of `fseek($h, off, SEEK_CUR)`, which may be negative; `None`: it counts from the start.
    pub(super) fn distance(
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
            self.reader.text(span)
        );
        self.reports.push(Diagnostic::new(Code::BadValue, span, message));
        None
    }

    /// The word that tells how members work together may stand in place of the offset.
    pub(super) fn is_together(&mut self, id: ExprId) -> bool {
        self.plain_string(id).is_some_and(|word| TOGETHER.contains(&word.as_str()))
    }

    /// `pfwrite($h, pattern)` has offsets and level from the pattern; the shared file
    /// pointer has its own position.
    pub(super) fn check_placement(&mut self, op: Op, ids: &[Option<ExprId>; MOST]) -> bool {
        let [_, Some(what), offset, together, _] = *ids else { return true };
        let name =
            self.plain_string(what).filter(|name| self.facts.find(Kind::Pattern, name).is_some());
        let word = together.and_then(|id| self.plain_string(id));
        let (place, message, help) = match (name, offset, word.as_deref(), together) {
            (Some(name), Some(id), ..) | (Some(name), None, _, Some(id)) => (
                id,
                format!(
                    "the pattern \"{name}\" says itself where its bytes lie and who calls together"
                ),
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
}
