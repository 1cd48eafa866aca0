//! The tables of a run, from what the ranks recorded.

use crate::error::Result;
use ::report::events::{EventWriter, Origin};
use engine::recorder::RankRecord;
use model::run::{EventsInfo, Evidence, Run, VERSION};
use std::borrow::Borrow;
use std::path::Path;

/// Writes DIR/events.parquet from records in the order of ranks, and says in the run what is in it.
pub fn write_events<R: Borrow<RankRecord>>(
    folder: &Path,
    run: &mut Run,
    records: &mut dyn Iterator<Item = R>,
) -> Result<()> {
    let mut table = EventWriter::create(folder, &run.run.sites)?;
    let mut left_out = 0;
    for record in records {
        let record: &RankRecord = record.borrow();
        left_out += record.header.left_out_events;
        let labels: Vec<&[u8]> = record.labels.iter().map(|label| &label.path[..]).collect();
        let paths: Vec<_> = record.paths().map(|path| run.run.host.named(path)).collect();
        let origin =
            Origin { rank: record.rank, host: run.run.host_of(record.rank), ..Origin::default() };
        table.extents(&record.extents);
        table.rank(&origin, &labels, &paths, record.events())?;
    }
    finish(table, run, left_out)
}

/// Ends a table of events, and says in the run what is in it.
pub fn finish(table: EventWriter, run: &mut Run, left_out: u64) -> Result<()> {
    let info = table.finish()?;
    let sample_every = run.run.events.as_ref().map_or(1, |asked| asked.sample_every.max(1));
    let dropped = run.run.evidence.dropped_events;
    run.run.events = Some(EventsInfo { dropped, sample_every, left_out, ..info });
    Ok(())
}

/// Puts what the ranks measured into a run whose header is there. Evidence that only
/// the parent has (clock, confinement, notes of its own) stays.
pub fn fill(run: &mut Run, collected: engine::collect::Collected) {
    run.version = VERSION;
    run.rows = collected.rows;
    run.labels = collected.labels;
    run.times = collected.times;
    let header = &mut run.run;
    header.times_more = collected.times_more;
    header.shares = collected.shares;
    header.arrivals = collected.arrivals;
    header.failures = collected.failures;
    header.rank_errors = collected.rank_errors;
    header.name_directories();
    header.scores = collected.scores;
    header.sites = collected.sites;
    header.duration_wall_ns = collected.duration_wall_ns;
    let own = std::mem::take(&mut header.evidence);
    let mut notes = own.notes;
    notes.extend(collected.evidence.notes);
    header.evidence = Evidence {
        clock: own.clock,
        clock_read_ns: own.clock_read_ns,
        clock_skew_ns: own.clock_skew_ns,
        confinement: own.confinement,
        options_without_effect: own.options_without_effect,
        notes,
        ..collected.evidence
    };
}
