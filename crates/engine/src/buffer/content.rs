//! Kinds of written data, as `with (data=..., compress=..., dedup=...)` names them, and bytes that go by their
//! place in a file.

use crate::rng::mix;
use std::sync::Arc;

/// Bytes that one hash gives.
const STRIDE_BYTES: usize = 32;

/// The content of a written buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Content {
    /// `data="random"`: no two blocks are equal, and none compresses.
    #[default]
    Random,
    /// The same with `compress=R` or `dedup=R`.
    Shaped(Shape),
    /// `data="zero"`
    Zero,
    /// `data="offset"`
    Offset,
    /// `data="file:NAME"`: what the sample with this number has at that place.
    Sample(u32),
    /// `verify=true`: [`crate::verify::Verified`] fills it.
    Marked,
}

impl Content {
    /// The content with this name in `with (data=...)`.
    pub fn find(name: &str) -> Option<Content> {
        match name {
            "random" => Some(Content::Random),
            "zero" => Some(Content::Zero),
            "offset" => Some(Content::Offset),
            _ => None,
        }
    }

    /// Random content of this shape.
    pub fn random(shape: Shape) -> Content {
        if shape == Shape::PLAIN { Content::Random } else { Content::Shaped(shape) }
    }
}

/// How far random data compresses and repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Size of a block divided by its compressed size.
    pub compress: Ratio,
    /// Number of blocks divided by the number of different ones.
    pub dedup: Ratio,
}

impl Default for Shape {
    fn default() -> Shape {
        Shape::PLAIN
    }
}

impl Shape {
    /// Nothing compresses, nothing repeats.
    pub const PLAIN: Shape = Shape { compress: Ratio::ONE, dedup: Ratio::ONE };
}

/// A ratio from 1 to 100, in steps of a thousandth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ratio {
    thousandths: u32,
}

impl Ratio {
    /// 1
    pub const ONE: Ratio = Ratio { thousandths: 1000 };

    /// `None`: it is not between 1 and 100.
    pub fn new(ratio: f64) -> Option<Ratio> {
        let allowed = (1.0..=100.0).contains(&ratio);
        allowed.then(|| Ratio { thousandths: (ratio * 1000.0).round() as u32 })
    }

    /// `number` divided by the ratio, rounded down.
    pub(crate) fn divide(self, number: u64) -> u64 {
        number * 1000 / u64::from(self.thousandths)
    }
}

/// Fills `bytes` with what the content has at a place of a file; other content is left as it is.
pub(crate) fn fill_by_place(
    content: Content,
    bytes: &mut [u8],
    offset_bytes: u64,
    (seed, samples): (u64, &[Arc<Vec<u8>>]),
) {
    match content {
        Content::Offset => fill_offset(bytes, offset_bytes, seed),
        Content::Sample(number) => fill_sample(bytes, offset_bytes, &samples[number as usize]),
        Content::Random | Content::Shaped(_) | Content::Zero | Content::Marked => {}
    }
}

/// Fills `buf` with the bytes that belong at `offset_bytes` of a file: piece `i` of 32
/// bytes is a hash of the seed and `i`. Several GB/s; cannot be compressed.
pub fn fill_offset(buf: &mut [u8], offset_bytes: u64, seed: u64) {
    let key = mix(seed);
    let (stride, skip) = (STRIDE_BYTES as u64, (offset_bytes % STRIDE_BYTES as u64) as usize);
    let first = offset_bytes / stride;
    let head_len = if skip == 0 { 0 } else { (STRIDE_BYTES - skip).min(buf.len()) };
    let (head, body) = buf.split_at_mut(head_len);
    if head_len > 0 {
        head.copy_from_slice(&piece(key, first)[skip..skip + head_len]);
    }
    let mut pieces = body.chunks_exact_mut(STRIDE_BYTES);
    let mut index = offset_bytes.div_ceil(stride);
    for target in &mut pieces {
        target.copy_from_slice(&piece(key, index));
        index = index.wrapping_add(1);
    }
    let tail = pieces.into_remainder();
    tail.copy_from_slice(&piece(key, index)[..tail.len()]);
}

/// Fills `buf` with the bytes that a sample has at `offset_bytes`; it begins anew at its end.
fn fill_sample(buf: &mut [u8], offset_bytes: u64, sample: &[u8]) {
    let start = (offset_bytes % sample.len() as u64) as usize;
    let (head, rest) = buf.split_at_mut(buf.len().min(sample.len() - start));
    head.copy_from_slice(&sample[start..start + head.len()]);
    for part in rest.chunks_mut(sample.len()) {
        part.copy_from_slice(&sample[..part.len()]);
    }
}

/// One hash, spread to four words by multiplications (odd numbers out of the fractions
/// of the golden ratio and of the roots of 2, 3 and 5).
#[inline(always)]
fn piece(key: u64, index: u64) -> [u8; STRIDE_BYTES] {
    const SPREAD: [u64; 4] = [
        0x9e37_79b9_7f4a_7c15,
        0x6a09_e667_f3bc_c909,
        0xbb67_ae85_84ca_a73b,
        0x3c6e_f372_fe94_f82b,
    ];
    let hash = mix(key.wrapping_add(index));
    let mut bytes = [0; STRIDE_BYTES];
    for (target, factor) in bytes.chunks_exact_mut(8).zip(SPREAD) {
        let word = (hash ^ (hash >> 32)).wrapping_mul(factor) ^ (hash >> 29);
        target.copy_from_slice(&word.to_le_bytes());
    }
    bytes
}
