//! Several directories in one run.

use super::*;

#[test]
fn every_directory_is_judged_by_its_own() {
    let mut run = with_fast("ext4");
    label(&mut run).fetched_bytes = None;
    let seen: Vec<(String, String)> =
        marks(&run).into_iter().map(|mark| (mark.code, mark.seen)).collect();
    for (code, text) in [
        (
            "cached-reads",
            "in label \"stress\", fast: 100 % of the files read lay in the page cache",
        ),
        ("unstable-writes", "in label \"stress\", fast: 8 MiB were written and not made stable"),
        ("warm-names", "in label \"stress\", fast: 8 of 8 names"),
    ] {
        let of_code = seen.iter().find(|(known, _)| known == code).expect(code);
        assert!(of_code.1.starts_with(text), "{of_code:?}");
        assert!(!of_code.1.contains("the run directory"), "{of_code:?}");
    }
    assert_eq!(seen.len(), 3, "{seen:?}");
    // What was fetched may be of either: of 56 MiB at least 55 were not, of 8 MiB 7.
    label(&mut run).fetched_bytes = Some(1 << 20);
    let both = marks(&run).remove(0).seen;
    assert!(
        both.contains("the run directory: at least 98.2 %") && both.contains("fast: "),
        "{both}"
    );
    // What main memory keeps anyway is judged as that alone.
    let mut run = with_fast("tmpfs");
    label(&mut run).fetched_bytes = None;
    assert_eq!(codes(&run), ["memory-storage"]);
    run.run.host.directories[0].storage.file_system = "ext4".into();
    run.run.host.storage.file_system = "tmpfs".into();
    assert_eq!(codes(&run), ["memory-storage", "cached-reads", "unstable-writes", "warm-names"]);
}
