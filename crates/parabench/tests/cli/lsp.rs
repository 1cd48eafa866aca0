//! `parabench lsp`: a client over standard input and output.

use crate::scene::{PARABENCH, Scene};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

struct Client {
    server: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    next: u64,
    /// Diagnostics that were published last.
    diagnostics: Value,
}

impl Client {
    fn new(scene: &Scene) -> Client {
        let mut command = Command::new(PARABENCH);
        command.arg("lsp").current_dir(scene.path("."));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut server = command.spawn().expect("started");
        let input = server.stdin.take().expect("a pipe");
        let output = BufReader::new(server.stdout.take().expect("a pipe"));
        let mut client = Client { server, input, output, next: 0, diagnostics: Value::Null };
        let about = client.ask("initialize", json!({"capabilities": {}}));
        assert_eq!(about["serverInfo"]["name"], "parabench");
        client.tell("initialized", json!({}));
        client
    }

    fn send(&mut self, message: &Value) {
        let text = message.to_string();
        write!(self.input, "Content-Length: {}\r\n\r\n{text}", text.len()).expect("sent");
    }

    fn receive(&mut self) -> Value {
        let mut length = 0;
        loop {
            let mut line = String::new();
            self.output.read_line(&mut line).expect("a line");
            match line.trim_end().split_once(": ") {
                Some(("Content-Length", number)) => length = number.parse().expect("a number"),
                Some(_) => {}
                None => break,
            }
        }
        let mut bytes = vec![0; length];
        self.output.read_exact(&mut bytes).expect("a message");
        serde_json::from_slice(&bytes).expect("JSON")
    }

    fn tell(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// The result of a request; what is published meanwhile is kept.
    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let id = self.next;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let message = self.receive();
            if message["method"] == "textDocument/publishDiagnostics" {
                self.diagnostics = message["params"]["diagnostics"].clone();
                continue;
            }
            assert_eq!((&message["id"], &message["jsonrpc"]), (&json!(id), &json!("2.0")));
            assert!(message.get("error").is_none(), "{method}: {message}");
            return message.get("result").unwrap_or_else(|| panic!("{method} has none")).clone();
        }
    }

    fn open(&mut self, uri: &str, text: &str) {
        let document = json!({"uri": uri, "languageId": "ppl", "version": 1, "text": text});
        self.tell("textDocument/didOpen", json!({"textDocument": document}));
        self.diagnostics = self.receive()["params"]["diagnostics"].clone();
    }

    /// The exit code after an orderly end.
    fn end(mut self) -> Option<i32> {
        assert_eq!(self.ask("shutdown", Value::Null), Value::Null);
        self.tell("exit", Value::Null);
        self.server.wait().expect("ended").code()
    }
}

fn place(uri: &str, line: u32, character: u32) -> Value {
    json!({"textDocument": {"uri": uri}, "position": {"line": line, "character": character}})
}

#[test]
fn each_kind_of_request_has_an_answer() {
    let scene = Scene::new().file("lib.ppl", "define proc helper($a) { stat($a); }\n");
    let folder = scene.path(".").canonicalize().unwrap();
    let uri = format!("file://{}/x.ppl", folder.display());
    let text = "param $num = 10; /// how many\ninclude \"lib.ppl\";\ninclude \"@lib/temporal\";\n\
                time[\"w\"] {\n    repeat $i $num write(\"f-$$rank-$i\", 4k);\n}\nhelper(\"a\");\n";
    let mut client = Client::new(&scene);
    client.open(&uri, text);
    let codes: Vec<&Value> =
        client.diagnostics.as_array().unwrap().iter().map(|one| &one["code"]).collect();
    assert!(!codes.iter().any(|code| code.as_str().unwrap().starts_with('E')), "{codes:?}");

    let found = client.ask("textDocument/hover", place(&uri, 4, 21));
    assert!(found["contents"]["value"].as_str().unwrap().contains("write(path, n [, off=0])"));
    let found = client.ask("textDocument/completion", place(&uri, 4, 4));
    assert!(found.as_array().unwrap().iter().any(|item| item["label"] == "write"));
    let found = client.ask("textDocument/signatureHelp", place(&uri, 4, 27));
    assert_eq!(found["activeParameter"], 0);
    let found = client.ask("textDocument/definition", place(&uri, 6, 2));
    assert!(found["uri"].as_str().unwrap().ends_with("/lib.ppl"), "{found}");
    let mut params = place(&uri, 0, 8);
    params["context"] = json!({"includeDeclaration": true});
    assert_eq!(client.ask("textDocument/references", params).as_array().unwrap().len(), 2);
    assert_eq!(
        client.ask("textDocument/documentHighlight", place(&uri, 0, 8)).as_array().unwrap().len(),
        2
    );
    assert_eq!(client.ask("textDocument/prepareRename", place(&uri, 0, 8))["placeholder"], "num");
    let mut params = place(&uri, 0, 8);
    params["newName"] = json!("count");
    let edits = client.ask("textDocument/rename", params);
    assert_eq!(edits["changes"][&uri].as_array().unwrap().len(), 2);
    let document = json!({"textDocument": {"uri": uri}});
    assert_eq!(client.ask("textDocument/formatting", document.clone()), json!([]));
    assert_eq!(
        client.ask("textDocument/documentSymbol", document.clone()).as_array().unwrap().len(),
        4
    );
    assert_eq!(
        client.ask("textDocument/foldingRange", document.clone()).as_array().unwrap().len(),
        1
    );
    let lenses = client.ask("textDocument/codeLens", document);
    assert_eq!(lenses[0]["command"]["title"], "10 x 4 KiB = 40 KiB, 10 files on 4 ranks");
    let range = json!({"start": {"line": 0, "character": 0}, "end": {"line": 9, "character": 0}});
    let params =
        json!({"textDocument": {"uri": uri}, "range": range, "context": {"diagnostics": []}});
    assert_eq!(client.ask("textDocument/inlayHint", params.clone()).as_array().unwrap().len(), 2);
    assert_eq!(client.ask("textDocument/codeAction", params), json!([]));
    let outline = client.ask("parabench/outline", json!({"uri": uri}));
    assert_eq!(outline["items"][3]["children"][0]["title"], "repeat $i $num");
    let gesture = json!({"kind": "switchOff", "id": "3.0"});
    let done = client.ask("parabench/gesture", json!({"uri": uri, "gesture": gesture}));
    let expected = "    //- repeat $i $num write(\"f-$$rank-$i\", 4k);\n";
    assert_eq!(done["edits"][0]["newText"], expected);
    let palette = client.ask("parabench/palette", json!({}));
    assert!(palette["items"].as_array().unwrap().iter().any(|item| item["name"] == "@stress"));
    let text = client.ask("parabench/text", json!({"uri": "parabench:@stress"}));
    assert!(text["text"].as_str().unwrap().contains("write("));
    assert_eq!(client.end(), Some(0));
}

#[test]
fn a_program_of_ten_thousand_lines_is_served() {
    let mut text = String::from("param $n = 2;\n");
    for number in 0..2_500 {
        let _ = write!(
            text,
            "time[\"t{number}\"] {{\n    write(\"f-$$rank-{number}\", 4k);\n    stat(\"f-$$rank-{number}\");\n}}\n"
        );
    }
    let scene = Scene::new();
    let uri = "file:///nowhere/long.ppl";
    let mut client = Client::new(&scene);
    client.open(uri, &text);
    assert_eq!(client.diagnostics, json!([]));
    let last = 10_001;
    let range =
        json!({"start": {"line": last, "character": 0}, "end": {"line": last, "character": 0}});
    let document = json!({"uri": uri, "version": 2});
    let changes = json!([{"range": range, "text": "sttat(\"ä\");"}]);
    client.tell(
        "textDocument/didChange",
        json!({"textDocument": document, "contentChanges": changes}),
    );
    let found = client.ask("textDocument/completion", place(uri, last, 3));
    assert!(found.as_array().unwrap().iter().any(|item| item["label"] == "stat"));
    assert_eq!(client.diagnostics[0]["range"]["start"], json!({"line": last, "character": 0}));
    let outline = client.ask("parabench/outline", json!({"uri": uri}));
    assert_eq!(outline["items"].as_array().unwrap().len(), 2_502);
    let gesture = json!({"kind": "delete", "id": "2501"});
    let done = client.ask("parabench/gesture", json!({"uri": uri, "gesture": gesture}));
    assert_eq!(done["edits"].as_array().unwrap().len(), 1);
    assert_eq!(client.end(), Some(0));
}

#[test]
fn an_editor_that_goes_away_ends_the_server() {
    let scene = Scene::new();
    let Client { mut server, input, .. } = Client::new(&scene);
    drop(input);
    assert_eq!(server.wait().expect("ended").code(), Some(0));
    scene.call("lsp").input("Content-Length: x\r\n\r\n").run().exits(1).err_has("docs/editors.md");
}
