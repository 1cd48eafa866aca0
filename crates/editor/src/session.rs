//! A client's session: open documents, and the messages of the protocol as JSON-RPC.

use crate::analysis::{Analysis, Settings};
use crate::figures;
use crate::host::Host;
use crate::requests::{self, Failure};
use crate::text::Text;
use lsp_types::{
    DidChangeTextDocumentParams, DidCloseTextDocumentParams, DidOpenTextDocumentParams,
    InitializeParams, PublishDiagnosticsParams, Uri,
};
use model::rehearsal::Rehearsal;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::cell::OnceCell;
use std::collections::BTreeMap;

/// Open documents and settings of a client.
///
/// ```
/// # struct Nothing;
/// # impl editor::Host for Nothing {
/// #     fn loader(&self, _: &str) -> Box<dyn ppl::Loader> { Box::new(ppl::source::NoIncludes) }
/// #     fn files(&self, _: &str) -> ppl::Files { Box::new(|_| Err("there is none".into())) }
/// #     fn programs(&self) -> Vec<editor::Program> { Vec::new() }
/// # }
/// let mut session = editor::Session::new(Box::new(Nothing));
/// let answers = session.handle(serde_json::json!({
///     "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}},
/// }));
/// assert_eq!(answers[0]["result"]["capabilities"]["hoverProvider"], true);
/// ```
pub struct Session {
    pub(crate) host: Box<dyn Host>,
    pub(crate) settings: Settings,
    /// The client takes snippets in completions.
    pub(crate) snippets: bool,
    documents: BTreeMap<String, Document>,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    New,
    Running,
    ShutDown,
    /// `well`: it was shut down before.
    Ended {
        well: bool,
    },
}

/// An open document.
pub(crate) struct Document {
    pub(crate) uri: Uri,
    pub(crate) version: i32,
    pub(crate) analysis: Analysis,
    /// Made when first asked for.
    rehearsal: OnceCell<Option<Rehearsal>>,
}

impl Document {
    pub(crate) fn rehearsal(&self) -> Option<&Rehearsal> {
        self.rehearsal.get_or_init(|| figures::rehearse(&self.analysis)).as_ref()
    }

    fn is_rehearsed(&self) -> bool {
        self.rehearsal.get().is_some()
    }
}

/// Codes of errors of JSON-RPC and of the protocol.
mod code {
    pub(super) const NOT_INITIALIZED: i32 = -32002;
    pub(super) const BAD_REQUEST: i32 = -32600;
}

impl Session {
    /// A session that reads files that are not open through `host`.
    pub fn new(host: Box<dyn Host>) -> Session {
        Session {
            host,
            settings: Settings::default(),
            snippets: false,
            documents: BTreeMap::new(),
            state: State::New,
        }
    }

    /// The client has sent `exit`; true: after `shutdown`, as it should.
    pub fn ended(&self) -> Option<bool> {
        match self.state {
            State::Ended { well } => Some(well),
            _ => None,
        }
    }

    /// Takes a message: gives the answer, if it is a request, and notifications for the client.
    pub fn handle(&mut self, message: Value) -> Vec<Value> {
        let id = message.get("id").cloned().filter(|id| !id.is_null());
        let Some(method) = message.get("method").and_then(Value::as_str) else {
            // An answer of the client: the server asks it nothing.
            return match (id, message.get("result").or(message.get("error"))) {
                (Some(_), Some(_)) => Vec::new(),
                (id, _) => vec![failed(&id.unwrap_or(Value::Null), code::BAD_REQUEST, "no method")],
            };
        };
        let params = message.get("params").cloned().unwrap_or(Value::Null);
        match id {
            None => self.notified(method, params),
            Some(id) => {
                let before = self.rehearsed();
                let answer = self.answer(&id, method, params);
                let after = self.documents.values().filter(|one| one.is_rehearsed());
                // The client has paused to ask for figures: what the rehearsal found comes with them.
                let new = after.filter(|one| !before.contains(&one.uri.as_str().to_string()));
                let more: Vec<Value> = new.map(|one| self.diagnose(one)).collect();
                std::iter::once(answer).chain(more).collect()
            }
        }
    }

    /// Documents that were rehearsed as they are now.
    fn rehearsed(&self) -> Vec<String> {
        let documents = self.documents.values().filter(|one| one.is_rehearsed());
        documents.map(|one| one.uri.to_string()).collect()
    }

    fn answer(&mut self, id: &Value, method: &str, params: Value) -> Value {
        let found = match (self.state, method) {
            (State::New, "initialize") => self.initialize(params),
            (State::New, _) => Err(Failure::new(code::NOT_INITIALIZED, "initialize comes first")),
            (State::ShutDown | State::Ended { .. }, _) => {
                Err(Failure::new(code::BAD_REQUEST, "the server is shut down"))
            }
            (_, "initialize") => Err(Failure::new(code::BAD_REQUEST, "initialized already")),
            (_, "shutdown") => {
                self.state = State::ShutDown;
                Ok(Value::Null)
            }
            _ => requests::answer(self, method, params),
        };
        match found {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err(why) => failed(id, why.code, &why.message),
        }
    }

    fn initialize(&mut self, params: Value) -> Result<Value, Failure> {
        let params: InitializeParams = read(params)?;
        let item = params.capabilities.text_document.and_then(|text| text.completion);
        let item = item.and_then(|completion| completion.completion_item);
        self.snippets = item.and_then(|item| item.snippet_support).unwrap_or(false);
        self.settings = settings(&params.initialization_options.unwrap_or(Value::Null));
        self.state = State::Running;
        Ok(json!({
            "capabilities": write(&requests::capabilities()),
            "serverInfo": {"name": "parabench", "version": env!("CARGO_PKG_VERSION")},
        }))
    }

    fn notified(&mut self, method: &str, params: Value) -> Vec<Value> {
        match (self.state, method) {
            (state, "exit") => self.state = State::Ended { well: state == State::ShutDown },
            (State::Running, "textDocument/didOpen") => {
                let Ok(params) = read::<DidOpenTextDocumentParams>(params) else {
                    return Vec::new();
                };
                let document = params.text_document;
                return self.put(document.uri, document.version, Text::new(document.text), true);
            }
            (State::Running, "textDocument/didChange") => {
                let Ok(params) = read::<DidChangeTextDocumentParams>(params) else {
                    return Vec::new();
                };
                return self.change(params);
            }
            (State::Running, "textDocument/didClose") => {
                let Ok(params) = read::<DidCloseTextDocumentParams>(params) else {
                    return Vec::new();
                };
                let uri = params.text_document.uri;
                self.documents.remove(uri.as_str());
                return vec![publish(PublishDiagnosticsParams::new(uri, Vec::new(), None))];
            }
            // A file that the document includes may be another one now.
            (State::Running, "textDocument/didSave" | "workspace/didChangeWatchedFiles") => {
                return self.read_again();
            }
            (State::Running, "workspace/didChangeConfiguration") => {
                let given = params.pointer("/settings/parabench").or(params.get("settings"));
                let commands = self.settings.commands;
                self.settings = Settings { commands, ..settings(given.unwrap_or(&Value::Null)) };
                return self.read_again();
            }
            _ => {}
        }
        Vec::new()
    }

    fn change(&mut self, params: DidChangeTextDocumentParams) -> Vec<Value> {
        let uri = params.text_document.uri;
        let Some(known) = self.documents.get(uri.as_str()) else { return Vec::new() };
        let mut text = known.analysis.text.clone();
        for change in &params.content_changes {
            text.change(change.range, &change.text);
        }
        self.put(uri, params.text_document.version, text, false)
    }

    /// A document has a new text: its diagnostics. `rehearsed`: with what a rehearsal finds, which takes longer than a
    /// letter that is typed may.
    fn put(&mut self, uri: Uri, version: i32, text: Text, rehearsed: bool) -> Vec<Value> {
        let name = self.host.name_of(uri.as_str());
        let analysis = Analysis::new(&name, text, &*self.host, &self.settings);
        let document = Document { uri, version, analysis, rehearsal: OnceCell::new() };
        if rehearsed {
            document.rehearsal();
        }
        let notification = self.diagnose(&document);
        self.documents.insert(document.uri.to_string(), document);
        vec![notification]
    }

    /// Diagnostics of a document, with those of its last rehearsal.
    fn diagnose(&self, document: &Document) -> Value {
        let doubts = document.rehearsal.get().and_then(Option::as_ref);
        let doubts =
            doubts.map_or_else(Vec::new, |found| figures::doubts(&document.analysis, found));
        let found =
            crate::diagnostics::list(&document.analysis, &doubts, &document.uri, &*self.host);
        let version = Some(document.version);
        publish(PublishDiagnosticsParams::new(document.uri.clone(), found, version))
    }

    /// All documents with what they include, as it is now.
    fn read_again(&mut self) -> Vec<Value> {
        let documents = std::mem::take(&mut self.documents).into_values();
        let all: Vec<_> = documents.map(|one| (one.uri, one.version, one.analysis.text)).collect();
        all.into_iter()
            .flat_map(|(uri, version, text)| self.put(uri, version, text, true))
            .collect()
    }

    /// An open document.
    pub(crate) fn document(&self, uri: &str) -> Result<&Document, Failure> {
        let found = self.documents.get(uri);
        found.ok_or_else(|| Failure::refused(format!("{uri} is not open")))
    }
}

/// `initializationOptions`, or the settings of the client.
fn settings(options: &Value) -> Settings {
    let ranks = options.get("ranks").and_then(Value::as_u64).and_then(|n| u32::try_from(n).ok());
    let ranks = ranks.filter(|ranks| (1..=engine::rehearse::RANKS_MAX).contains(ranks));
    let params = options.get("params").and_then(Value::as_object);
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), String::from);
    let params = params.into_iter().flatten().map(|(name, value)| (name.clone(), text(value)));
    Settings {
        ranks: ranks.unwrap_or(Settings::default().ranks),
        ranks_given: ranks.is_some(),
        params: params.collect(),
        commands: options.get("commands").and_then(Value::as_bool).unwrap_or(false),
    }
}

fn publish(params: PublishDiagnosticsParams) -> Value {
    let method = "textDocument/publishDiagnostics";
    json!({"jsonrpc": "2.0", "method": method, "params": write(&params)})
}

fn failed(id: &Value, code: i32, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

/// The parameters of a message.
pub(crate) fn read<T: DeserializeOwned>(params: Value) -> Result<T, Failure> {
    serde_json::from_value(params).map_err(|why| Failure::bad_params(&why.to_string()))
}

/// A result as JSON.
pub(crate) fn write<T: Serialize>(value: &T) -> Value {
    serde_json::to_value(value).unwrap_or(Value::Null)
}
