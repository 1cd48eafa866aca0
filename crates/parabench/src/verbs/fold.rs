//! `parabench fold`: a run with events goes in, a program that does the same comes out.

use crate::console;
use crate::error::{Error, Exit, Result};
use crate::output::New;
use crate::verbs::counters;
use crate::{folding, output};
use clap::Args;
use fold::anonymise::{self, MAP_HEAD};
use fold::{DataFile, Events, Folded, Log, Only, Options, Think, Uneven};
use model::run::{Run, Trace};
use model::words::count;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// First words of folded programs; other files are not replaced.
pub(crate) const HEAD: &str = "# Folded from ";

/// Longest command in the head, in characters: `sh -c` may hold a whole script.
const NAME_MAX: usize = 80;

/// Make a short program that does what a run did
///
/// The run needs events: `run --events --out DIR`, or `import`. The program is executed on files in
/// memory before it is written, and compared with the run: operations, their order on every rank,
/// names, offsets, sizes and results. A log of counters alone (Darshan without DXT) becomes an
/// approximate program, which says so.
#[derive(Args)]
#[command(after_help = "\
Examples:
  parabench run x.ppl --events --out results
  parabench fold results -o short.ppl
  parabench import app.strace -o app.run
  parabench fold app.run -o app.ppl --think none
  parabench run app.ppl count=500 -n 64      a program has parameters")]
pub struct Fold {
    /// Folder of a run with events
    #[arg(value_name = "DIR", add = crate::completion::runs())]
    folder: PathBuf,

    /// Write the program to this file instead of standard output, and its long lists to one beside it
    /// (app.data of app.ppl)
    #[arg(short = 'o', long = "out", value_name = "FILE")]
    out: Option<PathBuf>,

    /// Replace a folded program in that file, also one that was changed since, and a map of words
    #[arg(long)]
    force: bool,

    /// Pauses between operations: `typical` (the mean of each place), `exact` (every one, in lists), or
    /// `none`
    #[arg(long, value_name = "HOW", default_value = "typical", value_parser = think)]
    think: Think,

    /// Fold a part only: a rank's number, a label, or a file or directory
    #[arg(long, value_name = "WHAT")]
    only: Option<String>,

    /// Replace all words in names of files and labels, the same word by the same one, leave the head
    /// out, and write what was replaced to this file
    #[arg(long, value_name = "MAP")]
    anonymise: Option<PathBuf>,
}

impl Fold {
    /// Folds, proves, writes.
    pub fn execute(self) -> Result<Exit> {
        if let Some(out) = &self.out {
            output::check_program(out, "-o", HEAD, self.force)?;
        }
        self.anonymise.as_deref().map_or(Ok(()), |map| self.check_map(map))?;
        let (run, log) = folding::read(&self.folder)?;
        let Some(mut log) = log else { return self.approximate(run) };
        if let Some(text) = &self.only {
            only(&mut log, text)?;
        }
        let mut head = head(&run, &log);
        let words = self.anonymise.as_ref().map(|map| (map, anonymise::anonymise(&mut log)));
        if words.is_some() {
            head = vec![format!("{}an anonymous run.", &HEAD[2..])];
        }
        let name = file_name(self.out.as_deref());
        let data = self.out.as_deref().map(data_name);
        let options = Options { think: self.think, head, name, data };
        let (folded, proof) = fold_and_prove(&Rc::new(log), &options);
        let map = words.map(|(_, words)| anonymise::map(&words));
        self.write(&folded.text, folded.data.as_ref().map(|(data, _)| data), map.as_deref())?;
        say(&run, &folded, &proof);
        Ok(if proof.is_lossless() { Exit::Success } else { Exit::Failed })
    }

    /// Makes a program of a run that has counters alone.
    fn approximate(&self, mut run: Run) -> Result<Exit> {
        if self.only.is_some() {
            let message = "--only: the run has counters alone, which are folded as a whole";
            return Err(Error::input(message).help("import the log again with --under DIR"));
        }
        let words = self.anonymise.is_some().then(|| counters::anonymise(&mut run));
        let data = self.out.as_deref().map(data_name);
        let head = match &words {
            Some(_) => format!("{}an anonymous run.", &HEAD[2..]),
            None => origin(&run, &counters::describe(&run)),
        };
        let name = file_name(self.out.as_deref());
        let options = Options { name, data, head: vec![head], ..Options::default() };
        let made = counters::approximate(&self.folder, &run, &options)?;
        let map = words.map(|words| anonymise::map(&words));
        self.write(&made.text, made.data.as_ref().map(|(data, _)| data), map.as_deref())?;
        counters::say(&run, &made);
        Ok(Exit::Success)
    }

    /// Writes or prints the program, with its lists and the map of words.
    fn write(&self, text: &str, data: Option<&DataFile>, map: Option<&str>) -> Result<()> {
        let map = map.zip(self.anonymise.as_ref()).map(|(text, file)| New {
            file: file.clone(),
            option: "--anonymise",
            start: MAP_HEAD,
            bytes: text.as_bytes(),
        });
        match &self.out {
            Some(out) => write_program(out, text, data, map.into_iter().collect(), self.force),
            None => {
                output::write_all(map.as_slice())?;
                console::print_program(text)
            }
        }
    }

    /// The map takes the place of an older one only, and of that if asked, and not of the program.
    fn check_map(&self, map: &Path) -> Result<()> {
        let refused = |why: &str| {
            let message = format!("--anonymise {}: {why}", map.display());
            Err(Error::input(message).help("choose another name with --anonymise"))
        };
        if map.as_os_str() == "-" {
            return refused("expected a file: the map is not printed");
        }
        for (option, out) in self.out.iter().flat_map(|out| {
            let data = out.with_file_name(data_name(out));
            [("the program (-o)", out.clone()), ("the long lists of the program", data)]
        }) {
            if place(&out) == place(map) {
                return refused(&format!(
                    "{option} go{} there",
                    if option.ends_with(')') { "es" } else { "" }
                ));
            }
        }
        let why = "a map is there: without it nobody can tell what the words were";
        output::check_kept(map, "--anonymise", MAP_HEAD, self.force, why)
    }
}

/// Folds and proves. A program that does not do the same says so in its head: readers of the file have
/// not seen the message.
fn fold_and_prove(log: &Rc<Log>, options: &Options) -> (Folded, folding::Proof) {
    let folded = Rc::new(fold::fold(log, options));
    let proof = folding::prove(log, &folded);
    let mut folded = Rc::unwrap_or_clone(folded);
    if !proof.is_lossless() {
        let (differ, whole) = (differing(&proof), count(proof.operations, "operation"));
        let line = format!("Not the same as the run, which has {whole}: {differ}.");
        add_to_head(&mut folded, &line);
    }
    (folded, proof)
}

/// Adds a line to the comment at the head, behind the first.
fn add_to_head(folded: &mut Folded, line: &str) {
    let head = folded.text.find('\n').map_or(0, |end| end + 1);
    folded.text.insert_str(head, &format!("# {line}\n"));
}

/// Writes a program, its lists and what else belongs to it. Lists of the one whose place it takes are no
/// longer read by any.
pub(crate) fn write_program<'a>(
    out: &Path,
    text: &'a str,
    data: Option<&'a DataFile>,
    mut others: Vec<New<'a>>,
    force: bool,
) -> Result<()> {
    let lists = out.with_file_name(data_name(out));
    if let Some(data) = data {
        output::check_program(&lists, "-o", HEAD, force)?;
        let bytes = data.text.as_bytes();
        others.push(New { file: lists.clone(), option: "-o", start: HEAD, bytes });
    }
    // It comes last: who finds it finds what it reads.
    let (file, bytes) = (out.to_path_buf(), text.as_bytes());
    others.push(New { file, option: "-o", start: HEAD, bytes });
    output::write_all(&others)?;
    match data {
        None if force => output::remove(&lists, "-o", HEAD),
        _ => Ok(()),
    }
}

/// A program that does what a run did.
pub(crate) struct Translated {
    /// Its text.
    pub text: String,
    /// The file of its long lists.
    pub data: Option<DataFile>,
    /// Number of its ranks.
    pub ranks: u32,
    /// The run has operations to compare with.
    pub is_comparable: bool,
}

/// Folds a stored run for a program of this name, and says what came of it.
///
/// # Errors
/// The run has no events, or not all.
pub(crate) fn translated(
    folder: &Path,
    think: Think,
    program: &Path,
    out: Option<&Path>,
) -> Result<Translated> {
    let (name, data) = (file_name(out), Some(data_name(program)));
    let (run, log) = folding::read(folder)?;
    let Some(log) = log else {
        let head = vec![origin(&run, &counters::describe(&run))];
        let options = Options { name, data, head, ..Options::default() };
        let made = counters::approximate(folder, &run, &options)?;
        counters::say(&run, &made);
        let (text, data) = (made.text, made.data.map(|(data, _)| data));
        return Ok(Translated { text, data, ranks: run.run.ranks, is_comparable: false });
    };
    let head = head(&run, &log);
    let ranks = log.ranks.len() as u32;
    let options = Options { think, head, name, data };
    let (folded, proof) = fold_and_prove(&Rc::new(log), &options);
    say(&run, &folded, &proof);
    let Folded { text, data, .. } = folded;
    let data = data.map(|(data, _)| data);
    Ok(Translated { text, data, ranks, is_comparable: true })
}

/// A file by its folder and name, however that was written.
fn place(file: &Path) -> Option<(PathBuf, OsString)> {
    let file = std::path::absolute(file).ok()?;
    let folder = file.parent()?;
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf());
    Some((folder, file.file_name()?.to_owned()))
}

/// Name of the file for the long lists of a program: `app.data` of `app.ppl`.
fn data_name(program: &Path) -> String {
    let named = match program.extension() {
        Some(ending) if ending != "data" => program.with_extension("data"),
        _ => PathBuf::from(format!("{}.data", program.display())),
    };
    named.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Name of the program's file for a comment, quoted for a shell.
fn file_name(out: Option<&Path>) -> Option<String> {
    let name = model::escape::line(&out?.file_name()?.to_string_lossy());
    let is_plain = |c: char| c.is_alphanumeric() || "._-+,@%".contains(c);
    Some(if name.chars().all(is_plain) { name } else { console::quoted(&name) })
}

/// `1 operation differs`, `2 operations differ`
fn differing(proof: &folding::Proof) -> String {
    let differs = if proof.differences == 1 { "differs" } else { "differ" };
    format!("{} {differs}", count(proof.differences, "operation"))
}

/// `typical`, `exact`, `none`
pub(crate) fn think(text: &str) -> std::result::Result<Think, String> {
    match text {
        "typical" => Ok(Think::Typical),
        "exact" => Ok(Think::Exact),
        "none" => Ok(Think::None),
        _ => Err(format!("expected typical, exact or none, found {text:?}")),
    }
}

/// Keeps the part of a log that `--only` names.
fn only(log: &mut Log, text: &str) -> Result<()> {
    let Some(only) = Only::parse(text, log) else {
        let labels: Vec<&str> = log.labels.iter().map(String::as_str).take(8).collect();
        let help = match labels.is_empty() {
            true => "the run has no labels".into(),
            false => format!("labels of the run: {}", labels.join(", ")),
        };
        let found = model::escape::line(text);
        let message = format!("--only {found}: expected a rank, a label, a file or a directory");
        return Err(Error::input(message).help(help));
    };
    only.keep(log);
    Ok(())
}

/// The comment at the head: what was recorded, when, how complete.
fn head(run: &Run, log: &Log) -> Vec<String> {
    let operations: usize = log.ranks.iter().map(Events::len).sum();
    let mut head = vec![origin(run, &count(operations, "operation"))];
    if let Some(trace) = &run.run.trace {
        let what = format!("A log of {}, below {}.", trace.format, trace.root);
        head.push(model::escape::line(&what));
        let cost = trace.recorded.iter().filter(|recorded| recorded.call_ns > 0);
        head.extend(
            cost.map(|it| format!("Recording added about {} ns to each call.", it.call_ns)),
        );
        head.extend(trace.gaps.iter().map(|gap| model::escape::line(&format!("{}.", gap.says))));
        let unknown = trace.gaps.iter().any(|gap| gap.code == "no-durations");
        head.extend(unknown.then(|| {
            "Pauses count from start to start, with the time that the operations took; loops have a rate.".into()
        }));
    }
    let untold: Vec<String> = folding::unknown_options(run).into_iter().collect();
    head.extend((!untold.is_empty()).then(|| {
        let untold = untold.join(", ");
        format!("Without these options of the program, where events do not tell them: {untold}.")
    }));
    let by_chance = log.ranks.iter().flatten().filter(|entry| log.lies_anywhere(entry)).count();
    head.extend((by_chance > 0 && log.ranks.len() > 1).then(|| {
        format!("Several ranks append to the same files: where these {by_chance} writes lie is left to chance.")
    }));
    head.extend(log.tells_transfers_of_mpi_io().then(|| {
        "Collective calls of MPI-IO are not recorded: each rank opens its files for itself.".into()
    }));
    head
}

/// The first line of the head: the run, when it was, what it has.
fn origin(run: &Run, what: &str) -> String {
    let header = &run.run;
    let name = model::escape::line(&header.program.name);
    let name = model::words::shortened(&name, NAME_MAX);
    let when = match header.started.as_str() {
        "" => String::new(),
        started => format!(" of {started}"),
    };
    format!("Folded from {name}{when}: {what}, {}.", count(header.ranks, "rank"))
}

/// Reports the result on standard error.
fn say(run: &Run, folded: &Folded, proof: &folding::Proof) {
    let lines = count(folded.text.lines().count(), "line");
    let lists = match &folded.data {
        None => String::new(),
        Some((data, 1)) => format!(" and a list in {}", data.name),
        Some((data, lists)) => format!(" and {lists} lists in {}", data.name),
    };
    let what = format!("{} became {lines}{lists}", count(proof.operations, "operation"));
    if proof.is_lossless() {
        let adopted = match proof.adopted {
            0 => String::new(),
            adopted => {
                let verb = if adopted == 1 { "was" } else { "were" };
                let opens = count(adopted, "open");
                format!("; {opens} {verb} added for files that another process had opened")
            }
        };
        let mut losses = run.run.trace.iter().flat_map(Trace::losses).peekable();
        let loss = match losses.peek() {
            None => "without loss",
            Some(_) => "all that the run has",
        };
        console::note(&format!("{what}, {loss}{adopted}"));
        losses.for_each(|gap| console::warning(&format!("the run is incomplete: {}", gap.says)));
    } else {
        let first = proof.first.as_ref().map(|first| {
            let folding::Difference { rank, number, expected, found } = first;
            format!(
                "; the first: rank {rank}, operation {number}: {expected} in the run, {found} of the program"
            )
        });
        let failure = proof.failure.as_ref().map(|failure| format!("; {failure}"));
        let (first, failure) = (first.unwrap_or_default(), failure.unwrap_or_default());
        console::warning(&format!("{what}; {}{first}{failure}", differing(proof)));
    }
    if proof.unplaced > 0 {
        console::note(&format!(
            "the run has no positions of {}: the positions in the program were not compared",
            count(proof.unplaced, "transfer")
        ));
    }
    let left_out = folded.left_out.iter().map(Vec::len).sum::<usize>() as u64;
    if left_out > 0 {
        let verb = if left_out == 1 { "is" } else { "are" };
        console::warning(&format!(
            "{} {verb} left out: the language has no statement for them",
            count(left_out, "operation")
        ));
    }
    if folded.guessed > 0 {
        console::note(&format!(
            "the run has no modes or flags of {}: the program uses the usual ones",
            count(folded.guessed, "operation")
        ));
    }
    if let Some(Uneven { longest_ns, mean_ns }) = folded.uneven {
        let [longest, mean] = [longest_ns, mean_ns].map(|ns| model::units::format_ns(ns as f64));
        console::note(&format!(
            "pauses are averaged (one of {longest} became {mean}); --think exact keeps every pause"
        ));
    }
    if !folded.before.is_empty() {
        let what = match folded.before.len() {
            1 => "a file or directory that exists".to_string(),
            n => format!("{n} files or directories that exist"),
        };
        console::note(&format!(
            "the program needs {what} before it starts; parabench prepare PROGRAM --trace RUN creates all that the log found"
        ));
    }
}
