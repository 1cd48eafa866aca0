//! After the first barrier nothing on the hot path allocates: counted by the allocator.

mod common;

use common::{Build, P};
use engine::backend::Null;
use engine::buffer::Buffers;
use engine::clock::Real;
use engine::comm::{Local, Region};
use engine::machine::{Machine, Prepared, Settings, Stop};
use engine::recorder::{Medium, Meta, Recorder};
use model::plan::*;
use model::{Op, Plan};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;

struct Counting;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: hands everything to the system's allocator.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.with(|count| count.set(count.get() + 1));
        // SAFETY: by the caller.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: by the caller.
        unsafe { System.dealloc(block, layout) }
    }
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        COUNT.with(|count| count.set(count.get() + 1));
        // SAFETY: by the caller.
        unsafe { System.realloc(block, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations of a plan that repeats a body of hot statements `turns` times.
fn allocations(turns: i64) -> u64 {
    let plan = hot_plan(turns);
    let prepared = Prepared::new(&plan);
    let settings = Settings::default();
    let region = Arc::new(Region::create(1, &plan.sets).unwrap());
    let sites = plan.code.len() as u32;
    // SAFETY: the name is a constant text, the descriptor is new.
    #[allow(unsafe_code)]
    let memory = unsafe {
        use std::os::fd::FromRawFd;
        std::os::fd::OwnedFd::from_raw_fd(libc::memfd_create(c"rank".as_ptr(), 0))
    };
    let meta = Meta { rank: 0, ranks: 1, sites, events: None };
    let recorder = Recorder::create(Medium::Memory(memory), &meta).unwrap();
    let clock = Real::raw();
    let mut comm = Local::new(region, 0, 1);
    let mut machine = Machine::new(&prepared, &settings, Box::new(Null), &comm, clock, recorder);
    let mut buffers = Buffers::new(1, 0);
    let before = COUNT.get();
    assert_eq!(machine.run(&mut comm, &mut buffers), Stop::Finished);
    assert!(machine.operations() >= 15 * turns as u64);
    COUNT.get() - before
}

fn hot_plan(turns: i64) -> Plan {
    Build::plan(1, |b| {
        let (i, j, h, s, n) =
            (b.global("i"), b.global("j"), b.global("h"), b.global("s"), b.global("n"));
        let (turns, three, size) = (b.int(turns), b.int(3), b.int(4096));
        let path = b.text(&[P::T("dir/"), P::I(Internal::Rank), P::T("-"), P::V(i), P::V(j)]);
        let (label, go, flags) = (b.str("phase"), b.str("go"), b.str("w+"));
        let offset = b.str("offset");
        b.barrier();
        b.repeat(i, turns, |b| {
            b.time(label, true, |b| {
                b.repeat(j, three, |b| {
                    b.op(Op::Stat, &[path]);
                    b.op(Op::Write, &[path, size]);
                    b.op(Op::Rename, &[path, label]);
                    b.set(s, path);
                    b.op(Op::Mkdir, &[Operand::slot(s)]);
                });
                b.binary(n, Operand::slot(i), BinaryOp::Mul, size);
                b.op_to(h, Op::Fopen, &[Operand::slot(s), flags]);
                b.with(Options { data: Some(offset), ..Options::default() }, |b| {
                    b.op(Op::Fwrite, &[Operand::slot(h), size, Operand::slot(n)]);
                });
                b.op(Op::Fread, &[Operand::slot(h), size]);
                b.op(Op::Fclose, &[Operand::slot(h)]);
                b.set(s, size);
                b.call(0, &[path, Operand::slot(n)]);
            });
            b.op(Op::Signal, &[go]);
            b.op(Op::Wait, &[go]);
            b.barrier();
        });
        b.halt();
        b.proc("p", 2, 3, |b| {
            b.set(Slot::local(2), Operand::slot(Slot::local(0)));
            b.op(Op::Stat, &[Operand::slot(Slot::local(2))]);
        });
    })
}

#[test]
fn the_hot_path_allocates_nothing() {
    let (few, many) = (allocations(100), allocations(2_000));
    assert!(many <= few, "{few} allocations in 100 turns, {many} in 2000");
}
