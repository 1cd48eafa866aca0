//! Whether a blank stands between two tokens of a line.

use super::facts::Facts;
use crate::token::{Kind, Token};

/// Words before a parenthesis that belongs to an expression, not to a call.
const SPACED: [&str; 13] = [
    "if", "while", "with", "repeat", "step", "until", "by", "level", "master", "else", "time",
    "ctime", "share",
];

/// What is known about the line so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Spacing {
    /// The last token; `None` at the start of a line.
    last: Option<Kind>,
    /// Nothing may stand between it and the next token.
    tight: bool,
    /// A parenthesis after it opens the arguments of a call.
    callable: bool,
    /// A bracket after it opens a label.
    labelled: bool,
    /// A comment stands after it.
    commented: bool,
    /// Open brackets.
    depth: u32,
    /// Depth inside the braces of `define groups` and `define pattern`; 0: outside.
    braces: u32,
}

impl Spacing {
    /// After the `}` of a block.
    pub(super) fn after_block() -> Spacing {
        Spacing { last: Some(Kind::RBrace), ..Spacing::default() }
    }

    /// After a comment.
    pub(super) fn comment(&mut self) {
        self.commented = true;
    }

    /// A blank stands before a comment here.
    pub(super) fn before_comment(&self) -> bool {
        self.commented || !matches!(self.last, None | Some(Kind::LParen | Kind::LBracket))
    }

    /// Takes the next token; tells whether a blank stands before it, and the number
    /// of brackets around it.
    pub(super) fn token(
        &mut self,
        token: Token,
        text: &str,
        next: Kind,
        facts: &Facts,
    ) -> (bool, u32) {
        let block = facts.block_starts.contains(token.start);
        let space = self.space(token.kind, next) && (self.last.is_some() || self.commented);
        let depth = self.brackets(token.kind, block);
        self.tight = self.is_tight(token, next, facts);
        let word = token.kind == Kind::Word;
        let spaced = SPACED.iter().any(|known| known.eq_ignore_ascii_case(text));
        self.callable =
            token.kind == Kind::Internal || (word && !spaced && !facts.bare.contains(token.start));
        self.labelled =
            word && (text.eq_ignore_ascii_case("time") || text.eq_ignore_ascii_case("ctime"));
        self.last = Some(token.kind);
        self.commented = false;
        (space, depth)
    }

    fn in_braces(&self) -> bool {
        self.braces > 0
    }

    fn space(&self, kind: Kind, next: Kind) -> bool {
        use Kind::{Assign, Colon, Comma, DotDot, LBracket, LParen, Percent};
        use Kind::{RBrace, RBracket, RParen, Semi, Slash, Str, Var, Word};
        if matches!(kind, RParen | RBracket | Comma | Semi | RBrace | Colon) {
            return false;
        }
        if self.commented {
            return true;
        }
        let after_word = self.last == Some(Word);
        let is_index = matches!(self.last, Some(Var | RParen | RBracket | Str)) || self.labelled;
        let tight = match kind {
            LParen => self.callable,
            LBracket => is_index,
            DotDot => true,
            Assign => after_word && !self.in_braces(),
            Slash => self.in_braces() && (after_word || self.last == Some(Str)),
            Percent => self.in_braces() && matches!(next, Comma | RBrace),
            _ => false,
        };
        !tight && !self.tight
    }

    /// Nothing stands between this token and the next.
    fn is_tight(&self, token: Token, next: Kind, facts: &Facts) -> bool {
        use Kind::{Assign, Colon, DotDot, LBrace, LBracket, LParen, Slash};
        match token.kind {
            LParen | LBracket | DotDot => true,
            LBrace => !facts.block_starts.contains(token.start),
            Colon => self.in_braces(),
            Assign | Slash => !self.space(token.kind, next),
            _ => facts.unary.contains(token.start),
        }
    }

    /// Counts brackets; gives their number around this token.
    fn brackets(&mut self, kind: Kind, block: bool) -> u32 {
        match kind {
            Kind::LParen | Kind::LBracket => self.depth += 1,
            Kind::LBrace if !block => {
                self.depth += 1;
                self.braces = self.depth;
            }
            Kind::RParen | Kind::RBracket => self.depth = self.depth.saturating_sub(1),
            Kind::RBrace => {
                self.depth = self.depth.saturating_sub(1);
                self.braces = 0;
            }
            _ => return self.depth,
        }
        self.depth
    }
}
