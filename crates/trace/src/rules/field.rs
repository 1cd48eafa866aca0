//! The fields that a line can hold, and the fields of the current line.

macro_rules! fields {
    ($( $name:ident $word:literal $says:literal; )*) => {
        /// Something that a line holds.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Field { $(
            #[doc = $says]
            $name,
        )* }

        /// All of them, with their names in rules files.
        pub const FIELDS: &[(Field, &str, &str)] = &[ $( (Field::$name, $word, $says), )* ];
    };
}

fields! {
    Operation "operation" "what was done";
    Start "start" "when it began";
    End "end" "when it ended";
    Elapsed "elapsed" "how long it took";
    Host "host" "machine";
    Process "process" "process: a number or a name";
    Thread "thread" "thread: a number or a name";
    Rank "rank" "rank of the job, instead of a thread";
    Program "program" "name of the program";
    Path "path" "the file; of rename, link and symlink what there is already";
    Path2 "path2" "the new name of rename, link and symlink";
    Handle "handle" "descriptor: a number, or any text that identifies an open file";
    Offset "offset" "position in the file; without it the one that the descriptor has";
    Size "size" "bytes asked for";
    Done "done" "bytes moved";
    Flags "flags" "of opening: O_ names, a mode of C such as r+, or a number";
    Result "result" "what the call returned: descriptor, bytes or position; below 0 it failed";
    Error "error" "why it failed: name, number or text of an error of Linux";
}

impl Field {
    /// The field with this name in rules files.
    pub fn find(word: &str) -> Option<Field> {
        FIELDS.iter().find(|(_, name, _)| *name == word).map(|(field, ..)| *field)
    }

    /// Its name in rules files.
    pub fn name(self) -> &'static str {
        FIELDS[self as usize].1
    }

    /// All names, for messages.
    pub fn names() -> String {
        FIELDS.iter().map(|(_, name, _)| *name).collect::<Vec<_>>().join(", ")
    }
}

/// The fields of a line. Memory is used again from line to line.
#[derive(Clone, Debug, Default)]
pub struct Fields {
    text: Vec<u8>,
    /// Place of each in the text.
    spans: [(usize, usize); FIELDS.len()],
}

impl Fields {
    /// Forgets all.
    pub fn clear(&mut self) {
        self.text.clear();
        self.spans = [(0, 0); FIELDS.len()];
    }

    /// The text of a field; `None` if it is absent or empty.
    pub fn get(&self, field: Field) -> Option<&[u8]> {
        let (start, end) = self.spans[field as usize];
        (start < end).then(|| &self.text[start..end])
    }

    /// Sets a field; an empty text leaves it unset.
    pub fn set(&mut self, field: Field, text: &[u8]) {
        let start = self.text.len();
        self.text.extend_from_slice(text);
        self.spans[field as usize] = (start, self.text.len());
    }

    /// All that are there, in the order of the table.
    pub fn all(&self) -> impl Iterator<Item = (Field, &[u8])> {
        FIELDS.iter().filter_map(|(field, ..)| Some((*field, self.get(*field)?)))
    }
}
