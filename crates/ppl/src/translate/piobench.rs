//! Configurations of PIObench (Shorter, MS thesis, Clemson) in PPL.
//!
//! ```text
//! TestFile "/mnt/pvfs/f"                     repeat 100 {
//! <Module>                                       sleep(30s); barrier;
//!     ModuleName "Simple Strided(write)"  ->     $h = fopen("f", "O_WRONLY|O_CREAT");
//!     ModuleReps 100                             time["Simple Strided(write)", sync] fwrite($h, "strided");
//!     ModuleSettleTime 30                        fclose($h);
//! </Module>                                  }
//! ```
//!
//! Modules run in order. Sizes of the patterns are parameters of the program, with the defaults of `@piobench`: only
//! their names are published, not the directives that set them. The settle time is taken as seconds.

use super::Mistake;
use super::page::{Page, Start, place};

type Read<T> = Result<T, Mistake>;

/// Spatial patterns: the name in a configuration without blanks and in small letters, and its definition.
const PATTERNS: &[(&str, &str, &str)] = &[
    ("simplestrided", "strided", "strided(block=$buffer, count=$units)"),
    ("nestedstrided", "nested", "nested(block=$buffer, counts=[4, 4])"),
    ("randomstrided", "random", "random(min=1k, max=$buffer, count=$units)"),
    ("sequential", "sequential", "sequential(block=$buffer, count=$units)"),
    ("segmented", "segmented", "segmented(block=$buffer, count=$units)"),
    ("tiled", "tiled", "subarray(sizes=[256, 256], elem=32)"),
    ("flash", "flash", "flash(blocks=4)"),
    ("unstructuredmesh", "mesh", "mesh(vertices=4096, values=$values, partition=\"random\")"),
];

/// The pattern that ValuesPerRecord is for.
const MESH: &str = "mesh";
/// Values of a vertex where nothing gives their number.
const VALUES: u64 = 8;

/// A spelling of a pattern in full.
const OTHER_NAMES: &[(&str, &str)] = &[
    ("sequentialaccess", "sequential"),
    ("segmentedaccess", "segmented"),
    ("flashi/okernel", "flash"),
    ("flashiokernel", "flash"),
];

/// Directives of the whole file that change nothing here: rows of fopen and fclose are always there, and means too.
const ALWAYS_SHOWN: [&str; 3] = ["ShowAverage", "ReportOpenTime", "ReportCloseTime"];

#[derive(Clone, Copy, PartialEq)]
enum Form {
    Write,
    Rewrite,
    Read,
    Reread,
    Modify,
}

/// A module of the configuration.
struct Module {
    name: String,
    pattern: usize,
    form: Form,
    reps: u64,
    settle_s: u64,
    values: Option<u64>,
}

#[derive(Default)]
struct Configuration {
    file: Option<String>,
    syncs: bool,
    header: bool,
    modules: Vec<Module>,
}

pub(crate) fn translate(text: &str) -> Read<(String, Vec<String>)> {
    let configuration = read(text)?;
    let (folder, file) = place(configuration.file.as_deref().unwrap_or("piobench"));
    let mut page = Page::new("PIObench", &Start { folder, ..Start::default() });
    page.comment("its processes are ranks: add -n, or start it under mpiexec");
    let values = values(&configuration.modules);
    params(&mut page, &values);
    let patterns: Vec<(String, String)> =
        configuration.modules.iter().map(|module| module.pattern(&values)).collect();
    for (at, (name, definition)) in patterns.iter().enumerate() {
        if patterns[..at].iter().all(|(earlier, _)| earlier != name) {
            page.line(&format!("define pattern \"{name}\" = {definition};"));
        }
    }
    table(&mut page, &configuration.modules);
    if configuration.header {
        page.line("master print \"header offset: 0 bytes\";");
    }
    for (module, (pattern, _)) in configuration.modules.iter().zip(&patterns) {
        module.program(&mut page, &file, pattern, configuration.syncs);
    }
    Ok(page.finish())
}

/// The different values per vertex of the meshes.
fn values(modules: &[Module]) -> Vec<u64> {
    let meshes = modules.iter().filter(|module| module.is_mesh());
    let mut values: Vec<u64> = meshes.map(|module| module.values.unwrap_or(VALUES)).collect();
    values.sort_unstable();
    values.dedup();
    values
}

fn params(page: &mut Page, values: &[u64]) {
    page.param("buffer", "64k", "bytes of one request");
    page.param("units", "16", "requests of each rank (work units)");
    if let [only] = values {
        page.param(
            "values",
            &only.to_string(),
            "values of 8 bytes of each vertex (ValuesPerRecord)",
        );
    }
}

/// What the original prints: pattern, form, time and bandwidth of each module.
fn table(page: &mut Page, modules: &[Module]) {
    if modules.is_empty() {
        return;
    }
    page.line("#| table PIObench");
    page.line("#| columns pattern, form | time = time/each, MiB/s");
    for (at, Module { name, .. }) in modules.iter().enumerate() {
        if modules[..at].iter().all(|earlier| earlier.name != *name) {
            let (pattern, form) = name.split_once('(').unwrap_or((name, ""));
            let form = form.trim_end_matches(')').trim();
            page.line(&format!("#| {}, {form} | {name} |", pattern.trim()));
        }
    }
    page.line("#| note time: mean of the repetitions; read-modify-write: bytes read and written");
}

impl Module {
    fn is_mesh(&self) -> bool {
        PATTERNS[self.pattern].1 == MESH
    }

    /// Name and definition of its pattern; meshes with different values have one each.
    fn pattern(&self, values: &[u64]) -> (String, String) {
        let (_, name, definition) = PATTERNS[self.pattern];
        if !self.is_mesh() || values.len() < 2 {
            return (name.into(), definition.into());
        }
        let own = self.values.unwrap_or(VALUES).to_string();
        (format!("{name}-{own}"), definition.replace("$values", &own))
    }

    fn program(&self, page: &mut Page, file: &str, pattern: &str, syncs: bool) {
        let label = &self.name;
        if self.form != Form::Write {
            page.comment("makes the file in full length, outside of what is measured");
            page.line(&format!(
                "$h = fopen(\"{file}\", \"O_WRONLY|O_CREAT\"); fwrite($h, \"{pattern}\"); fclose($h); barrier;"
            ));
        }
        page.line(&format!("repeat {} {{", self.reps));
        if self.form == Form::Write {
            page.line(&format!("master write(\"{file}\", 0);"));
        }
        if self.settle_s > 0 {
            page.line(&format!("sleep({}s);", self.settle_s));
        }
        let flags = match self.form {
            Form::Write | Form::Rewrite => "O_WRONLY|O_CREAT",
            Form::Read | Form::Reread => "O_RDONLY",
            Form::Modify => "O_RDWR",
        };
        page.line(&format!("barrier; $h = fopen(\"{file}\", \"{flags}\");"));
        if self.form == Form::Reread {
            page.line(&format!("time[\"{label}: first read\"] fread($h, \"{pattern}\");"));
        }
        let sync = if syncs { "fsync($h);" } else { "" };
        let data = match self.form {
            Form::Write | Form::Rewrite => format!("fwrite($h, \"{pattern}\"); {sync}"),
            Form::Read | Form::Reread => format!("fread($h, \"{pattern}\");"),
            Form::Modify => format!(
                "repeat $i pieces(\"{pattern}\") {{ \
                 fread($h, piece_size(\"{pattern}\", $i), piece_offset(\"{pattern}\", $i)); \
                 fwrite($h, piece_size(\"{pattern}\", $i), piece_offset(\"{pattern}\", $i)); }} {sync}"
            ),
        };
        page.line(&format!("time[\"{label}\", sync] {{ {data} }} fclose($h); }}"));
    }
}

fn read(text: &str) -> Read<Configuration> {
    let mut found = Configuration::default();
    let mut module: Option<Module> = None;
    for (line, text) in text.lines().enumerate() {
        let text = without_comment(text).trim();
        let wrong = |what: String| Mistake { line, what };
        let (name, value) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let value = value.trim().trim_matches('"');
        let number = || {
            value
                .parse::<u64>()
                .map_err(|_| wrong(format!("{name}: expected a number, found {value}")))
        };
        let is_on = || {
            switch(value).ok_or_else(|| wrong(format!("{name}: expected on or off, found {value}")))
        };
        match (name.to_ascii_lowercase().as_str(), &mut module) {
            ("", _) => {}
            ("<module>", None) => module = Some(Module::empty()),
            ("</module>", Some(_)) => {
                let ended = module.take().map_or(Ok(Module::empty()), Module::ended);
                found.modules.push(ended.map_err(wrong)?);
            }
            ("modulename", Some(module)) => module.named(value).map_err(wrong)?,
            ("modulereps", Some(module)) => module.reps = number()?,
            ("modulesettletime", Some(module)) => module.settle_s = number()?,
            ("valuesperrecord", Some(module)) => module.values = Some(number()?),
            ("testfile", None) => found.file = Some(value.to_string()),
            ("syncwrites", None) => found.syncs = is_on()?,
            ("reportheaderoffset", None) => found.header = is_on()?,
            (_, None) if ALWAYS_SHOWN.iter().any(|known| known.eq_ignore_ascii_case(name)) => {
                is_on()?;
            }
            _ => return Err(wrong(unknown(name, module.is_some()))),
        }
    }
    match module {
        Some(_) => Err(Mistake {
            line: text.lines().count().saturating_sub(1),
            what: "</Module> is missing".into(),
        }),
        None => Ok(found),
    }
}

/// Up to a `#` that is not inside of quotes.
fn without_comment(line: &str) -> &str {
    let mut quoted = false;
    let begins = |(_, c): &(usize, char)| {
        quoted ^= *c == '"';
        *c == '#' && !quoted
    };
    line.char_indices().find(begins).map_or(line, |(at, _)| &line[..at])
}

fn unknown(name: &str, in_module: bool) -> String {
    let known = match in_module {
        true => "ModuleName, ModuleReps, ModuleSettleTime, ValuesPerRecord, </Module>",
        false => {
            "TestFile, ShowAverage, ReportOpenTime, ReportCloseTime, ReportHeaderOffset, SyncWrites, <Module>"
        }
    };
    format!("unknown directive {name} here, expected one of {known}")
}

fn switch(value: &str) -> Option<bool> {
    match value.to_ascii_lowercase().as_str() {
        "" | "on" | "yes" | "true" | "1" => Some(true),
        "off" | "no" | "false" | "0" => Some(false),
        _ => None,
    }
}

impl Module {
    fn empty() -> Module {
        Module {
            name: String::new(),
            pattern: 0,
            form: Form::Write,
            reps: 1,
            settle_s: 0,
            values: None,
        }
    }

    /// It has a name, and nothing that its pattern does not know.
    fn ended(self) -> Result<Module, String> {
        match () {
            () if self.name.is_empty() => Err("the module has no ModuleName".into()),
            () if self.values.is_some() && !self.is_mesh() => {
                Err(format!("ValuesPerRecord is for Unstructured Mesh, found in {}", self.name))
            }
            () => Ok(self),
        }
    }

    /// `Simple Strided(write)`, or with a blank before the parenthesis.
    fn named(&mut self, name: &str) -> Result<(), String> {
        let wrong = || {
            format!("unknown module {name}, expected a pattern and a form: Simple Strided(write)")
        };
        let (pattern, form) =
            name.strip_suffix(')').and_then(|name| name.split_once('(')).ok_or_else(wrong)?;
        let letters = |text: &str| text.split_whitespace().collect::<String>().to_ascii_lowercase();
        let pattern = letters(pattern);
        let full = OTHER_NAMES.iter().find(|row| row.0 == pattern).map_or(&*pattern, |row| row.1);
        self.pattern = PATTERNS.iter().position(|row| row.0 == full).ok_or_else(wrong)?;
        self.form = match letters(form).as_str() {
            "write" => Form::Write,
            "re-write" | "rewrite" => Form::Rewrite,
            "read" => Form::Read,
            "re-read" | "reread" => Form::Reread,
            "read-modify-write" => Form::Modify,
            _ => return Err(wrong()),
        };
        let shown = |c: &char| c.is_ascii_alphanumeric() || " ()-".contains(*c);
        self.name = name.chars().filter(shown).collect();
        Ok(())
    }
}
