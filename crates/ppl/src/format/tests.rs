//! The usual layout, case by case.

use super::format;

fn check(cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        let (found, diagnostics) = format(text);
        assert_eq!(diagnostics, [], "{text}");
        assert_eq!(found, *expected, "{text}");
        assert_eq!(format(&found).0, found, "not idempotent: {text}");
    }
}

#[test]
fn one_statement_a_line() {
    check(&[
        ("", ""),
        (";", ";\n"),
        ("stat(\"a\");stat (\"b\") ;", "stat(\"a\");\nstat(\"b\");\n"),
        ("REPEAT $i $num   write(\"a\",1);", "repeat $i $num write(\"a\", 1);\n"),
        ("repeat 10{sync;{}}", "repeat 10 {\n    sync;\n    {}\n}\n"),
        (
            "if(1){sync;}else if(2){}else{sync;}",
            "if (1) {\n    sync;\n} else if (2) {} else {\n    sync;\n}\n",
        ),
        ("time [\"x\",sync] repeat 3 ;", "time[\"x\", sync] repeat 3;\n"),
        ("repeat 2 {};sync;", "repeat 2 {};\nsync;\n"),
        (
            "mix{70:read(\"a\");5:{sync;}}",
            "mix {\n    70: read(\"a\");\n    5: {\n        sync;\n    }\n}\n",
        ),
    ]);
}

#[test]
fn blanks_between_tokens() {
    check(&[
        ("print(1)+2,\"x\";", "print (1) + 2, \"x\";\n"),
        ("$x=-1+!$y*( 2 )^3;", "$x = -1 + !$y * (2) ^ 3;\n"),
        ("$x=-9223372036854775808;", "$x = -9223372036854775808;\n"),
        ("repeat($i,10) sync;", "repeat ($i, 10) sync;\n"),
        ("repeat $i 10 .. 100 step 10 ;", "repeat $i 10..100 step 10;\n"),
        ("$l=[1,2 , 3];$x=$l [ $i % 3 ];", "$l = [1, 2, 3];\n$x = $l[$i % 3];\n"),
        ("signal(\"go\" , to = 2);", "signal(\"go\", to=2);\n"),
        ("print $$env ( HOME );", "print $$env(HOME);\n"),
        (
            "define groups{\"a\" : D/1=4,\"b\":S=50 %};",
            "define groups {\"a\":D/1 = 4, \"b\":S = 50%};\n",
        ),
        ("define pattern{\"p\",10,(2*3),2};", "define pattern {\"p\", 10, (2 * 3), 2};\n"),
        (
            "define pattern \"t\" level 3=tiled(nx=4);",
            "define pattern \"t\" level 3 = tiled(nx=4);\n",
        ),
        ("barrier(\"g\"); group \"g\" sync;", "barrier(\"g\");\ngroup \"g\" sync;\n"),
    ]);
}

#[test]
fn comments_stay_where_they_are() {
    check(&[
        ("# a\n\n\n\n# b\nsync;# c\n", "# a\n\n# b\nsync; # c\n"),
        ("sync; /* c */ sync;", "sync; /* c */\nsync;\n"),
        ("/* c */ sync;", "/* c */ sync;\n"),
        ("write(\"a\", // name\n1 /* size */);", "write(\"a\", // name\n    1 /* size */);\n"),
        ("write(\n  // name\n  \"a\", 1);", "write(\n    // name\n    \"a\", 1);\n"),
        (
            "repeat 2 { // twice\n\n sync;\n\n # end\n }",
            "repeat 2 { // twice\n    sync;\n\n    # end\n}\n",
        ),
        ("{/* nothing */}", "{ /* nothing */\n}\n"),
        ("if (1) {\n} // c\nelse {\n}", "if (1) {} // c\nelse {}\n"),
        ("if (1) {}\n// c\nelse sync;", "if (1) {}\n// c\nelse sync;\n"),
        ("sync;\r\n# c  \r\nsync;\r\n", "sync;\r\n# c\r\nsync;\r\n"),
        ("param $n = 1;   /// number\n", "param $n = 1; /// number\n"),
    ]);
}

#[test]
fn long_argument_lists_are_wrapped() {
    let long = "print \"aaaaaaaaaaaaaaaaaaaaaaaaa\", \"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\", \"cccccccccccccccccccccccccccccc\", \"d\", max(1,2);";
    let (found, _) = format(long);
    let expected = "print \"aaaaaaaaaaaaaaaaaaaaaaaaa\", \"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\",\n    \"cccccccccccccccccccccccccccccc\", \"d\", max(1, 2);\n";
    assert_eq!(found, expected);
    assert_eq!(format(&found).0, found);
}

#[test]
fn a_text_with_errors_comes_back_as_it_was() {
    let text = "sync;   stat(\"a\"\n";
    let (found, diagnostics) = format(text);
    assert_eq!(found, text);
    assert_eq!(diagnostics.len(), 1);
}
