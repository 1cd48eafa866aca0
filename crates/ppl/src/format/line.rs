//! One line of the result: pieces with blanks between them, broken where it is
//! longer than it should be.

use std::borrow::Cow;

/// Lines are not made longer than this many characters.
const WIDTH: usize = 100;
/// Blanks of one level of indentation.
const STEP: usize = 4;

/// Whether a line break stands before a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Break {
    No,
    /// If the line is too long.
    May,
    Must,
}

#[derive(Debug)]
struct Piece<'t> {
    text: Cow<'t, str>,
    space: bool,
    place: Break,
    depth: u32,
}

impl Piece<'_> {
    fn width(&self) -> usize {
        usize::from(self.space) + self.text.chars().count()
    }
}

/// The pieces of a line.
#[derive(Debug, Default)]
pub(super) struct Line<'t> {
    indent: usize,
    pieces: Vec<Piece<'t>>,
    tokens: usize,
}

impl<'t> Line<'t> {
    pub(super) fn new(indent: usize) -> Line<'t> {
        Line { indent, ..Line::default() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// It holds comments and nothing else.
    pub(super) fn is_comment(&self) -> bool {
        self.tokens == 0 && !self.pieces.is_empty()
    }

    /// Adds a token; `depth` brackets are open around it.
    pub(super) fn token(&mut self, text: Cow<'t, str>, space: bool, place: Break, depth: u32) {
        self.tokens += 1;
        self.pieces.push(Piece { text, space, place, depth });
    }

    /// Adds a comment.
    pub(super) fn comment(&mut self, text: Cow<'t, str>, space: bool, place: Break) {
        self.pieces.push(Piece { text, space, place, depth: 0 });
    }

    /// Writes the line with its end; nothing if it is empty.
    pub(super) fn write(&self, out: &mut String) {
        if self.pieces.is_empty() {
            return;
        }
        let width: usize = self.pieces.iter().map(Piece::width).sum();
        let breaks = if self.indent * STEP + width > WIDTH { self.outermost() } else { None };
        self.write_filled(breaks, out);
        out.push('\n');
    }

    /// The depth of the outermost commas: breaks stand after those.
    fn outermost(&self) -> Option<u32> {
        let commas = self.pieces.iter().filter(|piece| piece.place == Break::May);
        commas.map(|piece| piece.depth).min()
    }

    /// As many pieces on a line as fit, if breaks are allowed at this depth.
    fn write_filled(&self, depth: Option<u32>, out: &mut String) {
        let mut column = self.indent * STEP;
        out.extend(std::iter::repeat_n(' ', column));
        for (at, piece) in self.pieces.iter().enumerate() {
            let may = piece.place == Break::May && depth == Some(piece.depth);
            let full = may && column + self.chunk(at, depth) > WIDTH;
            if piece.place == Break::Must || full {
                column = (self.indent + 1) * STEP;
                out.push('\n');
                out.extend(std::iter::repeat_n(' ', column));
            } else if piece.space {
                column += 1;
                out.push(' ');
            }
            out.push_str(&piece.text);
            column = match piece.text.rsplit_once('\n') {
                Some((_, last)) => last.chars().count(),
                None => column + piece.text.chars().count(),
            };
        }
    }

    /// Width from a piece up to the next place where the line may be broken.
    fn chunk(&self, at: usize, depth: Option<u32>) -> usize {
        let more = self.pieces[at + 1..].iter();
        let tied = more.take_while(|piece| {
            piece.place != Break::Must && !(piece.place == Break::May && depth == Some(piece.depth))
        });
        self.pieces[at].width() + tied.map(Piece::width).sum::<usize>()
    }
}
