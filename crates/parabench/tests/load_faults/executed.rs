//! A program that was executed by simulated ranks, with faults by its seed.

use crate::faults::{Faults, Faulty, Injected, InjectedError, directory, files_in};
use crate::mpi_files::MpiFiles;
use crate::program::Program;
use engine::clock::Virtual;
use engine::collect::{Collected, collect};
use engine::config::{BackendKind, Config};
use engine::machine::Settings;
use engine::recorder::{EventsConfig, RankRecord};
use engine::supervise::{Outcome, run_sim_on};
use engine::verify::Verified;
use model::event::{FLAG_EXPECTED, FLAG_FAILED, NO_ID};
use model::{Event, Op, Plan};
use ppl::Binding;
use ppl::source::NoIncludes;
use std::cell::RefCell;
use std::rc::Rc;

/// What is known of an execution.
pub struct Executed {
    pub outcome: Outcome,
    pub collected: Collected,
    /// By rank.
    pub ranks: Vec<Rank>,
}

pub struct Rank {
    pub record: RankRecord,
    pub events: Vec<Done>,
    pub injected: Vec<InjectedError>,
}

/// An operation.
#[derive(Debug)]
pub struct Done {
    pub event: Event,
    pub op: Op,
    pub label: String,
    pub path: String,
}

impl Done {
    /// It failed, whether the program expects that or not.
    pub fn failed(&self) -> bool {
        self.event.flags & (FLAG_FAILED | FLAG_EXPECTED) != 0
    }

    /// The label of its phase.
    pub fn phase(&self) -> &str {
        self.label.split('/').next().unwrap_or_default()
    }
}

impl Executed {
    pub fn events(&self) -> impl Iterator<Item = &Done> {
        self.ranks.iter().flat_map(|rank| &rank.events)
    }
}

fn plan_of(program: &Program, seed: u64) -> Plan {
    let binding = Binding { seed, ..Binding::new(program.ranks) };
    let compiled =
        ppl::compile("x.ppl", program.text.clone().into_bytes(), &mut NoIncludes, &binding);
    compiled.plan.unwrap_or_else(|| panic!("{:?}", compiled.diagnostics))
}

pub fn execute(program: &Program, seed: u64) -> Executed {
    let plan = plan_of(program, seed);
    let config = Config {
        directory: "/run".into(),
        backend: BackendKind::Mem,
        events: Some(EventsConfig { max_bytes: 1 << 20, ..EventsConfig::default() }),
        settings: Settings { stop_on_error: program.stops, ..Settings::default() },
        ..Config::default()
    };
    let told = RefCell::new(vec![Injected::default(); program.ranks as usize]);
    let place = directory();
    let shared = Rc::default();
    let backend = |rank: u32, clock: Virtual| {
        let faults = program.one_in.map(|one_in| {
            let (faults, injected) = Faults::new(seed << 8 | u64::from(rank));
            told.borrow_mut()[rank as usize] = injected;
            faults.of_all_calls(one_in)
        });
        let files = Faulty::new(files_in(place.path()), clock.clone(), faults);
        let files = MpiFiles::new(files, &shared);
        Verified::around(Box::new(files), &plan, (rank, config.settings.run_mark), clock.into())
    };
    let mut outcome = run_sim_on(&plan, &config, backend).expect("it starts");
    let collected = collect(&outcome.records, &plan);
    let records = std::mem::take(&mut outcome.records);
    let ranks = records.into_iter().zip(told.take());
    let ranks = ranks.map(|(record, injected)| rank(record, injected.list())).collect();
    Executed { outcome, collected, ranks }
}

fn rank(record: RankRecord, injected: Vec<InjectedError>) -> Rank {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let done = |event: Event| Done {
        event,
        op: Op::from_u8(event.op).expect("an operation"),
        label: match event.label {
            NO_ID => String::new(),
            id => text(&record.labels[id as usize].path),
        },
        path: record.path(event.path).map(text).unwrap_or_default(),
    };
    let events = record.events().map(done).collect();
    Rank { events, record, injected }
}
