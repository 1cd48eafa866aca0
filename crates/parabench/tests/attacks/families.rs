//! The families of attacks, a test each. `PARABENCH_ATTACK=WORDS` chooses those
//! whose name has these words.

use crate::perform::perform;
use crate::table;

/// Performs all attacks of a family, and names all that succeed.
#[track_caller]
fn family(file: &str, text: &str) {
    let wanted = std::env::var("PARABENCH_ATTACK").unwrap_or_default();
    let attacks = table::read(file, text);
    let chosen = attacks.iter().filter(|attack| attack.name.contains(&wanted));
    let failed: Vec<String> = chosen
        .filter_map(|attack| {
            let why = perform(attack).err()?;
            Some(format!("{}: {}\n{why}", attack.place, attack.name))
        })
        .collect();
    assert!(failed.is_empty(), "{} attacks:\n\n{}", failed.len(), failed.join("\n\n"));
}

macro_rules! families {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                let file = concat!(stringify!($name), ".txt");
                family(file, include_str!(concat!("families/", stringify!($name), ".txt")));
            }
        )*
    };
}

families! { escapes directories language stored killed starved }
