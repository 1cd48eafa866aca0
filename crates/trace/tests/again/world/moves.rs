//! Transfers.

use super::{Arg, Doing, Gives, O_APPEND, Operation, Shown, World, word};
use model::Op;
use model::event::{FLAG_AT_POSITION, FLAG_FROM_POSITION, FLAG_SHORT, FLAG_UNPLACED};

impl World {
    /// Where a transfer takes place, and what it tells of the file.
    pub(super) fn moved(
        &mut self,
        instance: usize,
        op: Op,
        bytes: u64,
        done: u64,
        offset: Option<u64>,
    ) -> Operation {
        let known = &self.instances[instance];
        let (file, appends) = (known.file, op == Op::Fwrite && known.flags & O_APPEND != 0);
        let at = match offset {
            _ if appends => self.files.size(file),
            Some(_) => offset,
            None => known.position,
        };
        let end = at.map(|at| at + done);
        if offset.is_none() {
            self.instances[instance].position = end;
        }
        match (op, end) {
            (Op::Fwrite, Some(end)) => self.files.reaches(file, end),
            (Op::Fread, Some(end)) if done < bytes && done > 0 => self.files.set_size(file, end),
            _ => {}
        }
        let flag = |is: bool, flag: u8| if is { flag } else { 0 };
        let flags = flag(done < bytes, FLAG_SHORT)
            | flag(at.is_none(), FLAG_UNPLACED)
            | flag(offset.is_none(), FLAG_AT_POSITION);
        let offset = at.unwrap_or(0);
        Operation { offset, requested: bytes, done, flags, ..self.on(instance) }
    }

    pub(super) fn transfer(&mut self, doing: &Doing, op: Op) {
        let Some((fd, instance)) = self.find(doing, doing.a(), Some(false)) else { return };
        let bytes = doing.b() as u64;
        let (pair, at) = (vec![bytes / 3, bytes - bytes / 3], doing.c() as u64 * 512);
        let offset = doing.name.starts_with('p').then_some(at);
        let mut args = vec![self.shown(fd, instance)];
        match doing.name {
            "read" | "write" => args.extend([Arg::Buffer(bytes), word(bytes)]),
            "pread64" | "pwrite64" => args.extend([Arg::Buffer(bytes), word(bytes), word(at)]),
            "readv" | "writev" => args.extend([Arg::Vector(pair), word(2)]),
            "preadv" | "pwritev" => args.extend([Arg::Vector(pair), word(2), word(at)]),
            _ => args.extend([Arg::Vector(pair), word(2), word(at), word("RWF_HIPRI")]),
        }
        if let Some((error, errno)) = doing.error() {
            self.made(doing, args, Gives::Error(error));
            let known = &self.instances[instance];
            let appends = op == Op::Fwrite && known.flags & O_APPEND != 0;
            let at = if appends { self.files.size(known.file) } else { offset.or(known.position) };
            let flags = if offset.is_none() { FLAG_AT_POSITION } else { 0 };
            let on = Operation {
                offset: at.unwrap_or(0),
                requested: bytes,
                errno,
                flags,
                ..self.on(instance)
            };
            return self.operation(doing, op, on);
        }
        let done = if doing.c() % 4 == 1 { bytes / 2 } else { bytes };
        self.made(doing, args, Gives::Number(done as i64));
        let moved = self.moved(instance, op, bytes, done, offset);
        self.operation(doing, op, moved);
    }

    pub(super) fn copy(&mut self, doing: &Doing) {
        let Some((from, one)) = self.find(doing, doing.a(), Some(false)) else { return };
        let Some((to, two)) = self.find(doing, doing.b(), Some(false)) else { return };
        if self.instances[two].flags & O_APPEND != 0 || one == two {
            return;
        }
        let bytes = doing.c() as u64;
        let offset = bytes.is_multiple_of(2).then_some(bytes * 4);
        let place =
            |offset: Option<u64>| word(offset.map_or("NULL".into(), |at| format!("[{at}]")));
        let (reading, writing) = (self.shown(from, one), self.shown(to, two));
        let args = match doing.name {
            "sendfile" => vec![writing, reading, place(offset), word(bytes)],
            _ => vec![reading, place(offset), writing, place(None), word(bytes), word(0)],
        };
        let call = self.made(doing, args, Gives::Number(bytes as i64));
        let read = self.moved(one, Op::Fread, bytes, bytes, offset);
        let written = self.moved(two, Op::Fwrite, bytes, bytes, None);
        if doing.name == "sendfile" {
            self.operation_of(doing, Op::Fread, read, vec![call], false);
            return self.operation(doing, Op::Fwrite, written);
        }
        let flag = |is: bool, flag: u8| if is { flag } else { 0 };
        let copied = Operation {
            path2: read.path.clone(),
            instance2: read.instance,
            from: read.offset,
            flags: written.flags
                | flag(read.flags & FLAG_UNPLACED != 0, FLAG_UNPLACED)
                | flag(read.flags & FLAG_AT_POSITION != 0, FLAG_FROM_POSITION),
            ..written
        };
        self.operation(doing, Op::Fcopy, copied);
    }

    pub(super) fn splice(&mut self, doing: &Doing) {
        let Some((fd, instance)) = self.find(doing, doing.a(), Some(false)) else { return };
        let (bytes, file, null) = (doing.b() as u64, self.shown(fd, instance), word("NULL"));
        let pipe = |number| Arg::Fd(Shown { number, name: b"pipe:[77]".to_vec(), removed: false });
        let (op, mut args) = match doing.c() % 2 {
            0 => (Op::Fread, vec![file, null.clone(), pipe(1), null]),
            _ => (Op::Fwrite, vec![pipe(0), null.clone(), file, null]),
        };
        args.extend([word(bytes), word("SPLICE_F_MOVE")]);
        self.made(doing, args, Gives::Number(bytes as i64));
        let moved = self.moved(instance, op, bytes, bytes, None);
        self.operation(doing, op, moved);
    }
}
