//! Partial transfers, interrupted calls and failing parts, on a back-end that gives
//! the replies it is told to give.

mod common;

use common::Build;
use engine::backend::{Backend, Capabilities};
use engine::buffer::Buffers;
use engine::call::{Call, Reply};
use engine::clock::Virtual;
use engine::collect::collect;
use engine::comm::{Local, Region};
use engine::machine::{Machine, Prepared, Settings, Stop};
use engine::recorder::{Medium, Meta, Recorder, Usage};
use model::Op;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// Gives replies in order and writes down what it was asked; every call takes 10 ns.
struct Scripted {
    replies: std::iter::Copied<std::slice::Iter<'static, Reply>>,
    asked: Rc<RefCell<Vec<String>>>,
    clock: Virtual,
}

impl Backend for Scripted {
    fn capabilities(&mut self) -> Capabilities {
        Capabilities { name: "scripted", ..Capabilities::default() }
    }

    fn issue(&mut self, call: Call<'_>) -> Reply {
        let asked = match call {
            Call::Open { .. } => "open".to_string(),
            Call::Close { .. } => "close".to_string(),
            Call::Pread { buf, offset, .. } => format!("read {} at {offset}", buf.len()),
            Call::Pwrite { buf, offset, .. } => format!("write {} at {offset}", buf.len()),
            Call::Append { buf, .. } => format!("append {}", buf.len()),
            Call::Unlink { .. } => "unlink".to_string(),
            Call::Rmdir { .. } => "rmdir".to_string(),
            Call::Fsync { .. } => "fsync".to_string(),
            other => format!("{other:?}"),
        };
        self.asked.borrow_mut().push(asked);
        self.clock.advance(10);
        self.replies.next().expect("more calls than the script has")
    }
}

struct Case {
    op: Op,
    numbers: &'static [i64],
    replies: &'static [Reply],
    calls: &'static [&'static str],
    /// `done bytes busy_ns`, `short bytes busy_ns` or the errno's name.
    result: &'static str,
}

const EINTR: Reply = -(libc::EINTR as Reply);
const ENOSPC: Reply = -(libc::ENOSPC as Reply);
const EIO: Reply = -(libc::EIO as Reply);
const EISDIR: Reply = -(libc::EISDIR as Reply);
const EPERM: Reply = -(libc::EPERM as Reply);
const ENOTDIR: Reply = -(libc::ENOTDIR as Reply);
const ENOTEMPTY: Reply = -(libc::ENOTEMPTY as Reply);

#[rustfmt::skip]
const CASES: &[Case] = &[
    Case { op: Op::Write, numbers: &[100], replies: &[3, 60, 40, 0],
        calls: &["open", "write 100 at 0", "write 40 at 60", "close"], result: "done 100 40" },
    Case { op: Op::Write, numbers: &[100, 7], replies: &[3, 60, EINTR, 40, 0],
        calls: &["open", "write 100 at 7", "write 40 at 67", "write 40 at 67", "close"],
        result: "done 100 50" },
    Case { op: Op::Write, numbers: &[0], replies: &[3, 0, 0],
        calls: &["open", "write 0 at 0", "close"], result: "done 0 30" },
    Case { op: Op::Write, numbers: &[100], replies: &[3, 60, ENOSPC, 0],
        calls: &["open", "write 100 at 0", "write 40 at 60", "close"], result: "ENOSPC" },
    Case { op: Op::Write, numbers: &[100], replies: &[3, 0, 0],
        calls: &["open", "write 100 at 0", "close"], result: "EIO" },
    Case { op: Op::Write, numbers: &[100], replies: &[3, 100, EIO],
        calls: &["open", "write 100 at 0", "close"], result: "EIO" },
    Case { op: Op::Write, numbers: &[100], replies: &[3, ENOSPC, EIO],
        calls: &["open", "write 100 at 0", "close"], result: "ENOSPC" },
    Case { op: Op::Write, numbers: &[100], replies: &[EIO], calls: &["open"], result: "EIO" },
    Case { op: Op::Write, numbers: &[100], replies: &[EINTR], calls: &["open"], result: "EINTR" },
    Case { op: Op::Create, numbers: &[], replies: &[3, EINTR], calls: &["open", "close"], result: "EINTR" },
    Case { op: Op::Append, numbers: &[9], replies: &[3, 4, 5, 0],
        calls: &["open", "append 9", "append 5", "close"], result: "done 9 40" },
    Case { op: Op::Read, numbers: &[100, 5], replies: &[3, 60, EINTR, 30, 0, 0],
        calls: &["open", "read 100 at 5", "read 40 at 65", "read 40 at 65", "read 10 at 95", "close"],
        result: "short 90 60" },
    Case { op: Op::Read, numbers: &[10], replies: &[3, 10, 0],
        calls: &["open", "read 10 at 0", "close"], result: "done 10 30" },
    Case { op: Op::Read, numbers: &[], replies: &[3, 1 << 20, 50, 0, 0],
        calls: &["open", "read 1048576 at 0", "read 1048576 at 1048576",
            "read 1048576 at 1048626", "close"], result: "done 1048626 50" },
    Case { op: Op::Read, numbers: &[300 << 20], replies: &[3, 256 << 20, 44 << 20, 0],
        calls: &["open", "read 268435456 at 0", "read 46137344 at 268435456", "close"],
        result: "done 314572800 40" },
    Case { op: Op::Write, numbers: &[300 << 20], replies: &[3, 256 << 20, 44 << 20, 0],
        calls: &["open", "write 268435456 at 0", "write 46137344 at 268435456", "close"],
        result: "done 314572800 40" },
    Case { op: Op::Create, numbers: &[], replies: &[3, EIO], calls: &["open", "close"], result: "EIO" },
    Case { op: Op::Delete, numbers: &[], replies: &[EISDIR, 0],
        calls: &["unlink", "rmdir"], result: "done 0 20" },
    Case { op: Op::Delete, numbers: &[], replies: &[EPERM, ENOTDIR],
        calls: &["unlink", "rmdir"], result: "EPERM" },
    Case { op: Op::Delete, numbers: &[], replies: &[EISDIR, ENOTEMPTY],
        calls: &["unlink", "rmdir"], result: "ENOTEMPTY" },
    Case { op: Op::Delete, numbers: &[], replies: &[EIO], calls: &["unlink"], result: "EIO" },
    Case { op: Op::Delete, numbers: &[], replies: &[0], calls: &["unlink"], result: "done 0 10" },
];

#[test]
fn partial_transfers_go_on_and_files_are_closed() {
    for case in CASES {
        let plan = Build::plan(1, |b| {
            let mut operands = vec![b.str("f")];
            operands.extend(case.numbers.iter().map(|n| b.int(*n)).collect::<Vec<_>>());
            b.op(case.op, &operands);
        });
        let (prepared, settings) = (Prepared::new(&plan), Settings::default());
        let region = Arc::new(Region::create(1, &plan.sets).unwrap());
        let meta = Meta { rank: 0, ranks: 1, sites: plan.code.len() as u32, events: None };
        let recorder = Recorder::create(Medium::Heap, &meta).unwrap();
        let (clock, asked) = (Virtual::start(), Rc::new(RefCell::new(Vec::new())));
        let backend = Scripted {
            replies: case.replies.iter().copied(),
            asked: Rc::clone(&asked),
            clock: clock.clone(),
        };
        let mut comm = Local::new(region, 0, 1);
        let mut machine =
            Machine::new(&prepared, &settings, Box::new(backend), &comm, clock, recorder);
        assert_eq!(machine.run(&mut comm, &mut Buffers::unfilled()), Stop::Finished);
        assert_eq!(*asked.borrow(), case.calls);
        let (recorder, _) = machine.finish(&Stop::Finished, &mut comm, |_| Usage::default());
        let collected = collect(&[recorder.into_record().unwrap()], &plan);
        let row = &collected.rows[0];
        let result = match collected.failures.first() {
            Some(failure) => model::errno::name(failure.errno).to_string(),
            None => {
                let word = if row.short == 1 { "short" } else { "done" };
                format!("{word} {} {}", row.bytes, row.mean_ns.unwrap())
            }
        };
        assert_eq!(result, case.result, "{} {:?}", case.op, case.replies);
        assert_eq!((row.count, row.failed), (1, collected.failures.len() as u64));
    }
}
