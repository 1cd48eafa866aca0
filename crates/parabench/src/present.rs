//! A run on standard output, in the form that was asked for.

use crate::args::ResultFormat;
use crate::console;
use crate::error::Result;
use ::report::table::Terminal;
use model::Run;

/// Says what has failed, and nothing else.
pub fn failures(run: &Run) {
    let terminal = Terminal { columns: console::columns(), color: false };
    console::say_made(&::report::table::failures(run, terminal));
}

/// Prints a run.
pub fn print(run: &Run, format: ResultFormat) -> Result<()> {
    match format {
        ResultFormat::Table => {
            let terminal = Terminal { columns: console::columns(), color: console::colours() };
            console::print_made(&::report::table::render(run, terminal))
        }
        ResultFormat::Json => console::write_with(|mut out| ::report::json::write(run, &mut out)),
        ResultFormat::Csv => console::write_with(|mut out| ::report::csv::rows(run, &mut out)),
        ResultFormat::Markdown => console::print_made(&::report::table::markdown(run)),
        ResultFormat::CsvStatistics => {
            console::write_with(|mut out| ::report::csv::statistics(run, &mut out))
        }
    }
}
