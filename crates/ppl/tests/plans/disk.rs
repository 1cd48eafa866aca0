//! A small simulation of the operations in a trace.

use model::units::parse_integer_text;
use std::collections::{BTreeSet, HashMap};

/// Files as sets of bytes; what operations of a trace do to them.
#[derive(Default)]
pub struct Disk {
    /// Names and numbers of files.
    names: HashMap<String, usize>,
    /// What is in each file.
    files: Vec<BTreeSet<u64>>,
    /// File, position, append; no file where the open failed.
    handles: Vec<(Option<usize>, u64, bool)>,
    pub peak: u64,
    /// Most files at one time.
    pub peak_files: u64,
}

impl Disk {
    /// After the trace of a rank.
    pub fn of(trace: &[String]) -> Disk {
        let mut disk = Disk::default();
        for line in trace {
            let words = line.split(' ').map(|word| word.strip_prefix("./").unwrap_or(word));
            let words: Vec<&str> = words.collect();
            disk.operation(&words);
            let total = disk.names.values().map(|file| disk.files[*file].len() as u64).sum();
            disk.peak = disk.peak.max(total);
            disk.peak_files = disk.peak_files.max(disk.names.len() as u64);
        }
        disk
    }

    fn make(&mut self, name: &str) -> &mut BTreeSet<u64> {
        let new = self.files.len();
        let file = *self.names.entry(name.to_string()).or_insert(new);
        if file == new {
            self.files.push(BTreeSet::new());
        }
        &mut self.files[file]
    }

    fn operation(&mut self, words: &[&str]) {
        let number = |at: usize| {
            words.get(at).and_then(|word| parse_integer_text(word.as_bytes())).map(|n| n as u64)
        };
        let name = words.get(1).copied().unwrap_or("");
        match words[0] {
            "write" => {
                let start = number(3).unwrap_or(0);
                *self.make(name) = (start..start + number(2).unwrap_or(0)).collect();
            }
            "append" => {
                let n = number(2).unwrap_or(0);
                let file = self.make(name);
                let end = file.last().map_or(0, |last| last + 1);
                file.extend(end..end + n);
            }
            "create" => self.make(name).clear(),
            "delete" => drop(self.names.remove(name)),
            "rename" => {
                if let Some(file) = self.names.remove(name) {
                    self.names.insert(words[2].to_string(), file);
                }
            }
            "truncate" => {
                let n = number(2).unwrap_or(0);
                if let Some(file) = self.names.get(name) {
                    self.files[*file].retain(|byte| *byte < n);
                }
            }
            "fopen" => {
                match words[2] {
                    "w" => self.make(name).clear(),
                    "a" => drop(self.make(name)),
                    _ => {}
                }
                self.handles.push((self.names.get(name).copied(), 0, words[2] == "a"));
            }
            // fwrite (file handle 3) 10 -
            "fwrite" => self.fwrite(words[3].trim_end_matches(')'), number(4), number(5)),
            "fseek" => {
                let handle: usize = words[3].trim_end_matches(')').parse().expect("a number");
                self.handles[handle - 1].1 = number(4).unwrap_or(0);
            }
            _ => {}
        }
    }

    fn fwrite(&mut self, handle: &str, n: Option<u64>, offset: Option<u64>) {
        let handle: usize = handle.parse().expect("a number");
        let (Some(file), position, appends) = self.handles[handle - 1] else { return };
        let n = n.unwrap_or(0);
        let end = self.files[file].last().map_or(0, |last| last + 1);
        let start = if appends { end } else { offset.unwrap_or(position) };
        self.files[file].extend(start..start + n);
        if offset.is_none() {
            self.handles[handle - 1].1 = start + n;
        }
    }
}
