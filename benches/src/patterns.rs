//! Speed of making the pieces of patterns.

use crate::Result;
use crate::figure::{Figure, Goal, median, range, three};
use crate::product::Scratch;
use model::pattern::{Extent, MAX_STEPS};
use ppl::source::NoIncludes;
use ppl::{Binding, compile};
use std::hint::black_box;
use std::time::Instant;

/// Pieces of one member.
const PIECES: u64 = 20_000_000;
const RUNS: usize = 7;

/// Millions of extents a second of one member of 64, one after the other.
pub fn patterns(_place: &Scratch) -> Result<Vec<Figure>> {
    let strided = format!("strided(block=4k, count={PIECES})");
    let tiled =
        format!("tiled(nx=8, ny=8, sx=1024, sy={PIECES}, elem=32, ox=16, oy=16, header=512)");
    [strided, tiled].iter().map(|definition| rate(definition)).collect()
}

fn rate(definition: &str) -> Result<Figure> {
    let program = format!("define pattern \"p\" = {definition};").into_bytes();
    let plan = compile("patterns", program, &mut NoIncludes, &Binding::new(64)).plan;
    let plan = plan.ok_or("the pattern does not compile")?;
    let pattern = plan.patterns.first().ok_or("there is no pattern")?;
    let mut rates = Vec::with_capacity(RUNS);
    for _ in 0..RUNS {
        let start = Instant::now();
        let share = pattern.share(&plan, 17, 64, MAX_STEPS)?;
        let sum = walk(share.extents());
        let seconds = start.elapsed().as_secs_f64();
        if sum.length_bytes != share.bytes() {
            return Err("the extents do not add up".into());
        }
        rates.push(PIECES as f64 / 1e6 / seconds);
    }
    Ok(Figure {
        name: format!("extents of {}", pattern.kind()),
        raw: String::new(),
        product: format!("{} M/s", three(median(&rates))),
        result: median(&rates),
        range: Some(range(&rates)),
        unit: " M/s",
        goal: Goal::AtLeast(50.0),
    })
}

/// Takes every piece in hand, so that none is optimized away.
fn walk(extents: impl Iterator<Item = Extent>) -> Extent {
    let mut sum = Extent::default();
    for extent in extents {
        let extent = black_box(extent);
        sum.offset_bytes ^= extent.offset_bytes;
        sum.length_bytes += extent.length_bytes;
    }
    sum
}
