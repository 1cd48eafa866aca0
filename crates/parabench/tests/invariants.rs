//! Invariants of ARCHITECTURE.md that need the language and the engine together: a program is
//! executed on a back-end and a clock that write down who was asked when.

use engine::backend::{Backend, Cost, Mem, MemFs};
use engine::buffer::Buffers;
use engine::call::{Call, Reply};
use engine::clock::Virtual;
use engine::comm::{Sim, World};
use engine::machine::{Machine, Prepared, Settings, Stop};
use engine::recorder::{Medium, Meta, RankRecord, Recorder, Usage};
use model::Plan;
use model::plan::Instr;
use std::cell::RefCell;
use std::rc::Rc;

/// Uses every kind of operation: simple ones, compound ones, partial transfers, failures.
const PROGRAM: &str = r#"
    $name = "file";
    time["outer"] {
        repeat $i 3 time["inner $i"] {
            write("$name-$i", 64k);
            append("$name-$i", 1k);
            read("$name-$i");
            stat("$name-$i");
            with (fsync="close", transfer=4k) write("$name-$i", 10k);
        }
        create("empty"); rename("empty", "moved"); link("moved", "second"); delete("second");
        symlink("moved", "link"); readlink("link"); lookup("moved"); truncate("moved", 1m);
        chmod("moved", 420); utime("moved"); statfs("."); mkdir("d"); readdir("."); rmdir("d");
        sync;
    }
    $h = fopen("$name-0", "r+");
    fwrite($h, 4k); fseek($h, 0); fread($h, 1m); fread($h, 4k, 0); fsync($h); fdatasync($h);
    ftruncate($h, 8k); fallocate($h, 16k); fstat($h);
    fclose($h);
    with (expect="ENOENT") delete("missing");
    read("missing too");
"#;

/// What was asked, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    Reading,
    Preparation,
    Call,
}

type Log = Rc<RefCell<Vec<Mark>>>;

struct NotingBackend {
    backend: Mem,
    log: Log,
}

impl Backend for NotingBackend {
    fn inner(&mut self) -> Option<&mut dyn Backend> {
        Some(&mut self.backend)
    }
    fn prepare(&mut self, call: &Call<'_>) -> Result<(), i32> {
        self.log.borrow_mut().push(Mark::Preparation);
        self.backend.prepare(call)
    }
    fn issue(&mut self, call: Call<'_>) -> Reply {
        self.log.borrow_mut().push(Mark::Call);
        self.backend.issue(call)
    }
}

fn plan() -> Plan {
    let binding = ppl::Binding::default();
    let text = PROGRAM.as_bytes().to_vec();
    let compiled = ppl::compile("all.ppl", text, &mut ppl::source::NoIncludes, &binding);
    compiled.plan.unwrap_or_else(|| panic!("{:#?}", compiled.diagnostics))
}

/// Executes the plan as the only rank.
fn execute(plan: &Plan) -> (Vec<Mark>, RankRecord) {
    let log = Log::default();
    let time = Virtual::start();
    let world = Rc::new(World::new(1, &plan.sets, time.clone()));
    let meta = Meta { rank: 0, ranks: 1, sites: plan.code.len() as u32, events: None };
    let recorder = Recorder::create(Medium::Heap, &meta).expect("memory");
    let memory = Mem::new(MemFs::shared("/run"), time.clone(), Cost::default());
    let backend = NotingBackend { backend: memory, log: Rc::clone(&log) };
    let readings = Rc::clone(&log);
    let clock = time.watched(move |_| readings.borrow_mut().push(Mark::Reading));
    let (prepared, settings) = (Prepared::new(plan), Settings::default());
    assert_eq!(world.next(), Some(0));
    let mut comm = Sim::new(Rc::clone(&world), 0);
    let mut machine = Machine::new(&prepared, &settings, Box::new(backend), &comm, clock, recorder);
    let stop = machine.run(&mut comm, &mut Buffers::new(plan.seed, 0));
    assert_eq!(stop, Stop::Finished);
    let marks = log.borrow().clone();
    let (recorder, _) = machine.finish(&stop, &mut comm, |_| Usage::default());
    (marks, recorder.into_record().expect("a record"))
}

#[test]
fn exactly_one_call_lies_between_two_clock_readings() {
    let (marks, _) = execute(&plan());
    let calls: Vec<usize> = (0..marks.len()).filter(|at| marks[*at] == Mark::Call).collect();
    assert!(calls.len() > 80, "only {} calls were made", calls.len());
    for at in calls {
        let around = &marks[at - 1..=at + 1];
        assert_eq!(around, [Mark::Reading, Mark::Call, Mark::Reading], "at {at} of {marks:?}");
    }
}

#[test]
fn preparations_stand_outside_of_the_readings() {
    let (marks, _) = execute(&plan());
    let mut open = false;
    for window in marks.windows(2) {
        match window {
            [Mark::Reading, Mark::Call] => open = true,
            [Mark::Call, Mark::Reading] => open = false,
            [_, Mark::Preparation] => assert!(!open, "a preparation was timed"),
            _ => {}
        }
    }
    assert!(marks.contains(&Mark::Preparation));
}

#[test]
fn every_operation_has_a_place_in_the_text_of_the_plan() {
    let plan = plan();
    for (pc, instr) in plan.code.iter().enumerate() {
        let Instr::Op { op, .. } = instr else { continue };
        let (file, line, column) = plan.locate_site(pc as u32).expect("a place");
        let text = plan.files[0].text.lines().nth(line - 1).expect("a line");
        assert_eq!(file, "all.ppl");
        let aside = &text[column - 1..];
        assert!(aside.starts_with(op.name()) || aside.starts_with('$'), "{op} at {aside}");
    }
}

#[test]
fn the_same_plan_leaves_the_same_record() {
    let plan = plan();
    let (first_marks, first) = execute(&plan);
    let (second_marks, second) = execute(&plan);
    assert_eq!(first_marks, second_marks);
    assert_eq!(format!("{first:?}"), format!("{second:?}"));
}
