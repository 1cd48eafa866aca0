//! Before anything is touched: does what the plan needs fit what is there?
//!
//! A need that does not fit is an error (exit code 2), an unknown one a note.
//! `--no-preflight` is the caller's: it does not ask.

use crate::{host, limits};
use model::rehearsal::{Peak, Rehearsal};
use model::units::format_bytes;
use rustix::fs::{Access, access, statvfs};
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Descriptors a rank needs besides the program's: streams, record, directory and the like.
const OWN_HANDLES: u64 = 32;

/// How the remark on a rehearsal begins that did not come to the end.
const UNKNOWN: &str = "not all needs of the program are known before it runs";

/// Advice against a lack of any kind.
const SMALLER: &str = "make the program smaller, or start with --no-preflight";

/// Result of the comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Reasons not to start, as sentences.
    pub errors: Vec<String>,
    /// Remarks, as sentences.
    pub notes: Vec<String>,
}

/// Compares what a rehearsal needed with the run directory and this machine. One that did not
/// come to the end only gives remarks. Raises the limit of open files of this process as far as it may.
pub fn preflight(directory: &Path, rehearsal: &Rehearsal) -> Findings {
    judge(&Facts::gather(directory, "--dir", raise_open_files()), &Needs::from_rehearsal(rehearsal))
}

/// Compares what a further directory holds at its fullest with the room there is. `number`: its place
/// among the directories of the plan, from 1 on.
pub fn further(name: &str, directory: &Path, number: usize, rehearsal: &Rehearsal) -> Findings {
    let needs = Needs::in_directory(number, rehearsal);
    let mut found =
        judge(&Facts::gather(directory, &format!("--mount {name}=DIR"), u64::MAX), &needs);
    // That not all is known is said of the run directory.
    found.notes.retain(|note| !note.starts_with(UNKNOWN));
    found
}

/// A directory of a run, and what it holds at its fullest.
#[derive(Clone, Copy, Debug)]
pub struct Room<'a> {
    /// Its name in programs; "" is the run directory.
    pub name: &'a str,
    /// Path of the directory on this machine.
    pub directory: &'a Path,
    /// The most of it at one time.
    pub peak: Peak,
}

/// Compares what directories on one file system hold together with the room there is. What one of
/// them alone lacks is not said again.
pub fn shared(rooms: &[Room<'_>], rehearsal: &Rehearsal) -> Findings {
    let mut systems: BTreeMap<u64, Vec<&Room<'_>>> = BTreeMap::new();
    for room in rooms {
        if let Ok(facts) = std::fs::metadata(room.directory) {
            systems.entry(facts.dev()).or_default().push(room);
        }
    }
    let mut found = Findings::default();
    for rooms in systems.values().filter(|rooms| rooms.len() > 1) {
        let lacking = space(rooms[0].directory).and_then(|free| in_all(rooms, rehearsal, free));
        let is_sure = rooms.iter().all(|room| room.peak.spread_bytes + room.peak.spread_files == 0);
        match rehearsal.complete && !rehearsal.timed && is_sure {
            true => found.errors.extend(lacking),
            false => found.notes.extend(lacking),
        }
    }
    found
}

/// Not all of them are full at the same time, so they need no more than the whole program.
fn in_all(
    rooms: &[&Room<'_>],
    rehearsal: &Rehearsal,
    (free_bytes, free_files): (u64, Option<u64>),
) -> Option<String> {
    let peaks: Vec<Peak> = rooms.iter().map(|room| room.peak).collect();
    let all = Peak::all(&peaks);
    let lacks = |bytes, files| excess((bytes, files), Some(free_bytes), free_files);
    if rooms.iter().any(|room| lacks(room.peak.bytes, room.peak.files).is_some()) {
        return None;
    }
    let (needed, there) =
        lacks(all.bytes.min(rehearsal.peak_bytes), all.files.min(rehearsal.peak_files))?;
    let names = rooms.iter().map(|room| match room.name {
        "" => "the run directory",
        name => name,
    });
    let names = model::words::list(names);
    Some(format!(
        "the program needs {needed} at one time in {names} together, which lie on one file system that has \
         {there}; choose another directory with --dir or --mount, make the program smaller, or start \
         with --no-preflight"
    ))
}

/// The needed bytes if they exceed the free ones, or else the needed files; and what is free, both as texts.
fn excess(
    (bytes, files): (u64, u64),
    free_bytes: Option<u64>,
    free_files: Option<u64>,
) -> Option<(String, String)> {
    if let Some(free) = free_bytes.filter(|free| bytes > *free) {
        return Some((format_bytes(bytes), format!("{} free", format_bytes(free))));
    }
    let free = free_files.filter(|free| files > *free)?;
    Some((
        format!(
            "{counted_files} and directories",
            counted_files = model::words::count(files, "file")
        ),
        format!("room for {free}"),
    ))
}

/// Raises the soft limit of open files to the hard one; the limit that then holds.
/// Forked ranks inherit it.
pub fn raise_open_files() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    let holds = if setrlimit(Resource::Nofile, raised).is_ok() { raised } else { limit };
    holds.current.unwrap_or(u64::MAX)
}

/// Needs of all ranks together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Needs {
    bytes: u64,
    files: u64,
    buffers_bytes: u64,
    /// Open files of the rank that opens most.
    handles: u64,
    /// The rehearsal came to the end of the program.
    complete: bool,
    /// The files may be as large as this: where the rehearsal left iterations out, or if loops with time
    /// limits come as far as in the rehearsal.
    possible: Option<Peak>,
    /// It is because of loops with time limits.
    timed: bool,
}

impl Needs {
    fn from_rehearsal(rehearsal: &Rehearsal) -> Needs {
        let mut needs = Needs::in_directory(0, rehearsal);
        for (ranks, one) in &rehearsal.ranks {
            let each = one.buffer_bytes.max(one.memory_bytes());
            let all = each.saturating_mul(u64::from(ranks.end.saturating_sub(ranks.start)));
            needs.buffers_bytes = needs.buffers_bytes.saturating_add(all);
            needs.handles = needs.handles.max(one.handles);
        }
        needs
    }

    /// Needs of files alone, in the directory with this number.
    fn in_directory(number: usize, rehearsal: &Rehearsal) -> Needs {
        let all =
            Peak { bytes: rehearsal.peak_bytes, files: rehearsal.peak_files, ..Peak::default() };
        let of = |peaks: &[Peak]| match peaks.get(number) {
            None if number == 0 => all,
            peak => peak.copied().unwrap_or_default(),
        };
        let Rehearsal { complete, timed, .. } = *rehearsal;
        let guess = of(&rehearsal.peaks);
        let most = Peak {
            bytes: guess.bytes.saturating_add(guess.spread_bytes),
            files: guess.files.saturating_add(guess.spread_files),
            ..guess
        };
        let sure = if timed { of(&rehearsal.sure_peaks) } else { guess };
        let bytes = sure.bytes.saturating_sub(sure.spread_bytes);
        let files = sure.files.saturating_sub(sure.spread_files);
        let possible = (timed || (bytes, files) != (most.bytes, most.files)).then_some(most);
        Needs { bytes, files, complete, possible, timed, ..Needs::default() }
    }
}

/// Facts about a directory and this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Facts {
    directory: String,
    /// Option that names another directory.
    option: String,
    file_system: String,
    writable: Result<(), Errno>,
    free_bytes: Option<u64>,
    /// `None` where the file system makes inodes as it needs them.
    free_files: Option<u64>,
    open_files_max: u64,
    memory_bytes: Option<u64>,
}

impl Facts {
    fn gather(directory: &Path, option: &str, open_files_max: u64) -> Facts {
        let space = space(directory);
        Facts {
            directory: directory.display().to_string(),
            option: option.into(),
            file_system: host::mount_of(directory).unwrap_or_default().file_system,
            writable: access(directory, Access::WRITE_OK | Access::EXEC_OK),
            free_bytes: space.map(|(bytes, _)| bytes),
            free_files: space.and_then(|(_, files)| files),
            open_files_max,
            memory_bytes: limits::free_memory_bytes(),
        }
    }
}

/// Bytes and inodes that this user may still use (statvfs(3)); `None` where the file system does not report it.
pub(crate) fn space(directory: &Path) -> Option<(u64, Option<u64>)> {
    // Without blocks it does not say (ramfs, some file systems in user space).
    let facts = statvfs(directory).ok().filter(|facts| facts.f_blocks > 0)?;
    let files = (facts.f_files > 0).then_some(facts.f_favail);
    Some((facts.f_bavail.saturating_mul(facts.f_frsize), files))
}

fn judge(facts: &Facts, needs: &Needs) -> Findings {
    let mut found = Findings::default();
    judge_room(facts, needs, &mut found);
    judge_machine(facts, needs, &mut found);
    if !needs.complete {
        found.notes.append(&mut found.errors);
        let least = facts.free_bytes.map_or(String::new(), |free| {
            let (least, free) = (format_bytes(needs.bytes), format_bytes(free));
            format!("; compared {least} of files, which is the least, with {free} free")
        });
        found.notes.push(format!("{UNKNOWN}{least}"));
    }
    if let Err(errno) = facts.writable {
        let number = errno.raw_os_error() as u16;
        found.errors.push(format!(
            "cannot write in {}: {} ({}); choose another directory with {}",
            facts.directory,
            model::errno::text(number),
            model::errno::name(number),
            facts.option
        ));
    }
    found
}

/// Room for files: what the program surely needs, or else what it may need.
fn judge_room(facts: &Facts, needs: &Needs, found: &mut Findings) {
    let Facts { directory, file_system, option, .. } = facts;
    let lacks = |bytes, files| excess((bytes, files), facts.free_bytes, facts.free_files);
    if let Some((needed, there)) = lacks(needs.bytes, needs.files) {
        return found.errors.push(format!(
            "the program needs {needed} at one time, but {directory} ({file_system}) has {there}; \
             choose another directory with {option}, {SMALLER}"
        ));
    }
    let Some((needed, there)) = needs.possible.and_then(|peak| lacks(peak.bytes, peak.files))
    else {
        return;
    };
    let why = match needs.timed {
        true => {
            "how much loops with a time limit write depends on the speed of the storage: in the \
             rehearsal it was"
        }
        false => "the program may need up to",
    };
    found.notes.push(format!(
        "{why} {needed} at one time, and {directory} ({file_system}) has {there}; if it runs full, \
         operations fail with ENOSPC"
    ));
}

/// Open files and memory.
fn judge_machine(facts: &Facts, needs: &Needs, found: &mut Findings) {
    let room = facts.open_files_max.saturating_sub(OWN_HANDLES);
    if needs.handles > room {
        let known = if needs.timed { &mut found.notes } else { &mut found.errors };
        known.push(format!(
            "a rank opens {} files at one time, but the limit allows {room}; \
             raise it (ulimit -Hn), {SMALLER}",
            needs.handles
        ));
    }
    let Some(free) = facts.memory_bytes else { return };
    let free_text = format_bytes(free);
    let in_memory = matches!(&*facts.file_system, "tmpfs" | "ramfs");
    if needs.buffers_bytes > free {
        let needed = format_bytes(needs.buffers_bytes);
        found.errors.push(format!(
            "the buffers of all ranks need {needed}, but this machine has {free_text} of memory \
             free; use smaller requests or with(transfer=...), or start with --no-preflight"
        ));
    } else if in_memory && needs.bytes.saturating_add(needs.buffers_bytes) > free {
        let needed = format_bytes(needs.bytes);
        found.notes.push(format!(
            "{} lies in memory: the program's files need {needed} of the {free_text} that are free",
            facts.directory
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::rehearsal::RankFigures;

    fn facts() -> Facts {
        Facts {
            directory: "/d".into(),
            option: "--dir".into(),
            file_system: "ext4".into(),
            writable: Ok(()),
            free_bytes: Some(1000),
            free_files: Some(10),
            open_files_max: 100,
            memory_bytes: Some(500),
        }
    }

    fn needs() -> Needs {
        Needs {
            bytes: 1000,
            files: 10,
            buffers_bytes: 500,
            handles: 68,
            complete: true,
            possible: None,
            timed: false,
        }
    }

    #[test]
    fn what_fits_exactly_is_fine() {
        assert_eq!(judge(&facts(), &needs()), Findings::default());
    }

    #[test]
    fn everything_that_does_not_fit_is_said() {
        let cases = [
            (facts(), Needs { bytes: 1001, ..needs() }, "needs 1001 B at one time"),
            (facts(), Needs { files: 11, ..needs() }, "needs 11 files"),
            (facts(), Needs { handles: 69, ..needs() }, "opens 69 files at one time"),
            (facts(), Needs { buffers_bytes: 501, ..needs() }, "buffers of all ranks need 501 B"),
            (Facts { writable: Err(Errno::ROFS), ..facts() }, needs(), "(EROFS)"),
        ];
        for (facts, needs, text) in cases {
            let findings = judge(&facts, &needs);
            assert_eq!(findings.errors.len(), 1, "{findings:?}");
            assert!(findings.errors[0].contains(text), "{findings:?}");
        }
    }

    #[test]
    fn unknown_needs_and_files_in_memory_are_notes() {
        let findings = judge(&facts(), &Needs { bytes: 1001, complete: false, ..needs() });
        assert!(findings.errors.is_empty() && findings.notes[0].contains("needs 1001 B"));
        assert!(findings.notes[1].contains("not all needs"));
        let tmpfs = Facts { file_system: "tmpfs".into(), ..facts() };
        let findings = judge(&tmpfs, &needs());
        assert!(findings.errors.is_empty() && findings.notes[0].contains("lies in memory"));
    }

    /// Nobody knows how far a time limit lets a loop come: what it would need is no reason not to start, and
    /// no lower bound either.
    #[test]
    fn what_loops_with_time_limits_need_is_a_note() {
        let peak = |bytes, files| vec![Peak { bytes, files, ..Peak::default() }];
        let judged = |sure, guess| {
            let rehearsal =
                Rehearsal { timed: true, sure_peaks: sure, peaks: guess, ..Rehearsal::default() };
            judge(&facts(), &Needs { complete: true, ..Needs::from_rehearsal(&rehearsal) })
        };
        for (guess, text) in
            [(peak(1 << 40, 3), "was 1 TiB at one time"), (peak(1, 12), "12 files")]
        {
            let found = judged(peak(10, 1), guess);
            assert_eq!((found.errors.len(), found.notes.len()), (0, 1), "{found:?}");
            assert!(found.notes[0].contains(text), "{found:?}");
            assert!(found.notes[0].contains("depends on the speed of the storage"), "{found:?}");
        }
        assert_eq!(judged(peak(10, 1), peak(1000, 10)), Findings::default());
        let found = judged(peak(1001, 1), peak(2000, 1));
        assert_eq!((found.errors.len(), found.notes.len()), (1, 0), "{found:?}");
        let needs =
            Needs { bytes: 7, complete: false, possible: Some(peak(1 << 40, 1)[0]), ..needs() };
        let found = judge(&facts(), &needs);
        assert!(found.notes.iter().any(|note| note.contains("compared 7 B of files")), "{found:?}");
    }

    #[test]
    fn a_figure_with_a_spread_is_an_error_only_if_all_of_it_is_too_much() {
        for (bytes, spread_bytes, errors, notes) in
            [(900, 50, 0, 0), (1200, 150, 1, 0), (1100, 150, 0, 1), (900, 150, 0, 1)]
        {
            let peaks = vec![Peak { bytes, spread_bytes, ..Peak::default() }];
            let rehearsal = Rehearsal { peaks, complete: true, ..Rehearsal::default() };
            let found = judge(&facts(), &Needs::from_rehearsal(&rehearsal));
            assert_eq!((found.errors.len(), found.notes.len()), (errors, notes), "{found:?}");
        }
    }

    #[test]
    fn buffers_add_up_over_ranks_and_files_do_not() {
        let one = RankFigures { buffer_bytes: 100, handles: 4, ..RankFigures::default() };
        let other = RankFigures { buffer_bytes: u64::MAX, handles: 9, ..RankFigures::default() };
        let ranks = vec![(0..3, one), (3..5, other)];
        let rehearsal = Rehearsal { ranks, peak_bytes: 7, peak_files: 3, ..Rehearsal::default() };
        let needs = Needs::from_rehearsal(&rehearsal);
        assert_eq!((needs.bytes, needs.files, needs.handles), (7, 3, 9));
        assert_eq!((needs.buffers_bytes, needs.complete), (u64::MAX, false));
    }

    #[test]
    fn directories_on_one_file_system_share_its_room() {
        let rehearsal = Rehearsal { peak_bytes: 1500, peak_files: 12, ..Rehearsal::default() };
        let room = |name, bytes, files| Room {
            name,
            directory: Path::new("/"),
            peak: Peak { bytes, files, ..Peak::default() },
        };
        let said = |rooms: [Room<'_>; 2], free| {
            in_all(&rooms.iter().collect::<Vec<_>>(), &rehearsal, free).unwrap_or_default()
        };
        let pair = [room("", 900, 6), room("fast", 900, 6)];
        let text = said(pair, (1400, None));
        assert!(
            text.contains("needs 1.46 KiB at one time in the run directory and fast"),
            "{text}"
        );
        assert_eq!(said(pair, (1500, Some(12))), "", "both are never full together");
        assert!(said(pair, (1500, Some(11))).contains("needs 12 files"));
        assert_eq!(
            said([room("", 900, 6), room("fast", 1600, 6)], (1400, None)),
            "",
            "it is said of fast"
        );
        assert_eq!(said([room("", 600, 6), room("fast", 700, 6)], (1300, Some(12))), "");
    }

    #[test]
    fn a_temporary_directory_is_fit_for_a_small_program() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let small =
            Rehearsal { peak_bytes: 1, peak_files: 1, complete: true, ..Rehearsal::default() };
        assert_eq!(preflight(directory.path(), &small), Findings::default());
    }
}
