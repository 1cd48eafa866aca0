//! Listings of plans, side by side with the programs in `tests/golden/`. After a change that is
//! meant, `UPDATE_GOLDEN=1 cargo test -p parabench-ppl` writes them anew.

use ppl::source::NoIncludes;
use ppl::{Binding, compile, listing};
use std::fs;
use std::path::Path;

#[test]
fn listings_are_as_expected() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let update = std::env::var_os("UPDATE_GOLDEN").is_some();
    let mut names: Vec<_> = fs::read_dir(&folder)
        .expect("the folder is readable")
        .map(|entry| entry.expect("the folder is readable").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "ppl"))
        .collect();
    names.sort();
    assert!(names.len() >= 12, "only {} programs", names.len());
    for path in names {
        let text = fs::read(&path).expect("the program is readable");
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let binding = Binding { directory: Some("/run/dir".into()), ..Binding::new(4) };
        let compiled = compile(&name, text, &mut NoIncludes, &binding);
        let plan = compiled.plan.unwrap_or_else(|| panic!("{name}: {:#?}", compiled.diagnostics));
        let (found, stored) = (listing(&plan), path.with_extension("txt"));
        if update {
            fs::write(&stored, &found).expect("the listing can be written");
        }
        let expected = fs::read_to_string(&stored).unwrap_or_default();
        assert_eq!(found, expected, "{name}");
    }
}
