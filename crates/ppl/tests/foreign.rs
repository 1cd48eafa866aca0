//! Texts of other languages and tools where a program is expected: one diagnostic says what each is, and `translate`
//! makes a program of it. `foreign/NAME` is a text as its tool takes it, `foreign/NAME.ppl` the program;
//! `UPDATE_GOLDEN=1` writes it.

use ppl::source::NoIncludes;
use ppl::{Binding, Diagnostic, NoTranslation, Severity, compile, translate};
use proptest::prelude::*;
use std::fs;
use std::path::{Path, PathBuf};

/// Endings of the texts, and what such a text is called.
const KINDS: &[(&str, &str)] = &[
    ("fio", "a fio job file"),
    ("line", " command line"),
    ("ior", "an IOR script"),
    ("conf", "a PIObench configuration"),
];

fn folder(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder is readable");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths
}

fn ending(path: &Path) -> &str {
    path.extension().and_then(|ending| ending.to_str()).unwrap_or("")
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn found(text: &str) -> Vec<Diagnostic> {
    compile("text", text.as_bytes().to_vec(), &mut NoIncludes, &Binding::new(4)).diagnostics
}

fn is_foreign(text: &str) -> bool {
    found(text).iter().any(|diagnostic| diagnostic.code.as_str() == "E0004")
}

#[test]
fn each_text_gives_one_diagnostic_with_a_program_that_compiles() {
    let mut seen = 0;
    for path in files(&folder("tests/foreign")).iter().filter(|path| ending(path) != "ppl") {
        let text = fs::read_to_string(path).expect("the text is readable");
        let name = name(path);
        let diagnostics = found(&text);
        let [only] = &diagnostics[..] else { panic!("{name}: {diagnostics:#?}") };
        let kind = KINDS.iter().find(|row| row.0 == ending(path)).expect("a kind").1;
        assert_eq!(only.code.as_str(), "E0004", "{name}");
        let ending = format!("{kind}, not a PPL program");
        assert!(only.message.starts_with("this is a"), "{name}: {}", only.message);
        assert!(only.message.ends_with(&ending), "{name}: {}", only.message);
        assert!(only.span.start < only.span.end, "{name}: a line is marked");
        assert!(only.help.as_deref().is_some_and(|help| help.contains("parabench translate")));
        let translated = translate(&text).unwrap_or_else(|why| panic!("{name}: {why:?}"));
        assert!(only.message.contains(translated.from), "{name}");
        let is_named = |option: &String| translated.program.contains(option.as_str());
        assert!(translated.left_out.iter().all(is_named), "{name}: {:?}", translated.left_out);
        check(path, &translated.program);
        seen += 1;
    }
    assert!(seen >= 15, "only {seen} texts were translated");
}

/// The program has no mistake, no warning, and is the stored one.
fn check(text: &Path, program: &str) {
    let stored = text.with_file_name(format!("{}.ppl", name(text)));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&stored, program).expect("the folder is writable");
    }
    let golden = fs::read_to_string(&stored).unwrap_or_default();
    assert_eq!(program, golden, "{}", stored.display());
    assert_eq!(found(program), [], "{}\n{program}", text.display());
    assert_eq!(ppl::format(program).0, program, "{}", text.display());
}

fn programs(folder: &Path, texts: &mut Vec<(String, String)>) {
    for path in files(folder) {
        if path.is_dir() {
            programs(&path, texts);
        } else if ending(&path) == "ppl" {
            texts.push((name(&path), fs::read_to_string(&path).expect("the program is readable")));
        }
    }
}

/// Programs are never taken for something else, whatever line of them is missing, and neither are
/// those of the suite, which have mistakes of all kinds.
#[test]
fn programs_with_mistakes_stay_programs() {
    let mut texts = Vec::new();
    for path in ["../../programs", "../../examples", "tests/suite", "tests/foreign"] {
        programs(&folder(path), &mut texts);
    }
    assert!(texts.len() > 40, "only {} programs were found", texts.len());
    for (name, text) in &texts {
        for (number, line) in text.lines().enumerate() {
            let rest = text.replacen(line, "", 1);
            assert!(!is_foreign(&rest), "{name} without line {}", number + 1);
        }
        assert!(!is_foreign(text), "{name}");
        assert!(!is_foreign(&format!("{text}\n) (\n")), "{name} and a mistake");
    }
}

const PARTS: &[&str] = &[
    "[global]",
    "[a b]",
    "[x]",
    "rw=",
    "randrw",
    "write",
    "bs=",
    "size=",
    "numjobs=",
    "ioengine=",
    "filecreate",
    "null",
    "${X}",
    "overwrite",
    "4k",
    "0",
    "1",
    "99999999999999999999",
    "100%",
    "-",
    "--",
    "=",
    "runtime=",
    "time_based",
    "filename=",
    "/dev/sda",
    "a:b",
    "../x",
    "nrfiles=",
    "thinktime=",
    "rwmixwrite=",
    "fsync=",
    "stonewall",
    "fio",
    "--name=",
    "--rw=read",
    "ior",
    "-a",
    "MPIIO",
    "-b",
    "-t",
    "-s",
    "-F",
    "-C",
    "-o",
    "-wr",
    "mdtest",
    "-n",
    "-d",
    "-u",
    "IOR START\n",
    "RUN\n",
    "blockSize=1m\n",
    "filePerProc=1\n",
    "IOR STOP\n",
    "<Module>\n",
    "ModuleName \"Simple Strided(write)\"\n",
    "ModuleReps 3\n",
    "</Module>\n",
    "elbencho",
    "-N",
    "--direct",
    "--rand",
    "dd",
    "if=",
    "of=",
    "count=",
    "conv=fsync",
    "/dev/zero",
    "#include <x>",
    "int main(",
    "open(",
    "\"f\"",
    "'ü",
    "O_RDWR",
    "|",
    "pwrite(",
    "fd, ",
    "close(fd)",
    ")",
    ";",
    "import os",
    "with open(",
    "for i in range(",
    "):",
    "f.write(",
    "os.stat(",
    "#!/bin/sh",
    "done",
    "{",
    "\"a\":",
    "}",
    "(AT_FDCWD, ",
    ") = 3",
    " <0.1>",
    "\\",
    "$",
    "ü",
    "/*",
    "*/",
];

/// Anything made of what the texts are made of.
fn soup() -> impl Strategy<Value = String> {
    let blank = prop::sample::select(vec!["", " ", "\n", "\n"]);
    let parts = prop::collection::vec((prop::sample::select(PARTS), blank), 0..40);
    parts.prop_map(|parts| parts.iter().map(|(part, blank)| format!("{part}{blank}")).collect())
}

proptest! {
    /// One diagnostic, in the text, and a program that compiles; whatever the text is.
    #[test]
    fn what_is_translated_always_compiles(text in soup()) {
        let diagnostics = found(&text);
        if let Some(only) = diagnostics.iter().find(|found| found.code.as_str() == "E0004") {
            prop_assert_eq!(diagnostics.len(), 1);
            prop_assert!(text.get(only.span.start as usize..only.span.end as usize).is_some());
        }
        if let Ok(translated) = translate(&text) {
            let errors = found(&translated.program);
            let errors: Vec<_> = errors.iter().filter(|e| e.severity() == Severity::Error).collect();
            prop_assert!(errors.is_empty(), "{:?}\n{}", errors, translated.program);
        }
    }
}

#[test]
fn many_jobs_at_the_same_time_are_groups() {
    let jobs: String = (0..100).map(|number| format!("[f{number}]\n")).collect();
    let text = format!("[global]\nrw=write\nsize=64k\nbs=16k\n{jobs}");
    let translated = translate(&text).expect("a program");
    assert!(translated.program.starts_with("# fio job: parabench run x.ppl -n 100\n"));
    assert_eq!(translated.program.matches("time[").count(), 100);
    let program = translated.program.into_bytes();
    let compiled = compile("text", program, &mut NoIncludes, &Binding::new(100));
    assert_eq!(compiled.diagnostics, []);
}

#[test]
fn an_engine_without_calls_moves_nothing() {
    let text = "[a]\nioengine=null\nrw=randrw\nbs=4k\nsize=1m\niodepth=8\n";
    let translated = translate(text).expect("a program");
    assert!(translated.program.contains("with (engine=\"null\") {"), "{}", translated.program);
    assert_eq!(translated.left_out, [""; 0]);
}

#[test]
fn a_text_that_no_program_can_do_has_a_reason() {
    for (text, reason) in [
        ("[a]\nrw=trim\nbs=4k\n", "no program does its job a: rw=trim"),
        ("[a]\nioengine=cpuio\nruntime=2\n", "no program does its job a: ioengine=cpuio"),
        ("fio job.fio --output=x", "it starts a job file: translate job.fio itself"),
        (&format!("[a]\nbs=4k\n{}", "[b]\n".repeat(1000)), "it has 1001 jobs, at most 1000"),
    ] {
        let Err(NoTranslation::Refused(_, why)) = translate(text) else {
            panic!("{text}: {:?}", translate(text))
        };
        assert!(why.starts_with(reason), "{why}");
    }
}

#[test]
fn a_mistake_in_a_text_is_named_with_its_line() {
    for (text, line, what) in [
        ("TestFile \"f\"\nNoSuch 1\n<Module>\n", 2, "unknown directive NoSuch"),
        ("<Module>\nModuleName \"Simple Strided(append)\"\n</Module>\n", 2, "unknown module"),
        (
            "<Module>\nModuleName \"Tiled(read)\"\nModuleReps many\n</Module>",
            3,
            "expected a number",
        ),
        ("<Module>\nModuleName \"Tiled(read)\"\n", 2, "</Module> is missing"),
        ("<Module>\nModuleReps 3\n</Module>\n", 3, "no ModuleName"),
        (
            "<Module>\nModuleName \"Tiled(read)\"\nValuesPerRecord 3\n</Module>\n",
            4,
            "ValuesPerRecord is for Unstructured Mesh",
        ),
        (
            "TestFile \"f\"\nModuleName \"Tiled(read)\"\n<Module>\n",
            2,
            "unknown directive ModuleName",
        ),
        ("SyncWrites maybe\n<Module>\n", 1, "expected on or off"),
        ("IOR START\nblockSize 1m\nRUN\nIOR STOP\n", 2, "expected NAME=VALUE"),
    ] {
        let Err(NoTranslation::Mistake(_, found, why)) = translate(text) else {
            panic!("{text}: {:?}", translate(text))
        };
        assert_eq!(found, line, "{text}");
        assert!(why.contains(what), "{text}: {why}");
    }
}

/// All patterns and forms of PIObench, with a blank before the parenthesis and without.
#[test]
fn piobench_has_eight_patterns_in_five_forms_in_both_spellings() {
    let spatial = [
        "Simple Strided",
        "Nested Strided",
        "Random Strided",
        "Sequential",
        "Segmented",
        "Tiled",
        "FLASH",
        "Unstructured Mesh",
    ];
    let mut text = String::from("TestFile \"/mnt/a#b/f\" # a comment\nReportHeaderOffset on\n");
    let mut rows = Vec::new();
    for pattern in spatial {
        for form in ["write", "re-write", "read", "re-read", "read-modify-write"] {
            for blank in ["", " "] {
                let name = format!("{pattern}{blank}({form})");
                text += &format!("<Module>\nModuleName \"{name}\"\nModuleReps 2\n</Module>\n");
                rows.push(format!("#| {pattern}, {form} | {name} |\n"));
            }
        }
    }
    let program = translate(&text).unwrap().program;
    let errors: Vec<_> = found(&program);
    assert!(errors.is_empty(), "{errors:?}\n{program}");
    assert!(rows.iter().all(|row| program.contains(row)), "{program}");
    assert!(program.contains("--dir /mnt/a") && program.contains("header offset"), "{program}");
    assert_eq!(program.matches("define pattern").count(), spatial.len());
    assert_eq!(program.matches("repeat 2 {").count(), rows.len());
}

#[test]
fn meshes_of_piobench_have_their_own_values() {
    let module = |values: &str| {
        format!("<Module>\nModuleName \"Unstructured Mesh(write)\"\n{values}\n</Module>\n")
    };
    let text = module("ValuesPerRecord 3") + &module("ValuesPerRecord 5") + &module("");
    let program = translate(&text).unwrap().program;
    for values in ["3", "5", "8"] {
        let definition = format!("\"mesh-{values}\" = mesh(vertices=4096, values={values},");
        assert!(program.contains(&definition), "{program}");
        assert!(program.contains(&format!("fwrite($h, \"mesh-{values}\")")), "{program}");
    }
}
