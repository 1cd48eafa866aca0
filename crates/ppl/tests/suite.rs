//! The language suite: programs in `suite/` with the expected diagnostics beside the code.
//!
//! ```text
//! //--- name of the case            (a file may hold several)
//! repaet 10 sync;                   //~ E0202 nearest is `repeat`
//! print "abc
//!                                   //~^ E0102 closes this string
//! //=== lib.ppl                     (a file that the case can include)
//! ```
//!
//! `//~ CODE words` expects a diagnostic with that code on its line, whose texts hold
//! the words; `//~^` means the line above, `//~^^` the one above that. Every diagnostic
//! must be expected, and where it brings a fix, applying the fix must help.
//!
//! Cases in `suite/check/` are checked and lowered, the others only parsed. There, `//@ ranks 2`,
//! `//@ param n=3`, `//@ group g:2`, `//@ env NAME=value` bind the program (default: 4 ranks that
//! nobody asked for). Mistakes in these are expected at their line: `//~^ E0311` below it.

mod dump;

use ppl::source::{Loader, Sources, Span};
use ppl::{Binding, Diagnostic, parse};
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

struct Case {
    name: String,
    /// It is checked and lowered, not only parsed.
    check: bool,
    main: String,
    files: HashMap<String, String>,
}

struct Files<'a>(&'a str, &'a HashMap<String, String>);

impl Loader for Files<'_> {
    fn load(&mut self, _from: &str, path: &str) -> Result<(String, Vec<u8>), String> {
        if path == MAIN {
            return Ok((path.to_string(), self.0.as_bytes().to_vec()));
        }
        let text = self.1.get(path).ok_or("there is no such file")?;
        Ok((path.to_string(), text.clone().into_bytes()))
    }
}

#[derive(Debug)]
struct Expected {
    file: String,
    line: usize,
    code: String,
    words: String,
}

const MAIN: &str = "main.ppl";

/// The cases of one file of the suite, whose folder is `root`: only what stands below it counts,
/// for a checkout may lie anywhere.
fn cases(root: &Path, path: &Path) -> Vec<Case> {
    let text = fs::read_to_string(path).expect("the suite is readable");
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let mut cases: Vec<Case> = Vec::new();
    let mut file = MAIN.to_string();
    let check = path.starts_with(root.join("check"));
    let new = |name: &str| Case {
        name: format!("{stem}: {name}"),
        check,
        main: String::new(),
        files: HashMap::new(),
    };
    for line in text.split_inclusive('\n') {
        if let Some(name) = line.strip_prefix("//---") {
            cases.push(new(name.trim()));
            file = MAIN.to_string();
        } else if let Some(name) = line.strip_prefix("//===") {
            file = name.trim().to_string();
        } else {
            if cases.is_empty() {
                cases.push(new("first"));
            }
            let case = cases.last_mut().expect("a case was pushed");
            match file == MAIN {
                true => case.main.push_str(line),
                false => case.files.entry(file.clone()).or_default().push_str(line),
            }
        }
    }
    cases
}

fn expected(case: &Case) -> Vec<Expected> {
    let mut found = Vec::new();
    let files = case.files.iter().map(|(name, text)| (name.as_str(), text));
    for (file, text) in files.chain([(MAIN, &case.main)]) {
        for (number, line) in text.lines().enumerate() {
            for note in line.split("//~").skip(1) {
                let up = note.bytes().take_while(|byte| *byte == b'^').count();
                let mut words = note[up..].trim().splitn(2, ' ');
                found.push(Expected {
                    file: file.to_string(),
                    line: number + 1 - up,
                    code: words.next().unwrap_or("").to_string(),
                    words: words.next().unwrap_or("").trim().to_string(),
                });
            }
        }
    }
    found
}

/// What the `//@` lines of a case bind it to.
fn binding(main: &str) -> Binding {
    let mut binding = Binding { ranks_assumed: true, ..Binding::new(4) };
    let mut environment = HashMap::new();
    for line in main.lines().filter_map(|line| line.strip_prefix("//@ ")) {
        let (what, value) = line.split_once(' ').expect("what and value");
        let pair = |sign| {
            let (name, value) = value.split_once(sign).expect("name and value");
            (name.to_string(), value.to_string())
        };
        match what {
            "ranks" => {
                binding.ranks = value.parse().expect("a number");
                binding.ranks_assumed = false;
            }
            "param" => binding.params.push(pair('=')),
            "group" => {
                let (name, size) = pair(':');
                binding.groups.push((name, Some(size)));
            }
            "env" => environment.extend([pair('=')]),
            _ => panic!("there is no //@ {what}"),
        }
    }
    binding.env = Box::new(move |name| environment.get(name).cloned());
    binding
}

fn diagnostics(case: &Case, main: &str) -> (Sources, Vec<Diagnostic>) {
    let files = &case.files;
    if case.check {
        let loader = &mut Files(main, files);
        let compiled = ppl::compile(MAIN, main.as_bytes().to_vec(), loader, &binding(main));
        let errors = ppl::diag::has_errors(&compiled.diagnostics);
        assert_eq!(compiled.plan.is_none(), errors, "{}", case.name);
        return (compiled.sources, compiled.diagnostics);
    }
    let mut sources = Sources::default();
    let (root, mut diagnostics) = sources.add(MAIN, main.as_bytes().to_vec());
    diagnostics.extend(parse(&mut sources, root, &mut Files(main, files)).1);
    (sources, diagnostics)
}

/// File and line of a diagnostic. What stands on the command line is expected at a `//@` line.
fn place<'a>(
    expected: &'a Expected,
    sources: &'a Sources,
    diagnostic: &Diagnostic,
) -> (&'a str, usize) {
    if diagnostic.span == Span::COMMAND_LINE {
        let main = &sources.files()[0];
        let line = main.text.lines().nth(expected.line.saturating_sub(1));
        let bound = line.is_some_and(|line| line.starts_with("//@ "));
        return (&main.name, if bound { expected.line } else { 0 });
    }
    let (file, line, _) = sources.locate(diagnostic.span.start);
    (&sources.file(file).name, line)
}

fn matches(expected: &Expected, sources: &Sources, diagnostic: &Diagnostic) -> bool {
    let (file, line) = place(expected, sources, diagnostic);
    let texts = [&diagnostic.message, &diagnostic.label].into_iter().chain(&diagnostic.help);
    let mut texts = texts.chain(diagnostic.related.iter().map(|(_, text)| text));
    file == expected.file
        && line == expected.line
        && diagnostic.code.as_str() == expected.code
        && texts.any(|text| text.contains(&expected.words))
}

/// What is wrong with a case; "" if nothing is.
fn problems(case: &Case) -> String {
    let (sources, mut found) = diagnostics(case, &case.main);
    let all = found.clone();
    let mut problems = String::new();
    for expected in expected(case) {
        match found.iter().position(|diagnostic| matches(&expected, &sources, diagnostic)) {
            Some(at) => drop(found.remove(at)),
            None => problems.push_str(&format!("  missing: {expected:?}\n")),
        }
    }
    for diagnostic in found {
        let (_, line, column) = sources.locate(diagnostic.span.start);
        let (code, message) = (diagnostic.code.as_str(), &diagnostic.message);
        problems.push_str(&format!("  unexpected at {line}:{column}: {code} {message}\n"));
    }
    for diagnostic in &all {
        problems.push_str(&fix_problem(case, &all, diagnostic));
    }
    problems
}

/// A fix in the main file must end its diagnostic and bring no other one more.
fn fix_problem(case: &Case, all: &[Diagnostic], diagnostic: &Diagnostic) -> String {
    let Some((span, text)) = &diagnostic.fix else { return String::new() };
    let mut fixed = case.main.clone();
    if span.end as usize > fixed.len() {
        return String::new();
    }
    fixed.replace_range(span.start as usize..span.end as usize, text);
    let (_, after) = diagnostics(case, &fixed);
    let same = |other: &&Diagnostic| {
        (other.code, other.span, &other.message)
            == (diagnostic.code, diagnostic.span, &diagnostic.message)
    };
    if after.len() <= all.len() && after.iter().find(same).is_none() {
        return String::new();
    }
    format!("  the fix does not help: {diagnostic:?}\n  {after:?}\n")
}

fn programs(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the suite is readable") {
        let path = entry.expect("the suite is readable").path();
        if path.is_dir() {
            programs(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "ppl") {
            found.push(path);
        }
    }
}

#[test]
fn every_diagnostic_is_the_expected_one() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite");
    let mut paths = Vec::new();
    programs(&root, &mut paths);
    paths.sort();
    let cases: Vec<Case> = paths.iter().flat_map(|path| cases(&root, path)).collect();
    assert!(cases.len() >= 60, "only {} cases were found", cases.len());
    let failures: String = cases
        .iter()
        .map(|case| (case, problems(case)))
        .filter(|(_, problems)| !problems.is_empty())
        .map(|(case, problems)| format!("{}\n{problems}", case.name))
        .collect();
    assert!(failures.is_empty(), "\n{failures}");
}

/// Examples and shipped programs have no syntax errors, and formatting keeps their meaning.
#[test]
fn examples_parse_and_survive_formatting() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut paths = Vec::new();
    programs(&root.join("examples"), &mut paths);
    programs(&root.join("programs"), &mut paths);
    assert!(paths.len() >= 2);
    for path in paths {
        let text = fs::read_to_string(&path).expect("the program is readable");
        let (formatted, diagnostics) = ppl::format(&text);
        assert_eq!(diagnostics, [], "{}", path.display());
        let tree = |text: &str| {
            let mut sources = Sources::default();
            let (root, _) = sources.add(MAIN, text.as_bytes().to_vec());
            let (ast, _) = parse(&mut sources, root, &mut Files("", &HashMap::new()));
            dump::dump(&ast, &sources)
        };
        assert_eq!(tree(&text), tree(&formatted), "{}", path.display());
        assert_eq!(ppl::format(&formatted).0, formatted, "{}", path.display());
    }
}

/// Programs in the documentation have no syntax errors, but those that show one.
#[test]
fn programs_in_the_documentation_parse() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut count = 0;
    for entry in fs::read_dir(root.join("docs")).expect("docs/ is readable") {
        let path = entry.expect("docs/ is readable").path();
        if path.extension().is_none_or(|extension| extension != "md") {
            continue;
        }
        let text = fs::read_to_string(&path).expect("the page is readable");
        for block in text.split("```ppl").skip(1) {
            let program = block.split("```").next().unwrap_or("");
            let (kind, program) = program.split_once('\n').unwrap_or_default();
            if kind.contains("fail") {
                continue;
            }
            let (_, diagnostics) = ppl::format(program);
            assert_eq!(diagnostics, [], "{}:\n{program}", path.display());
            count += 1;
        }
    }
    assert!(count > 0, "no program was found");
}
