//! Cutting arrays: members on a grid, elements in equal parts.

use super::product;

/// Which grid of members an array of so many dimensions is cut by: the one given, or a
/// balanced one of all members.
pub(super) fn grid_of(given: &[u64], dims: usize, members: u32) -> Vec<u64> {
    if given.is_empty() { balanced(members, dims) } else { given.to_vec() }
}

/// A grid of `members` places that is nearly a cube, the longest side first, as
/// `MPI_Dims_create` wants it: prime factors, the largest first, go to the shortest side.
pub fn balanced(members: u32, dims: usize) -> Vec<u64> {
    let mut grid = vec![1u64; dims];
    for factor in prime_factors(members).into_iter().rev() {
        if let Some(shortest) = grid.iter_mut().min() {
            *shortest *= factor;
        }
    }
    grid.sort_unstable_by(|a, b| b.cmp(a));
    grid
}

/// In ascending order.
fn prime_factors(n: u32) -> Vec<u64> {
    let (mut n, mut factor, mut factors) = (u64::from(n), 2, Vec::new());
    while factor * factor <= n {
        while n % factor == 0 {
            factors.push(factor);
            n /= factor;
        }
        factor += 1;
    }
    if n > 1 {
        factors.push(n);
    }
    factors
}

/// The place of a member on a grid in C order (the last dimension runs fastest), as
/// `MPI_Cart_create` numbers them; `None`: the grid has fewer places.
pub(super) fn place(member: u32, grid: &[u64]) -> Option<Vec<u64>> {
    let mut rest = u64::from(member);
    let mut place = vec![0; grid.len()];
    for (at, size) in place.iter_mut().zip(grid).rev() {
        *at = rest % size;
        rest /= size;
    }
    (rest == 0).then_some(place)
}

/// First element and number of elements of part `k` of `parts`: the first `n mod parts`
/// parts have one more.
pub fn part(n: u64, parts: u64, k: u64) -> (u64, u64) {
    let (base, extra) = (n / parts, n % parts);
    let start = k * base + k.min(extra);
    (start, base + u64::from(k < extra))
}

/// Whether an array has as many dimensions as its grid, if one is given; if not, why.
pub(super) fn check_numbers(sizes: &[u64], grid: &[u64]) -> Result<(), String> {
    if !grid.is_empty() && grid.len() != sizes.len() {
        return Err(format!(
            "expected as many numbers in grid as in sizes, found {} and {}",
            grid.len(),
            sizes.len()
        ));
    }
    Ok(())
}

/// Whether there are enough members for a grid; if not, why.
pub(super) fn check(grid: &[u64], members: u32) -> Result<(), String> {
    match product(grid) {
        Some(places) if places <= u64::from(members) => Ok(()),
        _ => {
            let places: Vec<String> = grid.iter().map(u64::to_string).collect();
            let places = places.join(" * ");
            Err(format!(
                "expected at least {places} members, one for each place of the grid, found {members}"
            ))
        }
    }
}
