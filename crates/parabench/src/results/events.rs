//! The event table of a run, from what the ranks recorded.

use crate::error::{Error, Result};
use ::report::events::{EventWriter, Origin};
use engine::record::RankRecord;
use model::run::{EventsInfo, Run};
use std::borrow::Borrow;
use std::path::Path;

/// Writes DIR/events.parquet from records in the order of ranks, and says in the run what is in it.
pub fn write<R: Borrow<RankRecord>>(
    folder: &Path,
    run: &mut Run,
    records: &mut dyn Iterator<Item = R>,
) -> Result<()> {
    let failed = |error: ::report::StoreError| Error::failed(error.to_string());
    let mut table = EventWriter::create(folder, &run.run.sites).map_err(failed)?;
    let mut left_out = 0;
    for record in records {
        let record: &RankRecord = record.borrow();
        left_out += record.header.left_out_events;
        let labels: Vec<&[u8]> = record.labels.iter().map(|label| &label.path[..]).collect();
        let paths: Vec<_> = record.paths().map(|path| run.run.host.named(path)).collect();
        let origin =
            Origin { rank: record.rank, host: run.run.host_of(record.rank), ..Origin::default() };
        table.extents(&record.extents);
        table.rank(&origin, &labels, &paths, record.events()).map_err(failed)?;
    }
    let info = table.finish().map_err(failed)?;
    let sample_every = run.run.events.as_ref().map_or(1, |asked| asked.sample_every.max(1));
    let dropped = run.run.evidence.dropped_events;
    run.run.events = Some(EventsInfo { dropped, sample_every, left_out, ..info });
    Ok(())
}
