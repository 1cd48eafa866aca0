//! Random sequences of calls over a handful of names, so that they meet.

use super::script::{FLAGS, LOCKS, RENAMES};
use super::steps::{Data, SLOTS, Step};
use proptest::prelude::*;
use proptest::sample::select;
use std::ffi::CString;

/// Names that stay inside whatever links there are.
const INSIDE: &[&str] = &[
    "a", "b", "c", "d", "a/b", "a/c", "b/a", "d/c", "a/b/c", "./a", "a/.", "b/", "c//a", ".",
    "a/b/", "d/", "",
];
/// Names that may leave.
const LEAVING: &[&str] = &[
    "..",
    "../x",
    "a/..",
    "a/../b",
    "a/b/../..",
    "a/../../x",
    "d/../c",
    "b/..",
    "{dir}/a",
    "{dir}",
    "{dir}/b/../c",
    "/etc/passwd",
    "/",
];

/// Modes of fallocate that every usual file system has.
const EVERYWHERE: &[i32] =
    &[0, libc::FALLOC_FL_KEEP_SIZE, libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE];
/// Flags of files without a name.
const TEMPORARY: &[i32] =
    &[libc::O_TMPFILE | libc::O_RDWR, libc::O_TMPFILE | libc::O_WRONLY | libc::O_EXCL];

/// Sequences whose paths stay inside; with `leaving`, others too.
pub fn sequences(leaving: bool) -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(steps(leaving), 1..60)
}

fn path(leaving: bool) -> BoxedStrategy<CString> {
    let short = select(INSIDE);
    let text =
        if leaving { prop_oneof![3 => short, 1 => select(LEAVING)].boxed() } else { short.boxed() };
    let long = select(&["@255", "@256", "a/@256", "@5000"][..]).prop_map(|word| {
        let (before, length) = word.split_once('@').expect("a length");
        format!("{before}{}", "n".repeat(length.parse().expect("a number")))
    });
    prop_oneof![40 => text.prop_map(String::from), 1 => long]
        .prop_map(|path| CString::new(path).expect("no NUL inside"))
        .boxed()
}

fn flags() -> impl Strategy<Value = i32> {
    let access = select(&[libc::O_RDONLY, libc::O_WRONLY, libc::O_RDWR, libc::O_ACCMODE][..]);
    let common = select(&[0, libc::O_CREAT, libc::O_CREAT | libc::O_TRUNC, libc::O_DIRECTORY][..]);
    let any = prop::collection::vec(select(&FLAGS[3..]), 0..3)
        .prop_map(|rows| rows.iter().fold(0, |flags, row| flags | row.1));
    (access, prop_oneof![2 => common, 1 => any]).prop_map(|(access, more)| access | more)
}

fn data() -> impl Strategy<Value = Data> {
    (any::<u8>(), prop_oneof![0usize..10, 4000usize..9000])
        .prop_map(|(byte, n)| Data(vec![byte; n]))
}

fn offset() -> impl Strategy<Value = u64> {
    let odd = select(&[u64::MAX, 1 << 63, i64::MAX as u64][..]);
    prop_oneof![20 => 0u64..10, 10 => 0u64..10_000, 1 => odd]
}

fn size() -> impl Strategy<Value = u64> {
    prop_oneof![20 => 0u64..10_000, 1 => select(&[u64::MAX, 1 << 63][..])]
}

fn steps(leaving: bool) -> impl Strategy<Value = Step> {
    prop_oneof![3 => on_files(leaving), 4 => on_names(leaving)]
}

fn on_files(leaving: bool) -> impl Strategy<Value = Step> {
    let slot = 0..SLOTS;
    prop_oneof![
        6 => (slot.clone(), path(leaving), flags(), 0o700u32..=0o777)
            .prop_map(|(slot, path, flags, mode)| Step::Open(slot, path, flags, mode)),
        2 => slot.clone().prop_map(Step::Close),
        3 => (slot.clone(), 0usize..9000, offset())
            .prop_map(|(slot, length, offset)| Step::Pread(slot, length, offset)),
        3 => (slot.clone(), data(), 0u64..10_000)
            .prop_map(|(slot, data, offset)| Step::Pwrite(slot, data, offset)),
        2 => (slot.clone(), data()).prop_map(|(slot, data)| Step::Append(slot, data)),
        1 => (slot.clone(), -100i64..10_000, any::<bool>())
            .prop_map(|(slot, offset, end)| Step::Seek(slot, offset, end)),
        1 => slot.clone().prop_map(Step::Fdatasync),
        1 => (slot.clone(), size()).prop_map(|(slot, size)| Step::Ftruncate(slot, size)),
        2 => (slot.clone(), select(EVERYWHERE), 0u64..10_000, size())
            .prop_map(|(slot, mode, offset, size)| Step::Fallocate(slot, mode, offset, size)),
        2 => ((slot.clone(), 0u64..10_000), (slot.clone(), 0u64..10_000), 0usize..9000)
            .prop_map(|(from, to, len)| Step::CopyRange(from, to, len)),
        1 => (slot.clone(), prop::collection::vec(0usize..5000, 0..4), offset())
            .prop_map(|(slot, lengths, offset)| Step::Preadv(slot, lengths, offset)),
        1 => (slot.clone(), prop::collection::vec(data(), 0..4), 0u64..10_000)
            .prop_map(|(slot, data, offset)| Step::Pwritev(slot, data, offset)),
        2 => (slot.clone(), select(LOCKS)).prop_map(|(slot, lock)| Step::Flock(slot, lock.1)),
        1 => (slot.clone(), path(leaving), select(TEMPORARY))
            .prop_map(|(slot, path, flags)| Step::Open(slot, path, flags, 0o600)),
        2 => (slot.clone(), path(leaving)).prop_map(|(slot, path)| Step::LinkFile(slot, path)),
        1 => slot.clone().prop_map(Step::SyncfsOf),
        1 => (slot.clone(), size()).prop_map(|(slot, size)| Step::Fadvise(slot, 0, size, 0)),
        2 => slot.clone().prop_map(Step::Fstat),
        3 => slot.prop_map(Step::List),
    ]
}

fn on_names(leaving: bool) -> impl Strategy<Value = Step> {
    let one = || path(leaving);
    prop_oneof![
        2 => one().prop_map(Step::Stat),
        1 => one().prop_map(Step::Access),
        2 => one().prop_map(Step::Unlink),
        3 => (one(), one()).prop_map(|(from, to)| Step::Rename(from, to)),
        3 => (one(), one(), select(RENAMES))
            .prop_map(|(from, to, flag)| Step::Rename2(from, to, flag.1)),
        4 => one().prop_map(Step::Mkdir),
        2 => one().prop_map(Step::Rmdir),
        1 => (one(), size()).prop_map(|(path, size)| Step::Truncate(path, size)),
        2 => (one(), one()).prop_map(|(from, to)| Step::Link(from, to)),
        3 => (one(), one()).prop_map(|(target, path)| Step::Symlink(target, path)),
        1 => one().prop_map(Step::Readlink),
        1 => (one(), 0o700u32..=0o777).prop_map(|(path, mode)| Step::Chmod(path, mode)),
        1 => one().prop_map(Step::Utime),
        1 => one().prop_map(Step::Lstat),
        1 => one().prop_map(Step::Statfs),
    ]
}

/// The step with `{dir}` in its paths replaced.
pub fn placed(step: &Step, directory: &str) -> Step {
    let at = |path: &CString| {
        let text = path.to_str().expect("only ASCII is drawn").replace("{dir}", directory);
        CString::new(text).expect("no NUL inside")
    };
    match step.clone() {
        Step::Open(slot, path, flags, mode) => Step::Open(slot, at(&path), flags, mode),
        Step::LinkFile(slot, path) => Step::LinkFile(slot, at(&path)),
        Step::Rename2(from, to, flags) => Step::Rename2(at(&from), at(&to), flags),
        Step::Stat(path) => Step::Stat(at(&path)),
        Step::Access(path) => Step::Access(at(&path)),
        Step::Unlink(path) => Step::Unlink(at(&path)),
        Step::Rename(from, to) => Step::Rename(at(&from), at(&to)),
        Step::Mkdir(path) => Step::Mkdir(at(&path)),
        Step::Rmdir(path) => Step::Rmdir(at(&path)),
        Step::Truncate(path, size) => Step::Truncate(at(&path), size),
        Step::Link(from, to) => Step::Link(at(&from), at(&to)),
        Step::Symlink(target, path) => Step::Symlink(at(&target), at(&path)),
        Step::Readlink(path) => Step::Readlink(at(&path)),
        Step::Chmod(path, mode) => Step::Chmod(at(&path), mode),
        Step::Utime(path) => Step::Utime(at(&path)),
        Step::Lstat(path) => Step::Lstat(at(&path)),
        Step::Statfs(path) => Step::Statfs(at(&path)),
        other => other,
    }
}
