//! The paper's listing 2 and its corrected twin, from examples/.

use crate::{Case, Ran, Stage};
use model::Op;
use ppl::Binding;

pub const CASES: &[Case] = &[
    ("listing 2 runs to its end", 8, listing2),
    ("the corrected listing 2 succeeds", 8, corrected),
];

const PIECE: u64 = 10 * (128 << 10);
const PATTERN: u64 = 10 * 100 * (128 << 10);

/// One rank of eight at work in each group, with an eighth of the listing's bytes.
fn run(place: &Stage<'_>, name: &str) -> Ran {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name);
    let text = std::fs::read_to_string(path).expect("an example");
    let text = text.replace(" * ", "*").replace("1024*1024", "1024*128");
    place.run_bound(&text, |binding: &mut Binding| {
        let sizes = [("writers", "1"), ("readers", "1")];
        binding.groups = sizes.map(|(name, size)| (name.into(), Some(size.into()))).to_vec();
    })
}

/// As printed: all but one rank fail to make the directory; readers miss the files that only
/// writers made.
fn listing2(place: &Stage<'_>) {
    let ran = run(place, "listing2.ppl").finished();
    let failed = |op: Op| -> u64 {
        ran.record.stats.iter().filter(|stat| stat.op == op).map(|stat| stat.figures.failed).sum()
    };
    assert!(failed(Op::Mkdir) <= 1);
    match place.rank() {
        0 => {
            assert_eq!(ran.done(Op::Append), (10, 10 * PIECE));
            assert_eq!(ran.done(Op::Pwrite), (2, 2 * PATTERN));
        }
        1 => {
            assert_eq!((failed(Op::Fopen), failed(Op::Fread)), (1, 100));
            assert_eq!((failed(Op::Pread), ran.done(Op::Pread)), (1, (1, PATTERN)));
        }
        _ => assert_eq!(ran.done(Op::Pwrite).0 + ran.done(Op::Pread).0, 0),
    }
}

fn corrected(place: &Stage<'_>) {
    let ran = run(place, "listing2-corrected.ppl").good();
    match place.rank() {
        0 => assert_eq!(ran.done(Op::Pwrite), (2, 2 * PATTERN)),
        1 => assert_eq!(ran.done(Op::Pread), (2, 2 * PATTERN)),
        _ => {}
    }
}
