//! Speed of importing a generated log of strace.

use crate::Result;
use crate::figure::{Figure, Goal};
use crate::language::processor_s;
use crate::product::Scratch;
use std::fs;
use std::io::{BufWriter, Write};
use std::path::Path;
use trace::{Options, Which, import};

const LINES: u64 = 2_000_000;
const FILES: u64 = 1000;
const RUNS: usize = 5;

/// Million lines per second of processor time: from text to sorted events.
pub fn traces(place: &Scratch) -> Result<Vec<Figure>> {
    let file = place.path().join("generated.strace");
    write_log(&file)?;
    let rates = (0..RUNS).map(|_| imported(&file)).collect::<Result<Vec<f64>>>()?;
    fs::remove_file(&file)?;
    let name = "import strace, 2 * 10^6 lines of 1,000 files";
    Ok(vec![Figure::measured(name, &rates, " M lines/s", Goal::AtLeast(1.0))])
}

fn imported(file: &Path) -> Result<f64> {
    let options = Options { format: None, which: Which::Data };
    let start_s = processor_s()?;
    let imported = import(&[file.into()], &options)?;
    let mut events = 0;
    for event in imported.events {
        event?;
        events += 1;
    }
    if events != LINES {
        return Err(format!("{events} events of {LINES} lines").into());
    }
    Ok(LINES as f64 / 1e6 / (processor_s()? - start_s))
}

/// Opens, then reads with offsets, writes, questions for attributes and seeks in turn.
fn write_log(file: &Path) -> Result<()> {
    let mut out = BufWriter::new(fs::File::create(file)?);
    for line in 0..LINES {
        let (file, us) = (line % FILES, line * 30);
        let (fd, path) = (file + 3, format!("/data/dir{}/file-{file}", file % 10));
        let offset = line * 512;
        let call = match line / FILES {
            0 => {
                format!("openat(AT_FDCWD</data>, \"{path}\", O_RDWR|O_CREAT, 0644) = {fd}<{path}>")
            }
            turn => match turn % 4 {
                0 => format!("pread64({fd}<{path}>, \"\"..., 4096, {offset}) = 4096"),
                1 => format!("write({fd}<{path}>, \"\"..., 8192) = 8192"),
                2 => format!(
                    "newfstatat(AT_FDCWD</data>, \"{path}\", {{st_mode=S_IFREG|0644, st_size=8192, ...}}, 0) = 0"
                ),
                _ => format!("lseek({fd}<{path}>, {offset}, SEEK_SET) = {offset}"),
            },
        };
        let (second, us) = (1_795_253_061 + us / 1_000_000, us % 1_000_000);
        writeln!(out, "17367 {second}.{us:06} {call} <0.000012>")?;
    }
    Ok(out.flush()?)
}
