//! Ctrl-C while no ranks are at work: reading a program, compiling it, printing. While ranks run,
//! their supervisor takes the signals.
//!
//! | signal | the run |
//! |---|---|
//! | the first | is given up in order where it asks for that ([`Interrupt::requested`]); where it does not within a second, it is ended from outside |
//! | a second one | is ended from outside |
//! | one while ranks run | stores and prints what was measured |
//! | the first while results are stored | says so, and what another one does |
//!
//! Ended from outside means: a thread that does nothing else removes what must not stay behind and
//! ends the process, whatever the run waits for. So no wait has to know of signals. That thread also says what the run
//! waits for, where storage does not answer: then signals are never taken, but stay pending.

use crate::console;
use crate::error::Exit;
use engine::supervise::{is_stop_pending, waiting, without_signals};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Signals that ask a run to stop. The last one starts a run that waits for it.
const STOPPING: [i32; 5] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1];
/// Looks at whether the run ends by itself, and the time between them: a second in all.
const LOOKS: u32 = 50;
const PERIOD: Duration = Duration::from_millis(20);
/// How often the thread looks whether there are signals, or storage that does not answer.
const WATCH: Duration = Duration::from_millis(100);
/// Looks at which a signal was pending, until the run is ended: it cannot take it.
const PENDING_LOOKS: u32 = 10;
/// Looks at which the run was in the same call, until that is said.
const WAITING_LOOKS: u32 = 50;
/// How long removing may take where storage may not answer.
const TO_REMOVE: Duration = Duration::from_secs(3);
/// Stack of the thread, bytes: it removes directories.
const STACK: usize = 256 << 10;

/// Notes that somebody asked the run to stop.
pub struct Interrupt {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    requested: Arc<AtomicBool>,
    /// The run knows, and ends in order.
    noticed: AtomicBool,
    /// Removes what must not stay behind.
    leftovers: Mutex<Vec<Leftover>>,
    /// Results are being stored: what to tell whoever interrupts that.
    storing: Mutex<Option<String>>,
}

type Leftover = Box<dyn FnOnce() + Send>;

impl Interrupt {
    /// Notes it from now on, instead of ending the process. `is_rank`: this process executes
    /// statements, so that a second thread would slow it down; it has to ask. `waits`: SIGUSR1 is to
    /// start the run.
    pub fn watch(is_rank: bool, waits: bool) -> Interrupt {
        let shared = Arc::new(Shared::default());
        let stopping = if waits { &STOPPING[..4] } else { &STOPPING[..] };
        for &signal in stopping {
            // It fails for signals that cannot be caught only.
            let _ = signal_hook::flag::register(signal, Arc::clone(&shared.requested));
        }
        if !is_rank && let Ok(signals) = Signals::new(stopping) {
            let watching = Arc::clone(&shared);
            let watcher = thread::Builder::new().name("signals".into()).stack_size(STACK);
            // Without the thread a run ends where it asks.
            let _ = without_signals(|| watcher.spawn(move || watching.watch(signals)));
        }
        Interrupt { shared }
    }

    /// Somebody asked, and the run is going to end. A rank of an MPI job has handlers of its own.
    pub fn requested(&self) -> bool {
        let requested = self.shared.requested.load(Relaxed) || mpi::signals::is_requested();
        self.shared.noticed.fetch_or(requested, Relaxed);
        requested
    }

    /// Tells the supervisor what arrived before it took the signals.
    pub fn pass_on(&self) {
        if self.shared.requested.swap(false, Relaxed) {
            // It fails for signals that do not exist only.
            let _ = signal_hook::low_level::raise(SIGINT);
        }
    }

    /// Should the run be ended from outside, this is done before.
    pub fn before_end(&self, leftover: impl FnOnce() + Send + 'static) {
        lock(&self.shared.leftovers).push(Box::new(leftover));
    }

    /// Stores results: the first signal meanwhile only prints `advice`, on what another one does.
    pub fn storing<T>(&self, advice: String, work: impl FnOnce() -> T) -> T {
        // A rank of an MPI job has no thread that waits for signals, but handlers of its own.
        mpi::signals::advise(&advice);
        *lock(&self.shared.storing) = Some(advice);
        let done = work();
        *lock(&self.shared.storing) = None;
        mpi::signals::advise("");
        done
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    fn watch(&self, mut signals: Signals) {
        // The run may know of a signal before this thread does: that is no second one.
        let (mut ending, mut pending) = (false, 0);
        let mut wait = Wait::default();
        loop {
            thread::sleep(WATCH);
            for _ in signals.pending() {
                if let Some(advice) = lock(&self.storing).as_mut().map(std::mem::take)
                    && !advice.is_empty()
                {
                    console::note(&advice);
                    continue;
                }
                if ending || !self.ends_by_itself() {
                    self.end();
                }
                ending = self.noticed.load(Relaxed);
            }
            pending = if is_stop_pending() { pending + 1 } else { 0 };
            if pending > PENDING_LOOKS {
                self.end();
            }
            wait.look();
        }
    }

    /// The run notices within a second, or passes the signal on to its ranks.
    fn ends_by_itself(&self) -> bool {
        let mut looks = 0..LOOKS;
        looks.any(|_| {
            thread::sleep(PERIOD);
            self.noticed.load(Relaxed) || !self.requested.load(Relaxed)
        })
    }

    #[expect(clippy::disallowed_methods, reason = "main waits for something else")]
    fn end(&self) {
        let leftovers = std::mem::take(&mut *lock(&self.leftovers));
        let (tell, done) = channel();
        let remove = move || {
            leftovers.into_iter().rev().for_each(|leftover| leftover());
            let _ = tell.send(());
        };
        if thread::Builder::new().stack_size(STACK).spawn(remove).is_ok()
            && done.recv_timeout(TO_REMOVE).is_err()
        {
            console::note("storage does not answer: what the run has made there stays");
        }
        std::process::exit(Exit::Interrupted.code().into())
    }
}

/// The call on storage in which the main thread is, with the number of its sleeps, and for how many looks.
#[derive(Default)]
struct Wait {
    call: Option<(String, u64)>,
    looks: u32,
}

impl Wait {
    fn look(&mut self) {
        self.looks += 1;
        // Reading /proc costs more than a look at a signal.
        if !self.looks.is_multiple_of(PENDING_LOOKS) {
            return;
        }
        let own = std::process::id() as i32;
        let call = waiting::describe(own, Path::new("")).zip(waiting::count_sleeps(own));
        if call.is_none() || call != self.call {
            (self.call, self.looks) = (call, 0);
        } else if self.looks == WAITING_LOOKS {
            let call = self.call.as_ref().map_or("", |(call, _)| call);
            console::note(&format!("storage has not answered for 5 s: {call}"));
        }
    }
}
