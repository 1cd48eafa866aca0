//! Programs that nobody should write: exit code, and words that must be said.

use crate::scene::Scene;

/// Name, arguments after `run x.ppl`, program, exit code, words on either stream.
type Odd = (&'static str, &'static str, &'static str, i32, &'static str);

#[rustfmt::skip]
const ODD: &[Odd] = &[
    ("first statement", "", ";", 0, "No I/O operation was executed"),
    ("empty blocks", "", "{} {{}} ;;; repeat 3 {} time[\"x\"] {} time {} master {}", 0, "finished"),
    ("capitals", "", "PRINT \"a\"; REPEAT $I 2 TIME[\"l\"] MASTER WRITE(\"f$I\", 1K); BARRIER;", 0, "[0] a"),
    ("parentheses after print", "", "print (1)+2, \"x\";", 0, "[0] 3 x"),
    ("no sleep", "--agile", "sleep(10000000); print \"done\";", 0, "[0] done"),
    ("sizes", "", "print 1g/64k, 7%(3*2), -2^2, -7%3, \"10\"==10;", 0, "[0] 16384 1 -4 -1 true"),
    ("zero", "", "$z = 0; repeat 1 $z = $z * 2; print $$rand % $z;", 1, "division by zero"),
    ("break through everything", "", "define groups {\"a\":S=1}; repeat $i 3 { group \"a\" with (transfer=2) time[\"t\"] { if ($i == 1) { break; } print \"in\", $i, $$group; } } print \"out[$$group]\";", 0, "[0] in 0 a\n[0] out[]"),
    ("shadow", "", "$i = 7; repeat $i 2 { $i = 9; } print $i;", 0, "[0] 7"),
    ("unset", "", "if ($$rank == 5) { $x = 1; } print $x;", 1, "$x has no value yet"),
    ("negative repeat", "", "$n = -5; repeat $n print \"x\";", 2, "not negative, found -5"),
    ("smallest integer", "", "$x = -9223372036854775807 - 1; print abs($x);", 2, "does not fit a 64-bit integer"),
    ("end of the integers", "", "repeat $i 9223372036854775806..9223372036854775807 step 5 print $i;", 0, "[0] 9223372036854775806\n"),
    ("includes itself", "", "include \"x.ppl\";", 2, "x.ppl -> x.ppl"),
    ("a barrier for one", "-n 2", "if ($$rank == 0) { barrier; }", 1, "the barrier cannot be met: rank 1 has finished"),
    ("waits for each other", "-n 2", "if ($$rank == 0) { wait(\"x\"); } else { wait(\"y\"); }", 1, "nobody could go on"),
    ("an empty group", "-n 2 -g a:0", "define groups {\"a\":D, \"b\":D}; group \"a\" print \"a\"; group \"b\" print \"b\";", 0, "its blocks are skipped"),
    ("signal to nobody", "-n 2", "signal(\"x\", to=2);", 1, "found member 2 of 2"),
    ("the marker", "", "delete(\".parabench\"); rename(\".parabench\", \"a\"); create(\"f\"); rename(\"f\", \".parabench\"); symlink(\".parabench\", \"l\"); truncate(\".parabench\", 0); link(\".parabench\", \"h\");", 1, "1 x rename EPERM at x.ppl:1:63"),
    ("out through a moved link", "", "mkdir(\"a\"); mkdir(\"a/b\"); symlink(\"..\", \"a/b/up\"); rename(\"a/b/up\", \"up\"); create(\"up/evil\");", 1, "1 x create EXDEV"),
    ("a message with escapes", "", "assert(1 == 2, \"x\\n\\x1b[31mred\");", 1, "assertion failed: x\\n\\x1b[31mred"),
    ("past the end of files", "", "write(\"a\", 10, 9223372036854775800);", 1, "1 x write EINVAL"),
    ("a handle that is none", "", "$h = fcreat(\"a\"); $h = 5; fclose($h);", 1, "expected a file handle, found an integer (5)"),
];

#[test]
fn odd_programs_end_as_they_should() {
    for (name, args, program, code, words) in ODD {
        let scene = Scene::new().file("x.ppl", program);
        let done = scene.parabench(&format!("run x.ppl {args}"));
        assert_eq!(done.code, Some(*code), "{name}:\n{}\n{}", done.out, done.err);
        let said = format!("{}{}", done.out, done.err);
        // The table breaks long lines.
        let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat(&said).contains(&flat(words)), "{name}: no {words:?} in\n{said}");
        assert!(!said.contains("panicked"), "{name}: {said}");
        assert_eq!(scene.names("."), ["x.ppl"], "{name}");
    }
}
