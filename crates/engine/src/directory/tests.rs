//! The life cycle of run directories.

use super::*;
use crate::backend::MARKER;
use std::os::unix::fs::{PermissionsExt, symlink};
use tempfile::TempDir;

fn place() -> TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

fn with_dir(path: &Path) -> Request {
    Request { directory: Some(path.into()), ..Request::default() }
}

fn open_dir(path: &Path) -> Result<RunDirectory, String> {
    RunDirectory::open(&with_dir(path), "1.2.3")
}

fn refusal(request: &Request) -> String {
    RunDirectory::open(request, "1.2.3").expect_err("the directory is refused")
}

fn names(path: &Path) -> Vec<String> {
    let entries = fs::read_dir(path).expect("readdir");
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_missing_directory_is_made_marked_and_kept() {
    let place = place();
    let path = place.path().join("new");
    let run = open_dir(&path).expect("it can be made");
    assert!(!run.is_scratch() && run.stays());
    let marker = fs::read_to_string(path.join(MARKER)).expect("a marker");
    let marker: serde_json::Value = serde_json::from_str(&marker).expect("JSON");
    assert_eq!(marker["tool"], "parabench");
    assert_eq!((&marker["version"], &marker["forced"]), (&"1.2.3".into(), &false.into()));
    fs::write(run.path().join("data"), "x").expect("write");
    assert_eq!(run.finish(), Removal::default());
    assert_eq!(names(&path), [MARKER, "data"]);
    open_dir(&path).expect("a marked directory is accepted although it is not empty");
}

/// A run that is killed between making the marker and writing it leaves it empty.
#[test]
fn a_marker_that_was_never_written_is_written_by_the_next_run() {
    let place = place();
    fs::write(place.path().join(MARKER), "").expect("an empty marker");
    drop(open_dir(place.path()).expect("nothing else is in the directory"));
    let marker = fs::read_to_string(place.path().join(MARKER)).expect("a marker");
    assert!(marker.contains("\"forced\":false"), "{marker}");
    fs::write(place.path().join(MARKER), "").expect("an empty marker");
    fs::write(place.path().join("file"), "x").expect("write");
    assert!(refusal(&with_dir(place.path())).contains("expected an empty directory"));
    let forced = Request { force: true, ..with_dir(place.path()) };
    drop(RunDirectory::open(&forced, "1.2.3").expect("it is forced"));
    let marker = fs::read_to_string(place.path().join(MARKER)).expect("a marker");
    assert!(marker.contains("\"forced\":true"), "{marker}");
}

#[test]
fn directories_that_are_not_ours_are_refused() {
    let place = place();
    let root = place.path();
    fs::create_dir(root.join("full")).expect("mkdir");
    fs::write(root.join("full/file"), "x").expect("write");
    fs::create_dir(root.join("fake")).expect("mkdir");
    fs::write(root.join("fake").join(MARKER), "something").expect("write");
    fs::create_dir(root.join("link")).expect("mkdir");
    symlink("/etc/passwd", root.join("link").join(MARKER)).expect("symlink");
    for (path, text) in [
        (root.join("full"), "expected an empty directory"),
        (root.join("full/file"), "expected a directory, found a file"),
        (root.join("fake"), "expected an empty directory"),
        (root.join("link"), "expected an empty directory"),
        (root.join("a/b"), "its parent directory does not exist"),
        ("/dev/null".into(), "found a device"),
        ("/".into(), "the root of the file system"),
        ("/dev".into(), "lies below it"),
    ] {
        let message = refusal(&with_dir(&path));
        assert!(message.contains(text), "{}: {message}", path.display());
    }
    assert_eq!(names(&root.join("full")), ["file"]);
    assert!(!root.join("a").exists());
}

#[test]
fn force_never_opens_the_root_or_a_parent() {
    let here = std::env::current_dir().expect("a current directory");
    for path in [Path::new("/"), here.parent().expect("a parent")] {
        let request = Request { force: true, ..with_dir(path) };
        assert!(refusal(&request).contains("not even with --force"), "{}", path.display());
        assert!(!path.join(MARKER).exists());
    }
}

#[test]
fn a_forced_directory_stays_foreign() {
    let place = place();
    fs::write(place.path().join("precious"), "x").expect("write");
    let forced = Request { force: true, ..with_dir(place.path()) };
    let run = RunDirectory::open(&forced, "1").expect("forced");
    assert!(run.survey().doubt.expect("no trust").contains("--force"));
    drop(run);
    assert!(refusal(&with_dir(place.path())).contains("was forced into this directory"));
    let clean = Request { clean: true, ..forced };
    assert!(refusal(&clean).contains("--clean would remove"));
    assert_eq!(names(place.path()), [MARKER, "precious"]);
}

#[test]
fn two_runs_cannot_share_a_directory() {
    let place = place();
    let run = open_dir(place.path()).expect("the first");
    assert!(refusal(&with_dir(place.path())).contains("another run uses"));
    drop(run);
    open_dir(place.path()).expect("the lock is gone with the run");
}

#[test]
fn clean_removes_everything_below_the_marker_and_nothing_else() {
    let place = place();
    let (inside, outside) = (place.path().join("in"), place.path().join("out"));
    fs::create_dir(&outside).expect("mkdir");
    fs::write(outside.join("victim"), "x").expect("write");
    let run = RunDirectory::open(&Request { clean: true, ..with_dir(&inside) }, "1").expect("new");
    fs::create_dir_all(inside.join("a/b/c")).expect("mkdir");
    fs::write(inside.join("a/b/file"), "x").expect("write");
    fs::hard_link(outside.join("victim"), inside.join("a/hard")).expect("link");
    symlink(&outside, inside.join("a/way")).expect("symlink");
    symlink("nowhere", inside.join("broken")).expect("symlink");
    let removal = run.finish();
    assert_eq!((removal.removed, removal.left), (7, 0), "{removal:?}");
    assert_eq!(names(&inside), [MARKER]);
    assert_eq!(names(&outside), ["victim"]);
}

#[test]
fn deep_trees_of_closed_directories_are_removed() {
    let place = place();
    let inside = place.path().join("in");
    let run = RunDirectory::open(&Request { clean: true, ..with_dir(&inside) }, "1").expect("new");
    let mut path = inside.clone();
    (0..300).for_each(|_| path.push("d"));
    fs::create_dir_all(&path).expect("mkdir");
    fs::write(path.join("bottom"), "x").expect("write");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).expect("chmod");
    let removal = run.finish();
    assert_eq!((removal.removed, removal.left), (301, 0), "{removal:?}");
    assert_eq!(names(&inside), [MARKER]);
}

#[test]
fn a_mounted_file_system_is_left_alone_and_reported() {
    let place = place();
    let inside = place.path().join("in");
    let run = RunDirectory::open(&Request { clean: true, ..with_dir(&inside) }, "1").expect("new");
    let (source, point) = (place.path().join("source"), inside.join("a/mount"));
    fs::create_dir_all(&point).expect("mkdir");
    fs::create_dir(&source).expect("mkdir");
    fs::write(source.join("victim"), "x").expect("write");
    fs::write(inside.join("file"), "x").expect("write");
    let c = |path: &Path| std::ffi::CString::new(path.to_str().unwrap()).unwrap();
    let (from, to) = (c(&source), c(&point));
    let nothing = std::ptr::null();
    // SAFETY: the paths are NUL-terminated; a bind mount takes no type and no data.
    let mounted =
        unsafe { libc::mount(from.as_ptr(), to.as_ptr(), nothing, libc::MS_BIND, nothing.cast()) };
    if mounted != 0 {
        eprintln!("not tested: this user cannot mount");
        return;
    }
    let removal = run.finish();
    // SAFETY: the path is NUL-terminated.
    unsafe { libc::umount(to.as_ptr()) };
    assert_eq!((removal.removed, removal.left), (1, 1), "{removal:?}");
    assert!(removal.examples[0].0.ends_with("a/mount"), "{removal:?}");
    assert_eq!(names(&source), ["victim"]);
}

#[test]
fn a_link_that_leads_up_ends_the_trust_in_a_marked_directory() {
    let place = place();
    let run = open_dir(place.path()).expect("empty");
    assert_eq!(run.survey(), Survey::default());
    symlink("data", place.path().join("down")).expect("symlink");
    assert_eq!(run.survey(), Survey::default());
    symlink("data/..", place.path().join("way")).expect("symlink");
    assert!(run.survey().doubt.expect("no trust").contains("way"));
}

/// A run in a directory below could make links that moves of this one turn outwards.
#[test]
fn runs_above_and_below_keep_each_other_out() {
    let place = place();
    let (upper, lower) = (place.path().join("d"), place.path().join("d/e/f"));
    let above = open_dir(&upper).expect("new");
    fs::create_dir_all(&lower).expect("mkdir");
    assert!(refusal(&with_dir(&lower)).contains("another run uses"));
    drop(above);
    let below = open_dir(&lower).expect("nobody is above");
    assert!(refusal(&with_dir(&upper)).contains("another run uses"));
    fs::create_dir(upper.join("g")).expect("mkdir");
    drop(open_dir(&upper.join("g")).expect("beside each other"));
    drop(below);
    drop(open_dir(&upper).expect("nobody is below"));
}

/// Exchanged for another directory with a marker: neither that marker nor anything else of it goes.
#[test]
fn another_directory_with_the_name_is_left_alone() {
    let place = place();
    let (run, moved, foreign) =
        (place.path().join("run"), place.path().join("moved"), place.path().join("foreign"));
    for request in [Request { clean: true, ..with_dir(&run) }, with_dir(&run)] {
        let scratch = !request.clean;
        let mut open = RunDirectory::open(&request, "1").expect("new");
        (open.scratch, open.remove) = (scratch, true);
        fs::write(run.join("own"), "x").expect("write");
        drop(open_dir(&foreign).expect("new"));
        fs::write(foreign.join("precious"), "x").expect("write");
        fs::rename(&run, &moved).expect("moved away");
        fs::rename(&foreign, &run).expect("and replaced");
        assert!(enter(&run, Some(&open.identity().expect("known")), false).is_err());
        let removal = open.finish();
        assert_eq!(removal.left, 0, "{removal:?}");
        assert_eq!(names(&run), [MARKER, "precious"]);
        assert_eq!(moved.exists(), !scratch, "what was accepted goes, wherever it is");
        fs::remove_dir_all(&run).expect("the test tidies up");
        let _ = fs::remove_dir_all(&moved);
    }
}

#[test]
fn another_marker_is_left_alone() {
    let place = place();
    let mut open = open_dir(&place.path().join("d")).expect("new");
    (open.scratch, open.remove) = (true, true);
    fs::remove_file(place.path().join("d").join(MARKER)).expect("removed");
    fs::write(place.path().join("d").join(MARKER), "foreign").expect("write");
    let removal = open.finish();
    assert_eq!(removal.left, 1, "{removal:?}");
    assert_eq!(fs::read_to_string(place.path().join("d").join(MARKER)).expect("kept"), "foreign");
}

#[test]
fn a_scratch_directory_is_new_private_and_goes_whole() {
    let run = RunDirectory::open(&Request::default(), "1").expect("below the current directory");
    let path = run.path().to_path_buf();
    let name = path.file_name().and_then(|name| name.to_str()).expect("a name");
    assert!(name.starts_with("parabench-scratch-") && name.len() == 24, "{name}");
    assert!(run.is_scratch() && !run.stays());
    assert_eq!(fs::metadata(&path).expect("stat").permissions().mode() & 0o777, 0o700);
    fs::create_dir(path.join("d")).expect("mkdir");
    fs::write(path.join("d/f"), "x").expect("write");
    let removal = run.finish();
    assert_eq!((removal.removed, removal.left), (4, 0), "{removal:?}");
    assert!(!path.exists());

    let kept = Request { keep: true, ..Request::default() };
    let run = RunDirectory::open(&kept, "1").expect("below the current directory");
    let path = run.path().to_path_buf();
    assert!(run.stays());
    run.finish();
    assert!(path.join(MARKER).exists());
    fs::remove_dir_all(path).expect("the test tidies up");
}

#[test]
fn what_a_dead_run_left_can_be_reclaimed() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("d");
    let request = Request { directory: Some(path.clone()), ..Request::default() };
    let directory = RunDirectory::open(&request, "1").unwrap();
    fs::write(path.join("file"), "x").unwrap();
    let own = directory.identity().unwrap();
    let reclaim = |scratch| RunDirectory::reclaim(&path, scratch, &own);
    assert!(reclaim(true).is_err(), "somebody works there");
    drop(directory);
    assert_eq!(reclaim(false).unwrap().finish().left, 0);
    assert!(path.exists() && !path.join("file").exists());
    assert_eq!(reclaim(true).unwrap().finish().left, 0);
    assert!(!path.exists());
    drop(RunDirectory::open(&request, "1").unwrap());
    assert!(reclaim(true).is_err(), "another run has been there");
    fs::remove_file(path.join(MARKER)).unwrap();
    assert!(reclaim(true).is_err(), "no run has been there");
}
