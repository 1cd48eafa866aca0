//! Why the lexical rule is enough for programs that make links which lead down: on a real file system, no
//! name without `..` leaves a directory whose links all lead down, whatever is moved, exchanged and linked
//! in it.

use crate::random::{Dice, cases};
use model::directory::leads_down;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

/// Components of names and of targets; few, so that they meet.
const PARTS: [&str; 8] = ["a", "b", "c", "l", "m", ".", "", "..."];

#[test]
fn no_name_without_dots_leaves_a_directory_whose_links_lead_down() {
    println!("{}", cases(5, |seed| case(seed, |dice| text(dice, &PARTS))));
}

/// The same names get out where links may go up by one: what is tested can fail.
#[test]
fn names_leave_where_a_link_goes_up() {
    let up = |dice: &mut Dice| format!("../{}", text(dice, &PARTS));
    let left = (0..200).filter(|seed| case(*seed, up).is_err()).count();
    assert!(left > 20, "{left} of 200 got out");
}

/// One to four components, relative and not empty.
fn text(dice: &mut Dice, parts: &[&str]) -> String {
    let parts: Vec<&str> = (0..1 + dice.below(4)).map(|_| dice.one(parts)).collect();
    format!("./{}", parts.join("/"))
}

fn case(seed: u64, target: impl Fn(&mut Dice) -> String) -> Result<(), String> {
    let outside = tempfile::tempdir().expect("a temporary directory");
    let root = outside.path().canonicalize().expect("a path").join("run");
    fs::create_dir(&root).expect("made");
    let mut dice = Dice::new(seed);
    for _ in 0..120 {
        let [one, two] = [0, 1].map(|_| root.join(text(&mut dice, &PARTS)));
        change(&mut dice, &one, &two, &target);
        stays(&root, &one)?;
    }
    let names = fs::read_dir(outside.path()).expect("read").count();
    if names == 1 { Ok(()) } else { Err(format!("{names} names beside the directory")) }
}

/// Fails as it likes: most names are not there.
fn change(dice: &mut Dice, one: &Path, two: &Path, target: &impl Fn(&mut Dice) -> String) {
    match dice.below(8) {
        0..2 => drop(fs::create_dir(one)),
        2..4 => drop(symlink(target(dice), one)),
        4 => drop(fs::rename(one, two)),
        5 => drop(renameat_with(CWD, one, CWD, two, RenameFlags::EXCHANGE)),
        6 => drop(fs::hard_link(one, two)),
        // Also through a link that leads to nothing yet.
        _ => drop(fs::write(one, "x")),
    }
}

fn stays(root: &Path, name: &Path) -> Result<(), String> {
    match name.canonicalize() {
        Ok(real) if !real.starts_with(root) => {
            Err(format!("{} leads to {}", name.display(), real.display()))
        }
        _ => Ok(()),
    }
}

#[test]
fn targets_of_this_test_lead_down() {
    let mut dice = Dice::new(1);
    assert!((0..100).all(|_| leads_down(text(&mut dice, &PARTS).as_bytes())));
}
