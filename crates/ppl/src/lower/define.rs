//! Definitions: they hold in the whole program, so they are taken in before its code.

use super::Lower;
use super::groups::WORLD;
use crate::ast::{GroupSize, GroupTag, List, Stmt};
use crate::diag::{Code, Diagnostic};
use crate::facts::Kind;
use crate::suggest::nearest;
use model::Value;
use model::group::{self, GroupDef, Remark, Size, Tag};
use model::plan::{Pattern, Span};

/// More groups than this are refused: all their intersections are worked out.
const MAX_GROUPS: usize = 256;

/// A group of the program and its place.
struct Defined {
    def: GroupDef,
    span: Span,
}

impl Lower<'_> {
    /// Takes in the definitions of the program and its included files.
    pub(super) fn definitions(&mut self) {
        let mut groups = Vec::new();
        self.collect(self.ast.top, &mut groups);
        self.unknown_params();
        self.resolve_groups(groups);
        self.hide_params();
    }

    fn collect(&mut self, list: List, groups: &mut Vec<Defined>) {
        for id in self.ast.stmts_in(list) {
            match self.ast.stmt(id) {
                Stmt::Include(_, inner) => self.collect(inner, groups),
                Stmt::Param(number) => self.param_definition(number),
                Stmt::Groups(list) => self.group_definitions(list, groups),
                Stmt::Pattern(number) => self.pattern_definition(number),
                Stmt::Hints(name, value) => self.hints_definition(name, value),
                _ => {}
            }
        }
    }

    fn group_definitions(&mut self, list: List, groups: &mut Vec<Defined>) {
        for at in list.start..list.start + list.len {
            let def = self.ast.groups[at as usize];
            // One too many is enough to refuse them.
            if groups.len() > MAX_GROUPS {
                return;
            }
            let Some(name) = self.group_name(def.name) else { continue };
            let span = self.ast.expr_span(def.name);
            let symbol = self.facts.find(Kind::Group, &name);
            if symbol.is_some_and(|symbol| self.facts.symbol(symbol).span != span) {
                continue;
            }
            let tag = match def.tag {
                GroupTag::S => Tag::S,
                GroupTag::D => Tag::D,
                GroupTag::None => Tag::None,
            };
            let size = def.size.and_then(|size| self.group_size(size));
            groups.push(Defined { def: GroupDef { name, tag, subtag: def.subtag, size }, span });
        }
    }

    fn group_size(&mut self, size: GroupSize) -> Option<Size> {
        let (GroupSize::Ranks(id) | GroupSize::Percent(id)) = size;
        let percent = matches!(size, GroupSize::Percent(_));
        let ev = self.expr(id);
        if ev.is_bad() {
            return None;
        }
        let span = self.ast.expr_span(id);
        let found = match self.constant(ev) {
            None => {
                let message = "expected a size made of constants and parameters";
                self.reports.push(Diagnostic::new(Code::BadValue, span, message));
                return None;
            }
            Some(value) if percent => value.as_float().map(Size::Percent),
            Some(value) => value.as_size().map(Size::Ranks),
        };
        match found {
            Ok(Size::Percent(percent)) if !(0.0..=100.0).contains(&percent) => {
                let message = format!("expected a share from 0% to 100%, found {percent}%");
                self.reports.push(Diagnostic::new(Code::BadValue, span, message));
                None
            }
            Ok(size) => Some(size),
            Err(error) => {
                self.no_value(error, span);
                None
            }
        }
    }

    fn resolve_groups(&mut self, mut groups: Vec<Defined>) {
        if let Some(too_many) = groups.get(MAX_GROUPS) {
            let message = format!("expected at most {MAX_GROUPS} groups, found one more");
            let help = "ranks that do the same share a group; $$grank tells them apart";
            self.reports.push(Diagnostic::new(Code::BadValue, too_many.span, message).help(help));
            groups.truncate(MAX_GROUPS);
        }
        self.sizes_given(&mut groups);
        let defs: Vec<GroupDef> = groups.iter().map(|group| group.def.clone()).collect();
        let (resolved, remarks) = group::resolve(&defs, self.plan.ranks);
        for remark in remarks {
            self.group_remark(remark, &groups[remark.group()]);
        }
        self.plan.groups = resolved;
        let of_pattern = |pattern: &Pattern| pattern.group.as_deref() == Some(WORLD);
        if self.plan.patterns.iter().any(of_pattern)
            && self.facts.find(Kind::Group, WORLD).is_none()
        {
            self.world(WORLD);
        }
    }

    /// Sizes of the command line win over those of the program.
    fn sizes_given(&mut self, groups: &mut [Defined]) {
        for (name, size) in &self.binding.groups {
            let name = name.trim();
            let names = || groups.iter().map(|group| group.def.name.as_str());
            let Some(at) = names().position(|known| known == name) else {
                let help = match nearest(name, names()) {
                    Some(name) => format!("the nearest is \"{name}\""),
                    None => "groups are defined in the program: define groups {...};".into(),
                };
                let message = format!("--group {name}: the program has no group of this name");
                let diagnostic = Diagnostic::new(Code::UnknownName, Span::COMMAND_LINE, message);
                self.reports.push(diagnostic.help(help));
                continue;
            };
            match size.as_deref().map(|text| (text, parse_size(text))) {
                None => {}
                Some((_, Some(size))) => groups[at].def.size = Some(size),
                Some((text, None)) => {
                    let message = format!(
                        "--group {name}: expected a number of ranks or a percentage, found {text:?}"
                    );
                    let diagnostic = Diagnostic::new(Code::BadValue, Span::COMMAND_LINE, message);
                    self.reports
                        .push(diagnostic.help("for example --group writers:4 or writers:50%"));
                }
            }
        }
    }

    fn group_remark(&mut self, remark: Remark, group: &Defined) {
        let asked_for_none = matches!(group.def.size, Some(Size::Ranks(0)));
        if self.binding.ranks_assumed && !asked_for_none {
            return;
        }
        let ranks = model::words::count(self.plan.ranks, "rank");
        let message = format!("group \"{}\" on {ranks}: {remark}", group.def.name);
        self.reports.push(Diagnostic::new(Code::EmptyGroup, group.span, message));
    }
}

fn parse_size(text: &str) -> Option<Size> {
    let text = text.trim();
    match text.strip_suffix('%') {
        Some(percent) => {
            let percent: f64 = percent.trim().parse().ok()?;
            (0.0..=100.0).contains(&percent).then_some(Size::Percent(percent))
        }
        None => Value::str(text).as_size().ok().map(Size::Ranks),
    }
}
