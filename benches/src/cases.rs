//! The programs that are compared with raw loops, and their sizes.
//!
//! Every label of a program has a raw loop of the same name in [`crate::raw`] that makes the same
//! calls on the same names.

/// Every label occurs so often in a run; what counts is the lower quartile of the occurrences.
pub const SLICES: u64 = 20;
/// Calls in one occurrence.
pub const CALLS: u64 = 20_000;
/// Blocks of the file that is read and written from its start to its end.
pub const BLOCKS: u64 = 60_000;
/// Files that one occurrence creates, writes or deletes. `stat` asks for all of them every time.
pub const FILES: u64 = 2_000;
/// Bytes of a call.
pub const BYTES: usize = 4096;
/// Bytes that the data of Parabench is taken from, one call after the other.
pub const POOL_BYTES: usize = 16 << 20;

/// A program, and how many operations stand in each of its labels.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Its text.
    pub program: &'static str,
    /// Label, name in the table, operations of an occurrence, smallest ratio (not a number: no goal).
    pub labels: &'static [(&'static str, &'static str, u64, f64)],
}

/// 4 KiB calls on an open file: one after the other through a file larger than the processor's
/// caches, and again and again at one place, which stays in them. Parabench never writes a block
/// twice: its data comes from 16 MiB, that of the raw loops from one block, or from as many bytes.
pub const DATA: Case = Case {
    program: r#"
        write("data-$$rank", 60000 * 4k);
        $h = fopen("data-$$rank", "r+");
        fread($h, 4k, 0);
        repeat $slice 20 {
            if ($slice % 3 == 0) fseek($h, 0);
            time["pread"] repeat 20000 fread($h, 4k);
        }
        repeat $slice 20 {
            if ($slice % 3 == 0) fseek($h, 0);
            time["pwrite"] repeat 20000 fwrite($h, 4k);
        }
        repeat $slice 20 {
            if ($slice % 3 == 0) fseek($h, 0);
            time["pwrite distinct"] repeat 20000 fwrite($h, 4k);
        }
        repeat 20 time["pread same"]  repeat 20000 fread($h, 4k, 0);
        repeat 20 time["pwrite same"] repeat 20000 fwrite($h, 4k, 0);
        fclose($h);
    "#,
    labels: &[
        ("pread", "pread 4 KiB", CALLS, 0.9),
        ("pwrite", "pwrite 4 KiB", CALLS, 0.9),
        ("pwrite distinct", "pwrite 4 KiB, the raw loop from 16 MiB too", CALLS, 0.9),
        ("pread same", "pread of the same 4 KiB", CALLS, f64::NAN),
        ("pwrite same", "pwrite of the same 4 KiB", CALLS, f64::NAN),
    ],
};

/// Names in one directory: many, which is what makes a file system slow, and one of them alone.
/// The files that are written hold as much already: memory that the file system takes for the
/// first time may have to come from a hypervisor, at several times the cost of everything else.
pub const METADATA: Case = Case {
    program: r#"
        repeat $slice 20 {
            $a = $slice * 2000; $b = $a + 2000;
            time["create"] repeat $i $a..$b create("file-$i");
        }
        repeat 20 time["stat"] repeat $i 40000 stat("file-$i");
        repeat 20 time["stat same"] repeat 20000 stat("file-1");
        repeat $i 40000 write("file-$i", 4k);
        repeat $slice 20 {
            $a = $slice * 2000; $b = $a + 2000;
            time["write"] repeat $i $a..$b write("file-$i", 4k);
        }
        repeat $slice 20 {
            $a = $slice * 2000; $b = $a + 2000;
            time["delete"] repeat $i $a..$b delete("file-$i");
        }
    "#,
    labels: &[
        ("create", "create", FILES, 0.95),
        ("stat", "stat", FILES * SLICES, 0.95),
        ("stat same", "stat of the same file", CALLS, f64::NAN),
        ("write", "open, write 4 KiB, close", FILES, 0.95),
        ("delete", "delete", FILES, 0.95),
    ],
};
