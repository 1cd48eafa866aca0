//! Which variable a name means at the place being read.

use super::Resolver;
use crate::ast::Name;
use crate::facts::{Kind, Symbol, SymbolId};
use model::plan::Span;
use model::types::Types;
use rustc_hash::FxHashMap;

/// No variable.
const NONE: u32 = u32::MAX;

/// Variables that are visible.
#[derive(Default)]
pub(super) struct Scopes {
    /// By name: the variable at top level.
    globals: Vec<u32>,
    /// The body of a proc or pattern being read.
    body: Option<Body>,
    /// Names in strings, by a cheap hash.
    recent: Vec<Option<Name>>,
}

/// The body of a proc or pattern.
struct Body {
    owner: Option<SymbolId>,
    locals: FxHashMap<Name, SymbolId>,
}

impl Scopes {
    /// What a name means here.
    pub(super) fn visible(&self, name: Name) -> Option<SymbolId> {
        let local = self.body.as_ref().and_then(|body| body.locals.get(&name).copied());
        local.or_else(|| self.global(name))
    }

    pub(super) fn global(&self, name: Name) -> Option<SymbolId> {
        let symbol = self.globals.get(name.0 as usize).copied().filter(|symbol| *symbol != NONE);
        symbol.map(SymbolId)
    }

    /// What the running scope itself knows of a name; bodies do not write globals.
    fn here(&self, name: Name) -> Option<SymbolId> {
        match &self.body {
            Some(body) => body.locals.get(&name).copied(),
            None => self.global(name),
        }
    }

    /// Lets a name mean something in the running scope; gives what it meant.
    pub(super) fn replace(&mut self, name: Name, symbol: Option<SymbolId>) -> Option<SymbolId> {
        if let Some(body) = &mut self.body {
            return match symbol {
                Some(symbol) => body.locals.insert(name, symbol),
                None => body.locals.remove(&name),
            };
        }
        let at = name.0 as usize;
        if at >= self.globals.len() {
            self.globals.resize(at + 1, NONE);
        }
        let before = std::mem::replace(&mut self.globals[at], symbol.map_or(NONE, |id| id.0));
        (before != NONE).then_some(SymbolId(before))
    }
}

impl Resolver<'_> {
    /// A new symbol, visible from here on.
    pub(super) fn symbol(&mut self, kind: Kind, span: Span, types: Types, number: u32) -> SymbolId {
        let owner = self.scopes.body.as_ref().and_then(|body| body.owner);
        self.facts.symbols.push(Symbol {
            kind,
            types,
            span,
            number,
            ordinal: 0,
            definitions: 1,
            owner,
            since: self.now,
            within: None,
        });
        SymbolId(self.facts.symbols.len() as u32 - 1)
    }

    /// A variable gets a value: a new one, or the one that is there.
    pub(super) fn set(&mut self, kind: Kind, name: Name, span: Span, types: Types) -> SymbolId {
        if let Some(known) = self.scopes.here(name) {
            let symbol = &mut self.facts.symbols[known.0 as usize];
            symbol.types = symbol.types.or(types);
            symbol.definitions += 1;
            return known;
        }
        let symbol = self.symbol(kind, span, types, 0);
        self.scopes.replace(name, Some(symbol));
        symbol
    }

    /// Reads the body of a proc or pattern: what is set in it ends with it.
    pub(super) fn body(&mut self, owner: Option<SymbolId>, read: impl FnOnce(&mut Self)) {
        let locals = FxHashMap::default();
        if let Some(owner) = owner {
            self.facts.bodies.insert(owner, self.now);
        }
        let outer = self.scopes.body.replace(Body { owner, locals });
        read(self);
        self.scopes.body = outer;
    }

    /// What a name in a string means, most often without asking the tree's own table.
    pub(super) fn visible_text(&mut self, text: &str) -> Option<SymbolId> {
        let (first, last) = (text.bytes().next()?, text.bytes().last()?);
        let recent = &mut self.scopes.recent;
        recent.resize(64, None);
        let slot = (usize::from(first) + usize::from(last) * 5 + text.len()) % 64;
        let name = match recent[slot].filter(|name| self.ast.names.text(*name) == text) {
            Some(name) => name,
            None => self.ast.names.find(text)?,
        };
        recent[slot] = Some(name);
        self.scopes.visible(name)
    }
}
