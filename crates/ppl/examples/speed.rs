//! How fast programs become plans: `cargo run --release -p parabench-ppl --example speed [MODE]`.
//!
//! Generates a program of a million statements and prints what parsing, checking and
//! lowering it took, in MB/s of source, and the peak of memory against the source's size.
//! MODE: `parse` stops after the parser; `show FILE [RANKS]` prints a program's diagnostics and plan.
#![allow(clippy::print_stdout, clippy::disallowed_methods)]

use ppl::source::NoIncludes;
use ppl::{Binding, Sources, compile, listing};
use std::time::Instant;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.first().map(String::as_str) {
        Some("show") => show(&args[1], args.get(2).and_then(|n| n.parse().ok())),
        mode => measure(mode == Some("parse")),
    }
}

fn show(path: &str, ranks: Option<u32>) {
    let text = std::fs::read(path).expect("the program can be read");
    let binding = Binding { ranks_assumed: ranks.is_none(), ..Binding::new(ranks.unwrap_or(4)) };
    let compiled = compile(path, text, &mut NoIncludes, &binding);
    for d in &compiled.diagnostics {
        let (_, line, column) = compiled.sources.locate(d.span.start);
        println!(
            "{path}:{line}:{column}: {} {} [{}]",
            d.code.as_str(),
            d.message,
            d.help.as_deref().unwrap_or("")
        );
    }
    if let Some(plan) = compiled.plan {
        print!("{}", listing(&plan));
    }
}

fn measure(parse_only: bool) {
    let text = generated(1_000_000);
    let megabytes = text.len() as f64 / 1e6;
    let before = peak_mb();
    let start = Instant::now();
    let what = if parse_only {
        let mut sources = Sources::default();
        let (root, _) = sources.add("big.ppl", text.into_bytes());
        let (ast, found) = ppl::parse(&mut sources, root, &mut NoIncludes);
        format!("parse: {} statements, {} diagnostics", ast.stmts.len(), found.len())
    } else {
        let compiled = compile("big.ppl", text.into_bytes(), &mut NoIncludes, &Binding::new(4));
        for d in compiled.diagnostics.iter().take(5) {
            println!("{} {}", d.code.as_str(), d.message);
        }
        let code = compiled.plan.as_ref().map_or(0, |plan| plan.code.len());
        format!("compile: {code} instructions, {} diagnostics", compiled.diagnostics.len())
    };
    let seconds = start.elapsed().as_secs_f64();
    println!("{what}");
    println!("{megabytes:.1} MB in {seconds:.3} s: {:.0} MB/s", megabytes / seconds);
    println!(
        "peak {:.0} MB: {:.1} x source ({before:.0} MB before)",
        peak_mb(),
        peak_mb() / megabytes
    );
}

/// Writes with distinct names, assignments, loops, conditions.
fn generated(statements: usize) -> String {
    use std::fmt::Write;
    let mut text = String::from("$dir = \"data\";\n");
    let mut count = 1;
    let mut i = 0;
    while count < statements {
        let _ = match i % 8 {
            0 => writeln!(text, "write(\"dir-{}/file-{i}\", {});", i % 100, 4096 + i % 7),
            1 => writeln!(text, "$x{} = {i} * 4k + 1;", i % 64),
            2 => writeln!(text, "repeat $i 2 write(\"$dir/f-{i}-$i\", 4k);"),
            3 => writeln!(text, "read(\"dir-{}/file-{}\");", i % 100, i - 3),
            4 => writeln!(text, "stat(\"dir-{}/file-{}\");", i % 100, i - 4),
            5 => writeln!(text, "append(\"$dir/log-$$rank\", 100 + {i});"),
            6 => writeln!(text, "if ($$rank == {}) sleep({i}us);", i % 5),
            _ => writeln!(text, "delete(\"dir-{}/file-{}\");", i % 100, i - 7),
        };
        count += if matches!(i % 8, 2 | 6) { 2 } else { 1 };
        i += 1;
    }
    text
}

/// Peak of resident memory, MB.
fn peak_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kib =
        line.and_then(|line| line.split_whitespace().nth(1)).and_then(|n| n.parse::<f64>().ok());
    kib.unwrap_or(0.0) * 1024.0 / 1e6
}
