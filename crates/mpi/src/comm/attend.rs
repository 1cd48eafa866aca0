//! Messages: answering them, and what a rank does now and then beside its program.

use super::coordinator::Letters;
use super::message::{Doing, Message, Status};
use super::{Comm, Pace};
use crate::error::MpiError;
use crate::interrupt;
use crate::patience::Patience;
use engine::clock::monotonic_raw_ns;
use engine::comm::{Progress, Sample, Standing};

/// A running rank looks for messages this often.
const LOOK_NS: u64 = 5_000_000;
/// Statements between two readings of the clock, at most.
const STRIDE_MAX: u32 = 64;
/// A rank tells that it waits after so long, plus [`TELL_RANK_NS`] for every rank of the world:
/// telling must not load rank 0.
const TELL_NS: u64 = 50_000_000;
const TELL_RANK_NS: u64 = 100_000;
/// Time between two rounds of questions, likewise.
const ROUND_NS: u64 = 20_000_000;

impl Comm<'_> {
    /// Answers messages and does what its time has come for.
    pub(super) fn attend(&mut self, patience: Option<&Patience>) -> Result<(), MpiError> {
        self.take_all()?;
        if let Some(patience) = patience.filter(|_| !self.told) {
            let tell_ns = TELL_NS + TELL_RANK_NS * u64::from(self.world.size);
            if patience.looks() > 100 && patience.waited_ns() > tell_ns {
                self.refresh_count();
                self.told = true;
                self.tell()?;
            }
        }
        if self.coordinator.is_some() {
            self.coordinate(monotonic_raw_ns())?;
        }
        self.tell_progress()
    }

    fn coordinate(&mut self, now_ns: u64) -> Result<(), MpiError> {
        if now_ns < self.pace.round_ns {
            return Ok(());
        }
        self.pace.round_ns = now_ns + ROUND_NS + TELL_RANK_NS * u64::from(self.world.size);
        let mut out = std::mem::take(&mut self.letters);
        if let Some(coordinator) = &mut self.coordinator {
            coordinator.look(&mut out);
            if interrupt::is_told() {
                coordinator.interrupt(&mut out);
            }
        }
        self.send_all(&mut out)?;
        self.letters = out;
        self.show(&Progress::Alive);
        Ok(())
    }

    /// Tells rank 0 what this rank is doing.
    pub(super) fn tell(&mut self) -> Result<(), MpiError> {
        self.status.round = 0;
        self.deliver(0, Message::Status(self.status.clone()))
    }

    pub(super) fn take_all(&mut self) -> Result<(), MpiError> {
        loop {
            let mut words = std::mem::take(&mut self.words);
            let taken = self.world.take(self.control, &mut words);
            let message = match &taken {
                Ok(Some((from, count))) => {
                    Message::decode(&words[..*count]).map(|message| (*from, message))
                }
                _ => None,
            };
            self.words = words;
            if taken?.is_none() {
                return Ok(());
            }
            self.taken += 1;
            if let Some((from, message)) = message {
                self.read(from, message)?;
            }
        }
    }

    fn read(&mut self, from: u32, message: Message) -> Result<(), MpiError> {
        match message {
            Message::Signal { key } => {
                self.status.received += 1;
                *self.counts.entry(key).or_insert(0) += 1;
            }
            Message::Probe { round } => {
                self.refresh_count();
                let answer = Status { round, ..self.status.clone() };
                return self.deliver(0, Message::Status(answer));
            }
            Message::Release { epoch, blame } if epoch == self.status.epoch => {
                self.released = Some(blame);
            }
            Message::Release { .. } => {}
            Message::Interrupt if self.coordinator.is_none() => interrupt::tell(),
            status => {
                let mut out = std::mem::take(&mut self.letters);
                if let Some(coordinator) = &mut self.coordinator {
                    coordinator.take(from, status, &mut out);
                }
                self.send_all(&mut out)?;
                self.letters = out;
            }
        }
        Ok(())
    }

    fn send_all(&mut self, out: &mut Letters) -> Result<(), MpiError> {
        out.drain(..).try_for_each(|(to, message)| self.deliver(to, message))
    }

    /// Sends a message; one to this rank needs no MPI.
    pub(super) fn deliver(&mut self, to: u32, message: Message) -> Result<(), MpiError> {
        if to == self.world.rank {
            if message == Message::Interrupt {
                interrupt::tell();
                return Ok(());
            }
            return self.read(to, message);
        }
        let mut words = std::mem::take(&mut self.words);
        let len = words.len();
        message.encode(&mut words);
        let posted = self.world.post(self.control, &words, to);
        words.resize(len, 0);
        self.words = words;
        self.posted += 1;
        posted
    }

    /// What a waiting rank tells is how far its counter is now.
    fn refresh_count(&mut self) {
        let now = self.count();
        if let Doing::AtWait { count, .. } = &mut self.status.doing {
            *count = now;
        }
    }

    /// What the counters of the wait in progress hold together.
    pub(super) fn count(&self) -> u64 {
        self.keys.iter().map(|key| self.counts.get(key).copied().unwrap_or(0)).sum()
    }

    /// Looks for messages, not more often than every few milliseconds. The number of
    /// statements between two readings of the clock follows their length.
    #[cold]
    pub(super) fn look(&mut self) -> Result<(), MpiError> {
        let now_ns = monotonic_raw_ns();
        self.pace.next_stride(now_ns);
        if now_ns < self.pace.looked_ns + LOOK_NS {
            return Ok(());
        }
        self.pace.looked_ns = now_ns;
        self.attend(None)
    }

    /// Tells how far the ranks of this machine are, if it is time; rank 0 shows what all have told.
    fn tell_progress(&mut self) -> Result<(), MpiError> {
        let Some(lookout) = &mut self.lookout else { return Ok(()) };
        let began_ns = monotonic_raw_ns();
        if !lookout.is_due(began_ns) {
            return Ok(());
        }
        let at_ns = began_ns.saturating_sub(self.pace.started_ns);
        let standing = Standing { at_ns, ..lookout.look() };
        self.deliver(0, Message::Progress(standing))?;
        if let Some(coordinator) = &self.coordinator {
            let sample = coordinator.progress(&self.world.machines);
            self.show(&Progress::At(Sample { at_ns, ..sample }));
        }
        if let Some(lookout) = &mut self.lookout {
            lookout.rest(monotonic_raw_ns());
        }
        Ok(())
    }

    fn show(&mut self, progress: &Progress) {
        if let Some(on_progress) = &mut self.on_progress {
            on_progress(progress);
        }
    }
}

impl Pace {
    pub(super) fn start() -> Pace {
        let now_ns = monotonic_raw_ns();
        Pace {
            until_clock: 1,
            stride: 1,
            clock_ns: now_ns,
            started_ns: now_ns,
            looked_ns: now_ns,
            round_ns: now_ns,
        }
    }

    /// Short statements let more of them pass between two readings, long ones fewer.
    fn next_stride(&mut self, now_ns: u64) {
        let passed_ns = now_ns.saturating_sub(self.clock_ns);
        self.stride = if passed_ns > LOOK_NS {
            1
        } else if passed_ns < LOOK_NS / 8 {
            (2 * self.stride).min(STRIDE_MAX)
        } else {
            self.stride
        };
        (self.until_clock, self.clock_ns) = (self.stride, now_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stride_follows_the_length_of_statements() {
        let mut pace = Pace::start();
        let mut now_ns = pace.clock_ns;
        for _ in 0..10 {
            now_ns += u64::from(pace.stride) * 600;
            pace.next_stride(now_ns);
        }
        assert_eq!(pace.stride, STRIDE_MAX);
        pace.next_stride(now_ns + 64 * LOOK_NS);
        assert_eq!(pace.stride, 1);
    }
}
