//! `include "file";`: the loader brings the text, its statements stand in place.

use super::{Bad, Parse, Parser};
use crate::ast::{List, Stmt, StmtId};
use crate::diag::{Code, Diagnostic};
use crate::token::{Kind, Token};
use model::plan::Span;

/// Files may include files this deep.
const MAX_CHAIN: usize = 32;
/// Number of inclusions in one program.
const MAX_INCLUDES: usize = 10_000;

impl Parser<'_, '_, '_> {
    /// `include STRING ;`; the word is consumed.
    pub(super) fn include(&mut self, start: u32) -> Parse<StmtId> {
        let token = self.tok;
        let path =
            self.name_string("the path of the file in quotes, as in include \"lib.ppl\";")?;
        self.semi("the path")?;
        let list = match token.kind {
            Kind::Str => self.included(token),
            _ => List::default(),
        };
        Ok(self.push_stmt(Stmt::Include(path, list), start))
    }

    /// The statements of the file; none after an error.
    fn included(&mut self, token: Token) -> List {
        if self.cx.loader.is_none() {
            return List::default();
        }
        self.load(token).unwrap_or_default()
    }

    fn load(&mut self, token: Token) -> Parse<List> {
        let path = String::from_utf8_lossy(&crate::text::plain(self.slice(token))).into_owned();
        self.check_limits(token)?;
        let from = self.cx.chain.last().cloned().unwrap_or_default();
        let loaded = match &mut self.cx.loader {
            Some(loader) => loader.load(&from, &path),
            None => return Ok(List::default()),
        };
        let (name, bytes) = loaded.map_err(|why| {
            self.include_error(token, format!("cannot include \"{path}\": {why}"), "")
        })?;
        self.check_loop(token, &name)?;
        self.splice(token, name, bytes)
    }

    fn check_limits(&mut self, token: Token) -> Parse<()> {
        self.cx.includes += 1;
        if self.cx.chain.len() > MAX_CHAIN {
            let chain = self.cx.chain.join(" -> ");
            let message = format!("files include files deeper than {MAX_CHAIN} levels: {chain}");
            return Err(self.include_error(
                token,
                message,
                "include the inner files from the outer ones",
            ));
        }
        if self.cx.includes > MAX_INCLUDES {
            let message = format!("more than {MAX_INCLUDES} inclusions in one program");
            return Err(self.include_error(token, message, "define a proc once and call it"));
        }
        Ok(())
    }

    fn check_loop(&mut self, token: Token, name: &str) -> Parse<()> {
        let Some(at) = self.cx.chain.iter().position(|known| known == name) else {
            return Ok(());
        };
        let chain = self.cx.chain[at..].join(" -> ");
        let message = format!("{name} includes itself: {chain} -> {name}");
        Err(self.include_error(token, message, "move what both need into a third file"))
    }

    fn splice(&mut self, token: Token, name: String, bytes: Vec<u8>) -> Parse<List> {
        let (id, problems) = self.cx.sources.add(&name, bytes);
        let bad = !problems.is_empty();
        for mut problem in problems {
            problem.related.push((token.span(), "included here".into()));
            self.cx.push(problem);
        }
        if bad {
            return Err(Bad);
        }
        self.cx.chain.push(name);
        let list = self.cx.file(id);
        self.cx.chain.pop();
        Ok(list)
    }

    /// Reported beside [`Parser::error`], whose rule is about tokens, not files.
    #[cold]
    fn include_error(&mut self, token: Token, message: String, help: &str) -> Bad {
        let span: Span = token.span();
        let diagnostic = Diagnostic::new(Code::Include, span, message);
        self.cx.push(if help.is_empty() { diagnostic } else { diagnostic.help(help) });
        Bad
    }
}
