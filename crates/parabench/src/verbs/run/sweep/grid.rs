//! The cells of a sweep: every combination of the dimensions' values.

use super::super::args::Run;
use super::super::point::Binding;
use super::super::team::Members;
use crate::error::{Error, Result};
use model::sweep::{Dimension, DimensionKind};

/// Most cells: each has its plan.
const MOST_CELLS: usize = 4096;

/// Dimensions in the order of the options; then ranks, then A and B.
pub fn dimensions(run: &Run, pair: Option<&Dimension>) -> Result<Vec<Dimension>> {
    let sweep = &run.sweep;
    let mut dimensions: Vec<Dimension> = Vec::new();
    for given in &sweep.params {
        let twice = dimensions.iter().any(|known| known.name == given.name);
        if twice || run.program.params.iter().any(|(name, _)| *name == given.name) {
            let message = format!("--sweep {}: the parameter is given twice", given.name);
            return Err(Error::input(message).help("name all its values in one --sweep"));
        }
        let (name, values) = (given.name.clone(), given.values.clone());
        dimensions.push(Dimension { kind: DimensionKind::Param, name, values });
    }
    if let Some(ranks) = &sweep.ranks {
        let values = ranks.0.iter().map(u32::to_string).collect();
        dimensions.push(Dimension { kind: DimensionKind::Ranks, name: "ranks".into(), values });
    }
    if let Some(nodes) = &sweep.nodes {
        let values = nodes.0.iter().map(u32::to_string).collect();
        dimensions.push(Dimension { kind: DimensionKind::Nodes, name: "nodes".into(), values });
    }
    if let Some(pair) = pair {
        if dimensions.iter().any(|known| known.name == pair.name) {
            let message = format!("--versus {}: --sweep varies this parameter too", pair.name);
            return Err(Error::input(message).help("compare two values, or sweep over many"));
        }
        dimensions.push(pair.clone());
    }
    let cells = dimensions.iter().fold(1usize, |n, d| n.saturating_mul(d.values.len()));
    if cells > MOST_CELLS {
        let message = format!("the sweep has {cells} points, the limit is {MOST_CELLS}");
        return Err(Error::input(message).help("give fewer values, or make several runs"));
    }
    Ok(dimensions)
}

/// Parameters and ranks of the point with these values.
pub fn binding(run: &Run, dimensions: &[Dimension], values: &[&str]) -> Binding {
    let (program, members) = (run.program.clone(), Members::All);
    let mut binding = Binding { program, ranks: run.ranks, members };
    for (dimension, value) in dimensions.iter().zip(values) {
        match dimension.kind {
            DimensionKind::Param => {
                binding.program.params.retain(|(name, _)| *name != dimension.name);
                binding.program.params.push((dimension.name.clone(), value.to_string()));
            }
            DimensionKind::Ranks => {
                binding.ranks = value.parse().unwrap_or(run.ranks);
                binding.members = Members::First(binding.ranks);
            }
            DimensionKind::Nodes => binding.members = Members::Nodes(value.parse().unwrap_or(1)),
            DimensionKind::Program | DimensionKind::Directory => {}
        }
    }
    binding
}
