//! Hand-made operations whose differences are known, and what holds for any.

use super::align::{Kind, Tally};
use super::names::Renaming;
use super::names::Shared;
use super::report::{appends, is_adopted, own};
use super::show::{DIFFERENCES, blocks_of_page, views};
use super::stream::{Ahead, Step, Steps, Texts};
use super::*;
use model::event::{Event, NO_ID};
use model::run::{EventsInfo, Header};
use model::{Op, Run};
use proptest::prelude::*;
use std::cell::Cell;
use std::collections::VecDeque;
use std::path::Path;
use std::rc::Rc;

/// `rank op name asked offset [errno]`, one per line; each takes 10 ns, 10 ns after the one before.
fn steps(script: &str, texts: &mut Texts) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |at: usize| words.get(at).map_or(0, |word| word.parse::<u64>().unwrap());
        let rank = number(0) as u32;
        let last = steps.iter().rfind(|step| step.rank == rank);
        let (seq, start_ns) = last.map_or((0, 0), |last| (last.seq + 1, last.end_ns + 10));
        let errno = number(5) as u16;
        steps.push(Step {
            rank,
            seq,
            op: Op::find(words[1]).unwrap() as u8,
            errno,
            label: texts.id(b""),
            name: texts.id(words[2].as_bytes()),
            name2: NO_ID,
            asked: number(3),
            done: if errno == 0 { number(3) } else { 0 },
            offset: number(4),
            open_flags: NO_ID,
            start_ns,
            end_ns: start_ns + 10,
            busy_ns: 10,
            ..Step::default()
        });
    }
    steps
}

fn ahead(steps: &[Step]) -> Ahead {
    let steps: VecDeque<Step> = steps.iter().copied().collect();
    let steps: Steps = Box::new(steps.into_iter().map(Ok));
    Ahead::of(steps)
}

fn names(ours: &[Step], theirs: &[Step]) -> Renaming {
    let of = |steps: &[Step]| steps.iter().map(|step| step.name).collect::<Vec<_>>();
    Renaming::having(&of(ours), &of(theirs))
}

fn tally(ours: &[Step], theirs: &[Step]) -> (Tally, Renaming) {
    let (mut tally, mut names) = (Tally::default(), names(ours, theirs));
    align::compare(&mut ahead(ours), &mut ahead(theirs), &mut names, &mut tally).unwrap();
    (tally, names)
}

/// Counts of differences by the first letters of their kinds, without zeros.
fn counts(tally: &Tally) -> String {
    let known = Kind::all().into_iter().filter(|kind| tally.count(*kind) > 0);
    known.map(|kind| format!("{kind:?} {}", tally.count(kind))).collect::<Vec<_>>().join(", ")
}

const BASE: &str = "
    0 fopen a 0 0
    0 fwrite a 4096 0
    0 fwrite a 4096 4096
    0 fwrite a 4096 8192
    0 fclose a 0 0
    0 stat b 0 0 2
    1 fopen c 0 0
    1 fread c 100 0
    1 fclose c 0 0";

#[test]
fn every_difference_is_counted_once_and_as_what_it_is() {
    for (from, to, expected) in [
        ("", "", ""),
        ("0 fwrite a 4096 4096\n", "", "Missing 1"),
        ("0 fclose a 0 0\n", "0 fsync a 0 0\n0 fclose a 0 0\n", "Extra 1"),
        ("0 fwrite a 4096 4096", "0 fwrite a 4096 4000", "Offsets 1"),
        ("0 fwrite a 4096 4096", "0 fwrite a 512 4096", "Bytes 1"),
        ("0 stat b 0 0 2", "0 stat b 0 0", "Results 1"),
        ("0 stat b 0 0 2", "0 stat b 0 0 13", "Results 1"),
        ("0 stat b 0 0 2", "0 stat a 0 0 2", "Names 1"),
        ("0 fwrite a 4096 4096", "0 fread a 4096 4096", "Missing 1, Extra 1"),
        ("0 stat b 0 0 2", "0 stat a 0 0", "Names 1, Results 1"),
        // The stat goes to the front: one operation is out of order, not six.
        ("0 fopen a 0 0", "0 stat b 0 0 2\n0 fopen a 0 0", "Extra 1"),
        ("1 fopen c 0 0", "", "Missing 1"),
        ("\n    1 fopen c 0 0\n    1 fread c 100 0\n    1 fclose c 0 0", "", "Missing 3"),
        // All names of a file are others: a renaming, not a difference.
        (" c ", " other ", ""),
    ] {
        let mut texts = Texts::default();
        let ours = steps(BASE, &mut texts);
        let theirs = steps(&BASE.replace(from, to), &mut texts);
        let (tally, names) = tally(&ours, &theirs);
        assert_eq!(counts(&tally), expected, "{from:?} -> {to:?}");
        assert_eq!(names.renamed(), u64::from(to == " other "));
        let differences = Differences::new(&tally, Vec::new());
        assert_eq!(differences.operations == 0, expected.is_empty());
        assert_eq!(tally.examples.len(), expected.split(", ").filter(|s| !s.is_empty()).count());
    }
}

#[test]
fn opens_that_give_what_others_had_opened_are_counted_apart() {
    let mut texts = Texts::default();
    let mut ours = steps(BASE, &mut texts);
    let work = texts.id(b"work");
    ours.iter_mut().for_each(|step| step.label = work);
    let mut theirs = ours.clone();
    let open = Step { label: texts.id(b""), seq: 0, ..theirs[0] };
    theirs.insert(0, open);
    let adopted = Rc::new(Cell::new(0));
    let all: Steps = Box::new(theirs.into_iter().map(Ok));
    let adopts = move |step: &Step| is_adopted(step, open.label);
    let kept: Vec<Step> = own(all, adopts, &adopted).map(Result::unwrap).collect();
    assert_eq!((counts(&tally(&ours, &kept).0).as_str(), adopted.get()), ("", 1));
}

/// An original whose files are open as instances with the number of their name and these flags.
fn opened(script: &str, flags: u32, texts: &mut Texts) -> (Vec<Step>, Shared) {
    let mut ours = steps(script, texts);
    for step in &mut ours {
        let opens = step.op == Op::Fopen as u8;
        (step.instance, step.label) = (step.name, NO_ID);
        step.open_flags = if opens { flags } else { NO_ID };
    }
    let all: Steps = Box::new(ours.clone().into_iter().map(Ok));
    let shared = Shared::of(all).unwrap();
    (ours, shared)
}

const APPENDS: &str = "
    0 fopen log 0 0
    0 fwrite log 10 0
    0 fwrite log 10 20
    1 fwrite log 10 10
    1 fwrite own 10 0
";

#[test]
fn where_appends_of_several_ranks_lie_is_not_compared() {
    for (flags, expected, left_out) in [(0o2001, "", 3), (1, "Offsets 1", 0)] {
        let mut texts = Texts::default();
        let (ours, shared) = opened(APPENDS, flags, &mut texts);
        let theirs = steps(&APPENDS.replace("10 20", "10 30"), &mut texts);
        let count = Rc::default();
        let compared = |steps: Vec<Step>, count: &Rc<Cell<u64>>| -> Vec<Step> {
            let all: Steps = Box::new(steps.into_iter().map(Ok));
            shared.compared(all, count).map(Result::unwrap).collect()
        };
        let (ours, theirs) = (compared(ours, &count), compared(theirs, &Rc::default()));
        assert_eq!((counts(&tally(&ours, &theirs).0).as_str(), count.get()), (expected, left_out));
    }
    assert!(appends(Some(0)).is_none() && appends(Some(3)).is_some());
}

#[test]
fn without_labels_opens_of_others_are_known_by_their_names() {
    let mut texts = Texts::default();
    let (ours, shared) = opened(APPENDS, 1, &mut texts);
    let open = |rank: u32, name: u32| Step { rank, name, ..ours[0] };
    let (log, own) = (ours[0].name, ours[4].name);
    let known = [(0, log), (1, log), (1, own), (0, own)];
    let borrows = known.map(|(rank, name)| shared.borrows(&open(rank, name)));
    assert_eq!(borrows, [false, true, true, false]);
    assert!(!shared.borrows(&Step { label: 7, ..open(1, log) }));
}

#[test]
fn an_operation_at_another_place_is_out_of_order() {
    let mut texts = Texts::default();
    let ours = steps(BASE, &mut texts);
    let moved = BASE.replace("    0 stat b 0 0 2\n", "").replacen(
        "0 fopen a",
        "0 stat b 0 0 2\n 0 fopen a",
        1,
    );
    let theirs = steps(&moved, &mut texts);
    let (tally, _) = tally(&ours, &theirs);
    assert_eq!(counts(&tally), "Order 1");
    assert_eq!(Differences::new(&tally, Vec::new()).operations, 1);
    assert_eq!(tally.examples[0].kind, Kind::Order);
}

#[test]
fn the_first_difference_is_shown_with_what_surrounds_it_on_both_sides() {
    let mut texts = Texts::default();
    let ours = steps(BASE, &mut texts);
    let theirs = steps(&BASE.replace("4096 4096", "4096 4000"), &mut texts);
    let (tally, _) = tally(&ours, &theirs);
    let run = Run::default();
    let shown = report::first_differences(&tally.examples, &texts, [&run, &run]);
    let text = |steps: &[ShownStep]| {
        let line = |step: &ShownStep| {
            format!("{}{} {}", if step.here { ">" } else { " " }, step.number, step.text)
        };
        steps.iter().map(line).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(
        text(&shown[0].original),
        " 0 fopen a\n 1 fwrite a, 4096 bytes at 0\n>2 fwrite a, 4096 bytes at 4096\n 3 fwrite a, 4096 bytes at 8192\n 4 fclose a"
    );
    assert_eq!(
        text(&shown[0].replay),
        " 0 fopen a\n 1 fwrite a, 4096 bytes at 0\n>2 fwrite a, 4096 bytes at 4000\n 3 fwrite a, 4096 bytes at 8192\n 4 fclose a"
    );
}

#[test]
fn a_long_part_that_is_missing_is_all_that_differs() {
    let mut texts = Texts::default();
    let line = |at: u64| format!("0 fwrite a 4096 {}\n", at * 4096);
    let whole: String = (0..200_000).map(line).collect();
    let part: String = (0..1_000).chain(31_000..200_000).map(line).collect();
    let (ours, theirs) = (steps(&whole, &mut texts), steps(&part, &mut texts));
    assert_eq!(counts(&tally(&ours, &theirs).0), "Missing 30000");
    assert_eq!(counts(&tally(&theirs, &ours).0), "Extra 30000");
}

#[test]
fn all_sizes_may_differ() {
    let mut texts = Texts::default();
    let lines =
        |size: u64| (0..150_000).map(|at| format!("0 fwrite a {size} {at}\n")).collect::<String>();
    let (ours, theirs) = (steps(&lines(10), &mut texts), steps(&lines(20), &mut texts));
    assert_eq!(counts(&tally(&ours, &theirs).0), "Bytes 150000");
}

/// Times of the profiles, by hand: rank 0 is in operations from 0 to 10, 20 to 30, ...
#[test]
fn times_are_those_of_the_operations() {
    let mut texts = Texts::default();
    let ours = steps(BASE, &mut texts);
    let mut theirs = ours.clone();
    // The replay is half as fast in all, and the first write takes 30 ns longer.
    theirs.iter_mut().for_each(|step| {
        (step.start_ns, step.end_ns) = (2 * step.start_ns, 2 * step.end_ns);
        step.busy_ns = 20;
    });
    let (tally, _) = tally(&ours, &theirs);
    let [a, b] = &tally.profiles;
    assert_eq!((a.elapsed_ns(), b.elapsed_ns()), (110, 220));
    assert_eq!((a.all.io_ns, a.all.think_ns), (90, 50 + 20));
    assert_eq!((b.all.io_ns, b.all.think_ns), (180, 2 * 70));
    let scopes = figures::scopes(std::slice::from_ref(a), std::slice::from_ref(b), &texts);
    let error = |name: &str| {
        let figure = scopes[0].figures.iter().find(|figure| figure.name == name);
        figure.unwrap().error_percent.unwrap()
    };
    assert_eq!([error("elapsed"), error("io"), error("think")], [100.0; 3]);
    // Where operations are in relative time did not change.
    assert!(error("concurrency").abs() < 1e-6, "{}", error("concurrency"));
    assert_eq!((error("ks"), error("wasserstein")), (100.0, 100.0));
}

#[test]
fn phases_are_the_labels_of_the_replay() {
    let mut texts = Texts::default();
    let ours = steps(BASE, &mut texts);
    let mut theirs = ours.clone();
    let (first, second) = (texts.id(b"first"), texts.id(b"second"));
    theirs.iter_mut().for_each(|step| step.label = if step.seq < 3 { first } else { second });
    let (tally, _) = tally(&ours, &theirs);
    for profile in &tally.profiles {
        assert_eq!(profile.phases[&first].operations, 6);
        assert_eq!(profile.phases[&second].operations, 3);
        assert_eq!(profile.phases[&first].times.all(), [(0, 50)]);
        assert_eq!(profile.phases[&second].times.all(), [(60, 110)]);
    }
}

#[test]
fn one_label_is_a_phase_and_no_label_is_none() {
    let mut texts = Texts::default();
    let mut steps = steps(BASE, &mut texts);
    let phases = |steps: &[Step], texts: &Texts| -> Vec<Option<String>> {
        let (tally, _) = tally(steps, steps);
        let [a, b] = &tally.profiles;
        let scopes = figures::scopes(std::slice::from_ref(a), std::slice::from_ref(b), texts);
        scopes.into_iter().map(|scope| scope.phase).collect()
    };
    assert_eq!(phases(&steps, &texts), [None]);
    let python = texts.id(b"python3");
    steps.iter_mut().for_each(|step| step.label = python);
    assert_eq!(phases(&steps, &texts), [None, Some("python3".into())]);
}

fn any_steps() -> impl Strategy<Value = Vec<Step>> {
    let step = (0u32..3, 0u8..4, 0u32..3, 0u64..3, 0u64..3, 0u16..2);
    prop::collection::vec(step, 0..60).prop_map(|all| {
        let mut steps: Vec<Step> = all
            .into_iter()
            .map(|(rank, op, name, asked, offset, errno)| Step {
                rank,
                op,
                name,
                name2: NO_ID,
                asked,
                offset,
                errno,
                open_flags: NO_ID,
                ..Step::default()
            })
            .collect();
        steps.sort_by_key(|step| step.rank);
        for (step, seq) in steps.iter_mut().zip(0..) {
            let start_ns = 20 * seq;
            (step.seq, step.start_ns, step.end_ns, step.busy_ns) =
                (seq, start_ns, start_ns + 10, 10);
        }
        steps
    })
}

proptest! {
    #[test]
    fn a_run_does_what_it_does(ours in any_steps()) {
        let (tally, names) = tally(&ours, &ours);
        prop_assert_eq!(counts(&tally), "");
        prop_assert_eq!((tally.equal, names.renamed()), (ours.len() as u64, 0));
        let [a, b] = &tally.profiles;
        let scopes = figures::scopes(std::slice::from_ref(a), std::slice::from_ref(b), &Texts::default());
        for figure in scopes.iter().flat_map(|scope| &scope.figures) {
            prop_assert_eq!(figure.error_percent, Some(0.0), "{}", figure.name);
        }
    }

    /// Nothing is lost: every operation of either side is paired, missing, extra or out of order.
    #[test]
    fn every_operation_is_accounted_for(ours in any_steps(), theirs in any_steps()) {
        let (tally, _) = tally(&ours, &theirs);
        let differences = Differences::new(&tally, Vec::new());
        let pairs = ours.len() as u64 - differences.missing - differences.order;
        prop_assert_eq!(pairs, theirs.len() as u64 - differences.extra - differences.order);
        prop_assert!(tally.equal <= pairs);
        let same = ours.iter().map(|step| Step { seq: 0, start_ns: 0, end_ns: 0, ..*step });
        let equal = same.eq(theirs.iter().map(|step| Step { seq: 0, start_ns: 0, end_ns: 0, ..*step }));
        prop_assert!(!equal || differences.operations == 0);
    }

    /// Two neighbours that differ change places: found, and nothing else is.
    #[test]
    fn permuted_operations_are_found(ours in any_steps(), at in any::<prop::sample::Index>()) {
        prop_assume!(ours.len() > 1);
        let at = at.index(ours.len() - 1);
        let mut theirs = ours.clone();
        theirs.swap(at, at + 1);
        prop_assume!(ours[at].rank == ours[at + 1].rank);
        let key = |step: &Step| (step.op, step.name, step.asked, step.offset, step.errno);
        prop_assume!(key(&ours[at]) != key(&ours[at + 1]));
        let (tally, _) = tally(&ours, &theirs);
        let differences = Differences::new(&tally, Vec::new());
        prop_assert!((1..=2).contains(&differences.operations), "{:?}", differences);
        prop_assert_eq!((differences.missing, differences.extra), (0, 0));
    }
}

/// A stored run of these events, of one label and one file.
fn stored(dir: &Path, ranks: &[Vec<Event>]) -> Run {
    stored_as(dir, ranks, "work", "data")
}

fn stored_as(dir: &Path, ranks: &[Vec<Event>], label: &str, file: &str) -> Run {
    let mut writer = crate::events::EventWriter::create(dir, &[]).unwrap();
    for (rank, events) in (0..).zip(ranks) {
        let origin = crate::events::Origin { rank, host: "h", cell: 0, repetition: 0 };
        writer.rank(&origin, &[label], &[file.as_bytes()], events.iter()).unwrap();
    }
    let info: EventsInfo = writer.finish().unwrap();
    Run {
        run: Header { events: Some(EventsInfo { sample_every: 1, ..info }), ..Header::default() },
        ..Run::default()
    }
}

/// Runs that are called a, b, c, in these folders.
fn named<'a>(dirs: &'a [tempfile::TempDir], runs: &'a [Run]) -> Vec<Recorded<'a>> {
    let stored = ["a", "b", "c"].iter().zip(dirs.iter().zip(runs));
    stored.map(|(name, (dir, run))| Recorded { name, folder: dir.path(), run }).collect()
}

fn writes(count: u64, stretch: u64) -> Vec<Event> {
    let event = |seq: u64| Event {
        seq,
        start_ns: 100 * stretch * seq,
        end_ns: 100 * stretch * seq + 40,
        busy_ns: 40,
        offset_bytes: 512 * seq,
        requested_bytes: 512,
        done_bytes: 512,
        path2: NO_ID,
        op: Op::Fwrite as u8,
        ..Event::default()
    };
    (0..count).map(event).collect()
}

#[test]
fn stored_runs_are_compared_and_said_in_a_sentence() {
    let dirs: Vec<_> = (0..3).map(|_| tempfile::tempdir().unwrap()).collect();
    let runs: Vec<Run> = [(100, 10), (100, 11), (99, 10)]
        .iter()
        .zip(&dirs)
        .map(|((count, stretch), dir)| stored(dir.path(), &[writes(*count, *stretch)]))
        .collect();
    let all = named(&dirs, &runs);
    let found = compare(&all[..1], &all[1..2]).unwrap();
    for part in ["100 operations", "108.9 µs", "99.04 µs", "+10.0 %"] {
        assert!(found.verdict.contains(part), "{part}: {}", found.verdict);
    }
    let mut found = compare(&all[..2], &all[2..]).unwrap();
    for part in ["1 of 100 operations", "1 missing", "98.04 µs", "104.0 µs", "-5.7 %", "4.8 %"] {
        assert!(found.verdict.contains(part), "{part}: {}", found.verdict);
    }
    assert_eq!(found.originals[1].differences.as_ref().unwrap().operations, 0);
    let gates = ["elapsed <= 6%", "elapsed <= 5%", "operations <= 0", "operations <= 1%"];
    found.judge(&gates.map(|text| Gate::parse(text).unwrap()));
    let verdicts: Vec<&str> = found.gates.iter().map(|gate| gate.verdict.words()).collect();
    assert_eq!(verdicts, ["passes", "fails", "fails", "passes"]);
    assert!(views(&found).views.iter().any(|view| view.name == "concurrency"));
    let pictures = views(&found);
    let main = pictures.views.iter().find(|view| view.name == DIFFERENCES).unwrap();
    let crate::chart::Chart::Forest { ranges, .. } = &main.chart else { panic!("intervals") };
    let elapsed = ranges.iter().find(|range| range.name == "elapsed time").expect("a row");
    assert!((elapsed.at - 5.7).abs() < 1.0 || (elapsed.at + 5.7).abs() < 1.0, "{elapsed:?}");
    assert!(ranges.iter().all(|range| !range.name.contains("concurrency")), "{ranges:?}");
}

/// What is compared beside a replay changes nothing in what it differs in, and a phase that only some
/// replays have passes no gate.
#[test]
fn replays_are_compared_each_for_itself() {
    let dirs: Vec<_> = (0..3).map(|_| tempfile::tempdir().unwrap()).collect();
    let names = [("work", "data"), ("work", "data"), ("other", "renamed")];
    let runs: Vec<Run> = names
        .iter()
        .zip(&dirs)
        .map(|((label, file), dir)| stored_as(dir.path(), &[writes(100, 10)], label, file))
        .collect();
    let all = named(&dirs, &runs);
    let mut found = compare(&all[..1], &all[1..]).unwrap();
    let differ = found.replays.iter().map(|one| one.differences.as_ref().unwrap().operations);
    assert_eq!(differ.collect::<Vec<_>>(), [0, 0], "a file of another name stands for it");
    let phases = found.scopes.iter().filter_map(|scope| scope.phase.as_deref());
    assert_eq!(phases.count(), 0, "neither phase is in both replays");
    assert!(found.notes.iter().any(|note| note.contains("\"other\" is not in all")));
    found.judge(&[Gate::parse("other: elapsed <= 500%").unwrap()]);
    assert_eq!(found.gates[0].verdict.words(), "fails");
    assert!(format!("{:?}", blocks_of_page(&found)).contains("b, the first of 2 (replay)"));
}

/// What failed has moved nothing, so nobody asks where.
#[test]
fn places_of_transfers_that_failed_are_not_compared() {
    let dirs: Vec<_> = (0..3).map(|_| tempfile::tempdir().unwrap()).collect();
    let failed = |offset_bytes: u64, errno: u16| {
        let mut all = writes(3, 10);
        (all[1].errno, all[1].done_bytes, all[1].offset_bytes) = (errno, 0, offset_bytes);
        [all]
    };
    let all = [failed(100, 9), failed(0, 9), failed(0, 5)];
    let runs: Vec<Run> = all.iter().zip(&dirs).map(|(all, dir)| stored(dir.path(), all)).collect();
    let all = runs.iter().zip(&dirs);
    let all = all.map(|(run, dir)| Recorded { name: "r", folder: dir.path(), run });
    let all: Vec<Recorded<'_>> = all.collect();
    let found = compare(&all[..1], &all[1..]).unwrap();
    let differ = found.replays.iter().map(|one| one.differences.as_ref().unwrap().operations);
    assert_eq!(differ.collect::<Vec<_>>(), [0, 1]);
}

#[test]
fn runs_without_all_events_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let whole = stored(dir.path(), &[writes(3, 1)]);
    let mut sampled = whole.clone();
    sampled.run.events.as_mut().unwrap().sample_every = 4;
    let mut none = whole.clone();
    none.run.events = None;
    let mut cut = whole.clone();
    cut.run.outcome = "interrupted".into();
    let all = [(&sampled, "one of 4"), (&none, "no events"), (&cut, "interrupted")];
    for (run, words) in all {
        let recorded = |run| Recorded { name: "r", folder: dir.path(), run };
        let refused = compare(&[recorded(&whole)], &[recorded(run)]).unwrap_err();
        assert!(refused.message.contains(words), "{}", refused.message);
    }
}

#[test]
fn durations_that_a_log_does_not_tell_are_not_compared() {
    use model::run::{Trace, TraceGap};
    let dirs: Vec<_> = (0..2).map(|_| tempfile::tempdir().unwrap()).collect();
    let untold = |event: Event| Event { end_ns: event.start_ns, busy_ns: 0, ..event };
    let mut original = stored(dirs[0].path(), &[writes(100, 10).into_iter().map(untold).collect()]);
    let gap = TraceGap { code: "no-durations".into(), count: 100, ..TraceGap::default() };
    original.run.trace = Some(Trace { gaps: vec![gap], ..Trace::default() });
    let replay = stored(dirs[1].path(), &[writes(100, 10)]);
    let recorded = |name, at: usize, run| Recorded { name, folder: dirs[at].path(), run };
    let mut found = compare(&[recorded("a", 0, &original)], &[recorded("b", 1, &replay)]).unwrap();
    let names = |scope: &Scope| scope.figures.iter().map(|one| one.name).collect::<Vec<_>>();
    assert_eq!(names(&found.scopes[0]), ["elapsed"]);
    assert!(found.scopes[0].latency.is_empty());
    assert_eq!(found.notes.len(), 1, "{:?}", found.notes);
    found.judge(&[Gate::parse("ks <= 5%").unwrap()]);
    assert_eq!(found.gates[0].verdict, crate::gate::Verdict::Fail);
    let pictures = views(&found);
    assert_eq!(pictures.absent.len(), 3);
    let summaries: Vec<&str> = pictures.views.iter().map(|view| &*view.summary).collect();
    assert!(!summaries.concat().contains("Kolmogorov"));
    assert!(summaries.contains(
        &"Bytes written: 50 KiB in 99 µs of the original, 50 KiB in 99 µs of the replay."
    ));
}

/// The answer says what was left out and where the replay's data came from, in few lines.
#[test]
fn the_answer_says_what_is_left_out_and_whether_memory_served_the_replay() {
    use crate::text::{Detail, Terminal};
    use model::run::{GapName, Trace, TraceGap};
    let dirs: Vec<_> = (0..2).map(|_| tempfile::tempdir().unwrap()).collect();
    let mut original = stored(dirs[0].path(), &[writes(100, 10)]);
    let mut replay = stored(dirs[1].path(), &[writes(100, 10)]);
    let answer = |original: &Run, replay: &Run| {
        let one = Recorded { name: "a", folder: dirs[0].path(), run: original };
        let other = Recorded { name: "b", folder: dirs[1].path(), run: replay };
        let found = compare(&[one], &[other]).expect("compared");
        let short = show::table(&found, Terminal::default(), Detail::Short);
        assert!(short.lines().count() <= 20, "{short}");
        assert!(short.lines().all(|line| line.chars().count() <= 100), "{short}");
        let full = show::table(&found, Terminal::default(), Detail::Full);
        let flowed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flowed(&full).contains(&flowed(&found.verdict)), "{full}");
        found.verdict
    };
    let plain = answer(&original, &replay);
    assert!(plain.starts_with("b does what a did, all of its 100 operations; it took "), "{plain}");
    let gap = |code: &str, count, names: &[(&str, u64)]| {
        let name = |(name, count): &(&str, u64)| GapName { name: (*name).into(), count: *count };
        let names = names.iter().map(name).collect();
        TraceGap { code: code.into(), count, names, ..TraceGap::default() }
    };
    let gaps = vec![
        gap("no-operation", 2018, &[("fcntl", 1817), ("flock", 150), ("chown", 51)]),
        gap("unknown-descriptors", 40, &[]),
        // What was never to be in the run is not left out of it.
        gap("no-files", 99, &[]),
    ];
    original.run.trace = Some(Trace { gaps, ..Trace::default() });
    let left = answer(&original, &replay);
    let says = "b does 100 of the 2,158 operations of a; 2,058 left out: 1,817 fcntl, 150 flock, 51 chown and 40 \
                others; it took ";
    assert!(left.starts_with(says), "{left}");
    replay.run.evidence.page_cache_share = Some(1.0);
    let cached = answer(&original, &replay);
    assert!(
        cached.ends_with("; the replay read 100 % of the bytes from the page cache"),
        "{cached}"
    );
    replay.run.evidence.page_cache_share = Some(0.2);
    assert!(!answer(&original, &replay).contains("page cache"));
    replay.run.host.storage.file_system = "tmpfs".into();
    assert!(answer(&original, &replay).ends_with("; the replay ran in memory (tmpfs)"));
}
