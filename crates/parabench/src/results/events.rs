//! The event table of a run, from what the ranks recorded.

use crate::error::{Error, Result};
use ::report::events::EventWriter;
use engine::record::RankRecord;
use model::run::Run;
use std::path::Path;

/// Writes DIR/events.parquet from records in the order of ranks, and says in the run what is in it.
pub fn write(
    folder: &Path,
    run: &mut Run,
    records: &mut dyn Iterator<Item = RankRecord>,
) -> Result<()> {
    let failed = |error: ::report::StoreError| Error::failed(error.to_string());
    let mut table = EventWriter::create(folder, &run.run.sites).map_err(failed)?;
    for record in records {
        let labels: Vec<&[u8]> = record.labels.iter().map(|label| &label.path[..]).collect();
        let paths: Vec<&[u8]> = record.paths().collect();
        let host = &run.run.host.name;
        table.rank(record.rank, host, &labels, &paths, record.events()).map_err(failed)?;
    }
    let info = table.finish(run.run.evidence.dropped_events).map_err(failed)?;
    run.run.events = Some(info);
    Ok(())
}
