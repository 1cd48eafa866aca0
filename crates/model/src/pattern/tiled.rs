//! `tiled`: a 2-D array cut into tiles, which may overlap; a tile for each member.
//!
//! ```text
//! X = nx*sx - (nx-1)*ox      Y = ny*sy - (ny-1)*oy           elements of the array
//! tile of member g: column tx = g mod nx, row ty = g div nx
//! offset(y) = header + ((ty*(sy-oy) + y) * X + tx*(sx-ox)) * elem,  length sx*elem      y in 0..sy
//! ```
//!
//! MPI-Tile-IO (Ross, Argonne), a tiled display or a mesh with ghost cells. Members from nx*ny
//! on have no extents.

use super::view::{Datatype, View};
use super::{Argument, Dim, Lattice, Promise, Runs, Shape, fits, product, sum};
use serde::{Deserialize, Serialize};

/// Tiles of a 2-D array.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tiled {
    /// Tiles beside each other, and below each other.
    pub tiles: [u64; 2],
    /// Elements of a tile in x and y.
    pub tile: [u64; 2],
    /// Bytes of an element.
    pub element_bytes: u64,
    /// Elements that neighbours share in x and y.
    pub overlap: [u64; 2],
    /// Where the array begins in the file.
    pub header_bytes: u64,
}

impl Tiled {
    /// Elements of the array in dimension 0 (x) or 1 (y).
    fn size(&self, dim: usize) -> Option<u64> {
        let shared = product(&[self.tiles[dim] - 1, self.overlap[dim]])?;
        Some(product(&[self.tiles[dim], self.tile[dim]])? - shared)
    }

    /// First element of a member's tile in x and y; `None`: it has no tile.
    fn start(&self, member: u32) -> Option<[u64; 2]> {
        let [nx, ny] = self.tiles;
        let at = [u64::from(member) % nx, u64::from(member) / nx];
        (at[1] < ny).then(|| [0, 1].map(|dim| at[dim] * (self.tile[dim] - self.overlap[dim])))
    }
}

impl Shape for Tiled {
    fn check_numbers(&self) -> Result<(), String> {
        for (dim, name) in [(0, "x"), (1, "y")] {
            let (overlap, tile) = (self.overlap[dim], self.tile[dim]);
            if overlap >= tile {
                return Err(format!(
                    "expected o{name} to be less than s{name}, the size of a tile, found \
                     o{name}={overlap} and s{name}={tile}"
                ));
            }
        }
        Ok(())
    }

    fn check(&self, members: u32) -> Result<(), String> {
        self.check_numbers()?;
        let [nx, ny] = self.tiles;
        if product(&[nx, ny]).is_none_or(|tiles| tiles > u64::from(members)) {
            return Err(format!(
                "expected at least nx*ny = {} members, a tile for each, found {members}",
                u128::from(nx) * u128::from(ny)
            ));
        }
        fits(self.end(members), members)
    }

    fn end(&self, _members: u32) -> Option<u64> {
        sum(self.header_bytes, product(&[self.size(0)?, self.size(1)?, self.element_bytes])?)
    }

    fn runs(&self, member: u32, _members: u32) -> Runs<'_> {
        let (Some([x, y]), Some(width)) = (self.start(member), self.size(0)) else {
            return Box::new(std::iter::empty());
        };
        let lattice = Lattice {
            base_bytes: self.header_bytes + (y * width + x) * self.element_bytes,
            length_bytes: self.tile[0] * self.element_bytes,
            dims: vec![Dim { count: self.tile[1], stride_bytes: width * self.element_bytes }],
        };
        lattice.runs()
    }

    fn promise(&self, members: u32) -> Promise {
        let apart = |dim: usize| self.tiles[dim] == 1 || self.overlap[dim] == 0;
        Promise {
            disjoint: apart(0) && apart(1),
            covers: Some(self.header_bytes..self.end_bytes(members)),
        }
    }

    fn view(&self, member: u32, _members: u32) -> View {
        let (Some([x, y]), Some(width), Some(height)) =
            (self.start(member), self.size(0), self.size(1))
        else {
            return View::at(self.header_bytes, Datatype::Contiguous { bytes: 0 });
        };
        let filetype = Datatype::Subarray {
            sizes: vec![height, width],
            subsizes: vec![self.tile[1], self.tile[0]],
            starts: vec![y, x],
            element_bytes: self.element_bytes,
        };
        View::at(self.header_bytes, filetype)
    }

    fn arguments(&self) -> Vec<(&'static str, Argument)> {
        let [[nx, ny], [sx, sy], [ox, oy]] = [self.tiles, self.tile, self.overlap];
        let numbers = [("nx", nx), ("ny", ny), ("sx", sx), ("sy", sy)];
        let rest = [("elem", self.element_bytes), ("ox", ox), ("oy", oy)];
        let header = [("header", self.header_bytes)];
        let all = numbers.into_iter().chain(rest).chain(header);
        all.map(|(name, n)| (name, Argument::Number(n))).collect()
    }
}
