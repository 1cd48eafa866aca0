//! Mistakes that a rehearsal shows: names that several ranks make, files that only other ranks make, reads
//! behind the end of written data, waits that never end.

use crate::backend::{InForce, MemFs, Over};
use crate::comm::End;
use crate::supervise::Outcome;
use model::op::Class;
use model::plan::{Instr, Internal, NO_SLOT, Operand, Pc, Piece, Source};
use model::rehearsal::{Doubt, DoubtKind};
use model::units::format_bytes;
use model::words::count;
use model::{Op, Plan, RankSet, Value};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// Names that are remembered; in larger programs the others are not watched.
const NAMES_MAX: usize = 1 << 16;

/// A name that an operation has made, with the number of its file.
#[derive(Clone, Debug)]
pub(crate) struct Made {
    pub(crate) name: Box<[u8]>,
    pub(crate) number: u32,
    /// It is a new file, and not another name of one.
    pub(crate) new: bool,
}

/// A name with `#` for each number in it.
pub(crate) fn skeleton(name: &[u8]) -> Box<[u8]> {
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

/// Ranks that make names of one form, and the last name.
type Makers = (BTreeSet<u32>, Box<[u8]>);

/// Collects what the ranks do.
#[derive(Default)]
pub(crate) struct Doubts {
    /// There are several ranks.
    several: bool,
    /// Statements on names with the rank's number in them.
    of_rank: HashSet<Pc>,
    names: HashMap<Box<[u8]>, Name>,
    /// By a name without its numbers: who makes such names, and the last one.
    makers: HashMap<Box<[u8]>, Makers>,
    /// By number of a file: the name that it got last.
    files: HashMap<u32, Box<[u8]>>,
    /// A name that the running operation needs, and that only others make.
    missing: Option<Box<[u8]>>,
    collisions: BTreeMap<Pc, (Box<[u8]>, BTreeSet<u32>)>,
    /// By statement: ranks and the names they need.
    needs: BTreeMap<Pc, BTreeMap<u32, Box<[u8]>>>,
    reads: BTreeMap<(Pc, Box<[u8]>), Reads>,
    /// By `pfopen`: a file that nobody had made, or that was gone again.
    unmade: BTreeMap<Pc, (Box<[u8]>, bool)>,
}

#[derive(Default)]
struct Name {
    /// Rank and statement that made it last.
    maker: Option<(u32, Pc)>,
    /// Statement that opened it last.
    opened: Option<Pc>,
    /// Something else has found it there, or asked for its size.
    used: bool,
    writes: u64,
    written_bytes: u64,
    /// The name of a file like it, which others made: it counts as that.
    like: Option<Box<[u8]>>,
}

#[derive(Default)]
struct Reads {
    count: u64,
    bytes: u64,
    moved_bytes: u64,
    short: bool,
}

impl Doubts {
    pub(crate) fn new(plan: &Plan) -> Doubts {
        let of_rank = (0..plan.code.len() as Pc).filter(|site| is_of_rank(plan, *site)).collect();
        Doubts { several: plan.ranks > 1, of_rank, ..Doubts::default() }
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

    /// A rank needs a name with its own number in it that nobody has made; that of a file which another
    /// rank has made with its number, where this one has made none.
    pub(crate) fn missing(&mut self, (rank, site): (u32, Pc), name: &[u8]) -> Option<Box<[u8]>> {
        let makers = self.makers.get(&skeleton(name)).filter(|_| self.of_rank.contains(&site));
        let (_, last) = makers.filter(|it| !it.0.contains(&rank))?;
        let last = last.clone();
        self.missing = Some(name.into());
        if let Some(known) = self.name(name) {
            known.like = Some(last.clone());
        }
        Some(last)
    }

    /// The program looks whether a file is there, or how large it is.
    pub(crate) fn mark_used(&mut self, name: &[u8]) {
        self.name(name).into_iter().for_each(|known| known.used = true);
    }

    /// An operation of a rank is over, which has made these names. `found`: its file has to be there
    /// before the program.
    pub(crate) fn end_operation(
        &mut self,
        rank: u32,
        name: &[u8],
        over: &Over<'_>,
        made: &[Made],
        (found, options): (bool, &InForce),
    ) {
        made.iter().for_each(|one| self.record_made(rank, over.site, one));
        let counts_as_another = |known: &Name| known.like.is_some() && known.maker.is_none();
        let again = self.names.get(name).is_some_and(counts_as_another).then(|| name.into());
        if let Some(missing) = self.missing.take().or(again).filter(|_| !options.expects_missing) {
            self.needs.entry(over.site).or_default().insert(rank, missing);
        }
        if over.errno == libc::EEXIST {
            self.collided(rank, over.site, name);
        }
        let row = over.op.row();
        match row.class {
            _ if row.gives_handle() => self.opened(name, over, (found, options)),
            Class::Write if over.done_bytes > 0 => {
                if let Some(known) = self.name(name) {
                    known.writes += 1;
                    known.written_bytes = known.written_bytes.saturating_add(over.done_bytes);
                }
            }
            Class::Read if over.errno == 0 && !options.expects_short => self.read(name, over),
            _ => {}
        }
    }

    /// A name was made; of a file that has another one, what was written counts for both.
    fn record_made(&mut self, rank: u32, site: Pc, made: &Made) {
        let before = self.files.insert(made.number, made.name.clone());
        let same = before.filter(|_| !made.new).and_then(|name| self.names.get(&name));
        let (writes, written_bytes) = same.map_or((0, 0), |it| (it.writes, it.written_bytes));
        let Some(known) = self.name(&made.name) else { return };
        *known = Name { maker: Some((rank, site)), writes, written_bytes, ..Name::default() };
        if self.several {
            let (ranks, last) = self.makers.entry(skeleton(&made.name)).or_default();
            ranks.insert(rank);
            *last = made.name.clone();
        }
    }

    fn opened(&mut self, name: &[u8], over: &Over<'_>, (found, options): (bool, &InForce)) {
        let Some(known) = self.name(name) else { return };
        known.opened = Some(over.site);
        let made = known.maker.is_some();
        let taken = found && !made && known.like.is_none() && !known.used;
        known.used |= over.errno == 0;
        let is_missing = over.errno == libc::ENOENT || taken;
        if over.op == Op::Pfopen && is_missing && !options.expects_missing {
            self.unmade.entry(over.site).or_insert_with(|| (name.into(), made));
        }
    }

    fn collided(&mut self, rank: u32, site: Pc, name: &[u8]) {
        let maker = self.names.get(name).and_then(|known| known.maker);
        if let Some((other, _)) = maker.filter(|(other, same)| *other != rank && *same == site) {
            let (_, ranks) =
                self.collisions.entry(site).or_insert_with(|| (name.into(), BTreeSet::new()));
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

    /// All doubts about names and bytes.
    pub(crate) fn list(&self, plan: &Plan, fs: &MemFs) -> Vec<Doubt> {
        let collisions = self.collisions.iter().map(|(site, (name, ranks))| {
            let (shown, count) = (self.show_name(plan, *site, name), ranks.len());
            let message =
                format!("{count} ranks make the same name \"{shown}\"; all but one will fail");
            Doubt { kind: DoubtKind::Collision, site: *site, message }
        });
        let needs = self.needs.iter().filter_map(|(site, ranks)| self.need(plan, *site, ranks));
        let short = self.reads.iter().filter(|(_, reads)| reads.short);
        let short = short.filter_map(|((site, name), reads)| {
            self.behind_the_end(plan, fs, (*site, name), reads)
        });
        let mut short: Vec<Doubt> = short.collect();
        short.dedup_by_key(|doubt| doubt.site);
        let sites: BTreeSet<Pc> = self.reads.keys().map(|(site, _)| *site).collect();
        let nothing = sites.into_iter().filter_map(|site| self.nothing_left(plan, site));
        let unmade = self.unmade.iter().filter_map(|(site, it)| self.not_made(plan, *site, it));
        let all = collisions.chain(needs).chain(short).chain(nothing).chain(unmade);
        all.filter(|doubt| !takes_result(plan, doubt.site)).collect()
    }

    fn need(&self, plan: &Plan, site: Pc, ranks: &BTreeMap<u32, Box<[u8]>>) -> Option<Doubt> {
        let never_made = |name: &[u8]| self.names.get(name).is_none_or(|it| it.maker.is_none());
        let needs = ranks.iter().filter(|(_, name)| never_made(name));
        let own: BTreeSet<u32> = needs.map(|(rank, _)| *rank).collect();
        let name = &ranks[own.first()?];
        let (makers, _) = self.makers.get(&skeleton(name))?;
        if !self.of_rank.contains(&site) || !makers.is_disjoint(&own) {
            return None;
        }
        let message = format!(
            "{} use \"{}\" with their own number, but only {} make such files",
            in_words(&own),
            self.show_name(plan, site, name),
            in_words(makers),
        );
        Some(Doubt { kind: DoubtKind::NotWritten, site, message })
    }

    /// The name under which a file was written, and what is known of it.
    fn written<'n>(&'n self, name: &'n [u8]) -> Option<(&'n [u8], &'n Name)> {
        let known = self.names.get(name)?;
        let (name, known) = match &known.like {
            Some(like) => (&**like, self.names.get(like)?),
            None => (name, known),
        };
        (known.writes > 0).then_some((name, known))
    }

    fn behind_the_end(
        &self,
        plan: &Plan,
        fs: &MemFs,
        (site, name): (Pc, &[u8]),
        reads: &Reads,
    ) -> Option<Doubt> {
        let (writer, &Name { writes, written_bytes, .. }) = self.written(name)?;
        // Writes that were left out show in the size alone.
        let size = fs.number(writer).map_or(0, |number| fs.extent(number).0);
        let written = written_bytes.max(size);
        let ask = if reads.count == 1 { "asks" } else { "ask" };
        let bring = if writes == 1 { "brings" } else { "bring" };
        let shown = self.show_name(plan, site, name);
        let wanted = match reads.bytes > written {
            true => format!("for {} of \"{shown}\"", format_bytes(reads.bytes)),
            false => format!("for what lies behind the end of \"{shown}\""),
        };
        let message = format!(
            "{} {ask} {wanted}, to which {} {bring} {}",
            count(reads.count, "read"),
            count(writes, "write"),
            format_bytes(written)
        );
        Some(Doubt { kind: DoubtKind::BeyondEnd, site, message })
    }

    /// Reads of the rest of files that the program wrote, where none was ever left.
    fn nothing_left(&self, plan: &Plan, site: Pc) -> Option<Doubt> {
        let mut reads = self.reads.range((site, Box::default())..(site + 1, Box::default()));
        let ((_, name), _) = reads.clone().next().filter(|_| is_rest(plan, site))?;
        if !reads.all(|(it, reads)| reads.moved_bytes == 0 && self.written(&it.1).is_some()) {
            return None;
        }
        let shown = self.show_name(plan, site, name);
        let message = format!(
            "nothing is left to read: the position in \"{shown}\" is at its end; fseek($h, 0); goes \
             back to the start"
        );
        Some(Doubt { kind: DoubtKind::BeyondEnd, site, message })
    }

    /// `pfopen` with "w" and neither "c" nor "r", which expects a file, of one that nobody has made before.
    fn not_made(&self, plan: &Plan, site: Pc, (name, gone): &(Box<[u8]>, bool)) -> Option<Doubt> {
        let Instr::Op { args, .. } = plan.code.get(site as usize)? else { return None };
        let mode = plan.literal(*plan.args.get(*args as usize + 1)?)?;
        if !mode.contains(&b'w') || mode.contains(&b'c') || mode.contains(&b'r') {
            return None;
        }
        let why = if *gone { "which is gone by then" } else { "and nothing before does" };
        let (shown, mode) = (self.show_name(plan, site, name), String::from_utf8_lossy(mode));
        let message = format!("the mode \"{mode}\" does not create \"{shown}\", {why}");
        Some(Doubt { kind: DoubtKind::NotMade, site, message })
    }

    /// A name as the program writes it; that of a handle where it was opened.
    fn show_name(&self, plan: &Plan, site: Pc, name: &[u8]) -> String {
        let opened = self.names.get(name).and_then(|known| known.opened);
        let text = written_name(plan, site).or_else(|| written_name(plan, opened?));
        let text = text.unwrap_or_else(|| String::from_utf8_lossy(&plan.named(name)).into());
        text.strip_prefix("./").unwrap_or(&text).to_string()
    }
}

/// The program takes the result of this operation, so that it is prepared for it.
fn takes_result(plan: &Plan, site: Pc) -> bool {
    let instr = plan.code.get(site as usize);
    matches!(instr, Some(Instr::Op { op, dst, .. }) if *dst != NO_SLOT && !op.row().gives_handle())
}

/// `fread($h)`: all that is left.
fn is_rest(plan: &Plan, site: Pc) -> bool {
    match plan.code.get(site as usize) {
        Some(Instr::Op { op: Op::Fread, args, .. }) => {
            plan.args.get(*args as usize + 1) == Some(&Operand::ABSENT)
        }
        _ => false,
    }
}

/// The operand that names the file of a command, of two the second one.
fn name_operand(plan: &Plan, site: Pc) -> Option<Operand> {
    let Instr::Op { op, args, .. } = plan.code.get(site as usize)? else { return None };
    plan.args.get(*args as usize + usize::from(op.has_target_name())).copied()
}

fn pieces(plan: &Plan, site: Pc) -> Option<&[Piece]> {
    let Source::Template(index) = name_operand(plan, site)?.source() else { return None };
    let template = plan.templates.get(index as usize)?;
    plan.pieces.get(template.start as usize..template.end as usize)
}

/// Name of a statement's file as the program writes it, with stars for variables.
fn written_name(plan: &Plan, site: Pc) -> Option<String> {
    if let Some(text) = plan.literal(name_operand(plan, site)?) {
        return Some(String::from_utf8_lossy(text).into());
    }
    let shown = pieces(plan, site)?.iter().map(|piece| match piece {
        Piece::Text { start, end } => {
            let text = plan.text.get(*start as usize..*end as usize).unwrap_or_default();
            String::from_utf8_lossy(text).into_owned()
        }
        Piece::Internal(what) => format!("$${}", what.row().name),
        Piece::Value(operand) => match operand.source() {
            Source::Const(index) => {
                let mut text = Vec::new();
                plan.consts.get(index as usize).unwrap_or(&Value::Unset).render(&mut text).ok();
                String::from_utf8_lossy(&text).into_owned()
            }
            _ => "*".into(),
        },
        Piece::Formatted { .. } => "*".into(),
    });
    Some(shown.collect())
}

/// The statement works on a name with the rank's number in it.
fn is_of_rank(plan: &Plan, site: Pc) -> bool {
    let own =
        |piece: &Piece| matches!(piece, Piece::Internal(Internal::Rank | Internal::GroupRank));
    pieces(plan, site).is_some_and(|pieces| pieces.iter().any(own))
}

/// "rank 3", "ranks 0 to 4", "ranks 0, 2 and 4".
fn in_words(ranks: &BTreeSet<u32>) -> String {
    ranks.iter().copied().collect::<RankSet>().to_string()
}

/// By statement and the doubt about it: the ranks that did not get past it, and why the first of them did
/// not.
type Stuck = BTreeMap<(Pc, &'static str), (BTreeSet<u32>, String)>;

/// Waits that never end, and signals for members that a group does not have: the simulated ranks did not
/// get past them. Where a rank has failed, others may wait because of that alone.
pub(crate) fn endless_waits(plan: &Plan, outcome: &Outcome) -> Vec<Doubt> {
    let mut stuck = Stuck::new();
    let mut add = |site: Pc, how: &'static str, rank: u32, why: &str| {
        let entry = stuck.entry((site, how));
        entry.or_insert_with(|| (BTreeSet::new(), why.to_string())).0.insert(rank);
    };
    let one_failed = outcome.ends.contains(&End::Failed);
    let waiting = outcome.deadlock.iter().filter(|_| !one_failed);
    waiting.for_each(|one| add(one.site, "wait forever for ", one.rank, &one.what));
    let waits_at = |site: Pc| outcome.deadlock.iter().any(|waiting| waiting.site == site);
    for record in &outcome.records {
        // Nobody is left who could come.
        let is_released = outcome.ends.get(record.rank as usize) == Some(&End::Released);
        for (site, message) in &record.errors {
            let Some(site) = *site else { continue };
            match plan.code.get(site as usize) {
                Some(Instr::Op { op: Op::Signal, .. }) => {
                    add(site, "cannot give this signal: ", record.rank, message);
                }
                _ if is_released && !one_failed && !waits_at(site) => {
                    add(site, "wait forever: ", record.rank, message);
                }
                _ => {}
            }
        }
    }
    let doubts = stuck.iter().map(|((site, how), (ranks, why))| {
        let is_signal = how.starts_with("cannot");
        let how = if ranks.len() == 1 { how.replace("wait", "waits") } else { how.to_string() };
        let kind = if is_signal { DoubtKind::NotMember } else { DoubtKind::NeverMet };
        Doubt { kind, site: *site, message: format!("{} {how}{why}", in_words(ranks)) }
    });
    doubts.collect()
}
