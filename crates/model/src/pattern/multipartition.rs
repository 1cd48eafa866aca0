//! `multipartition`: the diagonal multipartitioning of a cube, as the BT benchmark has it.
//!
//! ```text
//! G = q*q members; a member has q cells, one in each layer c = 0..q
//! cx = (g mod q + c) mod q      cy = (g div q - c) mod q      cz = c
//! size(k) = n div q, one more for k < n mod q;   low(k) = the sizes before it added up
//! dump t, cell c, kz in 0..size(cz), jy in 0..size(cy):
//! offset = header + elem * (low(cx) + n*((low(cy)+jy) + n*((low(cz)+kz) + n*t))),  length elem*size(cx)
//! ```
//!
//! NAS Parallel Benchmarks 3.3.1, BT-IO: 40 bytes (5 doubles) for each point; classes S, W, A, B, C, D have
//! n = 12, 24, 64, 102, 162, 408. A cell has at least 3 points along each side.

use super::grid::part;
use super::view::{Datatype, View};
use super::{Argument, Promise, Run, Runs, Shape, fits, product, sum};
use serde::{Deserialize, Serialize};

/// Cells of a cube along its diagonals.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Multipartition {
    /// Points along a side of the cube.
    pub n: u64,
    /// Bytes of a point.
    pub element_bytes: u64,
    /// Cubes one after the other.
    pub dumps: u64,
    /// Where the first cube begins in the file.
    pub header_bytes: u64,
}

/// Least points along a side of a cell.
const LEAST_CELL: u64 = 3;

impl Multipartition {
    /// Start and size in z, y, x of a member's cell in layer `c`.
    fn cell(&self, member: u32, q: u64, c: u64) -> [(u64, u64); 3] {
        let member = u64::from(member);
        let cx = (member % q + c) % q;
        let cy = (member / q + q - c) % q;
        [c, cy, cx].map(|k| part(self.n, q, k))
    }

    fn dump_bytes(&self) -> u64 {
        self.n * self.n * self.n * self.element_bytes
    }
}

impl Shape for Multipartition {
    fn check(&self, members: u32) -> Result<(), String> {
        let q = members.isqrt();
        if q * q != members {
            return Err(format!(
                "expected a square number of members (1, 4, 9, 16, ...), found {members}"
            ));
        }
        let least = LEAST_CELL * u64::from(q);
        if self.n < least {
            return Err(format!(
                "expected n to be at least {least} for {members} members, so that every cell \
                 has {LEAST_CELL} points along each side, found n={}",
                self.n
            ));
        }
        fits(self.end(members), members)
    }

    fn end(&self, _members: u32) -> Option<u64> {
        let n = self.n;
        sum(self.header_bytes, product(&[n, n, n, self.element_bytes, self.dumps])?)
    }

    fn runs(&self, member: u32, members: u32) -> Runs<'_> {
        let q = u64::from(members.isqrt());
        let (n, element_bytes) = (self.n, self.element_bytes);
        let layers = (0..self.dumps).flat_map(move |t| (0..q).map(move |c| (t, c)));
        Box::new(layers.flat_map(move |(t, c)| {
            let [(z, depth), (y, height), (x, width)] = self.cell(member, q, c);
            (z..z + depth).map(move |z| Run {
                offset_bytes: self.header_bytes + element_bytes * (x + n * (y + n * (z + n * t))),
                length_bytes: element_bytes * width,
                stride_bytes: element_bytes * n,
                count: height,
            })
        }))
    }

    fn promise(&self, members: u32) -> Promise {
        Promise { disjoint: true, covers: Some(self.header_bytes..self.end_bytes(members)) }
    }

    fn view(&self, member: u32, members: u32) -> View {
        let q = u64::from(members.isqrt());
        let cells = (0..q).map(|c| {
            let [z, y, x] = self.cell(member, q, c);
            let subarray = Datatype::Subarray {
                sizes: vec![self.n; 3],
                subsizes: vec![z.1, y.1, x.1],
                starts: vec![z.0, y.0, x.0],
                element_bytes: self.element_bytes,
            };
            (0, subarray)
        });
        let dump = Datatype::Struct { members: cells.collect() };
        let filetype = match self.dumps {
            1 => dump,
            dumps => Datatype::vector(dumps, self.dump_bytes(), dump),
        };
        View::at(self.header_bytes, filetype)
    }

    fn arguments(&self) -> Vec<(&'static str, Argument)> {
        vec![
            ("n", Argument::Number(self.n)),
            ("elem", Argument::Number(self.element_bytes)),
            ("dumps", Argument::Number(self.dumps)),
            ("header", Argument::Number(self.header_bytes)),
        ]
    }
}
