//! A document as the compiler sees it.

use crate::host::Host;
use crate::text::Text;
use model::plan::Span;
use ppl::source::FileId;
use ppl::{Binding, Compiled};

/// Ranks, groups, directories and parameters that a program is checked with while it is edited.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) ranks: u32,
    /// The client has given the number of ranks.
    pub(crate) ranks_given: bool,
    /// Values of parameters.
    pub(crate) params: Vec<(String, String)>,
    /// The client executes `parabench.run` and `parabench.plan`.
    pub(crate) commands: bool,
}

/// Ranks that are assumed: enough that ranks can get in each other's way, as `parabench check` has it.
const RANKS: u32 = 4;

impl Default for Settings {
    fn default() -> Settings {
        Settings { ranks: RANKS, ranks_given: false, params: Vec::new(), commands: false }
    }
}

/// A compiled document.
pub(crate) struct Analysis {
    pub(crate) text: Text,
    pub(crate) compiled: Compiled,
}

impl Analysis {
    pub(crate) fn new(name: &str, text: Text, host: &dyn Host, settings: &Settings) -> Analysis {
        let binding = Binding {
            ranks_assumed: !settings.ranks_given,
            params: settings.params.clone(),
            files: host.files(name),
            ..Binding::new(settings.ranks)
        };
        let bytes = text.as_str().as_bytes().to_vec();
        let mut loader = host.loader(name);
        let compiled = ppl::compile(name, bytes, &mut *loader, &binding);
        Analysis { text, compiled }
    }

    /// The document itself, and not what it includes, is the first file.
    pub(crate) fn is_own(&self, span: Span) -> bool {
        span != Span::COMMAND_LINE
            && !self.compiled.sources.files().is_empty()
            && self.compiled.sources.file_at(span.start) == FileId(0)
            && span.end as usize <= self.text.as_str().len()
    }

    /// A place of the document as its text.
    pub(crate) fn slice(&self, span: Span) -> &str {
        self.text.as_str().get(span.start as usize..span.end as usize).unwrap_or("")
    }

    /// The range of a place: of the document's own, or of a file that it includes, with the file's name.
    pub(crate) fn locate(&self, span: Span) -> Option<(Option<String>, lsp_types::Range)> {
        if self.is_own(span) {
            return Some((None, self.text.range_of(span)));
        }
        let files = self.compiled.sources.files();
        let file = files.get(self.compiled.sources.file_at(span.start).0 as usize)?;
        let text = Text::new(file.text.to_string());
        let local = |at: u32| at.saturating_sub(file.start) as usize;
        Some((Some(file.name.to_string()), text.range(local(span.start), local(span.end))))
    }
}
