//! What a changed program does on a number of ranks: whether an operation fails that should not, which ranks
//! write where others write, which names it uses. On more ranks than the run had, a formula that is right
//! for the run can give the same file or a negative number. Operations are not compared with the run here:
//! that is `compare`.

use super::proof::{compiled, execute, moves, told};
use engine::record::{Listen, Listener, Paths};
use fold::Folded;
use model::event::FLAG_FAILED;
use model::{Event, Op, Plan};
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

/// What a program writes and names on a number of ranks.
#[derive(Debug, Default)]
pub struct Writes {
    /// Names with `#` for each number, and the first one of them.
    names: HashMap<Vec<u8>, String>,
    /// By place in the program: what two ranks write both, in words.
    shared: BTreeMap<(String, usize), String>,
    operations: u64,
    /// The first operation that failed and should not, in words.
    failed: Option<String>,
}

/// Operations that are tried of a changed program; of a longer run so many times its own.
const OPERATIONS_MAX: u64 = 20_000_000;
const TIMES_MAX: u64 = 4;

/// Executes a program on files in memory.
///
/// # Errors
/// It does not come to its end, or makes more than `most` operations.
pub fn writes(folded: &Folded, ranks: u32, most: u64) -> Result<Writes, String> {
    let plan = Rc::new(compiled(ranks, folded)?);
    let watch = Watch { plan: Rc::clone(&plan), most, ..Watch::default() };
    let watch = Rc::new(RefCell::new(watch));
    let ended = execute(&plan, folded, &Listener(Rc::clone(&watch) as Rc<RefCell<dyn Listen>>));
    let writes = std::mem::take(&mut watch.borrow_mut().writes);
    match writes.operations > most {
        true => Err(format!("it makes more than {most} operations, and no more are tried")),
        false => ended.map(|()| writes),
    }
}

impl Writes {
    /// Operations that are tried of what the program becomes.
    pub fn most(&self) -> u64 {
        OPERATIONS_MAX.max(self.operations.saturating_mul(TIMES_MAX))
    }

    /// What happens in this program and not in that of the run, in words.
    pub fn other_than(&self, run: &Writes) -> Option<String> {
        if let Some(failed) = &self.failed {
            return Some(format!("the program fails: {failed}"));
        }
        let negative = self.names.iter().filter(|(name, _)| is_negative(name, run));
        let negative = negative.map(|(_, example)| example).min();
        let shared = || self.shared.iter().find(|(place, _)| !run.shared.contains_key(place));
        match negative {
            Some(name) => Some(format!("a number in the name {name} is negative")),
            None => shared().map(|(_, what)| format!("{what}; those of the run are apart")),
        }
    }
}

/// Without one of its signs, and with it no other one, the name is one of the run.
fn is_negative(name: &[u8], run: &Writes) -> bool {
    let signs = name.windows(2).enumerate().filter(|(_, pair)| *pair == b"-#");
    let mut without = signs.map(|(at, _)| [&name[..at], &name[at + 1..]].concat());
    !run.names.contains_key(name) && without.any(|name| run.names.contains_key(&name))
}

#[derive(Default)]
struct Watch {
    plan: Rc<Plan>,
    seen: HashSet<Vec<u8>>,
    files: HashMap<Vec<u8>, Written>,
    writes: Writes,
    most: u64,
}

impl Listen for Watch {
    fn event(&mut self, rank: u32, event: &Event, paths: &Paths<'_>) {
        self.writes.operations += 1;
        if event.flags & FLAG_FAILED != 0 && self.writes.failed.is_none() {
            let path = |id: u32| self.plan.named(paths.path(id).unwrap_or_default());
            self.writes.failed = Some(format!("rank {rank}: {}", told(event, path)));
        }
        for path in [event.path, event.path2].into_iter().filter_map(|id| paths.path(id)) {
            if !self.seen.contains(path) {
                self.seen.insert(path.to_vec());
                let shown = model::escape::line(&String::from_utf8_lossy(path));
                self.writes.names.entry(template(path)).or_insert(shown);
            }
        }
        let op = Op::from_u8(event.op);
        let reads = matches!(op, Some(Op::Fread | Op::Readv | Op::Read | Op::Pfread | Op::Pread));
        // Where patterns put bytes is another question.
        if reads || !moves(event) || event.done_bytes == 0 || event.pieces > 0 || event.errno != 0 {
            return;
        }
        let Some(path) = paths.path(event.path) else { return };
        let span = (event.offset_bytes, event.offset_bytes.saturating_add(event.done_bytes));
        if !self.files.contains_key(path) {
            self.files.insert(path.to_vec(), Written::default());
        }
        let other = self.files.get_mut(path).and_then(|file| file.add(span, rank));
        if let Some((other, at)) = other {
            let Some((file, line, _)) = self.plan.locate_site(event.site) else { return };
            let name = self.plan.named(path);
            let name = model::escape::line(&String::from_utf8_lossy(&name));
            let (a, b) = (rank.min(other), rank.max(other));
            let what = format!("ranks {a} and {b} both write {name} at {at}");
            self.writes.shared.entry((file.to_string(), line)).or_insert(what);
        }
    }

    fn is_enough(&self) -> bool {
        self.writes.operations > self.most
    }
}

/// A name with `#` for each number.
fn template(name: &[u8]) -> Vec<u8> {
    let runs = name.chunk_by(|a, b| a.is_ascii_digit() == b.is_ascii_digit());
    let runs = runs.map(|run| if run[0].is_ascii_digit() { &b"#"[..] } else { run });
    runs.collect::<Vec<_>>().concat()
}

/// Who wrote which bytes of a file: by end, start and rank.
#[derive(Debug, Default)]
struct Written(BTreeMap<u64, (u64, u32)>);

impl Written {
    /// Adds what a rank wrote; another one that has written there, and where.
    fn add(&mut self, (start, end): (u64, u64), rank: u32) -> Option<(u32, u64)> {
        let known = self.0.range(start..).take_while(|(_, (from, _))| *from <= end);
        let known: Vec<(u64, u64, u32)> = known.map(|(to, (from, by))| (*from, *to, *by)).collect();
        let (mut whole, mut other) = ((start, end), None);
        for (from, to, by) in known {
            if by == rank {
                self.0.remove(&to);
                whole = (whole.0.min(from), whole.1.max(to));
            } else if from < end && to > start {
                other = other.or(Some((by, from.max(start))));
            }
        }
        self.0.insert(whole.1, (whole.0, rank));
        other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_writes_where_another_one_has_written_is_found() {
        let mut file = Written::default();
        for (span, rank, other) in [
            ((0, 10), 0, None),
            ((10, 20), 0, None),
            ((20, 30), 1, None),
            ((5, 15), 0, None),
            ((40, 50), 2, None),
            ((29, 41), 3, Some((1, 29))),
        ] {
            assert_eq!(file.add(span, rank), other, "{span:?}");
        }
        assert_eq!(file.0.get(&20), Some(&(0, 0)), "{file:?}");
    }

    #[test]
    fn no_more_operations_are_tried_than_asked_for() {
        let folded = |text: &str| {
            let mut folded = Folded::default();
            folded.text.push_str(text);
            folded
        };
        let count = |text: &str, most| writes(&folded(text), 1, most).map(|found| found.operations);
        let text = "repeat $i 300 write(\"f-$i\", 1);";
        assert_eq!(count(text, 300), Ok(300));
        assert!(count(text, 299).is_err_and(|why| why.contains("more than 299 operations")));
        let endless = "repeat 1t write(\"f\", 1);";
        assert!(count(endless, 1000).is_err_and(|why| why.contains("more than 1000 operations")));
    }

    #[test]
    fn signs_before_numbers_of_known_names_are_negative() {
        let known = |names: &[&str]| {
            let names = names.iter().map(|name| (template(name.as_bytes()), name.to_string()));
            Writes { names: names.collect(), ..Writes::default() }
        };
        let run = known(&["out.0003", "a-7"]);
        for (name, why) in [("out.-0001", true), ("a--3", true), ("a-12", false), ("b-1", false)] {
            assert_eq!(known(&[name]).other_than(&run).is_some(), why, "{name}");
        }
    }
}
