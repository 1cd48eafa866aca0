//! Completion: words that are possible at a place.

use crate::analysis::Analysis;
use crate::host::Host;
use crate::palette;
use crate::parameters::{FLAGS, MPI_MODES, describe, option_choices};
use crate::tokens::{Around, Open, slice};
use lsp_types::{
    CompletionItem, CompletionItemKind, CompletionTextEdit, Documentation, InsertTextFormat,
    MarkupContent, MarkupKind, TextEdit,
};
use model::Op;
use model::function::FUNCTIONS;
use model::internal::INTERNALS;
use model::op::{OPS, ParamKind, SEEKS};
use model::with::{OPTIONS, OptionRow};
use ppl::facts::Kind as Name;
use ppl::kinds::{KINDS, find_kind};
use ppl::lex::{Kind, Token, is_name_byte};

/// Items for a place. `snippets`: the client takes place holders.
pub(crate) fn list(
    analysis: &Analysis,
    offset: usize,
    host: &dyn Host,
    snippets: bool,
) -> Vec<CompletionItem> {
    let text = analysis.text.as_str();
    let around = Around::new(text, offset);
    if around.in_comment {
        return Vec::new();
    }
    let place = Place { analysis, text, offset, around, snippets };
    match place.around.here {
        Some(token) if place.is_inside_text(token) => place.in_text(token, host),
        Some(token) if matches!(token.kind, Kind::Var | Kind::Internal) => {
            place.variables(token.start as usize)
        }
        Some(token) if token.kind == Kind::Word => place.words(token.start as usize),
        Some(token) if slice(text, token).starts_with('$') => place.variables(token.start as usize),
        Some(token) if !matches!(token.kind, Kind::Str | Kind::Error) => Vec::new(),
        _ if text[..offset].ends_with("$$") => place.variables(offset - 2),
        _ if text[..offset].ends_with('$') => place.variables(offset - 1),
        _ => place.words(offset),
    }
}

struct Place<'a> {
    analysis: &'a Analysis,
    text: &'a str,
    offset: usize,
    around: Around,
    snippets: bool,
}

/// An item: what is written from a place up to the cursor.
fn item(label: &str, kind: CompletionItemKind, detail: &str, doc: &str) -> CompletionItem {
    let markdown = MarkupContent { kind: MarkupKind::Markdown, value: doc.to_string() };
    CompletionItem {
        label: label.to_string(),
        kind: Some(kind),
        detail: Some(detail.to_string()).filter(|detail| !detail.is_empty()),
        documentation: Some(Documentation::MarkupContent(markdown)).filter(|_| !doc.is_empty()),
        ..CompletionItem::default()
    }
}

impl Place<'_> {
    /// The item replaces the text from a place up to the cursor, and what is left of the word behind it.
    fn written(
        &self,
        mut item: CompletionItem,
        start: usize,
        new: &str,
        is_snippet: bool,
    ) -> CompletionItem {
        let rest = self.text[self.offset..].bytes().take_while(|byte| is_name_byte(*byte)).count();
        let is_word = start < self.offset || rest == 0;
        let end = if is_word { self.offset + rest } else { self.offset };
        let range = self.analysis.text.range(start, end);
        let (new_text, format) = match is_snippet {
            true if self.snippets => (new.to_string(), InsertTextFormat::SNIPPET),
            true => (palette::plain(new), InsertTextFormat::PLAIN_TEXT),
            false => (new.to_string(), InsertTextFormat::PLAIN_TEXT),
        };
        item.filter_text = Some(item.label.clone());
        item.insert_text_format = Some(format);
        item.text_edit = Some(CompletionTextEdit::Edit(TextEdit { range, new_text }));
        item
    }

    fn is_inside_text(&self, token: Token) -> bool {
        let raw = slice(self.text, token);
        let is_open = token.kind == Kind::Error || raw.len() < 2 || !raw.ends_with('"');
        raw.starts_with('"')
            && (self.offset < token.end as usize || is_open)
            && self.offset > token.start as usize
    }

    /// Variables and internal variables, with their dollar signs. `start`: where these begin.
    fn variables(&self, start: usize) -> Vec<CompletionItem> {
        let Analysis { compiled, .. } = self.analysis;
        let (facts, sources) = (&compiled.facts, &compiled.sources);
        let visible = facts.visible_at(self.offset as u32, &compiled.ast, sources);
        let mut names: Vec<String> = Vec::new();
        let mut items: Vec<CompletionItem> = Vec::new();
        for (id, symbol) in visible.filter(|(_, symbol)| symbol.kind.is_variable()) {
            let name = facts.name(id, sources);
            if name.is_empty() || names.contains(&name) || self.is_being_written(symbol.span) {
                continue;
            }
            let doc = facts.documentation(id, &compiled.ast, sources).unwrap_or_default();
            let label = format!("${name}");
            let made =
                item(&label, CompletionItemKind::VARIABLE, &facts.describe(id, sources), &doc);
            items.push(self.written(made, start, &label, false));
            names.push(name);
        }
        items.extend(INTERNALS.iter().map(|row| {
            let label = format!("$${}", row.name);
            let made = item(&label, CompletionItemKind::CONSTANT, &row.types.describe(), row.doc);
            self.written(made, start, &label, false)
        }));
        let env = item(
            "$$env()",
            CompletionItemKind::CONSTANT,
            "a string",
            "A variable of the environment.",
        );
        items.push(self.written(env, start, "$$env(${1:HOME})", true));
        items
    }

    /// The name is the one at the cursor.
    fn is_being_written(&self, span: model::plan::Span) -> bool {
        (span.start as usize) < self.offset && self.offset <= span.end as usize
    }

    /// The typed beginning of a name; empty right after a blank.
    fn words(&self, start: usize) -> Vec<CompletionItem> {
        let mut items = match self.around.call() {
            Some(open) => self.in_call(open, start),
            None if self.begins_statement() => return self.statements(start),
            None => self.after_word(start),
        };
        if self.around.word_before(self.text) == "define" || self.is_kind() {
            return items;
        }
        items.extend(self.expressions(start));
        items
    }

    /// A statement can begin here: the one before is complete, or is a header.
    fn begins_statement(&self) -> bool {
        let Some(last) = self.around.before.last() else { return true };
        let word = self.around.word_before(self.text);
        let is_header = matches!(&*word, "master" | "else" | "time" | "ctime" | "level");
        let first = slice(self.text, self.around.before[0]).to_lowercase();
        let is_headed = matches!(
            &*first,
            "repeat"
                | "while"
                | "if"
                | "with"
                | "time"
                | "ctime"
                | "group"
                | "split"
                | "share"
                | "define"
        );
        let ends_head = matches!(
            last.kind,
            Kind::RParen
                | Kind::RBracket
                | Kind::Int
                | Kind::Duration
                | Kind::Var
                | Kind::Internal
                | Kind::Str
        );
        is_header
            || (is_headed && ends_head && self.around.before.len() > 1)
            || last.kind == Kind::Colon
    }

    fn statements(&self, start: usize) -> Vec<CompletionItem> {
        let entries = palette::entries(&[]).into_iter();
        let own = entries.filter(|entry| entry.section != "Patterns").map(|entry| {
            let kind = match entry.section.starts_with("Operations") {
                true => CompletionItemKind::FUNCTION,
                false => CompletionItemKind::KEYWORD,
            };
            let made = item(&entry.name, kind, &entry.title, &entry.doc);
            self.written(made, start, &entry.snippet, true)
        });
        own.chain(self.procs(start)).collect()
    }

    fn procs(&self, start: usize) -> Vec<CompletionItem> {
        let compiled = &self.analysis.compiled;
        let names = compiled.facts.names(Name::Proc);
        let one = |name: &str| {
            let made = item(name, CompletionItemKind::METHOD, "proc", "");
            self.written(made, start, &format!("{name}($1);"), true)
        };
        names.map(one).collect()
    }

    /// Functions, operations that give a result, constants and variables.
    fn expressions(&self, start: usize) -> Vec<CompletionItem> {
        let functions = FUNCTIONS.iter().map(|row| {
            let made = item(row.name, CompletionItemKind::FUNCTION, row.form, row.doc);
            self.written(made, start, &format!("{}($1)", row.name), true)
        });
        let constants = ["true", "false"].into_iter().map(|word| {
            self.written(item(word, CompletionItemKind::VALUE, "a boolean", ""), start, word, false)
        });
        let assigns = self.around.before.last().is_some_and(|last| last.kind == Kind::Assign);
        let operations =
            OPS.iter().filter(|_| assigns && self.around.call().is_none()).map(|row| {
                let snippet = palette::operation_snippet(row);
                let call = snippet.split_once(" = ").map_or(&*snippet, |(_, call)| call);
                let made =
                    item(row.name, CompletionItemKind::FUNCTION, &palette::signature(row), row.doc);
                self.written(made, start, call, true)
            });
        let mut items: Vec<CompletionItem> = functions.chain(constants).chain(operations).collect();
        items.extend(self.variables(start));
        items
    }

    /// The kind of a pattern is expected: `define pattern "p" =`.
    fn is_kind(&self) -> bool {
        let before = &self.around.before;
        let word = |at: usize| before.get(at).map_or("", |token| slice(self.text, *token));
        let is_pattern =
            word(0).eq_ignore_ascii_case("define") && word(1).eq_ignore_ascii_case("pattern");
        is_pattern && before.last().is_some_and(|last| last.kind == Kind::Assign)
    }

    /// After a word that asks for something special.
    fn after_word(&self, start: usize) -> Vec<CompletionItem> {
        let before = &self.around.before;
        let first = before.first().map_or("", |first| slice(self.text, *first));
        if self.is_kind() {
            let kind = |row: &ppl::kinds::KindRow| {
                let made = item(row.name, CompletionItemKind::STRUCT, &row.signature(), row.doc);
                let required = row.params.iter().filter(|param| param.default.is_none());
                let holders = required
                    .enumerate()
                    .map(|(at, param)| format!("{}=${{{}:1}}", param.name, at + 1));
                let snippet = format!("{}({});", row.name, holders.collect::<Vec<_>>().join(", "));
                self.written(made, start, &snippet, true)
            };
            return KINDS.iter().map(kind).collect();
        }
        let words: &[(&str, &str)] = match &*self.around.word_before(self.text) {
            "define" => &[
                ("groups", "groups {\"${1:writers}\":D, \"${2:readers}\":D};"),
                ("proc", "proc ${1:name}($${2:file}) {\n\t$0\n}"),
                ("pattern", "pattern \"${1:name}\" level ${2:0} = $0"),
                ("param", "param \"${1:num}\" $${1:num} ${2:1000};"),
                ("hints", "hints \"${1:wide}\" = \"${2:cb_nodes=4}\";"),
            ],
            _ if first.eq_ignore_ascii_case("repeat") => {
                &[("until", "until ${1:30s}"), ("step", "step ${1:10}"), ("in", "in")]
            }
            _ if first.eq_ignore_ascii_case("share") => &[("by", "by ${1:8}")],
            _ => &[],
        };
        let one = |(label, snippet): &(&str, &str)| {
            self.written(item(label, CompletionItemKind::KEYWORD, "", ""), start, snippet, true)
        };
        words.iter().map(one).collect()
    }

    /// Inside of brackets: options, named arguments, words.
    fn in_call(&self, open: &Open, start: usize) -> Vec<CompletionItem> {
        if open.word == "with" {
            return match open.named.as_deref().and_then(OptionRow::find) {
                Some(row) => self.choices(&option_choices(row), row.doc, start),
                None => self.options(start),
            };
        }
        if open.word == "time" || open.word == "ctime" {
            let word =
                item("sync", CompletionItemKind::KEYWORD, "", "All members wait for each other.");
            return vec![self.written(word, start, "sync", false)];
        }
        if let Some(kind) = find_kind(&open.word).filter(|_| open.named.is_none()) {
            let named = |param: &ppl::kinds::Parameter| {
                let label = format!("{}=", param.name);
                let made = item(
                    &label,
                    CompletionItemKind::PROPERTY,
                    &param.accepts.expected(),
                    param.doc,
                );
                self.written(made, start, &label, false)
            };
            return kind.params.iter().map(named).collect();
        }
        let Some(op) = Op::find(&open.word) else { return Vec::new() };
        let mut items = match self.parameter(op, open) {
            Some(param) => self.values(param.kind, start),
            None => Vec::new(),
        };
        let optional = op.row().params.iter().filter(|param| param.default.is_some());
        items.extend(optional.filter(|_| open.named.is_none()).map(|param| {
            let label = format!("{}=", param.name);
            let made = item(&label, CompletionItemKind::PROPERTY, describe(param.kind), "");
            self.written(made, start, &label, false)
        }));
        items
    }

    /// The parameter that the argument at the cursor is for.
    fn parameter(&self, op: Op, open: &Open) -> Option<&'static model::op::Param> {
        let params = op.row().params;
        match &open.named {
            Some(name) => params.iter().find(|param| param.name == name),
            None => params.get(open.commas),
        }
    }

    fn options(&self, start: usize) -> Vec<CompletionItem> {
        let one = |row: &OptionRow| {
            let label = format!("{}=", row.name);
            let made = item(&label, CompletionItemKind::PROPERTY, row.form, row.doc);
            self.written(made, start, &label, false)
        };
        OPTIONS.iter().map(one).collect()
    }

    /// Values of an option or parameter, as they are written.
    fn choices(&self, choices: &[String], doc: &str, start: usize) -> Vec<CompletionItem> {
        let one = |choice: &String| {
            let made = item(choice, CompletionItemKind::ENUM_MEMBER, "", doc);
            self.written(made, start, choice, false)
        };
        choices.iter().map(one).collect()
    }

    /// Values of a parameter, with quotes.
    fn values(&self, kind: ParamKind, start: usize) -> Vec<CompletionItem> {
        let quoted = |name: String| format!("\"{name}\"");
        let choices: Vec<String> = match kind {
            ParamKind::Whence => SEEKS.iter().map(ToString::to_string).collect(),
            kind => self.names_for(kind).into_iter().map(quoted).collect(),
        };
        self.choices(&choices, describe(kind), start)
    }

    /// Names and words that a parameter takes, without quotes.
    fn names_for(&self, kind: ParamKind) -> Vec<String> {
        let owned = |words: &[&str]| words.iter().map(ToString::to_string).collect();
        match kind {
            ParamKind::Word(words) => owned(words),
            ParamKind::Flags => owned(&FLAGS),
            ParamKind::MpiMode => owned(&MPI_MODES),
            ParamKind::Collective => owned(&["all", "shared", "ordered"]),
            ParamKind::Group => self.names(Name::Group),
            ParamKind::Pattern => self.names(Name::Pattern),
            _ => Vec::new(),
        }
    }

    fn names(&self, kind: Name) -> Vec<String> {
        let mut names: Vec<String> =
            self.analysis.compiled.facts.names(kind).map(String::from).collect();
        names.sort();
        names
    }

    /// Inside of quotes: a variable, a name or a word.
    fn in_text(&self, token: Token, host: &dyn Host) -> Vec<CompletionItem> {
        let start = token.start as usize + 1;
        let before = &self.text[start..self.offset];
        let name = before.bytes().rev().take_while(|byte| is_name_byte(*byte)).count();
        let head = &before[..before.len() - name];
        if head.ends_with('$') {
            let dollars = if head.ends_with("$$") { 2 } else { 1 };
            return self.variables(self.offset - name - dollars);
        }
        let word = self.around.word_before(self.text);
        let names = match self.around.call() {
            _ if word == "include" => return self.programs(start, host),
            _ if word == "group" => self.names(Name::Group),
            Some(open) => self.names_in_call(open),
            None => Vec::new(),
        };
        let one = |name: &String| {
            let made = item(name, CompletionItemKind::VALUE, "", "");
            self.in_quotes(made, start, token, name)
        };
        names.iter().map(one).collect()
    }

    /// The item replaces the text in quotes.
    fn in_quotes(
        &self,
        made: CompletionItem,
        start: usize,
        token: Token,
        new: &str,
    ) -> CompletionItem {
        let mut made = self.written(made, start, new, false);
        let raw = slice(self.text, token);
        let is_closed = token.kind == Kind::Str && raw.len() > 1 && raw.ends_with('"');
        let end = if is_closed { token.end as usize - 1 } else { self.offset };
        let range = self.analysis.text.range(start, end.max(self.offset));
        made.text_edit = Some(CompletionTextEdit::Edit(TextEdit { range, new_text: new.into() }));
        made
    }

    fn names_in_call(&self, open: &Open) -> Vec<String> {
        let unquoted = |choices: Vec<String>| {
            choices.iter().map(|choice| choice.trim_matches('"').to_string()).collect()
        };
        match &*open.word {
            "time" | "ctime" => self.names(Name::Label),
            "group" | "barrier" => self.names(Name::Group),
            "with" if open.named.as_deref() == Some("hints") => self.names(Name::Hints),
            "with" => {
                let row = open.named.as_deref().and_then(OptionRow::find);
                unquoted(row.map(option_choices).unwrap_or_default())
            }
            "seconds" | "count" | "bytes" | "rate" if open.commas == 0 => self.names(Name::Label),
            "pieces" | "piece_offset" | "piece_size" => self.names(Name::Pattern),
            word => {
                let op = Op::find(word);
                let param = op.and_then(|op| self.parameter(op, open));
                param.map_or_else(Vec::new, |param| self.names_for(param.kind))
            }
        }
    }

    fn programs(&self, start: usize, host: &dyn Host) -> Vec<CompletionItem> {
        let token = self.around.here;
        let one = |program: crate::host::Program| {
            let label = format!("@{}", program.name);
            let made = item(&label, CompletionItemKind::MODULE, "", &program.title);
            match token {
                Some(token) => self.in_quotes(made, start, token, &label),
                None => self.written(made, start, &label, false),
            }
        };
        host.programs().into_iter().map(one).collect()
    }
}
