//! Starts MPI, says who is here and ends it: what the tests run under mpiexec.
#![allow(clippy::print_stdout)]
use mpi::{
    World, locate,
    world::{Reduce, WORLD},
};

fn main() -> Result<(), mpi::MpiError> {
    let (_, shim) = locate::open()?;
    let world = World::init(shim)?;
    let mut text = if world.rank == 0 { b"the program".to_vec() } else { Vec::new() };
    world.broadcast(&mut text)?;
    let sum = world.reduce(WORLD, [i64::from(world.rank)], Reduce::Sum)?[0];
    println!(
        "rank {} of {} node {} of {} node rank {} sum {sum} text {}",
        world.rank,
        world.size,
        world.node,
        world.nodes,
        world.node_rank,
        String::from_utf8_lossy(&text)
    );
    world.finalize()
}
