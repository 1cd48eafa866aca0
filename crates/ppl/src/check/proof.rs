//! Confinement by proof (semantics.md section 3): which paths provably stay inside
//! the run directory.
//!
//! What each variable can hold is worked out over all assignments of the program, in
//! any order, as a [`Shape`]; a path is proved if no text of its shape leaves. Names that a
//! symbolic link of the program may have are never proved.

use super::shape::Shape;
use crate::check::path;
use model::op::ParamKind;
use model::plan::{
    BinaryOp, Function, Instr, Internal, NO_SLOT, Operand, Pc, Piece, Plan, Slot, Source, Unproved,
};
use model::{Op, Value};

/// Fills [`Plan::unproved`].
pub(crate) fn prove(plan: &mut Plan, directory: Option<&str>) {
    let mut facts = Facts::new(plan, directory);
    let found = facts.survey();
    facts.settle(&found.dependent);
    let links = facts.link_names(&found.naming);
    let mut unproved = Vec::new();
    let all = || (0..plan.code.len() as Pc).collect();
    for site in if links.is_empty() { found.open } else { all() } {
        let mut paths = paths_of(plan, &plan.code[site as usize]).into_iter().flatten();
        // The two paths of a rename are one place.
        if let Some(reason) = paths.find_map(|operand| facts.reason(site, operand, &links)) {
            unproved.push(Unproved { site, reason: reason.into() });
        }
    }
    plan.unproved = unproved;
}

/// The operands of an instruction that are paths, or what links hold.
#[inline]
fn paths_of(plan: &Plan, instr: &Instr) -> [Option<Operand>; 2] {
    match instr {
        Instr::Op { op, args, .. } => [0, 1].map(|at| {
            let is_path = PATHS[*op as usize][at];
            plan.args.get(*args as usize + at).copied().filter(|_| is_path)
        }),
        Instr::Function { function: Function::Size, args, .. } => {
            [plan.args.get(args.start as usize).copied(), None]
        }
        _ => [None, None],
    }
}

/// Which of the first two parameters of every operation are paths; none has more.
static PATHS: [[bool; 2]; Op::COUNT] = {
    let mut paths = [[false; 2]; Op::COUNT];
    let mut op = 0;
    while op < Op::COUNT {
        let params = model::op::OPS[op].params;
        let mut at = 0;
        while at < params.len() {
            if matches!(params[at].kind, ParamKind::Path | ParamKind::LinkTarget) {
                paths[op][at] = true;
            }
            at += 1;
        }
        op += 1;
    }
    paths
};

/// Sites that are to be looked at again.
#[derive(Default)]
struct Found {
    /// What they assign can have the shape of a variable.
    dependent: Vec<Pc>,
    /// They make names: of links, or new ones for what may be a link.
    naming: Vec<Pc>,
    /// They have a path that is not a plain text.
    open: Vec<Pc>,
}

/// What is known about all variables.
struct Facts<'a> {
    plan: &'a Plan,
    directory: Option<&'a str>,
    /// Globals, then the frames of the procs.
    shapes: Vec<Shape>,
    /// Where each proc's frame begins in `shapes`.
    frames: Vec<usize>,
}

impl<'a> Facts<'a> {
    fn new(plan: &'a Plan, directory: Option<&'a str>) -> Facts<'a> {
        let mut end = plan.globals.len();
        let frames = plan.procs.iter().map(|proc| {
            end += proc.locals as usize;
            end - proc.locals as usize
        });
        let frames: Vec<usize> = frames.collect();
        Facts { plan, directory, shapes: vec![Shape::NONE; end], frames }
    }

    /// The proc that an instruction belongs to.
    fn proc_at(&self, site: Pc) -> Option<usize> {
        self.plan.procs.partition_point(|proc| proc.entry <= site).checked_sub(1)
    }

    fn index(&self, site: Pc, slot: Slot) -> usize {
        if slot.0 & Slot::LOCAL == 0 {
            return slot.0 as usize;
        }
        let frame = self.proc_at(site).map_or(0, |proc| self.frames[proc]);
        frame + (slot.0 & !Slot::LOCAL) as usize
    }

    /// Takes in all assignments once, and notes what is to be looked at again.
    fn survey(&mut self) -> Found {
        let mut found = Found::default();
        for (site, instr) in self.plan.code.iter().enumerate() {
            let site = site as Pc;
            self.take_in(site, instr);
            if self.depends(instr) {
                found.dependent.push(site);
            }
            if let Instr::Op { op: Op::Symlink | Op::Rename | Op::Link, .. } = instr {
                found.naming.push(site);
            }
            let mut paths = paths_of(self.plan, instr).into_iter().flatten();
            if !paths.all(|operand| self.is_plain(operand)) {
                found.open.push(site);
            }
        }
        found
    }

    /// Takes in assignments again until nothing new comes of it.
    fn settle(&mut self, sites: &[Pc]) {
        let plan = self.plan;
        while sites
            .iter()
            .fold(false, |changed, site| changed | self.take_in(*site, &plan.code[*site as usize]))
        {
        }
    }

    /// A plain text, as most paths are. Lowering makes templates of one text of no others.
    #[inline]
    fn is_plain(&self, operand: Operand) -> bool {
        self.plan.literal(operand).is_some_and(|text| {
            matches!(operand.source(), Source::Template(_))
                || path::problems(text, self.directory).worst.is_none()
        })
    }

    /// What an instruction assigns can have the shape of a variable.
    fn depends(&self, instr: &Instr) -> bool {
        let has_variable = |operand: Operand| match operand.source() {
            Source::Const(_) | Source::Absent => false,
            Source::Slot(_) | Source::Template(_) => true,
        };
        match *instr {
            Instr::Move { src, .. } => has_variable(src),
            Instr::Binary { op, .. } => op == BinaryOp::Add,
            // They assign nothing, or numbers. What is not named here is looked at again: that
            // costs time, where a forgotten one would cost the proof.
            Instr::Op { .. }
            | Instr::Loop { .. }
            | Instr::Next { .. }
            | Instr::Jump { .. }
            | Instr::JumpIf { .. } => false,
            _ => true,
        }
    }

    /// Takes in what an instruction assigns; false if nothing new came of it.
    #[inline]
    fn take_in(&mut self, site: Pc, instr: &Instr) -> bool {
        if let Instr::CallProc { proc, args } = instr {
            let frame = self.frames[*proc as usize];
            let mut changed = false;
            for (at, operand) in self.plan.args[args.range()].iter().enumerate() {
                let shape = self.shape(site, *operand);
                changed |= self.add(frame + at, shape);
            }
            return changed;
        }
        let Some((slot, shape)) = self.result(site, instr) else { return false };
        let at = self.index(site, slot);
        self.add(at, shape)
    }

    fn add(&mut self, at: usize, shape: Shape) -> bool {
        let joined = self.shapes[at].or(shape);
        std::mem::replace(&mut self.shapes[at], joined) != joined
    }

    /// What an instruction writes, and where.
    fn result(&self, site: Pc, instr: &Instr) -> Option<(Slot, Shape)> {
        Some(match *instr {
            Instr::Move { dst, src } => (dst, self.shape(site, src)),
            Instr::Binary { op: BinaryOp::Add, dst, a, b } => {
                let joined = self.shape(site, a).then(self.shape(site, b));
                (dst, joined.or(Shape::NUMBER))
            }
            Instr::Unary { dst, .. } | Instr::Binary { dst, .. } | Instr::Test { dst, .. } => {
                (dst, Shape::NUMBER)
            }
            Instr::Function { function: Function::Min | Function::Max, dst, args }
            | Instr::List { dst, args } => {
                let operands = &self.plan.args[args.range()];
                let shapes = operands.iter().map(|operand| self.shape(site, *operand));
                (dst, shapes.fold(Shape::NONE, Shape::or))
            }
            Instr::Function { dst, .. } => (dst, Shape::NUMBER),
            Instr::Internal { what, dst } => (dst, self.internal(what)),
            Instr::Index { dst, list, .. } => (dst, self.shape(site, list)),
            Instr::Loop { code } => {
                let var = self.plan.loops[code as usize].var;
                return (var != NO_SLOT).then_some((var, Shape::NUMBER));
            }
            Instr::Op { dst, .. } => return (dst != NO_SLOT).then_some((dst, Shape::NUMBER)),
            _ => return None,
        })
    }

    fn shape(&self, site: Pc, operand: Operand) -> Shape {
        match operand.source() {
            Source::Slot(slot) => self.shapes[self.index(site, slot)],
            Source::Const(index) => self.of_value(&self.plan.consts[index as usize]),
            Source::Template(index) => self.of_template(site, index),
            Source::Absent => Shape::NONE,
        }
    }

    fn of_value(&self, value: &Value) -> Shape {
        match value {
            Value::Str(text) => Shape::of_text(text, self.directory),
            Value::List(items) => {
                items.iter().map(|item| self.of_value(item)).fold(Shape::NONE, Shape::or)
            }
            _ => Shape::NUMBER,
        }
    }

    fn of_template(&self, site: Pc, index: u32) -> Shape {
        let template = self.plan.templates[index as usize];
        let pieces = &self.plan.pieces[template.start as usize..template.end as usize];
        pieces.iter().fold(Shape::of_text(b"", None), |shape, piece| {
            shape.then(match piece {
                Piece::Text { start, end } => {
                    let text = &self.plan.text[*start as usize..*end as usize];
                    Shape::of_text(text, self.directory)
                }
                Piece::Value(operand) => self.shape(site, *operand),
                Piece::Internal(what) => self.internal(*what),
            })
        })
    }

    fn internal(&self, what: Internal) -> Shape {
        if what != Internal::GroupName {
            return Shape::NUMBER;
        }
        let names = self.plan.groups.iter().map(|group| group.name.as_bytes());
        let shapes = names.map(|name| Shape::of_text(name, self.directory));
        shapes.fold(Shape::of_text(b"", None), Shape::or)
    }

    fn reason(&self, site: Pc, operand: Operand, links: &[Vec<u8>]) -> Option<&'static str> {
        if links.is_empty() && self.is_plain(operand) {
            return None;
        }
        if let Some(reason) = self.shape(site, operand).leaves() {
            return Some(reason);
        }
        if links.is_empty() {
            return None;
        }
        let known = self.known_start(operand);
        let meets = |link: &Vec<u8>| link.starts_with(&known) || known.starts_with(link);
        links.iter().any(meets).then_some("a symbolic link of this program may have this name")
    }

    /// How the names begin that symbolic links may have, as far as it is known. What
    /// is renamed or linked may be one too. `sites`: [`Found::naming`].
    fn link_names(&self, sites: &[Pc]) -> Vec<Vec<u8>> {
        let names = sites.iter().filter_map(|site| match self.plan.code[*site as usize] {
            Instr::Op { op, args, .. } => Some((op, self.plan.args[args as usize + 1])),
            _ => None,
        });
        let names: Vec<(Op, Operand)> = names.collect();
        if names.iter().all(|(op, _)| *op != Op::Symlink) {
            return Vec::new();
        }
        let mut starts: Vec<Vec<u8>> =
            names.iter().map(|(_, operand)| self.known_start(*operand)).collect();
        starts.sort_unstable();
        starts.dedup();
        // One that says nothing is enough; and where there are very many, nothing is asked.
        if starts.len() > 64 { vec![Vec::new()] } else { starts }
    }

    /// The text before the first value in a path, without what has no meaning in it.
    fn known_start(&self, operand: Operand) -> Vec<u8> {
        if let Some(text) = self.plan.literal(operand) {
            return self.normalised(text);
        }
        let Source::Template(index) = operand.source() else { return Vec::new() };
        let first = self.plan.templates[index as usize].start as usize;
        match self.plan.pieces.get(first) {
            Some(Piece::Text { start, end }) => {
                self.normalised(&self.plan.text[*start as usize..*end as usize])
            }
            _ => Vec::new(),
        }
    }

    /// Without the run directory, `.` components and double slashes. Of what may go on,
    /// only whole components and a last part that cannot turn into `.` are kept.
    fn normalised(&self, text: &[u8]) -> Vec<u8> {
        let directory = self.directory.map(|path| path.trim_end_matches('/').as_bytes());
        let inside = directory.and_then(|directory| text.strip_prefix(directory));
        let text = inside.filter(|rest| rest.first() == Some(&b'/')).unwrap_or(text);
        let mut result: Vec<u8> = Vec::new();
        for part in text.split(|byte| *byte == b'/') {
            if part.is_empty() || part == b"." {
                continue;
            }
            if !result.is_empty() {
                result.push(b'/');
            }
            result.extend_from_slice(part);
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use crate::source::NoIncludes;
    use crate::{Binding, compile};

    fn reasons(text: &str) -> Vec<String> {
        let binding = Binding { directory: Some("/run/dir".into()), ..Binding::new(4) };
        let compiled = compile("test.ppl", text.into(), &mut NoIncludes, &binding);
        let plan = compiled.plan.unwrap_or_else(|| panic!("{text}: {:?}", compiled.diagnostics));
        plan.unproved.into_iter().map(|unproved| unproved.reason).collect()
    }

    #[test]
    fn paths_that_are_proved() {
        for text in [
            "$d = \"d-$$rank\"; mkdir($d); repeat $i 10 write(\"$d/f-$i\", 1);",
            "write(\"$$env(PWD)/a\", 1); repeat $i 2 write(\"$$env(PWD)/$i\", 1);",
            "$p = \"a\"; repeat 2 { write(\"$p/x\", 1); $p = \"b/c\"; }",
            "$l = [\"a\", \"b\"]; repeat $i 2 stat($l[$i]);",
            "define proc p($n) { stat(\"$n.new\"); } p(\"a\"); p(\"b/c\");",
            "define groups {\"g\":D}; group \"g\" stat(\"x-$$group\");",
            "$x = 0.5; repeat $i 2 { $x = $x * 2; stat(\"$x\"); }",
        ] {
            assert_eq!(reasons(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn paths_that_are_not() {
        for (text, reason) in [
            ("$p = \".\"; repeat 2 { stat(\".$p\"); $p = \"x\"; }", "`..`"),
            ("$l = [\"a\", \"..\"]; repeat $i 2 stat($l[$i]);", "`..`"),
            (
                "$l = [\"a\", \"/etc\"]; repeat $i 2 stat(\"$$env(PWD)\" + $l[$i] + $$rank);",
                "absolute",
            ),
            ("define proc p($n) { stat($n); } p(\"/etc\");", "absolute"),
            ("define proc p($n) { if ($n == \"\") stat(\"$n/x\"); } p(\"\");", "absolute"),
            ("symlink(\"a\", \"l\");", "symbolic link"),
            // What is assigned last is read first, three turns later.
            (
                "$a = \"x\"; $b = $a; $c = $b; repeat 4 { stat($c); $c = $b; $b = $a; $a = \"..\"; }",
                "`..`",
            ),
            ("$p = \"a\"; repeat 3 { stat($p); $p = $p + \"/..\"; }", "`..`"),
        ] {
            let found = reasons(text);
            assert!(found.first().is_some_and(|found| found.contains(reason)), "{text}: {found:?}");
        }
    }

    #[test]
    fn names_of_links_are_not_proved_and_others_are() {
        for (text, count) in [
            ("symlink(\"a\", \"d/l\"); stat(\"d/l/x\"); stat(\"./d//l\"); stat(\"e\");", 3),
            ("symlink(\"a\", \"l-$$rank\"); stat(\"l-5\"); stat(\"m\");", 2),
            ("symlink(\"a\", \"l\"); rename(\"l\", \"m\"); stat(\"m\"); stat(\"n\");", 3),
            ("symlink(\"a\", \"l\"); stat(\"$$rank\");", 2),
            ("rename(\"l\", \"m\"); stat(\"m\");", 0),
        ] {
            assert_eq!(reasons(text).len(), count, "{text}");
        }
    }
}
