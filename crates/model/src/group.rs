//! The mapping from group sizes to world ranks (language.md section 4).
