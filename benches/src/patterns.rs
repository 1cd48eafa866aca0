//! Speed of making the pieces of patterns.

use crate::Result;
use crate::figure::{Figure, Goal, median, range, three};
use crate::product::Scratch;
use model::pattern::{Extent, Geometry, Shape, Strided, Tiled};
use std::hint::black_box;
use std::time::Instant;

/// Pieces of one member.
const PIECES: u64 = 20_000_000;
const RUNS: usize = 7;

/// Millions of extents a second of one member of 64, one after the other.
pub fn patterns(_place: &Scratch) -> Result<Vec<Figure>> {
    let strided = Strided { block_bytes: 4096, count: PIECES, ..Strided::default() };
    let tiled = Tiled {
        tiles: [8, 8],
        tile: [1024, PIECES],
        element_bytes: 32,
        overlap: [16, 16],
        header_bytes: 512,
    };
    let kinds = [Geometry::Strided(strided), Geometry::Tiled(tiled)];
    kinds.iter().map(rate).collect()
}

fn rate(geometry: &Geometry) -> Result<Figure> {
    let shape = geometry.shape().ok_or("a generator has no shape")?;
    shape.check(64)?;
    let mut rates = Vec::with_capacity(RUNS);
    for _ in 0..RUNS {
        let start = Instant::now();
        let sum = walk(shape);
        let seconds = start.elapsed().as_secs_f64();
        if sum.length_bytes != shape.bytes(17, 64) {
            return Err("the extents do not add up".into());
        }
        rates.push(PIECES as f64 / 1e6 / seconds);
    }
    Ok(Figure {
        name: format!("extents of {}", geometry.kind()),
        raw: String::new(),
        product: format!("{} M/s", three(median(&rates))),
        result: median(&rates),
        range: Some(range(&rates)),
        unit: " M/s",
        goal: Goal::AtLeast(50.0),
    })
}

/// Takes every piece in hand, so that none is optimized away.
fn walk(shape: &dyn Shape) -> Extent {
    let mut sum = Extent::default();
    for extent in shape.extents(17, 64) {
        let extent = black_box(extent);
        sum.offset_bytes ^= extent.offset_bytes;
        sum.length_bytes += extent.length_bytes;
    }
    sum
}
