//! What is around a place of a text, from its tokens: also of a statement that is not finished.

use ppl::lex::{Kind, Lexer, Token};

/// A bracket that is open at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Open {
    pub(crate) kind: Kind,
    /// The word before it in lower case; "" if there is none.
    pub(crate) word: String,
    /// Place behind it.
    pub(crate) start: usize,
    /// Commas behind it that are not in other brackets.
    pub(crate) commas: usize,
    /// `NAME` of `NAME=` behind the last comma.
    pub(crate) named: Option<String>,
}

/// The call, option or text around a place.
#[derive(Clone, Debug, Default)]
pub(crate) struct Around {
    /// Brackets that are open, the innermost last.
    pub(crate) open: Vec<Open>,
    /// The tokens of the statement before the place, and before the token that it is in.
    pub(crate) before: Vec<Token>,
    /// The token that the place is in, or at whose end it is.
    pub(crate) here: Option<Token>,
    /// The place is in a comment.
    pub(crate) in_comment: bool,
}

impl Around {
    pub(crate) fn new(text: &str, offset: usize) -> Around {
        let mut around = Around::default();
        let mut lexer = Lexer::new(text, 0);
        loop {
            let token = lexer.token();
            let (start, end) = (token.start as usize, token.end as usize);
            if token.kind == Kind::End || start >= offset {
                let comments = lexer.comments.iter();
                around.in_comment = comments
                    .filter(|comment| (comment.start as usize) < offset)
                    .any(|comment| offset <= comment.end as usize);
                return around;
            }
            if end > offset || (end == offset && !is_sign(token.kind)) {
                around.here = Some(token);
                // An unfinished string goes on to the end of its line; the lexer has reported it.
                return around;
            }
            around.take(token, text);
        }
    }

    fn take(&mut self, token: Token, text: &str) {
        match token.kind {
            Kind::LParen | Kind::LBracket | Kind::LBrace => {
                let word = self.before.last().filter(|last| last.kind == Kind::Word);
                let word = word.map_or(String::new(), |word| slice(text, *word).to_lowercase());
                let (kind, start) = (token.kind, token.end as usize);
                self.open.push(Open { kind, word, start, commas: 0, named: None });
            }
            Kind::RParen | Kind::RBracket | Kind::RBrace => {
                self.open.pop();
            }
            Kind::Comma => {
                if let Some(open) = self.open.last_mut() {
                    (open.commas, open.named) = (open.commas + 1, None);
                }
            }
            Kind::Assign => {
                let word = self.before.last().filter(|last| last.kind == Kind::Word);
                let name = word.map(|word| slice(text, *word).to_string());
                if let Some(open) = self.open.last_mut() {
                    open.named = name;
                }
            }
            _ => {}
        }
        self.before.push(token);
        let ends = matches!(token.kind, Kind::Semi | Kind::LBrace | Kind::RBrace);
        // The braces of definitions are no blocks.
        if ends && !self.is_definition(text) {
            self.before.clear();
            if token.kind == Kind::Semi {
                self.open.retain(|open| open.kind == Kind::LBrace);
            }
        }
    }

    /// The statement before the place begins with `define`.
    fn is_definition(&self, text: &str) -> bool {
        let first = self.before.first().map_or("", |first| slice(text, *first));
        let second = self.before.get(1).map_or("", |second| slice(text, *second));
        let last = self.before.last().map(|last| last.kind);
        first.eq_ignore_ascii_case("define")
            && last == Some(Kind::LBrace)
            && (second.eq_ignore_ascii_case("groups") || self.before.len() == 3)
            && !second.eq_ignore_ascii_case("proc")
    }

    /// The innermost bracket that is not a block.
    pub(crate) fn call(&self) -> Option<&Open> {
        self.open.last().filter(|open| open.kind != Kind::LBrace)
    }

    /// The word, in lower case, that the token before the place is.
    pub(crate) fn word_before(&self, text: &str) -> String {
        let last = self.before.last().filter(|last| last.kind == Kind::Word);
        last.map_or(String::new(), |last| slice(text, *last).to_lowercase())
    }
}

/// The text of a token.
pub(crate) fn slice(text: &str, token: Token) -> &str {
    text.get(token.start as usize..token.end as usize).unwrap_or("")
}

/// A place behind it is not in it.
fn is_sign(kind: Kind) -> bool {
    !matches!(
        kind,
        Kind::Word
            | Kind::Var
            | Kind::Internal
            | Kind::Str
            | Kind::Error
            | Kind::Int
            | Kind::Float
            | Kind::Duration
            | Kind::Rate
    )
}

/// The first token of a kind from a place on.
pub(crate) fn next(text: &str, from: usize, kind: Kind) -> Option<Token> {
    all(text, from).find(|token| token.kind == kind)
}

/// The first of these words from a place on.
pub(crate) fn next_word(text: &str, from: usize, word: &str) -> Option<Token> {
    let is_it =
        |token: &Token| token.kind == Kind::Word && slice(text, *token).eq_ignore_ascii_case(word);
    all(text, from).find(is_it)
}

/// The tokens of a text from a place on.
pub(crate) fn all(text: &str, from: usize) -> impl Iterator<Item = Token> + '_ {
    let mut lexer = Lexer::new(text.get(from..).unwrap_or(""), from as u32);
    std::iter::from_fn(move || Some(lexer.token()).filter(|token| token.kind != Kind::End))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn around(text: &str) -> Around {
        let offset = text.find('|').unwrap();
        Around::new(&text.replace('|', ""), offset)
    }

    #[test]
    fn the_call_around_a_place_is_found() {
        let found = around("$x = 1; fread($h, min(1, 2), |");
        let call = found.call().unwrap();
        assert_eq!((&*call.word, call.commas), ("fread", 2));
        let found = around("with (direct=true, fsync=|) { stat(\"a\"); }");
        assert_eq!(found.call().unwrap().named.as_deref(), Some("fsync"));
        assert!(around("repeat 3 { fread($h); |").call().is_none());
        assert!(around("write(\"a\", 1; |").call().is_none(), "a bracket that was forgotten");
    }

    #[test]
    fn the_token_at_a_place_is_found() {
        let kind = |text| around(text).here.map(|token| token.kind);
        assert_eq!(kind("wri|"), Some(Kind::Word));
        assert_eq!(kind("$f|"), Some(Kind::Var));
        assert_eq!(kind("stat(\"a|b\")"), Some(Kind::Str));
        assert_eq!(kind("stat(|"), None);
        assert!(around("# a| b").in_comment && !around("# a\n|").in_comment);
    }
}
