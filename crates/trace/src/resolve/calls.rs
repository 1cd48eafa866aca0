//! Effects of each call on descriptors, positions, names and files, and its operation.

use super::table::{Closed, Instance, NO_FILE, Slot};
use super::threads::Closing;
use super::{Done, ENOENT, Meaning, Resolver, hash, without_device};
use crate::gaps::Gap;
use crate::names::{Node, ROOT, START};
use crate::record::{At, Call, FLAGS_UNKNOWN, Fd, Name, Record};
use crate::strace::CHANGEABLE;
use model::Op;
use model::event::{
    FLAG_AT_POSITION, FLAG_KEEPS_SIZE, FLAG_SHORT, FLAG_UNPLACED, MODE_UNKNOWN, NO_ID,
    RENAME_EXCHANGE,
};
use model::op::Class;
use model::open_flags::{O_APPEND, O_CLOEXEC, O_CREAT, O_EXCL, O_TMPFILE, O_TRUNC};

/// Bytes that a call says it has moved.
pub(super) fn moved(r: &Record<'_>) -> u64 {
    r.outcome.value.and_then(|value| u64::try_from(value).ok()).unwrap_or(0)
}

impl Resolver<'_> {
    /// Follows a call of a thread.
    pub(super) fn call(&mut self, thread: u32, r: &Record<'_>) {
        let ok = r.outcome.errno == 0;
        match r.call {
            Call::Spawn { shares } => self.spawn(thread, r, shares),
            Call::Close { fd } if r.is_begin => self.begin_close(thread, fd, r),
            Call::Exit => self.exit(thread),
            Call::Meet { members } => self.wait_for_ranks(thread, r, members),
            Call::Introduce(said) => self.introduce(thread, &said),
            Call::Shown { fd } => drop(self.meaning(thread, fd)),
            Call::Whole { .. } => self.whole(thread, r),
            Call::Supersede { of } => self.supersede(thread, of),
            // Of other calls only the end counts; one that never returned did nothing that is known.
            _ if r.is_begin || (r.outcome.value.is_none() && ok) => {}
            Call::Read { .. } | Call::Write { .. } => self.transfer(thread, r),
            Call::Copy { .. } | Call::Send { .. } => self.between(thread, r),
            Call::Clone { .. } => self.clones(thread, r),
            Call::Open { at, flags } => self.open(thread, r, at, flags),
            Call::Close { fd } => self.close(thread, fd, r),
            Call::CloseRange { first, last, at_exec } if ok => {
                self.close_range(thread, r, (first, last), at_exec);
            }
            Call::Dup { fd, over, at_exec } if ok => self.dup(thread, r, fd, over, at_exec),
            Call::CloseAtExec { fd, on } if ok => {
                let table = self.threads.at(thread).table;
                self.tables.set_at_exec(table, fd.number, on);
            }
            Call::SetFlags { fd, flags } if ok => self.set_flags(thread, fd, flags),
            Call::NoFile { fds } if ok => self.no_file(thread, r, fds),
            Call::Enter { at } if ok => self.enter(thread, at),
            Call::TellDirectory { name } if ok => self.tell_directory(thread, name),
            Call::Unshare { shares } if ok => self.unshare(thread, shares),
            Call::Execute { name } if ok => self.execute(thread, name),
            Call::Map { fd, bytes } if ok => self.map(thread, fd, bytes),
            Call::WithoutOperation => self.gaps.add_name(Gap::NoOperation, r.name),
            Call::Opaque => self.gaps.add_name(Gap::Opaque, r.name),
            Call::SyncAll => self.emit(thread, r, Done::named(Op::Sync, NO_ID)),
            _ => self.operation(thread, r),
        }
    }

    /// Calls on open files and on names that move no bytes.
    fn operation(&mut self, thread: u32, r: &Record<'_>) {
        match r.call {
            Call::Seek { fd }
            | Call::List { fd }
            | Call::Attributes { fd, .. }
            | Call::Resize { fd, .. }
            | Call::Allocate { fd, .. }
            | Call::Handle { fd, .. } => self.on_open(thread, fd, r),
            Call::NameAttributes { at, .. }
            | Call::Named { at, .. }
            | Call::ReadLink { at, .. }
            | Call::Remove { at, .. }
            | Call::MakeDirectory { at } => self.on_name(thread, at, r),
            Call::Rename { from, to, flags } => self.rename(thread, r, (from, to), flags),
            Call::Link { from, to } => self.link(thread, r, from, to),
            Call::Symlink { target, at } => self.symlink(thread, r, target, at),
            _ => {}
        }
    }

    fn open(&mut self, thread: u32, r: &Record<'_>, at: At<'_>, flags: u32) {
        let Some(node) = self.node(thread, &at) else { return };
        let path = self.names.path(node);
        let op = if r.name == b"creat" { Op::Fcreat } else { Op::Fopen };
        let mut done = Done { open_flags: flags, ..Done::named(op, path) };
        let known = if flags == FLAGS_UNKNOWN { 0 } else { flags };
        if r.outcome.errno != 0 {
            if r.outcome.errno == ENOENT && known & O_CREAT == 0 {
                self.names.absent(node);
            }
            return self.emit(thread, r, done);
        }
        let (escaped, fd) = (true, Fd::bare(r.outcome.value.unwrap_or(-1)));
        let shown = without_device(Fd { shown: r.outcome.shown, escaped, ..fd });
        let file = self.opened_file(node, known, Fd { shown, escaped, ..fd });
        let (position, shown) = (Some(0), hash_of(shown));
        let instance = Instance { node, path, file, flags, position, shown, ..Instance::default() };
        let place = self.tables.instances.add(instance);
        let slot = Slot { instance: place, at_exec: known & O_CLOEXEC != 0 };
        let table = self.threads.at(thread).table;
        if !self.tables.set(table, fd.number, slot) {
            return self.gaps.add(Gap::Impossible);
        }
        let number = self.tables.instances.at(place).map_or(NO_ID, |instance| instance.number);
        (done.instance, done.file) = (number, file);
        self.emit(thread, r, done);
    }

    /// Which file an open gives. The recorder may show that a link led elsewhere.
    fn opened_file(&mut self, node: Node, flags: u32, fd: Fd<'_>) -> u32 {
        if flags & O_TMPFILE == O_TMPFILE {
            return self.names.nameless();
        }
        let node = match fd.shown.starts_with(b"/") && flags & O_CREAT == 0 {
            true => self.shown_node(fd).unwrap_or(node),
            false => node,
        };
        let file = match flags & O_CREAT {
            0 => self.names.file(node),
            _ => self.names.create(node, flags & O_EXCL != 0),
        };
        if flags & O_TRUNC != 0 {
            self.names.set_size(file, Some(0));
        }
        file
    }

    /// The node of a descriptor's name.
    pub(super) fn shown_node(&mut self, fd: Fd<'_>) -> Option<Node> {
        self.walked(Name { text: fd.shown, escaped: fd.escaped, cut: false })
    }

    /// The node of a name that starts where the log begins, or is absolute.
    fn walked(&mut self, name: Name<'_>) -> Option<Node> {
        if !name.escaped {
            return self.names.walk(START, name.text);
        }
        let text = self.decoded(name);
        let node = self.names.walk(START, &text);
        self.text = text;
        node
    }

    /// From now on the number may mean something else, although the call has not returned.
    fn begin_close(&mut self, thread: u32, fd: Fd<'_>, r: &Record<'_>) {
        let done = self.closed(thread, fd, r);
        self.threads.at_mut(thread).closing = Some(Closing { done });
    }

    fn close(&mut self, thread: u32, fd: Fd<'_>, r: &Record<'_>) {
        let done = match self.threads.at_mut(thread).closing.take() {
            Some(begun) => begun.done,
            None => self.closed(thread, fd, r),
        };
        if let Some(done) = done {
            self.emit(thread, r, done);
        }
    }

    /// Removes a descriptor; the operation, if the instance ends with it.
    fn closed(&mut self, thread: u32, fd: Fd<'_>, r: &Record<'_>) -> Option<Done> {
        // One that the log does not explain is made, so that it can be closed.
        let meaning = self.meaning(thread, fd);
        let table = self.threads.at(thread).table;
        match self.tables.close(table, fd.number) {
            Closed::Last(instance) => return Some(Done::on(Op::Fclose, &instance)),
            Closed::Shared => self.gaps.add(Gap::Duplicates),
            Closed::NoFile => self.gaps.add_name(Gap::NoFiles, r.name),
            Closed::Unknown if r.outcome.errno != 0 || matches!(meaning, Meaning::NoFile) => {}
            Closed::Unknown => self.gaps.add_name(Gap::UnknownFiles, r.name),
        }
        None
    }

    /// Each instance that ends is closed by an operation of its own; the first has the time.
    fn close_range(&mut self, thread: u32, r: &Record<'_>, range: (i64, i64), at_exec: bool) {
        let table = self.threads.at(thread).table;
        let mut elapsed_ns = r.elapsed_ns.unwrap_or(0);
        for fd in self.tables.range(table, range.0, range.1) {
            if at_exec {
                self.tables.set_at_exec(table, fd, true);
            } else if let Closed::Last(instance) = self.tables.close(table, fd) {
                let done = Done::on(Op::Fclose, &instance);
                self.emit_span(thread, r, (r.start_ns, elapsed_ns, elapsed_ns), done);
                elapsed_ns = 0;
            }
        }
    }

    fn dup(&mut self, thread: u32, r: &Record<'_>, fd: Fd<'_>, over: Option<i64>, at_exec: bool) {
        let instance = match self.meaning(thread, fd) {
            Meaning::File(place) => place,
            Meaning::NoFile => NO_FILE,
            Meaning::Unknown => return,
        };
        let table = self.threads.at(thread).table;
        let new = r.outcome.value.unwrap_or(-1);
        if over.is_some() && new != fd.number {
            // Closing what was there is part of this call: an operation without time.
            if let Closed::Last(instance) = self.tables.close(table, new) {
                let span = (r.start_ns, 0, 0);
                self.emit_span(thread, r, span, Done::on(Op::Fclose, &instance));
            }
        }
        if !self.tables.set(table, new, Slot { instance, at_exec }) {
            self.gaps.add(Gap::Impossible);
        }
    }

    fn set_flags(&mut self, thread: u32, fd: Fd<'_>, flags: u32) {
        if let Meaning::File(place) = self.meaning(thread, fd)
            && let Some(instance) = self.tables.instances.at_mut(place)
            && instance.flags != NO_ID
        {
            instance.flags = instance.flags & !CHANGEABLE | flags & CHANGEABLE;
        }
    }

    fn no_file(&mut self, thread: u32, r: &Record<'_>, fds: [Option<i64>; 2]) {
        let table = self.threads.at(thread).table;
        let given = if fds[0].is_none() { [r.outcome.value, None] } else { fds };
        for fd in given.into_iter().flatten() {
            self.tables.set(table, fd, Slot { instance: NO_FILE, at_exec: false });
        }
    }

    fn enter(&mut self, thread: u32, at: At<'_>) {
        let node = match at.name.text.is_empty() {
            true => match self.meaning(thread, at.dir) {
                Meaning::File(place) => self.tables.instances.at(place).map(|i| i.node),
                _ => None,
            },
            false => self.node(thread, &at),
        };
        match node {
            Some(node) => self.threads.at(thread).directory.set(node),
            None => self.gaps.add(Gap::UnknownDirectory),
        }
    }

    fn tell_directory(&mut self, thread: u32, name: Name<'_>) {
        let text = self.decoded(name);
        if !name.cut {
            self.learn_directory(thread, &text);
        }
        self.text = text;
    }

    fn map(&mut self, thread: u32, fd: Fd<'_>, bytes: u64) {
        if let Meaning::File(place) = self.meaning(thread, fd)
            && let Some(instance) = self.tables.instances.at(place).copied()
            && self.is_kept(instance.path)
        {
            self.gaps.add_bytes(Gap::Mapped, bytes);
        }
    }

    fn transfer(&mut self, thread: u32, r: &Record<'_>) {
        match r.call {
            Call::Read { fd, bytes, offset } => {
                if let Some(place) = self.instance(thread, fd, r) {
                    self.moved(thread, place, r, Op::Fread, bytes, offset);
                }
            }
            Call::Write { fd, bytes, offset } => {
                if let Some(place) = self.instance(thread, fd, r) {
                    self.moved(thread, place, r, Op::Fwrite, bytes, offset);
                }
            }
            _ => {}
        }
    }

    /// Bytes were moved between memory and an open file.
    pub(super) fn moved(
        &mut self,
        thread: u32,
        place: u32,
        r: &Record<'_>,
        op: Op,
        bytes: u64,
        offset: Option<u64>,
    ) {
        let Some(mut instance) = self.tables.instances.at(place).copied() else { return };
        let moved = moved(r);
        let appends = op == Op::Fwrite && instance.flags != NO_ID && instance.flags & O_APPEND != 0;
        let at = match offset {
            _ if appends => self.names.size(instance.file),
            Some(_) => offset,
            None => instance.position,
        };
        let end = at.map(|at| at.saturating_add(moved));
        if r.outcome.errno == 0 {
            if offset.is_none() {
                instance.position = end;
            }
            self.reached(&instance, op, end, moved < bytes && moved > 0);
        }
        let unplaced = at.is_none() && r.outcome.errno == 0;
        if unplaced && self.is_kept(instance.path) {
            self.gaps.add(Gap::Unplaced);
        }
        let short = moved < bytes && r.outcome.errno == 0;
        let flag = |is: bool, flag: u8| if is { flag } else { 0 };
        let done = Done {
            offset: at.unwrap_or(0),
            // strace may leave buffers out of a list.
            requested: bytes.max(moved),
            done: moved,
            flags: flag(short, FLAG_SHORT)
                | flag(unplaced, FLAG_UNPLACED)
                | flag(offset.is_none(), FLAG_AT_POSITION),
            ..Done::on(op, &instance)
        };
        if let Some(known) = self.tables.instances.at_mut(place) {
            known.position = instance.position;
        }
        self.emit(thread, r, done);
    }

    /// An operation of a log without descriptors: its file has no open instance.
    fn whole(&mut self, thread: u32, r: &Record<'_>) {
        let Call::Whole { op, path, offset, bytes, flags } = r.call else { return };
        let Some(node) = self.walked(path) else { return self.gaps.add(Gap::Impossible) };
        let (path, file) = (self.names.path(node), self.names.file(node));
        let moves = matches!(op.row().class, Class::Read | Class::Write);
        let moved = moved(r);
        let done = if moves { moved } else { 0 };
        let unplaced = moves && offset.is_none() && r.outcome.errno == 0;
        if unplaced && self.is_kept(path) {
            self.gaps.add(Gap::Unplaced);
        }
        let short = moves && done < bytes && r.outcome.errno == 0;
        let flag = |is: bool, flag: u8| if is { flag } else { 0 };
        self.emit(
            thread,
            r,
            Done {
                offset: offset.unwrap_or(0),
                requested: if op == Op::Chmod { MODE_UNKNOWN } else { bytes.max(done) },
                done,
                flags: flag(unplaced, FLAG_UNPLACED) | flag(short, FLAG_SHORT),
                file,
                open_flags: flags.unwrap_or(NO_ID),
                ..Done::named(op, path)
            },
        );
    }

    /// The file's size after a transfer: a short read ended at the end of the file.
    pub(super) fn reached(
        &mut self,
        instance: &Instance,
        op: Op,
        end: Option<u64>,
        is_short: bool,
    ) {
        match (op, end) {
            (Op::Fwrite, Some(end)) => self.names.grow(instance.file, end),
            (Op::Fread, Some(end)) if is_short => self.names.set_size(instance.file, Some(end)),
            _ => {}
        }
    }

    fn on_open(&mut self, thread: u32, fd: Fd<'_>, r: &Record<'_>) {
        let Some(place) = self.instance(thread, fd, r) else { return };
        let Some(instance) = self.tables.instances.at(place).copied() else { return };
        let ok = r.outcome.errno == 0;
        let value = r.outcome.value.and_then(|value| u64::try_from(value).ok());
        let mut done = Done::on(Op::Fstat, &instance);
        match r.call {
            Call::Seek { .. } => {
                done.op = Op::Fseek;
                done.offset = value.unwrap_or(0);
                if ok && let Some(known) = self.tables.instances.at_mut(place) {
                    known.position = value;
                }
            }
            Call::Attributes { size_bytes: Some(size_bytes), .. } => {
                self.names.set_size(instance.file, Some(size_bytes));
            }
            Call::Resize { size_bytes, .. } => {
                (done.op, done.requested) = (Op::Ftruncate, size_bytes);
                if ok {
                    self.names.set_size(instance.file, Some(size_bytes));
                }
            }
            Call::Allocate { end_bytes, keeps_size, .. } => {
                (done.op, done.requested) = (Op::Fallocate, end_bytes);
                done.flags |= if keeps_size { FLAG_KEEPS_SIZE } else { 0 };
                if ok && !keeps_size {
                    self.names.grow(instance.file, end_bytes);
                }
            }
            Call::Handle { op: Op::Chmod, .. } => {
                (done.op, done.requested) = (Op::Chmod, MODE_UNKNOWN)
            }
            Call::Handle { op, .. } => done.op = op,
            Call::Named { op, bytes, .. } => (done.op, done.requested) = (op, bytes),
            Call::ReadLink { .. } => done.op = Op::Readlink,
            Call::List { .. } => return self.list(thread, place, &instance, r),
            _ => {}
        }
        self.emit_on_open(thread, r, &instance, done);
    }

    /// Reading a directory to its end is one operation over several calls.
    fn list(&mut self, thread: u32, place: u32, instance: &Instance, r: &Record<'_>) {
        let elapsed_ns = r.elapsed_ns.unwrap_or(0);
        let (start_ns, before_ns) = instance.scan.unwrap_or((r.start_ns, 0));
        let busy_ns = before_ns.saturating_add(elapsed_ns);
        let is_over = r.outcome.errno != 0 || r.outcome.value == Some(0);
        if let Some(known) = self.tables.instances.at_mut(place) {
            known.scan = (!is_over).then_some((start_ns, busy_ns));
        }
        if is_over {
            let end_ns = r.start_ns.saturating_add(elapsed_ns);
            let span = (start_ns, end_ns.saturating_sub(start_ns), busy_ns);
            self.emit_span(thread, r, span, Done::on(Op::Readdir, instance));
        }
    }

    fn on_name(&mut self, thread: u32, at: At<'_>, r: &Record<'_>) {
        let of_open = matches!(r.call, Call::Named { .. } | Call::ReadLink { .. });
        if at.name.text.is_empty() && of_open {
            return self.on_open(thread, at.dir, r);
        }
        let Some(node) = self.node(thread, &at) else { return };
        let mut done = Done::named(Op::Stat, self.names.path(node));
        let ok = r.outcome.errno == 0;
        if r.outcome.errno == ENOENT {
            self.names.absent(node);
        } else if ok {
            done.file = self.names.file(node);
        }
        match r.call {
            Call::NameAttributes { size_bytes, itself, .. } => {
                done.op = if itself { Op::Lstat } else { Op::Stat };
                if ok && size_bytes.is_some() {
                    self.names.set_size(done.file, size_bytes);
                }
            }
            Call::Named { op, bytes, .. } => {
                (done.op, done.requested) = (op, bytes);
                if ok && op == Op::Truncate {
                    self.names.set_size(done.file, Some(bytes));
                }
            }
            Call::ReadLink { target, .. } => {
                done.op = Op::Readlink;
                if ok {
                    self.found_link(node, done.path, target);
                }
            }
            Call::Remove { directory, size_bytes, .. } => {
                done.op = if directory { Op::Rmdir } else { Op::Delete };
                if ok {
                    let size_bytes = size_bytes.or_else(|| self.names.size(done.file));
                    self.found_size(done.path, size_bytes.filter(|_| !directory));
                    self.names.remove(node);
                }
            }
            Call::MakeDirectory { .. } => {
                done.op = Op::Mkdir;
                if ok {
                    self.names.make_directory(node);
                    done.file = self.names.file(node);
                }
            }
            _ => {}
        }
        self.emit(thread, r, done);
    }

    fn rename(&mut self, thread: u32, r: &Record<'_>, (from, to): (At<'_>, At<'_>), flags: u64) {
        let Some(from) = self.node(thread, &from) else { return };
        let Some(to) = self.node(thread, &to) else { return };
        let (path, path2) = (self.names.path(from), self.names.path(to));
        let mut done = Done { path2, requested: flags, ..Done::named(Op::Rename, path) };
        if r.outcome.errno == 0 {
            done.file = self.names.file(from);
            self.found.makes(path2);
            if !self.names.rename(from, to, flags & RENAME_EXCHANGE != 0) {
                self.gaps.add(Gap::Impossible);
            }
        }
        self.emit(thread, r, done);
    }

    fn link(&mut self, thread: u32, r: &Record<'_>, from: At<'_>, to: At<'_>) {
        let Some(node) = self.node(thread, &to) else { return };
        if let Some(instance) = self.nameless(thread, &from) {
            return self.gets_name(thread, r, &instance, node);
        }
        let path2 = self.names.path(node);
        let (path, file) = if from.name.text.is_empty() {
            // A file without a name gets one.
            let Some(place) = self.instance(thread, from.dir, r) else { return };
            self.tables.instances.at(place).map_or((NO_ID, NO_ID), |i| (i.path, i.file))
        } else {
            let Some(node) = self.node(thread, &from) else { return };
            (self.names.path(node), self.names.file(node))
        };
        let ok = r.outcome.errno == 0;
        if ok {
            self.names.link(file, node);
        }
        let file = if ok { file } else { NO_ID };
        self.emit(thread, r, Done { path2, file, ..Done::named(Op::Link, path) });
    }

    /// The target is a text. It leads to the same path of the run as it led to in the log.
    fn symlink(&mut self, thread: u32, r: &Record<'_>, target: Name<'_>, at: At<'_>) {
        let Some(node) = self.node(thread, &at) else { return };
        let text = self.decoded(target);
        let above = self.names.walk(node, b"..").unwrap_or(ROOT);
        let leads = self.names.walk(above, &text);
        self.text = text;
        let Some(leads) = leads else { return self.gaps.add(Gap::Impossible) };
        let (target, path2) = (self.names.path(leads), self.names.path(node));
        let text = self.names.link_text(path2, target);
        if r.outcome.errno == 0 {
            self.found.makes(path2);
        }
        self.emit(thread, r, Done { path2, ..Done::named(Op::Symlink, text) });
    }

    /// A link was read that nobody has made in the log.
    fn found_link(&mut self, node: Node, path: u32, target: Name<'_>) {
        if target.text.is_empty() || target.cut || self.names.is_within_fresh(node) {
            return;
        }
        let text = self.decoded(target);
        let above = self.names.walk(node, b"..").unwrap_or(ROOT);
        let leads = self.names.walk(above, &text);
        self.text = text;
        if let Some(leads) = leads.filter(|_| self.is_kept(path)) {
            let target = self.names.path(leads);
            self.found.link(path, target);
        }
    }

    /// The size of a file that is removed, or shared as a whole.
    pub(super) fn found_size(&mut self, path: u32, size_bytes: Option<u64>) {
        if let Some(bytes) = size_bytes.filter(|bytes| *bytes > 0)
            && self.is_kept(path)
        {
            self.found.size(path, bytes);
        }
    }
}

/// As [`hash`]; 0 where the recorder shows no path.
fn hash_of(shown: &[u8]) -> u64 {
    if shown.starts_with(b"/") { hash(shown) } else { 0 }
}
