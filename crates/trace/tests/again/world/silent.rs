//! Calls that are no operations: they change what others mean, or nothing.

use super::{Arg, Doing, Gives, O_APPEND, World, flags_text, word};

impl World {
    pub(super) fn silently(&mut self, doing: &Doing) {
        let thread = doing.moment.thread;
        let open = self.find(doing, doing.a(), None);
        match (doing.name, open) {
            ("exit", _) if thread > 0 => self.exit(doing),
            ("execve", _) => self.execute(doing),
            ("chdir", _) => {
                let path = self.files.any_directory(doing.a());
                let args = self.at(doing, &path, false);
                if self.files.has(&path) {
                    self.made(doing, args, Gives::Number(0));
                    let directory = self.threads[thread].directory;
                    self.directories[directory] = path;
                }
            }
            ("fchdir", Some((fd, instance)))
                if self.instances[instance].is_directory && !self.instances[instance].removed =>
            {
                let args = vec![self.shown(fd, instance)];
                self.made(doing, args, Gives::Number(0));
                let directory = self.threads[thread].directory;
                self.directories[directory] = self.instances[instance].name.clone();
            }
            ("fcntl-setfd", Some((fd, instance))) => {
                let on = doing.b().is_multiple_of(2);
                let args = vec![
                    self.shown(fd, instance),
                    word("F_SETFD"),
                    word(if on { "FD_CLOEXEC" } else { "0" }),
                ];
                self.made_as("fcntl", doing, args, Gives::Number(0));
                let table = self.threads[thread].table;
                self.tables[table].get_mut(&fd).unwrap().at_exec = on;
            }
            ("fcntl-setfl", Some((fd, instance))) => {
                let flags = [O_APPEND, 0][doing.b() % 2];
                let args = vec![self.shown(fd, instance), word("F_SETFL"), word(flags_text(flags))];
                self.made_as("fcntl", doing, args, Gives::Number(0));
                let known = &mut self.instances[instance];
                known.flags = known.flags & !(O_APPEND | 0o4000 | 0o40_000 | 0o1_000_000) | flags;
            }
            ("mmap", Some((fd, instance))) => {
                let mut args: Vec<Arg> =
                    ["NULL", "4096", "PROT_READ", "MAP_SHARED"].map(word).into();
                args.extend([self.shown(fd, instance), word(0)]);
                self.made(doing, args, Gives::Number(0x7f00_0000));
            }
            ("flock" | "restarted", Some((fd, instance))) => {
                let (name, gives) = if doing.name == "flock" {
                    ("flock", Gives::Number(0))
                } else {
                    ("read", Gives::Restart)
                };
                let args = vec![
                    self.shown(fd, instance),
                    if name == "flock" { word("LOCK_EX") } else { word("0x7ffd") },
                ];
                let args = if name == "read" { [args, vec![word(100)]].concat() } else { args };
                self.made_as(name, doing, args, gives);
            }
            ("msync", _) => drop(self.made(
                doing,
                ["0x7f00", "4096", "MS_SYNC"].map(word).into(),
                Gives::Number(0),
            )),
            ("io_uring_enter", _) => drop(self.made(
                doing,
                ["5", "1", "0", "0", "NULL", "8"].map(word).into(),
                Gives::Number(1),
            )),
            _ => {}
        }
    }

    pub(super) fn exit(&mut self, doing: &Doing) {
        self.made(doing, vec![word(0)], Gives::Nothing);
        let thread = doing.moment.thread;
        self.threads[thread].over = true;
        let table = self.threads[thread].table;
        if !self.threads.iter().any(|other| !other.over && other.table == table) {
            for slot in std::mem::take(&mut self.tables[table]).into_values() {
                self.instances[slot.instance].references -= 1;
            }
        }
    }

    /// Only of processes with one thread: else others end.
    pub(super) fn execute(&mut self, doing: &Doing) {
        let (thread, table) = (doing.moment.thread, self.threads[doing.moment.thread].table);
        if self.threads.iter().filter(|other| !other.over && other.table == table).count() > 1 {
            return;
        }
        let name = ["one", "other"][doing.b() % 2];
        let words = vec![
            Arg::Name(format!("/usr/bin/{name}").into_bytes()),
            word("[\"x\"]"),
            word("0x7f /* 9 vars */"),
        ];
        self.made(doing, words, Gives::Number(0));
        self.threads[thread].label = name.into();
        let slots = std::mem::take(&mut self.tables[table]);
        for (fd, slot) in slots {
            match slot.at_exec {
                true => self.instances[slot.instance].references -= 1,
                false => drop(self.tables[table].insert(fd, slot)),
            }
        }
    }
}
