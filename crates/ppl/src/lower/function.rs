//! Functions of expressions.

use super::Lower;
use super::value::Ev;
use crate::ast::{ExprId, List, Name};
use crate::diag::{Code, Diagnostic};
use crate::suggest::nearest;
use crate::types::Types;
use crate::word::FUNCTIONS;
use model::Value;
use model::op::ParamKind;
use model::plan::{BinaryOp, Function, Instr, Operand, Slot, Span};
use model::value;

/// One row per function: name, meaning, form, fewest and most arguments.
const TABLE: [(&str, Function, &str, usize, usize); 13] = [
    ("min", Function::Min, "min(a, b, ...)", 1, usize::MAX),
    ("max", Function::Max, "max(a, b, ...)", 1, usize::MAX),
    ("abs", Function::Abs, "abs(a)", 1, 1),
    ("len", Function::Len, "len(list)", 1, 1),
    ("size", Function::Size, "size(path)", 1, 1),
    ("rand", Function::Rand, "rand(first, last)", 2, 2),
    ("normal", Function::Normal, "normal(mean, deviation)", 2, 2),
    ("zipf", Function::Zipf, "zipf(n, theta)", 2, 2),
    ("exp", Function::Exp, "exp(mean)", 1, 1),
    ("perm", Function::Perm, "perm(i, n)", 2, 2),
    ("pieces", Function::Pieces, "pieces(pattern)", 1, 1),
    ("piece_offset", Function::PieceOffset, "piece_offset(pattern, i)", 2, 2),
    ("piece_size", Function::PieceSize, "piece_size(pattern, i)", 2, 2),
];

impl Lower<'_> {
    /// `name(args)` in an expression.
    pub(super) fn call(&mut self, name: Name, args: List, span: Span, dst: Option<Slot>) -> Ev {
        if let Some(op) = self.called_op(name) {
            return self.op_as_value(op, span);
        }
        let text = self.ast.names.text(name);
        let Some(row) = TABLE.iter().find(|row| row.0.eq_ignore_ascii_case(text)) else {
            return self.unknown_function(name, span);
        };
        let (_, function, form, least, most) = *row;
        if !self.function_fits(function, row.0, span) {
            return Ev::BAD;
        }
        let count = args.len as usize;
        if count < least || count > most {
            let message = format!("expected {form}, found {count} arguments");
            self.reports.push(Diagnostic::new(Code::Arguments, span, message));
            return Ev::BAD;
        }
        if function == Function::Size {
            return self.size_of_file(args, span, dst);
        }
        self.function(function, args, span, dst)
    }

    fn size_of_file(&mut self, args: List, span: Span, dst: Option<Slot>) -> Ev {
        let Some(id) = self.ast.exprs_in(args).next() else { return Ev::BAD };
        let Some(path) = self.path(id, ParamKind::Path) else { return Ev::BAD };
        let args = self.push_args([path]);
        self.computed(dst, Types::INT, true, span, |dst| Instr::Function {
            function: Function::Size,
            dst,
            args,
        })
    }

    fn function(&mut self, function: Function, args: List, span: Span, dst: Option<Slot>) -> Ev {
        let ids: Vec<ExprId> = self.ast.exprs_in(args).collect();
        let numbered = ids.iter().enumerate();
        let evs: Vec<Ev> =
            numbered.map(|(at, id)| self.function_argument(function, at, *id)).collect();
        if evs.iter().any(|ev| ev.is_bad()) {
            return Ev::BAD;
        }
        if let Some(result) = self.fold_function(function, &evs, span) {
            return result;
        }
        let operands: Vec<Operand> = evs.iter().map(|ev| ev.operand).collect();
        let args = self.push_args(operands);
        use Function as F;
        let own = matches!(
            function,
            F::Rand | F::Normal | F::Zipf | F::Exp | F::Pieces | F::PieceOffset | F::PieceSize
        );
        let differs = own || evs.iter().any(|ev| ev.differs);
        let types = result_types(function, &evs);
        self.computed(dst, types, differs, span, |dst| Instr::Function { function, dst, args })
    }

    fn function_argument(&mut self, function: Function, at: usize, id: ExprId) -> Ev {
        use Function as F;
        if at == 0 && matches!(function, F::Pieces | F::PieceOffset | F::PieceSize) {
            return self.pattern_argument(id);
        }
        let ev = self.expr(id);
        let (wanted, words) = match function {
            Function::Len => (Types::LIST.or(Types::STR), "a list or a string"),
            Function::Min | Function::Max | Function::Abs => {
                (Types::NUMBER.or(Types::STR), "a number")
            }
            Function::Normal | Function::Exp => {
                (Types::INT.or(Types::FLOAT).or(Types::STR), "a number")
            }
            _ => (Types::INT.or(Types::FLOAT).or(Types::STR), "a number"),
        };
        if ev.is_bad() || ev.types.may(wanted) || !self.is_alive() {
            return ev;
        }
        let message = format!("expected {words}, found {}", ev.types.describe());
        self.wrong_type(self.ast.expr_span(id), message)
    }

    /// The result if it is a constant. What depends on seeds is not folded.
    fn fold_function(&mut self, function: Function, evs: &[Ev], span: Span) -> Option<Ev> {
        let values: Option<Vec<Value>> = evs.iter().map(|ev| self.constant(*ev).cloned()).collect();
        let values = values?;
        let result = match function {
            Function::Min => extreme(&values, BinaryOp::Lt),
            Function::Max => extreme(&values, BinaryOp::Gt),
            Function::Abs => absolute(&values[0]),
            Function::Len => Ok(Value::Int(match &values[0] {
                Value::List(items) => items.len() as i64,
                Value::Str(text) => text.len() as i64,
                _ => return None,
            })),
            _ => return None,
        };
        match result {
            Ok(value) => Some(self.known(value)),
            Err(error) if self.is_alive() => Some(self.no_value(error, span)),
            Err(_) => None,
        }
    }

    #[cold]
    fn unknown_function(&mut self, name: Name, span: Span) -> Ev {
        let text = self.ast.names.text(name);
        let message = format!("expected a function, found `{text}`");
        let help = match nearest(text, FUNCTIONS.iter().copied()) {
            _ if self.procs.contains_key(&name) => {
                format!("{text} is a proc: it gives no value and is called as a statement")
            }
            _ if text.eq_ignore_ascii_case("open") => {
                "files are opened with $h = fopen(path, flags);".into()
            }
            Some(name) => format!("the nearest is {name}"),
            None => format!("there are {}", FUNCTIONS.join(" ")),
        };
        self.reports.push(Diagnostic::new(Code::UnknownName, span, message).help(help));
        Ev::BAD
    }
}

/// The smallest (`wins` is `<`) or largest (`>`) value.
fn extreme(values: &[Value], wins: BinaryOp) -> value::Eval<Value> {
    let mut best = values[0].clone();
    for value in &values[1..] {
        if value::binary(wins, value, &best)?.as_condition()? {
            best = value.clone();
        }
    }
    Ok(best)
}

fn absolute(value: &Value) -> value::Eval<Value> {
    let zero = match value {
        Value::Float(x) => return Ok(Value::Float(x.abs())),
        Value::Duration(_) => Value::Duration(0),
        _ => Value::Int(0),
    };
    match value::binary(BinaryOp::Lt, value, &zero)?.as_condition()? {
        true => value::unary(model::plan::UnaryOp::Neg, value),
        false => Ok(value.clone()),
    }
}

fn result_types(function: Function, evs: &[Ev]) -> Types {
    match function {
        Function::Min | Function::Max => evs.iter().map(|ev| ev.types).fold(Types::NONE, Types::or),
        Function::Abs => evs[0].types.and(Types::NUMBER).or(Types::INT),
        Function::Normal | Function::Exp => Types::FLOAT,
        _ => Types::INT,
    }
}
