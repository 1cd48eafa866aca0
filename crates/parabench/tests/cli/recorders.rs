//! One program that makes every kind of call on files, recorded in every way and with every mix of
//! strace's options: the same operations come out.

use crate::record::{compiled, operations, recorders};
use crate::scene::{PARABENCH, Scene, skip};
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// Calls of all kinds; with an argument also threads, processes that share, exec from a thread.
const PROGRAM: &str = include_str!("recorders/calls.c");

type Counts = BTreeMap<String, usize>;

fn difference(one: &Counts, other: &Counts) -> Vec<String> {
    let more = one.iter().filter(|(text, count)| other.get(*text) != Some(*count));
    more.map(|(text, count)| format!("{count} {text}")).collect()
}

/// The program, compiled, beside an empty folder to work in.
fn scene() -> Scene {
    let scene = Scene::new().file("w/keep", "");
    assert!(compiled(&scene, "calls", PROGRAM, &["-w", "-D_FILE_OFFSET_BITS=64"]));
    scene
}

#[test]
fn both_ways_follow_every_kind_of_call() {
    if recorders().len() < 2 {
        return;
    }
    let recorded = ["strace", "preload"].map(|via| {
        let scene = scene();
        let line = format!("record --via {via} --under w -o r -- sh -c");
        scene.call(&line).word("cd w && ../calls more").run().exits(0);
        let gaps = scene.json("r/run.json")["run"]["trace"]["gaps"].clone();
        let codes: Vec<String> = gaps
            .as_array()
            .expect("gaps")
            .iter()
            .map(|gap| gap["code"].as_str().unwrap().into())
            .collect();
        for code in ["unknown-descriptors", "impossible", "unparsed-lines", "cut-calls", "dropped"]
        {
            assert!(!codes.iter().any(|known| known == code), "{via}: {gaps:#}");
        }
        // Only strace sees what goes around the C library.
        assert_eq!(codes.iter().any(|code| code == "opaque"), via == "strace", "{gaps:#}");
        operations(&scene, "r")
    });
    let [strace, preload] = &recorded;
    assert!(strace.len() > 50, "{strace:#?}");
    let (missing, more) = (difference(strace, preload), difference(preload, strace));
    assert!(missing.is_empty() && more.is_empty(), "strace {missing:#?}, preload {more:#?}");
    // What the kernel did, not only what both ways agree on.
    for (text, count) in [
        ("fwrite common @0 5 of 5 errno 0", 1),
        ("fwrite common @5 6 of 6 errno 0", 1),
        ("fwrite thread-1 @20 10 of 10 errno 0", 1),
        // A process without a copy of its own opened and closed for the other one.
        ("fwrite d\u{fc} >x/shared @0 7 of 7 errno 0", 1),
        ("fopen d\u{fc} >x/beside @0 0 of 0 errno 0", 1),
        ("fclose given @0 0 of 0 errno 0", 1),
        // After exec from a thread.
        ("fwrite common @11 1 of 1 errno 0", 1),
        ("fclose common @0 0 of 0 errno 0", 1),
        ("fwrite closed @0 1 of 1 errno 0", 0),
        ("lookup none @0 0 of 0 errno 2", 1),
        // By both names of the call, on the name and on what is open.
        ("statfs asked @0 0 of 0 errno 0", 4),
        ("statfs none @0 0 of 0 errno 2", 1),
        ("fclose stream @0 0 of 0 errno 0", 1),
    ] {
        assert_eq!(strace.get(text).copied().unwrap_or(0), count, "{text} of {strace:#?}");
    }
}

/// Options of strace, of which each mix has one of every line.
const OPTIONS: &[&[&str]] = &[
    &["-f", "", "-ff"],
    &["-ttt", "", "-t", "-tt", "-r", "-tt -r"],
    &["-T", ""],
    &["-y", "", "-yy", "--decode-fds=all"],
    &["", "-s 0", "-s 5", "-s 4096"],
    &["", "-v"],
    &["", "-x", "-xx"],
    &["", "-C"],
    &["", "-q", "-i", "-n", "--decode-pids=comm"],
];

/// Mixes in which every pair of options stands once at least, found step by step.
fn mixes() -> Vec<Vec<&'static str>> {
    let allowed = |mix: &[&str]| !(mix[0] == "-ff" && mix[7] == "-C");
    let pairs = |mix: &[&'static str]| {
        let of = |a: usize| (a + 1..mix.len()).map(move |b| (a, b)).collect::<Vec<_>>();
        let all = (0..mix.len()).flat_map(of).map(|(a, b)| (a, mix[a], b, mix[b]));
        all.collect::<BTreeSet<_>>()
    };
    let mut state: u64 = 42;
    let mut next = |below: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
    let mut idle = 0;
    while idle < 400 {
        let mix: Vec<&str> = OPTIONS.iter().map(|all| all[next(all.len())]).collect();
        let new = pairs(&mix).difference(&seen).count();
        // At first only mixes with many new pairs, at last any with one.
        if allowed(&mix) && new > 12usize.saturating_sub(idle / 20) {
            seen.extend(pairs(&mix));
            found.push(mix);
            idle = 0;
        } else {
            idle += 1;
        }
    }
    found
}

/// What the program did as strace with these options tells it. `None`: this strace does not have them.
fn traced(mix: &[&str], argument: &str) -> Option<(Counts, String)> {
    let scene = scene();
    let words = mix.join(" ");
    let line = format!(
        "cd w && strace {words} -e 'trace=%file,%desc,%process,?close_range' -o ../log ../calls {argument} >../out 2>&1; \
         cd ..; grep -q 'invalid option\\|unrecognized\\|mutually' out && exit 9; \
         \"$PARABENCH\" import log* --under \"$PWD/w\" -o r"
    );
    let mut command = Command::new("sh");
    command.args(["-c", &line]).current_dir(scene.path(".")).env("PARABENCH", PARABENCH);
    // With -v and -xx the first line is longer than what a format is known by.
    command.env("LONG", "x".repeat(3000));
    let done = command.env_remove("LD_LIBRARY_PATH").output().expect("a shell");
    if done.status.code() == Some(9) {
        skip(&format!("strace {words}"));
        return None;
    }
    let err = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success(), "{words}: {err}");
    Some((operations(&scene, "r"), scene.text("r/run.json")))
}

#[test]
fn every_mix_of_options_tells_the_same_operations() {
    if recorders().len() < 2 {
        return;
    }
    let (alone, _) = traced(&["-ttt", "-T", "-y"], "").expect("options of every strace");
    let (more, _) = traced(&["-f", "-ttt", "-T", "-y"], "more").expect("options of every strace");
    assert!(alone.len() > 40 && more.len() > alone.len() + 10, "{alone:#?} {more:#?}");
    let all = mixes();
    assert!(all.len() > 15, "{all:?}");
    for mix in all {
        // Logs apart are put in order by their times: without, positions that processes share are lost.
        let ordered = mix[0] != "-ff" || matches!(mix[1], "-ttt" | "-tt" | "-tt -r");
        let follows = !mix[0].is_empty();
        let (argument, expected) = if follows && ordered { ("more", &more) } else { ("", &alone) };
        let Some((found, run)) = traced(&mix, argument) else { continue };
        let (missing, added) = (difference(expected, &found), difference(&found, expected));
        assert!(
            missing.is_empty() && added.is_empty(),
            "{mix:?}: missing {missing:#?}, more {added:#?}"
        );
        let says = |code: &str| run.contains(&format!("\"{code}\""));
        assert_eq!(says("no-times"), mix[1].is_empty(), "{mix:?}");
        assert_eq!(says("whole-seconds"), mix[1] == "-t", "{mix:?}");
        assert_eq!(says("no-durations"), mix[2].is_empty(), "{mix:?}");
        assert!(!says("unparsed-lines") && !says("unknown-descriptors"), "{mix:?}: {run}");
    }
}
