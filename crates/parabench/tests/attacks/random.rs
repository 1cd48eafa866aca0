//! Attacks that nobody thought of: generated programs make, move and link names in one directory
//! over several runs, while somebody else moves things there and processes are killed.
//!
//! ```text
//! PARABENCH_ATTACK_SEED=N      begin with case N; a case that succeeds tells its number
//! PARABENCH_ATTACK_SECONDS=S   how long, if not for some seconds
//! ```

use crate::outside::{self, Outside};
use crate::perform::NEVER;
use crate::process::{self, Ended};
use crate::program::program;
use crate::scene::Scene;
use crate::stranger::{Stranger, disturb};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Child;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Numbers that follow from a seed (SplitMix64, Steele et al. 2014).
pub struct Dice(u64);

impl Dice {
    /// Dice that always fall the same.
    pub fn new(seed: u64) -> Dice {
        Dice(seed)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % end as u64) as usize
    }

    /// True once in `count` times.
    pub fn once_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    /// One of these.
    pub fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}

/// Tries case after case for `seconds`, or as long as is wanted; gives how many.
#[track_caller]
pub fn cases(seconds: u64, case: impl Fn(u64) -> Result<(), String>) -> String {
    let variable = |name: &str| std::env::var(name).ok()?.parse::<u64>().ok();
    let drawn = || std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), 0) >> 32;
    let seed = variable("PARABENCH_ATTACK_SEED").unwrap_or_else(drawn);
    let limit = Duration::from_secs(variable("PARABENCH_ATTACK_SECONDS").unwrap_or(seconds));
    let since = Instant::now();
    let mut count = 0;
    while count == 0 || since.elapsed() < limit {
        if let Err(why) = case(seed + count) {
            panic!("PARABENCH_ATTACK_SEED={} gets through:\n{why}", seed + count);
        }
        count += 1;
    }
    format!("{count} cases from seed {seed} on")
}

#[test]
fn random_moves_links_exchanges_and_kills_stay_inside() {
    println!("{}", cases(30, case));
}

/// Two or three runs in one directory.
fn case(seed: u64) -> Result<(), String> {
    let mut dice = Dice::new(seed);
    let scene = Scene::new();
    let folder = scene.path(".");
    outside::plant(&folder);
    for name in ["tmp", "log", "d"] {
        fs::create_dir(folder.join(name)).expect("made");
    }
    let is_shared = dice.once_in(2);
    if is_shared {
        let everybody = fs::Permissions::from_mode(0o777);
        fs::set_permissions(folder.join("d"), everybody).expect("a mode");
    }
    let mut history = String::new();
    for number in 0..2 + dice.below(2) {
        let text = program(&mut dice);
        fs::write(folder.join("x.ppl"), &text).expect("written");
        let moves = disturb(&mut dice, &folder.join("d"));
        let has_hard_link = history.contains("hard link") || moves.contains("hard link");
        let call = Call::draw(&mut dice, number, is_shared, has_hard_link);
        history += &format!("--- {moves}\n{call:?}\n{text}\n");
        call.check(&folder).map_err(|why| format!("{history}{why}"))?;
    }
    Ok(())
}

/// A run, and what happens to it.
#[derive(Debug)]
struct Call {
    options: String,
    /// Somebody exchanges directories with links meanwhile.
    is_disturbed: bool,
    kill: Option<Kill>,
}

/// A signal to one of its processes.
#[derive(Clone, Copy, Debug)]
struct Kill {
    /// Before this, wait until there are ranks; else it may come before signals are handled.
    is_late: bool,
    after_ms: u64,
    victim: Victim,
    signal: Signal,
}

#[derive(Clone, Copy, Debug)]
enum Victim {
    Parent,
    Rank,
}

impl Call {
    /// With a hard link from outside there is no --force, which takes other names of files for its
    /// own, and nobody who exchanges names: that can hide the link from the survey, as links
    /// made after it are (user guide, "Programs of strangers").
    fn draw(dice: &mut Dice, number: usize, is_shared: bool, has_hard_link: bool) -> Call {
        let place = if dice.once_in(6) { "" } else { "--dir d" };
        let more = ["", "", "--confine", "--clean", "--on-error stop", "--force"];
        let more = dice.one(&more[..if has_hard_link { 5 } else { 6 }]);
        let out = if dice.once_in(3) { format!("--out results/{number}") } else { String::new() };
        let ranks = 1 + dice.below(3);
        let signals = [Signal::KILL, Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT];
        let kill = Kill {
            is_late: dice.once_in(2),
            after_ms: dice.below(80) as u64,
            victim: dice.one(&[Victim::Parent, Victim::Rank]),
            signal: dice.one(&signals),
        };
        let kill = dice.once_in(4).then_some(kill);
        let guarded = is_shared || more == "--confine";
        Call {
            options: format!("-n {ranks} {place} {more} {out}"),
            is_disturbed: guarded && !place.is_empty() && dice.once_in(2) && !has_hard_link,
            kill,
        }
    }

    fn check(&self, scene: &Path) -> Result<(), String> {
        let mut but = vec!["d", "results", "log"];
        let before = Outside::of(scene, &but);
        let stranger = self.is_disturbed.then(|| Stranger::start(&scene.join("d")));
        let ended = self.run(scene)?;
        drop(stranger);
        // Nobody is left to remove the scratch directory of a parent that was killed.
        let scratch: Vec<String> = match ended.code {
            137 => scratch_of(scene),
            _ => Vec::new(),
        };
        but.extend(scratch.iter().map(String::as_str));
        let mut wrong = before.changes(&Outside::of(scene, &but));
        if !matches!(ended.code, 0 | 1 | 2 | 130) && !self.may_end_by_signal(ended.code) {
            wrong.push(format!("ended with {}", ended.code));
        }
        wrong.extend(NEVER.iter().filter(|words| ended.said.contains(*words)).map(|w| (*w).into()));
        for name in &scratch {
            let _ = fs::remove_dir_all(scene.join(name));
        }
        match wrong.is_empty() {
            true => Ok(()),
            false => Err(format!("{}\n{}", wrong.join("\n"), ended.said)),
        }
    }

    /// By SIGKILL, or by what came before it was handled.
    fn may_end_by_signal(&self, code: i32) -> bool {
        self.kill.is_some_and(|kill| {
            let is_killed =
                matches!(kill.victim, Victim::Parent) && code == 128 + kill.signal.as_raw();
            is_killed && (!kill.is_late || kill.signal == Signal::KILL)
        })
    }

    fn run(&self, scene: &Path) -> Result<Ended, String> {
        fs::create_dir_all(scene.join("results")).expect("made");
        let command = format!("exec parabench run x.ppl {}", self.options);
        let mut child = process::start(&command, scene, &scene.join("log"));
        if let Some(kill) = self.kill {
            kill.send(&mut child, scene);
        }
        process::wait(child, scene, &scene.join("log"))
    }
}

impl Kill {
    /// Sends it, unless the run is over first.
    fn send(self, child: &mut Child, scene: &Path) {
        let parent = child.id() as i32;
        let rank = || process::members(scene).into_iter().find(|pid| *pid != parent);
        while self.is_late && rank().is_none() && matches!(child.try_wait(), Ok(None)) {}
        sleep(Duration::from_millis(self.after_ms));
        let victim = match self.victim {
            Victim::Parent => Some(parent),
            Victim::Rank => rank(),
        };
        if let Some(pid) =
            victim.and_then(Pid::from_raw).filter(|_| matches!(child.try_wait(), Ok(None)))
        {
            let _ = kill_process(pid, self.signal);
        }
    }
}

/// Scratch directories beside the run directory.
fn scratch_of(scene: &Path) -> Vec<String> {
    let entries = fs::read_dir(scene).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| name.starts_with("parabench-scratch-")).collect()
}
