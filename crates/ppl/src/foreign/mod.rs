//! People who come from elsewhere: words, signs and whole texts of other languages and tools.
//! What PPL has in their place is data here; where it is said is the parser's and the
//! lowering's matter.

pub(crate) mod loops;
pub(crate) mod words;
