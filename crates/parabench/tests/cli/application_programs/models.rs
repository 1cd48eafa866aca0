//! The applications once more, in Rust: what each should come to for its parameters and a number of ranks.

use super::model::Model;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A value of the parameters in use.
type Params<'a> = &'a dyn Fn(&str) -> u64;
/// Name, sets of parameters to run with, computation.
type Application =
    (&'static str, &'static [&'static [(&'static str, u64)]], fn(u64, Params<'_>, &mut Model));

const K: u64 = 1 << 10;

pub const APPLICATIONS: &[Application] = &[
    (
        "chunked",
        &[
            &[("rows", 40), ("columns", 4), ("chunk", 16 * K), ("flush", 8), ("maps", 5)],
            &[("rows", 23), ("columns", 3), ("chunk", 1000), ("flush", 5), ("maps", 23)],
        ],
        chunked,
    ),
    (
        "ensemble",
        &[
            &[("cycles", 3), ("steps", 4), ("state", 100 * K), ("history", 8 * K), ("forcing", 9)],
            &[("cycles", 1), ("steps", 1), ("state", 1001), ("history", 1), ("forcing", 1)],
        ],
        ensemble,
    ),
    (
        "genomics",
        &[
            &[("fastq", 512 * K), ("reference", 100 * K), ("memory", 256 * K), ("regions", 4)],
            &[("fastq", 384 * K), ("reference", 1), ("memory", 128 * K), ("regions", 3)],
        ],
        genomics,
    ),
    (
        "log-store",
        &[
            &[("commits", 256), ("bytes", 4 * K), ("table", 64 * K), ("fan", 4), ("lookups", 50)],
            &[("commits", 110), ("bytes", 2 * K), ("table", 20 * K), ("fan", 3), ("lookups", 7)],
        ],
        log_store,
    ),
    ("mail", &[&[("messages", 30)], &[("messages", 7)]], mail),
    (
        "object-store",
        &[&[("files", 24), ("commits", 8)], &[("files", 3), ("commits", 2)]],
        object_store,
    ),
    ("producers", &[&[("items", 12), ("bytes", 9 * K)], &[("items", 3), ("bytes", 1)]], producers),
    (
        "quota",
        &[
            &[("objects", 60), ("limit", 9 << 20), ("low", 75)],
            &[("objects", 100), ("limit", 12_000_000), ("low", 50)],
        ],
        quota,
    ),
    (
        "restart",
        &[
            &[("cells", 1000), ("bytes", 4 * K), ("variables", 4), ("readers", 0)],
            &[("cells", 37), ("bytes", 96), ("variables", 3), ("readers", 1)],
        ],
        restart,
    ),
    (
        "tasks",
        &[
            &[("tasks", 20), ("input", 64 * K), ("output", 16 * K)],
            &[("tasks", 5), ("input", 1), ("output", 7)],
        ],
        tasks,
    ),
    (
        "training",
        &[
            &[("classes", 4), ("samples", 15), ("epochs", 3), ("batch", 4), ("model", 50_000)],
            &[("classes", 2), ("samples", 3), ("epochs", 1), ("batch", 1), ("model", 1)],
        ],
        training,
    ),
    (
        "video",
        &[
            &[
                ("segments", 9),
                ("keep", 6),
                ("groups", 2),
                ("frames", 9),
                ("large", K),
                ("small", 99),
            ],
            &[
                ("segments", 2),
                ("keep", 3),
                ("groups", 1),
                ("frames", 1),
                ("large", 7),
                ("small", 1),
            ],
        ],
        video,
    ),
];

fn genomics(ranks: u64, param: Params<'_>, run: &mut Model) {
    let (fastq, block) = (param("fastq"), 64 * K);
    let (runs, share) = (2 * fastq / param("memory"), 2 * fastq / param("regions"));
    run.write("reference", param("reference"));
    for dir in (0..ranks).map(|rank| format!("sample-{rank}")) {
        run.calls("mkdir");
        run.write(format!("{dir}/R1.fastq.gz"), fastq);
        run.write(format!("{dir}/R2.fastq.gz"), fastq);
        run.moves("read", param("reference"));
        // Both ends, all runs, and the result of the merger.
        run.many(2 + runs + 1, "fopen", 0);
        run.many(2 + runs + 1, "fclose", 0);
        run.many(runs, "write", param("memory"));
        // All reads of the genome once from FASTQ and once from the runs.
        run.many(2 * (2 * fastq / block), "fread", block);
        run.many(2 * fastq / block, "fwrite", block);
        run.many(runs, "delete", 0);
        run.leaves(format!("{dir}/sorted.bam"), 2 * fastq);
        run.moves("read", 2 * fastq);
        run.write(format!("{dir}/sorted.bam.bai"), fastq / 512);
        for _ in 0..param("regions") {
            run.moves("read", fastq / 512);
            run.moves("read", share);
            run.moves("write", share / 32);
            run.moves("copy", share / 32);
            run.calls("delete");
        }
        run.leaves(format!("{dir}/all.vcf.gz"), share / 32 * param("regions"));
    }
}

fn log_store(ranks: u64, param: Params<'_>, run: &mut Model) {
    let (table, block) = (param("table"), 4 * K);
    let per_log = table / param("bytes");
    for rank in 0..ranks {
        run.calls("mkdir");
        // The levels of the tree: of each file its last flush and its bytes.
        let mut levels: Vec<Vec<(u64, u64)>> = vec![Vec::new()];
        let mut manifest = 0;
        for flush in 1..=param("commits") / per_log {
            run.calls("fopen");
            run.many(per_log, "fwrite", param("bytes"));
            run.many(per_log, "fdatasync", 0);
            run.calls("fclose");
            run.moves("write", table);
            run.moves("append", 64);
            run.calls("delete");
            manifest += 64;
            levels[0].push((flush, table));
            let mut level = 0;
            while levels[level].len() as u64 == param("fan") {
                let merged = std::mem::take(&mut levels[level]);
                let bytes: u64 = merged.iter().map(|(_, bytes)| bytes).sum();
                let files = merged.len() as u64;
                run.many(files + 1, "fopen", 0);
                run.many(files + 1, "fclose", 0);
                run.many(files, "delete", 0);
                run.many(bytes / block, "fread", block);
                run.many(bytes / block, "fwrite", block);
                run.moves("append", 64);
                manifest += 64;
                level += 1;
                levels.resize(levels.len().max(level + 1), Vec::new());
                levels[level].push((flush, bytes));
            }
        }
        run.leaves(format!("shard-{rank}/MANIFEST"), manifest);
        run.moves("read", manifest);
        run.calls("readdir");
        for (level, (last, bytes)) in levels
            .iter()
            .enumerate()
            .flat_map(|(level, files)| files.iter().map(move |file| (level, *file)))
        {
            run.calls("fopen");
            run.moves("fread", block);
            run.calls("fclose");
            run.leaves(format!("shard-{rank}/{level}-{last:06}.sst"), bytes);
        }
        run.many(param("lookups"), "fread", block);
    }
}

fn mail(ranks: u64, param: Params<'_>, run: &mut Model) {
    let sizes = [2 * K, 4 * K, 4 * K, 8 * K, 75 * K];
    let mut boxes = vec![BTreeMap::new(); ranks as usize];
    for host in 0..ranks {
        run.many(4, "mkdir", 0);
        for i in 0..param("messages") {
            let bytes = sizes[i as usize % sizes.len()];
            let to = (host + i) % ranks;
            boxes[to as usize].insert(format!("user-{to}/cur/{i:06}.M{i}.host{host}:2,S"), bytes);
            run.calls("stat");
            run.moves("write", bytes);
            run.calls("link");
            run.calls("delete");
        }
    }
    for messages in boxes {
        run.many(3, "readdir", 0);
        for (number, (name, bytes)) in messages.into_iter().enumerate() {
            run.many(2, "rename", 0);
            run.calls("stat");
            run.moves("read", bytes);
            if number % 2 == 0 {
                run.calls("delete");
            } else {
                run.leaves(name, bytes);
            }
        }
    }
}

fn object_store(ranks: u64, param: Params<'_>, run: &mut Model) {
    let sizes = [200, 700, 3 * K, 12 * K, 60 * K];
    for rank in 0..ranks {
        run.many(2, "mkdir", 0);
        let mut known = BTreeSet::new();
        let mut heads = BTreeSet::new();
        for commit in 0..param("commits") {
            for file in 0..param("files") {
                // Multiplicative hashing of the file and its version (Knuth).
                let hash =
                    ((file * 1000 + commit / (1 + file % 4)) as u32).wrapping_mul(2_654_435_761);
                if !known.insert(hash) {
                    run.calls("lookup");
                    run.calls("utime");
                    continue;
                }
                run.expected("lookup");
                if heads.insert(hash >> 24) {
                    run.expected("fopen");
                    run.calls("mkdir");
                }
                run.calls("fopen");
                run.moves("fwrite", sizes[hash as usize % sizes.len()]);
                run.calls("fclose");
                run.calls("link");
                run.calls("delete");
            }
        }
        let objects = known.len() as u64;
        let mut pack = 12;
        run.moves("fwrite", 12);
        for bytes in known.iter().map(|hash| sizes[*hash as usize % sizes.len()]) {
            run.moves("read", bytes);
            run.moves("fwrite", bytes);
            run.calls("delete");
            pack += bytes;
        }
        run.many(1 + heads.len() as u64, "readdir", 0);
        run.many(heads.len() as u64, "rmdir", 0);
        run.moves("fwrite", 20);
        // The pack is written, then read.
        run.many(2, "fopen", 0);
        run.many(2, "fclose", 0);
        run.write(format!("clone-{rank}/pack-1.idx"), 1032 + 28 * objects + 40);
        run.many(2, "rename", 0);
        run.leaves(format!("clone-{rank}/pack-1.pack"), pack + 20);
        run.moves("read", 1032 + 28 * objects + 40);
        run.many(objects, "fread", 200);
    }
}

fn restart(ranks: u64, param: Params<'_>, run: &mut Model) {
    let cells = param("cells");
    let readers = if param("readers") == 0 { ranks.div_ceil(2) } else { param("readers") };
    // The part of `parts` that a cell belongs to.
    let owner = |cell: u64, parts: u64| (0..parts).find(|part| cell < (part + 1) * cells / parts);
    let mut written = vec![0; ranks as usize];
    let mut shared = BTreeSet::new();
    for cell in 0..cells {
        let writer = owner(cell, ranks).expect("every cell has an owner");
        written[writer as usize] += param("bytes");
        shared.insert((owner(cell, readers), writer));
    }
    for (writer, bytes) in written.iter().enumerate() {
        run.calls("fopen");
        run.many(param("variables"), "fwrite", 0);
        run.calls("fclose");
        run.leaves(format!("state.{writer:05}"), *bytes);
    }
    run.write("manifest.new", 16 * ranks);
    run.rename("manifest.new", "manifest");
    run.many(readers, "read", 16 * ranks);
    run.many(shared.len() as u64, "fopen", 0);
    run.many(shared.len() as u64 * param("variables"), "fread", 0);
    run.many(shared.len() as u64, "fclose", 0);
    // Every cell once, whoever holds it.
    for op in ["fwrite", "fread"] {
        run.counts.get_mut(op).expect("counted").bytes = cells * param("bytes");
    }
}

fn training(ranks: u64, param: Params<'_>, run: &mut Model) {
    let sizes = [32 * K, 64 * K, 100 * K, 110 * K, 240 * K];
    run.many(1 + param("classes"), "mkdir", 0);
    run.many(ranks * (1 + param("classes")), "readdir", 0);
    for i in 0..param("classes") * param("samples") {
        let bytes = sizes[i as usize % sizes.len()];
        run.write(format!("train/n{:04}/{i:08}.jpeg", i / param("samples")), bytes);
        run.many(param("epochs"), "read", bytes);
    }
    for epoch in 0..param("epochs") {
        run.write("model.new", param("model"));
        run.rename("model.new", format!("model-{epoch}.pt"));
        if epoch >= 2 {
            run.delete(&format!("model-{}.pt", epoch - 2));
        }
    }
}

fn producers(ranks: u64, param: Params<'_>, run: &mut Model) {
    run.calls("mkdir");
    // Whoever takes it, an item is made, looked at, read and removed once.
    for _ in 0..(ranks / 2).max(1) * param("items") {
        for op in ["write", "read"] {
            run.moves(op, param("bytes"));
        }
        for op in ["rename", "stat", "delete"] {
            run.calls(op);
        }
    }
    run.calls("rmdir");
}

fn ensemble(ranks: u64, param: Params<'_>, run: &mut Model) {
    let (cycles, state) = (param("cycles"), param("state"));
    let history = param("steps") * param("history");
    run.many(ranks + 1, "mkdir", 0);
    run.write("shared/observations", 8 * K * cycles);
    for rank in 0..ranks {
        run.write(format!("member-{rank}/namelist"), 2 * K);
        run.write(format!("member-{rank}/state"), state);
    }
    for cycle in 0..cycles {
        run.write(format!("shared/boundary-{cycle:03}"), param("forcing"));
        run.write(format!("mean-{cycle:03}"), history);
        for rank in 0..ranks {
            for bytes in [2 * K, param("forcing"), state, 8 * K, history] {
                run.moves("read", bytes);
            }
            run.calls("fopen");
            run.many(param("steps"), "fwrite", param("history"));
            run.calls("fclose");
            run.leaves(format!("member-{rank}/history-{cycle:03}"), history);
            run.moves("write", state);
            run.calls("rename");
            run.many(ranks, "fopen", 0);
            run.many(ranks - 1, "fread", 0);
            run.many(ranks - 1, "fwrite", 0);
            run.many(ranks, "fclose", 0);
            // The parts of all ranks are the whole of a state.
            run.moves("fread", state);
            run.moves("fwrite", state);
        }
    }
}

fn tasks(ranks: u64, param: Params<'_>, run: &mut Model) {
    run.many(3, "mkdir", 0);
    run.many(ranks + 1, "readdir", 0);
    for task in 0..param("tasks") {
        run.moves("write", param("input"));
        // One worker gets the lock, all others find it taken.
        run.calls("fopen");
        (1..ranks).for_each(|_| run.expected("fopen"));
        run.moves("fwrite", 32);
        run.calls("fclose");
        run.moves("read", param("input"));
        run.write("part", param("output"));
        run.rename("part", format!("done/task-{task:05}"));
        run.moves("read", param("output"));
        run.many(2, "delete", 0);
    }
}

fn chunked(ranks: u64, param: Params<'_>, run: &mut Model) {
    let (rows, columns, chunk) = (param("rows"), param("columns"), param("chunk"));
    for rank in 0..ranks {
        run.many(2, "fopen", 0);
        run.many(2, "fclose", 0);
        let mut changed = BTreeSet::new();
        let mut nodes = BTreeSet::new();
        for row in 0..rows {
            for i in row * columns..(row + 1) * columns {
                run.moves("fwrite", chunk);
                changed.insert(i / 64);
                nodes.insert(i / 64);
            }
            if (row + 1) % param("flush") == 0 || row + 1 == rows {
                std::mem::take(&mut changed).iter().for_each(|_| run.moves("fwrite", 2 * K));
                run.moves("fwrite", 544);
                run.moves("fwrite", 96);
            }
        }
        let nodes = nodes.len() as u64;
        run.leaves(format!("steps-{rank}.h5"), 96 + 544 + nodes * 2 * K + rows * columns * chunk);
        [8, 96, 544].iter().for_each(|bytes| run.moves("fread", *bytes));
        run.many(nodes, "fread", 2 * K);
        run.many(param("maps") * columns + rows, "fread", chunk);
    }
}

fn video(ranks: u64, param: Params<'_>, run: &mut Model) {
    let frames = [param("large")].into_iter().chain((1..param("frames")).map(|_| param("small")));
    let frames: Vec<u64> = (0..param("groups")).flat_map(|_| frames.clone()).collect();
    let bytes = frames.iter().sum();
    for camera in 0..ranks {
        run.calls("mkdir");
        let mut ring = VecDeque::new();
        for segment in 0..param("segments") {
            run.calls("fopen");
            frames.iter().for_each(|frame| run.moves("fwrite", *frame));
            run.calls("fclose");
            let name = format!("camera-{camera}/{segment:06}.ts");
            run.leaves(&name, bytes);
            ring.push_back(name);
            let list = 64 + 40 * (ring.len() as u64).min(param("keep"));
            run.write("tmp", list);
            run.rename("tmp", format!("camera-{camera}/live.m3u8"));
            if ring.len() as u64 > param("keep") {
                run.delete(&ring.pop_front().expect("a segment"));
            }
            run.moves("read", list);
            run.moves("read", bytes);
        }
        let kept = ring.len() as u64;
        run.many(kept, "read", bytes);
        run.many(kept, "append", bytes);
        run.leaves(format!("camera-{camera}/incident.ts"), kept * bytes);
    }
}

fn quota(ranks: u64, param: Params<'_>, run: &mut Model) {
    let sizes = [16 * K, 40 * K, 100 * K, 256 * K];
    let share = param("limit") / ranks;
    for rank in 0..ranks {
        run.calls("mkdir");
        let mut cache: VecDeque<(String, u64)> = VecDeque::new();
        let used =
            |cache: &VecDeque<(String, u64)>| cache.iter().map(|(_, bytes)| bytes).sum::<u64>();
        for i in 0..param("objects") {
            let bytes = sizes[i as usize % sizes.len()];
            if used(&cache) + bytes > share {
                while used(&cache) + bytes > share * param("low") / 100 {
                    run.delete(&cache.pop_front().expect("an object").0);
                }
            }
            let name = format!("cache-{rank}/object-{i}");
            run.write(&name, bytes);
            cache.push_back((name, bytes));
            // The eighth youngest, or the oldest that is still there.
            run.moves("read", cache[cache.len().saturating_sub(8)].1);
        }
    }
}
