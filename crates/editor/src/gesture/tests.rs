//! Gestures on all programs, and on generated ones: the text parses, has the intended statements, keeps its
//! comments, and the formatter leaves it alone.

use super::*;
use proptest::prelude::*;
use std::fs;
use std::path::{Path, PathBuf};

/// All programs of the library and all examples.
fn programs() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut folders = vec![root.join("programs"), root.join("examples")];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "ppl") {
                let text = fs::read_to_string(&path).unwrap();
                found.push((path, text));
            }
        }
    }
    found.sort();
    found
}

fn bare(text: &str) -> String {
    text.split_whitespace().collect()
}

/// Statements in a tree: title and detail of each that is neither a block nor a branch nor switched off.
fn statements(items: &[Item]) -> Vec<String> {
    let mut found = Vec::new();
    for item in items {
        if !matches!(item.kind, Kind::Block | Kind::Branch | Kind::Off) {
            found.push(bare(&format!("{}|{}", item.title, item.detail)));
        }
        found.extend(statements(&item.children));
    }
    found
}

fn sorted(mut list: Vec<String>) -> Vec<String> {
    list.sort();
    list
}

fn statements_of(text: &str) -> Vec<String> {
    sorted(statements(&Outline::new(text).items))
}

/// `all` without `some`, which are in it.
fn without(all: &[String], some: &[String]) -> Vec<String> {
    let mut rest = all.to_vec();
    for one in some {
        let at = rest.iter().position(|known| known == one).unwrap_or_else(|| panic!("{one}"));
        rest.remove(at);
    }
    rest
}

/// Ids of all items.
fn ids(items: &[Item], above: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (number, item) in items.iter().enumerate() {
        let id = join(above, number);
        found.extend(ids(&item.children, &id));
        found.insert(found.len(), id);
    }
    found
}

/// Lines of the comments outside of a place.
fn comment_lines(text: &str, outline: &Outline, outside: Option<Span>) -> Vec<String> {
    let is_outside =
        |one: &&Span| outside.is_none_or(|place| one.end <= place.start || place.end <= one.start);
    let comments = outline.comments.iter().filter(is_outside);
    let lines = comments.flat_map(|one| text[one.start as usize..one.end as usize].lines());
    lines.map(bare).filter(|line| !line.is_empty()).collect()
}

/// Applies a gesture: the new text is a program in the formatter's layout with the comments of the old one.
fn done(text: &str, gesture: &Gesture, lost: Option<Span>) -> Result<Done> {
    let done = apply(text, gesture)?;
    let made = Outline::new(&done.text);
    assert!(made.complete, "{gesture:?}\n{}", done.text);
    assert_eq!(ppl::format(&done.text).0, done.text, "{gesture:?}");
    let after = bare(&done.text);
    for line in comment_lines(text, &Outline::new(text), lost) {
        assert!(after.contains(&line), "{gesture:?} loses {line}\n{text}\n---\n{}", done.text);
    }
    if let Some(id) = &done.select {
        assert!(made.find(id).is_some(), "{gesture:?} selects {id}\n{}", done.text);
    }
    Ok(done)
}

/// All gestures on an item that keep or change its statements.
fn try_item(text: &str, id: &str) -> usize {
    let outline = Outline::new(text);
    let item = outline.find(id).unwrap();
    let all = statements_of(text);
    let own = statements(std::slice::from_ref(item));
    let id = id.to_string();
    let mut count = 0;
    let same = |gesture: Gesture, expected: Vec<String>| {
        let lost = matches!(gesture, Gesture::Delete { .. }).then_some(Span {
            start: item.span.start,
            // A `///` behind it goes, too.
            end: text[item.span.end as usize..]
                .find('\n')
                .map_or(text.len() as u32, |at| item.span.end + at as u32),
        });
        match done(text, &gesture, lost) {
            Ok(done) => {
                assert_eq!(
                    statements_of(&done.text),
                    sorted(expected),
                    "{gesture:?}\n{text}\n---\n{}",
                    done.text
                );
                Some(done.text)
            }
            Err(_) => None,
        }
    };
    if let Some(off) = same(Gesture::SwitchOff { id: id.clone() }, without(&all, &own)) {
        count += 1;
        let found = ids(&Outline::new(&off).items, "");
        let outline = Outline::new(&off);
        // A statement that was a body by itself is in braces now.
        let inner =
            if item.is_bare { format!("{}.0", id.rsplit_once('.').unwrap().0) } else { id.clone() };
        assert!(found.contains(&inner), "{id}\n{off}");
        assert_eq!(outline.find(&inner).unwrap().kind, Kind::Off, "{id}\n{text}\n---\n{off}");
        let place = outline.find(&inner).unwrap().span;
        let on = done(&off, &Gesture::SwitchOn { id: inner }, Some(place)).unwrap();
        assert_eq!(statements_of(&on.text), all, "{on:?}");
        if !item.is_bare && !text.contains("/*") {
            assert_eq!(on.text, ppl::format(text).0);
        }
    }
    let twice = all.iter().cloned().chain(own.clone()).collect();
    count += usize::from(same(Gesture::Duplicate { id: id.clone() }, twice).is_some());
    count += usize::from(same(Gesture::Delete { id: id.clone() }, without(&all, &own)).is_some());
    let head = "repeat $wrapped 10".to_string();
    let more = all.iter().cloned().chain(["repeat$wrapped10|".to_string()]).collect();
    if let Some(wrapped) = same(Gesture::Wrap { id: id.clone(), to: None, head }, more) {
        count += 1;
        let back = done(&wrapped, &Gesture::Unwrap { id: id.clone() }, None).unwrap();
        assert_eq!(statements_of(&back.text), all);
    }
    count
}

/// Moves an item to a place.
fn try_move(text: &str, id: &str, to: &str, at: Side) -> bool {
    let place = Place { at, id: Some(to.to_string()) };
    let gesture = Gesture::Move { id: id.to_string(), place };
    match done(text, &gesture, None) {
        Ok(done) => {
            assert_eq!(
                statements_of(&done.text),
                statements_of(text),
                "{gesture:?}\n{text}\n---\n{}",
                done.text
            );
            true
        }
        Err(_) => false,
    }
}

/// Sets each parameter to the value that it has or could have, and removes what can be removed.
fn try_parameters(text: &str, id: &str) -> usize {
    let outline = Outline::new(text);
    let item = outline.find(id).unwrap();
    let mut count = 0;
    for one in &item.parameters {
        let name = one.name.to_string();
        let set = |value: Option<&str>| Gesture::SetParameter {
            id: id.to_string(),
            name: name.clone(),
            value: value.map(String::from),
        };
        let value = match (one.shape, &one.value) {
            (FLAG, _) => "true".to_string(),
            (_, Some(value)) if !value.contains('\n') => value.clone(),
            (_, Some(_)) => continue,
            ("label" | "group" | "path" | "text", None) => "\"x\"".into(),
            ("variable", None) => "$x".into(),
            (_, None) => one.choices.first().cloned().unwrap_or_else(|| "7".into()),
        };
        let Ok(made) = done(text, &set(Some(&value)), None) else {
            assert!(one.span.is_none(), "{id} {name}={value}\n{text}");
            continue;
        };
        count += 1;
        let written = Outline::new(&made.text);
        let written = parameter(written.find(id).unwrap(), &name).unwrap().clone();
        assert_eq!(
            written.value.map(|value| bare(&value)),
            Some(bare(&value)),
            "{name}\n{}",
            made.text
        );
        // What was not there can go again, and then all is as it was.
        if one.span.is_none() {
            let gone = if one.shape == FLAG { set(Some("false")) } else { set(None) };
            let back = done(&made.text, &gone, None)
                .unwrap_or_else(|why| panic!("{gone:?} {why}\n{}", made.text));
            let (before, after) = (Outline::new(text), Outline::new(&back.text));
            let values = |outline: &Outline| {
                let item = outline.find(id).unwrap().parameters.clone();
                item.into_iter()
                    .map(|one| (one.name, one.value.map(|text| bare(&text))))
                    .collect::<Vec<_>>()
            };
            assert_eq!(values(&before), values(&after), "{name}\n{text}\n---\n{}", back.text);
        }
    }
    count
}

#[test]
fn all_programs_take_all_gestures() {
    let (mut gestures, mut moves, mut values) = (0, 0, 0);
    for (path, text) in programs() {
        let outline = Outline::new(&text);
        assert!(outline.complete, "{path:?}: {:?}", outline.mistake);
        let ids = ids(&outline.items, "");
        // Some of a long program: each gesture parses and formats it.
        let step = ids.len().div_ceil(6);
        for (number, id) in ids.iter().enumerate().step_by(step) {
            gestures += try_item(&text, id);
            values += try_parameters(&text, id);
            let to = &ids[(number * 7 + 3) % ids.len()];
            for side in [Side::Before, Side::After, Side::Inside] {
                moves += usize::from(try_move(&text, id, to, side));
            }
        }
    }
    assert!(gestures > 500 && moves > 200 && values > 500, "{gestures} {moves} {values}");
}

/// A statement of a generated program.
fn statement() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("write(\"f-$$rank\", 4k);".to_string()),
        Just("barrier;".to_string()),
        Just("$x = 1 + 2; // set".to_string()),
        Just("# alone\nstat(\"a\");".to_string()),
        Just("print \"a\", 1;".to_string()),
        Just("fallocate($$rank, 4k);".to_string()),
        Just("/* before */ sync; /* behind */".to_string()),
        Just(";".to_string()),
        Just("//- stat(\"off\");\n//| stat(\"more\");\nsync;".to_string()),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let head = prop_oneof![
            Just("repeat $i 10"),
            Just("time[\"a\", sync]"),
            Just("master"),
            Just("group \"g\" // who"),
            Just("with (direct=true)"),
            Just("while ($x > 0)"),
        ];
        let list = prop::collection::vec(inner.clone(), 0..4);
        prop_oneof![
            (head.clone(), list)
                .prop_map(|(head, list)| format!("{head}\n{{\n{}\n}}", list.join("\n"))),
            (head, inner.clone()).prop_map(|(head, body)| format!("{head}\n{body}")),
            (inner.clone(), inner.clone())
                .prop_map(|(a, b)| format!("if ($x) {{\n{a}\n}} else\n{b}")),
            inner.prop_map(|a| format!("mix {{ 70: {{\n{a}\n}} 30: sync; }}")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn generated_programs_take_all_gestures(
        list in prop::collection::vec(statement(), 1..5), seed in 0usize..1000
    ) {
        let text = list.join("\n");
        let outline = Outline::new(&text);
        prop_assume!(outline.complete);
        let ids = ids(&outline.items, "");
        prop_assume!(!ids.is_empty());
        let (id, to) = (&ids[seed % ids.len()], &ids[seed / 7 % ids.len()]);
        try_item(&text, id);
        try_parameters(&text, id);
        for side in [Side::Before, Side::After, Side::Inside] {
            try_move(&text, id, to, side);
        }
    }

    #[test]
    fn no_text_and_no_gesture_is_a_panic(
        text in "[a-z$\"(){};/*\n0-9 -]{0,60}", id in "[0-3](\\.[0-3]){0,2}", value in "[a-z$\"();0-9 ]{0,8}"
    ) {
        let place = Place { at: Side::Inside, id: Some(id.clone()) };
        let all = [
            Gesture::Insert { text: value.clone(), place: place.clone() },
            Gesture::Move { id: id.clone(), place },
            Gesture::SwitchOff { id: id.clone() },
            Gesture::Unwrap { id: id.clone() },
            Gesture::SetParameter { id, name: "n".into(), value: Some(value) },
        ];
        for gesture in all {
            if let Ok(done) = apply(&text, &gesture) {
                prop_assert!(Outline::new(&done.text).complete);
            }
        }
    }
}

/// Gestures as they read: the text before, the gesture as JSON, the text behind or the refusal.
#[test]
fn gestures_do_what_they_say() {
    let cases = [
        (
            "write(\"a\", 4k);",
            r#"{"kind": "setParameter", "id": "0", "name": "off", "value": "1m"}"#,
            "write(\"a\", 4k, 1m);\n",
        ),
        (
            "fallocate($h, 4k);",
            r#"{"kind": "setParameter", "id": "0", "name": "off", "value": "0"}"#,
            "fallocate($h, n=4k, off=0);\n",
        ),
        (
            "write(\"a\", 4k);",
            r#"{"kind": "setParameter", "id": "0", "name": "n", "value": "1); sync("}"#,
            "! 1); sync( is not a value of the language; a text needs quotes",
        ),
        (
            "write(\"a\", 4k);",
            r#"{"kind": "setParameter", "id": "0", "name": "n", "value": null}"#,
            "! n has to be given",
        ),
        (
            "repeat 10 sync; // s",
            r#"{"kind": "insert", "text": "barrier;", "place": {"at": "inside", "id": "0"}}"#,
            "repeat 10 {\n    sync; // s\n    barrier;\n}\n",
        ),
        (
            "repeat 10 sync;",
            r#"{"kind": "insert", "text": "param $n = 1;", "place": {"at": "inside", "id": "0"}}"#,
            "param $n = 1;\nrepeat 10 sync;\n",
        ),
        (
            "repeat 10 { sync; }",
            r#"{"kind": "move", "id": "0", "place": {"at": "inside", "id": "0.0"}}"#,
            "! a statement cannot be moved into itself",
        ),
        (
            "# head\n# of it\nsync;\nbarrier;\n",
            r#"{"kind": "move", "id": "1", "place": {"at": "before", "id": "0"}}"#,
            "# head\n# of it\nbarrier;\nsync;\n",
        ),
        (
            "repeat 2 {\n    // why\n    sync; // s\n}\n",
            r#"{"kind": "switchOff", "id": "0"}"#,
            "//- repeat 2 {\n//|     // why\n//|     sync; // s\n//| }\n",
        ),
        (
            "sync;\nbarrier;\nstat(\"a\");",
            r#"{"kind": "wrap", "id": "0", "to": "1", "head": "time[\"x\"]"}"#,
            "time[\"x\"] {\n    sync;\n    barrier;\n}\nstat(\"a\");\n",
        ),
        (
            "while (true) break;",
            r#"{"kind": "unwrap", "id": "0"}"#,
            "! this would not be a program: `break` is outside a loop",
        ),
        (
            "time[\"a\"] sync;",
            r#"{"kind": "setParameter", "id": "0", "name": "sync", "value": "true"}"#,
            "time[\"a\", sync] sync;\n",
        ),
        ("", r#"{"kind": "insert", "text": "barrier;", "place": {"at": "inside"}}"#, "barrier;\n"),
        (
            "stat(\"a\"",
            r#"{"kind": "delete", "id": "0"}"#,
            "! the program has a mistake, fix it first: expected `,` or `)`, found the end of the file",
        ),
    ];
    for (text, gesture, expected) in cases {
        let gesture: Gesture = serde_json::from_str(gesture).unwrap();
        let found = match apply(text, &gesture) {
            Ok(done) => done.text,
            Err(why) => format!("! {why}"),
        };
        assert_eq!(found, expected, "{gesture:?}");
    }
}
