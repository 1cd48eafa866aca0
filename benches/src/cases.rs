//! The programs that are compared with raw loops, and their sizes.
//!
//! Every label of a program has a raw loop of the same name in [`crate::raw`] that makes the same
//! calls on the same names.

/// Calls of `pread` and `pwrite` at one place.
pub const CALLS: u64 = 400_000;
/// Blocks of the file that is read and written from its start to its end.
pub const BLOCKS: u64 = 50_000;
/// How often it is.
pub const PASSES: u64 = 8;
/// Files of the metadata loops.
pub const FILES: u64 = 40_000;
/// How often each of them is asked for its attributes.
pub const ROUNDS: u64 = 8;
/// Bytes of a call.
pub const BYTES: usize = 4096;

/// A program, and how many operations stand in each of its labels.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Its text.
    pub program: &'static str,
    /// Label, name in the table, operations, smallest ratio (not a number: no goal).
    pub labels: &'static [(&'static str, &'static str, u64, f64)],
}

/// 4 KiB calls on an open file: one after the other through a file larger than the processor's
/// caches, and again and again at one place, which stays in them.
pub const DATA: Case = Case {
    program: r#"
        write("data-$$rank", 50000 * 4k);
        $h = fopen("data-$$rank", "r+");
        fread($h, 4k, 0);
        time["pread"]  repeat 8 { fseek($h, 0); repeat 50000 fread($h, 4k); }
        time["pwrite"] repeat 8 { fseek($h, 0); repeat 50000 fwrite($h, 4k); }
        time["pread same"]  repeat 400000 fread($h, 4k, 0);
        time["pwrite same"] repeat 400000 fwrite($h, 4k, 0);
        fclose($h);
    "#,
    labels: &[
        ("pread", "pread 4 KiB", BLOCKS * PASSES, 0.9),
        ("pwrite", "pwrite 4 KiB", BLOCKS * PASSES, 0.9),
        ("pread same", "pread of the same 4 KiB", CALLS, f64::NAN),
        ("pwrite same", "pwrite of the same 4 KiB", CALLS, f64::NAN),
    ],
};

/// Names in one directory.
pub const METADATA: Case = Case {
    program: r#"
        time["create"] repeat $i 40000 create("file-$i");
        time["stat"]   repeat 8 repeat $i 40000 stat("file-$i");
        time["write"]  repeat $i 40000 write("file-$i", 4k);
        time["delete"] repeat $i 40000 delete("file-$i");
    "#,
    labels: &[
        ("create", "create", FILES, 0.97),
        ("stat", "stat", FILES * ROUNDS, 0.95),
        ("write", "open, write 4 KiB, close", FILES, 0.97),
        ("delete", "delete", FILES, 0.97),
    ],
};
