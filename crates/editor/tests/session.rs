//! A session from outside: each kind of request, positions, mutated documents.

use editor::{Host, Program, Session};
use ppl::{Files, Loader};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Files and programs of the tests.
struct Shelf;

struct Include;

impl Loader for Include {
    fn load(&mut self, _: &str, path: &str) -> Result<(String, Vec<u8>), String> {
        match path {
            "lib.ppl" => {
                Ok(("/lib.ppl".into(), b"define proc helper($a) { stat($a); }\n".to_vec()))
            }
            _ => Err("there is no such file".into()),
        }
    }
}

impl Host for Shelf {
    fn loader(&self, _: &str) -> Box<dyn Loader> {
        Box::new(Include)
    }

    fn files(&self, _: &str) -> Files {
        Box::new(|_| Err("there is none".into()))
    }

    fn programs(&self) -> Vec<Program> {
        let (name, title, text) = ("stress".into(), "Listing 1.".into(), "sync;".into());
        vec![Program { name, title, text, is_library: false }]
    }
}

const URI: &str = "file:///x.ppl";

/// A client with one document open.
struct Client {
    session: Session,
    /// What was published last.
    diagnostics: Value,
}

impl Client {
    fn new(text: &str) -> Client {
        let mut client =
            Client { session: Session::new(Box::new(Shelf)), diagnostics: Value::Null };
        let snippets =
            json!({"textDocument": {"completion": {"completionItem": {"snippetSupport": true}}}});
        client.ask("initialize", json!({"capabilities": snippets}));
        client.tell("initialized", json!({}));
        let document = json!({"uri": URI, "languageId": "ppl", "version": 1, "text": text});
        client.tell("textDocument/didOpen", json!({"textDocument": document}));
        client
    }

    fn tell(&mut self, method: &str, params: Value) {
        let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
        for one in self.session.handle(message) {
            assert_eq!(one["method"], "textDocument/publishDiagnostics");
            self.diagnostics = one["params"]["diagnostics"].clone();
        }
    }

    fn answer(&mut self, method: &str, params: Value) -> Value {
        let message = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
        let answers = self.session.handle(message);
        assert_eq!(answers[0]["id"], 7);
        for one in &answers[1..] {
            assert_eq!(one["method"], "textDocument/publishDiagnostics");
            self.diagnostics = one["params"]["diagnostics"].clone();
        }
        answers[0].clone()
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        let answer = self.answer(method, params);
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].clone()
    }

    /// A request about a place.
    fn at(&mut self, method: &str, line: u32, character: u32) -> Value {
        self.ask(method, place(line, character))
    }

    /// A request about the document.
    fn of(&mut self, method: &str) -> Value {
        self.ask(method, json!({"textDocument": {"uri": URI}}))
    }

    /// Labels of the completions at the `|` of a text.
    fn completions(text: &str) -> Vec<String> {
        let (line, character) = cursor(text);
        let mut client = Client::new(&text.replace('|', ""));
        let found = client.at("textDocument/completion", line, character);
        let labels = found.as_array().unwrap().iter();
        labels.map(|item| item["label"].as_str().unwrap().to_string()).collect()
    }
}

fn place(line: u32, character: u32) -> Value {
    json!({"textDocument": {"uri": URI}, "position": {"line": line, "character": character}})
}

/// The position of the `|`.
fn cursor(text: &str) -> (u32, u32) {
    let before = &text[..text.find('|').unwrap()];
    let line = before.rsplit('\n').next().unwrap();
    (before.matches('\n').count() as u32, line.encode_utf16().count() as u32)
}

fn range(line: u32, start: u32, end: u32) -> Value {
    json!({"start": {"line": line, "character": start}, "end": {"line": line, "character": end}})
}

#[test]
fn mistakes_have_places_and_fixes() {
    let mut client = Client::new("# 𝄞 ä\nmkdri(\"ä𝄞\");\n");
    assert_eq!(client.diagnostics[0]["code"], "E0302");
    assert_eq!(client.diagnostics[0]["range"], range(1, 0, 5));
    let document = json!({"uri": URI});
    let context = json!({"diagnostics": []});
    let params = json!({"textDocument": document, "range": range(1, 2, 2), "context": context});
    let actions = client.ask("textDocument/codeAction", params);
    assert_eq!(
        actions[0]["edit"]["changes"][URI][0],
        json!({"range": range(1, 0, 5), "newText": "mkdir"})
    );
    assert_eq!(actions[0]["title"], "Replace mkdri by mkdir");
    // Incremental changes, with columns behind a character of two units.
    let changes = json!([
        {"range": range(1, 0, 5), "text": "mkdir"},
        {"range": range(1, 8, 10), "text": "b"},
    ]);
    let document = json!({"uri": URI, "version": 2});
    client.tell(
        "textDocument/didChange",
        json!({"textDocument": document, "contentChanges": changes}),
    );
    assert_eq!(client.diagnostics, json!([]));
    assert_eq!(client.of("textDocument/formatting"), json!([]));
    client.tell("textDocument/didClose", json!({"textDocument": {"uri": URI}}));
    assert_eq!(client.diagnostics, json!([]));
}

#[test]
fn what_the_rehearsal_finds_is_a_diagnostic() {
    let mut client = Client::new("print $$rank;\nmkdir(\"a\");\n");
    assert_eq!(client.diagnostics[0]["code"], "W0301", "all ranks make one directory");
    assert_eq!(client.diagnostics[0]["range"], range(1, 0, 11));
    let document = json!({"uri": URI, "version": 2});
    let changes = json!([{"range": range(1, 11, 11), "text": " "}]);
    client.tell(
        "textDocument/didChange",
        json!({"textDocument": document, "contentChanges": changes}),
    );
    assert_eq!(client.diagnostics, json!([]), "a letter is not delayed by a rehearsal");
    client.of("textDocument/codeLens");
    assert_eq!(client.diagnostics[0]["code"], "W0301");
}

#[test]
fn documentation_of_a_name_in_another_file_is_found() {
    let found = hover("# before\ninclude \"lib.ppl\";\nhel|per(\"a\");\n");
    assert!(found.contains("proc helper"), "{found}");
}

#[test]
fn a_mistake_in_an_included_file_is_at_the_include() {
    let client = Client::new("sync;\ninclude \"none.ppl\";\n");
    assert_eq!(client.diagnostics[0]["range"], range(1, 8, 18));
}

#[test]
fn completions_fit_their_place() {
    let has = |text: &str, words: &[&str], others: &[&str]| {
        let found = Client::completions(text);
        for word in words {
            assert!(found.iter().any(|label| label == word), "{word} at {text}: {found:?}");
        }
        for word in others {
            assert!(!found.iter().any(|label| label == word), "{word} at {text}: {found:?}");
        }
    };
    has("wri|", &["write", "repeat", "time"], &["min", "$$rank"]);
    has("sync;\n|", &["write", "fopen"], &[]);
    has("repeat $i 10 |", &["write"], &[]);
    has("$size = 4k;\nwrite(\"a\", $|", &["$size", "$$rank", "$$size"], &["write"]);
    has("$size = 4k;\nwrite(\"a-$si|\", 1);", &["$size"], &["write"]);
    has("$later = 1;\nwrite(\"a\", |", &["$later", "min", "off="], &["repeat"]);
    has("with (|) sync;", &["direct=", "fsync="], &["write"]);
    has("with (fsync=|) sync;", &["\"close\"", "\"op\""], &["direct="]);
    has("with (fsync=\"|\") sync;", &["close", "op"], &["$$rank"]);
    has("$h = fopen(\"a\", |", &["\"r+\""], &[]);
    has("fseek($h, 0, |", &["SEEK_END"], &[]);
    has("define groups {\"w\":D};\ngroup \"|\" sync;", &["w"], &[]);
    has("time[\"one\"] sync;\ntime[\"|\"] sync;", &["one"], &[]);
    has("define pattern \"p\" level 0 = |", &["strided", "tiled"], &["write"]);
    has("define pattern \"p\" level 0 = strided(|);", &["block=", "count="], &[]);
    has("include \"|\";", &["@stress"], &[]);
    has("define proc save($file) { stat($file); }\nsa|", &["save"], &["$file"]);
    has("$h = |", &["fopen", "min"], &["repeat"]);
    assert_eq!(Client::completions("# wri|"), Vec::<String>::new());
}

#[test]
fn a_completion_replaces_the_word() {
    let mut client = Client::new("$size = 4k;\nstat(\"$siz\");");
    let found = client.at("textDocument/completion", 1, 9);
    let item = found.as_array().unwrap().iter().find(|item| item["label"] == "$size").unwrap();
    assert_eq!(item["textEdit"], json!({"range": range(1, 6, 10), "newText": "$size"}));
}

fn hover(text: &str) -> String {
    let (line, character) = cursor(text);
    let mut client = Client::new(&text.replace('|', ""));
    let found = client.at("textDocument/hover", line, character);
    found["contents"]["value"].as_str().unwrap_or("").to_string()
}

#[test]
fn hovers_are_the_manual_and_values() {
    for (text, part) in [
        ("wri|te(\"a\", 1);", "write(path, n [, off=0])"),
        ("param $num = 2 * 4k; /// how many\nprint $n|um;", "value: `8192 (8 KiB)`"),
        ("param $num = 1k; /// how many\nprint $n|um;", "how many"),
        ("$x = 2 * 3;\nprint $|x;", "value: `6`"),
        ("print $$r|ank;", "The number of this rank"),
        ("print m|in(1, 2);", "min(a, b, ...)"),
        ("with (dir|ect=true) sync;", "O_DIRECT"),
        ("write(\"a\", 64|k);", "65536 (64 KiB)"),
        ("rep|eat 3 sync;", "A loop"),
        ("define pattern \"p\" level 0 = str|ided(block=1, count=1);", "strided("),
    ] {
        assert!(hover(text).contains(part), "{text}: {}", hover(text));
    }
    assert_eq!(hover("# wri|te"), "");
}

#[test]
fn the_call_around_a_place_has_its_signature() {
    let help = |text: &str| {
        let (line, character) = cursor(text);
        let mut client = Client::new(&text.replace('|', ""));
        client.at("textDocument/signatureHelp", line, character)
    };
    let found = help("$x = 1; fread($h, min(1, 2), |");
    assert_eq!(found["activeParameter"], 2);
    let first = &found["signatures"][0];
    assert_eq!(first["label"], "fread(handle [, n=rest of the file] [, off=current position])");
    let at = first["parameters"][2]["label"].as_array().unwrap();
    let label = first["label"].as_str().unwrap();
    let part = &label[at[0].as_u64().unwrap() as usize..at[1].as_u64().unwrap() as usize];
    assert_eq!(part, "off=current position");
    assert_eq!(
        help("define proc p($a, $b=1) {}\np(1, |")["signatures"][0]["label"],
        "p($a, $b = 1)"
    );
    assert_eq!(help("sync; |"), Value::Null);
}

#[test]
fn names_are_found_and_renamed() {
    let text =
        "param $num = 4;\nrepeat $i $num stat(\"ä-$num\");\ninclude \"lib.ppl\";\nhelper(\"a\");\n";
    let mut client = Client::new(text);
    let found = client.at("textDocument/definition", 1, 11);
    assert_eq!(found, json!({"uri": URI, "range": range(0, 6, 10)}));
    let found = client.at("textDocument/definition", 3, 2);
    assert_eq!(found, json!({"uri": "file:///lib.ppl", "range": range(0, 12, 18)}));
    let references = |client: &mut Client, declaration: bool| {
        let mut params = place(1, 11);
        params["context"] = json!({"includeDeclaration": declaration});
        client.ask("textDocument/references", params).as_array().unwrap().len()
    };
    assert_eq!((references(&mut client, true), references(&mut client, false)), (3, 2));
    assert_eq!(client.at("textDocument/documentHighlight", 0, 7).as_array().unwrap().len(), 3);
    let prepared = client.at("textDocument/prepareRename", 0, 8);
    assert_eq!(prepared, json!({"range": range(0, 7, 10), "placeholder": "num"}));
    let rename = |client: &mut Client, new: &str, line: u32| {
        let mut params = place(line, 8);
        params["newName"] = json!(new);
        client.answer("textDocument/rename", params)
    };
    let edits = rename(&mut client, "count", 0);
    let edits = edits["result"]["changes"][URI].as_array().unwrap().clone();
    assert_eq!(edits.len(), 3);
    assert!(edits.contains(&json!({"range": range(1, 23, 27), "newText": "$count"})), "{edits:?}");
    assert_eq!(rename(&mut client, "i", 0)["error"]["code"], -32803, "it is taken");
    assert_eq!(rename(&mut client, "a b", 0)["error"]["code"], -32803);
}

#[test]
fn a_program_has_an_outline_folds_and_figures() {
    let text = "# head\n# more\nparam $num = 1000;\ntime[\"write\"] {\n    repeat $i $num {\n        write(\"f-$$rank-$i\", 64k);\n    }\n}\n";
    let mut client = Client::new(text);
    assert_eq!(client.diagnostics, json!([]));
    let symbols = client.of("textDocument/documentSymbol");
    assert_eq!(symbols[0]["name"], "param $num");
    assert_eq!(symbols[1]["children"][0]["name"], "repeat $i $num");
    let folds = client.of("textDocument/foldingRange");
    let lines =
        |fold: &Value| (fold["startLine"].as_u64().unwrap(), fold["endLine"].as_u64().unwrap());
    let mut lines: Vec<_> = folds.as_array().unwrap().iter().map(lines).collect();
    lines.sort();
    assert_eq!(lines, [(0, 1), (3, 6), (4, 5)]);
    let whole = json!({"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}});
    let params = json!({"textDocument": {"uri": URI}, "range": whole});
    let hints = client.ask("textDocument/inlayHint", params);
    let expected = "1,000 x 64 KiB = 62.5 MiB, 1,000 files on 4 ranks";
    assert_eq!(hints[1]["label"], expected, "{hints}");
    assert_eq!(hints[1]["position"], json!({"line": 4, "character": 18}));
    let lenses = client.of("textDocument/codeLens");
    assert_eq!(lenses[0]["command"]["title"], expected);
}

#[test]
fn long_loops_have_estimates() {
    let mut client = Client::new("repeat $i 1000000 write(\"f-$$rank-$i\", 64k);");
    let whole = json!({"textDocument": {"uri": URI}, "range": range(0, 0, 40)});
    let hints = client.ask("textDocument/inlayHint", whole);
    let label = hints[0]["label"].as_str().unwrap();
    assert!(label.contains("1,000,000 x 64 KiB = 61 GiB") || label.contains("61.0 GiB"), "{label}");
}

#[test]
fn the_outline_can_be_asked_for_and_changed() {
    let mut client = Client::new("time[\"w\"] repeat $i 10 write(\"a-$i\", 4k);\n");
    let outline = client.ask("parabench/outline", json!({"uri": URI}));
    assert_eq!((&outline["version"], &outline["complete"]), (&json!(1), &json!(true)));
    let item = &outline["items"][0]["children"][0]["children"][0];
    assert_eq!(
        (&item["id"], &item["kind"], &item["title"]),
        (&json!("0.0.0"), &json!("operation"), &json!("write"))
    );
    let size = &item["parameters"][1];
    assert_eq!(size["name"], "n");
    assert_eq!(
        (&size["value"], &size["unit"], &size["range"]),
        (&json!("4k"), &json!("bytes"), &range(0, 37, 39))
    );
    let gesture = json!({"kind": "setParameter", "id": "0.0.0", "name": "n", "value": "64k"});
    let done = client.ask("parabench/gesture", json!({"uri": URI, "gesture": gesture}));
    assert_eq!(done["edits"][0]["newText"], "time[\"w\"] repeat $i 10 write(\"a-$i\", 64k);\n");
    assert_eq!(done["select"], "0.0.0");
    let gesture = json!({"kind": "delete", "id": "9"});
    let refused = client.answer("parabench/gesture", json!({"uri": URI, "gesture": gesture}));
    assert_eq!(refused["error"]["code"], -32803);
    let palette = client.ask("parabench/palette", json!({}));
    let names: Vec<&Value> =
        palette["items"].as_array().unwrap().iter().map(|item| &item["name"]).collect();
    for name in ["repeat", "write", "strided", "@stress"] {
        assert!(names.contains(&&json!(name)), "{name}");
    }
    let text = client.ask("parabench/text", json!({"uri": "parabench:@stress"}));
    assert_eq!(text["text"], "sync;");
}

#[test]
fn messages_that_are_wrong_have_errors() {
    let mut session = Session::new(Box::new(Shelf));
    let mut code =
        |message: Value| session.handle(message).first().map(|one| one["error"]["code"].clone());
    let request =
        |method: &str| json!({"jsonrpc": "2.0", "id": "a", "method": method, "params": {}});
    assert_eq!(code(request("textDocument/hover")), Some(json!(-32002)));
    assert_eq!(code(json!({"id": 1, "method": "initialize", "params": 3})), Some(json!(-32602)));
    assert_eq!(code(json!([])), Some(json!(-32600)));
    assert_eq!(code(json!({"id": 1, "result": null})), None, "an answer to nothing");
    assert_eq!(
        code(json!({"id": 1, "method": "initialize", "params": {"capabilities": {}}})),
        Some(Value::Null)
    );
    assert_eq!(code(request("no/such")), Some(json!(-32601)));
    assert_eq!(code(request("textDocument/hover")), Some(json!(-32602)));
    assert_eq!(code(json!({"method": "textDocument/didChange", "params": {}})), None);
    assert_eq!(code(request("shutdown")), Some(Value::Null));
    assert_eq!(code(request("textDocument/hover")), Some(json!(-32600)));
    session.handle(json!({"method": "exit"}));
    assert_eq!(session.ended(), Some(true));
}

/// Every range in an answer, outermost first.
fn ranges(value: &Value, found: &mut Vec<Value>) {
    match value {
        Value::Object(fields) => {
            if fields.contains_key("start") && fields.contains_key("end") {
                found.push(value.clone());
            }
            fields.values().for_each(|value| ranges(value, found));
        }
        Value::Array(items) => items.iter().for_each(|value| ranges(value, found)),
        _ => {}
    }
}

/// Ranges lie in the document.
fn check_ranges(text: &str, value: &Value) {
    let mut found = Vec::new();
    ranges(value, &mut found);
    let lines: Vec<u64> = text
        .replace("\r\n", "\n")
        .split(['\n', '\r'])
        .map(|line| line.encode_utf16().count() as u64)
        .collect();
    let place =
        |end: &Value| (end["line"].as_u64().unwrap() as usize, end["character"].as_u64().unwrap());
    for range in found {
        let (start, end) = (place(&range["start"]), place(&range["end"]));
        assert!(start <= end, "{range} of {text:?}");
        for (line, character) in [start, end] {
            assert!(
                lines.get(line).is_some_and(|length| character <= *length),
                "{range} of {text:?}"
            );
        }
    }
}

const SAMPLE: &str = "param $num = 1000; /// files\ndefine groups {\"w\":D, \"r\":D = 50%};\ndefine pattern \"p\" level 0 = strided(block=4k, count=10);\r\ndefine proc save($file, $n = 4k) { write($file, $n); }\n# ä𝄞\ntime[\"wörk\", sync] repeat $i 0..$num step 2 {\n    with (direct=true, fsync=\"close\") write(\"f-$$rank-${i:06}\", 64k);\n}\nif ($$rank % 2 == 0) { save(\"a\"); } else mix { 70: stat(\"a\"); 30: sync; }\n$h = fopen(\"a\", \"r+\");\nfread($h, min(4k, $num), off=0);\n//- fclose($h);\ninclude \"lib.ppl\";\n";

/// Parts that are put into documents.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{1,6}",
        "[(){}\\[\\];,.=$\"/*#%@-]{1,3}",
        Just("𝄞ä\r".to_string()),
        Just("\n".to_string()),
        Just("repeat $i 10 {".to_string()),
        Just("time[\"x\"] ".to_string()),
        Just("$$rank".to_string()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn mutated_documents_have_no_panic_and_no_wrong_range(
        changes in prop::collection::vec((0usize..700, 0usize..40, piece()), 1..6), at in 0usize..700
    ) {
        let mut text: Vec<char> = SAMPLE.chars().collect();
        for (start, length, new) in changes {
            let start = start.min(text.len());
            let end = (start + length).min(text.len());
            text.splice(start..end, new.chars());
        }
        let before: String = text.iter().take(at).collect();
        let text: String = text.into_iter().collect();
        let mut client = Client::new(&text);
        check_ranges(&text, &client.diagnostics);
        let line = before.rsplit('\n').next().unwrap_or("").encode_utf16().count() as u32;
        let (line, character) = (before.matches('\n').count() as u32, line);
        for method in ["completion", "hover", "signatureHelp", "documentHighlight", "prepareRename"] {
            let found = client.at(&format!("textDocument/{method}"), line, character);
            check_ranges(&text, &found);
        }
        for method in ["formatting", "documentSymbol", "foldingRange", "codeLens"] {
            let found = client.of(&format!("textDocument/{method}"));
            check_ranges(&text, &found);
        }
        let mut params = place(line, character);
        params["newName"] = json!("other");
        check_ranges(&text, &client.answer("textDocument/rename", params));
        let whole = json!({"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}});
        let params = json!({"textDocument": {"uri": URI}, "range": whole, "context": {"diagnostics": []}});
        check_ranges(&text, &client.ask("textDocument/inlayHint", params.clone()));
        check_ranges(&text, &client.ask("textDocument/codeAction", params));
        check_ranges(&text, &client.ask("parabench/outline", json!({"uri": URI})));
        for id in ["0", "3", "5.0", "8.1.0"] {
            let gesture = json!({"kind": "switchOff", "id": id});
            let params = json!({"uri": URI, "gesture": gesture});
            check_ranges(&text, &client.answer("parabench/gesture", params));
        }
    }
}

/// `editors/vscode` has the grammar that the tables make.
#[test]
fn the_grammar_for_editors_is_that_of_the_tables() {
    let path =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../editors/vscode/syntaxes/ppl.tmLanguage.json");
    let made = editor::textmate::grammar();
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::create_dir_all(std::path::Path::new(path).parent().unwrap()).unwrap();
        std::fs::write(path, &made).unwrap();
    }
    let found = std::fs::read_to_string(path).unwrap_or_default();
    assert!(found == made, "UPDATE_EXPECT=1 cargo test -p parabench-editor writes {path} anew");
}
