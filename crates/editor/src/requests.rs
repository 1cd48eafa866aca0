//! Requests: what the server can do, and which part of it answers what.

use crate::defined::Defined;
use crate::diagnostics;
use crate::gesture::{self, Gesture};
use crate::host::EMBEDDED;
use crate::outline::{self, Outline};
use crate::session::{Document, Session, read, write};
use crate::text::{Text, difference};
use crate::{completion, figures, hover, names, palette, signature, symbols};
use lsp_types::{
    CodeActionKind, CodeActionOptions, CodeActionParams, CodeActionProviderCapability,
    CodeLensOptions, CompletionOptions, FoldingRangeProviderCapability, HoverProviderCapability,
    InlayHintParams, Location, OneOf, Position, PrepareRenameResponse, ReferenceParams,
    RenameOptions, RenameParams, ServerCapabilities, SignatureHelpOptions, TextDocumentIdentifier,
    TextDocumentPositionParams, TextDocumentSyncCapability, TextDocumentSyncKind,
    TextDocumentSyncOptions, TextDocumentSyncSaveOptions, WorkDoneProgressOptions, WorkspaceEdit,
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::HashMap;

/// Why there is no result.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: i32,
    pub(crate) message: String,
}

impl Failure {
    pub(crate) fn new(code: i32, message: impl Into<String>) -> Failure {
        Failure { code, message: message.into() }
    }

    /// The request is right, but cannot be fulfilled.
    pub(crate) fn refused(message: impl Into<String>) -> Failure {
        Failure::new(-32803, message)
    }

    pub(crate) fn bad_params(message: &str) -> Failure {
        Failure::new(-32602, message)
    }
}

/// Capabilities of the server.
pub(crate) fn capabilities() -> ServerCapabilities {
    let triggers = ["$", "\"", "@", "(", ",", "=", " "];
    let strings = |words: &[&str]| Some(words.iter().map(ToString::to_string).collect());
    ServerCapabilities {
        text_document_sync: Some(TextDocumentSyncCapability::Options(TextDocumentSyncOptions {
            open_close: Some(true),
            change: Some(TextDocumentSyncKind::INCREMENTAL),
            save: Some(TextDocumentSyncSaveOptions::Supported(true)),
            ..TextDocumentSyncOptions::default()
        })),
        completion_provider: Some(CompletionOptions {
            trigger_characters: strings(&triggers),
            ..CompletionOptions::default()
        }),
        signature_help_provider: Some(SignatureHelpOptions {
            trigger_characters: strings(&["(", ","]),
            ..SignatureHelpOptions::default()
        }),
        hover_provider: Some(HoverProviderCapability::Simple(true)),
        definition_provider: Some(OneOf::Left(true)),
        references_provider: Some(OneOf::Left(true)),
        document_highlight_provider: Some(OneOf::Left(true)),
        document_symbol_provider: Some(OneOf::Left(true)),
        document_formatting_provider: Some(OneOf::Left(true)),
        folding_range_provider: Some(FoldingRangeProviderCapability::Simple(true)),
        inlay_hint_provider: Some(OneOf::Left(true)),
        code_lens_provider: Some(CodeLensOptions { resolve_provider: Some(false) }),
        code_action_provider: Some(CodeActionProviderCapability::Options(CodeActionOptions {
            code_action_kinds: Some(vec![CodeActionKind::QUICKFIX]),
            ..CodeActionOptions::default()
        })),
        rename_provider: Some(OneOf::Right(RenameOptions {
            prepare_provider: Some(true),
            work_done_progress_options: WorkDoneProgressOptions::default(),
        })),
        ..ServerCapabilities::default()
    }
}

type Answer = Result<Value, Failure>;

/// The answer to a request.
pub(crate) fn answer(session: &Session, method: &str, params: Value) -> Answer {
    match method {
        "textDocument/completion" => at(session, params, |document, offset| {
            let host = &*session.host;
            Ok(write(&completion::list(&document.analysis, offset, host, session.snippets)))
        }),
        "textDocument/hover" => at(session, params, |document, offset| {
            Ok(write(&hover::at(&document.analysis, offset)))
        }),
        "textDocument/signatureHelp" => at(session, params, |document, offset| {
            Ok(write(&signature::at(&document.analysis, offset)))
        }),
        "textDocument/definition" => at(session, params, |document, offset| {
            let found = names::definition(&document.analysis, offset);
            Ok(write(&found.and_then(|place| location(session, document, place))))
        }),
        "textDocument/references" => references(session, params),
        "textDocument/documentHighlight" => at(session, params, |document, offset| {
            Ok(write(&names::highlights(&document.analysis, offset)))
        }),
        "textDocument/prepareRename" => at(session, params, prepare_rename),
        "textDocument/rename" => rename(session, params),
        "textDocument/formatting" => of(session, params, format),
        "textDocument/documentSymbol" => {
            of(session, params, |document| Ok(write(&symbols::list(&document.analysis.text))))
        }
        "textDocument/foldingRange" => {
            of(session, params, |document| Ok(write(&symbols::folds(&document.analysis))))
        }
        "textDocument/codeAction" => actions(session, params),
        "textDocument/inlayHint" => hints(session, params),
        "textDocument/codeLens" => of(session, params, |document| {
            let (uri, commands) = (document.uri.as_str(), session.settings.commands);
            Ok(write(&figures::lenses(&document.analysis, document.rehearsal(), uri, commands)))
        }),
        "parabench/outline" => outline(session, params),
        "parabench/palette" => Ok(json!({"items": write(&parts(session, params))})),
        "parabench/gesture" => perform(session, params),
        "parabench/text" => embedded(session, params),
        _ => Err(Failure::new(-32601, format!("{method} is not known"))),
    }
}

/// A request about a place of a document.
fn at(session: &Session, params: Value, find: impl Fn(&Document, usize) -> Answer) -> Answer {
    let params: TextDocumentPositionParams = read(params)?;
    let document = session.document(params.text_document.uri.as_str())?;
    find(document, offset(document, params.position))
}

/// A request about a document.
fn of(session: &Session, params: Value, find: impl Fn(&Document) -> Answer) -> Answer {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Params {
        text_document: TextDocumentIdentifier,
    }
    let params: Params = read(params)?;
    find(session.document(params.text_document.uri.as_str())?)
}

fn offset(document: &Document, position: Position) -> usize {
    document.analysis.text.offset(position)
}

fn location(session: &Session, document: &Document, place: names::Place) -> Option<Location> {
    let uri = match place.0 {
        None => document.uri.clone(),
        Some(name) => session.host.uri_of(&name).parse().ok()?,
    };
    Some(Location { uri, range: place.1 })
}

fn references(session: &Session, params: Value) -> Answer {
    let params: ReferenceParams = read(params)?;
    let place = params.text_document_position;
    let document = session.document(place.text_document.uri.as_str())?;
    let definitions = params.context.include_declaration;
    let found =
        names::references(&document.analysis, offset(document, place.position), definitions);
    let found: Vec<Location> =
        found.into_iter().filter_map(|place| location(session, document, place)).collect();
    Ok(write(&found))
}

fn prepare_rename(document: &Document, offset: usize) -> Answer {
    let analysis = &document.analysis;
    let Some(mention) = names::at(analysis, offset) else { return Ok(Value::Null) };
    let span = names::name_in(analysis, mention.span);
    Ok(write(&PrepareRenameResponse::RangeWithPlaceholder {
        range: analysis.text.range_of(span),
        placeholder: analysis.slice(span).to_string(),
    }))
}

// `Uri` is compared and hashed by its text alone.
#[allow(clippy::mutable_key_type)]
fn rename(session: &Session, params: Value) -> Answer {
    let params: RenameParams = read(params)?;
    let place = params.text_document_position;
    let document = session.document(place.text_document.uri.as_str())?;
    let offset = offset(document, place.position);
    let edits = names::rename(&document.analysis, offset, &params.new_name);
    let edits = edits.map_err(Failure::refused)?;
    Ok(write(&WorkspaceEdit::new(HashMap::from([(document.uri.clone(), edits)]))))
}

/// A text with mistakes stays as it is.
fn format(document: &Document) -> Answer {
    let text = &document.analysis.text;
    let (formatted, _) = ppl::format(text.as_str());
    Ok(write(&difference(text, &formatted)))
}

fn actions(session: &Session, params: Value) -> Answer {
    let params: CodeActionParams = read(params)?;
    let document = session.document(params.text_document.uri.as_str())?;
    let host = &*session.host;
    Ok(write(&diagnostics::actions(&document.analysis, &document.uri, params.range, host)))
}

fn hints(session: &Session, params: Value) -> Answer {
    let params: InlayHintParams = read(params)?;
    let document = session.document(params.text_document.uri.as_str())?;
    let found = document.rehearsal();
    let found = found.map(|found| figures::hints(&document.analysis, found, params.range));
    Ok(write(&found.unwrap_or_default()))
}

/// Parts for the palette; with a document its names stand in the examples.
fn parts(session: &Session, params: Value) -> Vec<palette::Entry> {
    let mut all = palette::entries(&session.host.programs());
    let document = params.get("uri").and_then(Value::as_str).map(|uri| session.document(uri));
    if let Some(Ok(document)) = document {
        let defined = Defined::of(&Outline::new(document.analysis.text.as_str()).items);
        all.iter_mut().for_each(|entry| defined.fit(entry));
    }
    all
}

fn outline(session: &Session, params: Value) -> Answer {
    #[derive(Deserialize)]
    struct Params {
        uri: String,
    }
    let params: Params = read(params)?;
    let document = session.document(&params.uri)?;
    let text: &Text = &document.analysis.text;
    let mut outline = Outline::new(text.as_str());
    Defined::of(&outline.items).offer(&mut outline.items);
    let items = outline::show(&outline.items, "", text);
    Ok(json!({
        "version": document.version,
        "complete": outline.complete,
        "items": write(&items),
    }))
}

fn perform(session: &Session, params: Value) -> Answer {
    #[derive(Deserialize)]
    struct Params {
        uri: String,
        gesture: Gesture,
    }
    let params: Params = read(params)?;
    let text = &session.document(&params.uri)?.analysis.text;
    let done = gesture::apply(text.as_str(), &params.gesture).map_err(Failure::refused)?;
    Ok(json!({"edits": write(&difference(text, &done.text)), "select": done.select}))
}

/// The text of a program that comes with Parabench.
fn embedded(session: &Session, params: Value) -> Answer {
    #[derive(Deserialize)]
    struct Params {
        uri: String,
    }
    let params: Params = read(params)?;
    let name = params.uri.strip_prefix(EMBEDDED).and_then(|name| name.strip_prefix('@'));
    let programs = session.host.programs();
    let found = programs.into_iter().find(|program| Some(&*program.name) == name);
    let found = found.ok_or_else(|| Failure::refused(format!("{} is not there", params.uri)))?;
    Ok(json!({"text": found.text}))
}
