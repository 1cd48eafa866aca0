//! The function table: one row per function of expressions.
//!
//! ```text
//! repeat $i min($n, 10) write("f-$i", abs($size));
//! ```
//!
//! Parser, checker, lowering, listing, manual and the evaluator read it. A function that depends on its
//! arguments alone is its row and nothing else: constant folding, ranks and generators of patterns call
//! [`Calc::Pure`], so that they cannot differ.
//!
//! [`Draw::check`] says which arguments numbers can be drawn with: the checker asks for constants, each draw for values.

use crate::op::Class;
use crate::permutation::{mix, perm};
use crate::types::Types;
use crate::value::{self, BinaryOp, Eval, EvalError, Outcome, Value};
use crate::{Op, errno, limits};
use Calc::{Collective, Drawn, Measured, Pure, Queried, Read};
use serde::{Deserialize, Serialize};

/// Types that a parameter of a function accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accepts {
    /// An integer, a float, a duration, or a string that holds one of the first two.
    Number,
    /// An integer or a float, or a string that holds one.
    Float,
    /// The same, or a boolean.
    Plain,
    /// An integer, or a string that holds one.
    Int,
    /// An integer, or a string that holds one, or a duration.
    Whole,
    /// A list of values, or of values with their weights; or the name of a file beside the program, which
    /// the plan holds as such a list.
    Samples,
    /// A list or a string.
    Sequence,
    /// A list.
    List,
    /// The outcome of an operation, or a file handle.
    Result,
    /// A text that is known before the run.
    Text,
    /// A path below the run directory.
    Path,
    /// The name of a pattern.
    Pattern,
    /// The name of a signal.
    Signal,
    /// Any type that can be a condition.
    Condition,
}

impl Accepts {
    /// The types, and their words for "expected ...".
    pub fn types(self) -> (Types, &'static str) {
        match self {
            Accepts::Number => (Types::NUMBER.or(Types::AS_INT), "a number"),
            Accepts::Float => (Types::FLOAT.or(Types::AS_INT), "a number"),
            Accepts::Plain => {
                (Types::FLOAT.or(Types::AS_INT).or(Types::BOOL), "a number or a boolean")
            }
            Accepts::Int => (Types::AS_INT, "an integer"),
            Accepts::Result => (
                Types::OUTCOME.or(Types::HANDLE).or(Types::MPI),
                "the result of an operation or a file handle",
            ),
            Accepts::Whole => (Types::AS_INT.or(Types::DURATION), "an integer or a duration"),
            Accepts::List => (Types::LIST, "a list"),
            Accepts::Samples => (
                Types::LIST,
                "a list of values, of [value, weight], or the name of a file in quotes",
            ),
            Accepts::Sequence => (Types::LIST.or(Types::STR), "a list or a string"),
            Accepts::Condition => (Types::CONDITION, "a condition"),
            Accepts::Text => (Types::STR, "a text in quotes"),
            Accepts::Path => (Types::STR, "a path in quotes"),
            Accepts::Pattern => (Types::STR, "the name of a pattern"),
            Accepts::Signal => (Types::STR, "the name of a signal in quotes"),
        }
    }
}

/// The type of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gives {
    /// An integer.
    Int,
    /// A float.
    Float,
    /// A boolean.
    Bool,
    /// A string.
    Str,
    /// A list.
    List,
    /// An element of the list: a number or a duration.
    Element,
    /// The kind of number that one of the arguments is.
    Number,
    /// The kind of number that the first argument is.
    First,
    /// An integer; of durations a duration.
    DrawnWhole,
    /// A float; of durations a duration.
    Drawn,
}

/// How often the last parameter is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Last {
    /// Once.
    Once,
    /// Once or several times.
    Repeated,
    /// Once or not at all.
    Optional,
}

/// Where a result comes from.
#[derive(Clone, Copy, Debug)]
pub enum Calc {
    /// From the arguments and the plan's seed alone: constants are folded.
    Pure(fn(&[Value], u64) -> Eval<Value>),
    /// From the rank's stream of random numbers.
    Drawn(Draw),
    /// From the run: each rank asks.
    Queried(Question),
    /// From the first arguments of all members of the active group, who meet for it; in their order. Besides, the
    /// number of a member: the second argument, or this one.
    Collective(fn(&[Value], usize) -> Eval<Value>),
    /// From the records of all ranks of the run, who meet for it.
    Measured(Figure),
    /// From a file beside the program, when that is compiled: the plan has a constant.
    Read,
}

/// Figures of a label over all ranks, as its row in the report has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// How long it was executed.
    Seconds,
    /// Operations of the label and the labels in it.
    Count,
    /// Bytes that they have moved in one direction.
    Bytes,
    /// These bytes over the duration.
    Rate,
}

impl Figure {
    /// The choice that a second argument makes: the operation that counts, or the direction of the bytes.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn choice(self, text: &[u8]) -> Eval<Choice> {
        let text = String::from_utf8_lossy(text);
        let is_io = |op: &Op| op.is_io();
        let choice = match (self, &*text) {
            (Figure::Count | Figure::Seconds, name) => Op::find(name).filter(is_io).map(Choice::Op),
            (Figure::Bytes | Figure::Rate, "read") => Some(Choice::Class(Class::Read)),
            (Figure::Bytes | Figure::Rate, "write") => Some(Choice::Class(Class::Write)),
            (Figure::Bytes | Figure::Rate, _) => None,
        };
        let expected = match self {
            Figure::Count | Figure::Seconds => "expected the name of an operation that does I/O",
            Figure::Bytes | Figure::Rate => "expected \"read\" or \"write\"",
        };
        choice.ok_or_else(|| EvalError::Range(expected, format!("\"{text}\"")))
    }
}

/// The operations of a label that a figure is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Those with this name.
    Op(Op),
    /// Those that move bytes in this direction.
    Class(Class),
}

/// Distributions of numbers from the rank's random stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Draw {
    /// Every integer between two is equally likely.
    Uniform,
    /// Gaussian.
    Normal,
    /// Zipf's law.
    Zipf,
    /// Exponential.
    Exponential,
    /// Gamma.
    Gamma,
    /// Elements of a list, by their weights.
    Empirical,
}

/// Facts that a rank gets from the back-end, the patterns or the other ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// The size of a file; not timed.
    Size,
    /// Whether a name is there; not timed.
    Exists,
    /// How many pieces of a pattern are this rank's.
    Pieces,
    /// Where one of them begins.
    PieceOffset,
    /// How long one of them is.
    PieceSize,
    /// Whether a wait for a signal would be over at once.
    Tested,
    /// The next number of a counter that all ranks share.
    Next,
}

/// One row of the function table.
#[derive(Clone, Copy, Debug)]
pub struct FunctionRow {
    /// Key of the row: `FUNCTIONS[function as usize]`.
    pub function: Function,
    /// Name in programs.
    pub name: &'static str,
    /// How it is written.
    pub form: &'static str,
    /// Its parameters.
    pub params: &'static [Accepts],
    /// How often the last of them is given.
    pub last: Last,
    /// Type of the result.
    pub gives: Gives,
    /// Where the result comes from.
    pub calc: Calc,
    /// Description of the result, for the manual.
    pub doc: &'static str,
}

macro_rules! functions {
    ($( $function:ident $name:literal $form:literal [$($param:ident)*] $last:ident
        $gives:ident $calc:expr, $doc:literal; )*) => {
        /// A function of expressions.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum Function { $( #[doc = $doc] $function, )* }

        /// The table, in the order of [`Function`].
        pub static FUNCTIONS: &[FunctionRow] = &[ $( FunctionRow {
            function: Function::$function, name: $name, form: $form,
            params: &[$(Accepts::$param),*], last: Last::$last,
            gives: Gives::$gives, calc: $calc, doc: $doc,
        }, )* ];
    };
}

functions! {
    Min "min" "min(a, b, ...)" [Number] Repeated Number Pure(|args, _| extreme(args, BinaryOp::Lt)),
        "The smallest number.";
    Max "max" "max(a, b, ...)" [Number] Repeated Number Pure(|args, _| extreme(args, BinaryOp::Gt)),
        "The largest number.";
    Abs "abs" "abs(a)" [Number] Once Number Pure(|args, _| absolute(&args[0])),
        "The number without its sign.";
    Int "int" "int(a)" [Plain] Once Int Pure(|args, _| integer(&args[0])),
        "The number as an integer, cut towards zero; also of a string that holds a number; of true 1, of false 0.";
    Round "round" "round(a)" [Float] Once Int Pure(|args, _| rounded(&args[0])),
        "The nearest integer; halves go away from zero.";
    Float "float" "float(a)" [Float] Once Float Pure(|args, _| float(&args[0])),
        "The number as a float; also of a string that holds a number.";
    Sqrt "sqrt" "sqrt(a)" [Float] Once Float Pure(|args, _| root(&args[0])),
        "The square root of a number that is not negative.";
    Starts "starts" "starts(text, part)" [Text Text] Once Bool Pure(|args, _| holds(args, <[u8]>::starts_with)),
        "Whether a text begins with another.";
    Ends "ends" "ends(text, part)" [Text Text] Once Bool Pure(|args, _| holds(args, <[u8]>::ends_with)),
        "Whether a text ends with another.";
    Replace "replace" "replace(text, part, by)" [Text Text Text] Once Str Pure(|args, _| replaced(args)),
        "The text with every occurrence of a part replaced.";
    Split "split" "split(text, separator)" [Text Text] Once List Pure(|args, _| parts(args)),
        "The list of the parts of a text between the occurrences of a separator.";
    Len "len" "len(list)" [Sequence] Once Int Pure(|args, _| length(&args[0])),
        "The number of elements of a list, or of bytes of a string.";
    Sort "sort" "sort(list)" [List] Once List Pure(|args, _| sorted(&args[0])),
        "The list in ascending order: numbers, durations, or strings by their bytes.";
    List "list" "list(file [, name])" [Text Text] Optional List Read,
        "The values in a file beside the program: a value in each line, or a value and how often it comes; with a name, the values of the list of that name.";
    Errno "errno" "errno(result)" [Result] Once Str Pure(|args, _| error_name(&args[0])),
        "The name of the error with which an operation failed, such as \"EEXIST\"; \"\" if it succeeded.";
    Size "size" "size(path)" [Path] Once Int Queried(Question::Size),
        "The bytes of a file, -1 if there is none; asking is not timed.";
    Exists "exists" "exists(path)" [Path] Once Bool Queried(Question::Exists),
        "Whether there is a file or directory of this name; asking is not timed.";
    Rand "rand" "rand(first, last)" [Whole Whole] Once DrawnWhole Drawn(Draw::Uniform),
        "A random integer from first to last, both included; of durations a duration.";
    Normal "normal" "normal(mean, deviation)" [Number Number] Once Drawn Drawn(Draw::Normal),
        "A random number of the normal distribution; of durations a duration, at least 0.";
    Zipf "zipf" "zipf(n, theta)" [Int Float] Once Int Drawn(Draw::Zipf),
        "A random integer from 0 to below n after Zipf's law; 0 is the most frequent one.";
    Exp "exp" "exp(mean)" [Number] Once Drawn Drawn(Draw::Exponential),
        "A random number of the exponential distribution; of a duration a duration.";
    Gamma "gamma" "gamma(mean, shape)" [Number Float] Once Drawn Drawn(Draw::Gamma),
        "A random number of the gamma distribution, such as sizes of files; of a duration a duration. The deviation is mean / sqrt(shape).";
    Empirical "empirical" "empirical(list)" [Samples] Once Element Drawn(Draw::Empirical),
        "An element of a list, each as likely as the others, or by weights: [[4k, 70], [64k, 30]]; or of the file with this name beside the program: a value in each line, or a value and its weight.";
    Perm "perm" "perm(i, n [, salt])" [Int Int Int] Optional Int Pure(permuted),
        "The i-th element of a random order of 0 to n-1, the same on all ranks; another order for each salt.";
    Pieces "pieces" "pieces(pattern)" [Pattern] Once Int Queried(Question::Pieces),
        "The number of pieces of this member of the active group.";
    PieceOffset "piece_offset" "piece_offset(pattern, i)" [Pattern Int] Once Int Queried(Question::PieceOffset),
        "Where its i-th piece begins, in bytes.";
    PieceSize "piece_size" "piece_size(pattern, i)" [Pattern Int] Once Int Queried(Question::PieceSize),
        "The bytes of its i-th piece.";
    Tested "tested" "tested(signal [, n])" [Signal Int] Optional Bool Queried(Question::Tested),
        "Whether wait(signal, n) would be over at once; waits for nothing and uses the signal up no more than that.";
    Gsum "gsum" "gsum(x)" [Number] Once Number Collective(|all, _| total(all)),
        "The sum of the numbers that the members of the active group give; all have to call it.";
    Gmin "gmin" "gmin(x)" [Number] Once Number Collective(|all, _| extreme(all, BinaryOp::Lt)),
        "The smallest of them.";
    Gmax "gmax" "gmax(x)" [Number] Once Number Collective(|all, _| extreme(all, BinaryOp::Gt)),
        "The largest of them.";
    Gall "gall" "gall(c)" [Condition] Once Bool Collective(|all, _| every(all)),
        "Whether the condition holds on all members of the active group; all have to call it.";
    Gany "gany" "gany(c)" [Condition] Once Bool Collective(|all, _| any(all)),
        "Whether it holds on one of them at least.";
    Gscan "gscan" "gscan(x)" [Number] Once Number Collective(sum_before),
        "The sum of the numbers that the members before this one give, 0 for the first; all have to call it.";
    Gbcast "gbcast" "gbcast(x [, root])" [Number Int] Optional First Collective(given_by),
        "The number that one member gives, the first or the one with this number, on all; all have to call it.";
    Next "next" "next(counter)" [Text] Once Int Queried(Question::Next),
        "The next number, from 0, of a counter that all ranks of the run share: each is given once, to whichever rank asks first.";
    Seconds "seconds" "seconds(label)" [Text] Once Float Measured(Figure::Seconds),
        "How long a label was executed so far, in seconds: the duration of its row in the report, over all ranks of the run; all have to call it.";
    Count "count" "count(label [, op])" [Text Text] Optional Int Measured(Figure::Count),
        "The number of operations in a label and the labels in it, failed ones included; with the name of an operation, of that one.";
    Bytes "bytes" "bytes(label, direction)" [Text Text] Once Int Measured(Figure::Bytes),
        "The bytes that they have moved; the direction is \"read\" or \"write\".";
    Rate "rate" "rate(label, direction)" [Text Text] Once Float Measured(Figure::Rate),
        "These bytes per second, over the duration of the label.";
}

impl Function {
    /// This function's row.
    pub fn row(self) -> &'static FunctionRow {
        &FUNCTIONS[self as usize]
    }
}

impl FunctionRow {
    /// The function with this name; upper and lower case are the same.
    pub fn find(name: &str) -> Option<&'static FunctionRow> {
        FUNCTIONS.iter().find(|row| row.name.eq_ignore_ascii_case(name))
    }

    /// Whether it takes this number of arguments.
    pub fn takes(&self, count: usize) -> bool {
        match self.last {
            Last::Once => count == self.params.len(),
            Last::Repeated => count >= self.params.len(),
            Last::Optional => count == self.params.len() || count + 1 == self.params.len(),
        }
    }

    /// Types of the argument at a place.
    pub fn accepts(&self, at: usize) -> Accepts {
        self.params[at.min(self.params.len() - 1)]
    }

    /// Types of the result for arguments of these types.
    pub fn result(&self, args: impl IntoIterator<Item = Types>) -> Types {
        let counts = if self.gives == Gives::First { 1 } else { usize::MAX };
        let args = args.into_iter().take(counts);
        let numbers = || args.fold(Types::NONE, |types, arg| types.or(arg.number()));
        let drawn = |types: Types, number: Types| {
            let number = if types.may(Types::INT.or(Types::FLOAT)) { number } else { Types::NONE };
            types.and(Types::DURATION).or(number)
        };
        match self.gives {
            Gives::Int => Types::INT,
            Gives::Float => Types::FLOAT,
            Gives::Bool => Types::BOOL,
            Gives::Str => Types::STR,
            Gives::List => Types::LIST,
            Gives::Element => Types::INT.or(Types::FLOAT).or(Types::DURATION),
            Gives::Number | Gives::First => numbers(),
            Gives::DrawnWhole => drawn(numbers(), Types::INT),
            Gives::Drawn => drawn(numbers(), Types::FLOAT),
        }
    }

    /// All arguments that may be durations must be numbers, or all durations, and these are not.
    pub fn mixes(&self, args: impl Iterator<Item = Types> + Clone) -> bool {
        let alike = matches!(self.gives, Gives::Number | Gives::DrawnWhole | Gives::Drawn);
        let may_be = |(at, _): &(usize, Types)| self.accepts(*at) != Accepts::Float;
        let counted = args.enumerate().filter(may_be).map(|(_, types)| types);
        let is_duration = |types: Types| types == Types::DURATION;
        let is_other = |types: Types| !types.may(Types::DURATION);
        alike && counted.clone().any(is_duration) && counted.clone().any(is_other)
    }

    /// It works on a path, so that where the path may lead matters.
    pub fn takes_path(&self) -> bool {
        self.params.first() == Some(&Accepts::Path)
    }

    /// The result, if it depends on the arguments and the plan's seed alone.
    pub fn pure(&self, args: &[Value], seed: u64) -> Option<Eval<Value>> {
        match self.calc {
            Pure(_) if !self.takes(args.len()) => Some(Err(EvalError::Unset)),
            Pure(calc) => Some(calc(args, seed)),
            Drawn(_) | Queried(_) | Collective(_) | Measured(_) | Read => None,
        }
    }

    /// All members of the active group have to call it, or all ranks, and get the same.
    pub fn is_collective(&self) -> bool {
        matches!(self.calc, Collective(_) | Measured(_))
    }

    /// Ranks may get different results for the same arguments.
    pub fn differs(&self) -> bool {
        matches!(self.calc, Drawn(_) | Queried(_)) || self.function == Function::Gscan
    }

    /// All ranks of the run have to call it, whichever group is active.
    pub fn is_of_all_ranks(&self) -> bool {
        matches!(self.calc, Measured(_))
    }

    /// The result depends on the arguments and the plan's seed alone.
    pub fn is_pure(&self) -> bool {
        matches!(self.calc, Pure(_))
    }
}

/// `rand(a, b)`
///
/// # Errors
/// The last is below the first.
pub fn check_uniform(a: i64, b: i64) -> Eval<()> {
    let what = "rand(a, b) needs a <= b";
    accepted(a <= b, what, || format!("rand({a}, {b})"))
}

/// `normal(mean, sd)`
///
/// # Errors
/// One is not finite, or the deviation is negative.
pub fn check_normal(mean: f64, sd: f64) -> Eval<()> {
    let what = "normal(mean, sd) needs finite arguments and sd >= 0";
    let is_right = mean.is_finite() && sd.is_finite() && sd >= 0.0;
    accepted(is_right, what, || format!("normal({mean}, {sd})"))
}

/// `exp(mean)`
///
/// # Errors
/// It is not finite, or negative.
pub fn check_exponential(mean: f64) -> Eval<()> {
    let what = "exp(mean) needs a finite mean >= 0";
    accepted(mean.is_finite() && mean >= 0.0, what, || format!("exp({mean})"))
}

/// `gamma(mean, shape)`
///
/// # Errors
/// One is not finite, the mean negative or the shape not positive.
pub fn check_gamma(mean: f64, shape: f64) -> Eval<()> {
    let what = "gamma(mean, shape) needs a finite mean >= 0 and a finite shape > 0";
    let holds = mean.is_finite() && mean >= 0.0 && shape.is_finite() && shape > 0.0;
    accepted(holds, what, || format!("gamma({mean}, {shape})"))
}

/// `zipf(n, theta)`
///
/// # Errors
/// There is no number to draw, or the exponent is negative or not finite.
pub fn check_zipf(n: i64, theta: f64) -> Eval<()> {
    let what = "zipf(n, theta) needs n >= 1 and a finite theta >= 0";
    accepted(n >= 1 && theta.is_finite() && theta >= 0.0, what, || format!("zipf({n}, {theta})"))
}

fn accepted(is_right: bool, what: &'static str, found: impl FnOnce() -> String) -> Eval<()> {
    if is_right { Ok(()) } else { Err(EvalError::Range(what, found())) }
}

impl Draw {
    /// Numbers can be drawn with these arguments.
    ///
    /// # Errors
    /// Why not. Elements of lists are looked at when they are drawn.
    pub fn check(self, args: &[Value]) -> Eval<()> {
        if self == Draw::Empirical {
            return Ok(());
        }
        let first = value::number(args.first().ok_or(EvalError::Unset)?)?;
        let second = args.get(1).map_or(Ok(Value::Unset), value::number)?;
        let nanoseconds = |value: &Value| match value {
            Value::Duration(ns) => Ok(*ns),
            other => Err(EvalError::Type("a duration, as the first is", other.describe())),
        };
        match (self, &first) {
            (Draw::Uniform, Value::Duration(a)) => check_uniform(*a, nanoseconds(&second)?),
            (Draw::Normal, Value::Duration(ns)) => {
                check_normal(*ns as f64, nanoseconds(&second)? as f64)
            }
            (Draw::Exponential, Value::Duration(ns)) => check_exponential(*ns as f64),
            (Draw::Gamma, Value::Duration(ns)) => check_gamma(*ns as f64, second.as_float()?),
            (Draw::Uniform, _) => check_uniform(first.as_int()?, second.as_int()?),
            (Draw::Normal, _) => check_normal(first.as_float()?, second.as_float()?),
            (Draw::Exponential, _) => check_exponential(first.as_float()?),
            (Draw::Gamma, _) => check_gamma(first.as_float()?, second.as_float()?),
            (Draw::Zipf, _) => check_zipf(first.as_int()?, second.as_float()?),
            (Draw::Empirical, _) => Ok(()),
        }
    }
}

/// The smallest (`wins` is `<`) or largest (`>`) number.
fn extreme(args: &[Value], wins: BinaryOp) -> Eval<Value> {
    let mut numbers = args.iter().map(value::number);
    let first = numbers.next().unwrap_or(Err(EvalError::Unset));
    numbers.try_fold(first?, |best, number| {
        let number = number?;
        if is_duration(&best) != is_duration(&number) {
            return Err(EvalError::Type("durations alone or other numbers alone", "both".into()));
        }
        let better = value::binary(wins, &number, &best)?.as_condition()?;
        Ok(if better { number } else { best })
    })
}

/// The sum of some numbers, one after the other.
fn total(all: &[Value]) -> Eval<Value> {
    let (first, others) = all.split_first().ok_or(EvalError::Unset)?;
    others.iter().try_fold(first.clone(), |sum, next| value::binary(BinaryOp::Add, &sum, next))
}

/// The sum of the numbers before that of a member: 0 of their kind for the first.
fn sum_before(all: &[Value], member: usize) -> Eval<Value> {
    let zero = match all.first() {
        Some(Value::Float(_)) => Value::Float(0.0),
        Some(Value::Duration(_)) => Value::Duration(0),
        _ => Value::Int(0),
    };
    let before = all.get(..member).ok_or(EvalError::Unset)?;
    before.iter().try_fold(zero, |sum, next| value::binary(BinaryOp::Add, &sum, next))
}

/// The number that a member gives.
fn given_by(all: &[Value], member: usize) -> Eval<Value> {
    let missing = || format!("member {member} of {}", all.len());
    let expected = "expected a member of the active group";
    all.get(member).cloned().ok_or_else(|| EvalError::Range(expected, missing()))
}

/// All conditions hold.
fn every(all: &[Value]) -> Eval<Value> {
    let hold = all.iter().try_fold(true, |hold, next| Ok(next.as_condition()? && hold));
    hold.map(Value::Bool)
}

/// One of the conditions holds at least.
fn any(all: &[Value]) -> Eval<Value> {
    let holds = all.iter().try_fold(false, |holds, next| Ok(next.as_condition()? || holds));
    holds.map(Value::Bool)
}

/// The smallest integer and duration have no absolute value.
fn absolute(value: &Value) -> Eval<Value> {
    let absolute = match value::number(value)? {
        Value::Float(x) => Some(Value::Float(x.abs())),
        Value::Duration(ns) => ns.checked_abs().map(Value::Duration),
        n => n.as_int()?.checked_abs().map(Value::Int),
    };
    absolute.ok_or(EvalError::Overflow("the absolute value"))
}

/// `int(a)`
fn integer(value: &Value) -> Eval<Value> {
    match value {
        Value::Bool(holds) => Ok(Value::Int((*holds).into())),
        value => whole(value, f64::trunc),
    }
}

/// `sqrt(a)`
fn root(value: &Value) -> Eval<Value> {
    let x = value.as_float()?;
    accepted(x >= 0.0, "sqrt(a) needs a >= 0", || format!("sqrt({x})"))?;
    Ok(Value::Float(x.sqrt()))
}

/// The bytes of a text.
fn bytes_of(value: &Value) -> Eval<&[u8]> {
    match value {
        Value::Str(text) => Ok(text),
        Value::Unset => Err(EvalError::Unset),
        other => Err(EvalError::Type("a text", other.describe())),
    }
}

/// `starts(text, part)`, `ends(text, part)`
fn holds(args: &[Value], is: fn(&[u8], &[u8]) -> bool) -> Eval<Value> {
    Ok(Value::Bool(is(bytes_of(&args[0])?, bytes_of(&args[1])?)))
}

/// Where a part that is not empty begins in a text, without overlaps.
fn places(text: &[u8], part: &[u8]) -> Eval<Vec<usize>> {
    accepted(!part.is_empty(), "expected a part that is not empty", || "\"\"".into())?;
    let (mut places, mut at) = (Vec::new(), 0);
    while let Some(rest) = text.get(at..).filter(|rest| rest.len() >= part.len()) {
        let is_here = rest.starts_with(part);
        places.extend(is_here.then_some(at));
        at += if is_here { part.len() } else { 1 };
    }
    Ok(places)
}

/// The pieces of a text between the occurrences of a part.
fn pieces<'t>(text: &'t [u8], part: &[u8]) -> Eval<Vec<&'t [u8]>> {
    let mut start = 0;
    let mut all = Vec::new();
    for place in places(text, part)? {
        all.push(&text[start..place]);
        start = place + part.len();
    }
    all.push(&text[start..]);
    Ok(all)
}

/// `replace(text, part, by)`
fn replaced(args: &[Value]) -> Eval<Value> {
    let by = bytes_of(&args[2])?;
    let all = pieces(bytes_of(&args[0])?, bytes_of(&args[1])?)?;
    let kept: usize = all.iter().map(|piece| piece.len()).sum();
    value::check_text(kept.saturating_add((all.len() - 1).saturating_mul(by.len())))?;
    Ok(Value::Str(all.join(by)))
}

/// `split(text, separator)`
fn parts(args: &[Value]) -> Eval<Value> {
    let all = pieces(bytes_of(&args[0])?, bytes_of(&args[1])?)?;
    limits::list(all.into_iter().map(Value::str).collect())
}

/// `round(a)`
fn rounded(value: &Value) -> Eval<Value> {
    whole(value, f64::round)
}

fn whole(value: &Value, cut: fn(f64) -> f64) -> Eval<Value> {
    const END: f64 = 9_223_372_036_854_775_808.0;
    match value::number(value)? {
        Value::Float(x) if (-END..END).contains(&cut(x)) => Ok(Value::Int(cut(x) as i64)),
        Value::Float(_) => Err(EvalError::Overflow("the number")),
        n => n.as_int().map(Value::Int).map_err(|_| no_plain_number(&n)),
    }
}

/// `float(a)`
fn float(value: &Value) -> Eval<Value> {
    let number = value::number(value)?;
    number.as_float().map(Value::Float).map_err(|_| no_plain_number(&number))
}

/// A duration: the unit has to be said.
fn no_plain_number(value: &Value) -> EvalError {
    EvalError::Type("a number (a duration divided by 1ms is one)", value.describe())
}

/// `errno(result)`
fn error_name(value: &Value) -> Eval<Value> {
    match value {
        Value::Outcome(Outcome { errno: 0, .. }) | Value::Handle(_, 0) => Ok(Value::str("")),
        Value::Outcome(Outcome { errno, .. }) | Value::Handle(_, errno) => {
            Ok(Value::str(errno::name(*errno)))
        }
        Value::Unset => Err(EvalError::Unset),
        other => {
            Err(EvalError::Type("the result of an operation or a file handle", other.describe()))
        }
    }
}

/// `len(a)`
fn length(value: &Value) -> Eval<Value> {
    match value {
        Value::List(items) => Ok(Value::Int(items.len() as i64)),
        Value::Str(text) => Ok(Value::Int(text.len() as i64)),
        other => Err(EvalError::Type("a list or a string", other.describe())),
    }
}

/// `sort(list)`: all elements have one key, so that their order is one.
fn sorted(value: &Value) -> Eval<Value> {
    let Value::List(items) = value else {
        return Err(EvalError::Type("a list", value.describe()));
    };
    let mut items = items.to_vec();
    let all = |is: fn(&Value) -> bool| items.iter().all(is);
    if all(|item| matches!(item, Value::Str(_))) {
        items.sort_by(|a, b| text_of(a).cmp(text_of(b)));
    } else if all(|item| matches!(item, Value::Int(_))) || all(is_duration) {
        items.sort_by_key(ticks_of);
    } else if all(|item| matches!(item, Value::Int(_) | Value::Float(_))) {
        items.sort_by(|a, b| float_of(a).total_cmp(&float_of(b)));
    } else {
        let expected = "a list of strings, of numbers or of durations";
        return Err(EvalError::Type(expected, first_odd(&items).into()));
    }
    limits::list(items)
}

fn is_duration(value: &Value) -> bool {
    matches!(value, Value::Duration(_))
}

fn text_of(value: &Value) -> &[u8] {
    if let Value::Str(text) = value { text } else { &[] }
}

fn ticks_of(value: &Value) -> i64 {
    if let Value::Int(n) | Value::Duration(n) = value { *n } else { 0 }
}

fn float_of(value: &Value) -> f64 {
    value.as_float().unwrap_or(f64::NAN)
}

/// The type that does not go with that of the first element, in words.
fn first_odd(items: &[Value]) -> &'static str {
    match items.iter().find(|item| item.type_name() != items[0].type_name()) {
        Some(_) => "a list of different types",
        None => "a list of other values",
    }
}

/// `perm(i, n, salt)`; the order of salt 0 is that without salt.
fn permuted(args: &[Value], seed: u64) -> Eval<Value> {
    let salt = args.get(2).map_or(Ok(0), Value::as_int)?;
    let seed = seed ^ mix(salt as u64) ^ mix(0);
    perm(args[0].as_int()?, args[1].as_int()?, seed).map(Value::Int)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pure(function: Function, args: &[Value]) -> Eval<Value> {
        function.row().pure(args, 42).expect("a pure function")
    }

    #[test]
    fn the_table_is_in_the_order_of_the_enum() {
        for (at, row) in FUNCTIONS.iter().enumerate() {
            assert_eq!(row.function as usize, at, "{}", row.name);
            assert!(row.form.starts_with(row.name) && row.doc.ends_with('.'), "{}", row.name);
            assert_eq!(FunctionRow::find(&row.name.to_uppercase()).unwrap().function, row.function);
        }
    }

    #[test]
    fn texts_that_hold_numbers_are_numbers() {
        let text = Value::str;
        assert_eq!(pure(Function::Abs, &[text("-5.5")]), Ok(Value::Float(5.5)));
        assert_eq!(pure(Function::Abs, &[text("-1k")]), Ok(Value::Int(1024)));
        assert_eq!(pure(Function::Min, &[text("10"), text("9")]), Ok(Value::Int(9)));
        assert_eq!(pure(Function::Max, &[Value::Int(2), text("2.5")]), Ok(Value::Float(2.5)));
        assert!(pure(Function::Min, &[text("a")]).is_err());
        assert!(pure(Function::Max, &[Value::Bool(true)]).is_err());
    }

    #[test]
    fn durations_are_compared() {
        let (short, long) = (Value::Duration(5), Value::Duration(7));
        assert_eq!(pure(Function::Max, &[short.clone(), long.clone()]), Ok(long));
        assert!(pure(Function::Max, &[short, Value::Int(1)]).is_err());
    }

    #[test]
    fn what_has_no_absolute_value_is_an_error() {
        for least in [Value::Int(i64::MIN), Value::Duration(i64::MIN)] {
            assert!(matches!(pure(Function::Abs, &[least]), Err(EvalError::Overflow(_))));
        }
    }

    #[test]
    fn members_get_the_sum_before_them_or_the_number_of_one() {
        let all = [2, 3, 4].map(Value::Int);
        assert_eq!([0, 1, 2].map(|at| sum_before(&all, at)), [0, 2, 5].map(|n| Ok(Value::Int(n))));
        let pauses = [Value::Duration(5), Value::Duration(7)];
        assert_eq!(sum_before(&pauses, 0), Ok(Value::Duration(0)));
        assert_eq!(sum_before(&[Value::Float(0.5), Value::Int(1)], 1), Ok(Value::Float(0.5)));
        assert_eq!(given_by(&all, 2), Ok(Value::Int(4)));
        assert!(matches!(given_by(&all, 3), Err(EvalError::Range(..))));
    }

    #[test]
    fn integers_are_cut_or_rounded() {
        for (x, cut, nearest) in [(2.5, 2, 3), (-2.5, -2, -3), (0.49, 0, 0), (-0.5, 0, -1)] {
            let x = Value::Float(x);
            assert_eq!(integer(&x), Ok(Value::Int(cut)), "{x}");
            assert_eq!(rounded(&x), Ok(Value::Int(nearest)), "{x}");
        }
        for (text, n) in [("4k", 4096), (" 7 ", 7), ("-1.9", -1), ("1e3", 1000)] {
            assert_eq!(integer(&Value::str(text)), Ok(Value::Int(n)), "{text}");
        }
        for x in [f64::NAN, f64::INFINITY, 9.3e18, -9.3e18] {
            assert!(matches!(integer(&Value::Float(x)), Err(EvalError::Overflow(_))), "{x}");
        }
        assert_eq!(
            [true, false].map(|b| integer(&Value::Bool(b))),
            [1, 0].map(|n| Ok(Value::Int(n)))
        );
        for wrong in [Value::Duration(5), Value::str("ten")] {
            assert!(matches!(integer(&wrong), Err(EvalError::Type(..))), "{wrong}");
            assert!(matches!(float(&wrong), Err(EvalError::Type(..))), "{wrong}");
        }
        assert_eq!(float(&Value::str("4k")), Ok(Value::Float(4096.0)));
    }

    #[test]
    fn texts_are_taken_apart() {
        let texts = |all: &[&str]| all.iter().map(Value::str).collect::<Vec<_>>();
        let list = |all: &[&str]| Ok(Value::List(texts(all).into()));
        for (text, separator, expected) in [
            ("a,b,,c", ",", &["a", "b", "", "c"][..]),
            ("", ",", &[""]),
            ("aaa", "aa", &["", "a"]),
            ("a", "abc", &["a"]),
        ] {
            assert_eq!(pure(Function::Split, &texts(&[text, separator])), list(expected), "{text}");
        }
        let replace = |all: &[&str]| pure(Function::Replace, &texts(all));
        assert_eq!(replace(&["a-b-c", "-", "::"]), Ok(Value::str("a::b::c")));
        assert_eq!(replace(&["abc", "x", "y"]), Ok(Value::str("abc")));
        assert!(matches!(replace(&["abc", "", "y"]), Err(EvalError::Range(..))));
        let is = |function, all: &[&str]| pure(function, &texts(all));
        assert_eq!(is(Function::Starts, &["file-1", "file"]), Ok(Value::Bool(true)));
        assert_eq!(is(Function::Ends, &["file-1", "file"]), Ok(Value::Bool(false)));
        assert_eq!(is(Function::Ends, &["file-1", "-1"]), Ok(Value::Bool(true)));
        assert!(pure(Function::Starts, &[Value::Int(1), Value::str("1")]).is_err());
    }

    #[test]
    fn roots_are_of_numbers_that_are_not_negative() {
        assert_eq!(pure(Function::Sqrt, &[Value::Int(9)]), Ok(Value::Float(3.0)));
        assert_eq!(pure(Function::Sqrt, &[Value::str("0.25")]), Ok(Value::Float(0.5)));
        for wrong in [Value::Float(-1.0), Value::Float(f64::NAN)] {
            assert!(matches!(pure(Function::Sqrt, &[wrong]), Err(EvalError::Range(..))));
        }
        assert!(matches!(pure(Function::Sqrt, &[Value::Duration(4)]), Err(EvalError::Type(..))));
    }

    #[test]
    fn lists_are_sorted_by_one_key() {
        let sort = |items: &[Value]| sorted(&Value::List(items.to_vec().into()));
        let list = |items: &[Value]| Ok(Value::List(items.to_vec().into()));
        let (a, b, ten, nine) = (Value::str("a"), Value::str("b"), Value::Int(10), Value::Int(9));
        assert_eq!(sort(&[b.clone(), a.clone()]), list(&[a.clone(), b]));
        assert_eq!(sort(&[ten.clone(), nine.clone()]), list(&[nine.clone(), ten.clone()]));
        let half = Value::Float(9.5);
        assert_eq!(sort(&[ten.clone(), half.clone(), nine.clone()]), list(&[nine, half, ten]));
        let (short, long) = (Value::Duration(1), Value::Duration(2));
        assert_eq!(sort(&[long.clone(), short.clone()]), list(&[short.clone(), long]));
        assert_eq!(sort(&[]), list(&[]));
        for wrong in [vec![a, Value::Int(1)], vec![short, Value::Int(1)], vec![Value::Bool(true)]] {
            assert!(matches!(sort(&wrong), Err(EvalError::Type(..))), "{wrong:?}");
        }
    }

    #[test]
    fn every_salt_gives_another_order() {
        let order = |salt: &[i64]| -> Vec<i64> {
            let of = |i| {
                let args: Vec<Value> =
                    [i, 100].iter().chain(salt).copied().map(Value::Int).collect();
                permuted(&args, 42).and_then(|n| n.as_int()).unwrap()
            };
            (0..100).map(of).collect()
        };
        assert_eq!(order(&[]), order(&[0]));
        let orders = [order(&[0]), order(&[1]), order(&[2]), order(&[-1])];
        for (at, one) in orders.iter().enumerate() {
            assert!(orders[..at].iter().all(|other| other != one), "{at}");
            let mut all = one.clone();
            all.sort_unstable();
            assert!(all.into_iter().eq(0..100), "{at}");
        }
    }
}
