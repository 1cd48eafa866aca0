//! Longest common subsequences.

/// Most comparisons of elements.
const COMPARED_MAX: usize = 1 << 25;

/// Places of a longest common subsequence. Only common ends are found where both sequences are long and
/// different in the middle.
pub fn common_subsequence(a: &[u64], b: &[u64]) -> Vec<(usize, usize)> {
    let head = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let (rest_a, rest_b) = (&a[head..], &b[head..]);
    let tail = rest_a.iter().rev().zip(rest_b.iter().rev()).take_while(|(a, b)| a == b).count();
    let (mid_a, mid_b) = (&rest_a[..rest_a.len() - tail], &rest_b[..rest_b.len() - tail]);
    let mut pairs: Vec<(usize, usize)> = (0..head).map(|at| (at, at)).collect();
    if mid_a.len().saturating_mul(mid_b.len()) <= COMPARED_MAX {
        pairs.extend(longest(mid_a, mid_b).into_iter().map(|(x, y)| (x + head, y + head)));
    }
    pairs.extend((0..tail).rev().map(|at| (a.len() - 1 - at, b.len() - 1 - at)));
    pairs
}

fn longest(a: &[u64], b: &[u64]) -> Vec<(usize, usize)> {
    let width = b.len() + 1;
    let mut lengths = vec![0u32; (a.len() + 1) * width];
    for (i, x) in a.iter().enumerate().rev() {
        for (j, y) in b.iter().enumerate().rev() {
            lengths[i * width + j] = match x == y {
                true => lengths[(i + 1) * width + j + 1] + 1,
                false => lengths[(i + 1) * width + j].max(lengths[i * width + j + 1]),
            };
        }
    }
    let (mut i, mut j, mut pairs) = (0, 0, Vec::new());
    while i < a.len() && j < b.len() {
        if a[i] == b[j] {
            pairs.push((i, j));
            (i, j) = (i + 1, j + 1);
        } else if lengths[(i + 1) * width + j] >= lengths[i * width + j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    pairs
}
