//! Confinement by proof (semantics.md section 3): which paths provably stay inside
//! the run directory.
//!
//! What each variable can hold is worked out over all assignments of the program, in
//! any order, as a [`Shape`]; a path is proved if no text of its shape leaves. Statements that
//! could lead paths of any shape out are not proved: a symbolic link whose target may go up or be
//! absolute, because a rename may turn it outwards, and permissions by which somebody else may put one
//! into a directory. A link that leads down leads only beneath the directory that holds it, wherever
//! that is moved, and so do chains of such links. So names without `..` stay inside.

use super::shape::Shape;
use crate::check::path;
use model::function::Gives;
use model::op::ParamKind;
use model::plan::{
    Args, BinaryOp, Instr, Internal, NO_SLOT, Operand, Pc, Piece, Plan, Slot, Source, Unproved,
};
use model::types::Types;
use model::{Op, Value};

/// Fills [`Plan::unproved`].
pub(crate) fn prove(plan: &mut Plan, roots: &[String]) {
    let mut facts = Facts::new(plan, roots);
    let found = facts.survey();
    facts.settle(&found.dependent);
    let unproved = found.open.iter().filter_map(|site| {
        let instr = &plan.code[*site as usize];
        let mut paths = paths_of(plan, instr).into_iter().flatten();
        // The two paths of a rename are one place.
        let reason = facts.opens_a_way(*site, instr);
        let reason = reason.or_else(|| paths.find_map(|operand| facts.reason(*site, operand)))?;
        Some(Unproved { site: *site, reason: reason.into() })
    });
    plan.unproved = unproved.collect();
}

/// The operands of an instruction that are paths, or what links hold.
#[inline]
pub(crate) fn paths_of(plan: &Plan, instr: &Instr) -> [Option<Operand>; 2] {
    match instr {
        Instr::Op { op, args, .. } => [0, 1].map(|at| {
            let is_path = PATHS[*op as usize][at];
            plan.args.get(*args as usize + at).copied().filter(|_| is_path)
        }),
        Instr::Function { function, args, .. } if function.row().takes_path() => {
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
    /// They may open a way out for other paths, or have a path that is not a plain text.
    open: Vec<Pc>,
}

/// What is known about all variables.
struct Facts<'a> {
    plan: &'a Plan,
    roots: &'a [String],
    /// Globals, then the frames of the procs.
    shapes: Vec<Shape>,
    /// Where each proc's frame begins in `shapes`.
    frames: Vec<usize>,
}

impl<'a> Facts<'a> {
    fn new(plan: &'a Plan, roots: &'a [String]) -> Facts<'a> {
        let mut end = plan.globals.len();
        let frames = plan.procs.iter().map(|proc| {
            end += proc.locals as usize;
            end - proc.locals as usize
        });
        let frames: Vec<usize> = frames.collect();
        Facts { plan, roots, shapes: vec![Shape::NONE; end], frames }
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
            let mut paths = paths_of(self.plan, instr).into_iter().flatten();
            let plain = paths.all(|operand| self.is_plain(operand));
            if !plain || matches!(instr, Instr::Op { op: Op::Symlink | Op::Chmod, .. }) {
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
                || path::problems(text, self.roots).worst.is_none()
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
            Instr::Function { function, .. } => function.row().gives == Gives::List,
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
                (dst, self.shape(site, a).plus(self.shape(site, b)).or(Shape::NUMBER))
            }
            Instr::Unary { dst, .. } | Instr::Binary { dst, .. } | Instr::Test { dst, .. } => {
                (dst, Shape::NUMBER)
            }
            Instr::List { dst, args } => {
                let operands = &self.plan.args[args.range()];
                let shapes = operands.iter().map(|operand| self.shape(site, *operand));
                (dst, shapes.fold(Shape::NONE, Shape::or).in_list())
            }
            Instr::Function { function, dst, args } => {
                let list = self.plan.args.get(args.start as usize);
                let shape = match (function.row().gives, list) {
                    (Gives::List, Some(list)) => self.shape(site, *list),
                    // The name of an error, or nothing.
                    (Gives::Str, _) => Shape::NUMBER.or(Shape::of_text(b"", &[])),
                    _ => Shape::NUMBER,
                };
                (dst, shape)
            }
            Instr::Internal { what, dst } => (dst, self.internal(what)),
            Instr::Index { dst, list, .. } => (dst, self.shape(site, list).element()),
            Instr::Loop { code } => {
                let var = self.plan.loops[code as usize].var;
                return (var != NO_SLOT).then_some((var, Shape::NUMBER));
            }
            Instr::Op { op: Op::Readdir, dst, .. } if dst != NO_SLOT => {
                (dst, Shape::NAME.in_list())
            }
            Instr::SetItem { list, args } => (list, self.changed(site, args, 1)),
            Instr::Push { list, args } => (list, self.changed(site, args, 0)),
            Instr::Op { dst, .. } => return (dst != NO_SLOT).then_some((dst, Shape::NUMBER)),
            _ => return None,
        })
    }

    /// A value that comes into a list, or with further indices into a list in it.
    fn changed(&self, site: Pc, args: Args, indices: usize) -> Shape {
        let Some((value, path)) = self.plan.args[args.range()].split_last() else {
            return Shape::NONE;
        };
        path.iter()
            .skip(indices)
            .fold(self.shape(site, *value).in_list(), |shape, _| shape.in_list())
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
            Value::Str(text) => Shape::of_text(text, self.roots),
            Value::List(items) => {
                let items = items.iter().map(|item| self.of_value(item));
                items.fold(Shape::NONE, Shape::or).in_list()
            }
            _ => Shape::NUMBER,
        }
    }

    fn of_template(&self, site: Pc, index: u32) -> Shape {
        let template = self.plan.templates[index as usize];
        let pieces = &self.plan.pieces[template.start as usize..template.end as usize];
        pieces.iter().fold(Shape::of_text(b"", &[]), |shape, piece| {
            shape.then(match piece {
                Piece::Text { start, end } => {
                    let text = &self.plan.text[*start as usize..*end as usize];
                    Shape::of_text(text, self.roots)
                }
                Piece::Value(operand) => self.shape(site, *operand),
                Piece::Formatted { .. } => Shape::NUMBER,
                Piece::Internal(what) => self.internal(*what),
            })
        })
    }

    fn internal(&self, what: Internal) -> Shape {
        if !what.row().types.may(Types::STR) {
            return Shape::NUMBER;
        }
        // All texts among them are names of groups.
        let names = self.plan.groups.iter().map(|group| group.name.as_bytes());
        let shapes = names.map(|name| Shape::of_text(name, self.roots));
        shapes.fold(Shape::of_text(b"", &[]), Shape::or)
    }

    /// Why other paths may leave after this statement.
    #[inline]
    fn opens_a_way(&self, site: Pc, instr: &Instr) -> Option<&'static str> {
        match *instr {
            Instr::Op { op: Op::Symlink, args, .. } => {
                self.shape(site, self.plan.args[args as usize]).leads_up()
            }
            Instr::Op { op: Op::Chmod, args, .. } => {
                let mode = self.plan.args[args as usize + 1];
                (!self.keeps_others_out(mode)).then_some("others may be allowed to write there")
            }
            _ => None,
        }
    }

    /// A mode that is known, without write permission for the group and others.
    fn keeps_others_out(&self, mode: Operand) -> bool {
        let Source::Const(index) = mode.source() else { return false };
        matches!(self.plan.consts[index as usize], Value::Int(mode) if mode & 0o022 == 0)
    }

    fn reason(&self, site: Pc, operand: Operand) -> Option<&'static str> {
        if self.is_plain(operand) {
            return None;
        }
        self.shape(site, operand).leaves()
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
            "$l = [\"b\"]; repeat 3 { $l = sort($l + [\"a/b\"]); stat($l[0]); }",
            "$a = \"d\"; $b = \"/f\"; repeat 2 { stat($a + $b); $a = \"e\"; $b = \"/g\"; }",
            "$l = readdir(\"d\"); push($l, \"x\"); repeat $n in sort($l) { stat(\"d/$n\"); stat(\"$n.x\"); }",
            "repeat 2 if (!exists(\"f-$$rank\")) create(\"f-$$rank\" + \".x\");",
            "define proc p($n) { stat(\"$n.new\"); } p(\"a\"); p(\"b/c\");",
            "define groups {\"g\":D}; group \"g\" stat(\"x-$$group\");",
            "$x = 0.5; repeat $i 2 { $x = $x * 2; stat(\"$x\"); }",
            "symlink(\"a\", \"d/l\"); stat(\"d/l/x\"); rename(\"d\", \"e\"); link(\"e/l\", \"m\");",
            "param $n = 3; repeat $i $n symlink(\"d-$$rank/./f-$i\", \"l-$i\");",
            "$l = [\"a/b\", \".\"]; repeat $t in $l symlink($t, \"$$env(PWD)/l-$t\");",
            "$t = \"a\"; repeat $i 3 { symlink($t, \"l-$i\"); $t = $t + \"/b\"; }",
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
            ("$l = []; repeat 2 { if (len($l)) stat($l[0]); push($l, \"/etc\"); }", "absolute"),
            ("$l = [\"a\"]; repeat $p in $l { stat($p); $l[0] = \"..\"; stat($l[0]); }", "`..`"),
            ("$l = []; repeat 2 { stat(sort($l)[0]); $l = $l + [\"/etc\"]; }", "absolute"),
            ("$p = \".\"; repeat 2 { if (exists(\".$p\")) print 1; $p = \"x\"; }", "`..`"),
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
    fn what_leads_other_paths_out_is_not_proved() {
        for (text, reason) in [
            ("symlink(\"../a\", \"d/l\"); stat(\"d/l\");", "link may have a component `..`"),
            ("symlink(\"b/../a\", \"d/l\");", "link may have a component `..`"),
            ("symlink(\"$$env(PWD)/a\", \"l\");", "link may be absolute"),
            ("symlink(\"a\\\\..\\\\b\", \"l\");", "which SMB takes for `/`"),
            ("$l = readdir(\"d\"); repeat $n in $l symlink($n, \"x$n\");", "which SMB takes"),
            (
                "$t = \"a\"; repeat $i 3 { symlink($t, \"l-$i\"); $t = $t + \"/..\"; }",
                "link may have a component `..`",
            ),
            ("$t = \".\"; repeat 2 { symlink(\".$t\", \"d/l\"); $t = \"x\"; }", "`..`"),
            ("chmod(\"d\", 511);", "others may be allowed"),
            ("chmod(\"d\", 420 + $$rank);", "others may be allowed"),
        ] {
            let found = reasons(text);
            assert!(found.len() == 1 && found[0].contains(reason), "{text}: {found:?}");
        }
        for text in ["rename(\"l\", \"m\"); link(\"m\", \"n\");", "chmod(\"d\", 493);"] {
            assert_eq!(reasons(text), [""; 0], "{text}");
        }
    }
}
