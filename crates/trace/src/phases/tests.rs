use super::*;
use crate::sort::Sorter;

/// A word per operation of rank 0: `r in-1`, `w out`, `o in-1`, `c in-1`, `d old`, `s in-1` and `.` for a
/// pause of a second. `16*r in-#` is that word 16 times, with the number of each.
fn labels(text: &str) -> Vec<String> {
    let mut facts = Facts { labels: vec![b"app".to_vec()], ..Facts::default() };
    let mut sorter = Sorter::default();
    let mut now_ns = 0;
    for word in text.split(", ") {
        let (times, word) = word.split_once('*').unwrap_or(("1", word));
        for number in 0..times.parse().expect("a number") {
            let (op, name) = word.split_once(' ').unwrap_or((word, ""));
            let name = name.replace('#', &number.to_string()).into_bytes();
            let place = facts.paths.iter().position(|path| *path == name);
            let path = place.unwrap_or_else(|| {
                facts.paths.push(name);
                facts.paths.len() - 1
            }) as u32;
            let (op, instance, flags) = match op {
                "r" => (Op::Fread, 0, NO_ID),
                "w" => (Op::Fwrite, 0, NO_ID),
                "o" => (Op::Fopen, 0, 2),
                "or" => (Op::Fopen, 0, 0),
                "c" => (Op::Fclose, 0, NO_ID),
                "d" => (Op::Delete, NO_ID, NO_ID),
                "s" => (Op::Stat, NO_ID, NO_ID),
                _ => {
                    now_ns += 1_000_000_000;
                    continue;
                }
            };
            let moves = matches!(op, Op::Fread | Op::Fwrite);
            let done_bytes = if moves { 4096 } else { 0 };
            let (start_ns, end_ns) = (now_ns, now_ns + 1000);
            let event = Event {
                start_ns,
                end_ns,
                path,
                done_bytes,
                op: op as u8,
                label: 0,
                ..Event::default()
            };
            let details = Details { instance, open_flags: flags, ..Details::default() };
            sorter.event(0, &event, &details);
            now_ns += 2000;
        }
    }
    let events = label(sorter.finish().expect("sorted"), &mut facts).expect("labelled");
    let mut all: Vec<(u32, usize)> = Vec::new();
    for event in events {
        let label = event.expect("an event").event.label;
        match all.last_mut() {
            Some((last, count)) if *last == label => *count += 1,
            _ => all.push((label, 1)),
        }
    }
    let text = |label: u32| String::from_utf8_lossy(&facts.labels[label as usize]).into_owned();
    all.into_iter().map(|(label, count)| format!("{count} {}", text(label))).collect()
}

#[test]
fn phases_are_cut_where_something_else_is_done() {
    for (text, expected) in [
        // One thing throughout: the program's name says enough.
        ("o a, 40*r a, c a", &["42 app"][..]),
        (
            "or in-1, 20*r in-1, c in-1, o ck-1, 20*w ck-1, c ck-1, o ck-2, 20*w ck-2, c ck-2",
            &["22 app/read in-*", "44 app/write ck-*"],
        ),
        // The same again is the same label.
        ("20*r in, 20*w out, 20*r in", &["20 app/read in", "20 app/write out", "20 app/read in"]),
        // Short parts of a loop are parts of one phase.
        ("3*r in, 2*w out, 3*r in, 2*w out, 3*r in, 20*w out", &["33 app"]),
        (
            "20*r in, 2*w log, 20*r in, 2*w log, 20*r in, 30*d t-#",
            &["64 app/read in", "30 app/delete t-*"],
        ),
        // A pause parts what is too short to be learnt.
        ("8*r in, ., 8*w out, ., 8*r in", &["8 app/read in", "8 app/write out", "8 app/read in"]),
        // Pauses that come again and again part nothing.
        (
            "o a, ., w a, ., w a, ., w a, ., w a, ., 20*w a, c a, 30*s b",
            &["26 app/write a", "30 app/stat b"],
        ),
        // A few bytes say little of many operations on names.
        (
            "60*s d-#, 2*r conf, 60*s d-#, 20*w out",
            &["122 app/stat d-* and read conf", "20 app/write out"],
        ),
        ("20*s d-#, 6*r conf, 20*s d-#, 20*w out", &["46 app/read conf", "20 app/write out"]),
        // Files with other names, each for a few operations, are files.
        (
            "s a, r a, s b, r b, s x, r x, 6*r a, 6*r b, 6*r x, 30*d old",
            &["24 app/read files", "30 app/delete old"],
        ),
    ] {
        assert_eq!(labels(text), expected, "{text}");
    }
}

#[test]
fn many_different_names_become_coarser() {
    let files = |ending: &str| {
        let names = (0..30u8).map(|at| {
            let letters = [b'a' + at / 26, b'a' + at % 26].map(char::from);
            format!("20*r {}{}{ending}", letters[0], letters[1])
        });
        names.collect::<Vec<_>>().join(", ")
    };
    assert_eq!(
        labels(&format!("{}, 20*w out", files(".csv"))),
        ["600 app/read *.csv", "20 app/write files"]
    );
    assert_eq!(labels(&files("")), ["600 app"]);
}

#[test]
fn ranks_and_programs_part_phases_and_call_sites_stand_for_them() {
    let sorted = || {
        let mut sorter = Sorter::default();
        for at in 0..120u64 {
            let (rank, writes) = ((at % 2) as u32, at % 2 == 1 && at > 60);
            let op = if writes { Op::Fwrite } else { Op::Fread };
            let label = if at < 100 { 1 } else { NO_ID };
            let (start_ns, op) = (at, op as u8);
            let event = Event {
                start_ns,
                end_ns: at,
                op,
                done_bytes: 1,
                path: 0,
                label,
                ..Event::default()
            };
            sorter.event(rank, &event, &Details::default());
        }
        sorter.finish().expect("sorted")
    };
    let shown = |has_sites: bool| {
        let labels = vec![b"sh".to_vec(), b"cp".to_vec()];
        let mut facts = Facts { paths: vec![b"f".to_vec()], labels, has_sites, ..Facts::default() };
        let events = label(sorted(), &mut facts).expect("labelled");
        let text = |label: u32| match label {
            NO_ID => String::new(),
            label => String::from_utf8_lossy(&facts.labels[label as usize]).into_owned(),
        };
        let events = events.map(|event| event.expect("an event"));
        let mut shown: Vec<(u64, String)> =
            events.map(|traced| (traced.rank, text(traced.event.label))).collect();
        shown.dedup();
        shown
    };
    let expected = |all: &[(u64, &str)]| -> Vec<(u64, String)> {
        all.iter().map(|(rank, label)| (*rank, label.to_string())).collect()
    };
    // What has no program does one thing on each rank.
    assert_eq!(
        shown(false),
        expected(&[(0, "cp/read f"), (0, ""), (1, "cp/read f"), (1, "cp/write f"), (1, "")])
    );
    assert_eq!(shown(true), expected(&[(0, "cp"), (0, ""), (1, "cp"), (1, "")]));
}

/// Ranks of a job do one thing each between two barriers; names of both tell what.
#[test]
fn what_ranks_do_between_barriers_is_one_phase() {
    use model::run::TraceBarrier;
    let mut facts = Facts {
        labels: vec![b"app".to_vec()],
        paths: vec![b"out.0".to_vec(), b"out.1".to_vec()],
        barriers: vec![TraceBarrier {
            came_ns: vec![500; 2],
            left_ns: vec![1000; 2],
            waited_us: vec![0; 2],
        }],
        ..Facts::default()
    };
    let mut sorter = Sorter::default();
    for (rank, op, path, start_ns) in [
        (0, Op::Fwrite, 0, 10),
        (0, Op::Fread, 1, 1010),
        (1, Op::Fwrite, 1, 20),
        (1, Op::Fread, 0, 1020),
        (1, Op::Fread, 1, 1030),
    ] {
        let (op, end_ns) = (op as u8, start_ns + 1);
        let event = Event { start_ns, end_ns, path, op, done_bytes: 9, ..Event::default() };
        sorter.event(rank, &event, &Details::default());
    }
    let sorted = sorter.finish().expect("sorted");
    let events = label(sorted, &mut facts).expect("labelled");
    let labels = events.map(|event| event.expect("an event").event.label as usize);
    let labels: Vec<&[u8]> = labels.map(|label| &facts.labels[label][..]).collect();
    let (write, read) = (&b"app/write out.*"[..], &b"app/read out.*"[..]);
    assert_eq!(labels, [write, read, write, read, read]);
}
