//! The program with its times in the margin, like a profiler's annotated source.

use super::frame::{note, scroll};
use crate::svg::value_text;
use model::op::Class;
use model::run::{ProgramFile, Run, Site};
use model::units::format_ns;
use model::words;
use report::chart::Unit;
use report::markup::{Element, Markup, element};
use report::rows::class;
use report::text::{fit, percent};
use std::collections::BTreeMap;

/// Lines of a file that are shown at most.
const LINES: usize = 3000;
/// A longer file shows only the lines around those that executed something.
const WHOLE: usize = 400;
/// Lines before and after them.
const AROUND: usize = 4;
/// Letters of a line that are shown at most.
const LETTERS: usize = 2000;

/// Calls and times of a line.
#[derive(Clone, Debug, Default, PartialEq)]
struct Sum {
    count: u64,
    busy_ns: u64,
    ops: Vec<String>,
}

/// All files of the program.
pub fn source(run: &Run) -> Markup {
    let header = &run.run;
    let all_ns = header.sites.iter().fold(0u64, |sum, site| sum.saturating_add(site.busy_ns));
    let files = header.program.files.iter().enumerate();
    let mut tables: Markup = files
        .filter(|(_, file)| !file.text.trim().is_empty())
        .map(|(at, file)| {
            let several = header.program.files.len() > 1;
            table(at, file, &sums(&header.sites, &file.name), all_ns, several)
        })
        .collect();
    if tables.is_empty() {
        return tables;
    }
    let legend = "Calls and time: of all ranks together; share: of the time that all operations took. \
                  An operation belongs to the line where it begins.";
    tables.push(note(legend));
    tables
}

/// Calls and times of each line of a file.
fn sums(sites: &[Site], file: &str) -> BTreeMap<usize, Sum> {
    let mut sums: BTreeMap<usize, Sum> = BTreeMap::new();
    for site in sites.iter().filter(|site| site.file == file && site.count > 0) {
        let sum = sums.entry(site.line as usize).or_default();
        sum.count = sum.count.saturating_add(site.count);
        sum.busy_ns = sum.busy_ns.saturating_add(site.busy_ns);
        if !sum.ops.contains(&site.op) {
            sum.ops.push(site.op.clone());
        }
    }
    sums
}

fn table(
    at: usize,
    file: &ProgramFile,
    sums: &BTreeMap<usize, Sum>,
    all_ns: u64,
    several: bool,
) -> Markup {
    let lines: Vec<&str> = file.text.lines().collect();
    let mut body = element("tbody");
    let mut before = 0;
    for number in shown(lines.len(), sums) {
        body = body.all(gap(number - before - 1));
        body = body.with(line(at, number, lines[number - 1], sums.get(&number), all_ns));
        before = number;
    }
    let body = body.all(gap(lines.len() - before));
    let heading = |name: &str| match name {
        "" => element("td"),
        name => element("th").attr("scope", "col").text(name),
    };
    let share = element("th").class("bar").attr("scope", "col").text("share");
    let others = ["", "time", "calls", "line", ""].map(heading);
    let head = element("thead").with(element("tr").with(share).all(others));
    let scroll = scroll(&format!("{} with times", file.name));
    element("div")
        .class("source")
        .all(several.then(|| element("p").class("file").text(&file.name)))
        .with(scroll.with(element("table").class("lines-of-program").with(head).with(body)))
        .into()
}

/// Numbers of the lines that are shown: all of a short file, else those around the ones that did
/// something and the beginning.
fn shown(count: usize, sums: &BTreeMap<usize, Sum>) -> Vec<usize> {
    if count <= WHOLE {
        return (1..=count).collect();
    }
    let mut near = vec![false; count + 1];
    near[1..=AROUND * 2].fill(true);
    for line in sums.keys().filter(|line| **line <= count) {
        near[line.saturating_sub(AROUND).max(1)..=(line + AROUND).min(count)].fill(true);
    }
    (1..=count).filter(|line| near[*line]).take(LINES).collect()
}

fn gap(lines: usize) -> Option<Element> {
    let text = format!("⋯ {}", words::count(lines, "line"));
    let cell = element("td").attr("colspan", 6).text(text);
    (lines > 0).then(|| element("tr").class("gap").with(cell))
}

fn line(file: usize, number: usize, text: &str, sum: Option<&Sum>, all_ns: u64) -> Element {
    let [row, bar, share, time, calls] = match sum {
        None => [element("tr"), element("td"), element("td"), element("td"), element("td")],
        Some(sum) => {
            let share = if all_ns > 0 { sum.busy_ns as f64 / all_ns as f64 } else { 0.0 };
            [
                element("tr").class("on").attr("title", sum.ops.join(", ")),
                element("td").with(bar_of(share, color(&sum.ops))),
                element("td").text(percent(share)),
                element("td").text(format_ns(sum.busy_ns as f64)),
                element("td").text(value_text(sum.count as f64, Unit::Count)),
            ]
        }
    };
    let number_cell = element("td").class("n").text(number.to_string());
    row.attr("id", format!("L-{file}-{number}")).all([
        bar.class("bar"),
        share,
        time,
        calls,
        number_cell,
        element("td").class("code").preformatted(&fit(text, LETTERS)),
    ])
}

/// Width of the bar of a line that took all of the time, pixels.
const BAR: f64 = 80.0;

/// The class of the bar of a line: reading or writing, if all of its operations do so.
fn color(ops: &[String]) -> &'static str {
    let all = |wanted: &[Class]| ops.iter().all(|op| wanted.contains(&class(op)));
    match ops {
        [] => "",
        _ if all(&[Class::Read]) => "reads",
        _ if all(&[Class::Write, Class::Sync]) => "writes",
        _ => "",
    }
}

/// A bar for a share of the time.
fn bar_of(share: f64, color: &'static str) -> Element {
    let width = format!("{:.1}", (share * BAR).clamp(1.0, BAR));
    let rect = element("rect").class(color).attr("width", width).attr("height", 9);
    element("svg").attr("width", BAR).attr("height", 9).attr("aria-hidden", "true").with(rect)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_file_shows_what_did_something() {
        let sums = BTreeMap::from([(500, Sum::default()), (9000, Sum::default())]);
        let lines = shown(1000, &sums);
        assert_eq!(lines, (1..=8).chain(496..=504).collect::<Vec<_>>());
        assert_eq!(shown(WHOLE, &sums).len(), WHOLE);
        let everywhere = (1..=50_000).map(|line| (line, Sum::default())).collect();
        assert_eq!(shown(50_000, &everywhere).len(), LINES);
    }

    #[test]
    fn bars_have_the_colour_of_what_the_line_does() {
        let of = |ops: &[&str]| color(&ops.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!([of(&["read"]), of(&["fread", "read"])], ["reads"; 2]);
        assert_eq!([of(&["write"]), of(&["fwrite", "fsync"])], ["writes"; 2]);
        assert_eq!([of(&["stat"]), of(&["read", "write"]), of(&[])], [""; 3]);
    }

    #[test]
    fn lines_of_all_sites_at_a_line_are_added_up() {
        let site = |line, op: &str, count| Site {
            line,
            op: op.into(),
            count,
            busy_ns: 10 * count,
            file: "a".into(),
            ..Site::default()
        };
        let sites =
            [site(2, "read", 1), site(2, "write", 2), site(2, "read", 3), site(3, "stat", 0)];
        let sum = Sum { count: 6, busy_ns: 60, ops: vec!["read".into(), "write".into()] };
        assert_eq!(sums(&sites, "a"), BTreeMap::from([(2, sum)]));
        assert_eq!(sums(&sites, "b"), BTreeMap::new());
    }
}
