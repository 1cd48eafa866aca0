//! Tokens: what kind of word or sign, and where. Made by [`crate::lex`] one at a
//! time; there is no vector of them, so that their number costs no memory.

use model::plan::Span;

macro_rules! kinds {
    ($( $name:ident $text:literal; )*) => {
        /// What a token is.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Kind { $( #[doc = $text] $name, )* }

        impl Kind {
            /// The token in words for messages: "`;`", "a string".
            pub fn text(self) -> &'static str {
                match self { $( Kind::$name => $text, )* }
            }
        }
    };
}

kinds! {
    End "the end of the file";
    Error "text that was reported already";
    Word "a word";
    Var "a variable";
    Internal "an internal variable";
    Str "a string";
    Int "an integer";
    IntMin "the number 9223372036854775808";
    Float "a float";
    Duration "a duration";
    Rate "a rate";
    LParen "`(`";
    RParen "`)`";
    LBracket "`[`";
    RBracket "`]`";
    LBrace "`{`";
    RBrace "`}`";
    Comma "`,`";
    Semi "`;`";
    Colon "`:`";
    Assign "`=`";
    DotDot "`..`";
    OrOr "`||`";
    AndAnd "`&&`";
    EqEq "`==`";
    NotEq "`!=`";
    Lt "`<`";
    Le "`<=`";
    Gt "`>`";
    Ge "`>=`";
    Plus "`+`";
    Minus "`-`";
    Percent "`%`";
    Star "`*`";
    Slash "`/`";
    Caret "`^`";
    Bang "`!`";
}

/// One token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: Kind,
    /// First byte, in the joined text of all files.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
    /// Numbers: the value, for floats its bits, for durations nanoseconds, for
    /// rates the number per second. Strings: 1 if [`crate::text::check`] has to look at it.
    pub value: i64,
}

impl Token {
    /// Its place.
    pub fn span(self) -> Span {
        Span { start: self.start, end: self.end }
    }
}
