//! Mistakes that a rehearsal shows: names that several ranks make, files that only other ranks make, reads
//! behind the end of written data.

use crate::backend::{MemFs, Over};
use model::op::Class;
use model::plan::{Instr, Internal, NO_SLOT, Operand, Pc, Piece, Source};
use model::rehearsal::{Doubt, DoubtKind};
use model::units::format_bytes;
use model::with::{SHORT, error_names};
use model::words::count;
use model::{Op, Plan, RankSet, Value};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Names that are remembered; in larger programs the others are not watched.
const NAMES_MAX: usize = 1 << 16;

/// A name that an operation has made, with the number of its file, or removed.
#[derive(Clone, Debug)]
pub(super) enum Change {
    Made(Box<[u8]>, u32),
    Gone(Box<[u8]>),
}

/// A name with `#` for each number in it.
pub(super) fn skeleton(name: &[u8]) -> Box<[u8]> {
    let mut skeleton = Vec::with_capacity(name.len());
    for byte in name {
        match byte.is_ascii_digit() {
            true if skeleton.last() == Some(&b'#') => {}
            true => skeleton.push(b'#'),
            false => skeleton.push(*byte),
        }
    }
    skeleton.into()
}

/// Collects what the ranks do.
#[derive(Default)]
pub(super) struct Doubts {
    /// There are several ranks.
    several: bool,
    names: HashMap<Box<[u8]>, Name>,
    /// By a name without its numbers: who makes such names, and the last one.
    makers: HashMap<Box<[u8]>, Makers>,
    /// A name that the running operation needs, and that only others make.
    missing: Option<Box<[u8]>>,
    collisions: BTreeMap<Pc, (Box<[u8]>, BTreeSet<u32>)>,
    /// By statement: ranks and the names they need.
    needs: BTreeMap<Pc, BTreeMap<u32, Box<[u8]>>>,
    reads: BTreeMap<(Pc, Box<[u8]>), Reads>,
    /// By `pfopen`: a file that nobody had made, or that was gone again.
    unmade: BTreeMap<Pc, (Box<[u8]>, bool)>,
    /// By the number of a file: the name that it got last.
    files: HashMap<u32, Box<[u8]>>,
}

#[derive(Default)]
struct Name {
    /// Rank and statement that made it last.
    maker: Option<(u32, Pc)>,
    /// Statement that opened it last.
    opened: Option<Pc>,
    /// Something else has found it there, or asked for its size.
    used: bool,
    /// The file.
    number: u32,
    writes: u64,
    written_bytes: u64,
    /// The name of a file like it, which others made: it counts as that.
    like: Option<Box<[u8]>>,
}

/// Ranks that make names which differ in their numbers only.
#[derive(Default)]
struct Makers {
    ranks: BTreeSet<u32>,
    /// The last one made.
    last: Box<[u8]>,
}

#[derive(Default)]
struct Reads {
    count: u64,
    bytes: u64,
    moved_bytes: u64,
    short: bool,
}

impl Doubts {
    pub(super) fn new(ranks: u32) -> Doubts {
        Doubts { several: ranks > 1, ..Doubts::default() }
    }

    fn name(&mut self, name: &[u8]) -> Option<&mut Name> {
        if !self.names.contains_key(name) {
            if self.names.len() >= NAMES_MAX {
                return None;
            }
            self.names.insert(name.into(), Name::default());
        }
        self.names.get_mut(name)
    }

    /// A name was made; of a file that has another one, what was written counts for both.
    fn made(&mut self, rank: u32, site: Pc, name: &[u8], number: u32) {
        let several = self.several;
        self.forget(name);
        let before = self.files.insert(number, name.into());
        let same = before.and_then(|name| self.names.get(&name));
        let (writes, written_bytes) = same.map_or((0, 0), |it| (it.writes, it.written_bytes));
        let Some(known) = self.name(name) else { return };
        let maker = Some((rank, site));
        *known = Name { maker, number, writes, written_bytes, ..Name::default() };
        if several {
            let makers = self.makers.entry(skeleton(name)).or_default();
            makers.ranks.insert(rank);
            makers.last = name.into();
        }
    }

    /// A name has lost its file; another file can get the number.
    fn forget(&mut self, name: &[u8]) {
        let Some(known) = self.names.get(name) else { return };
        if self.files.get(&known.number).is_some_and(|last| **last == *name) {
            self.files.remove(&known.number);
        }
    }

    /// A rank needs a name that nobody has made; that of a file which another rank has made and
    /// this one has none of.
    pub(super) fn missing(&mut self, rank: u32, name: &[u8]) -> Option<Box<[u8]>> {
        if !self.several {
            return None;
        }
        let makers = self.makers.get(&skeleton(name))?;
        if makers.ranks.contains(&rank) {
            return None;
        }
        let last = makers.last.clone();
        self.missing = Some(name.into());
        if let Some(known) = self.name(name) {
            known.like = Some(last.clone());
        }
        Some(last)
    }

    /// The program looks whether a file is there, or how large it is.
    pub(super) fn asked(&mut self, name: &[u8]) {
        if let Some(known) = self.name(name) {
            known.used = true;
        }
    }

    /// An operation of a rank is over, which has changed these files. `found`: its file has to be there
    /// before the program.
    pub(super) fn over(
        &mut self,
        rank: u32,
        name: &[u8],
        over: &Over<'_>,
        changes: &[Change],
        found: bool,
    ) {
        self.changed(rank, over.site, changes);
        let counts_as_another = |known: &Name| known.like.is_some() && known.maker.is_none();
        let missing = self.missing.take();
        let again = || self.names.get(name).is_some_and(counts_as_another).then(|| name.into());
        if let Some(missing) = missing.or_else(again) {
            self.needs.entry(over.site).or_default().insert(rank, missing);
        }
        if over.errno == libc::EEXIST {
            self.collided(rank, over.site, name);
        }
        let row = over.op.row();
        match row.class {
            _ if row.gives_handle() => {
                if let Some(known) = self.name(name) {
                    known.opened = Some(over.site);
                    let made = known.maker.is_some();
                    let missing = over.errno == libc::ENOENT;
                    let taken = found && !made && known.like.is_none() && !known.used;
                    known.used |= over.errno == 0;
                    if over.op == Op::Pfopen && (missing || taken) {
                        self.unmade.entry(over.site).or_insert_with(|| (name.into(), made));
                    }
                }
            }
            Class::Write if over.done_bytes > 0 => {
                if let Some(known) = self.name(name) {
                    known.writes += 1;
                    known.written_bytes = known.written_bytes.saturating_add(over.done_bytes);
                }
            }
            Class::Read if over.errno == 0 => self.read(name, over),
            _ => {}
        }
    }

    fn changed(&mut self, rank: u32, site: Pc, changes: &[Change]) {
        let mut gone = None;
        for change in changes {
            match change {
                Change::Gone(name) => gone = Some(name),
                // A file that is renamed keeps its number.
                Change::Made(name, number) => {
                    self.made(rank, site, name, *number);
                    gone = None;
                }
            }
        }
        if let Some(name) = gone {
            self.forget(name);
        }
    }

    fn collided(&mut self, rank: u32, site: Pc, name: &[u8]) {
        let maker = self.names.get(name).and_then(|known| known.maker);
        if let Some((other, same)) = maker
            && (same, other != rank) == (site, true)
        {
            let (_, ranks) = self.collisions.entry(site).or_insert_with(|| {
                let ranks = BTreeSet::new();
                (name.into(), ranks)
            });
            ranks.extend([rank, other]);
        }
    }

    fn read(&mut self, name: &[u8], over: &Over<'_>) {
        let key = (over.site, Box::from(name));
        if self.reads.len() >= NAMES_MAX && !self.reads.contains_key(&key) {
            return;
        }
        let reads = self.reads.entry(key).or_default();
        reads.count += 1;
        reads.bytes = reads.bytes.saturating_add(over.requested_bytes);
        reads.moved_bytes = reads.moved_bytes.saturating_add(over.done_bytes);
        reads.short |= over.short;
    }

    /// Reports all doubts.
    pub(super) fn tell(&self, plan: &Plan, fs: &MemFs) -> Vec<Doubt> {
        let mut doubts: Vec<Doubt> = Vec::new();
        for (site, (name, ranks)) in &self.collisions {
            let shown = self.shown(plan, *site, name);
            let count = ranks.len();
            let message =
                format!("{count} ranks make the same name \"{shown}\"; all but one will fail");
            doubts.push(Doubt { kind: DoubtKind::Collision, site: *site, message });
        }
        doubts.extend(self.needs.iter().filter_map(|(site, ranks)| self.need(plan, *site, ranks)));
        let mut told = BTreeSet::new();
        for ((site, name), reads) in self.reads.iter().filter(|(_, reads)| reads.short) {
            if let Some(message) = self.behind_the_end(plan, fs, *site, name, reads)
                && told.insert(*site)
            {
                doubts.push(Doubt { kind: DoubtKind::BeyondEnd, site: *site, message });
            }
        }
        doubts.extend(self.nothing_left(plan));
        doubts.extend(self.unmade.iter().filter_map(|(site, it)| self.not_made(plan, *site, it)));
        doubts.retain(|doubt| !looks_itself(plan, doubt.site));
        doubts
    }

    fn need(&self, plan: &Plan, site: Pc, ranks: &BTreeMap<u32, Box<[u8]>>) -> Option<Doubt> {
        let never_made = |name: &[u8]| self.names.get(name).is_none_or(|it| it.maker.is_none());
        let needs = ranks.iter().filter(|(_, name)| never_made(name));
        let own: BTreeSet<u32> = needs.map(|(rank, _)| *rank).collect();
        let name = &ranks[own.first()?];
        let makers = &self.makers.get(&skeleton(name))?.ranks;
        if !of_rank(plan, site)
            || may_miss(plan, site)
            || makers.iter().any(|maker| own.contains(maker))
        {
            return None;
        }
        let message = format!(
            "{} use \"{}\" with their own number, but only {} make such files",
            in_words(&own),
            self.shown(plan, site, name),
            in_words(makers),
        );
        Some(Doubt { kind: DoubtKind::NotWritten, site, message })
    }

    fn behind_the_end(
        &self,
        plan: &Plan,
        fs: &MemFs,
        site: Pc,
        name: &[u8],
        reads: &Reads,
    ) -> Option<String> {
        let known = self.names.get(name)?;
        let (writer, known) = match &known.like {
            Some(like) => (&**like, self.names.get(like)?),
            None => (name, known),
        };
        if known.writes == 0 {
            return None;
        }
        // Writes that were left out show in the size alone.
        let size = fs.number(writer).map_or(0, |number| fs.extent(number).0);
        let written = known.written_bytes.max(size);
        let (reading, ask) =
            (count(reads.count, "read"), if reads.count == 1 { "asks" } else { "ask" });
        let (writes, bring) =
            (count(known.writes, "write"), if known.writes == 1 { "brings" } else { "bring" });
        let shown = self.shown(plan, site, name);
        let asked = match reads.bytes > written {
            true => format!("{ask} for {} of \"{shown}\"", format_bytes(reads.bytes)),
            false => format!("{ask} for what lies behind the end of \"{shown}\""),
        };
        Some(format!("{reading} {asked}, to which {writes} {bring} {}", format_bytes(written)))
    }

    /// Reads of the rest of files that the program wrote, where none was ever left.
    fn nothing_left(&self, plan: &Plan) -> Vec<Doubt> {
        let mut read: BTreeMap<Pc, (bool, &[u8])> = BTreeMap::new();
        for ((site, name), reads) in self.reads.iter().filter(|((site, _), _)| is_rest(plan, *site))
        {
            let wrote = self.names.get(name).is_some_and(|known| known.writes > 0);
            let (nothing, _) = read.entry(*site).or_insert((true, name));
            *nothing &= wrote && reads.moved_bytes == 0;
        }
        let nothing = read
            .into_iter()
            .filter(|(site, (nothing, _))| *nothing && !expects(plan, *site, SHORT));
        let doubts = nothing.map(|(site, (_, name))| {
            let shown = self.shown(plan, site, name);
            let message = format!(
                "nothing is left to read: the position in \"{shown}\" is at its end; fseek($h, 0); goes \
                 back to the start"
            );
            Doubt { kind: DoubtKind::BeyondEnd, site, message }
        });
        doubts.collect()
    }

    /// `pfopen` with "w" and without "c", of a file that nobody has made before.
    fn not_made(&self, plan: &Plan, site: Pc, (name, gone): &(Box<[u8]>, bool)) -> Option<Doubt> {
        let Instr::Op { args, .. } = plan.code.get(site as usize)? else { return None };
        let mode = plan.literal(*plan.args.get(*args as usize + 1)?)?;
        if !mode.contains(&b'w') || mode.contains(&b'c') || may_miss(plan, site) {
            return None;
        }
        let why = if *gone { "which is gone by then" } else { "and nothing before does" };
        let (shown, mode) = (self.shown(plan, site, name), String::from_utf8_lossy(mode));
        let message = format!("the mode \"{mode}\" does not create \"{shown}\", {why}");
        Some(Doubt { kind: DoubtKind::NotMade, site, message })
    }

    /// A name as the program writes it; that of a handle where it was opened.
    fn shown(&self, plan: &Plan, site: Pc, name: &[u8]) -> String {
        let opened = self.names.get(name).and_then(|known| known.opened);
        let text = written_name(plan, site).or_else(|| written_name(plan, opened?));
        let text = text.unwrap_or_else(|| String::from_utf8_lossy(&plan.named(name)).into());
        text.strip_prefix("./").unwrap_or(&text).to_string()
    }
}

/// The program takes the result of this operation, so that it is prepared for it.
fn looks_itself(plan: &Plan, site: Pc) -> bool {
    let instr = plan.code.get(site as usize);
    matches!(instr, Some(Instr::Op { op, dst, .. }) if *dst != NO_SLOT && !op.row().gives_handle())
}

/// The statement is inside `with (expect="ENOENT")`: the program is prepared for missing files.
fn may_miss(plan: &Plan, site: Pc) -> bool {
    expects(plan, site, "ENOENT")
}

/// The statement is inside a `with` that expects an error of this name, or `short`.
fn expects(plan: &Plan, site: Pc, name: &str) -> bool {
    let mut left = 0;
    for instr in plan.code.iter().take(site as usize).rev() {
        match instr {
            Instr::WithLeave => left += 1,
            Instr::WithEnter { .. } if left > 0 => left -= 1,
            Instr::WithEnter { options } => {
                let given = plan.options.get(*options as usize).and_then(|options| options.expect);
                let names = given.and_then(|names| plan.literal(names)).unwrap_or_default();
                if error_names(&String::from_utf8_lossy(names)).any(|expected| expected == name) {
                    return true;
                }
            }
            _ => {}
        }
    }
    false
}

/// `fread($h)`: all that is left.
fn is_rest(plan: &Plan, site: Pc) -> bool {
    let Some(Instr::Op { op: Op::Fread, args, .. }) = plan.code.get(site as usize) else {
        return false;
    };
    plan.args.get(*args as usize + 1) == Some(&Operand::ABSENT)
}

/// The operand that names the file of a command, of two the second one.
fn name_operand(plan: &Plan, site: Pc) -> Option<Operand> {
    let Instr::Op { op, args, .. } = plan.code.get(site as usize)? else { return None };
    let second = op.has_target_name();
    plan.args.get(*args as usize + usize::from(second)).copied()
}

fn pieces(plan: &Plan, site: Pc) -> Option<&[Piece]> {
    match name_operand(plan, site)?.source() {
        Source::Template(index) => {
            let template = plan.templates.get(index as usize)?;
            plan.pieces.get(template.start as usize..template.end as usize)
        }
        _ => None,
    }
}

/// Name of a statement's file as the program writes it, with stars for variables.
fn written_name(plan: &Plan, site: Pc) -> Option<String> {
    let operand = name_operand(plan, site)?;
    if let Some(text) = plan.literal(operand) {
        return Some(String::from_utf8_lossy(text).into());
    }
    let shown = pieces(plan, site)?.iter().map(|piece| match piece {
        Piece::Text { start, end } => {
            let text = plan.text.get(*start as usize..*end as usize).unwrap_or_default();
            String::from_utf8_lossy(text).into_owned()
        }
        Piece::Internal(what) => format!("$${}", what.row().name),
        Piece::Formatted { .. } => "*".into(),
        Piece::Value(operand) => match operand.source() {
            Source::Const(index) => {
                let mut text = Vec::new();
                plan.consts.get(index as usize).unwrap_or(&Value::Unset).render(&mut text).ok();
                String::from_utf8_lossy(&text).into_owned()
            }
            _ => "*".into(),
        },
    });
    Some(shown.collect())
}

/// The statement works on a name with the rank's number in it.
fn of_rank(plan: &Plan, site: Pc) -> bool {
    let own =
        |piece: &Piece| matches!(piece, Piece::Internal(Internal::Rank | Internal::GroupRank));
    pieces(plan, site).is_some_and(|pieces| pieces.iter().any(own))
}

/// "rank 3", "ranks 0 to 4", "ranks 0, 2 and 4".
pub(super) fn in_words(ranks: &BTreeSet<u32>) -> String {
    ranks.iter().copied().collect::<RankSet>().to_string()
}
