//! What a plan does is what the tree says: two interpreters that have nothing in
//! common agree on examples and on generated programs. And no text makes `compile` panic.

use crate::{generate, plan, tree};
use ppl::source::NoIncludes;
use ppl::{Binding, compile};
use proptest::prelude::*;
use std::path::Path;

const RANKS: u32 = 4;

/// Compares both traces of every rank; false if the program has errors.
fn agree(text: &str) -> bool {
    let compiled = compile("test.ppl", text.into(), &mut NoIncludes, &Binding::new(RANKS));
    let Some(made) = &compiled.plan else { return false };
    for rank in 0..RANKS {
        let by_tree = tree::trace(&compiled.ast, &compiled.sources, RANKS, rank);
        let by_plan = plan::trace(made, rank);
        let differs = by_tree.iter().zip(&by_plan).position(|(a, b)| a != b);
        if let Some(at) = differs.or((by_tree.len() != by_plan.len()).then_some(0)) {
            let (a, b) = (&by_tree[at..], &by_plan[at..]);
            let (a, b) = (&a[..a.len().min(3)], &b[..b.len().min(3)]);
            panic!("rank {rank}, line {at}: {a:?} is {b:?} in\n{text}\n{}", ppl::listing(made));
        }
    }
    true
}

#[test]
fn both_interpreters_agree_on_constructs() {
    for text in [
        "$i = 3; print \"$ia ${i}a $i\"; repeat $i 2 print $i; print $i;",
        "repeat $i 10..0 step -3 { if ($i == 4) continue; print $i; if ($i < 3) break; }",
        "repeat $i 3 time[\"l$i\"] { if ($i == 1) continue; with (transfer=1) { if ($i == 2) break; } sync; }",
        "define groups {\"a\":D, \"b\":D = 1}; group \"a\" { master print $$grank; group \"b\" print 1; print $$group; }",
        "define proc f($n) { $x = $n; if ($n > 0) f($n - 1); print $x; } f(3); f(\"2\");",
        "$n = 0; define proc f($a, $b = 2) { global $n = $n + 1; if ($a > 1) { time[\"t\"] return $a + $b; } return \"s$a\"; } \
         $x = f(1); print $x; $x = f(3); print $x, $n; $x = f(5, $n); print $x; f(1); print $n;",
        "define proc e() { repeat $i 9 { with (transfer=1) { if ($i == 3) return; } print $i; } } e(); print \"end\";",
        "define proc fib($n) { if ($n < 2) return $n; $a = fib($n - 1); $b = fib($n - 2); return $a + $b; } $x = fib(7); print $x;",
        "$l = [3, 1]; $m = $l; push($m, $l); $m[0] = \"x\"; print $l, $m; repeat $x in $m { if ($x == 1) continue; print $x; $m[1] = 7; }",
        "$l = [[1, 2], [3]]; $m = $l; $l[0][1] = 9; push($l[1], $l); $l[1][1][0] = \"x\"; print $l, $m; $l[$$rank][0] = 7; print $l;",
        "$l = [[1], 2]; define proc g($i, $l) { global $l[0][$i] = $l; global push($l[0], $i); global push($l, len($l)); print $l; } \
         g(0, 5); print $l; g(1, \"x\"); print $l; $l[0] = 1; g(0, 2);",
        "$x = 1; define proc g() { print $x; $x = 5; print $x; } g(); print $x; $x = 2; g();",
        "$a = 0; while ($a < 3) { $a = $a + 1; if ($a == 2 || $a == 9) continue; print $a; } print $a;",
        "$x = $$rank > 1 && 10 / ($$rank - 1) > 4; print $x; print !$x, -$$rank, 2^$$rank;",
        "if ($$rank) { $y = 1; } print $y;",
        "if ($$rank) { $y = 1; } $y = $y; print 1;",
        "$h = fopen(\"f-$$rank\", \"r\"); fseek($h, 0, SEEK_SET); fread($h, 4k); fclose($h);",
        "define param \"n\" $n \"3\" repeat $n { repeat $n print $n; }",
        "param $n = 0; if ($n) print 1; else print 2; repeat $n print 3; while ($n) print 4;",
        "$l = [1, [2, \"x\"]]; $m = $l[1]; print $m[1], $l[0] + $$rank, len($m), max(1, $$rank, 2);",
        "repeat $$rank print \"r\"; repeat $i $$rank..3 print $i; time print 1;",
        "$a = 1; { $a = $a + $a * $a; $b = $a; $a = $b; } print $a, $b;",
        "assert($$rank < 2, \"no\"); barrier; print 1;",
        "wait(\"s\", n=2); signal(\"s\", to=$$rank); sleep(5ms);",
        "$a = 1; define proc v($x) { global $a = $a + $x; return $a; } print $a + v(1) * v($a), \"$a\", $a, v(1), \"$a\"; \
         $l = [$a, v(2), $a]; print $l, $l[v(0) - 8]; $l[v(0) - 8] = v(1); print $l; if ($$rank && v(1) > 3 || v(2)) print $a;",
        "define proc fib($n) { if ($n < 2) return $n; return fib($n - 1) + fib($n - 2); } print fib(7), fib(fib(5));",
        "define proc v() { stat(\"v\"); return 1; } define proc p() { if ($$rank) $a = 1; $x = [$a, v()]; print $x; } p();",
        "$n = 3; define proc less() { global $n = $n - 1; return stat(\"n$n\"); } while ($n > 0 && less()) print $n; \
         repeat $i (write(\"f\", 1) / 2k) { if (write(\"g\", $i) > 3) break; } print read(\"a\") + 2 * read(\"b\");",
        "define proc o($p) { return fopen($p, \"r\"); } define proc c($h) { fclose($h); return 1; } print c(o(\"a\")) + c(fopen(\"b\", \"w\"));",
        "$x = $$rank ? $$rank > 1 ? \"b\" : 2 : [1]; print $x, $$rank == 0 ? -1 : 10 / $$rank; $x = $x == 2 ? $x + 1 : $x; print $x; \
         $y = ($$rank ? \"a\" : \"b\") + 5; print $y, true ? 1 : 1 / $$rank; repeat $$rank ? 2 : 1 print stat(\"a\") ? \"yes\" : read(\"b\");",
        "$a = 1; define proc v($x) { global $a = $a + $x; return $a; } print ($a > 1 ? v(1) : v(2)) + $a; print $a ? $a : v(5), v($a > 2 ? 1 : 0);",
        "$h = $$rank ? fopen(\"a\", \"r\") : fcreat(\"b\"); fclose($h);",
        "$s = \"a\"; repeat 3 { $s = $s + \"b\"; print $s; } $s = $s + 1; print \"$s\";",
    ] {
        assert!(agree(text), "{text}: {:?}", errors(text));
    }
}

fn errors(text: &str) -> Vec<String> {
    let compiled = compile("test.ppl", text.into(), &mut NoIncludes, &Binding::new(RANKS));
    compiled.diagnostics.into_iter().map(|d| d.message).collect()
}

#[test]
fn both_interpreters_agree_on_examples() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut count = 0;
    for name in [
        "examples/listing1.ppl",
        "examples/listing2.ppl",
        "examples/groups.ppl",
        "examples/procs.ppl",
        "programs/stress.ppl",
        "programs/olap.ppl",
    ] {
        let text = std::fs::read_to_string(root.join(name)).expect("the program is readable");
        assert!(agree(&text), "{name}: {:?}", errors(&text));
        count += 1;
    }
    assert_eq!(count, 6);
}

/// Most generated programs have no errors, otherwise the comparison says little.
#[test]
fn generated_programs_are_mostly_right() {
    let tapes = (0..200u32).map(|seed| {
        let mut state = seed.wrapping_mul(2_654_435_761) | 1;
        let bytes = (0..120).map(|_| {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            (state >> 8) as u8
        });
        bytes.collect::<Vec<u8>>()
    });
    let good = tapes.filter(|tape| agree(&generate::program(tape))).count();
    assert!(good > 100, "{good} of 200 programs have no errors");
}

proptest! {
    #![proptest_config(crate::cases())]

    #[test]
    fn both_interpreters_agree(tape in prop::collection::vec(any::<u8>(), 0..200)) {
        agree(&generate::program(&tape));
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,200}") {
        let compiled = compile("p", text.clone().into(), &mut NoIncludes, &Binding::new(3));
        prop_assert_eq!(compiled.plan.is_none(), ppl::diag::has_errors(&compiled.diagnostics));
    }

    /// A program with a piece taken out, doubled, or moved.
    #[test]
    fn no_damaged_program_panics(
        tape in prop::collection::vec(any::<u8>(), 0..100),
        cuts in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..4),
    ) {
        let mut text: Vec<char> = generate::program(&tape).chars().collect();
        for (a, b) in cuts {
            let (a, b) = (a.index(text.len()), b.index(text.len()));
            let piece: Vec<char> = text[a.min(b)..a.max(b)].to_vec();
            match a % 3 {
                0 => drop(text.splice(a.min(b)..a.max(b), [])),
                1 => drop(text.splice(a..a, piece)),
                _ => text.swap(a, b),
            }
            text.truncate(20_000);
            text.push(' ');
        }
        let text: String = text.into_iter().collect();
        let compiled = compile("p", text.clone().into(), &mut NoIncludes, &Binding::new(3));
        for diagnostic in &compiled.diagnostics {
            let range = diagnostic.span.start as usize..diagnostic.span.end as usize;
            prop_assert!(text.get(range).is_some(), "{:?}", diagnostic);
        }
    }
}
