//! `parabench fmt`.

use crate::scene::Scene;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

const UGLY: &str = "REPEAT   $i 3 write( \"a$i\",1k ) ;  # keep me\n";
const NICE: &str = "repeat $i 3 write(\"a$i\", 1k); # keep me\n";

#[test]
fn files_are_formatted_in_place() {
    let scene = Scene::new().file("a.ppl", UGLY).file("b.ppl", NICE);
    scene.parabench("fmt a.ppl b.ppl").exits(0).out_is("").err_is("");
    assert_eq!(scene.text("a.ppl"), scene.text("b.ppl"));
    assert_eq!(scene.names("."), ["a.ppl", "b.ppl"]);
}

#[test]
fn check_names_what_would_change_and_changes_nothing() {
    let scene = Scene::new().file("a.ppl", UGLY).file("b.ppl", NICE);
    scene.parabench("fmt --check a.ppl b.ppl").exits(1).out_is("a.ppl\n");
    assert_eq!(scene.text("a.ppl"), UGLY);
    scene.parabench("fmt --check b.ppl").exits(0).out_is("");
}

#[test]
fn stdout_and_standard_input_leave_files_alone() {
    let scene = Scene::new().file("a.ppl", UGLY);
    scene.parabench("fmt --stdout a.ppl").exits(0).out_is(NICE);
    assert_eq!(scene.text("a.ppl"), UGLY);
    scene.call("fmt -").input(UGLY).run().exits(0).out_is(NICE);
}

#[test]
fn a_program_with_mistakes_is_left_alone_and_does_not_stop_the_others() {
    let scene = Scene::new().file("bad.ppl", "write(\"a\"").file("a.ppl", UGLY);
    scene
        .parabench("fmt bad.ppl a.ppl nosuch.ppl")
        .exits(2)
        .err_has("bad.ppl:1:")
        .err_has("nosuch");
    assert_eq!(scene.text("bad.ppl"), "write(\"a\"");
    assert_eq!(scene.text("a.ppl"), NICE);
}

#[test]
fn permissions_and_symbolic_links_stay() {
    let scene = Scene::new().file("real.ppl", UGLY);
    fs::set_permissions(scene.path("real.ppl"), fs::Permissions::from_mode(0o640)).unwrap();
    symlink("real.ppl", scene.path("link.ppl")).unwrap();
    scene.parabench("fmt link.ppl").exits(0);
    assert_eq!(scene.text("real.ppl"), NICE);
    assert!(scene.path("link.ppl").is_symlink());
    assert_eq!(fs::metadata(scene.path("real.ppl")).unwrap().permissions().mode() & 0o777, 0o640);
}

#[test]
fn text_that_is_not_utf8_is_refused() {
    let scene = Scene::new().file("a.ppl", b"write(\"\xff\", 1);");
    scene.parabench("fmt a.ppl").exits(2).err_has("not UTF-8").err_has("byte 7");
}
