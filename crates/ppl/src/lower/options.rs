//! `with` and its options, and `define hints`.

use super::notes::{Asked, With};
use super::state::{Ev, Lower, Nest};
use super::stmt::Flow;
use crate::ast::{Expr, ExprId, List, StmtId};
use crate::diag::{Code, Diagnostic};
use crate::facts::{Kind, SymbolId};
use crate::foreign::words;
use crate::word::suggest;
use model::directory::{DIRECTORIES_MAX, Directory};
use model::plan::{Instr, Operand, Options, Span};
use model::value::EvalError;
use model::with::{Accepts, OPTIONS, OptionRow, SHORT, WithOption, error_names, may_be_expected};
use model::{Op, Value, errno, hints};

impl Lower<'_> {
    /// `with (name=value, ...) body`
    pub(crate) fn with(&mut self, list: List, body: StmtId, span: Span) -> Flow {
        let mut options = Options::default();
        let mut asked = Vec::new();
        let around = &mut self.around;
        let outer = (around.direct, around.dedup, around.transfer, around.alone, around.in_force);
        let outside = std::mem::take(&mut around.inside);
        for id in self.ast.exprs_in(list) {
            if let Expr::Named(name, value) = self.ast.expr(id) {
                asked.extend(self.option(&mut options, self.ast.names.text(name), value, id));
            }
        }
        asked.iter().for_each(|asked| self.enter_option(asked));
        self.check_combinations(&options, list);
        self.plan.options.push(options);
        let options = self.plan.options.len() as u32 - 1;
        self.emit(Instr::WithEnter { options }, span);
        let flow = self.nested(Nest::With, body);
        self.emit(Instr::WithLeave, span);
        let is_alive = self.is_alive();
        let around = &mut self.around;
        (around.direct, around.dedup, around.transfer, around.alone, around.in_force) = outer;
        let inside = std::mem::replace(&mut around.inside, outside);
        around.inside.join(&inside);
        if is_alive {
            self.notes.withs.push(With { asked, inside });
        }
        flow
    }

    /// Remembers what checks of the statements inside ask for.
    fn enter_option(&mut self, Asked { row, value, span }: &Asked) {
        let known = self.constant_of(*value);
        match row.option {
            WithOption::Direct => {
                let is_on = known.is_some_and(|value| value.as_condition() == Ok(true));
                self.around.direct = is_on.then_some(*span);
            }
            WithOption::Dedup => {
                let repeats = known.is_none_or(|value| value.as_float() != Ok(1.0));
                self.around.dedup = repeats.then_some(*span);
            }
            WithOption::Transfer => {
                self.around.transfer = known.and_then(|value| value.as_size().ok());
            }
            WithOption::Comm => self.around.alone = known == Some(&Value::str("self")),
            _ => {}
        }
    }

    /// Options that say nothing beside others, or contradict those in force.
    fn check_combinations(&mut self, options: &Options, list: List) {
        let known = |option: Option<Operand>| option.and_then(|operand| self.constant_of(operand));
        let is_other = known(options.data).is_some_and(|data| *data != Value::str("random"));
        let verifies = known(options.verify).is_some_and(|on| on.as_condition() == Ok(true));
        let (arrival, has_rate) = (known(options.arrival), options.rate.is_some());
        let is_listed = matches!(arrival, Some(Value::List(_)));
        // A wrong one is reported already.
        let is_word = match self.first_of(list, &["arrival"]) {
            Some(_) => arrival.is_some() && !is_listed,
            None => true,
        };
        let rules: [(bool, &[&'static str], &str, &str); 4] = [
            (
                is_other,
                &["compress", "dedup"],
                "this shapes random data: it does nothing to other data",
                "leave out data, or leave out compress and dedup",
            ),
            (
                verifies,
                &["data", "compress", "dedup"],
                "verify=true writes data of its own: this does nothing to it",
                "leave out this or verify",
            ),
            (
                is_listed && has_rate,
                &["rate"],
                "the times of arrival are the rate",
                "leave out rate",
            ),
            (
                is_word && !has_rate,
                &["arrival", "per"],
                "this goes with rate, which is missing in this `with`",
                "write as in with (rate=1000/s, arrival=\"poisson\")",
            ),
        ];
        for (is_wrong, names, message, help) in rules {
            if let Some(id) = self.first_of(list, names).filter(|_| is_wrong) {
                let diagnostic = Diagnostic::new(Code::BadValue, self.ast.expr_span(id), message);
                self.reports.push(diagnostic.help(help));
            }
        }
        for (option, operand) in options.given() {
            let value = self.constant_of(operand).cloned();
            self.around.in_force.set(option, value.as_ref());
        }
        let Some((which, why)) = self.around.in_force.contradiction() else { return };
        let names = which.map(|option| option.row().name);
        if let Some(id) = self.first_of(list, &names).filter(|_| self.is_alive()) {
            self.reports.push(Diagnostic::new(Code::BadValue, self.ast.expr_span(id), why));
        }
    }

    /// The first of these options that is given.
    fn first_of(&self, list: List, names: &[&str]) -> Option<ExprId> {
        let is_one = |id: &ExprId| match self.ast.expr(*id) {
            Expr::Named(given, _) => names.contains(&self.ast.names.text(given)),
            _ => false,
        };
        self.ast.exprs_in(list).find(is_one)
    }

    /// A file is opened by MPI, which knows nothing of O_DIRECT. Said once for each `with`.
    pub(crate) fn not_direct(&mut self, op: Op, span: Span) {
        let Some(place) = self.around.direct.take() else { return };
        let message = format!("direct=true does not concern {op}: MPI opens the file as it wants");
        let diagnostic = Diagnostic::new(Code::NotForMpi, span, message)
            .related(place, "it is asked for here")
            .help("put `dropcaches;` before reads, or give hints that the MPI library knows");
        self.reports.push(diagnostic);
    }

    /// Takes in an option; `None`: it is wrong, which is reported.
    fn option(
        &mut self,
        options: &mut Options,
        name: &str,
        value: ExprId,
        id: ExprId,
    ) -> Option<Asked> {
        let Some(row) = OptionRow::find(name) else { return self.unknown_option(name, id) };
        let place = options.place(row.option);
        let span = self.ast.expr_span(id);
        if place.is_some() {
            let message = format!("the option {name} is given twice");
            self.reports.push(Diagnostic::new(Code::Duplicate, span, message));
            return None;
        }
        *place = self.option_value(row, value);
        Some(Asked { row, value: (*place)?, span })
    }

    #[cold]
    fn unknown_option<T>(&mut self, name: &str, id: ExprId) -> Option<T> {
        let span = self.ast.expr_span(id);
        let known = || OPTIONS.iter().map(|row| row.name);
        let message = format!("`with` has no option `{name}`");
        let help = words::option(name).map(str::to_string).or_else(|| suggest(name, known()));
        let all = || format!("there are {}", known().collect::<Vec<_>>().join(", "));
        let help = help.unwrap_or_else(all);
        self.reports.push(Diagnostic::new(Code::Arguments, span, message).help(help));
        None
    }

    fn option_value(&mut self, row: &OptionRow, id: ExprId) -> Option<Operand> {
        let ev = match &row.accepts {
            Accepts::Condition => self.condition_value(id),
            Accepts::Number(_, what) => self.integer(id, what),
            Accepts::Hints => self.hints_named(id),
            Accepts::WordsOrFile(_) => self.data(id),
            Accepts::WordsOrTimes(_) => self.arrival(id),
            Accepts::Words(_)
            | Accepts::Ratio
            | Accepts::Rate
            | Accepts::Errors
            | Accepts::Directory => self.expr(id),
        };
        if ev.is_bad() {
            return None;
        }
        if let Some(error) = self.refusal(row, ev) {
            let span = self.ast.expr_span(id);
            let message = self.wrong_hints(row, ev).unwrap_or_else(|| error.to_string());
            let mut diagnostic = Diagnostic::new(Code::BadValue, span, message);
            diagnostic.help = match row.accepts {
                Accepts::Hints => self.hints_help(ev),
                Accepts::Errors => self.error_name_help(ev),
                Accepts::Directory => Some(
                    "a name has letters, digits, _ and -; the command line says which directory it \
                     is: with (dir=\"fast\") and --mount fast=/burst"
                        .into(),
                ),
                _ => None,
            };
            self.reports.push(diagnostic);
            return None;
        }
        if matches!(row.accepts, Accepts::Directory) {
            self.uses_directory(ev, id);
        }
        Some(ev.operand)
    }

    /// Why the value cannot be what the table wants.
    fn refusal(&self, row: &OptionRow, ev: Ev) -> Option<EvalError> {
        match self.constant(ev) {
            Some(value) => row.check(value).err(),
            None if ev.types.may(row.accepts.types()) => None,
            None => Some(EvalError::Type(row.form, ev.types.describe())),
        }
    }

    /// The plan knows the directories that the program names, also those that nobody has granted.
    fn uses_directory(&mut self, ev: Ev, id: ExprId) {
        let Some(Value::Str(name)) = self.constant(ev) else { return };
        let name = String::from_utf8_lossy(name).into_owned();
        let known = |directory: &Directory| directory.name == name;
        if name.is_empty() || self.plan.directories.iter().any(known) {
            return;
        }
        if self.plan.directories.len() == DIRECTORIES_MAX {
            let message =
                format!("a program can use {DIRECTORIES_MAX} directories, found one more");
            self.reports.push(Diagnostic::new(Code::BadValue, self.ast.expr_span(id), message));
            return;
        }
        self.plan.directories.push(Directory::requested(&name));
    }

    fn error_name_help(&self, ev: Ev) -> Option<String> {
        let Some(Value::Str(text)) = self.constant(ev) else { return None };
        let text = String::from_utf8_lossy(text);
        let unknown = error_names(&text).find(|name| !may_be_expected(name))?;
        let known = errno::ERRNOS.iter().map(|row| row.1).chain([SHORT]);
        suggest(unknown, known)
    }

    /// `define hints "name" = "key=value;...";`
    pub(crate) fn hints_definition(&mut self, name: ExprId, value: ExprId) {
        let Some(name_text) = self.plain_string(name) else { return };
        let span = self.ast.expr_span(name);
        let symbol = self.facts.find(Kind::Hints, &name_text);
        let Some(symbol) = symbol.filter(|symbol| self.facts.symbol(*symbol).span == span) else {
            return;
        };
        let ev = self.expr(value);
        if !ev.is_bad()
            && let Some(found) = self.not_hints(ev)
        {
            let message =
                format!("expected hints such as \"cb_nodes=4;cb_buffer_size=16777216\", {found}");
            self.reports.push(Diagnostic::new(Code::BadValue, self.ast.expr_span(value), message));
        }
        self.hints.insert(symbol, ev);
    }

    /// Why a value cannot be the text of hints.
    fn not_hints(&self, ev: Ev) -> Option<String> {
        match self.constant(ev) {
            Some(Value::Str(text)) => hints::parse(&String::from_utf8_lossy(text)).err(),
            Some(other) => Some(format!("found {}", other.describe())),
            None => Some("found an expression that is not constant".into()),
        }
    }

    /// The value of `with (hints=...)`: a name is replaced by its text.
    fn hints_named(&mut self, id: ExprId) -> Ev {
        if let Some(name) = self.plain_string(id)
            && let Some(symbol) = self.facts.find(Kind::Hints, &name)
            && let Some(value) = self.hints.get(&symbol)
        {
            return *value;
        }
        self.expr(id)
    }

    /// The problem of a text that has the form of hints.
    fn wrong_hints(&self, row: &OptionRow, ev: Ev) -> Option<String> {
        let Some(Value::Str(text)) = self.constant(ev) else { return None };
        let text = String::from_utf8_lossy(text);
        let is_form = matches!(row.accepts, Accepts::Hints) && text.contains('=');
        hints::parse(&text).err().filter(|_| is_form)
    }

    /// The name of hints that was probably meant.
    fn hints_help(&self, ev: Ev) -> Option<String> {
        let Some(Value::Str(text)) = self.constant(ev) else { return None };
        let text = String::from_utf8_lossy(text);
        suggest(&text, self.facts.names(Kind::Hints)).filter(|_| !text.contains('='))
    }
}

/// The smallest block of storage, bytes.
const SECTOR: u64 = 512;
/// Bytes of a block that `dedup` repeats.
const DEDUP_BLOCK: u64 = 4096;
/// From this number of blocks on, the last part of a file changes the ratio by less than 5 %.
const MANY_BLOCKS: u64 = 20;

impl Lower<'_> {
    /// Warns of direct transfers that ranks refuse with EINVAL, and of blocks that cannot repeat: as far as
    /// sizes and positions are constants.
    pub(crate) fn check_blocks(
        &mut self,
        op: Op,
        handle: Option<SymbolId>,
        args: &[Operand],
        span: Span,
    ) {
        if !self.is_alive() {
            return;
        }
        let opened = || {
            let (count, place) = self.notes.opened_direct.get(&handle?)?;
            (*count == self.facts.symbol(handle?).definitions).then_some(*place)
        };
        let direct = match op {
            Op::Write | Op::Append | Op::Read => self.around.direct,
            Op::Fwrite | Op::Fread => opened(),
            _ => None,
        };
        let odd = direct.and_then(|place| Some((place, self.odd_part(op, args, SECTOR)?)));
        if let Some((place, why)) = odd {
            let message = format!("{op} with direct=true: {why}");
            let help = "storage moves whole blocks of 512 or 4096 bytes past the page cache: other sizes \
                        and positions fail with EINVAL, unless the file system says that it takes them";
            self.reports.push(
                Diagnostic::new(Code::Misaligned, span, message)
                    .related(place, "it is asked for here")
                    .help(help),
            );
        }
        let repeats = matches!(op, Op::Write | Op::Append | Op::Fwrite);
        let is_cut = self.around.transfer.is_some_and(|most| !most.is_multiple_of(DEDUP_BLOCK));
        let dedup = self.around.dedup.filter(|_| repeats && (is_cut || !self.is_large(op, args)));
        let odd = dedup.and_then(|place| Some((place, self.odd_part(op, args, DEDUP_BLOCK)?)));
        if let Some((place, why)) = odd {
            let message = format!("{op} with dedup: {why}, so that its blocks do not repeat");
            let help = "storage finds equal blocks only where they begin at multiples of their size: write \
                        multiples of 4k at multiples of 4k, or leave dedup out";
            self.reports.push(
                Diagnostic::new(Code::NoRepeat, span, message)
                    .related(place, "it is asked for here")
                    .help(help),
            );
        }
    }

    /// Describes the part of a transfer that is no multiple of a block.
    fn odd_part(&self, op: Op, args: &[Operand], block: u64) -> Option<String> {
        let odd = |n: &u64| !n.is_multiple_of(block);
        let size = self.constant_size(args[1]);
        if let Some(size) = size.filter(odd) {
            return Some(format!(
                "its {size_bytes} are no multiple of {block}",
                size_bytes = model::words::count(size, "byte")
            ));
        }
        if let Some(position) = args.get(2).and_then(|at| self.constant_size(*at)).filter(odd) {
            return Some(format!("its position {position} is no multiple of {block}"));
        }
        let is_rest = matches!(op, Op::Read | Op::Fread) && args[1] == Operand::ABSENT;
        let is_cut = |most: &u64| is_rest || size.is_some_and(|size| size > *most);
        let most = self.around.transfer.filter(odd).filter(is_cut)?;
        Some(format!(
            "transfer={most} cuts it into calls of no multiple of {block_bytes}",
            block_bytes = model::words::count(block, "byte")
        ))
    }

    /// A whole file, of which only the end is no block.
    fn is_large(&self, op: Op, args: &[Operand]) -> bool {
        let starts_even = args[2] == Operand::ABSENT
            || self.constant_size(args[2]).is_some_and(|at| at.is_multiple_of(DEDUP_BLOCK));
        let size = self.constant_size(args[1]);
        op == Op::Write && starts_even && size.is_some_and(|n| n >= MANY_BLOCKS * DEDUP_BLOCK)
    }

    /// A number that the program's constants tell.
    fn constant_size(&self, operand: Operand) -> Option<u64> {
        self.constant_of(operand)?.as_size().ok()
    }
}
