//! Packs the script, which is by far the largest file of the binary: browsers unpack it.

use flate2::{Compression, write::GzEncoder};
use std::io::Write;
use std::path::Path;
use std::{env, fs};

const SCRIPT: &str = "../../web/dist/studio.js";

fn main() {
    println!("cargo::rerun-if-changed={SCRIPT}");
    let script = fs::read(SCRIPT).unwrap_or_else(|error| panic!("{SCRIPT}: {error}"));
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    packed.write_all(&script).expect("memory takes it");
    let packed = packed.finish().expect("memory takes it");
    let place = Path::new(&env::var("OUT_DIR").expect("cargo sets OUT_DIR")).join("studio.js.gz");
    fs::write(place, packed).expect("the build directory can be written");
}
