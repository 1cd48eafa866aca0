//! Groups of files as text: a loop over names each, with its opens, transfers and closes.
//!
//! ```text
//! time["POSIX out"] repeat $f $$rank..300 step $$size {
//!     $name = $names[$f];
//!     $file = fopen("out/$name.dat", "O_WRONLY|O_CREAT");
//!     repeat $writes fwrite($file, $size);
//!     fclose($file);
//! }
//! ```

use super::groups::Group;
use super::work::{Layer, Part, Place, Sync, Who, Work};
use crate::expr::{bytes, listed};
use crate::lists::{LongLists, definition, numbered};
use crate::names::{Names, Part as NamePart, quoted};
use crate::write::{block, common_directory, common_ending};
use model::escape;
use model::words::shortened;
use std::collections::BTreeMap;

/// Smallest count and size that become parameters.
const COUNT_MIN: i64 = 8;
const SIZE_MIN: i64 = 64;
/// Transfers with this part of all bytes have parameters: one in a hundred.
const SHARE: i128 = 100;
/// Longest name of a group, in characters.
const NAME_MAX: usize = 40;

/// A program in the making.
pub struct Writer {
    /// Ranks of the job.
    ranks: u32,
    /// Takes long lists.
    pub data: Option<LongLists>,
    /// Definitions of parameters and lists.
    pub params: Vec<String>,
    pub lists: Vec<String>,
    /// Parameters of sizes.
    sizes: BTreeMap<i64, String>,
    /// Names that are used, and how often.
    used: BTreeMap<String, usize>,
    /// Bytes from which on transfers have parameters: a hundredth of all.
    least_bytes: i128,
}

/// The meaning of a number: it names its variable and describes its parameter.
#[derive(Clone, Copy)]
struct Kind {
    name: &'static str,
    /// Empty: it is no parameter.
    meaning: &'static str,
    is_bytes: bool,
}

const fn kind(name: &'static str, meaning: &'static str, is_bytes: bool) -> Kind {
    Kind { name, meaning, is_bytes }
}

const SIZES: Kind = kind("$sizes", "bytes of a transfer", true);
const OFFSETS: Kind = kind("$offsets", "", true);
const OPENS: Kind = kind("$opens", "times that a rank opens", false);
const FILES: Kind = kind("$files", "files of", false);
const RANKS: Kind = kind("$ranks", "", false);
const SLOTS: Kind = kind("$places", "", false);

/// A group while its text is made.
struct Scene<'a> {
    group: &'a Group,
    first: &'a Work,
    /// Its name in comments.
    what: String,
    /// Opens of each rank, where each has its part of the transfers.
    opens: Option<String>,
    /// Number of ranks that share a file; `None`: each file is one rank's.
    members: Option<String>,
}

/// Transfers in one direction.
#[derive(Clone, Copy)]
struct Way {
    counts: Kind,
    /// The meaning of the count of all ranks.
    by_all: &'static str,
    op: &'static str,
    parts: fn(&Work) -> &[Part],
}

const READS: Way = Way {
    counts: kind("$reads", "reads of a rank from", false),
    by_all: "reads of all ranks from",
    op: "read",
    parts: |work| &work.reads,
};
const WRITES: Way = Way {
    counts: kind("$writes", "writes of a rank to", false),
    by_all: "writes of all ranks to",
    op: "write",
    parts: |work| &work.writes,
};

impl Scene<'_> {
    /// The ranks that share a file divide the part by number, some having one more than others.
    fn is_uneven(&self, part: &Part) -> bool {
        self.members.is_some() && self.opens.is_none() && !part.is_even
    }
}

/// In parentheses, if it has several terms.
fn enclosed(text: &str) -> String {
    if text.contains(' ') { format!("({text})") } else { text.into() }
}

impl Writer {
    /// An empty program of these groups, for a job of `ranks` ranks.
    pub fn new(ranks: u32, groups: &[Group], data: Option<&str>) -> Writer {
        Writer {
            least_bytes: groups.iter().map(Group::bytes).sum::<i128>() / SHARE,
            ranks,
            data: data.map(LongLists::named),
            params: Vec::new(),
            lists: Vec::new(),
            sizes: BTreeMap::new(),
            used: BTreeMap::new(),
        }
    }

    /// A name that nothing else has.
    fn unused(&mut self, name: &str) -> String {
        let used = self.used.entry(name.into()).or_default();
        *used += 1;
        numbered(name, *used - 1)
    }

    /// The text of a group.
    pub fn group(&mut self, group: &Group) -> String {
        let first = &group.works[0];
        let what = what(group);
        let members = match first.who {
            Who::One(_) => None,
            Who::All => Some("$$size".to_string()),
            Who::First(_) => Some(self.number(group, RANKS, &what, |work| match work.who {
                Who::First(some) => some.into(),
                _ => 1,
            })),
        };
        let in_opens = first.is_opened_evenly(self.ranks);
        let opens = in_opens.then(|| self.number(group, OPENS, &what, |work| work.opens));
        let scene = Scene { group, first, what, opens, members };
        let (mut lines, path) = self.path(&scene);
        lines.extend(self.body(&scene, &path));
        let layer = first.layer.name();
        let label = self.unused(&format!("{layer} {}", scene.what.replace('/', " ")));
        let head = self.head(&scene);
        block(&format!("time[\"{}\"]{head}", quoted(label.as_bytes())), lines)
    }

    /// A number of each file: one for all, or a list.
    fn number(
        &mut self,
        group: &Group,
        kind: Kind,
        what: &str,
        number: impl Fn(&Work) -> i64,
    ) -> String {
        let values: Vec<i64> = group.works.iter().map(number).collect();
        match values.iter().all(|value| *value == values[0]) {
            true => self.constant(values[0], kind, what),
            false => format!("{}[$f]", self.list(kind.name, &listed(&values))),
        }
    }

    /// The variable of a list.
    fn list(&mut self, name: &str, values: &[String]) -> String {
        let name = self.unused(name);
        let line = definition(&name, &name[1..], values, &mut self.data);
        self.lists.push(line);
        name
    }

    /// A parameter, if one wants to change the number, else its digits. Equal sizes have one parameter.
    fn constant(&mut self, value: i64, kind: Kind, what: &str) -> String {
        let (shown, least) = match kind.is_bytes {
            true => (bytes(value), SIZE_MIN),
            false => (value.to_string(), COUNT_MIN),
        };
        if kind.meaning.is_empty() || value < least {
            return shown;
        }
        if let Some(name) = self.sizes.get(&value).filter(|_| kind.is_bytes) {
            return name.clone();
        }
        let (name, what) = match kind.is_bytes {
            true => (self.unused("$size"), String::new()),
            false => (self.unused(kind.name), format!(" {what}")),
        };
        self.params.push(format!("param {name} = {shown}; /// {}{what}", kind.meaning));
        if kind.is_bytes {
            self.sizes.insert(value, name.clone());
        }
        name
    }
}

/// The files of a group in words.
fn what(group: &Group) -> String {
    let path = &group.works[0].path;
    let mut parts = path.rsplit('/');
    let name = match group.files {
        1 => parts.next(),
        _ => parts.nth(1).or(Some("files")),
    };
    shortened(&escape::line(name.unwrap_or_default()), NAME_MAX).into_owned()
}

impl Writer {
    /// The loop over files and ranks, behind the label.
    fn head(&mut self, scene: &Scene<'_>) -> String {
        let group = scene.group;
        let (files, is_one) = (group.files, group.files == 1);
        let files = match files > group.works.len() {
            true => self.constant(files as i64, FILES, &scene.what),
            false => files.to_string(),
        };
        let all = if is_one { String::new() } else { format!(" repeat $f {files}") };
        match (&scene.members, scene.first.who) {
            (Some(_), Who::All) => all,
            (Some(members), _) => format!("{all} if ($$rank < {members})"),
            (None, _) if self.ranks == 1 => all,
            (None, _) => self.dealt(group, &files, &all),
        }
    }

    /// The rank of each file, where a file belongs to one rank.
    fn dealt(&mut self, group: &Group, files: &str, all: &str) -> String {
        let owner = |(at, work): (usize, &Work)| match work.who {
            Who::One(Some(rank)) => rank.into(),
            _ => at as i64 % i64::from(self.ranks),
        };
        let owners: Vec<i64> = group.works.iter().enumerate().map(owner).collect();
        let in_turn = (0..).zip(&owners).all(|(at, rank)| at % i64::from(self.ranks) == *rank);
        match owners[0] {
            _ if in_turn && group.files > 1 => format!(" repeat $f $$rank..{files} step $$size"),
            0 if owners.iter().all(|rank| *rank == 0) => format!(" if ($$rank == 0){all}"),
            one if owners.iter().all(|rank| *rank == one) => {
                format!(" if ($$rank == {one} % $$size){all}")
            }
            _ => {
                let list =
                    self.list("$owners", &owners.iter().map(i64::to_string).collect::<Vec<_>>());
                format!("{all} if ($$rank == {list}[$f] % $$size)")
            }
        }
    }

    /// Opens, transfers and closes of a file.
    fn body(&mut self, scene: &Scene<'_>, path: &str) -> Vec<String> {
        let Scene { group, first, what, opens, .. } = scene;
        let (open, close) = open_and_close(first, path);
        let mut lines = Vec::new();
        if opens.is_none() && group.works.iter().any(|work| work.opens > 1) {
            let more = self.number(group, OPENS, what, |work| work.opens - 1);
            let both = vec![open.clone(), close.clone()];
            match &more[..] {
                "1" => lines.extend(both),
                _ => lines.push(block(&format!("repeat {more}"), both)),
            }
        }
        let mut inner = vec![open];
        inner.extend(self.transfers(scene));
        if first.sync == Sync::AtClose {
            inner.push("fsync($file);".into());
        }
        inner.push(close);
        match opens {
            Some(opens) => lines.push(block(&format!("repeat $k {opens}"), inner)),
            None => lines.extend(inner),
        }
        match first.stats {
            0 => {}
            1 => lines.push(format!("stat({path});")),
            many => lines.push(format!("repeat {many} stat({path});")),
        }
        lines
    }

    /// All transfers of an open, in both directions.
    fn transfers(&mut self, scene: &Scene<'_>) -> Vec<String> {
        let first = scene.first;
        let order = if first.reads_first { [READS, WRITES] } else { [WRITES, READS] };
        let mut lines = Vec::new();
        for (at, direction) in order.into_iter().enumerate() {
            let parts = (direction.parts)(first);
            let is_second = at == 1 && !(order[0].parts)(first).is_empty();
            if is_second && !parts.is_empty() && first.who == Who::All {
                lines.push("barrier;".into());
            }
            let in_row = parts.iter().all(|part| part.place == Place::Row)
                && scene.group.works.iter().flat_map(direction.parts).all(|part| part.gap == 0);
            let at_position =
                !is_second && in_row && scene.members.is_none() && scene.opens.is_none();
            let parts = 0..parts.len();
            lines.extend(parts.map(|part| self.part(scene, direction, part, at_position)));
        }
        lines.retain(|line| !line.is_empty());
        lines
    }

    /// The transfers of a part; empty if there are none.
    fn part(&mut self, scene: &Scene<'_>, way: Way, at: usize, at_position: bool) -> String {
        let Scene { group, first, what, .. } = scene;
        let ranks = self.ranks;
        let part = |work: &Work| (way.parts)(work)[at];
        let is_uneven = scene.is_uneven(&part(first));
        let each = |work: &Work| match &scene.opens {
            Some(_) => work.members(ranks) * work.opens,
            None if is_uneven => 1,
            None => work.members(ranks),
        };
        let matters = group.sum(|work| part(work).bytes()) >= self.least_bytes;
        let of_whom = if is_uneven { way.by_all } else { way.counts.meaning };
        let named =
            |kind: Kind, meaning| Kind { meaning: if matters { meaning } else { "" }, ..kind };
        let (counts, sizes) = (named(way.counts, of_whom), named(SIZES, SIZES.meaning));
        let count = self.number(group, counts, what, |work| part(work).count / each(work));
        if count == "0" {
            return count[1..].into();
        }
        let size = self.number(group, sizes, what, |work| part(work).size);
        let offset = match at_position {
            true => String::new(),
            false => format!(", {}", self.offset(scene, &part, &count, &size)),
        };
        let (mpi, all) = match first.layer {
            Layer::Mpi if first.is_collective && !is_uneven => ("p", ", \"all\""),
            Layer::Mpi => ("p", ""),
            _ => ("", ""),
        };
        let statement = format!("{mpi}f{}($file, {size}{offset}{all});", way.op);
        let is_synced = first.sync == Sync::AtWrite && way.op == WRITES.op;
        let sync = is_synced.then(|| "fsync($file);".to_string());
        let body: Vec<String> = [statement].into_iter().chain(sync).collect();
        match &scene.members {
            Some(members) if is_uneven => {
                let border = |rank: &str| format!("({rank} * {count} / {members})");
                let range = format!("{}..{}", border("$$rank"), border("($$rank + 1)"));
                block(&format!("repeat $i {range}"), body)
            }
            _ if count == "1" => body.join("\n"),
            _ if at_position => block(&format!("repeat {count}"), body),
            _ => block(&format!("repeat $i {count}"), body),
        }
    }

    /// Where a transfer lies.
    fn offset(
        &mut self,
        scene: &Scene<'_>,
        part: &dyn Fn(&Work) -> Part,
        count: &str,
        size: &str,
    ) -> String {
        let (group, what) = (scene.group, &scene.what);
        let Part { place, .. } = part(scene.first);
        let index = index(scene, &part(scene.first), count);
        if place == Place::Row {
            let start = self.number(group, OFFSETS, what, |work| part(work).start);
            let gap = self.number(group, OFFSETS, what, |work| part(work).gap);
            let step = if gap == "0" { size.into() } else { format!("({size} + {gap})") };
            return match (&start[..], &index[..]) {
                (_, "0") => start,
                _ if step == "0" => start,
                ("0", _) => format!("{} * {step}", enclosed(&index)),
                _ => format!("{start} + {} * {step}", enclosed(&index)),
            };
        }
        let each = |work: &Work| work.opens.max(1);
        let fits = |work: &Work| part(work).count / each(work) <= part(work).slots;
        let is_own = scene.members.is_none() && scene.opens.is_some();
        if place == Place::Again && is_own && group.works.iter().all(fits) {
            return if index == "0" { index } else { format!("{index} * {size}") };
        }
        let slots = self.number(group, SLOTS, what, |work| part(work).slots);
        let slot = format!("{} % {slots}", enclosed(&index));
        match (place, &index[..]) {
            _ if slots == "1" => "0".into(),
            (Place::Again, "0") => index,
            (Place::Again, _) => format!("({slot}) * {size}"),
            (_, "0") => format!("perm(0, {slots}) * {size}"),
            _ => format!("perm({slot}, {slots}) * {size}"),
        }
    }
}

/// Number of a transfer among all of its part.
fn index(scene: &Scene<'_>, part: &Part, count: &str) -> String {
    if scene.is_uneven(part) {
        return "$i".into();
    }
    // A file that is read again is read from its start.
    let opens = scene.opens.as_ref().filter(|_| part.place != Place::Again);
    let before = match (&scene.members, opens) {
        (None, None) => None,
        (None, Some(_)) => Some("$k".into()),
        (Some(_), None) => Some("$$rank".into()),
        (Some(_), Some(opens)) => Some(format!("$$rank * {opens} + $k")),
    };
    match (before, count) {
        (None, "1") => "0".into(),
        (None, _) => "$i".into(),
        (Some(before), "1") => before,
        (Some(before), _) => format!("{} * {count} + $i", enclosed(&before)),
    }
}

/// Statements that open and close a file.
fn open_and_close(work: &Work, path: &str) -> (String, String) {
    let [reads, writes] = [&work.reads, &work.writes].map(|parts| !parts.is_empty());
    let (flags, mode) = match (reads, writes) {
        (_, false) => ("r", "r"),
        (false, true) => ("O_WRONLY|O_CREAT", "cw"),
        _ if work.reads_first => ("r+", "rw"),
        _ => ("O_RDWR|O_CREAT", "crw"),
    };
    if work.layer != Layer::Mpi {
        return (format!("$file = fopen({path}, \"{flags}\");"), "fclose($file);".into());
    }
    let alone = if work.who == Who::All { "" } else { "with (comm=\"self\") " };
    (format!("{alone}$file = pfopen({path}, \"{mode}\");"), "pfclose($file);".into())
}

impl Writer {
    /// Statements before, and the path of a file as a string of the language.
    fn path(&mut self, scene: &Scene<'_>) -> (Vec<String>, String) {
        let group = scene.group;
        let names: Vec<String> = group.works.iter().map(|work| work.path.clone()).collect();
        if group.files == 1 {
            return (Vec::new(), format!("\"{}\"", quoted(names[0].as_bytes())));
        }
        if group.files > names.len() {
            return (Vec::new(), format!("\"{}-$f\"", quoted(names[0].as_bytes())));
        }
        pattern(&names).unwrap_or_else(|| self.names(&names))
    }

    /// Names in a list, without what all have in common.
    fn names(&mut self, names: &[String]) -> (Vec<String>, String) {
        let directory = common_directory(names);
        let end = common_ending(names, directory.len());
        let middle = |name: &String| {
            let middle = &name.as_bytes()[directory.len()..name.len() - end.len()];
            format!("\"{}\"", quoted(middle))
        };
        let list = self.list("$names", &names.iter().map(middle).collect::<Vec<_>>());
        let [directory, end] = [directory, end].map(|text| quoted(text.as_bytes()));
        (vec![format!("$name = {list}[$f];")], format!("\"{directory}$name{end}\""))
    }
}

/// Names that differ in numbers which grow evenly.
fn pattern(names: &[String]) -> Option<(Vec<String>, String)> {
    let Names { templates, of } = Names::new(names.iter().map(|name| name.as_bytes()));
    let [(_, first), (_, second), ..] = &of[..] else { return None };
    if templates.len() > 1 {
        return None;
    }
    let step = first.iter().zip(second).map(|(a, b)| b.checked_sub(*a));
    let steps: Vec<i64> = step.collect::<Option<_>>()?;
    let number = |at: usize, file: i64| first[at].checked_add(steps[at].checked_mul(file)?);
    let is_even = (0..).zip(&of).all(|(file, (_, numbers))| {
        (0..first.len()).all(|at| number(at, file) == Some(numbers[at]))
    });
    let mut moving = (0..first.len()).filter(|at| steps[*at] != 0);
    let at = moving.next().filter(|_| is_even)?;
    let is_same = moving.all(|other| (first[other], steps[other]) == (first[at], steps[at]));
    if !is_same {
        return None;
    }
    let (before, variable) = match (first[at], steps[at]) {
        (0, 1) => (None, "f"),
        (start, 1) => (Some(format!("$n = {start} + $f;")), "n"),
        (start, step @ ..=-1) => {
            (Some(format!("$n = {start} - $f * {};", step.unsigned_abs())), "n")
        }
        (start, step) => (Some(format!("$n = {start} + $f * {step};")), "n"),
    };
    let mut places = 0..;
    let parts = templates[0].iter().map(|part| match part {
        NamePart::Text(text) => quoted(text),
        NamePart::Number { width } => match places.next() {
            Some(at) if steps[at] == 0 => format!("{:0width$}", first[at]),
            _ if *width > 0 => format!("${{{variable}:0{width}}}"),
            _ => format!("${{{variable}}}"),
        },
    });
    let text = parts.collect::<String>();
    Some((before.into_iter().collect(), format!("\"{text}\"")))
}
