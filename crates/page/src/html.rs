//! A run as one HTML file for mail, archive and print.
//!
//! ```text
//! Run ── answer ── main picture ── phases and operations ── time line ── program with its times
//!     ── access: sizes, files, ranks ── more: remarks, method, environment, data
//! ```
//!
//! Everything is there without script. The script (`web/`) makes pictures and tables interactive; a policy in the file
//! lets it and the style sheet work by their hashes and forbids everything else: whatever a label or a program says
//! stays text ([`report::markup`]).

mod access;
mod answer;
mod blocks;
mod environment;
mod frame;
mod heat;
mod pictures;
mod rows;
mod source;
#[cfg(test)]
mod tests;

use crate::aggregate::Aggregates;
use crate::views::{Views, has_counters};
use frame::{Part, details, page};
use model::Run;
use pictures::Place;
use report::chart::View;
use report::compare::{self, Comparison, Options, Side};
use report::document::{Block, Sheet};
use report::fidelity::{self, Fidelity};
use report::markup::{Markup, element};
use report::table::{self, layers};
use report::text::Detail;

/// The page of a run with its pictures.
pub fn render(run: &Run, views: &Views, events: Option<&Aggregates>) -> String {
    let time_line = events.map(Aggregates::time_line).unwrap_or_default();
    let executions = events.iter().flat_map(|events| &events.executions);
    let names: Vec<String> = executions.map(|one| one.name.clone()).collect();
    let sheets = match has_counters(run) {
        true => layers::sheets(run),
        false => events.map(access::sheets).unwrap_or_default(),
    };
    let found = compare::within(run, &Options::default());
    let of =
        |place: Place| views.views.iter().filter(move |view| pictures::place(view, run) == place);
    let main: Vec<&View> = of(Place::Main).collect();
    let sentences = match &found {
        Some(found) => compare::answer(found),
        None => answer::sentences(run, &main),
    };
    let parts = [
        Part::new("answer", "Answer", answer::card(run, &sentences, found.as_ref())),
        Part::new("picture", "Picture", pictures::main(run, &main)),
        Part::new("figures", "Phases and operations", rows::figures(run)),
        Part::new(
            "timeline",
            "Time line",
            pictures::time_line(of(Place::Time), &names, &time_line),
        ),
        Part::new("program", "Program", source::source(run)),
        Part::new("access", "Sizes and files", sizes_and_files(of(Place::Access), &names, &sheets)),
        Part::new("more", "More", more(run, views, of(Place::More))),
    ];
    page(&run.run.program.name, &parts)
}

fn sizes_and_files<'v>(
    views: impl Iterator<Item = &'v View>,
    names: &[String],
    sheets: &[Sheet],
) -> Markup {
    let block = |sheet: &Sheet| blocks::blocks(&[Block::Sheet(sheet.clone())]);
    let table = |sheet: &Sheet| match sheet.name {
        // Pictures have these figures as their data.
        "access-sizes" => Markup::default(),
        "ranks" => details(&sheet.title).with(block(sheet)).into(),
        _ => block(sheet),
    };
    // What counters say of each layer in few lines stands before the pictures.
    let (first, rest): (Vec<&Sheet>, Vec<&Sheet>) =
        sheets.iter().partition(|sheet| ["layers", "use-of-files"].contains(&sheet.name));
    let tables: Markup = rest.into_iter().map(table).collect();
    let tables = match names.len() > 2 && !tables.is_empty() {
        true => details("Common sizes and files").with(tables).into(),
        false => tables,
    };
    let first: Markup = first.into_iter().map(table).collect();
    [first, pictures::of_executions(views, names), tables].into_iter().collect()
}

/// What few readers need: folded.
fn more<'v>(run: &Run, views: &Views, others: impl Iterator<Item = &'v View>) -> Markup {
    let remarks = [table::remarks(run)].into_iter().chain(table::failed(run)).collect::<Vec<_>>();
    let parts = [
        ("Remarks and failures", blocks::blocks(&remarks)),
        ("All figures", blocks::blocks(&table::figures(run))),
        ("More pictures", others.map(pictures::figure).collect()),
        ("Method and environment", environment::environment(run)),
        ("Data", environment::data(run)),
        ("Pictures without data", pictures::absent(&views.absent)),
    ];
    let parts = parts.into_iter().filter(|(_, body)| !body.is_empty());
    parts.map(|(title, body)| details(title).with(body)).collect()
}

/// All comparisons as one page; `over_time`: pictures and events of both sides of the only one.
pub fn comparisons(
    compared: &[(&Side, &Side, &Comparison)],
    over_time: Option<&(Vec<View>, Aggregates)>,
) -> String {
    let parts = compared.iter().enumerate().map(|(at, (base, new, found))| {
        let id = if at == 0 { "answer".into() } else { format!("answer-{}", at + 1) };
        let title = format!("{} against {}", found.new, found.base);
        Part { id, title, body: comparison(base, new, found) }
    });
    let time_line = over_time.map(|(views, events)| {
        let names: Vec<String> = events.executions.iter().map(|one| one.name.clone()).collect();
        let body = pictures::time_line(views.iter(), &names, &events.time_line());
        Part::new("timeline", "Time line", body)
    });
    page("Comparison", &parts.chain(time_line).collect::<Vec<Part>>())
}

fn comparison(base: &Side, new: &Side, found: &Comparison) -> Markup {
    let views = compare::show::views(base, new, found);
    let (main, others): (Vec<_>, Vec<_>) = views.iter().partition(|view| view.name == "ratios");
    let (warnings, _) = compare::gravest(found);
    let lists = compare::show::blocks(found, Detail::Short);
    let tables: Vec<Block> =
        lists.into_iter().filter(|block| matches!(block, Block::Sheet(_))).collect();
    let full = blocks::blocks(&compare::show::blocks(found, Detail::Full));
    let mut body = answer::of_comparison(found, &warnings);
    body.push(element("h2").text("Ratios"));
    body.push(main.into_iter().map(pictures::figure).collect::<Markup>());
    body.push(blocks::blocks(&tables));
    let pictures: Markup = others.into_iter().map(pictures::figure).collect();
    let folded = [
        ("Repetitions and times of calls", pictures),
        ("All figures and remarks", full),
        ("A: method and environment", of_side(base)),
        ("B: method and environment", of_side(new)),
    ];
    let folded = folded.into_iter().filter(|(_, body)| !body.is_empty());
    body.push(folded.map(|(title, body)| details(title).with(body)).collect::<Markup>());
    body
}

/// The environment of the first run of a side, and how many there are.
fn of_side(side: &Side) -> Markup {
    let Some(first) = side.runs.first() else { return Markup::default() };
    let runs = model::words::count(side.runs.len() as u64, "run");
    let text = format!("{}: {runs}; the first:", side.name);
    [Markup::from(element("p").text(text)), environment::environment(first)].into_iter().collect()
}

/// How faithful a replay is, as a page.
pub fn fidelity(found: &Fidelity) -> String {
    let views = fidelity::show::views(found);
    let is_main = |view: &&View| view.name == fidelity::show::DIFFERENCES;
    let (main, others): (Vec<&View>, Vec<&View>) = views.views.iter().partition(is_main);
    let mut over_time = pictures::all(others.into_iter());
    over_time.push(pictures::absent(&views.absent));
    let [short, full] = fidelity::show::blocks_of_page(found).map(|all| blocks::blocks(&all));
    let figures = [short, details("All figures").with(full).into()].into_iter().collect();
    let parts = [
        Part::new("answer", "Answer", answer::of_fidelity(found)),
        Part::new("picture", "Differences", pictures::all(main.into_iter())),
        Part::new("figures", "Figures", figures),
        Part::new("timeline", "Over time", over_time),
    ];
    page("Fidelity", &parts)
}
