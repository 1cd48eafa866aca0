//! Records of the ranks of a run that has not ended, seen by a reader: where they are, and
//! whether somebody still works on it. Reading changes nothing.
//!
//! ```text
//! /dev/shm/parabench-records-x7Qz2w/rank-0      what rank 0 has measured so far
//! /dev/shm/parabench-records-x7Qz2w/plan        what they execute
//! /dev/shm/parabench-records-x7Qz2w/owner       the run that they belong to
//! DIR/parabench-records-x7Qz2w/rank-0           of a job that was killed on several machines: copies, until all are there
//! ```

use super::owner::{OWNER, Owner};
use ::report::file::open_regular;
use engine::own_folder::OwnFolder;
use engine::recorder::{RankRecord, read_file};
use engine::supervise::waiting;
use model::Plan;
use model::run::{Header, Recording};
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

/// Largest plan, bytes; it holds the text of the program.
const PLAN_MAX: u64 = 1 << 30;
/// Start of the names of folders in memory in which ranks record.
pub(crate) const MEMORY: &str = "parabench-records-";
/// Start of the names of folders that hold the executions of a sweep.
pub(crate) const EXECUTIONS: &str = "executions-";
/// File with the plan, beside the ranks' files.
pub(crate) const PLAN: &str = "plan";

/// This machine, as a run names the one that records it.
pub fn here() -> Recording {
    let text = |path| fs::read_to_string(path).unwrap_or_default().trim().to_string();
    Recording {
        host: text("/proc/sys/kernel/hostname"),
        boot: text("/proc/sys/kernel/random/boot_id"),
        ..Recording::default()
    }
}

/// The state of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// Its run.json is all of it.
    #[default]
    Finished,
    /// Its processes are at work.
    UnderWay,
    /// They were killed; what they recorded is here.
    CutOff,
    /// Their records are gone, or cannot be read.
    OutOfSight,
}

/// A rank's file that cannot be read: it stays where it is.
pub struct Unreadable {
    pub path: PathBuf,
    pub why: String,
}

impl Unreadable {
    /// A remark on it.
    pub fn describe(&self) -> String {
        format!("a rank's file cannot be read and stays where it is: {}", self.why)
    }
}

/// The ranks' files in folders that cannot be read.
pub fn unreadable<'a>(folders: impl IntoIterator<Item = &'a OwnFolder>) -> Vec<Unreadable> {
    let files = rank_files(folders).into_iter();
    files.filter_map(|path| Some(Unreadable { why: unreadable_because(&path)?, path })).collect()
}

/// Why a rank's file cannot be read. Nothing is wrong with one that is gone meanwhile: its rank has sent it to rank 0.
fn unreadable_because(path: &Path) -> Option<String> {
    let why = read_rank(path).err()?;
    fs::symlink_metadata(path).is_ok().then_some(why)
}

/// Keeps the plan of an execution beside its records, in place of that of an earlier one whose records stay.
pub(crate) fn keep_plan(memory: &OwnFolder, plan: &Plan) -> io::Result<()> {
    memory.remove_file(PLAN)?;
    fs::File::create_new(memory.path().join(PLAN))?.write_all(&plan.to_bytes())
}

/// Processes that were killed let go of their locks when the kernel has taken their memory apart.
const TO_LET_GO: Duration = Duration::from_secs(2);
const NEXT_LOOK: Duration = Duration::from_millis(20);
/// A call on storage that takes longer than this between two looks of a report is named.
const BETWEEN_LOOKS: Duration = Duration::from_millis(300);

/// Looks again for a little while, as long as what it finds is still held: for those who need a run to be over, right
/// after its processes were killed.
pub fn once_let_go<T>(look: impl Fn() -> T, is_held: impl Fn(&T) -> bool) -> T {
    let mut waited = Duration::ZERO;
    let mut found = look();
    while is_held(&found) && waited < TO_LET_GO {
        sleep(NEXT_LOOK);
        waited += NEXT_LOOK;
        found = look();
    }
    found
}

/// Files of a run that has not ended.
#[derive(Default)]
pub struct Found {
    pub state: State,
    /// The ranks' files.
    pub memory: Option<OwnFolder>,
    /// Copies of them, and files of ranks on other machines, beside run.json.
    pub copies: Option<OwnFolder>,
    /// The path of the ranks' files on each machine.
    pub recorded: Option<PathBuf>,
    /// The executions of a sweep.
    pub executions: Option<OwnFolder>,
    /// Where it lies and what can be done, in a sentence.
    pub remark: String,
}

impl Found {
    /// Looks for what the run in `folder` names as its recording.
    pub fn look(folder: &Path, run: &Header) -> Found {
        let Some(recording) = &run.recording else { return Found::default() };
        let executions =
            recording.executions.as_deref().filter(|name| is_made_from(name, EXECUTIONS));
        let executions = executions.and_then(|name| OwnFolder::open(&folder.join(name)).ok());
        let memory = recording.memory.as_deref().map(|path| open_memory(Path::new(path), &run.id));
        let recorded = recording.memory.as_ref().map(PathBuf::from);
        let copies = recorded.as_deref().and_then(|recorded| copies(folder, recorded));
        let held = match (&memory, &executions) {
            (Some(Ok(memory)), _) => memory.is_held(),
            // A sweep holds them, too, which tells other machines.
            (_, Some(executions)) => executions.is_held(),
            (Some(Err(_)), None) => Ok(false),
            // Only the folder itself can tell.
            (None, None) => OwnFolder::open(folder).and_then(|folder| folder.is_held()),
        };
        let there = matches!(memory, Some(Ok(_))) || copies.is_some() || executions.is_some();
        let state = match held {
            Ok(false) if there => State::CutOff,
            Ok(false) => State::OutOfSight,
            // Locks of another machine cannot always be asked for: nobody here can tell, ever.
            Err(_) if recording.host != here().host => State::OutOfSight,
            // Better too careful: nobody may take it for a run that is over.
            Ok(true) | Err(_) => State::UnderWay,
        };
        let remark = match state {
            State::UnderWay => "the run is not finished: these are figures up to now".into(),
            _ => remark(folder, recording, &memory, &copies),
        };
        Found { state, memory: memory.and_then(Result::ok), copies, recorded, executions, remark }
    }

    /// Records of the ranks of this machine, and the files that cannot be read.
    pub fn records(&self) -> (Vec<RankRecord>, Vec<Unreadable>) {
        let (mut records, mut unreadable) = (Vec::<RankRecord>::new(), Vec::new());
        for path in rank_files(self.folders()) {
            match read_rank(&path) {
                // A copy of one that is here.
                Ok(record) if records.last().is_some_and(|last| last.rank == record.rank) => {}
                Ok(record) => records.push(record),
                Err(why) => unreadable.push(Unreadable { path, why }),
            }
        }
        (records, unreadable)
    }

    /// The processes that are at work on it, in words.
    pub fn describe_users(&self) -> String {
        let users = self.memory.as_ref().map(OwnFolder::users).unwrap_or_default();
        let describe = |pid: &i32| match waiting::describe(*pid, Path::new("")) {
            Some(call) => format!("{pid} (in {call})"),
            None => pid.to_string(),
        };
        model::words::list_some(users.iter().map(describe), 5)
    }

    /// Ranks of this machine that are in the same call on storage at two looks, in words. Paths below `directory` are
    /// shown from there.
    pub fn describe_waiting(&self, directory: &Path) -> Option<String> {
        let pids = self.memory.as_ref().map(OwnFolder::users).unwrap_or_default();
        let look_at = |pid: &i32| {
            let call = waiting::describe(*pid, directory)?;
            Some((rank_of(*pid)?, call, waiting::count_sleeps(*pid)))
        };
        let first: Vec<_> = pids.iter().filter_map(look_at).collect();
        if first.is_empty() {
            return None;
        }
        sleep(BETWEEN_LOOKS);
        let second: Vec<_> = pids.iter().filter_map(look_at).collect();
        let still = first.into_iter().filter(|one| second.contains(one));
        let still: Vec<String> =
            still.map(|(rank, call, _)| format!("rank {rank} in {call}")).collect();
        (!still.is_empty())
            .then(|| format!("storage does not answer: {}", model::words::list_some(still, 5)))
    }

    /// Where ranks' files are.
    fn folders(&self) -> impl Iterator<Item = &OwnFolder> {
        self.memory.iter().chain(&self.copies)
    }

    /// Copies what is in memory, but for `unreadable`, to `folder`, that of run.json.
    pub fn copy(&mut self, folder: &Path, unreadable: &[Unreadable]) -> io::Result<()> {
        let Some(memory) = &self.memory else { return Ok(()) };
        let name = memory.path().file_name().unwrap_or_default();
        let to = folder.join(name);
        match fs::create_dir(&to) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let copies = OwnFolder::open(&to)?;
        let plan = Some(memory.path().join(PLAN)).filter(|file| file.is_file());
        let readable = rank_files([memory]).into_iter();
        let readable = readable.filter(|file| unreadable.iter().all(|kept| kept.path != *file));
        for file in readable.chain(plan) {
            let name = file.file_name().unwrap_or_default();
            // A copy is whole or not there; what another copying has left is made anew.
            let part = format!(".{}.tmp", name.to_string_lossy());
            copies.remove_file(&part)?;
            let mut copy = fs::File::create_new(to.join(&part))?;
            io::copy(&mut fs::File::open(&file)?, &mut copy)?;
            // What it is a copy of goes next.
            copy.sync_all()?;
            fs::rename(to.join(&part), to.join(name))?;
        }
        fs::File::open(&to)?.sync_all()?;
        self.copies = Some(copies);
        Ok(())
    }

    /// The plan that the ranks execute, or why it is unknown.
    pub fn plan(&self) -> Result<Plan, String> {
        let open = |own: &OwnFolder| {
            open_regular(&own.path().join(PLAN), "a file of a run", PLAN_MAX).ok()
        };
        let found = self.folders().find_map(open);
        let (file, _) = found.ok_or("the plan cannot be read")?;
        let mut bytes = Vec::new();
        file.take(PLAN_MAX).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
        Plan::from_bytes(&bytes)
    }
}

/// The rank that a process is: the one whose file it has mapped.
fn rank_of(pid: i32) -> Option<u32> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).ok()?;
    maps.lines().find_map(|line| line.rsplit_once("/rank-")?.1.parse().ok())
}

/// The folder of records at `path`, if it is that of the run with this identity.
fn open_memory(path: &Path, id: &str) -> io::Result<OwnFolder> {
    let wrong = |why| Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if !is_made_from(&name, MEMORY) || !path.is_absolute() {
        return wrong("no folder of a run has that name");
    }
    let memory = OwnFolder::open(path)?;
    match Owner::read(path) {
        Some(owner) if owner.id == id => Ok(memory),
        _ => wrong("it holds the records of another run"),
    }
}

/// Where copies of the records lie, if there are any: beside run.json, under the name that they had in memory.
fn copies(folder: &Path, recorded: &Path) -> Option<OwnFolder> {
    let name = recorded.file_name()?.to_str()?;
    let copies = is_made_from(name, MEMORY).then(|| OwnFolder::open(&folder.join(name)).ok())?;
    copies.filter(|copies| copies.path() != recorded && !rank_files([copies]).is_empty())
}

/// The name is one that [`OwnFolder::fresh`] gives.
pub(crate) fn is_made_from(name: &str, prefix: &str) -> bool {
    name.strip_prefix(prefix)
        .is_some_and(|rest| rest.len() == 6 && rest.bytes().all(|b| b.is_ascii_alphanumeric()))
}

/// Where the records of a run that was cut off are.
fn remark(
    folder: &Path,
    recording: &Recording,
    memory: &Option<io::Result<OwnFolder>>,
    copies: &Option<OwnFolder>,
) -> String {
    let (here, host) = (here(), &recording.host);
    match (memory, copies) {
        (Some(Ok(memory)), _) => format!(
            "the run was cut off: this is what its ranks had measured; it lies in memory ({}): \
             `parabench report {} --settle` stores it before the machine restarts",
            memory.path().display(),
            folder.display()
        ),
        (Some(Err(_)), Some(copies)) => format!(
            "the run was cut off: this is what its ranks had measured; it lies in {}",
            copies.path().display()
        ),
        _ if *host != here.host => format!(
            "the run has not ended or was cut off: what its ranks have measured can be seen on {host} \
             alone; report it there"
        ),
        (None, _) => "the run was cut off: what its ranks had measured is lost, because no memory \
                      that outlives a process (a tmpfs such as /dev/shm) had room for it"
            .into(),
        (Some(Err(_)), _) if recording.boot != here.boot => {
            "the run was cut off: what its ranks had measured lay in memory and is lost, because the \
             machine was restarted"
                .into()
        }
        (Some(Err(error)), _) => format!(
            "the run has not ended or was cut off, and what its ranks have measured cannot be \
             read: {}: {error}",
            recording.memory.as_deref().unwrap_or_default()
        ),
    }
}

/// The ranks' files in order of ranks: events are stored rank by rank.
pub fn rank_files<'a>(folders: impl IntoIterator<Item = &'a OwnFolder>) -> Vec<PathBuf> {
    let entries = folders.into_iter().flat_map(|own| fs::read_dir(own.path()).ok()).flatten();
    let number = |name: &OsStr| name.to_str()?.strip_prefix("rank-")?.parse::<u32>().ok();
    let mut files: Vec<(u32, PathBuf)> = entries
        .flatten()
        .filter_map(|entry| Some((number(&entry.file_name())?, entry.path())))
        .collect();
    files.sort();
    files.into_iter().map(|(_, path)| path).collect()
}

/// The record of a rank.
pub fn read_rank(path: &Path) -> Result<RankRecord, String> {
    let (file, _) =
        open_regular(path, "what a rank records", u64::MAX).map_err(|error| error.to_string())?;
    read_file(&file).map_err(|error| format!("{}: {error}", path.display()))
}

/// Removes the records of an execution, as far as they are stored: all but `kept`.
pub(crate) fn clear(memory: &OwnFolder, kept: &[Unreadable]) -> io::Result<()> {
    for file in rank_files([memory]) {
        if kept.iter().all(|kept| kept.path != file) {
            memory.remove_file(&file.file_name().unwrap_or_default().to_string_lossy())?;
        }
    }
    if kept.is_empty() { memory.remove_file(PLAN) } else { Ok(()) }
}

/// The same of a run, with the folder if it is empty then.
pub(crate) fn remove(memory: &OwnFolder, kept: &[Unreadable]) -> io::Result<()> {
    clear(memory, kept)?;
    remove_if_empty(memory)
}

/// Removes a folder in which no rank's file is left.
pub fn remove_if_empty(memory: &OwnFolder) -> io::Result<()> {
    if !rank_files([memory]).is_empty() {
        return Ok(());
    }
    memory.remove_file(PLAN)?;
    memory.remove_file(OWNER)?;
    memory.remove()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(recording: Recording) -> Header {
        Header { id: "a".repeat(16), recording: Some(recording), ..Header::default() }
    }

    #[test]
    fn only_folders_of_runs_are_looked_into() {
        assert!(is_made_from("parabench-records-aB3dE6", MEMORY));
        for other in ["parabench-records-", "parabench-records-../../x", "rank-0", "home"] {
            assert!(!is_made_from(other, MEMORY), "{other}");
        }
        let folder = tempfile::tempdir().unwrap();
        let recording = Recording {
            memory: Some(folder.path().to_string_lossy().into()),
            executions: Some("..".into()),
            ..here()
        };
        let found = Found::look(folder.path(), &of(recording));
        assert_eq!(found.state, State::OutOfSight);
        assert!(found.memory.is_none() && found.executions.is_none());
    }

    /// An edited run.json, and a name that another run has by now.
    #[test]
    fn records_of_another_run_are_not_touched() {
        let (folder, place) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let memory = OwnFolder::fresh(place.path(), MEMORY).unwrap();
        let owner = Owner { id: "b".repeat(16), host: here().host, results: folder.path().into() };
        owner.write(&memory).unwrap();
        fs::write(memory.path().join("rank-0"), "").unwrap();
        let named = || memory.path().to_str().map(str::to_string);
        let mut run = of(Recording { memory: named(), ..here() });
        assert_eq!(Found::look(folder.path(), &run).state, State::OutOfSight);
        run.id = owner.id.clone();
        assert_eq!(Found::look(folder.path(), &run).state, State::CutOff);
        assert_eq!(Owner::read(memory.path()), Some(owner));
    }

    #[test]
    fn a_file_that_is_gone_meanwhile_is_not_unreadable() {
        let place = tempfile::tempdir().unwrap();
        let memory = OwnFolder::fresh(place.path(), MEMORY).unwrap();
        let file = memory.path().join("rank-3");
        assert_eq!(unreadable_because(&file), None);
        fs::write(&file, "no record").unwrap();
        assert!(unreadable_because(&file).is_some());
        let kept = unreadable([&memory]);
        assert_eq!(kept.iter().map(|kept| &kept.path).collect::<Vec<_>>(), [&file]);
        // The next execution of the sweep has its plan beside it.
        let plan = Plan::default();
        keep_plan(&memory, &plan).unwrap();
        clear(&memory, &kept).unwrap();
        keep_plan(&memory, &plan).unwrap();
        assert!(file.exists() && memory.path().join(PLAN).exists());
    }

    #[test]
    fn a_sweep_of_another_machine_may_be_at_work() {
        let folder = tempfile::tempdir().unwrap();
        let executions = OwnFolder::fresh(folder.path(), EXECUTIONS).unwrap();
        let name = executions.path().file_name().unwrap().to_str().map(str::to_string);
        let memory = Some("/dev/shm/parabench-records-zzzzzz".into());
        let run = of(Recording { executions: name, memory, host: "other".into(), ..here() });
        assert_eq!(Found::look(folder.path(), &run).state, State::CutOff);
        executions.hold().unwrap();
        assert_eq!(Found::look(folder.path(), &run).state, State::UnderWay);
    }

    #[test]
    fn what_is_out_of_sight_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let memory = Some("/dev/shm/parabench-records-zzzzzz".to_string());
        let look =
            |recording: &Recording| Found::look(folder.path(), &of(recording.clone())).remark;
        let gone = Recording { memory, ..here() };
        assert!(look(&gone).contains("No such file"), "{}", look(&gone));
        let restarted = Recording { boot: "other".into(), ..gone.clone() };
        assert!(look(&restarted).contains("was restarted"));
        let elsewhere = Recording { host: "other".into(), ..restarted };
        assert!(look(&elsewhere).contains("on other alone; report it there"));
        assert!(look(&here()).contains("is lost"));
    }
}
