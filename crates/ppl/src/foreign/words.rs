//! Words of other languages and tools, and what PPL has in their place: tables, one row a word.
//!
//! ```text
//! printf("x");             print "x";
//! with (iodepth=8) ...     with (depth=8) ...
//! ```

/// A word, and what to write.
type Row = (&'static str, &'static str);

/// Operators that are words or signs elsewhere, with the operator of PPL.
const OPERATORS: &[Row] = &[("and", "&&"), ("or", "||"), ("mod", "%"), ("div", "/")];

/// Words that begin statements. Those marked `true` cannot be calls of procs either.
const STATEMENTS: &[(&[&str], bool, &str)] = &[
    (&["for", "foreach"], true, "write repeat $i 10 {...} or repeat $i 0..10 step 2 {...}"),
    (&["loop"], false, "write repeat $i 10 {...} or repeat $i 0..10 step 2 {...}"),
    (&["int", "long", "var", "let", "const", "set"], false, "variables are set by $x = value;"),
    (&["size_t", "off_t", "char", "float", "double"], false, "variables are set by $x = value;"),
    (&["function", "def", "fn", "sub", "proc"], false, "write define proc name($a, $b) {...}"),
    (&["printf", "echo", "puts", "println"], false, "write print \"text\", $x;"),
    (&["import", "use", "require", "source"], false, "write include \"file.ppl\";"),
    (&["elif", "elsif", "elseif"], true, "write else if (...) {...}"),
    (&["switch"], true, "write if (...) {...} else {...}"),
    (&["case", "unless"], false, "write if (...) {...} else {...}"),
    (&["do", "until"], false, "write while (...) {...}"),
    (&["times"], false, "the count alone says how often: repeat 10 {...}"),
];

/// Calls of C, Python and MPI.
const CALLS: &[Row] = &[
    ("close", "write fclose($h);"),
    ("creat", "write $h = fcreat(path);"),
    ("dread", "write with (direct=true) read(path);"),
    ("dwrite", "write with (direct=true) write(path, 64k);"),
    ("echo", "write print \"text\", $x;"),
    (
        "exit",
        "a program ends with its last statement; assert(false, \"why\"); ends a rank with an error",
    ),
    ("fprintf", "write print \"text\", $x;"),
    ("ior", "write the calls that IOR makes: fwrite($h, 64k, $i * 64k);"),
    ("len", "len is a function of expressions: $n = len($list);"),
    ("listdir", "write readdir(path);"),
    ("lseek", "write fseek($h, position); or fseek($h, -4k, SEEK_END);"),
    ("memset", "data that is written is made by `with (data=\"zero\")` and the like"),
    ("mpi_allreduce", "write $sum = gsum($x); or gmin, gmax, gall, gany"),
    ("mpi_barrier", "write barrier;"),
    (
        "mpi_comm_split",
        "write split ($$rank / 4) {...}: ranks with the same value are a group inside",
    ),
    ("mpi_file_close", "write pfclose($h);"),
    ("mpi_file_open", "write $h = pfopen(path, \"crw\");"),
    ("mpi_file_read_at", "write pfread($h, n, off);"),
    ("mpi_file_read_at_all", "write pfread($h, n, off, \"all\");"),
    ("mpi_file_sync", "write pfsync($h);"),
    ("mpi_file_write_at", "write pfwrite($h, n, off);"),
    ("mpi_file_write_at_all", "write pfwrite($h, n, off, \"all\");"),
    ("open", "files are opened with $h = fopen(path, flags);"),
    ("opendir", "write readdir(path);, which reads a directory whole"),
    ("pread64", "write fread($h, n, off);"),
    ("printf", "write print \"text\", $x;"),
    ("println", "write print \"text\", $x;"),
    ("puts", "write print \"text\";"),
    ("pwrite64", "write fwrite($h, n, off);"),
    ("remove", "write delete(path);"),
    ("rm", "write delete(path);"),
    ("touch", "write create(path);"),
    ("usleep", "write sleep(1ms);"),
];

/// Functions of expressions.
const FUNCTIONS: &[Row] = &[
    ("and", "write a && b"),
    ("ceil", "`/` of two integers is cut towards zero; (a + b - 1) / b rounds up"),
    ("floor", "`/` of two integers is cut towards zero"),
    ("not", "write !(...)"),
    ("open", "files are opened with $h = fopen(path, flags);"),
    ("or", "write a || b"),
    ("pow", "write a ^ b"),
    ("randint", "write rand(a, b)"),
    ("random", "write rand(a, b)"),
    ("range", "write repeat $i 10 {...} or repeat $i 0..10 step 2 {...}"),
    ("sizeof", "write the number of bytes"),
    ("strlen", "write len(text)"),
];

/// Options that other tools have, where `with` has another name or none.
const OPTIONS: &[Row] = &[
    ("bs", "fio's bs is transfer; or give each call its size: fread($h, 4k)"),
    ("blocksize", "it is called transfer; or give each call its size: fread($h, 4k)"),
    ("block_size", "it is called transfer; or give each call its size: fread($h, 4k)"),
    ("collective", "write pfwrite($h, n, off, \"all\")"),
    ("end_fsync", "write with (fsync=\"close\")"),
    ("fdatasync", "write with (fsync=\"op\"), or fdatasync($h); after the calls"),
    ("filename", "the path is an argument: $h = fopen(\"data\", \"r\");"),
    ("iodepth", "fio's iodepth is depth: with (engine=\"uring\", depth=32)"),
    (
        "ioengine",
        "fio's ioengine is engine: \"uring\" for io_uring and libaio, \"mmap\" for mmap; psync without any",
    ),
    ("nrfiles", "write repeat $i 10 write(\"file-$i\", 4k);"),
    ("numjobs", "the number of ranks is given at the start: parabench run x.ppl -n 4"),
    ("o_direct", "write with (direct=true)"),
    ("odirect", "write with (direct=true)"),
    ("runtime", "write repeat 1g until 60s ..., or a number of iterations"),
    ("iops", "the rate is called rate: with (rate=1000/s)"),
    ("rate_iops", "fio's rate_iops is rate: with (rate=1000/s)"),
    ("rate_process", "fio's rate_process is arrival: with (rate=1000/s, arrival=\"poisson\")"),
    ("rw", "reads and writes are statements: fread($h, 4k); fwrite($h, 4k);"),
    ("rwmixread", "write mix { 70: fread($h, 4k); 30: fwrite($h, 4k); }"),
    ("size", "the size is an argument: write(\"data\", 1g);"),
    ("thinktime", "write sleep(1ms); between the calls"),
    ("threads", "the number of ranks is given at the start: parabench run x.ppl -n 4"),
    ("time_based", "write repeat 1g until 60s ..., or a number of iterations"),
    ("xfersize", "it is called transfer; or give each call its size: fread($h, 4k)"),
];

fn find(table: &[Row], word: &str) -> Option<&'static str> {
    table.iter().find(|row| word.eq_ignore_ascii_case(row.0)).map(|row| row.1)
}

/// The operator that a word or sign of another language means.
pub(crate) fn operator(word: &str) -> Option<&'static str> {
    find(OPERATORS, word)
}

/// The replacement for a word that begins statements of other languages. With a
/// parenthesis after it, most words can be procs that are defined further down.
pub(crate) fn statement(word: &str, called: bool) -> Option<&'static str> {
    let row = STATEMENTS.iter().find(|row| row.0.contains(&word))?;
    (row.1 || !called).then_some(row.2)
}

/// The replacement for a call that PPL does not have.
pub(crate) fn call(word: &str) -> Option<&'static str> {
    find(CALLS, word)
}

/// The replacement for a function that PPL does not have.
pub(crate) fn function(word: &str) -> Option<&'static str> {
    find(FUNCTIONS, word).or_else(|| call(word))
}

/// The replacement for an option that `with` does not have.
pub(crate) fn option(word: &str) -> Option<&'static str> {
    find(OPTIONS, word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::word::{Word, classify, is_function};
    use model::with::OptionRow;

    /// A row for a word of PPL would never be read, or mislead.
    #[test]
    fn no_word_is_one_of_ppl() {
        let words = STATEMENTS.iter().flat_map(|row| row.0);
        let calls = CALLS.iter().filter(|row| row.0 != "len").map(|row| &row.0);
        for word in words.chain(calls) {
            assert_eq!(classify(word).0, Word::Other, "{word}");
        }
        for (word, _) in FUNCTIONS {
            assert!(!is_function(word), "{word}");
        }
        for (word, _) in OPTIONS {
            assert!(OptionRow::find(word).is_none(), "{word}");
        }
    }

    #[test]
    fn words_are_found_in_either_case() {
        assert_eq!(operator("AND"), Some("&&"));
        assert_eq!(call("MPI_File_write_at_all"), Some("write pfwrite($h, n, off, \"all\");"));
        assert_eq!(function("dread"), Some("write with (direct=true) read(path);"));
        assert_eq!(statement("for", true), statement("for", false));
        assert_eq!(statement("printf", true), None);
    }
}
