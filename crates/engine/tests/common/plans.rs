//! Plans that ranks execute whoever makes them ranks: forked processes in `local.rs`, MPI
//! processes in `crates/mpi/tests/ranks`.

use super::{Build, P};
use model::plan::*;
use model::{Op, Plan, Value};

/// Three ranks write four files of 1000 bytes each, meet, and read them.
pub fn files() -> Plan {
    Build::plan(3, |b| {
        let (i, four, size) = (b.global("i"), b.int(4), b.int(1000));
        let path = b.text(&[P::T("f-"), P::I(Internal::Rank), P::T("-"), P::V(i)]);
        b.repeat(i, four, |b| b.op(Op::Write, &[path, size]));
        b.barrier();
        b.repeat(i, four, |b| b.op(Op::Read, &[path]));
    })
}

/// Each of four ranks removes the directory that its neighbour made before the barrier.
pub fn neighbours() -> Plan {
    Build::plan(4, |b| {
        let (i, n, at) = (b.global("i"), b.int(50), b.global("at"));
        b.groups(&[("low", 0..2), ("high", 2..4)]);
        let mine = b.text(&[P::T("t"), P::V(i), P::T("-"), P::I(Internal::Rank)]);
        let next = b.text(&[P::T("t"), P::V(i), P::T("-"), P::V(at)]);
        let (one, four) = (b.int(1), b.int(4));
        b.internal(at, Internal::Rank);
        b.binary(at, Operand::slot(at), BinaryOp::Add, one);
        b.binary(at, Operand::slot(at), BinaryOp::Rem, four);
        b.repeat(i, n, |b| {
            b.op(Op::Mkdir, &[mine]);
            b.barrier();
            b.op(Op::Rmdir, &[next]);
            b.group(0, |b| b.barrier());
            b.group(1, |b| b.barrier());
        });
    })
}

/// So many ranks meet so often.
pub fn barriers(ranks: u32, times: i64) -> Plan {
    Build::plan(ranks, |b| {
        let (i, n) = (b.global("i"), b.int(times));
        b.repeat(i, n, |b| b.barrier());
    })
}

/// Rank 0 tells ranks 1 and 2, which answer, 200 times.
pub fn signals() -> Plan {
    Build::plan(3, |b| {
        let (go, done, two, i, n) =
            (b.str("go"), b.str("done"), b.int(2), b.global("i"), b.int(200));
        b.repeat(i, n, |b| {
            b.on_rank(0, |b| {
                let (one, two_th) = (b.int(1), b.int(2));
                b.op(Op::Signal, &[go, one]);
                b.op(Op::Signal, &[go, two_th]);
                b.op(Op::Wait, &[done, two]);
            });
            for rank in [1, 2] {
                b.on_rank(rank, |b| {
                    b.op(Op::Wait, &[go]);
                    b.op(Op::Signal, &[done]);
                });
            }
        });
    })
}

/// Three ranks meet in collective functions, in the world and in a group, again and again.
pub fn collective() -> Plan {
    Build::plan(3, |b| {
        b.groups(&[("high", 1..3)]);
        let (me, i, n) = (b.global("me"), b.global("i"), b.int(200));
        b.internal(me, Internal::Rank);
        let (half, sum) = (b.global("half"), b.global("sum"));
        let quarter = b.value(Value::Float(0.25));
        b.repeat(i, n, |b| {
            b.binary(sum, Operand::slot(me), BinaryOp::Add, Operand::slot(i));
            b.expect(Function::Gmax, Operand::slot(me), Value::Int(2));
            b.expect(Function::Gmin, Operand::slot(me), Value::Int(0));
            b.expect(Function::Gsum, Operand::slot(me), Value::Int(3));
            b.binary(half, Operand::slot(me), BinaryOp::Mul, quarter);
            b.expect(Function::Gsum, Operand::slot(half), Value::Float(0.75));
            b.expect(Function::Gall, Operand::slot(me), Value::Bool(false));
            b.expect(Function::Gany, Operand::slot(me), Value::Bool(true));
            b.group(0, |b| {
                b.expect(Function::Gsum, Operand::slot(me), Value::Int(3));
                b.expect(Function::Gall, Operand::slot(me), Value::Bool(true));
                b.expect(Function::Gmin, Operand::slot(me), Value::Int(1));
            });
        });
    })
}

/// Rank 0 of three asks for a sum to which the others never come.
pub fn alone() -> Plan {
    Build::plan(3, |b| {
        let (one, go) = (b.int(1), b.str("go"));
        b.on_rank(0, |b| {
            b.function(Function::Gsum, one);
        });
        b.op(Op::Wait, &[go]);
    })
}

/// Rank 3 of four fails while the others are in a barrier.
pub fn failing() -> Plan {
    Build::plan(4, |b| {
        let (no, path) = (b.value(Value::Bool(false)), b.str("."));
        b.op(Op::Stat, &[path]);
        b.on_rank(3, |b| {
            let us = b.int(30_000);
            b.op(Op::Sleep, &[us]);
            b.op(Op::Assert, &[no]);
        });
        b.barrier();
    })
}

/// Ranks 1 and 2 wait for signals that never come: for the second "go", and for "2".
pub fn deadlock() -> Plan {
    Build::plan(3, |b| {
        let (go, two) = (b.str("go"), b.int(2));
        b.on_rank(0, |b| b.op(Op::Signal, &[go]));
        b.on_rank(1, |b| b.op(Op::Wait, &[go, two]));
        b.on_rank(2, |b| b.op(Op::Wait, &[two]));
    })
}
