//! Runs programs with the binary `parabench` and reads what its report says.

use crate::Result;
use crate::raw::Timed;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Where it runs: a fresh directory in memory, because a disk would be all that is seen.
pub struct Scratch {
    directory: tempfile::TempDir,
    binaries: PathBuf,
}

/// What a run took.
pub struct Outcome {
    report: Value,
    /// Largest resident memory of one process, bytes.
    pub peak_bytes: f64,
}

impl Scratch {
    /// A directory below /dev/shm, or the directory for temporary files if there is none.
    pub fn new() -> Result<Scratch> {
        let memory = Path::new("/dev/shm");
        let parent = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let directory = tempfile::Builder::new().prefix("parabench-bench-").tempdir_in(parent)?;
        let this = std::env::current_exe()?;
        let binaries = this.parent().ok_or("this binary lies in no directory")?.to_owned();
        if !binaries.join("parabench").exists() {
            return Err("no binary parabench beside this one: use make bench".into());
        }
        Ok(Scratch { directory, binaries })
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Runs a program with more arguments and gives its report.
    pub fn run(&self, program: &str, args: &[&str]) -> Result<Outcome> {
        let file = self.path().join("program.ppl");
        std::fs::write(&file, program)?;
        let output = Command::new(self.binaries.join("benches"))
            .args(["worker", "peak"])
            .arg(self.binaries.join("parabench"))
            .args(["run", "program.ppl", "--format", "json", "--quiet"])
            .args(args)
            .current_dir(self.path())
            .stderr(Stdio::inherit())
            .output()?;
        if !output.status.success() {
            return Err(format!("parabench run {args:?} failed on {program}").into());
        }
        let end = output.stdout.iter().position(|byte| *byte == b'\n').ok_or("no output")?;
        let (peak, report) = output.stdout.split_at(end);
        Ok(Outcome {
            report: serde_json::from_slice(report)?,
            peak_bytes: std::str::from_utf8(peak)?.parse()?,
        })
    }

    /// Runs raw loops in as many processes at the same time; a list of times for each.
    pub fn raw(&self, words: &[&str], processes: usize) -> Result<Vec<Vec<Timed>>> {
        let scratch = tempfile::tempdir_in(self.path())?;
        let start = |rank: usize| {
            let (loops, rest) = words.split_first().expect("the loops' name");
            Command::new(self.binaries.join("benches"))
                .args(["worker", loops, &rank.to_string()])
                .args(rest)
                .current_dir(scratch.path())
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
        };
        let mut children = (0..processes).map(start).collect::<std::io::Result<Vec<_>>>()?;
        let mut outputs = Vec::new();
        for child in &mut children {
            let mut output = BufReader::new(child.stdout.take().ok_or("no output")?);
            output.read_line(&mut String::new())?;
            outputs.push(output);
        }
        for child in &mut children {
            child.stdin.take().ok_or("no input")?.write_all(b"go\n")?;
        }
        children.iter_mut().zip(outputs).map(|(child, output)| times(child, output)).collect()
    }

    /// The binary under test.
    pub fn parabench(&self) -> PathBuf {
        self.binaries.join("parabench")
    }

    /// The path of the product.
    pub fn product(&self) -> PathBuf {
        self.binaries.join("parabench")
    }

    /// The path of this binary.
    pub fn own_binary(&self) -> PathBuf {
        self.binaries.join("benches")
    }
}

fn times(child: &mut Child, mut output: impl Read) -> Result<Vec<Timed>> {
    let mut text = String::new();
    output.read_to_string(&mut text)?;
    if !child.wait()?.success() {
        return Err("a raw loop failed".into());
    }
    text.lines().map(time).collect()
}

fn time(line: &str) -> Result<Timed> {
    let mut words = line.splitn(3, ' ');
    let mut next = || words.next().ok_or("a line is too short");
    let (start_ns, end_ns) = (next()?.parse()?, next()?.parse()?);
    Ok((next()?.to_owned(), start_ns, end_ns))
}

impl Outcome {
    /// From the report of a run that was started another way; its memory is not known.
    pub fn read(report: &[u8]) -> Result<Outcome> {
        Ok(Outcome { report: serde_json::from_slice(report)?, peak_bytes: f64::NAN })
    }

    /// Nanoseconds of every occurrence of a label, on the slowest rank.
    pub fn occurrences_ns(&self, label: &str) -> Result<Vec<f64>> {
        let times = self.report["times"].as_array().ok_or("no times in the report")?;
        let rows = times.iter().filter(|row| row["label"] == label);
        Ok(rows.filter_map(|row| row["max_ns"].as_f64()).collect())
    }

    /// Nanoseconds of a label that occurs once, on the slowest rank.
    pub fn label_ns(&self, label: &str) -> Result<f64> {
        let first = self.occurrences_ns(label)?.first().copied();
        first.ok_or_else(|| format!("no label {label} in the report").into())
    }

    /// Processor time of all ranks.
    pub fn cpu_ns(&self) -> Result<f64> {
        let cpu_ns = self.report["run"]["evidence"]["cpu_ns"].as_f64();
        cpu_ns.ok_or_else(|| "no processor time in the report".into())
    }

    /// Executions over all rows that are not parts of others.
    pub fn operations(&self) -> Result<f64> {
        let rows = self.report["rows"].as_array().ok_or("no rows in the report")?;
        let whole = rows.iter().filter(|row| row["part_of"].is_null());
        Ok(whole.filter_map(|row| row["count"].as_f64()).sum())
    }
}
