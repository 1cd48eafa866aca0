//! Text that is safe and fits a terminal: escaped, coloured, cut to a width; numbers of one column.

pub use model::escape::line as escape;
use unicode_width::UnicodeWidthStr;

/// The terminal that a report is drawn on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terminal {
    /// Its width in characters. Below about 60 lines are longer than this rather than wrong.
    pub columns: usize,
    /// Mark headings, failures and headers with ANSI colours.
    pub color: bool,
}

/// How much a report says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// The answer: what ran and how it ended, the gravest warnings, one table.
    Short,
    /// All figures, all marks, and how they were measured.
    Full,
}

impl Default for Terminal {
    /// 100 columns without colours: for files and pipes.
    fn default() -> Terminal {
        Terminal { columns: 100, color: false }
    }
}

/// How a line is marked where colours are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    /// Not at all.
    Plain,
    /// Bold.
    Heading,
    /// Dimmed.
    Faint,
    /// Yellow.
    Warning,
    /// Red.
    Bad,
}

impl Paint {
    /// Every line of `text` in this colour if the terminal wants it (ECMA-48 select graphic rendition).
    pub fn lines(self, text: &str, terminal: Terminal) -> String {
        let code = match self {
            _ if !terminal.color => return text.to_string(),
            Paint::Plain => return text.to_string(),
            Paint::Heading => "1",
            Paint::Faint => "2",
            Paint::Warning => "33",
            Paint::Bad => "31",
        };
        let paint = |line: &str| match line {
            "" => String::new(),
            line => format!("\x1b[{code}m{line}\x1b[0m"),
        };
        text.lines().map(paint).collect::<Vec<_>>().join("\n")
    }
}

/// Text of Markdown that is shown as it is, on one line. Forges turn mentions, addresses and numbers of issues into
/// links after they have made a page of it: an empty comment, which nobody sees or copies, keeps these apart.
pub fn plain(text: &str) -> String {
    const APART: &str = "<!-- -->";
    let escaped = escape(text);
    let mut out = String::new();
    for (at, c) in escaped.char_indices() {
        let (before, behind) = (&escaped[..at], &escaped[at + c.len_utf8()..]);
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\\' | '|' | '`' | '*' | '_' | '[' | ']' | '~' | '#' => out.extend(['\\', c]),
            c => out.push(c),
        }
        let next = behind.chars().next().unwrap_or(' ');
        let is_link = match c {
            '@' => next.is_alphanumeric(),
            '%' | '~' => next.is_alphanumeric() || next == '"',
            '#' | '!' | '&' | '$' => next.is_ascii_digit(),
            ':' => behind.starts_with("//"),
            '-' => ends_with(before, "gh") && next.is_ascii_digit(),
            '.' => ends_with(before, "www"),
            _ => false,
        };
        if is_link {
            out.push_str(APART);
        }
    }
    out
}

/// The text ends with these letters, small or capital.
fn ends_with(text: &str, letters: &str) -> bool {
    let start = text.len().wrapping_sub(letters.len());
    text.get(start..).is_some_and(|end| end.eq_ignore_ascii_case(letters))
}

/// `text` as one word of a POSIX shell, quoted if it has to be.
pub fn safe_word(text: &str) -> String {
    let harmless = |c: char| c.is_ascii_alphanumeric() || "@%+=:,./-_".contains(c);
    match !text.is_empty() && text.chars().all(harmless) {
        true => text.to_string(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

/// Columns that a text takes on a terminal.
pub fn width(text: &str) -> usize {
    text.width()
}

/// The end of a text whose rest the terminal prints with this option. A page has the rest further below, and says so.
pub const ON_REQUEST: &str = ": -v";

/// `text` cut in the middle to at most `columns`, the cut marked by `…`: the beginnings and
/// the ends of generated labels tell them apart.
pub fn fit(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_string();
    }
    let tail_columns = columns.saturating_sub(1) / 2;
    let head = take(text.chars(), columns.saturating_sub(1 + tail_columns));
    let tail: String = take(text.chars().rev(), tail_columns).chars().rev().collect();
    format!("{head}…{tail}")
}

/// As many characters as fit into `columns`.
fn take(chars: impl Iterator<Item = char>, columns: usize) -> String {
    let mut out = String::new();
    for c in chars {
        out.push(c);
        if width(&out) > columns {
            out.pop();
            break;
        }
    }
    out
}

/// Running text in lines of at most `columns`, broken at its blanks.
pub fn flow(text: &str, columns: usize) -> String {
    let words: Vec<String> = text.split(' ').map(str::to_string).collect();
    wrap(&words, " ", columns)
}

/// Joins `parts` by `separator` into lines of at most `columns`; breaks only between parts, and at
/// the blanks of a part that fits into no line; later lines indented by two.
pub fn wrap(parts: &[String], separator: &str, columns: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    for part in parts {
        match lines.last_mut() {
            Some(line) if width(line) + width(separator) + width(part) <= columns => {
                line.push_str(separator);
                line.push_str(part);
            }
            // Blanks at the end of a line.
            Some(_) if part.is_empty() => {}
            Some(_) => broken(&format!("  {part}"), columns, &mut lines),
            None => broken(part, columns, &mut lines),
        }
    }
    let lines: Vec<&str> = lines.iter().map(|line| line.trim_end()).collect();
    lines.join("\n")
}

/// A part of its own line, or of several if it is too long.
fn broken(part: &str, columns: usize, lines: &mut Vec<String>) {
    let indent = &part[..part.len() - part.trim_start().len()];
    let mut words = part.trim_start().split(' ');
    lines.push(format!("{indent}{}", words.next().unwrap_or_default()));
    for word in words {
        match lines.last_mut() {
            Some(line) if width(line) + 1 + width(word) <= columns => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(format!("  {word}")),
        }
    }
}

/// A number with fixed decimals. A positive one that would round to 0 is `<` the smallest that
/// can be shown: nothing that happened looks like nothing.
pub fn fixed(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    if value > 0.0 && text.bytes().all(|b| matches!(b, b'0' | b'.')) {
        return format!("<{:.decimals$}", 10f64.powi(-(decimals as i32)));
    }
    text
}

/// A number with commas between thousands.
pub fn grouped(number: impl ToString) -> String {
    let text = number.to_string();
    let digits = text.trim_start_matches('-');
    let sign = &text[..text.len() - digits.len()];
    let (whole, rest) = digits.split_at(digits.find('.').unwrap_or(digits.len()));
    let mut out = String::new();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    format!("{sign}{out}{rest}")
}

/// A share in percent with one decimal; all and nothing are said only when they are meant.
pub fn percent(share: f64) -> String {
    match share {
        s if s > 0.0 && s < 0.001 => "<0.1 %".to_string(),
        s if s > 0.999 && s < 1.0 => ">99.9 %".to_string(),
        s => {
            let text = format!("{:.1}", s * 100.0);
            format!("{} %", text.strip_suffix(".0").unwrap_or(&text))
        }
    }
}

/// A share of the bytes read that the page cache served: what is fetched besides data counts
/// against it, so that it is a lower bound.
pub fn at_least(share: f64) -> String {
    match share {
        s if s > 0.999 && s < 1.0 => "more than 99.9 %".to_string(),
        s if s > 0.0 && s < 0.001 => "at least some".to_string(),
        s if s < 1.0 => format!("at least {}", percent(s)),
        s => percent(s),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nothing_in_a_name_becomes_a_link_of_a_forge() {
        for (text, markdown) in [
            ("@all", "@<!-- -->all"),
            ("a@b.example", "a@<!-- -->b.example"),
            ("me @ home", "me @ home"),
            ("#12", "\\#<!-- -->12"),
            ("o/r#1", "o/r\\#<!-- -->1"),
            ("gh-7", "gh-<!-- -->7"),
            ("!3", "!<!-- -->3"),
            ("~bug", "\\~<!-- -->bug"),
            ("%\"next one\"", "%<!-- -->\"next one\""),
            ("5 % of ~ 7", "5 % of \\~ 7"),
            ("https://a.example/b", "https:<!-- -->//a.example/b"),
            ("WWW.a.example", "WWW.<!-- -->a.example"),
            ("50 % of 3", "50 % of 3"),
            ("x.ppl:3:1", "x.ppl:3:1"),
        ] {
            assert_eq!(plain(text), markdown);
        }
    }

    #[test]
    fn words_of_a_shell_are_quoted_where_they_must_be() {
        for (text, word) in [
            ("num=10", "num=10"),
            ("a/b-c.ppl", "a/b-c.ppl"),
            ("", "''"),
            ("a b", "'a b'"),
            ("it's", r"'it'\''s'"),
            ("$(x)", "'$(x)'"),
        ] {
            assert_eq!(safe_word(text), word);
        }
    }

    #[test]
    fn long_text_is_cut_in_the_middle() {
        assert_eq!(fit("abcdefghij", 10), "abcdefghij");
        assert_eq!(fit("abcdefghijk", 10), "abcde…hijk");
        assert_eq!(fit("日本語日本語", 7), "日…語");
        assert_eq!(fit("abc", 0), "…");
        assert_eq!(fit("ior-easy-write/until: fwrite", 20), "ior-easy-w…l: fwrite");
    }

    #[test]
    fn a_part_that_fits_into_no_line_is_broken_at_its_blanks() {
        let parts = ["aaa", "bbbb (cc dd ee)", "f"].map(str::to_string);
        assert_eq!(
            wrap(&parts, " · ", 10),
            "aaa\n  bbbb (cc\n  dd ee) · f".replace(" · f", "\n  f")
        );
    }

    #[test]
    fn parts_are_never_broken() {
        let parts = ["aaa", "bbbb", "cccccccccccc"].map(str::to_string);
        assert_eq!(wrap(&parts, " · ", 10), "aaa · bbbb\n  cccccccccccc");
        assert_eq!(wrap(&[], " ", 10), "");
    }

    #[test]
    fn what_happened_never_looks_like_nothing() {
        assert_eq!(fixed(0.0, 3), "0.000");
        assert_eq!(fixed(0.0004, 3), "<0.001");
        assert_eq!(fixed(0.0006, 3), "0.001");
        assert_eq!(fixed(0.4, 0), "<1");
        assert_eq!(fixed(144.9034, 3), "144.903");
    }

    proptest! {
        #[test]
        fn fitted_text_fits(text in "\\PC{0,60}", columns in 1usize..40) {
            prop_assert!(width(&fit(&text, columns)) <= columns);
        }
    }

    #[test]
    fn percentages_are_honest_at_the_ends() {
        for (share, text) in [
            (0.0, "0 %"),
            (0.0004, "<0.1 %"),
            (0.125, "12.5 %"),
            (0.5, "50 %"),
            (0.9999, ">99.9 %"),
            (1.0, "100 %"),
            (1.5, "150 %"),
        ] {
            assert_eq!(percent(share), text);
        }
        let bounds = [0.0, 0.0004, 0.125, 0.9999, 1.0].map(at_least);
        let said =
            ["at least 0 %", "at least some", "at least 12.5 %", "more than 99.9 %", "100 %"];
        assert_eq!(bounds, said);
    }
}
