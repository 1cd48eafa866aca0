//! The applications once more, in Rust: what each should come to for its parameters and a number of ranks.

use super::model::Model;
use std::collections::{BTreeMap, BTreeSet};

/// A value of the parameters in use.
type Params<'a> = &'a dyn Fn(&str) -> u64;
/// Name, sets of parameters to run with, computation.
type Application =
    (&'static str, &'static [&'static [(&'static str, u64)]], fn(u64, Params<'_>, &mut Model));

const K: u64 = 1 << 10;

pub const APPLICATIONS: &[Application] = &[
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
    (
        "restart",
        &[
            &[("cells", 1000), ("bytes", 4 * K), ("variables", 4), ("readers", 0)],
            &[("cells", 37), ("bytes", 96), ("variables", 3), ("readers", 1)],
        ],
        restart,
    ),
    (
        "training",
        &[
            &[("classes", 4), ("samples", 15), ("epochs", 3), ("batch", 4), ("model", 50_000)],
            &[("classes", 2), ("samples", 3), ("epochs", 1), ("batch", 1), ("model", 1)],
        ],
        training,
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
