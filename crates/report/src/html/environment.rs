//! Everything else about the machine, the storage and the run.

use crate::chart::Unit;
use crate::markup::{Markup, element};
use crate::nodes::{kernels, unlike_storage};
use crate::svg::value_text;
use crate::table::remarks;
use model::Run;
use model::units::significant;

/// The machine, the storage, the run.
pub fn environment(run: &Run) -> Markup {
    let (header, host, evidence) = (&run.run, &run.run.host, &run.run.evidence);
    let memory = (host.memory_bytes > 0).then(|| value_text(host.memory_bytes as f64, Unit::Bytes));
    let processors = match host.cpus {
        0 => host.cpu.clone(),
        cpus => format!("{cpus} x {}", host.cpu),
    };
    let params = header.params.iter().map(|param| format!("{} = {}", param.name, param.value));
    let further = host.directories.iter().map(|further| {
        let scratch = if further.scratch { " (scratch)" } else { "" };
        let storage = remarks::storage_of(&further.storage);
        let storage = storage.map_or(String::new(), |storage| format!(": {storage}"));
        format!("{} = {}{scratch}{storage}", further.name, further.directory)
    });
    let unlike = unlike_storage(run).into_iter().map(|unlike| unlike.text);
    let storage_bytes = |bytes: Option<u64>| {
        bytes.map_or("unknown".into(), |bytes| value_text(bytes as f64, Unit::Bytes))
    };
    let clock = match evidence.clock.as_str() {
        "" => String::new(),
        _ if header.trace.is_some() => String::new(),
        clock => format!("{clock}, {} ns per reading", significant(evidence.clock_read_ns)),
    };
    let seed = if header.trace.is_none() { header.seed.to_string() } else { String::new() };
    list(&[
        ("host", host.name.clone()),
        ("processors", processors),
        ("memory", memory.unwrap_or_default()),
        ("kernel", host.kernel.clone()),
        ("run directory", host.directory.clone()),
        ("mount point", host.storage.mount.clone()),
        ("device", host.storage.device.clone()),
        ("file system", host.storage.file_system.clone()),
        ("mount options", host.storage.mount_options.clone()),
        ("further directories", further.collect::<Vec<_>>().join(", ")),
        ("back-end", header.backend.clone()),
        ("communicator", header.comm.clone()),
        ("MPI job", header.job.as_ref().map_or(String::new(), remarks::job)),
        ("batch job", header.batch.clone()),
        ("elsewhere", remarks::elsewhere(run).unwrap_or_default()),
        ("kernels", header.job.as_ref().and_then(kernels).unwrap_or_default()),
        ("unlike mounts", unlike.collect::<Vec<_>>().join("; ")),
        ("confinement", evidence.confinement.clone()),
        ("clock", clock),
        ("fetched from storage", storage_bytes(evidence.storage_read_bytes)),
        ("sent to storage", storage_bytes(evidence.storage_write_bytes)),
        ("parameters", params.collect::<Vec<_>>().join(", ")),
        ("seed", seed),
        ("started", header.started.clone()),
        ("Parabench", header.parabench.clone()),
        ("run format", run.version.to_string()),
    ])
}

/// Terms and what is known of them; those of which nothing is known stay out.
pub fn list(facts: &[(&str, String)]) -> Markup {
    let known = facts.iter().filter(|(_, text)| !text.is_empty());
    let line = |(term, text): &(&str, String)| {
        [element("dt").text(term), element("dd").text(text)].into_iter().collect::<Markup>()
    };
    element("dl").class("facts").all(known.map(line)).into()
}
