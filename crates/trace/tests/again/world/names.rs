//! Calls on names.

use super::{Arg, Doing, Gives, Operation, World, named, word};
use crate::files::parent;
use model::Op;
use model::event::{NO_ID, RENAME_EXCHANGE, RENAME_NOREPLACE};

impl World {
    pub(super) fn attributes(
        &mut self,
        call: &str,
        path_or_file: Result<&[u8], u32>,
        is_directory: bool,
        size: usize,
    ) -> String {
        let (kind, x) = (
            if is_directory { "S_IFDIR|0755" } else { "S_IFREG|0644" },
            if call == "statx" { "stx" } else { "st" },
        );
        if !is_directory {
            let file = path_or_file.map_or_else(|file| file, |path| self.files.file(path));
            let size = self.files.size(file).unwrap_or(size as u64);
            self.files.set_size(file, size);
            return format!("{{{x}_mode={kind}, {x}_size={size}, ...}}");
        }
        format!("{{{x}_mode={kind}, {x}_size=4096, ...}}")
    }

    pub(super) fn stat(&mut self, doing: &Doing) {
        let path = self.files.any_path(doing.a());
        let mut args = self.at(doing, &path, !matches!(doing.name, "stat" | "lstat"));
        let absent = (!self.files.has(&path)).then_some(("ENOENT", 2));
        let plain = named(&path);
        let found = absent.or(doing.error());
        let facts = match found {
            Some(_) => "0x7ffd".to_string(),
            None => {
                self.attributes(doing.name, Ok(&path), self.files.is_directory(&path), doing.b())
            }
        };
        let at = matches!(doing.name, "statx" | "newfstatat");
        let itself = doing.name == "lstat" || at && doing.c() % 2 == 1;
        let flag = word(if itself { "AT_SYMLINK_NOFOLLOW" } else { "0" });
        match doing.name {
            "statx" => args.extend([flag, word("STATX_ALL"), word(facts)]),
            "newfstatat" => args.extend([word(facts), flag]),
            _ => args.push(word(facts)),
        }
        let op = if itself { Op::Lstat } else { Op::Stat };
        self.answered(doing, op, args, found, plain, &path);
    }

    /// A call on a name that changes nothing: it fails, or says which file the name means.
    pub(super) fn answered(
        &mut self,
        doing: &Doing,
        op: Op,
        args: Vec<Arg>,
        found: Option<(&'static str, u16)>,
        plain: Operation,
        path: &[u8],
    ) {
        let (gives, errno) =
            found.map_or((Gives::Number(0), 0), |(error, errno)| (Gives::Error(error), errno));
        if errno == 2 {
            self.files.told_absent(path);
        }
        let file = if errno == 0 { self.files.file(path) } else { NO_ID };
        self.made(doing, args, gives);
        self.operation(doing, op, Operation { errno, file, ..plain });
    }

    pub(super) fn ask(&mut self, doing: &Doing, op: Op, is_at: bool, rest: &str) {
        let path = self.files.any_path(doing.a());
        let mut args = self.at(doing, &path, is_at);
        let size = doing.b() as u64;
        args.extend(
            rest.split(' ')
                .filter(|part| !part.is_empty())
                .map(|part| word(part.replace("SIZE", &size.to_string()))),
        );
        let absent = (!self.files.has(&path)).then_some(("ENOENT", 2));
        let wrong =
            (op == Op::Truncate && self.files.is_directory(&path)).then_some(("EISDIR", 21));
        let found = absent.or(wrong).or(doing.error());
        let truncates = op == Op::Truncate;
        if truncates && found.is_none() {
            let file = self.files.file(&path);
            self.files.set_size(file, size);
        }
        let requested = match op {
            Op::Truncate => size,
            Op::Chmod => 0o644,
            _ => 0,
        };
        let plain = Operation { requested, ..named(&path) };
        self.answered(doing, op, args, found, plain, &path);
    }

    pub(super) fn remove(&mut self, doing: &Doing) {
        let directory =
            doing.name == "rmdir" || (doing.name == "unlinkat" && doing.b().is_multiple_of(3));
        let path = if directory {
            self.files.any_directory(doing.a())
        } else {
            self.files.any_name(doing.a())
        };
        let mut args = self.at(doing, &path, doing.name == "unlinkat");
        if doing.name == "unlinkat" {
            args.push(word(if directory { "AT_REMOVEDIR" } else { "0" }));
        }
        let absent = (!self.files.has(&path)).then_some(("ENOENT", 2));
        let is_used =
            directory && (!self.files.is_empty(&path) || self.directories.contains(&path));
        let used = is_used.then_some(("ENOTEMPTY", 39));
        let found = absent.or(used).or(doing.error());
        let op = if directory { Op::Rmdir } else { Op::Delete };
        self.answered(doing, op, args, found, named(&path), &path);
        if found.is_none() {
            self.files.remove(&path);
            self.name_goes(&path);
        }
    }

    /// What is open under a name has none from now on.
    pub(super) fn name_goes(&mut self, path: &[u8]) {
        for known in self.instances.iter_mut().filter(|known| known.name == path) {
            known.removed = true;
        }
    }

    pub(super) fn make_directory(&mut self, doing: &Doing) {
        let path = self.files.any_directory(doing.a());
        let mut args = self.at(doing, &path, doing.name == "mkdirat");
        args.push(word("0755"));
        let found = self.files.has(&path).then_some(("EEXIST", 17)).or(doing.error());
        if found.is_none() {
            self.files.make_directory(&path);
        }
        self.answered(doing, Op::Mkdir, args, found, named(&path), &path);
    }

    pub(super) fn rename(&mut self, doing: &Doing) {
        let (from, to) = match doing.c() % 5 {
            0 => (self.files.any_directory(doing.a()), self.files.any_directory(doing.b())),
            _ => (self.files.any_name(doing.a()), self.files.any_name(doing.b())),
        };
        let swap = doing.name == "renameat2" && doing.b().is_multiple_of(2) && self.files.has(&to);
        if !self.files.can_rename(&from, &to, swap) {
            return;
        }
        let mut args = self.at(doing, &from, doing.name != "rename");
        args.extend(self.at(doing, &to, doing.name != "rename"));
        if doing.name == "renameat2" {
            args.push(word(if swap { "RENAME_EXCHANGE" } else { "RENAME_NOREPLACE" }));
        }
        let requested = match doing.name == "renameat2" {
            true if swap => RENAME_EXCHANGE,
            true => RENAME_NOREPLACE,
            false => 0,
        };
        let plain = Operation { path2: to.clone(), requested, ..named(&from) };
        if let Some((error, errno)) = doing.error() {
            self.made(doing, args, Gives::Error(error));
            return self.operation(doing, Op::Rename, Operation { errno, ..plain });
        }
        let file = self.files.file(&from);
        self.made(doing, args, Gives::Number(0));
        self.operation(doing, Op::Rename, Operation { file, ..plain });
        self.files.rename(&from, &to, swap);
        self.names_move(&from, &to, swap);
    }

    pub(super) fn names_move(&mut self, from: &[u8], to: &[u8], swap: bool) {
        let names = self.instances.iter_mut().filter(|known| !known.removed);
        let names = names.map(|known| (&mut known.name, Some(&mut known.removed)));
        for (name, removed) in names.chain(self.directories.iter_mut().map(|name| (name, None))) {
            if name.starts_with(from) && matches!(name.get(from.len()), None | Some(b'/')) {
                *name = [to, &name[from.len()..]].concat();
            } else if name == to && swap {
                *name = from.to_vec();
            } else if let Some(removed) = removed.filter(|_| name == to) {
                *removed = true;
            }
        }
    }

    pub(super) fn link(&mut self, doing: &Doing) {
        let (from, to) = (self.files.any_name(doing.a()), self.files.any_name(doing.b()));
        if !self.files.has(&from) || !self.files.has(&parent(&to)) {
            return;
        }
        let mut args = self.at(doing, &from, doing.name == "linkat");
        args.extend(self.at(doing, &to, doing.name == "linkat"));
        if doing.name == "linkat" {
            args.push(word(0));
        }
        let found = self.files.has(&to).then_some(("EEXIST", 17)).or(doing.error());
        let (gives, errno) =
            found.map_or((Gives::Number(0), 0), |(error, errno)| (Gives::Error(error), errno));
        self.made(doing, args, gives);
        let file = if errno == 0 { self.files.link(&from, &to) } else { NO_ID };
        self.operation(doing, Op::Link, Operation { path2: to, errno, file, ..named(&from) });
    }

    pub(super) fn symlink(&mut self, doing: &Doing) {
        let link = format!("/d/link-{}", doing.moment.start_us).into_bytes();
        let mut args = vec![Arg::Name(b"a/x".to_vec())];
        args.extend(self.at(doing, &link, doing.name == "symlinkat"));
        self.made(doing, args, Gives::Number(0));
        self.operation(doing, Op::Symlink, Operation { path2: link, ..named(b"/d/a/x") });
    }
}

/// Calls on names: whether they take a directory, and what stands behind the name.
pub(super) fn on_name(name: &str) -> Option<(Op, bool, &'static str)> {
    Some(match name {
        "access" => (Op::Lookup, false, "R_OK"),
        "faccessat" => (Op::Lookup, true, "R_OK"),
        "faccessat2" => (Op::Lookup, true, "R_OK AT_EACCESS"),
        "readlink" => (Op::Readlink, false, "0x7f 4096"),
        "readlinkat" => (Op::Readlink, true, "0x7f 4096"),
        "chmod" => (Op::Chmod, false, "0644"),
        "fchmodat" => (Op::Chmod, true, "0644"),
        "utimensat" => (Op::Utime, true, "NULL 0"),
        "statfs" => (Op::Statfs, false, "{f_type=EXT2_SUPER_MAGIC,f_bsize=4096}"),
        "setxattr" => (Op::Setxattr, false, "\"user.a,)\" \"x\" 1 0"),
        "getxattr" => (Op::Getxattr, false, "\"user.a\" \"x\" 1"),
        "listxattr" => (Op::Listxattr, false, "\"user.a\" 100"),
        "removexattr" => (Op::Removexattr, false, "\"user.a\""),
        "truncate" => (Op::Truncate, false, "SIZE"),
        _ => return None,
    })
}
