//! Properties of lexer, parser and formatter that hold for every text.

mod dump;

use dump::dump;
use ppl::source::{NoIncludes, Sources};
use ppl::{Binding, Diagnostic, compile, format, parse};
use proptest::prelude::*;

/// The tree without places, and the diagnostics.
fn parsed(text: &str) -> (String, Vec<Diagnostic>) {
    let mut sources = Sources::default();
    let (root, _) = sources.add("p", text.as_bytes().to_vec());
    let (ast, diagnostics) = parse(&mut sources, root, &mut NoIncludes);
    for span in ast.expr_spans.iter().chain(&ast.stmt_spans).chain(&ast.comments) {
        assert!(span.start <= span.end, "{span:?}");
        assert!(text.get(span.start as usize..span.end as usize).is_some(), "{span:?}");
    }
    (dump(&ast, &sources), diagnostics)
}

fn check_text(text: &str) {
    let (tree, diagnostics) = parsed(text);
    for diagnostic in &diagnostics {
        let related = diagnostic.related.iter().map(|(span, _)| span);
        let fix = diagnostic.fix.iter().map(|(span, _)| span);
        for span in related.chain(fix).chain([&diagnostic.span]) {
            let range = span.start as usize..span.end as usize;
            assert!(text.get(range).is_some(), "{span:?} of {diagnostic:?}");
        }
        assert!(!diagnostic.message.is_empty());
    }
    let (formatted, found) = format(text);
    if found.is_empty() {
        let (again, diagnostics) = parsed(&formatted);
        // Includes are not loaded by the formatter, and refused here.
        if diagnostics.iter().all(|diagnostic| diagnostic.code.as_str() == "E0003") {
            assert_eq!(tree, again, "the tree changed:\n{text}\n--- formatted:\n{formatted}");
        } else {
            panic!("formatting broke the program: {diagnostics:?}\n{text}\n---\n{formatted}");
        }
        assert_eq!(format(&formatted).0, formatted, "not idempotent:\n{text}");
    } else {
        assert_eq!(formatted, text);
    }
}

/// Every answer for an editor exists for every text, and names places in it.
fn check_facts(text: &str) {
    let made = compile("p", text.as_bytes().to_vec(), &mut NoIncludes, &Binding::new(4));
    let (facts, mut starts) = (&made.facts, Vec::new());
    for (id, symbol) in facts.symbols() {
        assert!(text.get(symbol.span.start as usize..symbol.span.end as usize).is_some());
        assert!(!facts.describe(id, &made.sources).is_empty());
        facts.documentation(id, &made.ast, &made.sources);
        let name = facts.name(id, &made.sources);
        let edits = facts.rename(id, &name, &made.sources);
        assert!(!edits.is_empty(), "{symbol:?} is named nowhere");
        for mention in facts.mentions(id) {
            let span = mention.span;
            let written = text.get(span.start as usize..span.end as usize).unwrap_or_default();
            assert!(written.contains(&name) || written.starts_with('"'), "{written} of {name}");
            assert!(facts.at(span.start).is_some());
            starts.push((span.start, span.end));
        }
    }
    let count = starts.len();
    starts.sort_unstable();
    starts.dedup();
    assert_eq!(starts.len(), count, "two symbols at one place");
    for place in (0..=text.len() as u32).step_by(7) {
        let all = facts.visible_at(place, &made.ast, &made.sources);
        assert!(all.count() <= facts.symbols().len());
    }
}

const TOKENS: &[&str] = &[
    "repeat",
    "time",
    "[",
    "]",
    "(",
    ")",
    "{",
    "}",
    ";",
    ";",
    ",",
    "=",
    "==",
    "$i",
    "$$rank",
    "\"a\"",
    "\"$i\"",
    "10",
    "4k",
    "30s",
    "0.5",
    "1/s",
    "+",
    "-",
    "*",
    "/",
    "%",
    "^",
    "!",
    "&&",
    "||",
    "..",
    ":",
    "?",
    "write",
    "print",
    "stat",
    "define",
    "param",
    "groups",
    "pattern",
    "proc",
    "p",
    "if",
    "else",
    "while",
    "break",
    "with",
    "mix",
    "share",
    "include",
    "group",
    "barrier",
    "master",
    "step",
    "until",
    "$i =",
    "$i = 1;",
    "\"${i:02x}$$rank\"",
    "global",
    "return",
    "in",
    "push",
    "repeat $i in",
    "define proc p($i = $j) {",
    "param $j =",
    "level",
    "# c\n",
    "// c\n",
    "/* c */",
    "\n",
    "\n\n",
    "REPEAT",
    "$$env",
    "HOME",
    "true",
    "sync",
    "@",
    "\"open",
];

fn soup() -> impl Strategy<Value = String> {
    prop::collection::vec((0..TOKENS.len(), prop::bool::ANY), 0..60).prop_map(|tokens| {
        let mut text = String::new();
        for (token, blank) in tokens {
            text.push_str(TOKENS[token]);
            text.push_str(if blank { " " } else { "" });
        }
        text
    })
}

fn value() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        (0i64..100_000).prop_map(|n| n.to_string()),
        Just("4k".to_string()),
        Just("30s".to_string()),
        Just("0.25".to_string()),
        Just("$i".to_string()),
        Just("$$rank".to_string()),
        Just("$$env(HOME)".to_string()),
        Just("\"$env/${i}\\n\"".to_string()),
        Just("TRUE".to_string()),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let operator = prop::sample::select(vec![
            "+", "-", "*", "/", "%", "^", "==", "!=", "<", "<=", ">", ">=", "&&", "||",
        ]);
        prop_oneof![
            (inner.clone(), operator, inner.clone()).prop_map(|(a, op, b)| format!("{a}{op}{b}")),
            (inner.clone(), gap(), inner.clone(), gap(), inner.clone())
                .prop_map(|(a, x, b, y, c)| format!("{a}?{x}{b}{y}:{c}")),
            inner.clone().prop_map(|a| format!("read(\"f\" ,{a})+work({a})")),
            inner.clone().prop_map(|a| format!("({a})")),
            inner.clone().prop_map(|a| format!("-{a}")),
            inner.clone().prop_map(|a| format!("! {a}")),
            prop::collection::vec(inner.clone(), 0..4)
                .prop_map(|items| format!("[{}]", items.join(" ,"))),
            prop::collection::vec(inner.clone(), 1..4)
                .prop_map(|items| format!("min({})", items.join(","))),
            inner.prop_map(|at| format!("$list[{at}]")),
        ]
    })
}

/// A comment or nothing, where blanks may stand.
fn gap() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        " ",
        " ",
        " ",
        "\n",
        "\n\n\n",
        " /* c */ ",
        " # c\n",
        "\n// c\n",
        "\n/* a\n b */\n",
        "\t",
    ])
}

fn statement() -> impl Strategy<Value = String> {
    let simple = prop_oneof![
        (value(), gap()).prop_map(|(v, gap)| format!("$x ={gap}{v};")),
        (value(), gap()).prop_map(|(v, gap)| format!("WRITE(\"a\",{gap}{v});")),
        (value(), value(), gap()).prop_map(|(a, b, gap)| format!("print {a}{gap},{b};")),
        (gap(), gap()).prop_map(|(a, b)| format!("$h = Fopen{a}(\"f\"{b}, \"r\");")),
        Just("signal(\"go\", to = 2);".to_string()),
        Just("barrier;".to_string()),
        Just(";".to_string()),
        Just("work ( 1 );".to_string()),
        Just("fseek($h, 0, SEEK_SET);".to_string()),
    ];
    simple.prop_recursive(4, 32, 4, |inner| {
        let block = prop::collection::vec((inner.clone(), gap()), 0..4).prop_map(|items| {
            let inside: String = items.into_iter().map(|(s, gap)| format!("{gap}{s}")).collect();
            format!("{{{inside}}}")
        });
        let block = block.boxed();
        let inner_block = block.clone();
        let body = prop_oneof![inner, block];
        let heads = prop::sample::select(vec![
            "repeat $i 10",
            "repeat ($i,3)",
            "Repeat 0 .. 9 step 2",
            "repeat $n",
            "time",
            "time [\"l\" , sync]",
            "ctime[\"$i\"]",
            "group \"g\"",
            "group (\"g\")",
            "master",
            "MASTER",
            "while ($x>0)",
            "with ( direct = true )",
            "repeat 3 until 5s level",
            "share $i 8 by 2",
        ]);
        prop_oneof![
            (gap(), gap(), inner_block)
                .prop_map(|(a, b, block)| format!("master{a}Sync{b}{block}")),
            (heads, gap(), body.clone()).prop_map(|(head, gap, body)| format!("{head}{gap}{body}")),
            (body.clone(), gap(), body.clone())
                .prop_map(|(a, gap, b)| format!("if ($x){a}{gap}ELSE {b}")),
            (body.clone(), body.clone()).prop_map(|(a, b)| format!("mix {{70:{a} 30 : {b}}}")),
            body,
        ]
    })
}

fn definition() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("define param \"n\" $n \"10\"".to_string()),
        Just("param $m = 3; /// doc\n".to_string()),
        Just("define groups {\"a\" : D = 4, \"b\":S1 = 50%, \"c\"/2}".to_string()),
        Just("define pattern {\"p\" , 10, (1024*4), 2} ;".to_string()),
        Just("define pattern \"t\" level 3 = tiled(nx = 4);".to_string()),
        (statement(), gap()).prop_map(|(s, gap)| format!("define proc work($a,$b){gap}{{{s}}}")),
        Just("define hints \"w\" = \"a=1\";".to_string()),
        Just("include \"x.ppl\";".to_string()),
    ]
}

fn program() -> impl Strategy<Value = String> {
    let part = prop_oneof![4 => statement(), 1 => definition()];
    prop::collection::vec((part, gap()), 0..12)
        .prop_map(|parts| parts.into_iter().map(|(part, gap)| format!("{part}{gap}")).collect())
}

proptest! {
    #[test]
    fn any_text_is_parsed(text in any::<String>()) {
        check_text(&text);
    }

    #[test]
    fn any_order_of_tokens_is_parsed(text in soup()) {
        check_text(&text);
    }

    #[test]
    fn names_of_any_tokens_have_facts(text in soup()) {
        check_facts(&text);
    }

    #[test]
    fn any_bytes_are_taken(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut sources = Sources::default();
        let (root, problems) = sources.add("p", bytes.clone());
        prop_assert_eq!(problems.is_empty(), std::str::from_utf8(&bytes).is_ok());
        parse(&mut sources, root, &mut NoIncludes);
    }

    #[test]
    fn correct_programs_have_no_errors_and_survive_formatting(text in program()) {
        let (_, diagnostics) = parsed(&text);
        let errors: Vec<_> = diagnostics.iter().filter(|d| d.code.as_str() != "E0003").collect();
        prop_assert!(errors.is_empty(), "{:?}\n{}", errors, text);
        check_text(&text);
        check_facts(&text);
    }
}
