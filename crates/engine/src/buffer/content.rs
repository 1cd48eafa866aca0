//! Kinds of written data, as `with (data=..., compress=..., dedup=...)` names them.

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
    pub(super) fn divide(self, number: u64) -> u64 {
        number * 1000 / u64::from(self.thousandths)
    }
}
