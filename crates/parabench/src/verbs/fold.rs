//! `parabench fold`: a run with events goes in, a program that does the same comes out.

mod explain;

use crate::console;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::folding::Line;
use crate::output::New;
use crate::{folding, output};
use clap::Args;
use fold::anonymise::{self, MAP_HEAD};
use fold::{self, Events, Folded, Included, Log, Only, Options, Think, Uneven};
use model::run::Run;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// What folded programs begin with; others are not replaced.
pub(super) const HEAD: &str = "# Folded from ";

/// Characters of a command in the head: whole scripts stand in `sh -c`.
const NAME_MAX: usize = 80;

/// Make a short program that does what a run did
///
/// The run needs events: `run --events --out DIR`, or `import`. The program is executed on files in
/// memory before it is written, and compared with the run: operations, their order on every rank,
/// names, offsets, sizes and results.
#[derive(Args)]
#[command(after_help = "\
Examples:
  parabench run x.ppl --events --out results
  parabench fold results -o short.ppl
  parabench import app.strace -o app.run
  parabench fold app.run -o app.ppl --think none
  parabench fold app.run -o app.ppl --split  a file for each phase, which app.ppl includes
  parabench fold app.run --explain 12        which operations line 12 stands for
  parabench fold app.run -o app.ppl --split --explain app-load.ppl:12")]
pub struct Fold {
    /// Folder of a run with events
    #[arg(value_name = "DIR")]
    folder: PathBuf,

    /// Write the program to this file instead of standard output, and its long lists to one beside it
    /// (app.data of app.ppl)
    #[arg(short = 'o', long = "out", value_name = "FILE")]
    out: Option<PathBuf>,

    /// Replace a folded program in that file, also one that was changed since, and a map of words
    #[arg(long)]
    force: bool,

    /// Pauses between operations: `typical` (the mean of each place), `exact` (every one, in lists),
    /// `drawn` (random with that mean), `none`, or `scale=FACTOR`
    #[arg(long, value_name = "HOW", default_value = "typical", value_parser = think)]
    think: Think,

    /// Make the text shorter: numbers within this share become one, sequences without a rule become
    /// distributions. What changes is said, and counted by executing the program
    #[arg(long, value_name = "SHARE", value_parser = share)]
    approx: Option<f64>,

    /// Fold a part only: a rank's number, a label, or a file or directory
    #[arg(long, value_name = "WHAT")]
    only: Option<String>,

    /// Replace all words in names of files and labels, the same word by the same one, leave the head
    /// out, and write what was replaced to this file
    #[arg(long, value_name = "MAP")]
    anonymise: Option<PathBuf>,

    /// Multiply a parameter of the program: `size=4`, `size=0.5`. Refused where places in files do not
    /// follow it
    #[arg(long, value_name = "NAME=FACTOR", value_parser = factor)]
    scale: Vec<(String, f64)>,

    /// Make sure that the program runs on so many ranks. Refused where it names ranks, fails, or ranks
    /// write where others do and those of the run do not
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    ranks: Option<u32>,

    /// Write each phase (a label) as a proc to a file of its own beside the program, which includes it
    #[arg(long, requires = "out")]
    split: bool,

    /// Write no program; show the operations of the run that this line of it stands for; with --split
    /// also of a phase: `app-load.ppl:12`
    #[arg(long, value_name = "[FILE:]LINE", conflicts_with = "anonymise", value_parser = line)]
    explain: Option<Line>,
}

impl Fold {
    /// Folds, proves, writes.
    pub fn execute(self) -> Result<Exit> {
        if let Some(out) = self.out.as_ref().filter(|_| self.explain.is_none()) {
            output::check_program(out, "-o", HEAD, self.force)?;
        }
        self.anonymise.as_deref().map_or(Ok(()), |map| self.check_map(map))?;
        let (run, mut log) = folding::read(&self.folder)?;
        if let Some(text) = &self.only {
            only(&mut log, text)?;
        }
        let mut head = head(&run, &log);
        let words = self.anonymise.as_ref().map(|map| (map, anonymise::anonymise(&mut log)));
        if words.is_some() {
            head = vec![format!("{}an anonymous run.", &HEAD[2..])];
        }
        let name = file_name(self.out.as_deref());
        let (split, data) = (self.split_name(), self.data_name());
        let (think, approx, steady) = (self.think, self.approx, false);
        let ranks = self.ranks;
        let options =
            Options { think, head, name, split, data, approx, steady, late: false, ranks };
        let line = self.explain.clone().map(|line| self.in_part(line));
        let log = Rc::new(log);
        let (folded, proof) = proved(&log, options);
        let folded = marked(folded, &proof, self.approx);
        if let Some(line) = line {
            explain::explain(&log, &run, &folded, &line)?;
            return Ok(Exit::Success);
        }
        let own_ranks = log.ranks.len() as u32;
        let mut folded = folding::scaled(Rc::unwrap_or_clone(folded), &self.scale, own_ranks)?;
        let scaled = self.scaled();
        if !scaled.is_empty() {
            add_to_head(&mut folded, &format!("Not the same as the run, but scaled: {scaled}."));
        }
        self.ranks.map_or(Ok(()), |ranks| folding::for_ranks(&folded, ranks, own_ranks))?;
        let map = words.map(|(map, words)| (map, anonymise::map(&words)));
        let map = map.as_ref().map(|(map, text)| New {
            file: map.to_path_buf(),
            option: "--anonymise",
            start: MAP_HEAD,
            bytes: text.as_bytes(),
        });
        match &self.out {
            Some(out) => self.write(out, &folded, map)?,
            None => {
                output::write_all(map.as_slice())?;
                console::print_program(&folded.text)?;
            }
        }
        say(&folded, &proof, self.approx, &scaled);
        Ok(if is_good(&proof, self.approx) { Exit::Success } else { Exit::Failed })
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

    /// `record=2, count=0.5`
    fn scaled(&self) -> String {
        let all = self.scale.iter().map(|(name, factor)| format!("{name}={factor}"));
        model::escape::line(&all.collect::<Vec<_>>().join(", "))
    }

    /// What names of files begin with that hold a phase: `app` of `app.ppl`.
    fn split_name(&self) -> Option<String> {
        let out = self.out.as_ref().filter(|_| self.split)?;
        out.file_stem().map(|stem| stem.to_string_lossy().into_owned())
    }

    /// What the file is called that long lists stand in; `None`: the program is printed. Lines that are
    /// asked for are those of a file.
    fn data_name(&self) -> Option<String> {
        let own = self.explain.is_some().then_some(self.folder.as_path());
        self.out.as_deref().or(own).map(data_name)
    }

    /// The line, without the file if that is the program itself.
    fn in_part(&self, mut line: Line) -> Line {
        let own = self.out.as_ref().and_then(|out| out.file_name());
        line.file = line.file.filter(|file| own.is_none_or(|own| own != file.as_str()));
        line
    }

    /// Writes the program and what stands beside it, and a map, once all of it may be written.
    fn write(&self, out: &Path, folded: &Folded, map: Option<New<'_>>) -> Result<()> {
        let parts = folded.parts.iter().map(|part| beside(out, part, "--split"));
        let parts: Vec<New<'_>> = parts.chain(map).collect();
        for part in parts.iter().filter(|part| part.option == "--split") {
            output::check_program(&part.file, part.option, HEAD, self.force)?;
        }
        let data = folded.data.as_ref().map(|(data, _)| data);
        write_program(out, &folded.text, data, parts, self.force)?;
        if self.split && folded.parts.is_empty() {
            console::note(
                "no statement of the program stands for a phase alone, so it is one file",
            );
        }
        Ok(())
    }
}

/// The program and what it does. One that is nearer to the log takes the place of what is not within the
/// bound: as many operations of each kind, then the same ones.
fn proved(log: &Rc<Log>, options: Options) -> (Rc<Folded>, folding::Proof) {
    let fold = |options: &Options| {
        let folded = Rc::new(fold::fold(log, options));
        let proof = folding::prove(log, &folded, None);
        (folded, proof)
    };
    let steady = Options { steady: true, ..options.clone() };
    let exact = Options { approx: None, ..options.clone() };
    let found = fold(&options);
    let Some(bound) = options.approx else { return found };
    let nearer = [steady, exact].into_iter();
    nearer.fold(found, |found, options| match found.1.is_within(bound) {
        true => found,
        false => fold(&options),
    })
}

/// The program does what was asked for: the same as the run, or nearly.
fn is_good(proof: &folding::Proof, approx: Option<f64>) -> bool {
    approx.map_or(proof.is_lossless(), |bound| proof.is_within(bound))
}

/// The program, with a line in its head if it does not do what the run did: who gets the file has not seen
/// what was said when it was made.
fn marked(folded: Rc<Folded>, proof: &folding::Proof, approx: Option<f64>) -> Rc<Folded> {
    if is_good(proof, approx) {
        return folded;
    }
    let mut folded = Rc::unwrap_or_clone(folded);
    let (differ, whole) = (differing(proof), counted(proof.operations));
    add_to_head(&mut folded, &format!("Not the same as the run, which has {whole}: {differ}."));
    Rc::new(folded)
}

/// Adds a line to the comment at the head, behind the first.
fn add_to_head(folded: &mut Folded, line: &str) {
    let head = folded.text.find('\n').map_or(0, |end| end + 1);
    folded.text.insert_str(head, &format!("# {line}\n"));
}

/// A file that stands beside a program.
fn beside<'a>(out: &Path, part: &'a Included, option: &'a str) -> New<'a> {
    let (file, bytes) = (out.with_file_name(&part.name), part.text.as_bytes());
    New { file, option, start: HEAD, bytes }
}

/// Writes a program, its lists and what else belongs to it. Lists of the one whose place it takes are no
/// longer read by any.
pub(super) fn write_program<'a>(
    out: &Path,
    text: &'a str,
    data: Option<&'a Included>,
    mut others: Vec<New<'a>>,
    force: bool,
) -> Result<()> {
    let lists = out.with_file_name(data_name(out));
    if let Some(data) = data {
        output::check_program(&lists, "-o", HEAD, force)?;
        others.push(New { file: lists.clone(), ..beside(out, data, "-o") });
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
pub(super) struct Translated {
    /// Its text.
    pub text: String,
    /// The file of its long lists.
    pub data: Option<Included>,
    /// Number of its ranks.
    pub ranks: u32,
}

/// Folds a stored run for a program of this name, and says what came of it.
///
/// # Errors
/// The run has no events, or not all.
pub(super) fn translated(
    folder: &Path,
    think: Think,
    program: &Path,
    out: Option<&Path>,
) -> Result<Translated> {
    let (run, log) = folding::read(folder)?;
    let (head, name, data) = (head(&run, &log), file_name(out), Some(data_name(program)));
    let options = Options { think, head, name, data, ..Options::default() };
    let folded = fold::fold(&log, &options);
    let (log, folded) = (Rc::new(log), Rc::new(folded));
    let proof = folding::prove(&log, &folded, None);
    let folded = marked(folded, &proof, None);
    say(&folded, &proof, None, "");
    let ranks = log.ranks.len() as u32;
    let Folded { text, data, .. } = Rc::unwrap_or_clone(folded);
    Ok(Translated { text, data: data.map(|(data, _)| data), ranks })
}

/// A file by its folder and name, however that was written.
fn place(file: &Path) -> Option<(PathBuf, OsString)> {
    let file = std::path::absolute(file).ok()?;
    let folder = file.parent()?;
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf());
    Some((folder, file.file_name()?.to_owned()))
}

/// What the file is called that the long lists of a program stand in: `app.data` of `app.ppl`.
pub(super) fn data_name(program: &Path) -> String {
    let named = match program.extension() {
        Some(ending) if ending != "data" => program.with_extension("data"),
        _ => PathBuf::from(format!("{}.data", program.display())),
    };
    named.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// What the file of a program is called, for a comment: as a shell takes it.
fn file_name(out: Option<&Path>) -> Option<String> {
    let name = model::escape::line(&out?.file_name()?.to_string_lossy());
    let is_plain = |c: char| c.is_alphanumeric() || "._-+,@%".contains(c);
    Some(if name.chars().all(is_plain) { name } else { console::quoted(&name) })
}

/// `1 operation`, `2 operations`
fn counted(count: u64) -> String {
    format!("{count} operation{}", if count == 1 { "" } else { "s" })
}

/// `1 operation differs`, `2 operations differ`
fn differing(proof: &folding::Proof) -> String {
    let differences = proof.tally.differences();
    format!("{} {}", counted(differences), if differences == 1 { "differs" } else { "differ" })
}

/// `typical`, `exact`, `none`, `drawn`, `scale=0.5`
pub(super) fn think(text: &str) -> std::result::Result<Think, String> {
    let factor = text.strip_prefix("scale=").and_then(|factor| factor.parse().ok());
    match (text, factor) {
        ("typical", _) => Ok(Think::Typical),
        ("exact", _) => Ok(Think::Exact),
        ("drawn", _) => Ok(Think::Drawn),
        ("none", _) => Ok(Think::None),
        (_, Some(factor)) if (0.0..=1e6).contains(&factor) => Ok(Think::Scaled(factor)),
        _ => Err(format!("expected typical, exact, drawn, none or scale=0.5, found {text:?}")),
    }
}

/// `12`, `app-load.ppl:12`
fn line(text: &str) -> std::result::Result<Line, String> {
    let (file, number) = match text.rsplit_once(':') {
        Some((file, number)) => (Some(file.to_string()), number),
        None => (None, text),
    };
    let number = number.parse().ok().filter(|number| *number > 0);
    let number = number.ok_or_else(|| format!("expected 12 or app-load.ppl:12, found {text:?}"))?;
    Ok(Line { file, number })
}

/// `2%`, `0.02`
fn share(text: &str) -> std::result::Result<f64, String> {
    let (number, unit) = text.strip_suffix('%').map_or((text, 1.0), |number| (number, 100.0));
    let share = number.trim().parse::<f64>().ok().map(|number| number / unit);
    let is_share = |share: &f64| *share > 0.0 && *share <= 0.5;
    share.filter(is_share).ok_or_else(|| format!("expected 2%, at most 50%, found {text:?}"))
}

/// `size=4`
fn factor(text: &str) -> std::result::Result<(String, f64), String> {
    let parts = text.split_once('=');
    let factor = parts.and_then(|(name, factor)| Some((name, factor.parse::<f64>().ok()?)));
    match factor {
        Some((name, factor)) if factor > 0.0 && factor.is_finite() && !name.is_empty() => {
            Ok((name.trim_start_matches('$').into(), factor))
        }
        _ => Err(format!("expected NAME=FACTOR, for example size=4, found {text:?}")),
    }
}

/// Leaves out what is not asked for.
fn only(log: &mut Log, text: &str) -> Result<()> {
    let Some(only) = Only::of(text, log) else {
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
    let header = &run.run;
    let operations: usize = log.ranks.iter().map(Events::len).sum();
    let operations = counted(operations as u64);
    let ranks = match log.ranks.len() {
        1 => "1 rank".to_string(),
        ranks => format!("{ranks} ranks"),
    };
    let name = model::escape::line(&header.program.name);
    let name = model::words::shortened(&name, NAME_MAX);
    let when = match header.started.as_str() {
        "" => String::new(),
        started => format!(" of {started}"),
    };
    let mut head = vec![format!("Folded from {name}{when}: {operations}, {ranks}.")];
    if let Some(trace) = &header.trace {
        let what = format!("A log of {}, below {}.", trace.format, trace.root);
        head.push(model::escape::line(&what));
        let cost = trace.recorded.iter().filter(|recorded| recorded.call_ns > 0);
        head.extend(
            cost.map(|it| format!("Recording added about {} ns to each call.", it.call_ns)),
        );
        head.extend(trace.gaps.iter().map(|gap| model::escape::line(&format!("{}.", gap.says))));
        let unknown = trace.gaps.iter().any(|gap| gap.code == "no-durations");
        head.extend(unknown.then(|| {
            "Pauses count from start to start, with the time that the operations took.".into()
        }));
    }
    let untold: Vec<String> = folding::untold_options(run).into_iter().collect();
    head.extend((!untold.is_empty()).then(|| {
        let untold = untold.join(", ");
        format!("Without these options of the program, where events do not tell them: {untold}.")
    }));
    let by_chance = log.ranks.iter().flatten().filter(|entry| log.lies_anywhere(entry)).count();
    head.extend((by_chance > 0 && log.ranks.len() > 1).then(|| {
        format!("Several ranks append to the same files: where these {by_chance} writes lie is left to chance.")
    }));
    head.extend(log.tells_transfers_of_mpi_io().then(|| {
        "Who called MPI-IO together is not told: each rank opens its files for itself.".into()
    }));
    head
}

/// What came of it, on standard error. `scaled`: what was done with it then.
fn say(folded: &Folded, proof: &folding::Proof, approx: Option<f64>, scaled: &str) {
    let lines = folded.lines();
    let files = match folded.parts.len() {
        0 => String::new(),
        parts => format!(" in {} files", parts + 1),
    };
    let lists = match &folded.data {
        None => String::new(),
        Some((data, 1)) => format!(" and a list in {}", data.name),
        Some((data, lists)) => format!(" and {lists} lists in {}", data.name),
    };
    let what = counted(proof.operations);
    let what = match lines {
        1 => format!("{what} became 1 line{files}{lists}"),
        lines => format!("{what} became {lines} lines{files}{lists}"),
    };
    let adopted = match proof.adopted {
        0 => String::new(),
        1 => "; one more open gives a rank what another one had opened".into(),
        adopted => format!("; {adopted} more opens give ranks what others had opened"),
    };
    let adopted = match scaled {
        "" => adopted,
        scaled => format!("{adopted}, then scaled: {scaled}"),
    };
    if proof.is_lossless() {
        console::note(&format!("{what}, without loss{adopted}"));
    } else if let Some(bound) = approx.filter(|bound| proof.is_within(*bound)) {
        let kinds = proof.tally.shown();
        console::note(&format!("{what}; within {} % differ {kinds}{adopted}", percent(bound)));
        proof.tally.lines().iter().for_each(|line| console::note(line));
    } else {
        let mut text = format!("{what}; {}", differing(proof));
        if let Some(first) = &proof.first {
            text.push_str(&format!(
                "; the first: rank {}, operation {}: {} in the run, {} of the program",
                first.rank, first.number, first.expected, first.found
            ));
        }
        if let Some(failure) = &proof.failure {
            text.push_str(&format!("; {failure}"));
        }
        console::warning(&text);
        if approx.is_some() {
            proof.tally.lines().iter().for_each(|line| console::note(line));
        }
    }
    if proof.tally.unplaced > 0 {
        let (n, text) = (proof.tally.unplaced, "at positions that the run does not tell");
        let transfers = if n == 1 { "transfer" } else { "transfers" };
        console::note(&format!(
            "{n} {transfers} took place {text}: where the program puts them was not compared"
        ));
    }
    if let Some(changes) = folded.changes.shown() {
        console::note(&format!("to make it shorter {changes}"));
    }
    let left_out: usize = folded.left_out.iter().map(Vec::len).sum();
    if left_out > 0 {
        let verb = if left_out == 1 { "has" } else { "have" };
        console::warning(&format!("{} {verb} no statement", counted(left_out as u64)));
    }
    if folded.guessed > 0 {
        let (what, text) = (counted(folded.guessed), "modes or words that the run does not tell");
        let verb = if folded.guessed == 1 { "has" } else { "have" };
        console::note(&format!("{what} {verb} {text}: they stand for the usual ones"));
    }
    if let Some(Uneven { longest_ns, mean_ns }) = folded.uneven {
        let [longest, mean] = [longest_ns, mean_ns].map(|ns| model::units::format_ns(ns as f64));
        console::note(&format!(
            "pauses are the means of their places: {mean} where one took {longest}; --think exact keeps each"
        ));
    }
    if !folded.before.is_empty() {
        let what = match folded.before.len() {
            1 => "one file or directory".to_string(),
            n => format!("{n} files or directories"),
        };
        let how = "parabench prepare PROGRAM --trace RUN makes all as the log found them";
        console::note(&format!("the program expects {what} to be there: {how}"));
    }
}

fn percent(share: f64) -> f64 {
    (share * 1e5).round() / 1e3
}
