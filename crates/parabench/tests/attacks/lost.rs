//! What a run has done is counted, whatever happens to it: its processes are killed or interrupted, disks are full,
//! storage does not answer, results are moved, and copies of them are edited.
//!
//! Every operation appends one byte to the log of its rank, so the logs say what was acknowledged: at most the
//! operation under way of each rank may be missing in what is settled in the end.

use crate::fuse::Fuse;
use crate::outside::{self, Outside};
use crate::perform::NEVER;
use crate::process;
use crate::random::{Dice, cases};
use crate::scene::{Scene, kill, records};
use crate::tmpfs::Tmpfs;
use std::fs;
use std::path::Path;
use std::process::Child;
use std::thread::sleep;
use std::time::{Duration, Instant};

const APPENDS: &str = "time[\"work\"] repeat 20000 append(\"log-$$rank\", 1);";
/// Two interrupts end a run within some seconds; a busy machine needs longer.
const TO_END: Duration = Duration::from_secs(60);
/// Names that an attack makes; nothing else may change.
const OURS: [&str; 7] = ["log", "tmp", "below", "place", "d", "r", "moved"];

#[test]
fn what_was_acknowledged_is_counted() {
    println!("{}", cases(20, case));
}

/// Where a case runs.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    Disk,
    /// The results lie on a file system that is full at the end.
    FullResults,
    /// The logs lie on one that becomes full.
    FullData,
    /// The server of the logs' file system stops.
    Stopped,
}

/// Ways to end the run.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    KillParent,
    KillRank,
    KillAll,
    /// Number of signals, and which.
    Interrupt(usize, i32),
}

fn case(seed: u64) -> Result<(), String> {
    let mut dice = Dice::new(seed);
    let scene = Scene::new();
    let folder = scene.path(".").canonicalize().expect("a path");
    outside::plant(&folder);
    for name in ["tmp", "log", "below", "place"] {
        fs::create_dir(folder.join(name)).expect("made");
    }
    fs::write(folder.join("x.ppl"), APPENDS).expect("written");
    fs::write(folder.join("y.ppl"), "write(\"f\", 1);").expect("written");
    let before = Outside::of(&folder, &OURS);
    let place =
        dice.one(&[Place::Disk, Place::Disk, Place::FullResults, Place::FullData, Place::Stopped]);
    let mut history = vec![format!("{place:?}")];
    let wrong = in_place(&mut dice, &folder, place, &mut history).err();
    let mut wrong = Vec::from_iter(wrong);
    wrong.extend(records(&folder).iter().map(|folder| taken_away(folder)));
    wrong.extend(before.changes(&Outside::of(&folder, &OURS)));
    match wrong.is_empty() {
        true => Ok(()),
        false => Err([history, wrong].concat().join("\n")),
    }
}

/// Removes records that a run has left; what they were.
fn taken_away(records: &Path) -> String {
    let owner = fs::read(records.join("owner")).unwrap_or_default();
    let entries = fs::read_dir(records).into_iter().flatten().flatten();
    let names: Vec<_> = entries.map(|entry| entry.file_name()).collect();
    let _ = fs::remove_dir_all(records);
    let owner = String::from_utf8_lossy(&owner).into_owned();
    format!("{} is left, with {names:?}; its owner: {owner}", records.display())
}

/// Runs, ends, disturbs and settles it. `history`: what was done.
fn in_place(
    dice: &mut Dice,
    scene: &Path,
    place: Place,
    history: &mut Vec<String>,
) -> Result<(), String> {
    let mut fuse = None;
    let mut small = None;
    match place {
        Place::Disk => {}
        Place::FullResults | Place::FullData => {
            small = Tmpfs::mount(&scene.join("place"), "size=4m");
            if small.is_none() {
                return Ok(());
            }
        }
        Place::Stopped => {
            fuse = Fuse::mount(&scene.join("below"), &scene.join("place"));
            if fuse.is_none() {
                return Ok(());
            }
        }
    }
    let (data, results) = match place {
        Place::Disk => ("d", "r"),
        Place::FullResults => ("d", "place/r"),
        Place::FullData | Place::Stopped => ("place/d", "r"),
    };
    let ranks = 1 + dice.below(3);
    let events = dice.one(&["", "--events"]);
    let end = match dice.below(5) {
        0 => End::KillParent,
        1 => End::KillRank,
        2 => End::KillAll,
        _ => End::Interrupt(1 + dice.below(2), dice.one(&[2, 15])),
    };
    let command = format!(
        "exec parabench run x.ppl -n {ranks} --dir {data} --out {results} {events} --quiet"
    );
    history.push(format!("{end:?}: {command}"));
    let mut child = process::start(&command, scene, &scene.join("log"));
    await_logs(&mut child, &scene.join(data), ranks);
    sleep(Duration::from_millis(dice.below(200) as u64));
    let filler = scene.join("place/filler");
    if small.is_some() {
        // What fits is written; the rest is refused.
        let _ = fs::write(&filler, vec![0; 8 << 20]);
    }
    if let Some(fuse) = &fuse {
        fuse.signal(19);
        sleep(Duration::from_millis(dice.below(50) as u64));
    }
    end.happen(&mut child, scene);
    // Nothing ends a call that its storage does not answer: the second interrupt leaves it.
    if let (Some(fuse), false) = (&fuse, matches!(end, End::Interrupt(2, _))) {
        sleep(Duration::from_millis(100));
        fuse.signal(18);
    }
    await_end(&mut child)?;
    if let Some(fuse) = &fuse {
        fuse.signal(18);
    }
    let ended = process::wait(child, scene, &scene.join("log"))?;
    history.push(ended.said.clone());
    no_panic(&ended.said)?;
    let _ = fs::remove_file(filler);
    let done = acknowledged(&scene.join(data), ranks);
    if done == 0 {
        return Ok(());
    }
    let settled =
        disturbed(dice, scene, results, history).and_then(|results| counted(scene, &results));
    drop((fuse, small));
    let counted = settled?;
    match (done.saturating_sub(ranks as u64)..=done).contains(&counted) {
        true => Ok(()),
        false => Err(format!("{done} operations were done, {counted} are counted")),
    }
}

impl End {
    fn happen(self, child: &mut Child, scene: &Path) {
        let parent = child.id() as i32;
        let is_over = |child: &mut Child| !matches!(child.try_wait(), Ok(None));
        if is_over(child) {
            return;
        }
        let ranks = || process::members(scene).into_iter().filter(|pid| *pid != parent);
        let victims: Vec<i32> = match self {
            End::KillParent => vec![parent],
            End::KillRank => ranks().take(1).collect(),
            End::KillAll => ranks().chain([parent]).collect(),
            End::Interrupt(times, signal) => {
                for _ in 0..times {
                    if !is_over(child) {
                        kill(parent, signal);
                    }
                    sleep(Duration::from_millis(50));
                }
                Vec::new()
            }
        };
        for victim in victims.into_iter().filter_map(rustix::process::Pid::from_raw) {
            // It may be gone by itself.
            let _ = rustix::process::kill_process(victim, rustix::process::Signal::KILL);
        }
    }
}

/// Waits until every rank has done something, or all is over.
fn await_logs(child: &mut Child, data: &Path, ranks: usize) {
    let has_begun = |rank| fs::metadata(log(data, rank)).is_ok_and(|log| log.len() > 0);
    while !(0..ranks).all(has_begun) && matches!(child.try_wait(), Ok(None)) {
        sleep(Duration::from_millis(2));
    }
}

fn await_end(child: &mut Child) -> Result<(), String> {
    let since = Instant::now();
    while matches!(child.try_wait(), Ok(None)) {
        if since.elapsed() > TO_END {
            return Err("it does not end".into());
        }
        sleep(Duration::from_millis(2));
    }
    Ok(())
}

fn log(data: &Path, rank: usize) -> std::path::PathBuf {
    data.join(format!("log-{rank}"))
}

/// How many operations the storage has seen.
fn acknowledged(data: &Path, ranks: usize) -> u64 {
    (0..ranks).map(|rank| fs::metadata(log(data, rank)).map_or(0, |log| log.len())).sum()
}

/// Things that must not matter; where the results lie after them.
fn disturbed(
    dice: &mut Dice,
    scene: &Path,
    results: &str,
    history: &mut Vec<String>,
) -> Result<String, String> {
    let mut results = results.to_string();
    for _ in 0..dice.below(4) {
        let command = match dice.below(5) {
            0 => {
                let _ = fs::create_dir(scene.join("moved"));
                let to = format!("moved/{}", dice.below(1000));
                let command = format!("mv {results} {to}");
                results = to;
                command
            }
            1 => "parabench run y.ppl --out moved/other --force --quiet".into(),
            2 => "parabench report --recover".into(),
            3 => format!("parabench report {results}"),
            _ => edited(dice, &results),
        };
        let ended = process::run(&command, scene, &scene.join("log"))?;
        history.push(format!("{command}: {}\n{}", ended.code, ended.said));
        no_panic(&ended.said)?;
    }
    Ok(results)
}

/// A copy with another word or number in it, which is read, or settled where it is no longer the same run.
fn edited(dice: &mut Dice, results: &str) -> String {
    let (change, option) = dice.one(&[
        ("s/\"ranks\": *[0-9]*/\"ranks\": 4294967295/", ""),
        ("s/under way/finished/", ""),
        ("s/[0-9]/7/12", ""),
        ("s/parabench-records-/parabench-record-/", "--settle"),
        ("s/\"id\": *\"[^\"]*\"/\"id\": \"00000000000000000000000000000000\"/", "--settle"),
    ]);
    format!(
        "rm -rf moved/copy; mkdir -p moved; cp -r {results} moved/copy; \
         sed -i '{change}' moved/copy/run.json; parabench report moved/copy {option}"
    )
}

/// What is stored in the end.
fn counted(scene: &Path, results: &str) -> Result<u64, String> {
    if !scene.join(results).join("run.json").exists() {
        return Err(format!("no run.json in {results}"));
    }
    let run = |command: String| process::run(&command, scene, &scene.join("log"));
    let settled = run(format!("parabench report {results} --settle"))?;
    if !matches!(settled.code, 0) {
        return Err(format!("settling ended with {}:\n{}", settled.code, settled.said));
    }
    let json = run(format!("parabench report {results} --format json 2>/dev/null"))?;
    let run: serde_json::Value =
        serde_json::from_str(&json.said).map_err(|why| format!("{why}: {}", json.said))?;
    let number = |row: &serde_json::Value, name: &str| row[name].as_u64().unwrap_or(0);
    let rows = run["rows"].as_array().into_iter().flatten();
    let appends = rows.filter(|row| row["op"] == "append");
    Ok(appends.map(|row| number(row, "count") - number(row, "failed")).sum())
}

fn no_panic(said: &str) -> Result<(), String> {
    match NEVER.iter().find(|words| said.contains(*words)) {
        Some(words) => Err(format!("said {words}:\n{said}")),
        None => Ok(()),
    }
}
