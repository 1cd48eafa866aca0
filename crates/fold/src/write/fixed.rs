//! What keeps a program from other numbers of ranks and other sizes.

use super::super::ranks::Value;

/// Why a program cannot be stretched.
#[derive(Clone, Debug, Default)]
pub struct Fixed {
    /// What names ranks one by one.
    pub ranks: Option<String>,
    /// It is for no larger number of ranks either.
    pub(super) exactly: bool,
    /// A size, and a statement whose place in the file does not follow it.
    pub sizes: Vec<(String, String)>,
}

impl Fixed {
    pub(super) fn exactly(&mut self, why: &str) {
        self.exactly = true;
        self.ranks.get_or_insert_with(|| why.into());
    }
}

/// Multiples of it are places in files that somebody chose.
const SECTOR_BYTES: i64 = 512;

/// Numbers of two ranks lie on a line by chance.
pub(super) fn is_chance(value: &Value, ranks: usize) -> bool {
    match *value {
        Value::Affine { base, step } if ranks == 2 => {
            base % step != 0 && (base % SECTOR_BYTES != 0 || step % SECTOR_BYTES != 0)
        }
        _ => false,
    }
}

/// A list has values by rank.
pub(super) fn has_lists_by_rank(text: &str) -> bool {
    let mut inner = text.split('[').skip(1).filter_map(|rest| rest.split(']').next());
    inner.any(|index| index.contains("$$rank"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_on_a_line_by_chance_is_for_these_ranks() {
        let of = |base, step, ranks| is_chance(&Value::Affine { base, step }, ranks);
        assert!(of(603, -289, 2) && of(204_544, 790_592 + 1, 2));
        assert!(!of(9, -1, 8) && !of(0, 4096, 2) && !of(4096, 65_536, 2) && !of(7, 13, 4));
        assert!(!is_chance(&Value::Same(7), 2));
    }

    #[test]
    fn lists_by_rank_are_seen() {
        assert!(has_lists_by_rank("x($sizes[$$rank]);"));
        assert!(has_lists_by_rank("x($sizes[($$rank - 1) * 314 + $i]);"));
        assert!(!has_lists_by_rank("x($sizes[$i], $$rank); $l = [1, 2];"));
    }
}
