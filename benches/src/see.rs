//! The studio's See: a program of 128 lines on 64 ranks, executed in virtual time and made into what a browser draws.

use crate::Result;
use crate::figure::{Figure, Goal};
use crate::language::processor_s;
use crate::product::Scratch;
use engine::config::Config;
use engine::watch::{Limits, step, watch};
use model::watched::Target;
use ppl::source::NoIncludes;
use ppl::{Binding, compile, statements};
use std::fmt::Write;

const RUNS: usize = 9;
const RANKS: u32 = 64;

/// Milliseconds of CPU time from the text to the JSON, and to the state in the middle of the program.
pub fn see(_: &Scratch) -> Result<Vec<Figure>> {
    let text = program();
    let (mut seen, mut stepped) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let start_s = processor_s()?;
        let compiled = compile("x.ppl", text.clone().into(), &mut NoIncludes, &Binding::new(RANKS));
        let plan = compiled.plan.as_ref().ok_or("the program has mistakes")?;
        let watched = watch(plan, &Config::default(), false, Limits::default())?;
        let json = page::scene::Scene::new(plan, &watched).to_json();
        seen.push((processor_s()? - start_s) * 1000.0);
        if json.len() < 1000 || !watched.whole {
            return Err(format!("only {} operations were seen", watched.run.rows.len()).into());
        }
        let start_s = processor_s()?;
        let all = statements(&compiled.ast, &compiled.sources);
        let target = Target::Position { position: 20_000 };
        let snapshot = step(plan, &Config::default(), all, &target)?;
        stepped.push((processor_s()? - start_s) * 1000.0);
        if snapshot.next.is_none() {
            return Err("the program is too short".into());
        }
    }
    Ok(vec![
        Figure::measured("see 128 lines on 64 ranks", &seen, " ms", Goal::AtMost(200.0)),
        Figure::measured(
            "their state after 20,000 statements",
            &stepped,
            " ms",
            Goal::AtMost(200.0),
        ),
    ])
}

/// 128 lines, 15,296 operations of 64 ranks.
fn program() -> String {
    let mut text = String::from("param $n = 10;\nmkdir(\"d-$$rank\");\n");
    for phase in 0..14 {
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "time[\"phase {phase}\"] {{\n    $h = fopen(\"d-$$rank/f-{phase}\", \"O_RDWR|O_CREAT\");\n    \
             repeat $i $n {{\n        fwrite($h, 64k, $i * 64k);\n        if ($i % 2 == 0) fread($h, 4k, $i * 64k);\n    \
             }}\n    fclose($h);\n}}\nbarrier;\n"
        );
    }
    text
}
