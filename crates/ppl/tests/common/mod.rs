//! Two interpreters that have nothing in common: one walks the tree, one executes
//! the plan. Both write down what a rank does, so that they can be compared.

pub mod generate;
pub mod plan;
pub mod tree;
