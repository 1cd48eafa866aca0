//! What an editor asks for: definition, uses, types, what is visible, renaming.

use ppl::facts::{Facts, SymbolId};
use ppl::source::{Loader, NoIncludes, Span};
use ppl::{Binding, Compiled, compile};
use std::collections::BTreeSet;

fn compiled(text: &str) -> Compiled {
    compile("p.ppl", text.as_bytes().to_vec(), &mut NoIncludes, &Binding::new(4))
}

/// The place of the only `‸` in a text, and the text without it.
fn marked(text: &str) -> (u32, String) {
    let at = text.find('‸').expect("a mark");
    (at as u32, text.replacen('‸', "", 1))
}

/// The symbol at the mark.
fn asked(text: &str) -> (Compiled, SymbolId) {
    let (at, text) = marked(text);
    let compiled = compiled(&text);
    let mention = compiled.facts.at(at).unwrap_or_else(|| panic!("nothing at the mark: {text}"));
    (compiled, mention.symbol)
}

/// `start..end` as line and column of each mention; `!` behind those that define.
fn places(compiled: &Compiled, symbol: SymbolId) -> String {
    let place = |span: Span| {
        let (_, line, column) = compiled.sources.locate(span.start);
        format!("{line}:{column} {}", compiled.sources.text(span))
    };
    let all = compiled.facts.mentions(symbol);
    let words = all.map(|mention| place(mention.span) + if mention.defines { "!" } else { "" });
    words.collect::<Vec<_>>().join(", ")
}

#[test]
fn every_use_leads_to_its_definition_and_to_all_others() {
    for (text, expected) in [
        // A variable, in text, shortened, in braces, set twice.
        (
            "$n = 1;\nprint $‸n, \"$n ${n:02x} $nx \\$n\";\n$n = $n + 1;",
            "1:1 $n!, 2:7 $n, 2:12 $n, 2:15 ${n:02x}, 2:24 $n, 3:1 $n!, 3:6 $n",
        ),
        // A list that changes, and a loop over its elements.
        (
            "$l = [1];\npush($‸l, 2); $l[0] = 3;\nrepeat $x in $l print $x;",
            "1:1 $l!, 2:6 $l!, 2:14 $l!, 3:14 $l",
        ),
        // Procs that set globals, give values, and have defaults, which see the program's variables.
        (
            "$m = 1;\ndefine proc p($m = $m) { global $‸m = $m; return $m; }\n$x = p();",
            "1:1 $m!, 2:20 $m, 2:33 $m!",
        ),
        ("define proc ‸p() { return 1; }\n$x = p();", "1:13 p!, 2:6 p"),
        // A loop variable hides the global in its body alone.
        ("$i = 7;\nrepeat $i $i { print $‸i; }\nprint $i;", "2:8 $i!, 2:22 $i"),
        ("$i = 7;\nrepeat $i $i { print $i; }\nprint $‸i;", "1:1 $i!, 2:11 $i, 3:7 $i"),
        // Bodies have variables of their own and see the globals set before their definition.
        (
            "$a = 1;\ndefine proc p($b) { print $a, $b; $a = 2; print $‸a; }\n$b = 3;\np($b);",
            "2:35 $a!, 2:49 $a",
        ),
        ("$a = 1;\ndefine proc p($b) { print $a, $‸b; }\n$b = 3;\np($b);", "2:15 $b!, 2:31 $b"),
        ("param $n = 4;\n$m = 1;\nprint $‸n; $n = 2;", "1:7 $n!, 3:7 $n, 3:11 $n!"),
        // What the whole program sees is used before its definition, too.
        (
            "sw‸eep(1);\ndefine proc sweep($x) { print $x; }\nsweep(2);",
            "1:1 sweep, 2:13 sweep!, 3:1 sweep",
        ),
        (
            "define groups {\"a\":D, \"b\":D};\ngroup \"‸a\" { barrier(\"a\"); }",
            "1:16 \"a\"!, 2:7 \"a\", 2:21 \"a\"",
        ),
        (
            "define pattern {\"p\", 10, 4k, 0};\n$h = fopen(\"f\", \"r\");\n\
             fread($h, \"‸p\");\n$c = patternpieces(\"p\");",
            "1:17 \"p\"!, 3:11 \"p\"",
        ),
        (
            "define hints \"h\" = \"cb_nodes=4\";\nwith (hints=\"‸h\") { sync; }",
            "1:14 \"h\"!, 2:13 \"h\"",
        ),
        (
            "time[\"w‸rite\"] sync;\ntime[\"read\"] sync;\nctime[\"write\"] sync;",
            "1:6 \"write\"!, 3:7 \"write\"!",
        ),
        (
            "define pattern \"g\" level 0 { $x = 4k; extent($‸x*$$grank, $x); }",
            "1:30 $x!, 1:46 $x, 1:58 $x",
        ),
        // Mistakes elsewhere change nothing.
        ("$x = 1;\n@@ repaet 3 {\nprint $‸x;", "1:1 $x!, 3:7 $x"),
    ] {
        let (compiled, symbol) = asked(text);
        assert_eq!(places(&compiled, symbol), expected, "{text}");
    }
}

#[test]
fn types_are_shown_as_far_as_they_are_known() {
    for (text, expected) in [
        ("param $‸n = 4;", "parameter $n: an integer"),
        ("$‸d = 30s;", "variable $d: a duration"),
        ("repeat $‸i 10 print $i;", "loop variable $i: an integer"),
        ("$‸h = fopen(\"f\", \"r\");", "variable $h: a file handle"),
        ("$‸m = pfopen(\"f\", \"r\");", "variable $m: an MPI file handle"),
        ("$‸x = 1;\n$x = true;", "variable $x: an integer or a boolean"),
        // Another scope's variable of the name is another variable.
        ("$‸x = 1;\ndefine proc p() { $x = true; print $x; }\np();", "variable $x: an integer"),
        ("define proc ‸p() { sync; }", "proc p"),
        ("define groups {\"‸g\":D};", "group \"g\""),
    ] {
        let (compiled, symbol) = asked(text);
        let shown = compiled.facts.describe(symbol, &compiled.sources);
        assert_eq!(shown, expected, "{text}");
    }
}

#[test]
fn comments_before_a_definition_are_its_documentation() {
    for (text, expected) in [
        ("/// Files per rank\nparam $‸n = 4;", Some("Files per rank")),
        ("param $‸n = 4; /// Files per rank", Some("Files per rank")),
        ("/// one\nparam $‸n = 4; /// two", Some("two")),
        ("param $‸n = [1,\n    2]; /// of two lines", Some("of two lines")),
        ("sync; /// one\nparam $‸n = 4;", None),
        ("define param \"n\" $‸n \"1\" /// one\nsync;", Some("one")),
        (
            "/// Makes files\n/// and reads them\ndefine proc ‸p() { sync; }",
            Some("Makes files\nand reads them"),
        ),
        ("// no\ndefine proc ‸p() { sync; }", None),
        ("/// of another\n$a = 1;\ndefine proc ‸p() { sync; }", None),
        ("/// Size\n$‸x = 4k;", Some("Size")),
    ] {
        let (compiled, symbol) = asked(text);
        let found = compiled.facts.documentation(symbol, &compiled.ast, &compiled.sources);
        assert_eq!(found.as_deref(), expected, "{text}");
    }
}

/// Names of variables that are visible at the mark.
fn visible(text: &str) -> String {
    let (at, text) = marked(text);
    let compiled = compiled(&text);
    let facts: &Facts = &compiled.facts;
    let all = facts.visible_at(at, &compiled.ast, &compiled.sources);
    let names = all.filter(|(_, symbol)| symbol.kind.is_variable());
    names.map(|(id, _)| facts.name(id, &compiled.sources)).collect::<Vec<_>>().join(" ")
}

#[test]
fn what_can_be_read_at_a_place() {
    for (text, expected) in [
        ("$a = 1;\n‸$b = 2;", "a"),
        ("$a = 1;\n$b = 2;\n‸", "a b"),
        ("$a = 1;\nrepeat $i 10 {\n$b = $i;\n‸\n}\n$c = 1;", "a i b"),
        ("$a = 1;\nrepeat $i 10 {\n$b = $i;\n}\n‸$c = 1;", "a b"),
        ("$a = 1;\ndefine proc p($x) {\n$y = $x;\n‸\n}\n$c = 1;", "a x y"),
        ("$a = 1;\ndefine proc p($x) {\n$y = $x;\n}\n‸$c = 1;", "a"),
    ] {
        assert_eq!(visible(text), expected, "{text}");
    }
}

#[test]
fn a_renamed_program_makes_the_same_plan() {
    let text = "$n = 2;\nrepeat $i $n write(\"f-${n:03}-$n_$i\", 1k);\nprint $n;";
    let before = compiled(text);
    let (symbol, _) = before.facts.symbols().next().expect("a symbol");
    let mut renamed = text.to_string();
    let mut edits = before.facts.rename(symbol, "count", &before.sources);
    edits.sort_by_key(|(span, _)| std::cmp::Reverse(*span));
    assert_eq!(edits.len(), 5);
    for (span, new) in edits {
        renamed.replace_range(span.start as usize..span.end as usize, &new);
    }
    assert_eq!(
        renamed,
        "$count = 2;\nrepeat $i $count write(\"f-${count:03}-${count}_$i\", 1k);\nprint $count;"
    );
    let listing = |compiled: &Compiled| {
        let plan = compiled.plan.as_ref().unwrap_or_else(|| panic!("{:?}", compiled.diagnostics));
        plan.code.iter().map(|instr| format!("{instr:?}")).collect::<Vec<_>>()
    };
    assert_eq!(listing(&before), listing(&compiled(&renamed)));
}

struct Library;

impl Loader for Library {
    fn load(&mut self, _from: &str, path: &str) -> Result<(String, Vec<u8>), String> {
        Ok((path.into(), b"define proc sweep($n) { print $n; }\n$shared = 5;".to_vec()))
    }
}

#[test]
fn definitions_in_included_files_are_found() {
    let text = "include \"lib.ppl\";\nsweep($shared);";
    let compiled = compile("p.ppl", text.into(), &mut Library, &Binding::new(1));
    let files: BTreeSet<String> = ["sweep", "$shared"]
        .iter()
        .map(|name| {
            let at = text.find(name).expect("the name") as u32;
            let symbol = compiled.facts.at(at).expect("a mention").symbol;
            let span = compiled.facts.symbol(symbol).span;
            let file = compiled.sources.file(compiled.sources.file_at(span.start));
            file.name.to_string()
        })
        .collect();
    assert_eq!(files, BTreeSet::from(["lib.ppl".to_string()]));
}
