//! Any bytes: a plan or a sentence. All that a plan refers to is there, so that it can be shown,
//! and it has the same one in its bytes again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use model::Plan;
use model::plan::bytes::sealed;

fuzz_target!(|bytes: &[u8]| {
    let _ = Plan::from_bytes(bytes);
    // No mutation finds the checksum.
    if let Ok(plan) = Plan::from_bytes(&sealed(bytes)) {
        let _ = ppl::listing(&plan);
        assert_eq!(Plan::from_bytes(&plan.to_bytes()), Ok(plan));
    }
});
