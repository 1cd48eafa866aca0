//! The page as others read it: its text, its structure, and that nothing in it does anything.

use super::pictures::figure;
use super::render;
use crate::sample::{self, HARD_LABELS};
use crate::views::views;
use expect_test::expect;
use model::Run;
use proptest::prelude::*;
use report::chart::*;
use roxmltree::{Document, Node, ParsingOptions};
use sha2::Digest;

/// Elements that a page may have.
const ELEMENTS: &[&str] = &[
    "html",
    "head",
    "meta",
    "title",
    "style",
    "body",
    "nav",
    "main",
    "section",
    "h1",
    "h2",
    "h3",
    "p",
    "pre",
    "code",
    "dl",
    "dt",
    "dd",
    "div",
    "ul",
    "li",
    "b",
    "small",
    "span",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "figure",
    "figcaption",
    "details",
    "summary",
    "svg",
    "desc",
    "rect",
    "line",
    "polyline",
    "polygon",
    "circle",
    "text",
    "a",
    "script",
];

fn parse(page: &str) -> Document<'_> {
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    Document::parse_with_options(page, options).unwrap_or_else(|error| panic!("{error}\n{page}"))
}

fn text(node: Node<'_, '_>) -> String {
    let texts = node.descendants().filter(Node::is_text).filter_map(|node| node.text());
    let all: String = texts.collect();
    all.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What stands in the page: headlines, facts, lines of tables, titles of pictures.
fn outline(page: &str) -> String {
    let document = parse(page);
    let mut out = String::new();
    for node in document.descendants().filter(Node::is_element) {
        let line = match node.tag_name().name() {
            "h1" | "h2" | "h3" => format!("# {}", text(node)),
            "code" | "li" | "figcaption" => text(node),
            "p" if node.attribute("class") != Some("command") => text(node),
            "dt" => format!(
                "{}: {}",
                text(node),
                node.next_sibling_element().map(text).unwrap_or_default()
            ),
            "tr" if !node.ancestors().any(|node| node.has_tag_name("figure")) => {
                let cells = node.children().filter(Node::is_element).map(text);
                cells.collect::<Vec<_>>().join(" | ")
            }
            _ => continue,
        };
        out.push_str(&line);
        out.push('\n');
    }
    out
}

/// Nothing that a run says can do anything: one script and one style sheet, both by their hashes; no handlers, no
/// addresses but places in the page and data to save.
fn assert_inert(page: &str) {
    let document = parse(page);
    let elements = || document.descendants().filter(Node::is_element);
    for node in elements() {
        let name = node.tag_name().name();
        assert!(ELEMENTS.contains(&name), "<{name}>");
        for attribute in node.attributes() {
            let (name, value) = (attribute.name(), attribute.value());
            let is_place = name == "href" && (value.starts_with('#') || value.starts_with("data:"));
            assert!(
                !name.starts_with("on") && !["src", "srcset", "style"].contains(&name),
                "{name}"
            );
            assert!(name != "href" || is_place, "{name}={value}");
            assert!(!value.contains("url(") && !value.contains("://"), "{name}={value}");
        }
    }
    let policy = elements()
        .filter_map(|node| node.attribute("content"))
        .find(|it| it.contains("default-src"));
    let policy = policy.expect("a policy");
    assert!(policy.starts_with("default-src 'none'; script-src 'sha256-"), "{policy}");
    let is_code =
        |node: &Node<'_, '_>| node.has_tag_name("script") && node.attribute("type").is_none();
    assert_eq!(elements().filter(is_code).count(), 1, "scripts that do something");
    assert_eq!(elements().filter(|node| node.has_tag_name("style")).count(), 1);
    for (start, end, directive) in
        [("<script>", "</script>", "script-src"), ("<style>", "</style>", "style-src")]
    {
        let (_, rest) = page.split_once(start).expect("code");
        let (code, _) = rest.split_once(end).expect("its end");
        let hash = super::frame::base64(&sha2::Sha256::digest(code.as_bytes()));
        assert!(policy.contains(&format!("{directive} 'sha256-{hash}'")), "{directive}");
        assert!(!code.contains("@import"));
    }
    for data in elements().filter(|node| node.attribute("type") == Some("application/json")) {
        serde_json::from_str::<serde_json::Value>(data.text().unwrap_or_default()).expect("JSON");
    }
}

fn page_of(run: &Run) -> String {
    render(run, &views(run, None), None)
}

#[test]
fn the_page_of_a_run_that_went_well() {
    let outline = outline(&page_of(&sample::listing1()));
    let (before, _) = outline.split_once("# More\n").expect("more");
    expect![[r#"
        stress.ppl
        Answer
        Picture
        Phases and operations
        Time line
        Program
        More
        Parabench run · 2 ranks · ext4 /dev/sda1 · 2026-11-21 10:43:00 UTC
        # stress.ppl
        stress, the longest phase, took 1.25 s: read 15.6 MiB/s, write 15.6 MiB/s; write took 22 % of the time.
        time of the command: 1.26 s
        read: 19.5 MiB
        written: 19.5 MiB
        memory speed, not disk: 100 % of reads cached. Fix: direct=true
        1 more remark: under "More".
        parabench run 'my stress.ppl' num=10000 -n 2
        # Picture
        # Phases
        All work of a phase over its duration, all ranks together.
        # Phases and operations
        phase / operation | count | rate/rank | bandwidth/rank | p50 | p99 | max | time
        stress1.25 s read 15.6 MiB/s write 15.6 MiB/s
        write | 20,000 | 36.36 kop/s | 35.51 MiB/s | 25.70 µs | 58.30 µs | 7.435 ms | 22 %
        read | 20,000 | 500.0 kop/s | 488.3 MiB/s | 1.900 µs | 4.400 µs | 120.0 µs | 1.6 %
        stat | 20,000 | 1.232 Mop/s | – | 790 ns | 1.400 µs | 45.00 µs | 0.6 %
        rate/rank, bandwidth/rank: while in the operation, mean of ranks; phase: over its duration; outside of phases: 2 mkdir
        # stress: write
        part | count | bytes | min | mean | p50 | p90 | p99 | p99.9 | max
        whole | 20000 | 19.53 MiB | 16.00 µs | 27.50 µs | 25.7 µs | 42.0 µs | 58.3 µs | 3.75 ms | 7.435 ms
        open | 20000 | – | 9.000 µs | 15.00 µs | 14.4 µs | 22.8 µs | 31.2 µs | 3.72 ms | 7.401 ms
        data | 20000 | 19.53 MiB | 5.000 µs | 10.00 µs | 9.80 µs | 15.9 µs | 22.0 µs | 417 µs | 812.0 µs
        close | 20000 | – | 400 ns | 2.500 µs | 1.50 µs | 3.30 µs | 5.10 µs | 50.0 µs | 95.00 µs
        # Times of write
        Half of the calls took at most 27.5 µs, 99 % at most 27.5 µs.
        # stress: read
        part | count | bytes | min | mean | p50 | p90 | p99 | p99.9 | max
        whole | 20000 | 19.53 MiB | 1.100 µs | 2.000 µs | 1.90 µs | 3.15 µs | 4.40 µs | 62.2 µs | 120.0 µs
        # stress: stat
        part | count | min | mean | p50 | p90 | p99 | p99.9 | max
        whole | 20000 | 612 ns | 812 ns | 790 ns | 1.09 µs | 1.40 µs | 23.2 µs | 45.00 µs
        # (in no label): mkdir
        part | count | min | mean | p50 | max
        whole | 2 | 3.870 µs | 5.000 µs | 3.87 µs | 6.130 µs
        # Time line
        # Phases over time
        Longest: stress (1.25 s, 1 occurrence).
        # Program
        share |  | time | calls | line | 
         |  |  |  | 1 | time["stress"] {
         | 100 % | 550 ms | 20,000 | 2 | repeat $i 10000 write("f-$$rank-$i", 1k);
         |  |  |  | 3 | }
        Calls and time: of all ranks together; share: of the time that all operations took. An operation belongs to the line where it begins.
    "#]].assert_eq(before);
}

#[test]
fn key_figures_hold_bytes_of_mpi_io_once() {
    let outline = outline(&page_of(&sample::recorded_mpi()));
    for figure in ["written: 3 MiB\n", "read: 1 MiB\n"] {
        assert!(outline.contains(figure), "{figure}: {outline}");
    }
}

/// A run that does not know how it was started says nothing.
#[test]
fn a_run_without_its_command_shows_none() {
    let mut run = sample::listing1();
    run.run.command.clear();
    assert!(!page_of(&run).contains("class=\"command\""));
}

/// Options of the launcher, such as hosts, are unknown: a command without them would do something else.
#[test]
fn a_run_under_a_launcher_shows_the_words_of_its_ranks_alone() {
    use model::run::{Job, Node};
    let mut run = sample::listing1();
    run.run.command = ["mpiexec", "-n", "6", "parabench", "run", "x.ppl"].map(String::from).into();
    run.run.ranks = 6;
    let shown = "<code>as ranks of an MPI job of 6 ranks: parabench run x.ppl</code>";
    assert!(page_of(&run).contains(shown), "{}", page_of(&run));
    run.run.job = Some(Job { nodes: vec![Node::default(); 3], ..Job::default() });
    assert!(page_of(&run).contains("6 ranks on 3 hosts: parabench run"));
}

#[test]
fn imported_and_recorded_runs_show_the_command_that_made_them() {
    use model::run::{Recorded, Trace, TraceLog};
    let log = |name: &str| TraceLog { name: name.into(), lines: 7, job: None };
    let imported = |format: &str, names: &[&str]| Trace {
        format: format.into(),
        logs: names.iter().map(|name| log(name)).collect(),
        ..Trace::default()
    };
    let command = ["tar", "xf", "my file"].map(String::from).to_vec();
    let options = ["--under", "/my data"].map(String::from).to_vec();
    let recorded = Recorded { command, options, ..Recorded::default() };
    let recorded = Trace { recorded: Some(recorded), ..imported("preload", &["tar.run"]) };
    for (trace, kicker, command) in [
        (
            imported("fio-iolog", &["job.iolog", "b c"]),
            "Imported run",
            "parabench import --as fio-iolog job.iolog 'b c'",
        ),
        (recorded, "Recorded run", "parabench record --under '/my data' -- tar xf 'my file'"),
        // Nobody knows the file of rules, what came from a pipe, and how a run became a log.
        (imported("rules", &["app.log"]), "Imported run", ""),
        (imported("strace", &["-"]), "Imported run", ""),
        (imported("parabench", &["out"]), "Imported run", ""),
    ] {
        let mut run = sample::labelled("a");
        run.run.trace = Some(trace);
        (run.run.started, run.run.duration_wall_ns) = (String::new(), 0);
        let page = page_of(&run);
        let document = parse(&page);
        let class = |name: &str| {
            let found = document.descendants().find(|node| node.attribute("class") == Some(name));
            found.map_or(String::new(), text)
        };
        assert!(class("kicker").starts_with(kicker), "{}", class("kicker"));
        assert_eq!(class("command"), command);
        let outline = outline(&page);
        assert!(!outline.contains("parabench run") && !outline.contains("seed:"), "{outline}");
        assert!(outline.contains("duration: unknown"), "{outline}");
    }
}

#[test]
fn the_page_of_a_run_that_failed() {
    let page = page_of(&sample::aborted());
    let outline = outline(&page);
    for line in [
        "outcome: failed",
        "exit code: 1",
        "12 x write ENOSPC at stress.ppl:2:20 (No space left on device), first: rank 0, f-0-0, offset 512",
        "ranks 0 to 1 ended at stress.ppl:3:1: assert failed: $n > 0",
    ] {
        assert!(outline.lines().any(|found| found == line), "{line}\n{outline}");
    }
    assert!(page.contains("<li>Outcome: failed, exit code 1: 12 x write ENOSPC"), "{outline}");
}

#[test]
fn the_page_of_a_run_that_was_ended_says_so() {
    let says = |outcome: &str, exit_code| {
        let mut run = sample::listing1();
        (run.run.outcome, run.run.exit_code) = (outcome.into(), exit_code);
        page_of(&run).lines().find(|line| line.contains("Outcome: ")).map(str::to_string)
    };
    assert_eq!(says("finished", 0), None);
    let limit = says("time limit", 0).unwrap();
    assert!(limit.contains("Outcome: ended by its time limit<"), "{limit}");
    let killed = says("cut off", 1).unwrap();
    assert!(killed.contains("Outcome: cut off, exit code 1<"), "{killed}");
}

#[test]
fn an_empty_run_has_a_page() {
    let page = page_of(&Run::default());
    assert_inert(&page);
    assert!(page.contains("No I/O operation was executed."));
    assert!(!page.contains("<section id=\"program\">"));
}

#[test]
fn every_figure_of_the_terminal_stands_in_the_page() {
    for run in [sample::listing1(), sample::aborted()] {
        let terminal = report::table::render(
            &run,
            report::table::Terminal { columns: 400, color: false },
            report::table::Detail::Full,
        );
        let outline = outline(&page_of(&run));
        let words: std::collections::HashSet<&str> = outline.split([' ', '\n']).collect();
        let figures = terminal.split_whitespace().filter(|word| word.parse::<f64>().is_ok());
        let lost: Vec<&str> = figures.filter(|figure| !words.contains(figure)).collect();
        assert!(lost.is_empty(), "{lost:?}\n{terminal}\n{outline}");
    }
}

#[test]
fn whatever_a_program_says_stays_text() {
    let hostile = "</pre></td></script><script>alert(1)</script><img src=x onerror=alert(1)>\u{0}\u{1b}[31m\u{202e}\"'&amp;]]>";
    for text in HARD_LABELS.into_iter().chain([hostile, "{{x}}", "<!--", "\u{fffe}"]) {
        let mut run = sample::aborted();
        run.rows.iter_mut().for_each(|row| (row.label, row.op) = (text.into(), text.into()));
        run.times.iter_mut().for_each(|time| time.label = text.into());
        let header = &mut run.run;
        (header.program.name, header.outcome, header.started) =
            (text.into(), text.into(), text.into());
        header.program.files[0] = model::run::ProgramFile { name: text.into(), text: text.into() };
        header.params = vec![model::run::Param { name: text.into(), value: text.into() }];
        header.sites[0].file = text.into();
        header.sites[0].op = text.into();
        header.sites[0].line = 1;
        header.evidence.notes = vec![text.into()];
        header.evidence.marks = vec![model::run::Mark {
            code: text.into(),
            counts: true,
            seen: text.into(),
            advice: text.into(),
            executions: None,
        }];
        header.failures.iter_mut().for_each(|failure| failure.path = text.into());
        header.rank_errors.iter_mut().for_each(|error| error.message = text.into());
        (header.host.name, header.host.storage.mount_options) = (text.into(), text.into());
        let mut views = views(&run, None);
        views.views.push(View {
            name: text.into(),
            title: text.into(),
            summary: text.into(),
            chart: rows([text.to_string()].into_iter()),
        });
        let page = render(&run, &views, None);
        assert_inert(&page);
        let shown = parse(&page)
            .descendants()
            .find(|node| node.has_tag_name("h1"))
            .map(|node| node.text().unwrap_or_default().to_string());
        let expected = report::text::escape(text).replace('\u{fffe}', "\u{fffd}");
        assert_eq!(shown, Some(expected));
    }
}

fn rows(names: impl Iterator<Item = String> + Clone) -> Chart {
    let title = names.clone().next().unwrap_or_default();
    let x = Axis { title, unit: Unit::Count, log: false };
    let ranges = names.map(|name| Range { name, low: 1.0, at: 1.0, high: 1.0 }).collect();
    Chart::Forest { x, line: None, ranges }
}

#[test]
fn the_page_of_a_sweep_has_its_tables_and_its_command() {
    let page = page_of(&sample::sweep(2, 5));
    assert_inert(&page);
    let outline = outline(&page);
    for point in ["4k", "64k"] {
        assert!(outline.lines().any(|line| line.starts_with(&format!("{point} | "))), "{outline}");
    }
    assert!(page.contains("class=\"command\""), "{page}");
}

#[test]
fn data_of_a_picture_are_bounded_and_said_to_be() {
    let chart = rows((0..500).map(|at| format!("n{at}")));
    let view = View { name: "v".into(), title: "t".into(), summary: "s".into(), chart };
    let figure = figure(&view).into_string();
    for part in [
        "Data: 500 lines",
        "The first 100 of 500 lines; parabench report --data writes all.",
        "<td class=\"word\">n99</td>",
    ] {
        assert!(figure.contains(part), "{part}");
    }
    assert!(!figure.contains("<td class=\"word\">n100</td>"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn any_run_has_an_inert_page(run in sample::any_run()) {
        assert_inert(&page_of(&run));
    }
}
