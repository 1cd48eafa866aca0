//! Ctrl-C before the ranks are there: the run is given up in order, so that
//! nothing is left behind. While ranks run, their supervisor takes the signals.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Notes that somebody asked the run to stop.
pub struct Interrupt {
    requested: Arc<AtomicBool>,
}

impl Interrupt {
    /// Notes it from now on, instead of ending the process.
    pub fn watch() -> Interrupt {
        let requested = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // It fails for signals that cannot be caught only.
            let _ = signal_hook::flag::register(signal, Arc::clone(&requested));
        }
        Interrupt { requested }
    }

    /// Somebody asked.
    pub fn requested(&self) -> bool {
        self.requested.load(Ordering::Relaxed)
    }

    /// Tells the supervisor what arrived before it took the signals.
    pub fn pass_on(&self) {
        if self.requested.swap(false, Ordering::Relaxed) {
            // It fails for signals that do not exist only.
            let _ = signal_hook::low_level::raise(SIGINT);
        }
    }
}
