//! Transfers that a program hands to the kernel or to the C library, and asks for later: recorded, or named.

use crate::record::{compiled, operations};
use crate::scene::{Done, Scene};

const PROGRAM: &str = include_str!("recorders/async.c");

fn scene() -> Scene {
    let scene = Scene::new().file("w/keep", "");
    assert!(compiled(&scene, "async", PROGRAM, &["-ldl"]));
    scene
}

fn recorded(scene: &Scene, what: &str) -> Done {
    scene.parabench(&format!("record --force --under w -o r -- ./async {what}")).exits(0)
}

#[test]
fn transfers_that_are_handed_over_are_recorded_with_their_results() {
    let scene = scene();
    let aio = [
        ("fwrite file @0 512 of 512 errno 0", 1),
        ("fwrite file @512 512 of 512 errno 0", 1),
        ("fread file @0 512 of 512 errno 0", 1),
        // Behind the end of the file, and into two buffers.
        ("fread file @3584 0 of 512 errno 0", 1),
        ("fread file @512 512 of 512 errno 0", 1),
    ];
    let posix = [
        ("fwrite file @0 512 of 512 errno 0", 1),
        ("fwrite file @512 512 of 512 errno 0", 1),
        ("fread file @512 512 of 512 errno 0", 1),
        ("fread file @3584 0 of 512 errno 0", 1),
        ("fsync file @0 0 of 0 errno 0", 1),
    ];
    let plain = [("fwrite file @0 512 of 512 errno 0", 1), ("fread file @0 512 of 512 errno 0", 1)];
    for (what, expected) in
        [("kernel", &aio[..]), ("functions", &aio), ("posix", &posix), ("syscall", &plain)]
    {
        let done = recorded(&scene, what);
        assert!(!done.err.contains("incomplete"), "{what}: {done:?}");
        let mut counts = operations(&scene, "r");
        counts.retain(|text, _| ["fread", "fwrite", "fsync"].iter().any(|op| text.starts_with(op)));
        let expected = expected.iter().map(|(text, count)| ((*text).to_string(), *count));
        assert_eq!(counts, expected.collect(), "{what}");
    }
}

#[test]
fn what_was_handed_over_is_folded_and_replayed() {
    let scene = scene();
    recorded(&scene, "functions");
    scene.parabench("fold r").exits(0).err_has("without loss");
    scene.parabench("replay r -- --out again").exits(0);
    scene.parabench("fidelity r again").exits(0).out_has("all of its 7 operations");
}

#[test]
fn work_that_nobody_sees_is_named_everywhere() {
    let scene = scene();
    let library = "int io_uring_submit(void *ring) { return ring ? 0 : 3; }";
    assert!(compiled(&scene, "liburing.so.2", library, &["-shared", "-fPIC"]));
    for (what, says) in [
        (
            "ring",
            "3 calls hand work to the kernel that the log does not show: io_uring_submit of async 3",
        ),
        ("unasked", "1 call was not recorded, for want of room or of access to the log: ./async 1"),
    ] {
        let done = recorded(&scene, what);
        done.err_has(says);
        scene.call("report r").env("COLUMNS", "300").run().exits(0).out_has(says);
        let folded = scene.parabench("fold r").exits(0).err_has(says).out_has(says);
        let replayed = scene.parabench("replay r -- --out again --force").exits(0).err_has(says);
        let compared = scene.parabench("fidelity r again").exits(0).out_has(says);
        for done in [folded, replayed, compared] {
            assert!(!format!("{done:?}").contains("without loss"), "{done:?}");
        }
    }
}

/// A socket has a name in the file system, which others ask for and remove.
#[test]
fn a_socket_makes_a_name() {
    let scene = Scene::new().file("w/keep", "");
    let program = r#"
        #include <stddef.h>
        #include <sys/socket.h>
        #include <sys/stat.h>
        #include <sys/un.h>
        #include <unistd.h>
        int main(void) {
            struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "w/s"};
            struct sockaddr_un hidden = {.sun_family = AF_UNIX, .sun_path = "\0hidden"};
            struct stat facts;
            for (int i = 0; i < 2; i++) {
                int fd = socket(AF_UNIX, SOCK_STREAM, 0);
                if (bind(fd, (struct sockaddr *)&name, sizeof name) != 0) return 1;
                if (bind(fd, (struct sockaddr *)&hidden, sizeof hidden) == 0) return 2;
                if (stat("w/s", &facts) != 0 || unlink("w/s") != 0) return 3;
                close(fd);
            }
            return 0;
        }
    "#;
    assert!(compiled(&scene, "socket", program, &[]));
    scene.parabench("record --under w -o r -- ./socket").exits(0);
    let counts = operations(&scene, "r");
    assert_eq!(counts.get("create s @0 0 of 0 errno 0"), Some(&2), "{counts:#?}");
    scene.parabench("fold r").exits(0).err_has("without loss");
    scene.parabench("replay r -- --out again").exits(0);
    scene.parabench("fidelity r again").exits(0).out_has("all of its 6 operations");
}
