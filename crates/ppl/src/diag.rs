//! Diagnostics: what is wrong with a program, where, what was expected, and what
//! to write instead. Data only; drawing is done at the edge.

use model::plan::Span;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The program runs; something in it is probably not meant.
    Warning,
    /// The program cannot run.
    Error,
}

macro_rules! codes {
    ($( $name:ident $text:literal $doc:literal; )*) => {
        /// The kind of mistake. E: error, W: warning.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Code { $( #[doc = $doc] $name, )* }

        impl Code {
            /// All codes with one line on each, for the manual.
            pub const ALL: &[Code] = &[ $( Code::$name, )* ];

            /// The code as it is printed: `E0101`.
            pub fn as_str(self) -> &'static str {
                match self { $( Code::$name => $text, )* }
            }

            /// One line on what it means.
            pub fn doc(self) -> &'static str {
                match self { $( Code::$name => $doc, )* }
            }
        }
    };
}

codes! {
    NotUtf8 "E0001" "The program is not UTF-8 text.";
    TooLong "E0002" "The program is longer than the limit.";
    Include "E0003" "An included file cannot be read, or includes itself.";
    Foreign "E0004" "A text of another language or tool.";
    UnknownCharacter "E0101" "A character that PPL does not have.";
    OpenString "E0102" "A string or comment that is not closed.";
    BadEscape "E0103" "An escape that PPL does not have.";
    BadNumber "E0104" "A number that is malformed or does not fit 64 bits.";
    Expected "E0201" "Something else was expected here.";
    UnknownWord "E0202" "A word that is neither a keyword nor an operation nor a proc.";
    TooDeep "E0203" "Nested deeper than the limit.";
    Misplaced "E0204" "A construct that is not allowed here.";
    UnknownVariable "E0301" "A variable that no earlier statement sets.";
    UnknownName "E0302" "A group, pattern, proc, function or internal variable that does not exist.";
    Duplicate "E0303" "A name that is defined twice.";
    Arguments "E0304" "Wrong number of arguments, or an argument that does not exist.";
    WrongType "E0305" "A value of another type is needed.";
    BadValue "E0306" "A value outside its range.";
    Arithmetic "E0307" "Division by zero or overflow in a constant expression.";
    LeavesDirectory "E0308" "A path that leaves the run directory.";
    UnknownParameter "E0311" "A parameter that the program does not define.";
    PatternMembers "E0312" "A pattern that does not exist for the number of members that use it.";
    ViewOverlaps "E0314" "A write through a file view, levels 2 and 3, that would write bytes twice.";
    SplitValue "E0315" "A split by a value that the ranks cannot know of each other, or into too many sets.";
    Closed "E0316" "A use of a file after it is closed.";
    Capitals "W0101" "A keyword not written in lower case.";
    GroupName "W0201" "Blanks around a group's name are dropped.";
    Precedence "W0202" "`%` meets `*` or `/` without parentheses.";
    PathBlank "W0203" "A blank at the start or end of a path component.";
    DecimalMode "W0204" "Permission bits in decimal that read like octal ones.";
    NoDirectory "W0205" "A name before the colon of a path that is no directory's.";
    NumberInText "W0206" "`+` between a text in quotes that holds a number and a number: it joins them.";
    ElementInText "W0207" "`$list[0]` in a text: the brackets are text.";
    ParameterSet "W0208" "A parameter that the program sets: what the command line gives is lost.";
    Layout "W0209" "A layout of a table that cannot be read.";
    Collision "W0301" "Several ranks make the same name; all but one will fail.";
    NotWritten "W0302" "Ranks read a file that only other ranks make.";
    BeyondEnd "W0303" "More is read than was written.";
    RankDependent "W0304" "Something that all members must do stands under a condition that differs between ranks.";
    Unreachable "W0305" "A statement that is never executed.";
    EmptyGroup "W0306" "A group without members, or cut at the number of ranks.";
    Unused "W0307" "A definition that nothing uses.";
    PatternMembersAssumed "W0308" "A pattern that does not exist for the number of members of a run without -n.";
    Hidden "W0309" "A variable of a proc hides one of the program that the proc reads.";
    NeverMet "W0310" "A wait for other ranks that never ends.";
    NotMember "W0311" "A signal for a member that its group does not have.";
    NotMade "W0313" "An MPI file that is opened for writing, and that neither this nor anything before creates.";
    OneWay "W0314" "A read of a file that is opened for writing alone, or a write of one opened for reading alone.";
    Fails "W0315" "A statement at which the program ends in its rehearsal.";
    NeedsMpi "W0401" "A statement that needs MPI at run time.";
    NotForMpi "W0402" "An option of `with` that MPI-IO does not take.";
    NoEffect "W0403" "An option of `with` that nothing inside takes.";
    Misaligned "W0404" "A transfer under `with (direct=true)` that is no multiple of 512 bytes.";
    NoRepeat "W0405" "A write under `with (dedup=R)` whose blocks cannot repeat.";
}

impl Code {
    /// Error or warning, from the first letter.
    pub fn severity(self) -> Severity {
        if self.as_str().starts_with('E') { Severity::Error } else { Severity::Warning }
    }
}

/// One mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The kind.
    pub code: Code,
    /// Where.
    pub span: Span,
    /// Expected and found, in one sentence without a final point.
    pub message: String,
    /// A short word under the marked text; "" repeats nothing.
    pub label: String,
    /// Other places that explain it.
    pub related: Vec<(Span, String)>,
    /// The fix in words.
    pub help: Option<String>,
    /// Replacing this span by this text mends it.
    pub fix: Option<(Span, String)>,
}

impl Diagnostic {
    /// A diagnostic with its severity taken from the code.
    pub fn new(code: Code, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            code,
            span,
            message: message.into(),
            label: String::new(),
            related: Vec::new(),
            help: None,
            fix: None,
        }
    }

    /// Adds what to do.
    pub fn help(mut self, help: impl Into<String>) -> Diagnostic {
        self.help = Some(help.into());
        self
    }

    /// Adds a word under the marked text.
    pub fn label(mut self, label: impl Into<String>) -> Diagnostic {
        self.label = label.into();
        self
    }

    /// Adds another place.
    pub fn related(mut self, span: Span, text: impl Into<String>) -> Diagnostic {
        self.related.push((span, text.into()));
        self
    }

    /// Adds a replacement that mends it.
    pub fn fix(mut self, span: Span, text: impl Into<String>) -> Diagnostic {
        self.fix = Some((span, text.into()));
        self
    }

    /// Error or warning.
    pub fn severity(&self) -> Severity {
        self.code.severity()
    }
}

/// The label of something that is not closed.
pub(crate) const OPENED_HERE: &str = "opened here";

/// At least one of them is an error.
pub fn has_errors(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().any(|d| d.severity() == Severity::Error)
}

/// Most errors and most warnings that are kept; a last one has the number of the others.
pub const MAX_EACH: usize = 100;

/// Diagnostics found so far.
#[derive(Default)]
pub(crate) struct Reports {
    found: Vec<Diagnostic>,
    errors: Tally,
    warnings: Tally,
}

#[derive(Clone, Copy, Default)]
pub(crate) struct Tally {
    count: usize,
    /// The first that was left out.
    left_out: Option<(Code, Span)>,
}

impl Reports {
    #[cold]
    pub(crate) fn push(&mut self, diagnostic: Diagnostic) {
        let tally = match diagnostic.severity() {
            Severity::Error => &mut self.errors,
            Severity::Warning => &mut self.warnings,
        };
        tally.count += 1;
        if tally.count <= MAX_EACH {
            self.found.push(diagnostic);
        } else {
            tally.left_out.get_or_insert((diagnostic.code, diagnostic.span));
        }
    }

    /// At least one error was found.
    pub(crate) fn has_errors(&self) -> bool {
        self.errors.count > 0
    }

    /// More errors will not be kept, so their help need not be worked out.
    pub(crate) fn is_full(&self) -> bool {
        self.errors.count >= MAX_EACH
    }

    /// A mark of the findings so far, to return to.
    pub(crate) fn mark(&self) -> (usize, Tally, Tally) {
        (self.found.len(), self.errors, self.warnings)
    }

    /// Forgets what was found since.
    pub(crate) fn rewind(&mut self, (found, errors, warnings): (usize, Tally, Tally)) {
        self.found.truncate(found);
        (self.errors, self.warnings) = (errors, warnings);
    }

    pub(crate) fn finish(mut self) -> Vec<Diagnostic> {
        for (tally, what) in [(self.errors, "errors"), (self.warnings, "warnings")] {
            if let Some((code, span)) = tally.left_out {
                let message = format!("{} more {what} are not shown", tally.count - MAX_EACH);
                let help = "fix those above first; many of the others may go with them";
                self.found.push(Diagnostic::new(code, span, message).help(help));
            }
        }
        self.found
    }
}
