//! The options that `with` sets for the I/O inside, procs included.

use super::eval::Env;
use super::fault::Fault;
use crate::buffer::{Content, Ratio, Shape};
use crate::clock::Clock;
use model::errno;
use model::hints;
use model::plan::{Operand, Options, Pc};
use model::value::{EvalError, Value};

/// When files are made stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fsync {
    /// Never.
    None,
    /// Before every close of a file that can be written.
    Close,
    /// After every write.
    Op,
}

/// The options in force.
#[derive(Clone, Copy, Debug)]
pub(super) struct Active {
    pub(super) direct: bool,
    pub(super) fsync: Fsync,
    /// Largest size of one call, bytes.
    pub(super) transfer: Option<u64>,
    /// What writes write.
    pub(super) data: Content,
    /// How random data is shaped.
    shape: Shape,
    /// Transfers of MPI-IO under way at one time.
    pub(super) depth: u32,
    /// MPI files are opened in atomic mode.
    pub(super) atomic: bool,
    /// Hints of MPI files: a place in [`OptionStack::texts`].
    hints: usize,
    expected: [u64; 4],
}

impl Active {
    /// Outside every `with`.
    pub(super) const DEFAULT: Active = Active {
        direct: false,
        fsync: Fsync::None,
        transfer: None,
        data: Content::Random,
        shape: Shape::PLAIN,
        depth: 1,
        atomic: false,
        hints: 0,
        expected: [0; 4],
    };

    /// The program expects operations to fail so.
    pub(super) fn expects(&self, errno: i32) -> bool {
        let word = self.expected.get(errno as usize / 64);
        word.is_some_and(|bits| bits >> (errno as usize % 64) & 1 != 0)
    }

    /// Random data gets the shape in force. `wanted`: just now, so that other data is a mistake.
    fn shape_data(&mut self, wanted: bool) -> Result<(), Fault> {
        match self.data {
            Content::Random | Content::Shaped(_) => self.data = Content::random(self.shape),
            _ if wanted => {
                let what = "compress and dedup shape random data: they do nothing to other data";
                return Err(Fault::Message(what.into()));
            }
            _ => {}
        }
        Ok(())
    }

    fn expect(&mut self, names: &str) -> Result<(), Fault> {
        self.expected = [0; 4];
        for name in names.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            let Some(number) = errno::number(name) else {
                return Err(refused("names of errors such as \"ENOENT,EEXIST\"", names));
            };
            self.expected[usize::from(number) / 64] |= 1 << (number % 64);
        }
        Ok(())
    }
}

/// The stack of `with` statements.
#[derive(Debug)]
pub(super) struct OptionStack {
    top: Active,
    outer: Vec<Active>,
    /// Texts of hints seen so far; the first is empty.
    texts: Vec<String>,
}

impl OptionStack {
    pub(super) fn new() -> OptionStack {
        OptionStack { top: Active::DEFAULT, outer: Vec::new(), texts: vec![String::new()] }
    }

    #[inline(always)]
    pub(super) fn active(&self) -> &Active {
        &self.top
    }

    /// Enters a `with`.
    pub(super) fn enter<K: Clock>(
        &mut self,
        env: &mut Env<'_, K>,
        site: Pc,
        options: &Options,
    ) -> Result<(), Fault> {
        let mut next = self.top;
        if let Some(operand) = options.direct {
            next.direct = env.value(site, operand)?.as_condition()?;
        }
        if let Some(operand) = options.transfer {
            next.transfer = Some(env.size(site, operand)?);
            if next.transfer == Some(0) {
                let what = "transfer must be at least 1 byte".into();
                return Err(Fault::Message(what));
            }
        }
        if let Some(operand) = options.fsync {
            next.fsync = fsync(word(env, site, operand)?)?;
        }
        if let Some(operand) = options.data {
            next.data = data(word(env, site, operand)?)?;
        }
        if let Some(operand) = options.compress {
            next.shape.compress = ratio("compress", env.value(site, operand)?)?;
        }
        if let Some(operand) = options.dedup {
            next.shape.dedup = ratio("dedup", env.value(site, operand)?)?;
        }
        next.shape_data(options.compress.is_some() || options.dedup.is_some())?;
        if let Some(operand) = options.expect {
            next.expect(word(env, site, operand)?)?;
        }
        if let Some(operand) = options.depth {
            next.depth = depth(env.int(site, operand)?)?;
        }
        if let Some(operand) = options.atomic {
            next.atomic = env.value(site, operand)?.as_condition()?;
        }
        if let Some(operand) = options.hints {
            next.hints = self.hints_number(word(env, site, operand)?)?;
        }
        self.outer.push(std::mem::replace(&mut self.top, next));
        Ok(())
    }

    /// The hints of files that are opened now, `key=value;key=value`.
    pub(super) fn hints(&self) -> &str {
        &self.texts[self.top.hints]
    }

    fn hints_number(&mut self, text: &str) -> Result<usize, Fault> {
        if let Some(known) = self.texts.iter().position(|known| known == text) {
            return Ok(known);
        }
        hints::parse(text)
            .map_err(|why| Fault::message(format!("these hints cannot be used: {why}")))?;
        self.texts.push(text.to_string());
        Ok(self.texts.len() - 1)
    }

    /// Leaves the innermost `with`.
    pub(super) fn leave(&mut self) {
        self.top = self.outer.pop().unwrap_or(Active::DEFAULT);
    }
}

fn word<'e, K: Clock>(
    env: &'e mut Env<'_, K>,
    site: Pc,
    operand: Operand,
) -> Result<&'e str, Fault> {
    match env.value(site, operand)? {
        Value::Str(text) => std::str::from_utf8(text)
            .map_err(|_| Fault::Eval(EvalError::Type("a word", "bytes that are not UTF-8".into()))),
        other => Err(Fault::Eval(EvalError::Type("a word", other.describe()))),
    }
}

fn fsync(word: &str) -> Result<Fsync, Fault> {
    match word {
        "none" => Ok(Fsync::None),
        "close" => Ok(Fsync::Close),
        "op" => Ok(Fsync::Op),
        other => Err(refused("fsync=\"none\", \"close\" or \"op\"", other)),
    }
}

fn depth(depth: i64) -> Result<u32, Fault> {
    let refused = || EvalError::Range("expected a depth from 1 to 65536", depth.to_string());
    u32::try_from(depth).ok().filter(|n| (1..=65536).contains(n)).ok_or_else(|| refused().into())
}

fn ratio(name: &str, value: &Value) -> Result<Ratio, Fault> {
    Ratio::new(value.as_float()?).ok_or_else(|| {
        let found = format!("{name}={}", value.describe());
        EvalError::Range("expected a ratio from 1 to 100", found).into()
    })
}

fn data(word: &str) -> Result<Content, Fault> {
    Content::find(word).ok_or_else(|| refused("data=\"random\", \"zero\" or \"offset\"", word))
}

fn refused(expected: &'static str, found: &str) -> Fault {
    Fault::Eval(EvalError::Type(expected, format!("\"{found}\"")))
}
