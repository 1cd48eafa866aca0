//! Effects of each call on descriptors, positions, names and files, and its operation.

use super::table::{Closed, Instance, Slot};
use super::{Done, ENOENT, Meaning, Resolver, hash, without_device};
use crate::gaps::Gap;
use crate::names::{Node, ROOT, START};
use crate::record::{Act, At, FLAGS_UNKNOWN, Fd, KEEPS_SIZE, Name, Record};
use crate::strace::CHANGEABLE;
use model::Op;
use model::event::{
    FLAG_AT_POSITION, FLAG_KEEPS_SIZE, FLAG_SHORT, FLAG_UNPLACED, MODE_UNKNOWN, NO_ID,
    RENAME_EXCHANGE,
};
use model::op::Class;
use model::open_flags::{O_APPEND, O_CLOEXEC, O_CREAT, O_EXCL, O_TMPFILE, O_TRUNC};
use std::rc::Rc;

/// When a call was over.
fn end_ns(r: &Record<'_>) -> u64 {
    r.start_ns.saturating_add(r.elapsed_ns.unwrap_or(0))
}

/// Bytes that a call says it has moved.
pub(crate) fn moved(r: &Record<'_>) -> u64 {
    r.outcome.value.and_then(|value| u64::try_from(value).ok()).unwrap_or(0)
}

/// A flag of an event, if something is so.
pub(crate) fn flag(is: bool, flag: u8) -> u8 {
    if is { flag } else { 0 }
}

impl Resolver<'_> {
    /// Follows a call of a thread.
    pub(crate) fn call(&mut self, thread: u32, r: &Record<'_>) {
        let (call, ok) = (&r.call, r.outcome.errno == 0);
        let (fd, at_exec) = (call.at.dir, call.flags & O_CLOEXEC != 0);
        match call.act {
            Act::Spawn(shares) => self.spawn(thread, r, shares),
            Act::On(Op::Fclose) if r.is_begin => self.begin_close(thread, r),
            Act::Exit => self.exit(thread),
            Act::Barrier => self.wait_for_ranks(thread, r, call.bytes),
            Act::Introduce(said) => self.introduce(thread, &said),
            Act::Shown => drop(self.meaning(thread, fd)),
            Act::Whole(op) => self.whole(thread, r, op),
            Act::Supersede(of) => self.supersede(thread, of),
            // Of other calls only the end counts; one that never returned did nothing that is known.
            _ if r.is_begin || (r.outcome.value.is_none() && ok) => {}
            Act::On(op) => self.operation(thread, r, op),
            Act::Send => self.between(thread, r),
            Act::WithoutOperation => self.gaps.add_name(Gap::NoOperation, r.name),
            Act::Opaque => self.gaps.add_name(Gap::Opaque, r.name),
            _ if !ok => {}
            Act::CloseRange => self.close_range(thread, r, at_exec),
            Act::Dup => self.dup(thread, r, at_exec),
            Act::CloseAtExec => {
                self.threads.at(thread).table.set_at_exec(&mut self.held, fd.number, at_exec);
            }
            Act::SetFlags => self.set_flags(thread, fd, call.flags),
            Act::NoFile => self.no_file(thread, r),
            Act::Enter => self.enter(thread, call.at),
            Act::TellDirectory => self.tell_directory(thread, call.at.name),
            Act::Unshare(shares) => self.unshare(thread, shares),
            Act::Execute => self.execute(thread, call.at.name),
            Act::Map => self.map(thread, fd, call.bytes),
            Act::Begin { .. } | Act::Mpi(_) | Act::Above | Act::Other => {}
        }
    }

    fn operation(&mut self, thread: u32, r: &Record<'_>, op: Op) {
        match op {
            Op::Fread | Op::Fwrite => {
                if let Some(instance) = self.instance(thread, r.call.at.dir, r) {
                    self.moved(thread, &instance, r, op, r.call.bytes, r.call.offset);
                }
            }
            Op::Fcopy => self.between(thread, r),
            Op::Freflink => self.clones(thread, r),
            Op::Fopen | Op::Fcreat => self.open(thread, r, op),
            Op::Fclose => self.close(thread, r),
            Op::Sync => self.emit(thread, r, Done::named(op, NO_ID)),
            Op::Rename => self.rename(thread, r),
            Op::Link => self.link(thread, r),
            Op::Symlink => self.symlink(thread, r),
            _ if r.call.at.name.text.is_empty() => self.on_open(thread, r, op),
            _ => self.on_name(thread, r, op),
        }
    }

    fn open(&mut self, thread: u32, r: &Record<'_>, op: Op) {
        let Some(node) = self.node(thread, &r.call.at) else { return };
        let flags = r.call.flags;
        let mut done = Done::named(op, self.names.path(node));
        done.details.open_flags = flags;
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
        // 0 where the recorder shows no path.
        let shown = if shown.starts_with(b"/") { hash(shown) } else { 0 };
        let instance = self.opened(node, file, flags, shown);
        (done.details.instance, done.details.file) = (instance.number, file);
        let slot = Slot { instance: Some(instance), at_exec: known & O_CLOEXEC != 0 };
        if !self.set(thread, fd.number, slot) {
            return self.gaps.add(Gap::Impossible);
        }
        self.emit(thread, r, done);
    }

    /// The file that an open returns. The recorder may show that a link led elsewhere.
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
    pub(crate) fn shown_node(&mut self, fd: Fd<'_>) -> Option<Node> {
        self.walked(Name { text: fd.shown, escaped: fd.escaped, cut: false })
    }

    /// The node of a name that starts where the log begins, or is absolute.
    fn walked(&mut self, name: Name<'_>) -> Option<Node> {
        let text = self.decoded(name);
        let node = self.names.walk(START, &text);
        self.text = text;
        node
    }

    /// From now on the number may mean something else, although the call has not returned.
    fn begin_close(&mut self, thread: u32, r: &Record<'_>) {
        let done = self.closed(thread, r);
        let thread = self.threads.at_mut(thread);
        (thread.closes, thread.closing) = (true, done);
    }

    fn close(&mut self, thread: u32, r: &Record<'_>) {
        let begun = self.threads.at_mut(thread);
        let done = match std::mem::take(&mut begun.closes) {
            true => begun.closing.take(),
            false => self.closed(thread, r),
        };
        if let Some(done) = done {
            self.emit(thread, r, done);
        }
    }

    /// Removes a descriptor; the operation, if the instance ends with it.
    fn closed(&mut self, thread: u32, r: &Record<'_>) -> Option<Done> {
        let fd = r.call.at.dir;
        // One that the log does not explain is made, so that it can be closed.
        let is_no_file = matches!(self.meaning(thread, fd), Meaning::NoFile);
        match self.threads.at(thread).table.close(&mut self.held, fd.number) {
            Closed::Last(instance) => return Some(Done::on(Op::Fclose, &instance)),
            Closed::Shared => self.gaps.add(Gap::Duplicates),
            Closed::NoFile => self.gaps.add_name(Gap::NoFiles, r.name),
            Closed::Unknown if r.outcome.errno != 0 || is_no_file => {}
            Closed::Unknown => self.gaps.add_name(Gap::UnknownFiles, r.name),
        }
        None
    }

    /// Each instance that ends is closed by an operation of its own; the first has the time.
    fn close_range(&mut self, thread: u32, r: &Record<'_>, at_exec: bool) {
        let table = self.threads.at(thread).table.clone();
        let mut elapsed_ns = r.elapsed_ns.unwrap_or(0);
        for fd in table.range(r.call.at.dir.number, r.call.to.dir.number) {
            if at_exec {
                table.set_at_exec(&mut self.held, fd, true);
            } else if let Closed::Last(instance) = table.close(&mut self.held, fd) {
                let done = Done::on(Op::Fclose, &instance);
                self.emit_span(thread, r, (r.start_ns, elapsed_ns, elapsed_ns), done);
                elapsed_ns = 0;
            }
        }
    }

    fn dup(&mut self, thread: u32, r: &Record<'_>, at_exec: bool) {
        let fd = r.call.at.dir;
        let instance = match self.meaning(thread, fd) {
            Meaning::File(instance) => Some(instance),
            Meaning::NoFile => None,
            Meaning::Unknown => return,
        };
        let new = r.outcome.value.unwrap_or(-1);
        if r.call.to.dir.number >= 0 && new != fd.number {
            // Closing what was there is part of this call: an operation without time.
            let closed = self.threads.at(thread).table.close(&mut self.held, new);
            if let Closed::Last(instance) = closed {
                let span = (r.start_ns, 0, 0);
                self.emit_span(thread, r, span, Done::on(Op::Fclose, &instance));
            }
        }
        if !self.set(thread, new, Slot { instance, at_exec }) {
            self.gaps.add(Gap::Impossible);
        }
    }

    fn set_flags(&mut self, thread: u32, fd: Fd<'_>, flags: u32) {
        if let Meaning::File(instance) = self.meaning(thread, fd)
            && instance.flags.get() != NO_ID
        {
            instance.flags.set(instance.flags.get() & !CHANGEABLE | flags & CHANGEABLE);
        }
    }

    fn no_file(&mut self, thread: u32, r: &Record<'_>) {
        let first = r.call.at.dir.number;
        let result = r.outcome.value.unwrap_or(-1);
        let given = if first < 0 { [result, -1] } else { [first, r.call.to.dir.number] };
        for fd in given {
            self.set(thread, fd, Slot { instance: None, at_exec: false });
        }
    }

    fn enter(&mut self, thread: u32, at: At<'_>) {
        let node = match at.name.text.is_empty() {
            true => match self.meaning(thread, at.dir) {
                Meaning::File(instance) => Some(instance.node),
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
        if let Meaning::File(instance) = self.meaning(thread, fd)
            && self.is_kept(instance.path)
        {
            self.gaps.add_bytes(Gap::Mapped, bytes);
        }
    }

    /// Bytes were moved between memory and an open file.
    pub(crate) fn moved(
        &mut self,
        thread: u32,
        instance: &Instance,
        r: &Record<'_>,
        op: Op,
        bytes: u64,
        offset: Option<u64>,
    ) {
        let (moved, ok) = (moved(r), r.outcome.errno == 0);
        let at = match offset {
            _ if op == Op::Fwrite && instance.has_flag(O_APPEND) => {
                self.names.append(instance.file, r.start_ns, moved)
            }
            Some(_) => offset,
            None => instance.position.get(),
        };
        let end = at.map(|at| at.saturating_add(moved));
        let (short, unplaced) = (ok && moved < bytes, ok && at.is_none());
        if ok {
            if offset.is_none() {
                instance.position.set(end);
            }
            self.reached(instance, op, end, short && moved > 0);
        }
        if unplaced && self.is_kept(instance.path) {
            self.gaps.add(Gap::Unplaced);
        }
        let mut done = Done::on(op, instance);
        done.event.offset_bytes = at.unwrap_or(0);
        // strace may leave buffers out of a list.
        done.event.requested_bytes = bytes.max(moved);
        done.event.done_bytes = moved;
        done.event.flags = flag(short, FLAG_SHORT)
            | flag(unplaced, FLAG_UNPLACED)
            | flag(offset.is_none(), FLAG_AT_POSITION);
        self.emit(thread, r, done);
    }

    /// An operation of a log without descriptors: its file has no open instance.
    fn whole(&mut self, thread: u32, r: &Record<'_>, op: Op) {
        let call = &r.call;
        let Some(node) = self.walked(call.at.name) else { return self.gaps.add(Gap::Impossible) };
        let mut done = Done::named(op, self.names.path(node));
        (done.details.file, done.details.open_flags) = (self.names.file(node), call.flags);
        let (moves, ok) =
            (matches!(op.row().class, Class::Read | Class::Write), r.outcome.errno == 0);
        let moved = if moves { moved(r) } else { 0 };
        let unplaced = moves && call.offset.is_none() && ok;
        if unplaced && self.is_kept(done.event.path) {
            self.gaps.add(Gap::Unplaced);
        }
        let short = moves && moved < call.bytes && ok;
        let event = &mut done.event;
        (event.offset_bytes, event.done_bytes) = (call.offset.unwrap_or(0), moved);
        event.requested_bytes = if op == Op::Chmod { MODE_UNKNOWN } else { call.bytes.max(moved) };
        event.flags = flag(unplaced, FLAG_UNPLACED) | flag(short, FLAG_SHORT);
        self.emit(thread, r, done);
    }

    /// The file's size after a transfer: a short read ended at the end of the file.
    pub(crate) fn reached(
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

    fn on_open(&mut self, thread: u32, r: &Record<'_>, op: Op) {
        let Some(instance) = self.instance(thread, r.call.at.dir, r) else { return };
        let (bytes, ok) = (r.call.bytes, r.outcome.errno == 0);
        let mut done = Done::on(op, &instance);
        done.event.requested_bytes = bytes;
        match op {
            Op::Fseek => {
                let position = r.outcome.value.and_then(|value| u64::try_from(value).ok());
                done.event.offset_bytes = position.unwrap_or(0);
                if ok {
                    instance.position.set(position);
                }
            }
            Op::Stat | Op::Lstat | Op::Fstat => {
                done.op = Op::Fstat;
                if r.call.size_bytes.is_some() {
                    self.names.show_size(instance.file, r.call.size_bytes, end_ns(r));
                }
            }
            Op::Ftruncate if ok => self.names.set_size(instance.file, Some(bytes)),
            Op::Fallocate => {
                let keeps_size = r.call.flags & KEEPS_SIZE != 0;
                done.event.flags = flag(keeps_size, FLAG_KEEPS_SIZE);
                if ok && !keeps_size {
                    self.names.grow(instance.file, bytes);
                }
            }
            Op::Readdir => return self.list(thread, &instance, r),
            _ => {}
        }
        self.emit_on_open(thread, r, &instance, done);
    }

    /// Reading a directory to its end is one operation over several calls.
    fn list(&mut self, thread: u32, instance: &Rc<Instance>, r: &Record<'_>) {
        let elapsed_ns = r.elapsed_ns.unwrap_or(0);
        let (start_ns, before_ns) = instance.scan.take().unwrap_or((r.start_ns, 0));
        let busy_ns = before_ns.saturating_add(elapsed_ns);
        if r.outcome.errno == 0 && r.outcome.value != Some(0) {
            return instance.scan.set(Some((start_ns, busy_ns)));
        }
        let end_ns = r.start_ns.saturating_add(elapsed_ns);
        let span = (start_ns, end_ns.saturating_sub(start_ns), busy_ns);
        self.emit_span(thread, r, span, Done::on(Op::Readdir, instance));
    }

    fn on_name(&mut self, thread: u32, r: &Record<'_>, op: Op) {
        let Some(node) = self.node(thread, &r.call.at) else { return };
        let path = self.names.path(node);
        let mut done = Done::named(op, path);
        done.event.requested_bytes = r.call.bytes;
        if r.outcome.errno == ENOENT {
            self.names.absent(node);
        }
        if r.outcome.errno == 0 {
            let file = self.names.file(node);
            done.details.file = file;
            match op {
                Op::Stat | Op::Lstat if r.call.size_bytes.is_some() => {
                    self.names.show_size(file, r.call.size_bytes, end_ns(r));
                }
                Op::Truncate => self.names.set_size(file, Some(r.call.bytes)),
                Op::Readlink => self.found_link(node, path, r.call.to.name),
                Op::Delete => {
                    let size_bytes = r.call.size_bytes.or_else(|| self.names.size(file));
                    self.found_size(path, size_bytes);
                    self.names.remove(node);
                }
                Op::Rmdir => self.names.remove(node),
                Op::Create => done.details.file = self.names.create(node, false),
                Op::Mkdir => {
                    self.names.make_directory(node);
                    done.details.file = self.names.file(node);
                }
                _ => {}
            }
        }
        self.emit(thread, r, done);
    }

    fn rename(&mut self, thread: u32, r: &Record<'_>) {
        let Some(from) = self.node(thread, &r.call.at) else { return };
        let Some(to) = self.node(thread, &r.call.to) else { return };
        let (path, path2) = (self.names.path(from), self.names.path(to));
        let mut done = Done::between(Op::Rename, path, path2);
        let flags = u64::from(r.call.flags);
        done.event.requested_bytes = flags;
        if r.outcome.errno == 0 {
            done.details.file = self.names.file(from);
            self.found.makes(path2);
            if !self.names.rename(from, to, flags & RENAME_EXCHANGE != 0) {
                self.gaps.add(Gap::Impossible);
            }
        }
        self.emit(thread, r, done);
    }

    fn link(&mut self, thread: u32, r: &Record<'_>) {
        let (from, ok) = (r.call.at, r.outcome.errno == 0);
        let Some(node) = self.node(thread, &r.call.to) else { return };
        let path2 = self.names.path(node);
        let nameless = self.nameless(thread, &from);
        let (mut done, file) = if let Some(instance) = nameless {
            // A file without a name gets this one.
            let mut done = Done::on(Op::Linkat, &instance);
            done.event.path = path2;
            (done, instance.file)
        } else if from.name.text.is_empty() {
            let Some(instance) = self.instance(thread, from.dir, r) else { return };
            (Done::between(Op::Link, instance.path, path2), instance.file)
        } else {
            let Some(node) = self.node(thread, &from) else { return };
            (Done::between(Op::Link, self.names.path(node), path2), self.names.file(node))
        };
        if ok {
            self.names.link(file, node);
            done.details.file = file;
        }
        self.emit(thread, r, done);
    }

    /// The target is a text. It leads to the same path of the run as it led to in the log.
    fn symlink(&mut self, thread: u32, r: &Record<'_>) {
        let Some(node) = self.node(thread, &r.call.to) else { return };
        let Some(target) = self.target(node, r.call.at.name) else {
            return self.gaps.add(Gap::Impossible);
        };
        let path2 = self.names.path(node);
        let text = self.names.link_text(path2, target);
        if r.outcome.errno == 0 {
            self.found.makes(path2);
        }
        self.emit(thread, r, Done::between(Op::Symlink, text, path2));
    }

    /// The path that a symbolic link with this text leads to.
    fn target(&mut self, link: Node, text: Name<'_>) -> Option<u32> {
        let text = self.decoded(text);
        let above = self.names.walk(link, b"..").unwrap_or(ROOT);
        let leads = self.names.walk(above, &text);
        self.text = text;
        leads.map(|node| self.names.path(node))
    }

    /// A link was read that nobody has made in the log.
    fn found_link(&mut self, node: Node, path: u32, text: Name<'_>) {
        let is_told = !text.text.is_empty() && !text.cut && !self.names.is_within_fresh(node);
        if is_told
            && self.is_kept(path)
            && let Some(target) = self.target(node, text)
        {
            self.found.link(path, target);
        }
    }

    /// The size of a file that is removed, or shared as a whole.
    pub(crate) fn found_size(&mut self, path: u32, size_bytes: Option<u64>) {
        if let Some(bytes) = size_bytes.filter(|bytes| *bytes > 0)
            && self.is_kept(path)
        {
            self.found.size(path, bytes);
        }
    }
}
