//! The options that `with` sets for the I/O inside, procs included.

use super::eval::Env;
use super::path::{Place, find_place};
use super::schedule::Rate;
use super::tally::{Fault, Flow};
use crate::backend;
use crate::buffer::{Content, Ratio, Shape};
use crate::call::QueueSettings;
use crate::recorder::Process;
use model::Plan;
use model::errno;
use model::hints;
use model::plan::{Options, Pc};
use model::value::{Eval, EvalError, Value};
use model::with::{InForce, RANK_RATE_MAX, SHORT, WithOption, error_names, file_named};

/// When files are made stable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Fsync {
    /// Never.
    #[default]
    None,
    /// Before every close of a file that can be written.
    Close,
    /// After every write.
    Op,
}

/// How the bytes of files are moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Engine {
    /// pread and pwrite.
    #[default]
    Posix,
    /// Files opened inside are mapped.
    Mmap,
    /// Calls of a queue; where there is none, single calls or an error.
    Uring { or_posix: bool },
    /// Nothing moves them: reads and writes count as done.
    Null,
}

/// The options in force.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Active {
    pub(super) direct: bool,
    pub(super) engine: Engine,
    pub(super) fsync: Fsync,
    /// Largest size of one call, bytes.
    pub(super) transfer: Option<u64>,
    /// The content of writes.
    pub(super) data: Content,
    /// Writes describe themselves, and reads are checked.
    pub(super) verify: bool,
    /// How random data is shaped.
    shape: Shape,
    /// Operations, or transfers of MPI-IO, under way at one time.
    pub(super) depth: u32,
    /// Operations that are handed over together; 0: as many as may be under way.
    pub(super) batch: u32,
    sqpoll: bool,
    iopoll: bool,
    /// MPI files are opened in atomic mode.
    pub(super) atomic: bool,
    /// MPI files are opened by this rank alone.
    pub(super) alone: bool,
    /// Hints of MPI files: a place in [`OptionStack::texts`].
    hints: usize,
    /// Where paths begin.
    pub(super) directory: Place,
    /// The schedule of arrivals, from 1; 0: operations are due at no time.
    pub(super) schedule: u32,
    expected: [u64; 4],
    /// The program expects operations to be short.
    pub(super) expects_short: bool,
    /// Size of files that were there before the program, bytes.
    found_bytes: Option<u64>,
}

impl Active {
    /// Outside every `with`.
    fn outside() -> Active {
        Active { depth: 1, ..Active::default() }
    }

    /// The program expects operations to fail so.
    pub(super) fn expects(&self, errno: i32) -> bool {
        let word = self.expected.get(errno as usize / 64);
        word.is_some_and(|bits| bits >> (errno as usize % 64) & 1 != 0)
    }

    /// Sets an option to a value that its row accepts.
    fn set(&mut self, option: WithOption, value: &Value) -> Eval<()> {
        match option {
            WithOption::Direct => self.direct = value.as_condition()?,
            WithOption::Engine => self.engine = engine(word(value)),
            WithOption::Fsync => self.fsync = fsync(word(value)),
            WithOption::Filesize => self.found_bytes = Some(value.as_size()?),
            WithOption::Transfer => self.transfer = Some(value.as_size()?),
            // Of files the plan knows the number.
            WithOption::Data => self.data = Content::find(word(value)).unwrap_or(self.data),
            WithOption::Compress => self.shape.compress = ratio(value)?,
            WithOption::Dedup => self.shape.dedup = ratio(value)?,
            WithOption::Verify => self.verify = value.as_condition()?,
            WithOption::Expect => self.expect(word(value)),
            WithOption::Depth => self.depth = value.as_int()? as u32,
            WithOption::Batch => self.batch = value.as_int()? as u32,
            WithOption::Sqpoll => self.sqpoll = value.as_condition()?,
            WithOption::Iopoll => self.iopoll = value.as_condition()?,
            WithOption::Atomic => self.atomic = value.as_condition()?,
            WithOption::Comm => self.alone = word(value) == "self",
            // Their text has a place in the stack, its name one in the plan.
            WithOption::Hints | WithOption::Dir => {}
            // They make a schedule together.
            WithOption::Rate | WithOption::Arrival | WithOption::Per => {}
        }
        Ok(())
    }

    /// Random data gets the shape in force. `wanted`: just now, so that other data is a mistake.
    fn shape_data(&mut self, wanted: bool) -> Flow {
        match self.data {
            Content::Random | Content::Shaped(_) | Content::Marked => {
                self.data = Content::random(self.shape);
            }
            _ if wanted => {
                let what = "compress and dedup shape random data: they do nothing to other data";
                return Err(Fault::message(what));
            }
            _ => {}
        }
        self.mark_data()
    }

    /// Verified data is of its own kind.
    fn mark_data(&mut self) -> Flow {
        if self.verify {
            if self.data != Content::Random {
                let what = "verify=true writes data of its own: data, compress and dedup do nothing \
                            to it; leave them out";
                return Err(Fault::message(what));
            }
            self.data = Content::Marked;
        }
        Ok(())
    }

    /// The options that a back-end around another one has to know.
    pub(super) fn in_force(&self) -> backend::InForce {
        backend::InForce {
            verify: self.verify,
            expects_missing: self.expects(libc::ENOENT),
            expects_existing: self.expects(libc::EEXIST),
            expects_other_kind: self.expects(libc::ENOTDIR) || self.expects(libc::EINVAL),
            expects_short: self.expects_short,
            found_bytes: self.found_bytes,
        }
    }

    /// Options that contradict each other are a mistake.
    fn refuse_contradictions(&self) -> Flow {
        let in_force = InForce {
            direct: Some(self.direct),
            mapped: Some(self.engine == Engine::Mmap),
            null: Some(self.engine == Engine::Null),
            verify: Some(self.verify),
            depth: Some(self.depth),
            batch: Some(self.batch),
        };
        let found = in_force.contradiction();
        found.map_or(Ok(()), |(_, why)| Err(Fault::message(why)))
    }

    /// Reads and writes are counted as done, without a call.
    #[inline(always)]
    pub(super) fn is_null(&self) -> bool {
        self.engine == Engine::Null
    }

    fn expect(&mut self, names: &str) {
        self.expects_short = error_names(names).any(|name| name == SHORT);
        self.expected = [0; 4];
        for number in error_names(names).filter_map(errno::number) {
            self.expected[usize::from(number) / 64] |= 1 << (number % 64);
        }
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
        OptionStack { top: Active::outside(), outer: Vec::new(), texts: vec![String::new()] }
    }

    #[inline(always)]
    pub(super) fn active(&self) -> &Active {
        &self.top
    }

    /// Enters a `with`. Gives the rate of operations that it asks for, if that is above 0.
    pub(super) fn enter(
        &mut self,
        env: &mut Env<'_>,
        site: Pc,
        options: &Options,
    ) -> Flow<Option<Rate>> {
        let (mut next, plan) = (self.top, env.plan);
        for (option, operand) in options.given() {
            let value = env.value(site, operand)?;
            if let (WithOption::Hints, Value::Str(_)) = (option, value) {
                usable(word(value))?;
            }
            option.row().check(value)?;
            next.set(option, value)?;
            if option == WithOption::Hints {
                next.hints = self.hints_number(word(value));
            }
            if let (WithOption::Data, Some(name)) = (option, file_named(word(value))) {
                next.data = sample(plan, name)?;
            }
            if option == WithOption::Dir {
                next.directory = directory(plan, word(value))?;
            }
        }
        next.shape_data(options.compress.is_some() || options.dedup.is_some())?;
        next.refuse_contradictions()?;
        let rate = rate(env, site, options)?;
        if options.rate.is_some() || rate.is_some() {
            next.schedule = 0;
        }
        self.outer.push(std::mem::replace(&mut self.top, next));
        Ok(rate)
    }

    /// Operations are due by this schedule.
    pub(super) fn follow(&mut self, schedule: u32) {
        self.top.schedule = schedule;
    }

    /// The queue that the options ask for.
    pub(super) fn queue(&self) -> QueueSettings {
        let Active { depth, sqpoll, iopoll, .. } = self.top;
        QueueSettings { depth, sqpoll, iopoll }
    }

    /// There is no queue: calls do.
    pub(super) fn use_posix(&mut self) {
        self.top.engine = Engine::Posix;
    }

    /// The hints of files that are opened now, `key=value;key=value`.
    pub(super) fn hints(&self) -> &str {
        &self.texts[self.top.hints]
    }

    fn hints_number(&mut self, text: &str) -> usize {
        let known = self.texts.iter().position(|known| known == text);
        known.unwrap_or_else(|| {
            self.texts.push(text.to_string());
            self.texts.len() - 1
        })
    }

    /// Leaves the innermost `with`.
    pub(super) fn leave(&mut self) {
        self.top = self.outer.pop().unwrap_or_else(Active::outside);
    }
}

/// The rate of this rank that a `with` asks for; `None`: none, or 0.
fn rate(env: &mut Env<'_>, site: Pc, options: &Options) -> Flow<Option<Rate>> {
    let mut process = Process::Fixed;
    let mut times: Vec<u64> = Vec::new();
    if let Some(operand) = options.arrival {
        match env.value(site, operand)? {
            Value::List(list) => {
                process = Process::Times;
                times = list.iter().map(Value::as_duration_ns).collect::<Eval<_>>()?;
            }
            value if word(value) == "poisson" => process = Process::Poisson,
            _ => {}
        }
    }
    let ops_s = match (options.rate, times.last()) {
        (Some(_), Some(_)) => {
            return Err(Fault::message("the times of arrival are the rate: leave out rate"));
        }
        (Some(operand), None) => env.value(site, operand)?.as_float()?,
        (None, Some(last_ns)) => times.len() as f64 * 1e9 / *last_ns as f64,
        (None, None) => return Ok(None),
    };
    let member = match options.per {
        Some(operand) if word(env.value(site, operand)?) == "group" => {
            let ranks = &env.scope.members().ranks;
            (ranks.position(env.scope.rank).unwrap_or(0), ranks.len().max(1) as u32)
        }
        _ => (0, 1),
    };
    let own_ops_s = ops_s / f64::from(member.1);
    if own_ops_s > RANK_RATE_MAX {
        return Err(Fault::message(format!(
            "a rank makes at most {RANK_RATE_MAX} operations per second, found a rate of {own_ops_s} for each; \
             use a lower one, or more ranks and per=\"group\""
        )));
    }
    Ok((ops_s > 0.0).then(|| Rate { process, own_ops_s, member, times: times.into() }))
}

/// Data of the file with this name.
fn sample(plan: &Plan, name: &str) -> Flow<Content> {
    let number = plan.samples.iter().position(|sample| sample.name == name);
    number.map(|number| Content::Sample(number as u32)).ok_or_else(|| {
        let why = "is not known before the run: write its name, or a parameter, into the `with`";
        Fault::message(format!("the file {name} of data=\"file:{name}\" {why}"))
    })
}

/// The directory with this name.
fn directory(plan: &Plan, name: &str) -> Flow<Place> {
    find_place(&plan.directories, name).ok_or_else(|| {
        Fault::message(format!("no directory {name} is granted; grant it with --mount {name}=DIR"))
    })
}

/// Libraries crash, hang or take long with some hints: why these cannot be used.
fn usable(text: &str) -> Flow {
    let why = hints::parse(text).err();
    why.map_or(Ok(()), |why| Err(Fault::message(format!("these hints cannot be used: {why}"))))
}

/// The text of a value whose row accepts texts alone.
pub(super) fn word(value: &Value) -> &str {
    match value {
        Value::Str(text) => std::str::from_utf8(text).unwrap_or_default(),
        _ => "",
    }
}

fn engine(word: &str) -> Engine {
    match word {
        "mmap" => Engine::Mmap,
        "uring" => Engine::Uring { or_posix: false },
        "uring|posix" => Engine::Uring { or_posix: true },
        "null" => Engine::Null,
        _ => Engine::Posix,
    }
}

fn fsync(word: &str) -> Fsync {
    match word {
        "close" => Fsync::Close,
        "op" => Fsync::Op,
        _ => Fsync::None,
    }
}

fn ratio(value: &Value) -> Eval<Ratio> {
    let refused = || EvalError::Type("a ratio from 1 to 100", value.describe());
    Ratio::new(value.as_float()?).ok_or_else(refused)
}
