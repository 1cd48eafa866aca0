//! The page as others read it: its text, its structure, and that nothing in it does anything.

use super::*;
use crate::chart::*;
use crate::sample::{self, HARD_LABELS};
use crate::views::views;
use expect_test::expect;
use proptest::prelude::*;
use roxmltree::{Document, Node, ParsingOptions};

/// Elements that a page may have.
const ELEMENTS: &[&str] = &[
    "html",
    "head",
    "meta",
    "title",
    "style",
    "body",
    "main",
    "header",
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
    "i",
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
            "tr" if !node.ancestors().any(|node| node.has_tag_name("details")) => {
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

/// Nothing in the page can do anything: no scripts, no handlers, no addresses.
fn assert_inert(page: &str) {
    for node in parse(page).descendants().filter(Node::is_element) {
        let name = node.tag_name().name();
        assert!(ELEMENTS.contains(&name), "<{name}>");
        for attribute in node.attributes() {
            let (name, value) = (attribute.name(), attribute.value());
            assert!(
                !name.starts_with("on") && !["href", "src", "srcset"].contains(&name),
                "{name}"
            );
            assert!(!value.contains("url(") && !value.contains("://"), "{name}={value}");
        }
    }
    let (style, _) = page.split_once("</style>").expect("a style sheet");
    assert!(!style.contains("url(") && !style.contains("@import"));
}

fn page_of(run: &Run) -> String {
    render(run, &views(run, None))
}

#[test]
fn the_page_of_a_run_that_went_well() {
    let outline = outline(&page_of(&sample::listing1()));
    let (before, _) = outline.split_once("# Pictures\n").expect("pictures");
    expect![[r#"
        Parabench run · 2026-11-21 10:43:00 UTC
        # stress.ppl
        parabench run stress.ppl num=10000 -n 2 --seed 42
        outcome: finished
        duration: 1.26 s
        ranks: 2
        operations: 60 002
        failed: 0
        written: 19.5 MiB
        read: 19.5 MiB
        host: node1
        storage: posix on ext4 (/dev/sda1 at /data)
        directory: /data/scratch
        evidence: clock tsc, 17.5 ns a reading · page cache served 100 % of the bytes read · failed 0 · short 0 · seed 42 · confinement: proved · processor 79.4 % a rank
        Verdict: cached-reads – 100 % of the bytes read came from the page cache: read rates are those of main memoryTo do: put `dropcaches;` before the reads
        To do: put `dropcaches;` before the reads
        the ranks were started by hand
        # What was measured
        operation | count | bytesMiB | minms | avgms | p50ms | p99ms | maxms | MiB/s1 rank | MiB/sall
        stress
        write | 20000 | 19.53 | 0.016000 | 0.027500 | 0.025700 | 0.058300 | 7.435000 | 35.51 | 15.62
        .open | 20000 | – | 0.009000 | 0.015000 | 0.014400 | 0.031200 | 7.401000 | – | –
        .data | 20000 | 19.53 | 0.005000 | 0.010000 | 0.009800 | 0.022000 | 0.812000 | – | –
        .close | 20000 | – | 0.000400 | 0.002500 | 0.001500 | 0.005100 | 0.095000 | – | –
        read | 20000 | 19.53 | 0.001100 | 0.002000 | 0.001900 | 0.004400 | 0.120000 | 488.28 | 15.62
        stat | 20000 | – | 0.000612 | 0.000812 | 0.000790 | 0.001400 | 0.045000 | – | –
        (in no label)
        mkdir | 2 | – | 0.003870 | 0.005000 | 0.003870 | 0.006130 | 0.006130 | – | –
        all labels, by class
        reading | 20000 | 19.53 |  |  |  |  |  |  | 
        writing | 20000 | 19.53 |  |  |  |  |  |  | 
        metadata | 20002 | – |  |  |  |  |  |  | 
        Times: one operation that did not fail. MiB/s of 1 rank: bytes by the time it spent in the operation; of all: bytes of all ranks by the label's time.
        label | ranks | starts | ends | longestms | slowestrank
        stress | 2 | 0.000001 | 1.250 | 1250.000 | 1
        start: of the first rank; end: of the last; longest: of the slowest rank.
        # Where the time went
        share |  | time | calls | line | 
         |  |  |  | 1 | time["stress"] {
         | 100 % | 550 ms | 20 000 | 2 | repeat $i 10000 write("f-$$rank-$i", 1k);
         |  |  |  | 3 | }
        Calls and time: of all ranks together; share: of the time that all operations took. An operation belongs to the line where it begins.
    "#]].assert_eq(before);
}

#[test]
fn the_command_of_a_sweep_makes_it_again() {
    let mut run = sample::sweep(2, 5);
    let grid = run.run.sweep.as_mut().expect("a sweep");
    (grid.warm_up, grid.until_ci) = (3, Some(0.025));
    let page = page_of(&run);
    for option in ["--reps 5 ", "--warm-up 3 ", "--settle 2s ", "--until-ci 2.5% "] {
        assert!(page.contains(option), "{option}");
    }
}

#[test]
fn the_page_of_a_run_that_failed() {
    let page = page_of(&sample::aborted());
    let outline = outline(&page);
    for line in [
        "outcome: failed",
        "exit code: 1",
        "# What failed",
        "12 x write ENOSPC at stress.ppl:2:20 (No space left on device), first: rank 0, f-0-0, offset 512",
        "ranks 0-1 ended at stress.ppl:3:1: assert failed: $n > 0",
    ] {
        assert!(outline.lines().any(|found| found == line), "{line}\n{outline}");
    }
    assert!(page.contains("<dt>outcome</dt><dd class=\"bad\">failed</dd>"));
}

#[test]
fn an_empty_run_has_a_page() {
    let page = page_of(&Run::default());
    assert_inert(&page);
    assert!(page.contains("No I/O operation was executed."));
    assert!(!page.contains("<section id=\"source\">"));
}

#[test]
fn every_figure_of_the_terminal_stands_in_the_page() {
    for run in [sample::listing1(), sample::aborted()] {
        let terminal =
            crate::table::render(&run, crate::table::Terminal { columns: 400, color: false });
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
        }];
        header.failures.iter_mut().for_each(|failure| failure.path = text.into());
        header.rank_errors.iter_mut().for_each(|error| error.message = text.into());
        (header.host.name, header.host.mount_options) = (text.into(), text.into());
        let mut views = views(&run, None);
        views.views.push(View {
            name: text.into(),
            title: text.into(),
            summary: text.into(),
            chart: bars(text),
        });
        let page = render(&run, &views);
        assert_inert(&page);
        let shown = parse(&page)
            .descendants()
            .find(|node| node.has_tag_name("h1"))
            .map(|node| node.text().unwrap_or_default().to_string());
        let expected = crate::text::escape(text).replace('\u{fffe}', "\u{fffd}");
        assert_eq!(shown, Some(expected));
    }
}

fn bars(text: &str) -> Chart {
    let value = Axis { title: text.into(), unit: Unit::Count, log: false };
    Chart::Bars { value, names: vec![text.into()], series: vec![(text.into(), vec![1.0]); 2] }
}

#[test]
fn the_page_of_a_sweep_has_its_tables_and_its_command() {
    let page = page_of(&sample::sweep(2, 5));
    assert_inert(&page);
    let shown = crate::table::sweep_text(&sample::sweep(2, 5), 130);
    let pre = parse(&page)
        .descendants()
        .find(|node| node.has_tag_name("pre"))
        .and_then(|node| node.text().map(str::to_string));
    assert_eq!(pre.as_deref(), Some(shown.trim_end()));
    assert!(page.contains("--reps 5") && page.contains("--sweep "), "{page}");
}

#[test]
fn data_of_a_picture_are_bounded_and_said_to_be() {
    let names = (0..500).map(|at| format!("n{at}")).collect();
    let value = Axis { title: "calls".into(), unit: Unit::Count, log: false };
    let chart = Chart::Bars { value, names, series: vec![("all".into(), vec![1.0; 500])] };
    let figure = figure(&View { name: "v".into(), title: "t".into(), summary: "s".into(), chart });
    for part in [
        "Data: 500 lines",
        "The first 200 of 500 lines; parabench report --data writes all.",
        "<td class=\"word\">n199</td>",
    ] {
        assert!(figure.contains(part), "{part}");
    }
    assert!(!figure.contains("<td class=\"word\">n200</td>"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn any_run_has_an_inert_page(run in sample::any_run()) {
        assert_inert(&page_of(&run));
    }
}
