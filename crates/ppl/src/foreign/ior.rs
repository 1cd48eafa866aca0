//! `ior -a POSIX -b 1m -t 64k -s 16 -F -C -e -w -r -o file` in PPL.

mod job;

use super::command::Command;
use super::options::Options;
use super::page::{After, Page, Start, bytes, place};
use job::{Job, Stonewall};

/// Options with values.
const VALUES: &[&str] = &[
    "a", "A", "b", "d", "D", "f", "G", "i", "j", "J", "l", "M", "N", "o", "O", "Q", "s", "t", "T",
    "U", "X", "-api",
];

/// Letters and their long names.
const LONG: &[(&str, &str)] =
    &[("-api", "a"), ("-collective", "c"), ("-posix.odirect", "B"), ("-dataPacketType", "l")];

/// Options that are in the program or told by [`notes`], or change nothing of what is measured.
const KNOWN: &[&str] = &[
    "a", "b", "t", "s", "o", "w", "r", "W", "R", "F", "C", "c", "e", "Y", "z", "B", "D", "f", "g",
    "i", "k", "K", "N", "O", "Q", "v", "h",
];

const BLOCK: u64 = 1 << 20;
const TRANSFER: u64 = 1 << 18;

pub(super) fn translate(command: &Command<'_>) -> Option<String> {
    let given = Options::read(&command.words, VALUES).with_letters(LONG);
    // Several files are told apart by `@`.
    let files = given.value("o").unwrap_or("testFile");
    let (folder, file) = place(files.split('@').next().unwrap_or(files));
    let job = job(&given, file);
    let start = Start {
        ranks: ranks(command, &given),
        launcher: command.launcher.clone(),
        mpi: job.mpi,
        folder,
        options: match job.write || job.checks() {
            true => given.reps("i"),
            false => format!("{} --prepare", given.reps("i")),
        },
        after: match (job.write, given.has("k")) {
            (_, true) => After::Keep,
            (true, false) => After::Clean,
            (false, false) => After::Stay,
        },
    };
    let mut page = Page::new("IOR", &start);
    if !job.write && job.checks() {
        page.comment(
            "checks what an earlier run with verify=true has written there, such as -w -k -W",
        );
    }
    remarks(&mut page, &given);
    let (block, transfer) = sizes(&given);
    page.param("block", &bytes(block), "-b: bytes of a rank in a segment");
    page.param("transfer", &bytes(transfer.min(block)), "-t: bytes of a call");
    let segments = given.number("s").unwrap_or("1");
    page.param("segments", segments, "-s: number of segments");
    given.others(KNOWN).for_each(|option| page.leaves_out(option));
    notes(&mut page, command, &given, &job);
    job.program(&mut page);
    Some(page.finish())
}

/// The bytes of a block and of a transfer.
fn sizes(given: &Options<'_>) -> (u64, u64) {
    (given.size("b").unwrap_or(BLOCK), given.size("t").unwrap_or(TRANSFER))
}

fn job(given: &Options<'_>, file: String) -> Job {
    let neither = !["w", "r", "W", "R"].iter().any(|name| given.has(name));
    let mpi = api(given).is_some_and(|api| matches!(&api[..], "MPIIO" | "HDF5" | "NCMPI"));
    let collective = given.has("c");
    let limit = given.number("D").filter(|_| !(mpi && collective));
    Job {
        mpi,
        collective,
        own_files: given.has("F"),
        reorder: given.has("C").then(|| nodes_on(given)),
        barriers: given.has("g"),
        fsync: given.has("e"),
        fsync_each: given.has("Y"),
        random: given.has("z"),
        direct: given.has("B"),
        write: neither || given.has("w"),
        read: neither || given.has("r") || given.has("R"),
        check_written: given.has("W"),
        check_read: given.has("R"),
        stonewall: limit.map(|seconds| Stonewall {
            limit: format!("{seconds}s"),
            wear_out: directives(given).any(is_wear_out),
        }),
        file,
    }
}

fn api(given: &Options<'_>) -> Option<String> {
    given.value("a").map(str::to_ascii_uppercase)
}

/// `-Q`: how many nodes on the reader is.
fn nodes_on(given: &Options<'_>) -> u32 {
    given.number("Q").and_then(|nodes| nodes.parse().ok()).unwrap_or(1)
}

/// Ranks that take part: `-N` of those that the launcher starts.
fn ranks(command: &Command<'_>, given: &Options<'_>) -> Option<u64> {
    let part = given.number("N").and_then(|ranks| ranks.parse().ok());
    command.ranks.into_iter().chain(part).min()
}

/// `name=value` of `-O`.
fn directives<'t>(given: &Options<'t>) -> impl Iterator<Item = &'t str> {
    given.values("O").flat_map(|list| list.split(','))
}

fn is_wear_out(directive: &str) -> bool {
    directive.eq_ignore_ascii_case("stoneWallingWearOut=1")
}

/// What concerns the program as a whole.
fn remarks(page: &mut Page, given: &Options<'_>) {
    if let Some(script) = given.value("f") {
        page.comment(&format!(
            "-f {script}: the script was not read, and its settings are missing"
        ));
    }
    let (block, transfer) = sizes(given);
    let (rest, whole) = (bytes(block % transfer), block / transfer);
    if block % transfer > 0 {
        let (block, transfer) = (bytes(block), bytes(transfer));
        page.comment(&format!("IOR refuses -b {block}, which is not a multiple of -t {transfer}:"));
        page.comment(&match whole {
            0 => format!("here a block is one transfer of {rest}"),
            _ => format!("here {whole} transfers of a block, without the last {rest} of it"),
        });
    }
}

/// Options of which the program has a part, or has them in other cases.
fn notes(page: &mut Page, command: &Command<'_>, given: &Options<'_>, job: &Job) {
    let unknown = |name: &str| match name {
        "s" => given.number("s").is_none(),
        name => given.size(name).is_none(),
    };
    for name in ["b", "t", "s"].into_iter().filter(|name| unknown(name)) {
        given.values(name).for_each(|value| page.leaves_out(format!("-{name} {value}")));
    }
    if job.random {
        page.leaves_out("-z across blocks");
    }
    if let Some(files) = given.value("o").filter(|files| files.contains('@')) {
        page.leaves_out(format!("-o {files}: several files"));
    }
    if job.stonewall.is_none()
        && let Some(limit) = given.value("D").filter(|limit| *limit != "0")
    {
        let collective = if job.collective { " with -c" } else { "" };
        page.leaves_out(format!("-D {limit}{collective}"));
    }
    // Without -C it is one of -Z, which is not translated either.
    if let Some(nodes) = given.value("Q").filter(|_| !given.has("C") || given.number("Q").is_none())
    {
        page.leaves_out(format!("-Q {nodes}"));
    }
    let part = given.value("N").filter(|part| {
        let part: Option<u64> = part.parse().ok();
        let is_other = |ranks, part| part > ranks || command.launcher.is_some() && part != ranks;
        part.is_none_or(|part| match command.ranks {
            Some(ranks) => is_other(ranks, part),
            None => command.launcher.is_some(),
        })
    });
    part.iter().for_each(|part| page.leaves_out(format!("-N {part}")));
    let others = directives(given).filter(|directive| !is_wear_out(directive));
    others.for_each(|directive| page.leaves_out(format!("-O {directive}")));
    if let Some(api) = api(given).filter(|api| !matches!(&api[..], "POSIX" | "MPIIO")) {
        let calls = if job.mpi { "calls of MPI-IO" } else { "POSIX calls" };
        page.leaves_out(format!("-a {api}: these are {calls}"));
    }
}
