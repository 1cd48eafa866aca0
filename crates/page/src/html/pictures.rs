//! Where each picture stands, and pictures with their data.

use super::frame::{details, json, note, scroll};
use super::heat;
use crate::svg::draw;
use crate::views::Absent;
use model::{Run, words};
use report::chart::{View, lines};
use report::markup::{Element, Markup, element};

/// The part of the page that a picture is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// What was asked.
    Main,
    /// Below one another on one axis.
    Time,
    /// Sizes, files, ranks.
    Access,
    /// Folded.
    More,
    /// Rows of the table have it.
    Nowhere,
}

/// The place of a picture on the page of a run.
pub fn place(view: &View, run: &Run) -> Place {
    let is_compared = run.run.sweep.as_ref().is_some_and(|sweep| sweep.versus);
    let is_swept = run.run.sweep.as_ref().is_some_and(|sweep| !sweep.dimensions.is_empty());
    match view.name.as_str() {
        "ratios" => Place::Main,
        "bandwidth-over-time" if !is_swept => Place::Main,
        "phases" if !is_swept => Place::Main,
        name if name.contains("-over-time") => Place::Time,
        name if name.contains("-over-") && is_swept && !is_compared => Place::Main,
        "latency-cdf" => Place::Nowhere,
        name if ["access-sizes", "time-by-", "bandwidth-above", "ranks-of-"]
            .iter()
            .any(|own| name.starts_with(own)) =>
        {
            Place::Access
        }
        _ => Place::More,
    }
}

/// The main pictures; of a sweep of two parameters the table of both before them.
pub fn main(run: &Run, views: &[&View]) -> Markup {
    let mut out = heat::tables(run);
    let is_bandwidth = |view: &&&View| view.name == "bandwidth-over-time";
    let chosen: Vec<&&View> = match views.iter().any(|view| is_bandwidth(&view)) {
        true => views.iter().filter(|view| view.name != "phases").collect(),
        false => views.iter().collect(),
    };
    out.push(chosen.into_iter().map(|view| figure(view)).collect::<Markup>());
    out
}

/// All pictures below one another.
pub fn all<'v>(views: impl Iterator<Item = &'v View>) -> Markup {
    views.map(figure).collect()
}

/// Executions whose pictures are seen at once; of more of them each is folded, and printed nowhere.
const SIDES: usize = 2;

/// The pictures of executions: those of one or two below one another, of more each folded under its name.
pub fn of_executions<'v>(views: impl Iterator<Item = &'v View>, names: &[String]) -> Markup {
    let views: Vec<&View> = views.collect();
    if names.len() <= SIDES {
        return all(views.into_iter());
    }
    let of = |at: usize| views.iter().copied().filter(move |view| execution(&view.name) == at);
    let one = |(at, name): (usize, &String)| {
        let pictures = all(of(at));
        (!pictures.is_empty()).then(|| details(name).with(pictures))
    };
    names.iter().enumerate().filter_map(one).collect()
}

/// The number of the execution that a picture is of: `NAME` is of the first, `NAME-2` of the second.
fn execution(name: &str) -> usize {
    let number = name.rsplit_once('-').and_then(|(_, end)| end.parse::<usize>().ok());
    number.map_or(0, |number| number.saturating_sub(1))
}

/// The time line: its pictures, and its data for the script.
pub fn time_line<'v>(
    views: impl Iterator<Item = &'v View>,
    names: &[String],
    data: &str,
) -> Markup {
    let pictures = of_executions(views, names);
    if data.is_empty() {
        return pictures;
    }
    let data = json(|script| script.attr("id", "timeline-data"), data);
    let fixed = element("div").class("fixed").with(pictures);
    element("div").attr("id", "time-line").class("timeline").with(fixed).with(data).into()
}

/// Why some pictures are not there.
pub fn absent(absent: &[Absent]) -> Markup {
    if absent.is_empty() {
        return Markup::default();
    }
    let entry = |one: &Absent| element("li").text(format!("{}: {}", one.name, one.reason));
    element("ul").all(absent.iter().map(entry)).into()
}

/// A picture with its data.
pub fn figure(view: &View) -> Markup {
    let chart = serde_json::to_string(view).unwrap_or_default();
    element("figure")
        .attr("id", &view.name)
        .class("chart")
        .with(element("h3").text(&view.title))
        .with(scroll(&view.title).with(draw(view)))
        .with(element("figcaption").text(&view.summary))
        .with(json(|script| script.class("chart-data"), &chart))
        .with(data(view))
        .into()
}

/// Lines of data at most that a page shows.
const DATA_LINES: usize = 100;

/// The numbers of a picture, folded away.
fn data(view: &View) -> Markup {
    let mut lines = lines(&view.chart);
    if lines.len() < 2 {
        return Markup::default();
    }
    let count = lines.len() - 1;
    lines.truncate(DATA_LINES + 1);
    let table = element("table")
        .with(element("thead").with(row(&lines[0], "th")))
        .with(element("tbody").all(lines[1..].iter().map(|line| row(line, "td"))));
    let title = format!("Data: {}", words::count(count as u64, "line"));
    let details = details(&title).with(scroll(&format!("data of {}", view.name)).with(table));
    let more = format!(
        "The first {DATA_LINES} of {}; parabench report --data writes all.",
        words::count(count as u64, "line")
    );
    details.all((count > DATA_LINES).then(|| note(&more))).into()
}

/// A line of data; what is no number is marked.
fn row(line: &[String], tag: &'static str) -> Element {
    let cell = |text: &String| {
        let class = if text.parse::<f64>().is_err() { "word" } else { "" };
        element(tag).class(class).text(text)
    };
    element("tr").all(line.iter().map(cell))
}
