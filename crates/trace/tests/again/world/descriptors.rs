//! Calls that open and close, and those on what is open that move no bytes.

use super::{
    Arg, Doing, Gives, Instance, O_CLOEXEC, O_CREAT, O_DIRECTORY, O_EXCL, O_TRUNC, OPEN_FLAGS,
    Operation, Slot, World, flags_text, named, word,
};
use crate::files::parent;
use model::Op;
use model::event::FLAG_KEEPS_SIZE;

impl World {
    pub(super) fn open(&mut self, doing: &Doing) {
        let path = self.files.any_name(doing.a());
        let flags = match doing.name {
            "creat" => 1 | O_CREAT | O_TRUNC,
            _ => OPEN_FLAGS[doing.b() % OPEN_FLAGS.len()],
        };
        let path =
            if flags & O_DIRECTORY != 0 { self.files.any_directory(doing.a()) } else { path };
        let creates = flags & O_CREAT != 0;
        if creates && !self.files.has(&parent(&path)) {
            return;
        }
        let mut args = self.at(doing, &path, doing.name.starts_with("openat"));
        args.extend(match doing.name {
            "creat" => vec![word("0644")],
            "openat2" => vec![
                Arg::Word(format!("{{flags={}, mode=0, resolve=0}}", flags_text(flags))),
                word(24),
            ],
            _ if creates => vec![word(flags_text(flags)), word("0644")],
            _ => vec![word(flags_text(flags))],
        });
        let op = if doing.name == "creat" { Op::Fcreat } else { Op::Fopen };
        let plain = Operation { open_flags: flags, ..named(&path) };
        let natural = match self.files.has(&path) {
            false if !creates => Some(("ENOENT", 2)),
            true if creates && flags & O_EXCL != 0 => Some(("EEXIST", 17)),
            _ => None,
        };
        if let Some((error, errno)) = natural.or(doing.error()) {
            if errno == 2 {
                self.files.told_absent(&path);
            }
            self.made(doing, args, Gives::Error(error));
            return self.operation(doing, op, Operation { errno, ..plain });
        }
        let file = self.files.opened(&path, creates, flags & O_EXCL != 0, flags & O_TRUNC != 0);
        let (instance, fd) = (self.instances.len(), self.number(doing));
        self.instances.push(Instance {
            path: path.clone(),
            file,
            is_directory: flags & O_DIRECTORY != 0,
            flags,
            position: Some(0),
            references: 0,
            listed: Vec::new(),
            name: path,
            removed: false,
        });
        self.set(doing, fd, Slot { instance, at_exec: flags & O_CLOEXEC != 0 });
        let shown = self.shown_as(fd, instance);
        self.made(doing, args, Gives::Open(shown));
        self.operation(doing, op, Operation { instance: instance as u32, file, ..plain });
    }

    pub(super) fn close(&mut self, doing: &Doing) {
        let Some((fd, instance)) = self.find(doing, doing.a(), None) else { return };
        let args = match doing.name {
            "close" => vec![self.shown(fd, instance)],
            _ => vec![word(fd), word(fd), word(0)],
        };
        let ended = self.unset(doing, fd);
        self.made(doing, args, Gives::Number(0));
        if ended.is_some() {
            let on = self.on(instance);
            self.operation(doing, Op::Fclose, on);
        }
    }

    pub(super) fn duplicate(&mut self, doing: &Doing) {
        let Some((fd, instance)) = self.find(doing, doing.a(), None) else { return };
        let other = self.find(doing, doing.b(), None);
        let shown = self.shown(fd, instance);
        let over = other.map(|(other, _)| other).filter(|other| *other != fd);
        let (name, new, mut args, at_exec) = match doing.name {
            "dup" => ("dup", self.number(doing), vec![shown], false),
            "dup2" => ("dup2", over.unwrap_or_else(|| self.number(doing)), vec![shown], false),
            "dup3" => ("dup3", self.above(doing, fd), vec![shown], true),
            _ => ("fcntl", self.number(doing), vec![shown, word("F_DUPFD_CLOEXEC"), word(3)], true),
        };
        match name {
            "dup2" => args.push(word(new)),
            "dup3" => args.extend([word(new), word("O_CLOEXEC")]),
            _ => {}
        }
        let ended = self.unset(doing, new);
        self.set(doing, new, Slot { instance, at_exec });
        let shown = self.shown_as(new, instance);
        let call = self.made_as(name, doing, args, Gives::Open(shown));
        if let Some(ended) = ended {
            let on = self.on(ended);
            self.operation_of(doing, Op::Fclose, on, vec![call], false);
        }
    }

    /// A number that may be open, but is not `fd`: dup3 refuses that.
    fn above(&self, doing: &Doing, fd: i64) -> i64 {
        let number = self.number(doing) + 5;
        number + i64::from(number == fd)
    }

    /// Calls on what is open that move no bytes.
    pub(super) fn handle(&mut self, doing: &Doing) {
        let is_directory = if doing.name == "getdents64" { Some(true) } else { Some(false) };
        let Some((fd, instance)) = self.find(doing, doing.a(), is_directory) else { return };
        let (file, size) = (self.instances[instance].file, doing.b() as u64);
        let mut args = vec![self.shown(fd, instance)];
        let mut plain = self.on(instance);
        if is_by_name(doing.name) {
            let known = &self.instances[instance];
            // Parabench has them for names only: the one that the file has now.
            if known.removed {
                return;
            }
            plain.path = known.name.clone();
        }
        let error = doing.error();
        let (op, words, value) = match doing.name {
            "lseek" => (Op::Fseek, vec![word(size), word("SEEK_SET")], size),
            "ftruncate" => (Op::Ftruncate, vec![word(size)], 0),
            "fallocate" => (
                Op::Fallocate,
                vec![word(["0", "FALLOC_FL_KEEP_SIZE"][doing.b() % 2]), word(size), word(100)],
                0,
            ),
            "fstat" if error.is_some() => (Op::Fstat, vec![word("0x7f")], 0),
            "fstat" => {
                (Op::Fstat, vec![word(self.attributes("fstat", Err(file), false, doing.b()))], 0)
            }
            "getdents64" => return self.list(doing, fd, instance),
            name => {
                let (op, words) = on_open(name);
                (op, words.split(' ').filter(|part| !part.is_empty()).map(word).collect(), 0)
            }
        };
        args.extend(words);
        (plain.offset, plain.requested) = match op {
            Op::Fseek => (if error.is_some() { 0 } else { size }, 0),
            Op::Ftruncate => (0, size),
            Op::Chmod => (0, 0o644),
            Op::Fallocate => (0, size + 100),
            _ => (0, 0),
        };
        if op == Op::Fallocate && !doing.b().is_multiple_of(2) {
            plain.flags |= FLAG_KEEPS_SIZE;
        }
        let (gives, errno) = error.map_or((Gives::Number(value as i64), 0), |(error, errno)| {
            (Gives::Error(error), errno)
        });
        self.made(doing, args, gives);
        match op {
            _ if errno > 0 => {}
            Op::Fseek => self.instances[instance].position = Some(size),
            Op::Ftruncate => self.files.set_size(file, size),
            Op::Fallocate if doing.b().is_multiple_of(2) => self.files.reaches(file, size + 100),
            _ => {}
        }
        self.operation(doing, op, Operation { errno, ..plain });
    }

    /// Entries are read until there are none.
    pub(super) fn list(&mut self, doing: &Doing, fd: i64, instance: usize) {
        let entries = if doing.b().is_multiple_of(2) { 48 } else { 0 };
        let args = vec![self.shown(fd, instance), word("0x7f /* entries */"), word(32768)];
        let call = self.made(doing, args, Gives::Number(entries));
        self.instances[instance].listed.push(call);
        if entries == 0 {
            let calls = std::mem::take(&mut self.instances[instance].listed);
            let on = self.on(instance);
            self.operation_of(doing, Op::Readdir, on, calls, true);
        }
    }
}

fn is_by_name(name: &str) -> bool {
    name == "fchmod" || name == "fstatfs" || name.ends_with("xattr")
}

fn on_open(name: &str) -> (Op, &'static str) {
    match name {
        "fsync" => (Op::Fsync, ""),
        "fdatasync" => (Op::Fdatasync, ""),
        "syncfs" => (Op::Syncfs, ""),
        "fadvise64" => (Op::Fadvise, "0 0 POSIX_FADV_SEQUENTIAL"),
        "fchmod" => (Op::Chmod, "0644"),
        "fstatfs" => (Op::Statfs, "{f_type=EXT2_SUPER_MAGIC}"),
        "fsetxattr" => (Op::Setxattr, "\"user.a\" \"x\" 1 0"),
        "fgetxattr" => (Op::Getxattr, "\"user.a\" \"x\" 1"),
        "flistxattr" => (Op::Listxattr, "\"user.a\" 100"),
        "fremovexattr" => (Op::Removexattr, "\"user.a\""),
        other => panic!("{other} has no operation"),
    }
}
