//! `with (verify=true)`: whatever a rank writes, cuts, overwrites and fails to write, it is never told
//! of wrong bytes that are right; and each way in which storage corrupts data is found and named.
#![allow(clippy::print_stderr)]

mod common;
#[path = "doubles/corruptions.rs"]
mod corruptions;
#[path = "doubles/faults.rs"]
mod faults;

use common::Build;
use corruptions::{Corrupting, Corruption, Corruptions};
use engine::backend::{Backend, Beneath};
use engine::buffer::Buffers;
use engine::clock::Virtual;
use engine::collect::{Collected, collect};
use engine::comm::{Local, Region};
use engine::machine::{Machine, Prepared, Settings, Stop};
use engine::recorder::{Medium, Meta, Recorder, Usage};
use engine::verify::Verified;
use faults::{Faults, Faulty, directory, files_in};
use model::plan::{Operand, Options, Slot};
use model::run::VerifiedData;
use model::{Op, Plan, errno};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::panic::catch_unwind;
use std::sync::Arc;

const SEEDS: u64 = 1_000;
const FILE_BYTES: i64 = 100_000;
const RUN: u16 = 7;

/// Executes a plan in a directory of its own.
fn run<B: Backend>(plan: &Plan, back_end: impl FnOnce(Beneath, Virtual) -> B) -> Collected {
    let (prepared, settings) =
        (Prepared::new(plan), Settings { run_mark: RUN, ..Settings::default() });
    let region = Arc::new(Region::create(1, &plan.sets).expect("memory"));
    let meta = Meta { rank: 0, ranks: 1, sites: plan.code.len() as u32, events: None };
    let recorder = Recorder::create(Medium::Heap, &meta).expect("memory");
    let (clock, place) = (Virtual::start(), directory());
    let files = back_end(files_in(place.path()), clock.clone());
    let mut comm = Local::new(region, 0, 1);
    let backend = Verified::around(Box::new(files), plan, (0, RUN), clock.clone().into());
    let mut machine = Machine::new(&prepared, &settings, Box::new(backend), &comm, clock, recorder);
    let stop = machine.run(&mut comm, &mut Buffers::new(42, 0));
    assert_eq!(stop, Stop::Finished);
    let (recorder, _) = machine.finish(&stop, &mut comm, |_| Usage::default());
    collect(&[recorder.into_record().expect("a record")], plan)
}

/// What was verified, over all labels.
fn verified(collected: &Collected) -> VerifiedData {
    let label = collected.evidence.labels.first();
    label.and_then(|label| label.verified.clone()).unwrap_or_default()
}

/// Failures by wrong bytes, in words.
fn wrong(collected: &Collected) -> Vec<String> {
    let wrong = errno::number("EBADMSG").expect("an error");
    let failures = collected.failures.iter().filter(|failure| failure.errno == wrong);
    failures.map(|failure| format!("{} at {}", failure.message, failure.place)).collect()
}

/// Statements on one file by handles and by name, and on a second one.
struct Writer<'b> {
    build: &'b mut Build,
    random: ChaCha8Rng,
    handle: Slot,
}

impl Writer<'_> {
    fn number(&mut self, most: i64) -> Operand {
        let number = match self.random.random_range(0..4) {
            0 => self.random.random_range(0..40.min(most)),
            1 => self.random.random_range(0..most / 512) * 512,
            _ => self.random.random_range(0..most),
        };
        self.build.int(number)
    }

    fn statement(&mut self) {
        let (h, path) = (Operand::slot(self.handle), self.build.str("f"));
        let (len, offset) = (self.number(20_000), self.number(FILE_BYTES));
        match self.random.random_range(0..20) {
            0..7 => self.build.op(Op::Fwrite, &[h, len, offset]),
            7..11 => self.build.op(Op::Fread, &[h, len, offset]),
            11 => self.build.op(Op::Ftruncate, &[h, offset]),
            12 => {
                let words = self.build.str("punch");
                let len = self.build.int(self.random.random_range(1..20_000));
                self.build.op(Op::Fallocate, &[h, offset, len, words]);
            }
            13 => self.build.op(Op::Append, &[path, len]),
            14 => self.build.op(Op::Read, &[path, Operand::ABSENT, Operand::ABSENT]),
            15 => self.build.op(Op::Truncate, &[path, offset]),
            16 => self.build.op(Op::Write, &[path, len, Operand::ABSENT]),
            17 => {
                let other = self.build.str("g");
                self.build.op(Op::Write, &[other, len, offset]);
                self.build.op(Op::Read, &[other, Operand::ABSENT, Operand::ABSENT]);
                self.build.op(Op::Delete, &[other]);
            }
            18 => {
                let data = Options { verify: Some(self.build.int(0)), ..Options::default() };
                self.build.with(data, |b| b.op(Op::Fwrite, &[h, len, offset]));
            }
            _ => self.build.op(Op::Fread, &[h, Operand::ABSENT, offset]),
        }
    }
}

fn program(seed: u64) -> Plan {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    Build::plan(1, |b| {
        let (handle, path, flags) = (b.global("h"), b.str("f"), b.str("w+"));
        let queued = random.random_bool(0.5);
        let options = Options {
            verify: Some(b.int(1)),
            engine: queued.then(|| b.str("uring")),
            depth: queued.then(|| b.int(random.random_range(1..20))),
            transfer: random.random_bool(0.5).then(|| b.int(random.random_range(500..8_000))),
            ..Options::default()
        };
        b.with(options, |b| {
            b.op_to(handle, Op::Fopen, &[path, flags]);
            let statements = random.random_range(2..60);
            let mut writer = Writer { build: b, random, handle };
            for _ in 0..statements {
                writer.statement();
            }
            b.op(Op::Fread, &[Operand::slot(handle), Operand::ABSENT, Operand::ABSENT]);
            b.op(Op::Fclose, &[Operand::slot(handle)]);
            b.op(Op::Read, &[path, Operand::ABSENT, Operand::ABSENT]);
        });
    })
}

#[test]
fn nothing_is_wrong_whatever_is_written_cut_and_fails() {
    let (mut checked, mut failed) = (0, 0);
    for seed in 0..SEEDS {
        let checked_one = catch_unwind(|| {
            let faulty = seed.is_multiple_of(2);
            let faults = faulty.then(|| Faults::new(seed).0);
            let collected = run(&program(seed), |files, clock| Faulty::new(files, clock, faults));
            assert_eq!(wrong(&collected), Vec::<String>::new());
            (verified(&collected).checked_bytes, collected.evidence.failed)
        });
        let one = checked_one.unwrap_or_else(|_| panic!("seed {seed}"));
        (checked, failed) = (checked + one.0, failed + one.1);
    }
    assert!(checked > 10_000_000 && failed > 400, "{checked} bytes, {failed} failures");
}

/// Writes a file twice and reads it, with one write that goes wrong.
fn corrupted(corruption: Corruption, seed: u64, after: u64) -> Collected {
    const WRITES: i64 = 8;
    const LEN: i64 = 64 << 10;
    let plan = Build::plan(1, |b| {
        let (handle, path, flags) = (b.global("h"), b.str("f"), b.str("w+"));
        let options = Options { verify: Some(b.int(1)), ..Options::default() };
        b.with(options, |b| {
            b.op_to(handle, Op::Fopen, &[path, flags]);
            for op in [Op::Fwrite, Op::Fwrite, Op::Fread] {
                for at in 0..WRITES {
                    let (len, offset) = (b.int(LEN), b.int(at * LEN));
                    b.op(op, &[Operand::slot(handle), len, offset]);
                }
            }
            b.op(Op::Fclose, &[Operand::slot(handle)]);
        });
    });
    // Half of the file further on it is written over by the second round, or is its end.
    let distance = 1 << 20;
    let corruptions = Corruptions::new(seed, corruption, after, distance);
    run(&plan, |inner, _| Corrupting { inner, corruptions })
}

#[test]
fn each_corruption_is_found_and_classified() {
    for seed in 0..50 {
        for corruption in Corruption::ALL {
            // In the second round there is older data below, in the first nothing, and what the
            // first does wrong is mended by the second.
            let collected = corrupted(corruption, seed, 8 + seed % 8);
            let found = verified(&collected);
            let counts = [found.wrong_zeros, found.wrong_older, found.wrong_other];
            let expected = match corruption {
                Corruption::FlippedBit => [0, 0, 1],
                Corruption::LostWrite
                | Corruption::StaleBlock
                | Corruption::MisdirectedWrite
                | Corruption::TornWrite => [0, 1, 0],
            };
            assert_eq!(counts, expected, "{corruption:?}, seed {seed}: {:?}", wrong(&collected));
            assert_eq!(wrong(&collected).len(), 1, "{corruption:?}, seed {seed}");
            let mended = corrupted(corruption, seed, seed % 8);
            let mended = verified(&mended);
            let counts = [mended.wrong_zeros, mended.wrong_older, mended.wrong_other];
            assert_eq!(counts, [0; 3], "{corruption:?} {mended:?}");
        }
    }
}

#[test]
fn a_write_that_lands_elsewhere_is_wrong_in_both_places() {
    let plan = Build::plan(1, |b| {
        let (handle, path, flags) = (b.global("h"), b.str("f"), b.str("w+"));
        let options = Options { verify: Some(b.int(1)), ..Options::default() };
        b.with(options, |b| {
            b.op_to(handle, Op::Fopen, &[path, flags]);
            for at in [1, 2, 0] {
                let (len, offset) = (b.int(16 << 10), b.int(at * (16 << 10)));
                b.op(Op::Fwrite, &[Operand::slot(handle), len, offset]);
            }
            b.op(Op::Fread, &[Operand::slot(handle), Operand::ABSENT, Operand::ABSENT]);
            b.op(Op::Fclose, &[Operand::slot(handle)]);
        });
    });
    let corruptions = Corruptions::new(1, Corruption::MisdirectedWrite, 2, 16 << 10);
    let collected = run(&plan, |inner, _| Corrupting { inner, corruptions });
    let found = verified(&collected);
    let counts = [found.wrong_zeros, found.wrong_older, found.wrong_other];
    assert_eq!(counts, [1, 0, 1], "{:?}", wrong(&collected));
}
