//! C and Python programs: the I/O calls in them, each once, as statements of PPL.
//!
//! ```text
//! int fd = open("log", O_RDWR | O_CREAT, 0644);       $h = fopen("log", "O_RDWR|O_CREAT");
//! for (int i = 0; i < 8; i++)
//!     pwrite(fd, buf, 4096, i * 4096);                repeat $i 8 fwrite($h, 4096, $i * 4096);
//! close(fd);                                          fclose($h);
//! ```

use super::loops;
use super::page::place;

/// Where a statement stands in the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Turn {
    /// Before files are opened: directories are made.
    Before,
    Open,
    /// With an open file.
    Within,
    Close,
    /// On names.
    After,
}

/// How arguments become those of PPL.
#[derive(Clone, Copy, Debug)]
enum Form {
    /// As it stands.
    Plain(&'static str),
    /// `$h = fopen(path, flags);`
    Open,
    /// `name(path);`
    Path(&'static str),
    /// `name($h, n);` with the number of bytes from this argument.
    Bytes(&'static str, usize),
    /// The same with the size of an item and their number: this argument and the next.
    Items(&'static str, usize),
    /// The same, at the offset from the argument after it.
    At(&'static str, usize),
}

use Form::{At, Bytes, Items, Open, Path, Plain};
use Turn::{After, Before, Close, Within};

type Row = (&'static [&'static str], Turn, Form);

const C: &[Row] = &[
    (&["mkdir("], Before, Path("mkdir")),
    (&["open(", "fopen(", "open64(", "openat("], Turn::Open, Open),
    (&["creat("], Turn::Open, Plain("$h = fcreat(\"data\");")),
    (&["pwrite(", "pwrite64("], Within, At("fwrite", 2)),
    (&["write("], Within, Bytes("fwrite", 2)),
    (&["fwrite("], Within, Items("fwrite", 1)),
    (&["pread(", "pread64("], Within, At("fread", 2)),
    (&["read("], Within, Bytes("fread", 2)),
    (&["fread("], Within, Items("fread", 1)),
    (&["lseek(", "fseek("], Within, Plain("fseek($h, 0);")),
    (&["fsync("], Within, Plain("fsync($h);")),
    (&["fdatasync("], Within, Plain("fdatasync($h);")),
    (&["ftruncate("], Within, Plain("ftruncate($h, 1m);")),
    (&["fallocate(", "posix_fallocate("], Within, Plain("fallocate($h, 1m);")),
    (&["fstat("], Within, Plain("fstat($h);")),
    (&["MPI_Barrier("], Within, Plain("barrier;")),
    (&["MPI_Comm_split("], Within, Plain("split ($$rank / 2) barrier;")),
    (&["close(", "fclose("], Close, Plain("fclose($h);")),
    (&["stat("], After, Path("stat")),
    (&["rename("], After, Plain("rename(\"data\", \"data.new\");")),
    (&["unlink(", "remove("], After, Path("delete")),
    (&["opendir("], After, Plain("readdir(\".\");")),
    (&["rmdir("], After, Path("rmdir")),
];

const PYTHON: &[Row] = &[
    (&["os.mkdir(", "os.makedirs("], Before, Path("mkdir")),
    (&["open(", "os.open("], Turn::Open, Open),
    (&[".write("], Within, Bytes("fwrite", 0)),
    (&["os.pwrite("], Within, At("fwrite", 1)),
    (&["os.write("], Within, Bytes("fwrite", 1)),
    (&[".read("], Within, Bytes("fread", 0)),
    (&["os.pread("], Within, At("fread", 1)),
    (&["os.read("], Within, Bytes("fread", 1)),
    (&[".seek(", "os.lseek("], Within, Plain("fseek($h, 0);")),
    (&["os.fsync("], Within, Plain("fsync($h);")),
    (&["os.ftruncate(", ".truncate("], Within, Plain("ftruncate($h, 1m);")),
    (&["os.fstat("], Within, Plain("fstat($h);")),
    (&[".close(", "os.close("], Close, Plain("fclose($h);")),
    (&["os.stat(", "os.path.getsize("], After, Path("stat")),
    (&["os.rename("], After, Plain("rename(\"data\", \"data.new\");")),
    (&["os.unlink(", "os.remove("], After, Path("delete")),
    (&["os.listdir(", "os.scandir("], After, Plain("readdir(\".\");")),
    (&["os.rmdir("], After, Path("rmdir")),
];

const MPI: &[Row] = &[
    (&["MPI_File_open("], Turn::Open, Plain("$h = pfopen(\"data\", \"crw\");")),
    (
        &["MPI_File_write_at_all(", "MPI_File_write_all("],
        Within,
        Plain("pfwrite($h, 1m, $$rank * 1m, \"all\");"),
    ),
    (&["MPI_File_write_at(", "MPI_File_write("], Within, Plain("pfwrite($h, 1m, $$rank * 1m);")),
    (
        &["MPI_File_read_at_all(", "MPI_File_read_all("],
        Within,
        Plain("pfread($h, 1m, $$rank * 1m, \"all\");"),
    ),
    (&["MPI_File_read_at(", "MPI_File_read("], Within, Plain("pfread($h, 1m, $$rank * 1m);")),
    (&["MPI_File_sync("], Within, Plain("pfsync($h);")),
    (&["MPI_File_set_size("], Within, Plain("pfsetsize($h, 1g);")),
    (&["MPI_Barrier("], Within, Plain("barrier;")),
    (&["MPI_File_close("], Close, Plain("pfclose($h);")),
    (&["MPI_File_delete("], After, Plain("pdelete(\"data\");")),
];

/// How a file is opened and closed where the text does not say.
const POSIX_ENDS: (&str, &str) = ("$h = fopen(\"data\", \"w+\");", "fclose($h);");
const MPI_ENDS: (&str, &str) = ("$h = pfopen(\"data\", \"crw\");", "pfclose($h);");

pub(super) fn of_c(text: &str) -> Option<String> {
    match text.contains("MPI_File_") {
        true => translate(text, MPI, MPI_ENDS),
        false => translate(text, C, POSIX_ENDS),
    }
}

pub(super) fn of_python(text: &str) -> Option<String> {
    translate(text, PYTHON, POSIX_ENDS)
}

/// A statement with its place, and where its call stands in the text.
struct Found {
    turn: Turn,
    at: usize,
    text: String,
}

fn translate(text: &str, rows: &[Row], (open, close): (&str, &str)) -> Option<String> {
    let mut found: Vec<Found> = rows.iter().filter_map(|row| first(text, row)).collect();
    if found.is_empty() {
        return None;
    }
    let has = |turn: Turn| found.iter().any(|call| call.turn == turn);
    let (opens, within, closes) = (has(Turn::Open), has(Within), has(Close));
    if !opens && (within || closes) {
        found.push(Found { turn: Turn::Open, at: 0, text: open.into() });
    }
    if !closes && (opens || within) {
        found.push(Found { turn: Close, at: 0, text: close.into() });
    }
    found.sort_by_key(|call| (call.turn, call.at));
    let calls = |name: &str| found.iter().any(|call| call.text.contains(name));
    let (reads, writes, seeks) = (calls("fread("), calls("fwrite("), calls("fseek("));
    let lines = found.iter().map(|call| match call.turn {
        Turn::Open => usable(&call.text, reads, writes),
        // What was just written, not what lies behind it.
        Within
            if call.text.contains("fread(")
                && call.text.matches(',').count() == 1
                && writes
                && !seeks =>
        {
            call.text.replace(");", ", 0);")
        }
        _ => call.text.clone(),
    });
    Some(lines.collect::<Vec<_>>().join("\n"))
}

/// The open with flags for all calls that follow, and before it the file that is only read.
fn usable(open: &str, reads: bool, writes: bool) -> String {
    let opens = |flags: &str| open.ends_with(&format!("\"{flags}\");"));
    let with =
        |old: &str, new: &str| open.replace(&format!("\"{old}\");"), &format!("\"{new}\");"));
    match (reads, writes) {
        (true, _) if opens("w") => with("w", "w+"),
        (_, true) if opens("r") => with("r", "w+"),
        _ if opens("r") || opens("O_RDONLY") => {
            let name = open.split('"').nth(1).unwrap_or("data");
            format!("write(\"{name}\", 1m); # the file that is read\n{open}")
        }
        _ => open.to_string(),
    }
}

/// The first call of a row, as a statement.
fn first(text: &str, (names, turn, form): &Row) -> Option<Found> {
    let calls = names.iter().filter_map(|name| Some((position(text, name)?, name.len())));
    let (at, length) = calls.min()?;
    let args = arguments(&text[at + length..]);
    let text = match form {
        Plain(statement) => (*statement).to_string(),
        Open => opened(&args),
        Path(name) => format!(
            "{name}(\"{}\");",
            args.iter().find_map(|arg| path(arg)).unwrap_or("data".into())
        ),
        Bytes(name, number) => {
            format!("{}{name}($h, {});", counted(text, at), bytes(&args, *number))
        }
        Items(name, number) => {
            let counts = [*number, number + 1].map(|at| args.get(at).and_then(|arg| literal(arg)));
            let n = match counts {
                [Some(size), Some(count)] => product(&[&size, &count]),
                _ => None,
            };
            format!("{}{name}($h, {});", counted(text, at), n.unwrap_or("4k".into()))
        }
        At(name, number) => {
            let head = counted(text, at);
            let offset = args.get(number + 1).and_then(|arg| loops::offset(arg, &head));
            let offset = offset.map_or(String::new(), |offset| format!(", {offset}"));
            format!("{head}{name}($h, {}{offset});", bytes(&args, *number))
        }
    };
    Some(Found { turn: *turn, at, text })
}

/// The number of bytes that an argument tells.
fn bytes(args: &[&str], number: usize) -> String {
    args.get(number).and_then(|arg| literal(arg)).unwrap_or("4k".into())
}

/// Where a call of this name begins, if a word does not go on before it.
fn position(text: &str, name: &str) -> Option<usize> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
    let own = |at: usize| match name.starts_with('.') {
        // A method; Python's functions of the same names in `os` have rows of their own.
        true => !text[..at].ends_with("os"),
        false => !text[..at].ends_with(is_part),
    };
    text.match_indices(name).map(|(at, _)| at).find(|at| own(*at))
}

/// The loop that the call stands in: one begins in the line before it or its own.
fn counted(text: &str, at: usize) -> String {
    let mut lines = text[..at].rsplit('\n').take(2);
    let head = lines.find_map(|line| loops::repeat(line.trim()));
    // Bounds that are variables of the other program say nothing here.
    match head.filter(|head| head.matches('$').count() == 1) {
        Some(head) => format!("{head} "),
        None => String::new(),
    }
}

/// `$h = fopen(...)` with the path and the flags that are literal.
fn opened(args: &[&str]) -> String {
    let name = args.iter().find_map(|arg| path(arg)).unwrap_or("data".into());
    let names = args.iter().find(|arg| arg.contains("O_"));
    let flags = match names {
        Some(names) => names
            .split('|')
            .map(|flag| flag.trim().trim_start_matches("os."))
            .collect::<Vec<_>>()
            .join("|"),
        None => mode(args.get(1).copied().unwrap_or("")),
    };
    format!("$h = fopen(\"{name}\", \"{flags}\");")
}

/// The mode of C that a literal of C or Python is.
fn mode(text: &str) -> String {
    let mode: String =
        text.trim_matches(['"', '\'']).chars().filter(|c| !matches!(c, 'b' | 't')).collect();
    match model::open_flags::mode(&mode) {
        Some(mode) => mode.to_string(),
        None if mode == "x" => "O_WRONLY|O_CREAT|O_EXCL".into(),
        None => "r".into(),
    }
}

/// The path that a string literal is, below the run directory.
fn path(arg: &str) -> Option<String> {
    let quote = arg.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let inner = arg[1..].split(quote).next().filter(|inner| !inner.is_empty())?;
    Some(place(inner).1)
}

/// The arguments of a call, from behind its parenthesis on, on its line.
fn arguments(text: &str) -> Vec<&str> {
    let line = text.lines().next().unwrap_or("");
    let (mut depth, mut quote, mut start) = (0, None, 0);
    let mut args = Vec::new();
    for (at, c) in line.char_indices() {
        match (c, quote) {
            (c, Some(open)) if c == open => quote = None,
            (_, Some(_)) => {}
            ('"' | '\'', None) => quote = Some(c),
            ('(' | '[' | '{', None) => depth += 1,
            (')', None) if depth == 0 => {
                args.push(line[start..at].trim());
                return args;
            }
            (')' | ']' | '}', None) => depth = (depth - 1).max(0),
            (',', None) if depth == 0 => {
                args.push(line[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    args.push(line[start..].trim());
    args
}

/// A number that stands in the text: `4096`, `1024 * 1024`, `1 << 20`.
fn literal(arg: &str) -> Option<String> {
    let arg = arg.trim_end_matches(['L', 'l', 'U', 'u']);
    match arg.split_once("<<") {
        Some((n, bits)) => {
            let power = 1u64.checked_shl(number(bits)?.try_into().ok()?)?;
            product(&[n, &power.to_string()])
        }
        None => product(&arg.split('*').collect::<Vec<_>>()),
    }
}

fn product(factors: &[&str]) -> Option<String> {
    let product = factors.iter().try_fold(1u64, |n, factor| n.checked_mul(number(factor)?))?;
    (product < 1 << 40).then(|| product.to_string())
}

/// No leading zero: that is octal elsewhere.
fn number(text: &str) -> Option<u64> {
    let text = text.trim();
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
    text.parse().ok().filter(|_| is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_those_of_the_call() {
        for (text, expected) in [
            ("fd, buf, sizeof(buf), 0);", &["fd", "buf", "sizeof(buf)", "0"][..]),
            ("\"a, b)\", f(x, [1, 2]), 'c');", &["\"a, b)\"", "f(x, [1, 2])", "'c'"]),
            (");", &[""]),
            ("a, b", &["a", "b"]),
            ("\"open", &["\"open"]),
            ("a])}, b)", &["a]"]),
        ] {
            assert_eq!(arguments(text), expected, "{text}");
        }
    }

    #[test]
    fn numbers_of_bytes_are_computed() {
        for (text, expected) in [
            ("4096", Some("4096")),
            ("1024 * 1024", Some("1048576")),
            ("64<<10", Some("65536")),
            ("1UL << 20", None),
            ("4096L", Some("4096")),
            ("0644", None),
            ("n", None),
            ("", None),
            ("1 << 63", None),
            ("1 << 99", None),
            ("99999999999 * 99999999999", None),
        ] {
            assert_eq!(literal(text).as_deref(), expected, "{text}");
        }
    }
}
