//! What programs parse to, in the form of [`dump`].

mod dump;

use dump::dump;
use ppl::ast::Ast;
use ppl::diag::MAX_EACH;
use ppl::diag::{Code, Diagnostic};
use ppl::parse::MAX_HEIGHT;
use ppl::source::{Loader, NoIncludes, Sources};

fn parsed(text: &str) -> (Ast, Vec<Diagnostic>, String) {
    parsed_with(text, &mut NoIncludes)
}

fn parsed_with(text: &str, loader: &mut dyn Loader) -> (Ast, Vec<Diagnostic>, String) {
    let mut sources = Sources::default();
    let (root, _) = sources.add("test.ppl", text.as_bytes().to_vec());
    let (ast, diagnostics) = ppl::parse(&mut sources, root, loader);
    let shown = dump(&ast, &sources);
    (ast, diagnostics, shown)
}

fn check(cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        let (_, diagnostics, shown) = parsed(text);
        assert_eq!(diagnostics, [], "{text}");
        assert_eq!(shown.trim_end(), *expected, "{text}");
    }
}

#[test]
fn operators_bind_as_the_language_says() {
    check(&[
        ("$x = 7%3*2;", "(= $x (% 7 (* 3 2)))"),
        ("$x = 1-2-3;", "(= $x (- (- 1 2) 3))"),
        ("$x = 2^3^2;", "(= $x (^ 2 (^ 3 2)))"),
        ("$x = -2^2;", "(= $x (- (^ 2 2)))"),
        ("$x = 2^-1*3;", "(= $x (* (^ 2 (- 1)) 3))"),
        ("$x = 1+2%3 < 4 && !5 || 6;", "(= $x (|| (&& (< (+ 1 (% 2 3)) 4) (! 5)) 6))"),
        ("$x = (1+2)*3;", "(= $x (* (paren (+ 1 2)) 3))"),
        ("$x = -9223372036854775808;", "(= $x -9223372036854775808)"),
        ("$x = $l[1][$i % 3]^2;", "(= $x (^ (index (index $l 1) (% $i 3)) 2))"),
        ("$x = [1, \"a\", [2]];", "(= $x (list 1 \"a\" (list 2)))"),
        (
            "$x = min(1, $$rank) + len($$env(HOME));",
            "(= $x (+ (call min 1 $$rank) (call len $$env:HOME)))",
        ),
        ("$x = TRUE;", "(= $x true)"),
        ("$x = 1 || 2 ? 3 : 4 ? 5 : 6;", "(= $x (? (|| 1 2) 3 (? 4 5 6)))"),
        ("$x = 1 ? 2 ? 3 : 4 : 5;", "(= $x (? 1 (? 2 3 4) 5))"),
        ("print (1) ? 2 : 3, 4;", "(print: (? (paren 1) 2 3) 4)"),
        ("$x = 1g/64k;", "(= $x (/ 1073741824 65536))"),
        ("$l[1][$i] = 2;", "(= (index (index $l 1) $i) 2)"),
        ("push($l[1], 2);", "(call push (index $l 1) 2)"),
        ("$x = 2min; $y = 100/s; $z = 0.25;", "(= $x 2min)\n(= $y 100/s)\n(= $z 0.25)"),
    ]);
}

#[test]
fn commands_with_and_without_parentheses() {
    check(&[
        ("print \"x\";", "(print: \"x\")"),
        ("print(\"x\");", "(print \"x\")"),
        ("print (1)+2, \"x\";", "(print: (+ (paren 1) 2) \"x\")"),
        ("print (1), 2;", "(print: (paren 1) 2)"),
        ("print ($l)[0];", "(print: (index (paren $l) 0))"),
        ("print -1;", "(print: (- 1))"),
        ("print;", "(print:)"),
        ("WRITE \"a\", 1;", "(write: \"a\" 1)"),
        ("sync; sync();", "(sync:)\n(sync)"),
        ("fseek($h, 5, SEEK_SET);", "(fseek $h 5 SEEK_SET)"),
        ("signal(\"go\", to=2);", "(signal \"go\" to=2)"),
        ("signal \"go\", to=2;", "(signal: \"go\" to=2)"),
        ("$h = FOPEN(\"a\", \"r\");", "(= $h (call fopen \"a\" \"r\"))"),
        ("assert(min(1, 2) < 3, \"no\");", "(assert (< (call min 1 2) 3) \"no\")"),
        ("pfdread($h, \"p\");", "(pfread $h \"p\")"),
        ("checkpoint(\"a\", 10m);", "(call checkpoint \"a\" 10485760)"),
        ("unlink(\"a\");", "(delete \"a\")"),
    ]);
}

#[test]
fn heads_of_repeat() {
    check(&[
        ("repeat 10 ;", "(repeat 10 ())"),
        ("repeat $i 10 {}", "(repeat $i 10 (block))"),
        ("repeat $i $num stat(\"a\");", "(repeat $i $num (stat \"a\"))"),
        ("repeat $n stat(\"a\");", "(repeat $n (stat \"a\"))"),
        ("repeat $n {}", "(repeat $n (block))"),
        ("repeat $n ;", "(repeat $n ())"),
        ("repeat $n*2 {}", "(repeat (* $n 2) (block))"),
        ("repeat $n[1] {}", "(repeat (index $n 1) (block))"),
        ("repeat $n repeat 2 ;", "(repeat $n (repeat 2 ()))"),
        ("repeat $n $x = 1;", "(repeat $n (= $x 1))"),
        ("repeat $i (10) {}", "(repeat $i (paren 10) (block))"),
        ("repeat $i !0 {}", "(repeat $i (! 0) (block))"),
        ("repeat $i -1 {}", "(repeat (- $i 1) (block))"),
        ("repeat $i min(1,2) {}", "(repeat $i (call min 1 2) (block))"),
        ("repeat $n work(1);", "(repeat $n (call work 1))"),
        ("repeat ($i, 10) {}", "(repeat $i 10 (block))"),
        ("repeat ($i, 1..3 step 2) {}", "(repeat $i 1 .. 3 step 2 (block))"),
        ("repeat ($n)*2 {}", "(repeat (* (paren $n) 2) (block))"),
        ("repeat ($n*2) {}", "(repeat (paren (* $n 2)) (block))"),
        ("repeat $i 10..100 step 10 {}", "(repeat $i 10 .. 100 step 10 (block))"),
        ("repeat 0..$n {}", "(repeat 0 .. $n (block))"),
        ("repeat $i 5 until 30s level {}", "(repeat $i 5 until level 30s (block))"),
    ]);
}

#[test]
fn statements() {
    check(&[
        (";", "()"),
        ("{ {} ; }", "(block (block) ())"),
        ("time stat(\"a\");", "(time (stat \"a\"))"),
        ("time [\"x\"] ;", "(time label \"x\" ())"),
        ("ctime[\"x\", sync] ;", "(ctime label \"x\" sync ())"),
        ("group \"g\" ; group (\"g\") ;", "(group \"g\" ())\n(group \"g\" ())"),
        ("barrier; barrier \"g\"; barrier(\"g\");", "(barrier)\n(barrier \"g\")\n(barrier \"g\")"),
        ("Master { }", "(master (block))"),
        ("master sync { sync; }", "(master sync (block (sync:)))"),
        ("master sync;", "(master (sync:))"),
        ("if ($x) ; else if (!$y) {} else ;", "(if (paren $x) () (if (paren (! $y)) (block) ()))"),
        ("while (1) { break; continue; }", "(while (paren 1) (block (break) (continue)))"),
        ("with (direct=true, fsync=\"close\") ;", "(with direct=true fsync=\"close\" ())"),
        ("share $i 100 by 8 ;", "(share $i 100 by 8 ())"),
        ("mix { 70: ; 30: { } }", "(mix 70 30 () (block))"),
    ]);
}

#[test]
fn definitions() {
    check(&[
        ("define param \"n\" $n \"10\" $x = 1;", "(param public \"n\" $n \"10\")\n(= $x 1)"),
        ("param $n = 10;", "(param $n 10)"),
        ("define groups {\"a\":D, \"b\":S1, \"c\"};", "(groups \"a\":D0 \"b\":S1 \"c\":0)"),
        (
            "define groups {\"a\":D/2, \"b\" 3} ;",
            "(groups \"a\":D2 \"b\":3)\n()".trim_end_matches("\n()"),
        ),
        (
            "define groups {\"a\" = 4, \"b\":D = 50%, \"c\" = $n % 2}",
            "(groups \"a\":0 = 4 \"b\":D0 %= 50 \"c\":0 = (% $n 2))",
        ),
        ("define pattern {\"p\", 10, (100*1024), 2};", "(pattern \"p\" 10 (paren (* 100 1024)) 2)"),
        ("define pattern \"t\" level 3 = tiled(nx=4);", "(pattern \"t\" level 3 tiled nx=4)"),
        (
            "define pattern \"m\" level 0 { repeat $i 2 extent($i, 1); }",
            "(pattern \"m\" level 0 (block (repeat $i 2 (call extent $i 1))))",
        ),
        ("define proc p($a, $b) { write($a, $b); }", "(proc p $a $b (block (write $a $b)))"),
        ("define proc p() ;", "(proc p ())"),
        ("define hints \"w\" = \"a=1\";", "(define hints \"w\" \"a=1\")"),
    ]);
}

/// One mistake, one diagnostic; what follows is parsed.
#[test]
fn recovery() {
    for (text, code, message, shown) in [
        ("stat(\"a\")\nstat(\"b\");", "E0201", "expected `;`", "(stat \"a\")\n(stat \"b\")"),
        ("stat(\"a\") stat(\"b\");", "E0201", "expected `;`", "(stat \"a\")\n(stat \"b\")"),
        ("stat(\"a\"; stat(\"b\");", "E0201", "expected `,` or `)`", "(stat \"a\")\n(stat \"b\")"),
        ("stat(\"a\"\nstat(\"b\");", "E0201", "expected `,` or `)`", "(stat \"a\")\n(stat \"b\")"),
        ("write(\"a\" 1);", "E0201", "expected `,`", "(write \"a\" 1)"),
        ("print \"a\" \"b\";", "E0201", "expected `,`", "(print: \"a\" \"b\")"),
        ("write(\"a\", );", "E0201", "expected a value", "ERROR"),
        ("write(\"a\", {1}, 2); sync;", "E0201", "expected a value", "ERROR\n(sync:)"),
        ("repaet $i 10 stat(\"$i\");", "E0202", "neither", "(repeat $i 10 (stat \"$i\"))"),
        ("wihle ($x) { sync; }", "E0202", "neither", "ERROR"),
        ("prnt \"a\";", "E0202", "neither", "(print: \"a\")"),
        ("foo bar 1; sync;", "E0202", "neither", "ERROR\n(sync:)"),
        ("x = 5;", "E0202", "expected a statement", "(= $x 5)"),
        ("$x = foo;", "E0202", "expected a value", "(= $x ERROR)"),
        ("$x = min(1, ; sync;", "E0201", "expected a value", "(= $x ERROR)\n(sync:)"),
        ("$x = [1, ; sync;", "E0201", "expected a value", "(= $x ERROR)\n(sync:)"),
        ("$x = ; sync;", "E0201", "expected a value", "(= $x ERROR)\n(sync:)"),
        ("$x *= 1; sync;", "E0201", "expected `=`", "ERROR\n(sync:)"),
        ("$x = 1 ? 2; sync;", "E0201", "`:` and the other value", "(= $x ERROR)\n(sync:)"),
        ("print \"abc\nsync;", "E0102", "closes this string", "(print: ERROR)\n(sync:)"),
        ("write(\"abc, 1);\nsync;", "E0102", "closes this string", "(write ERROR)\n(sync:)"),
        ("print “hello”;", "E0101", "straight", "(print: ERROR)"),
        ("repeat { sync; }", "E0201", "number of repetitions", "(repeat ERROR (block (sync:)))"),
        ("repeat $i 10.. { sync; }", "E0201", "expected a value", "(repeat $i 10 (block (sync:)))"),
        ("if $x { sync; } else { }", "E0201", "`(` after `if`", "(if $x (block (sync:)) (block))"),
        ("if ($x = 1) { } else { }", "E0201", "found `=`", "(if ERROR (block) (block))"),
        ("if ($x { }", "E0201", "expected `)`", "(if (paren $x) (block))"),
        ("else { sync; }", "E0204", "without an `if`", "ERROR"),
        ("break;", "E0204", "is outside a loop", "ERROR"),
        (
            "repeat 2 { define proc p() { } sync; }",
            "E0204",
            "is not allowed inside",
            "(repeat 2 (block (proc p (block)) (sync:)))",
        ),
        ("{ sync;", "E0201", "expected `}`", "(block (sync:))"),
        (
            "{ { sync; \ndefine proc p() {}\nparam $x = 1;\n",
            "E0204",
            "is not allowed",
            "(block (block (sync:) (proc p (block)) (param $x 1)))",
        ),
        ("sync; } sync;", "E0201", "without an open", "(sync:)\n(sync:)"),
        ("define groups {\"a\":X, \"b\":D}; sync;", "E0201", "tag `S` or `D`", "(groups)\n(sync:)"),
        ("define groups {\"a\" \"b\"}; sync;", "E0201", "`,` or `}`", "(groups \"a\":0)\n(sync:)"),
        ("define group {\"a\"};", "E0201", "what to define", "ERROR"),
        (
            "define pattern {10, 2}; sync;",
            "E0201",
            "name of the pattern",
            "(pattern ERROR)\n(sync:)",
        ),
        ("time[label] { sync; }", "E0201", "label in quotes", "(time (block (sync:)))"),
        ("with (direct) { sync; }", "E0201", "option", "(with (block (sync:)))"),
        ("with { sync; }", "E0201", "options", "(with (block (sync:)))"),
        ("define proc write($a) { }", "E0303", "an operation", "(proc write $a (block))"),
        ("define proc p($a $b) { }", "E0201", "`)`", "(proc p (block))"),
        ("repeat 3", "E0201", "expected a statement", "(repeat 3 ERROR)"),
        ("\"abc\"; sync;", "E0201", "expected a statement", "ERROR\n(sync:)"),
        ("print \"a\\qb\";", "E0103", "escape", "(print: \"a\\qb\")"),
        ("print \"${a\";", "E0201", "`}`", "(print: \"${a\")"),
        ("$x = 9223372036854775808;", "E0104", "up to", "(= $x ERROR)"),
        ("include \"x\"; sync;", "E0003", "cannot", "(include \"x\")\n(sync:)"),
        ("sync; /* abc", "E0102", "`*/`", "(sync:)"),
    ] {
        let (_, diagnostics, found) = parsed(text);
        let codes: Vec<_> = diagnostics.iter().map(|d| d.code.as_str()).collect();
        assert_eq!(codes, [code], "{text}\n{diagnostics:#?}");
        assert!(diagnostics[0].message.contains(message), "{text}\n{}", diagnostics[0].message);
        assert!(found.starts_with(shown), "{text}\n{found}\n{shown}");
    }
}

/// Nested however deep: one diagnostic, no overflow of the stack, and the rest is parsed.
#[test]
fn nesting_is_limited() {
    let deep = 100_000;
    for (open, close) in [
        ("{", "}"),
        ("repeat 2 ", ""),
        ("time {", "}"),
        ("if (1) ", ""),
        ("mix { 1: ", "}"),
        ("define proc p() {", "}"),
    ] {
        let text = format!("{};{}\nsync;", open.repeat(deep), close.repeat(deep));
        let (_, diagnostics, shown) = parsed(&text);
        let deepest = diagnostics.iter().filter(|d| d.code == Code::TooDeep).count();
        assert_eq!(deepest, 1, "{open}");
        assert!(shown.ends_with("(sync:)\n"), "{open}");
    }
    for (open, close) in
        [("(", ")"), ("-", ""), ("!", ""), ("[", "]"), ("min(", ")"), ("2^", ""), ("$l[", "]")]
    {
        let text = format!("$x = {}1{};\nsync;", open.repeat(deep), close.repeat(deep));
        let (_, diagnostics, shown) = parsed(&text);
        let codes: Vec<_> = diagnostics.iter().map(|d| d.code).collect();
        assert_eq!(codes, [Code::TooDeep], "{open}");
        assert!(shown.ends_with("(sync:)\n"), "{open}");
    }
}

#[test]
fn long_rows_of_operators_are_limited() {
    let row = |n: usize| parsed(&format!("$x = 1{};", "+1".repeat(n))).1;
    assert_eq!(row(MAX_HEIGHT as usize - 1), []);
    assert_eq!(row(100_000).len(), 1);
    let nested =
        format!("$x = {}1{};", "(".repeat(150), format!("{}){}", "+1".repeat(9), "").repeat(150));
    assert_eq!(parsed(&nested).1.len(), 1);
    let ladder = format!("if (1) ; {}", "else if (2) ; ".repeat(1000));
    assert_eq!(parsed(&ladder).1.len(), 1);
}

#[test]
fn the_number_of_errors_is_limited() {
    let (_, diagnostics, shown) = parsed(&"stat(\"a\")\n".repeat(1000));
    assert_eq!(diagnostics.len(), MAX_EACH + 1);
    assert_eq!(diagnostics[MAX_EACH].message, "900 more errors are not shown");
    assert_eq!(shown.lines().count(), 1000);
}

#[test]
fn a_chain_of_includes_is_limited() {
    struct Endless(usize);
    impl Loader for Endless {
        fn load(&mut self, _: &str, _: &str) -> Result<(String, Vec<u8>), String> {
            self.0 += 1;
            Ok((format!("{}.ppl", self.0), b"include \"next\"; include \"next\";".to_vec()))
        }
    }
    let (_, diagnostics, _) = parsed_with("include \"first\";", &mut Endless(0));
    assert!(diagnostics.iter().all(|d| d.code == Code::Include));
    assert!(diagnostics[0].message.contains("32 levels"), "{}", diagnostics[0].message);
    assert_eq!(diagnostics.len(), MAX_EACH + 1);
}

#[test]
fn an_included_file_that_is_not_text_is_named_with_its_place() {
    struct Binary;
    impl Loader for Binary {
        fn load(&mut self, _: &str, path: &str) -> Result<(String, Vec<u8>), String> {
            Ok((path.to_string(), vec![b'a', 0xff]))
        }
    }
    let (_, diagnostics, _) = parsed_with("include \"x.bin\";", &mut Binary);
    assert_eq!(diagnostics.len(), 1);
    assert_eq!(diagnostics[0].code, Code::NotUtf8);
    assert_eq!(diagnostics[0].related[0].0.start, 8);
}

#[test]
fn capitals_are_noted() {
    let (ast, _, _) =
        parsed("REPEAT $i 3 Print \"x\"; repeat 0..9 STEP 2 ; $h = FOPEN(\"a\", \"r\");");
    assert_eq!(ast.capitals.len(), 4);
}
