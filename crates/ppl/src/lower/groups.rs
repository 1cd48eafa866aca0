//! `group`, `master`, `barrier`.

use super::Lower;
use super::stmt::Nest;
use crate::ast::{Expr, ExprId, StmtId};
use crate::diag::{Code, Diagnostic};
use crate::facts::Kind;
use crate::suggest::nearest;
use crate::text;
use model::RankSet;
use model::plan::{Group, GroupId, Instr, Span};
use std::ops::Range;

/// The group of all ranks.
pub(super) const WORLD: &str = "world";

impl Lower<'_> {
    /// `group "name" body`
    pub(super) fn group(&mut self, name: ExprId, body: StmtId, span: Span) {
        let Some(group) = self.group_named(name) else {
            self.nested(Nest::Group, body);
            return;
        };
        let inner = self.around.active.clone().map(|ranks| meet(&ranks, self.members(group)));
        let outer = std::mem::replace(&mut self.around.active, inner);
        self.around.unsure += 1;
        let enter = self.emit(Instr::GroupEnter { group, skip: 0 }, span);
        self.in_scope(|lower| lower.nested(Nest::Group, body));
        self.emit(Instr::GroupLeave, span);
        self.patch_here(enter);
        self.around.unsure -= 1;
        self.around.active = outer;
    }

    fn members(&self, group: GroupId) -> &Range<u32> {
        &self.plan.groups[group as usize].members
    }

    /// The number of the group that a string names.
    pub(super) fn group_named(&mut self, name: ExprId) -> Option<GroupId> {
        let text = self.group_name(name)?;
        let symbol = self.facts.find(Kind::Group, &text);
        let found = symbol.map(|symbol| self.facts.symbol(symbol).ordinal);
        let found = found.filter(|group| (*group as usize) < self.plan.groups.len());
        let found = found.or_else(|| self.world(&text));
        if found.is_none() {
            let help = match nearest(&text, self.facts.names(Kind::Group)) {
                Some(name) => format!("the nearest is \"{name}\""),
                None => format!("define it: define groups {{\"{text}\":D}};"),
            };
            let message = format!("expected the name of a group, found \"{text}\"");
            let span = self.ast.expr_span(name);
            self.reports.push(Diagnostic::new(Code::UnknownName, span, message).help(help));
        }
        found
    }

    /// The group of all ranks, which is there without a definition.
    pub(super) fn world(&mut self, name: &str) -> Option<GroupId> {
        if name != WORLD {
            return None;
        }
        let known = self.plan.groups.iter().rposition(|group| group.name == WORLD);
        let number = known.unwrap_or(self.plan.groups.len());
        if known.is_none() {
            self.plan.groups.push(Group { name: WORLD.into(), members: 0..self.plan.ranks });
        }
        Some(number as GroupId)
    }

    /// The name in a string, without blanks around it; they are warned about.
    pub(super) fn group_name(&mut self, id: ExprId) -> Option<String> {
        let text = self.plain_string(id)?;
        let name = text.trim();
        if name.len() != text.len() {
            let span = self.ast.expr_span(id);
            let message = format!("the blanks around the group's name \"{text}\" are dropped");
            let fix = format!("\"{name}\"");
            self.reports.push(Diagnostic::new(Code::GroupName, span, message).fix(span, fix));
        }
        Some(name.to_string())
    }

    /// The text of a string in which `$` means nothing.
    pub(super) fn plain_string(&mut self, id: ExprId) -> Option<String> {
        if self.ast.expr(id) != Expr::Str {
            return None;
        }
        let raw = self.reader.text(self.ast.expr_span(id));
        Some(String::from_utf8_lossy(&text::plain(raw)).into_owned())
    }

    /// `master body`
    pub(super) fn master(&mut self, body: StmtId, span: Span) {
        let outer = self.around.differs;
        if self.around.active.as_ref().is_none_or(|ranks| ranks.len() > 1) {
            self.around.differs =
                Some(Span { start: span.start, end: span.start + "master".len() as u32 });
        }
        self.around.unsure += 1;
        let enter = self.emit(Instr::Master { skip: 0 }, span);
        self.statement(body);
        self.patch_here(enter);
        self.around.unsure -= 1;
        self.around.differs = outer;
    }

    /// `barrier;`, `barrier("name");`
    pub(super) fn barrier(&mut self, name: Option<ExprId>, span: Span) {
        let group = match name {
            Some(name) => match self.group_named(name) {
                Some(group) => Some(group),
                None => return,
            },
            None => None,
        };
        match group {
            // Under a condition nobody but members may get here.
            Some(group) if !self.all_members(group) => {
                if self.around.differs.is_none() {
                    self.not_members(group, span);
                }
            }
            _ => self.collective("a barrier", span),
        }
        self.emit(Instr::Barrier { group }, span);
    }

    /// All ranks of the active group are members, for all that is known.
    fn all_members(&self, group: GroupId) -> bool {
        let Some(active) = self.around.active.as_ref().filter(|active| !active.is_empty()) else {
            return true;
        };
        let members = self.members(group);
        members.start <= active.start && active.end <= members.end
    }

    #[cold]
    fn not_members(&mut self, group: GroupId, span: Span) {
        let group = &self.plan.groups[group as usize];
        let name = &group.name;
        let message = format!(
            "expected only members of \"{name}\" at its barrier, found others: it has {}",
            RankSet::from(group.members.clone())
        );
        let help = format!("put it into group \"{name}\" {{ ... }}");
        self.reports.push(Diagnostic::new(Code::Misplaced, span, message).help(help));
    }
}

/// The ranks that are in both; 0..0 if there are none.
fn meet(a: &Range<u32>, b: &Range<u32>) -> Range<u32> {
    let (start, end) = (a.start.max(b.start), a.end.min(b.end));
    if start < end { start..end } else { 0..0 }
}
