//! `parabench lsp`: the language server on standard input and output.

use crate::error::{Error, Exit, Result};
use crate::language;
use clap::Args;
use lsp_server::{Message, Notification, RequestId, Response, ResponseError};
use serde_json::Value;
use std::io;

/// Serve an editor: mistakes, completion, manual, outline, figures (Language Server Protocol)
///
/// An editor starts it and speaks to it on standard input and output. docs/editors.md says how to set up VS
/// Code, Neovim, Helix and Emacs.
#[derive(Args)]
pub struct Lsp {
    /// Taken, as some clients give it: standard input and output is the only way
    #[arg(long, hide = true)]
    stdio: bool,
}

impl Lsp {
    /// Answers messages until the client sends `exit` or closes its end.
    pub fn execute(self) -> Result<Exit> {
        let mut session = language::session();
        let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
        while let Some(message) = Message::read(&mut input).map_err(|why| broken(&why))? {
            let message = serde_json::to_value(&message).unwrap_or(Value::Null);
            for answer in session.handle(message) {
                write(answer).write(&mut output).map_err(|why| broken(&why))?;
            }
            if let Some(well) = session.ended() {
                return Ok(if well { Exit::Success } else { Exit::Failed });
            }
        }
        Ok(Exit::Success)
    }
}

fn broken(why: &io::Error) -> Error {
    Error::failed(format!("the connection to the editor is broken: {why}"))
        .help("parabench lsp is started by an editor, see docs/editors.md")
}

/// A message of the session as the protocol frames it. A result of `null` is one.
fn write(mut answer: Value) -> Message {
    let id = serde_json::from_value::<RequestId>(answer["id"].take());
    if let Value::String(method) = answer["method"].take() {
        return Message::Notification(Notification { method, params: answer["params"].take() });
    }
    let id = id.unwrap_or_else(|_| RequestId::from(0));
    let error = serde_json::from_value::<Option<ResponseError>>(answer["error"].take());
    let error = error.unwrap_or_default();
    let result = Some(answer["result"].take()).filter(|_| error.is_none());
    Message::Response(Response { id, result, error })
}
