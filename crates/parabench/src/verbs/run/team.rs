//! The processes of an MPI job that execute one run together. Rank 0 leads: it reads the
//! program, prints, stores and tidies up; the others follow what it tells them.
//!
//! ```text
//! rank 0   read ─ compile ─ directory ─ preflight ─▶ task ┐        ┌▶ merged ─ report, store ─▶ exit code
//! others                              (wait)              ├─ ranks ┤                            │
//!                                                         └▶ plan read? directory there?        ▼ end
//! ```
//!
//! Every process hears of every end, also of one before the start, and all leave with the
//! same exit code: nobody waits for somebody who has gone.

use super::nodes::{self, Line, Nodes};
use super::rank_checks;
use crate::console;
use crate::error::{Error, Exit, Result};
use crate::results::{self, EventSource, OWNER};
use engine::collect::{Collected, collect, collect_over};
use engine::comm::Progress;
use engine::config::{Config, Records};
use engine::host;
use engine::own_folder::OwnFolder;
use engine::recorder::read_path;
use engine::supervise::Outcome;
use model::Plan;
use model::run::Job;
use mpi::{RankOutcome, World, launcher};
use serde::{Deserialize, Serialize};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::rc::Rc;
use std::thread;
use std::time::Duration;

/// A message of rank 0 to the others.
#[derive(Serialize, Deserialize)]
enum Message {
    /// These execute the plan with these bytes.
    Task(Box<Config>, Members, Vec<u8>),
    /// There is nothing more to do; the exit code.
    End(u8),
}

/// The outcome of an execution.
pub struct Measured {
    /// How they ended.
    pub outcome: Outcome,
    /// Their merged records.
    pub collected: Collected,
    /// Figures of each machine of a job on several.
    pub nodes: Nodes,
    /// Where their events are.
    pub events: EventSource,
}

/// How long the others give the first process of a machine to print why there is no MPI.
const FIRST_SPEAKS: Duration = Duration::from_secs(3);
/// How long the others leave rank 0 to store what is left, when some of them are gone.
const LAST_WORDS: Duration = Duration::from_secs(20);

/// Some ranks of a job; rank 0 is one of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Members {
    /// All of them.
    #[default]
    All,
    /// The first ranks, in this number.
    First(u32),
    /// All ranks of the first machines, in this number.
    Nodes(u32),
}

impl Members {
    /// The rank belongs to them; `machines`: the machine of each rank.
    pub fn has(self, rank: u32, machines: &[u32]) -> bool {
        match self {
            Members::All => true,
            Members::First(count) => rank < count,
            Members::Nodes(count) => {
                machines.get(rank as usize).is_some_and(|machine| *machine < count)
            }
        }
    }

    /// Their ranks, in ascending order.
    pub fn ranks(self, machines: &[u32]) -> Vec<u32> {
        (0..machines.len() as u32).filter(|rank| self.has(*rank, machines)).collect()
    }
}

/// The processes of the job, seen from one of them.
pub struct Team {
    world: Rc<World>,
    /// Worlds of some ranks that were needed so far; `None`: this rank is not in it.
    parts: RefCell<HashMap<Members, Option<Rc<World>>>>,
    /// The job with its machines; on rank 0 only.
    job: Option<Job>,
    /// All processes are there: things can be done together.
    complete: Cell<bool>,
}

impl Team {
    /// Joins the job. All its processes call it. Beside the team: whether all were started with the same
    /// words; if not, nothing can be executed.
    ///
    /// # Errors
    /// The exit code, after [`give_up`] has printed why.
    pub fn join(rank: u32) -> std::result::Result<(Team, Result<()>), Exit> {
        Team::try_join().map_err(|error| give_up(rank, error))
    }

    fn try_join() -> Result<(Team, Result<()>)> {
        let found = mpi::shim::find_shim().map_err(unusable)?;
        let world = World::init(found.shim).map_err(unusable)?;
        mpi::signals::take();
        let same_words = rank_checks::check_words(&world)?;
        let job = match &same_words {
            Ok(()) => mpi::facts::job(&world)?,
            Err(_) => None,
        };
        let (world, parts) = (Rc::new(world), RefCell::default());
        let complete = Cell::new(true);
        Ok((Team { world, parts, job, complete }, same_words))
    }

    /// This process leads.
    pub fn leads(&self) -> bool {
        self.world.rank == 0
    }

    /// Number of ranks.
    pub fn size(&self) -> u32 {
        self.world.size
    }

    /// The machine of each rank.
    pub fn machines(&self) -> &[u32] {
        &self.world.machines
    }

    /// Number of machines.
    pub fn nodes(&self) -> u32 {
        self.world.nodes
    }

    /// The job with its machines; on rank 0 only.
    pub fn job(&self) -> Option<&Job> {
        self.job.as_ref()
    }

    /// All processes are there: things can be done together.
    pub fn is_complete(&self) -> bool {
        self.complete.get()
    }

    /// Rank 0's part of a run: tells the others what to execute, executes it and merges. `members`
    /// do, the others wait. `results`: folder of the run.
    pub fn lead(
        &self,
        members: Members,
        plan: &Plan,
        config: &Config,
        results: Option<&Path>,
        on_progress: &mut dyn FnMut(&Progress),
    ) -> Result<Measured> {
        self.tell(&Message::Task(Box::new(config.clone()), members, plan.to_bytes()))?;
        let lost = || Error::failed("what the ranks measured did not reach rank 0");
        let world = self.part(members)?.ok_or_else(lost)?;
        self.execute(&world, Some(plan), config, results, on_progress)?.ok_or_else(lost)
    }

    /// The part of the others: whatever rank 0 says, until it ends.
    pub fn follow(&self) -> Result<Exit> {
        while self.complete.get() {
            let bytes = self.world.await_broadcast()?;
            match postcard::from_bytes(&bytes) {
                Ok(Message::Task(config, members, plan)) => {
                    let plan = Plan::from_bytes(&plan).ok();
                    let Some(world) = self.part(members)? else { continue };
                    // Why it failed is known to rank 0, which tells it.
                    let _ = self.execute(&world, plan.as_ref(), &config, None, &mut |_| ());
                }
                Ok(Message::End(code)) => return Ok(Exit::from_code(code)),
                Err(error) => return Err(Error::failed(format!("rank 0 sent no task: {error}"))),
            }
        }
        thread::sleep(LAST_WORDS);
        Ok(Exit::Interrupted)
    }

    /// The world of some ranks, made when it is needed first; `None`: this rank is not in it.
    fn part(&self, members: Members) -> Result<Option<Rc<World>>> {
        let world = &self.world;
        if members == Members::All || members == Members::First(world.size) {
            return Ok(Some(Rc::clone(world)));
        }
        if let Some(known) = self.parts.borrow().get(&members) {
            return Ok(known.clone());
        }
        let made = world.part(members.has(world.rank, &world.machines))?;
        let made = made.map(Rc::new);
        self.parts.borrow_mut().insert(members, made.clone());
        Ok(made)
    }

    /// The run is over, or has never begun: all leave with this exit code. Rank 0 calls it.
    pub fn end(self, exit: Exit) -> Result<()> {
        if self.complete.get() {
            self.tell(&Message::End(exit.code()))?;
        }
        self.leave(exit)
    }

    /// Ends MPI. The others call it after [`Team::follow`].
    pub fn leave(self, exit: Exit) -> Result<()> {
        if !self.complete.get() {
            self.world.abort(i32::from(exit.code()));
        }
        // Communicators of parts go with MPI.
        self.parts.take();
        Ok(Rc::into_inner(self.world).map_or(Ok(()), |world| world.leave(exit.code()))?)
    }

    fn tell(&self, message: &Message) -> Result<()> {
        let mut bytes = postcard::to_stdvec(message)
            .map_err(|error| Error::failed(format!("cannot pack the program: {error}")))?;
        Ok(self.world.broadcast(&mut bytes)?)
    }

    /// One execution on all ranks of a world; only rank 0 has what was measured.
    fn execute(
        &self,
        world: &World,
        plan: Option<&Plan>,
        config: &Config,
        results: Option<&Path>,
        on_progress: &mut dyn FnMut(&Progress),
    ) -> Result<Option<Measured>> {
        let plan = rank_checks::check_plan(world, plan)?;
        rank_checks::check_directories(world, config)?;
        let mut config = config.clone();
        let shelf = Shelf::find(world, &mut config.records)?;
        let config = &config;
        let ran = match mpi::run_rank(world, plan, config, on_progress) {
            Ok(ran) => ran,
            Err(error) => {
                shelf.clear();
                return Err(Error::failed(error.to_string()));
            }
        };
        self.complete.set(ran.complete);
        let merged = match ran.complete {
            true => merge(world, &ran, plan, config, (shelf.is_hidden(), results))
                .inspect_err(|_| self.complete.set(false)),
            // What the ranks recorded is all that there is.
            false => Ok(merge_files(world, config, plan)),
        };
        let merged = merged.unwrap_or_else(|error| {
            let mut merged = merge_files(world, config, plan);
            merged
                .iter_mut()
                .for_each(|merged| merged.errors.push((world.rank, error.message.clone())));
            merged
        });
        if self.complete.get() {
            shelf.clear();
        }
        Ok(merged.map(|merged| Measured {
            outcome: Outcome { errors: [ran.all.errors, merged.errors].concat(), ..ran.all },
            collected: merged.collected,
            nodes: merged.nodes,
            events: EventSource::Files(merged.hidden),
        }))
    }
}

/// Prints why this process cannot become a rank of its job and ends the job, which would wait for it in
/// MPI_Init. The first process of each machine speaks at once; others speak if the job goes on.
pub fn give_up(rank: u32, error: Error) -> Exit {
    if rank > 0 && !launcher::is_first_of_machine() {
        thread::sleep(FIRST_SPEAKS);
    }
    let message = format!("rank {rank} on {}: {}", host::machine().name, error.message);
    console::error(&Error { message, ..error });
    launcher::end_job(error.exit.code());
    error.exit
}

/// Merged measurements of the ranks of an execution, on rank 0.
#[derive(Default)]
struct Merged {
    collected: Collected,
    nodes: Nodes,
    errors: Vec<(u32, String)>,
    /// Records with events of other machines.
    hidden: Option<OwnFolder>,
}

/// Brings the records of all ranks together. All ranks call it.
fn merge(
    world: &World,
    ran: &RankOutcome,
    plan: &Plan,
    config: &Config,
    (is_hidden, results): (bool, Option<&Path>),
) -> Result<Option<Merged>> {
    let record = ran.record.as_ref();
    let collected = collect_over(record.ok(), plan, &mut Line(world));
    let lost = record.err().map(|why| format!("what it measured is lost: {why}"));
    let fault = rank_checks::find_fault(world, lost.as_deref())?;
    let collected = collected.map_err(Error::failed)?;
    let nodes = nodes::gather_nodes(world, ran, plan, config).map_err(Error::failed)?;
    let hidden = match config.events {
        Some(_) => nodes::gather_records(world, record.ok(), is_hidden, results)?,
        None => None,
    };
    let errors = fault.into_iter().collect();
    Ok(collected.map(|collected| Merged { collected, nodes, errors, hidden }))
}

/// Some ranks are gone: their files are all that is left.
fn merge_files(world: &World, config: &Config, plan: &Plan) -> Option<Merged> {
    if world.rank > 0 {
        return None;
    }
    let (mut records, mut errors) = (Vec::new(), Vec::new());
    for (rank, path) in (0..world.size).filter_map(|rank| Some((rank, config.records.path(rank)?)))
    {
        match read_path(&path) {
            Ok(record) => records.push(record),
            Err(why) => errors.push((rank, format!("what it measured is not here: {why}"))),
        }
    }
    Some(Merged { collected: collect(&records, plan), errors, ..Merged::default() })
}

/// The folder that a rank records into: rank 0 has made that of its machine and removes it; where
/// that is out of sight it bears the same name, and the ranks there make and remove it themselves.
struct Shelf {
    folder: Option<OwnFolder>,
    /// The rank's file in it, which goes with this; `None`: rank 0 sees it.
    own: Option<String>,
}

impl Shelf {
    /// All ranks call it.
    fn find(world: &World, records: &mut Records) -> Result<Shelf> {
        let path = match &*records {
            Records::Directory(path) => Some(path),
            Records::Memory => None,
        };
        // Held by all: the run is over when the last one has gone.
        let join = |path| OwnFolder::join(path).and_then(|own| own.hold().map(|()| own));
        let folder = path.and_then(|path| join(path).ok());
        let identity = folder.as_ref().and_then(|own| own.identity().ok()).unwrap_or_default();
        let leaders = world.shared_words(identity)?;
        let is_seen = folder.is_some() && world.node == 0 && identity == leaders;
        let owner = broadcast_owner(world, folder.as_ref())?;
        if let (Some(folder), false) = (&folder, is_seen) {
            // One of the ranks of this machine succeeds.
            let _ = File::create_new(folder.path().join(OWNER))
                .and_then(|mut file| file.write_all(&owner));
        }
        if folder.is_none() {
            *records = Records::Memory;
        }
        let own = (!is_seen).then(|| format!("rank-{}", world.rank));
        Ok(Shelf { folder, own })
    }

    /// Rank 0 cannot read the rank's file.
    fn is_hidden(&self) -> bool {
        self.own.is_some()
    }

    /// Its content has reached rank 0, or is not needed.
    fn clear(self) {
        let (Some(folder), Some(own)) = (&self.folder, &self.own) else { return };
        // The last rank of the machine removes the folder; for the others it is not empty.
        let _ = folder.remove_file(own).and_then(|()| results::remove_if_empty(folder));
    }
}

/// Sends the owner of rank 0's folder to all: folders on other machines get the same owner.
fn broadcast_owner(world: &World, folder: Option<&OwnFolder>) -> Result<Vec<u8>> {
    let own = folder.filter(|_| world.rank == 0).map(|folder| fs::read(folder.path().join(OWNER)));
    let mut owner = own.and_then(|read| read.ok()).unwrap_or_default();
    world.broadcast(&mut owner)?;
    Ok(owner)
}

/// MPI cannot be used at all.
fn unusable(error: mpi::MpiError) -> Error {
    Error::input(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_the_first_ranks_or_those_of_the_first_machines() {
        let machines = [0, 1, 0, 1, 2];
        for (members, ranks) in [
            (Members::All, &[0, 1, 2, 3, 4][..]),
            (Members::First(3), &[0, 1, 2]),
            (Members::Nodes(1), &[0, 2]),
            (Members::Nodes(2), &[0, 1, 2, 3]),
        ] {
            assert_eq!(members.ranks(&machines), ranks);
        }
    }
}
