//! One time line for all ranks.
//!
//! The ranks of a machine share a clock: the first one calibrates it and tells the others its
//! origin. The clocks of different machines are compared with rank 0's before and after the
//! program ([`engine::clock::offset`]); the first comparison sets them, both are recorded.

use crate::error::MpiError;
use crate::world::{Reduce, World};
use engine::clock::Real;
use engine::clock::{Exchange, Offset, offset};

/// Exchanges with rank 0; the shortest counts.
const EXCHANGES: usize = 20;

/// The clock that all ranks of this machine use, near 0 now on all machines. `calibrated`:
/// this rank's own clock. Collective over the world.
pub(crate) fn shared(world: &World, calibrated: Real) -> Result<(Real, Offset), MpiError> {
    let own = calibrated.restarted();
    let far = compare(world, &own, world.node_rank == 0)?.unwrap_or_default();
    let set = own.set_back(far.ahead_ns);
    let clock = Real::from_words(world.share(world.node_comm, set.to_words())?);
    // The comparison that set the clock is as exact as one made now.
    let rest = Offset { at_ns: clock.now(), ahead_ns: 0, ..far };
    let round_trip_ns = world.share(world.node_comm, [rest.round_trip_ns])?[0];
    Ok((clock, Offset { round_trip_ns, ..rest }))
}

/// The offset of this machine's clock now. Collective over the world.
pub(crate) fn offset_now(world: &World, clock: &Real) -> Result<Offset, MpiError> {
    let far = compare(world, clock, world.node_rank == 0)?.unwrap_or_default();
    let words = [far.at_ns, far.ahead_ns as u64, far.round_trip_ns];
    let [at_ns, ahead_ns, round_trip_ns] = world.share(world.node_comm, words)?;
    Ok(Offset { at_ns, ahead_ns: ahead_ns as i64, round_trip_ns })
}

/// Compares clocks with rank 0's, one rank after the other. `None` for ranks that do not take
/// part; rank 0 agrees with itself. Collective over the world.
pub fn compare(world: &World, clock: &Real, takes_part: bool) -> Result<Option<Offset>, MpiError> {
    let mut part = vec![0; world.size as usize];
    part[world.rank as usize] = i64::from(takes_part);
    world.reduce_all(world.all, &mut part, Reduce::Max)?;
    if world.rank == 0 {
        for (rank, _) in part.iter().enumerate().skip(1).filter(|(_, part)| **part == 1) {
            answer(world, clock, rank as u32)?;
        }
        let at_ns = clock.now();
        return Ok(takes_part.then_some(Offset { at_ns, ahead_ns: 0, round_trip_ns: 0 }));
    }
    if takes_part { ask(world, clock) } else { Ok(None) }
}

fn ask(world: &World, clock: &Real) -> Result<Option<Offset>, MpiError> {
    let mut exchanges = Vec::with_capacity(EXCHANGES);
    for _ in 0..EXCHANGES {
        let mut answer = [0; 8];
        let sent_ns = clock.now();
        world.send_piece(0, &[0])?;
        world.receive_piece(0, &mut answer)?;
        let received_ns = clock.now();
        let reference_ns = u64::from_ne_bytes(answer);
        exchanges.push(Exchange { sent_ns, reference_ns, received_ns });
    }
    Ok(offset(&exchanges))
}

fn answer(world: &World, clock: &Real, rank: u32) -> Result<(), MpiError> {
    for _ in 0..EXCHANGES {
        world.receive_piece(rank, &mut [0])?;
        world.send_piece(rank, &clock.now().to_ne_bytes())?;
    }
    Ok(())
}
