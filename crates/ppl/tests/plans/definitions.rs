//! Definitions of patterns, right and wrong: none makes compiling or walking panic, overflow
//! (debug builds panic where arithmetic wraps) or take memory without bound.

use crate::pieces::walk;
use ppl::kinds::{Accepts, KINDS, KindRow};
use proptest::prelude::*;
use proptest::sample::select;

/// Peak of all tests of this process; one pattern alone that stored its pieces would need more.
const MEMORY_KIB: u64 = 1 << 20;

const NUMBERS: &[&str] = &[
    "0",
    "1",
    "1",
    "2",
    "2",
    "3",
    "7",
    "16",
    "1k",
    "64m",
    "3000000000",
    "2^31",
    "2^40",
    "2^62",
    "9223372036854775807",
    "$n",
    "5 % 3",
    "\"12\"",
];
const WRONG: &[&str] = &[
    "9223372036854775808",
    "2^64",
    "-1",
    "-2^62",
    "-$n",
    "10 / 0",
    "$missing",
    "1.5",
    "1e300",
    "3s",
    "true",
    "\"\"",
    "\"whole\"",
    "\"corners\"",
    "\"x$n\"",
    "$$rank",
    "$$gsize",
    "rand(1, 9)",
    "len([1, 2])",
    "[]",
    "[0]",
    "[1, \"2\", 3]",
    "[[1], 2]",
    "[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]",
    "",
    "x=1",
];

fn number() -> impl Strategy<Value = String> {
    select(NUMBERS).prop_map(String::from)
}

/// Mostly what the argument accepts.
fn value(accepts: Accepts) -> BoxedStrategy<String> {
    let fitting = match accepts {
        Accepts::Number(_) => number().boxed(),
        Accepts::Numbers(_) => prop::collection::vec(number(), 1..4)
            .prop_map(|items| format!("[{}]", items.join(", ")))
            .boxed(),
        Accepts::Word(words) => select(words).prop_map(|word| format!("\"{word}\"")).boxed(),
    };
    prop_oneof![40 => fitting, 1 => select(WRONG).prop_map(String::from)].boxed()
}

/// Mostly each argument once; some are left out, twice, unknown or without a name.
fn arguments(row: &'static KindRow) -> impl Strategy<Value = String> {
    let given: Vec<_> = row
        .params
        .iter()
        .map(|param| {
            let there = if param.default.is_some() { 0.5 } else { 0.95 };
            (prop::bool::weighted(there), value(param.accepts))
                .prop_map(|(there, value)| there.then(|| format!("{}={value}", param.name)))
        })
        .collect();
    let strange = prop_oneof![
        8 => Just(None),
        1 => number().prop_map(Some),
        1 => (select(vec!["block", "count", "sizes", "blok", "n"]), number())
            .prop_map(|(name, value)| Some(format!("{name}={value}"))),
    ];
    (given, strange).prop_map(|(given, strange)| {
        let all: Vec<String> = given.into_iter().chain([strange]).flatten().collect();
        all.join(", ")
    })
}

fn of_kind() -> impl Strategy<Value = String> {
    let kind = select((0..KINDS.len()).collect::<Vec<usize>>());
    let named = kind.prop_flat_map(|at| {
        let row = &KINDS[at];
        arguments(row).prop_map(move |arguments| format!("{}({arguments})", row.name))
    });
    let wrong = (select(vec!["tile", "extents", "extent", "min", "\"tiled\"", "", "p"]), number())
        .prop_map(|(name, value)| format!("{name}(block={value})"));
    let level =
        prop_oneof![9 => select(vec!["0", "1", "2", "3"]), 1 => select(vec!["4", "-1", "\"2\""])];
    (level, prop_oneof![15 => named, 1 => wrong])
        .prop_map(|(level, kind)| format!("define pattern \"p\" level {level} = {kind};"))
}

/// `define pattern {"p", ...}` with any number of values.
fn of_numbers() -> impl Strategy<Value = String> {
    let value = prop_oneof![20 => number(), 1 => select(WRONG).prop_map(String::from)];
    let last = select(vec!["", "", ", \"some\"", ", \"none\"", ", \"nobody\""]);
    (prop::collection::vec(value, 2..6), last).prop_map(|(values, last)| {
        format!("define pattern {{\"p\", {}{last}}};", values.join(", "))
    })
}

fn computed() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        8 => number(),
        16 => select(vec!["$i", "$x", "$$grank", "$$gsize"]).prop_map(String::from),
        1 => select(WRONG).prop_map(String::from),
    ];
    leaf.prop_recursive(3, 8, 2, |inner| {
        let operator = select(vec!["+", "-", "*", "*", "/", "%", "^"]);
        prop_oneof![
            4 => (inner.clone(), operator, inner.clone())
                .prop_map(|(a, op, b)| format!("({a} {op} {b})")),
            1 => (select(vec!["min", "max", "perm"]), inner.clone(), inner)
                .prop_map(|(name, a, b)| format!("{name}({a}, {b})")),
        ]
    })
}

/// `define pattern "p" level n { ... }`
fn generator() -> impl Strategy<Value = String> {
    let simple = prop_oneof![
        20 => (computed(), computed()).prop_map(|(at, n)| format!("extent({at}, {n});")),
        10 => computed().prop_map(|value| format!("$x = {value};")),
        1 => select(vec![
            "$x = $x * $x;", "extent(1);", "stat(\"a\");", "barrier;", "print $i;", "break;", "$x = [$x, $x];",
            "$x = \"$x$x\";", "sleep(1);", "signal(\"a\");", ";",
        ]).prop_map(String::from),
    ];
    let statement = simple.prop_recursive(3, 12, 3, |inner| {
        let block =
            prop::collection::vec(inner, 1..4).prop_map(|all| format!("{{ {} }}", all.join(" ")));
        let head = prop_oneof![
            3 => computed().prop_map(|n| format!("repeat $i {n}")),
            1 => (computed(), computed(), number())
                .prop_map(|(a, b, step)| format!("repeat $i {a}..{b} step {step}")),
            1 => computed().prop_map(|condition| format!("while ({condition} > 0)")),
            1 => computed().prop_map(|condition| format!("if ({condition} > 0)")),
        ];
        (head, block).prop_map(|(head, block)| format!("{head} {block}"))
    });
    prop::collection::vec(statement, 0..4).prop_map(|all| {
        format!("define pattern \"p\" level 0 {{ $x = 1; $i = 2; {} }}", all.join(" "))
    })
}

/// A definition, mostly used: by all ranks, by some, and by a group of nobody.
fn program() -> impl Strategy<Value = String> {
    let definition = prop_oneof![4 => of_kind(), 1 => of_numbers(), 3 => generator()];
    let access =
        select(vec!["", "fwrite($h, \"p\");", "fread($h, \"p\");", "pwrite(\"f\", \"p\");"]);
    (definition, access).prop_map(|(definition, access)| {
        let groups = "define groups {\"some\":S = 1, \"none\":S = 0}; param $n = 5;";
        let uses = format!("{access} group \"some\" {{ {access} }} group \"none\" {{ {access} }}");
        format!("{groups}\n{definition}\n$h = fopen(\"f\", \"w+\"); {uses}")
    })
}

/// Most memory that this process has had.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("VmHWM");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

proptest! {
    #![proptest_config(crate::cases_of(1500))]

    #[test]
    fn any_definition_is_refused_or_gives_pieces(text in program(), ranks in 1u32..18) {
        walk(&text, ranks);
        prop_assert!(peak_kib() < MEMORY_KIB, "{} KiB after\n{}", peak_kib(), text);
    }
}

/// Made-up definitions are worth something: many are right, and many wrong.
#[test]
fn made_up_definitions_are_right_and_wrong() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut found = [0; 3];
    for _ in 0..500 {
        let text = program().new_tree(&mut runner).expect("a program").current();
        let (planned, pieces) = walk(&text, 4);
        found[0] += usize::from(!planned);
        found[1] += usize::from(planned && pieces == 0);
        found[2] += usize::from(pieces > 0);
    }
    assert!(found.iter().all(|n| *n >= 25), "[refused, no pieces, pieces]: {found:?}");
}

/// The lengths of a member's extents are added up, so their sum must have a number too.
#[test]
fn extents_of_more_than_all_bytes_are_refused() {
    let (planned, pieces) = walk(
        "define pattern \"p\" level 2 { repeat $i $$gsize + 2 extent(0, 9223372036854775807); }\n\
         define pattern \"q\" level 2 { repeat $i 2 extent(0, 2^62 - 1); }",
        4,
    );
    assert_eq!((planned, pieces), (true, 9), "of q alone");
}
