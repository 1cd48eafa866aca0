//! What the checks say about the paper's listings, the examples and the shipped programs.

use model::Plan;
use ppl::source::{Loader, NoIncludes};
use ppl::{Binding, Compiled, compile};
use std::path::Path;

/// Included files that are shipped: `@name` lies in the folder of the programs.
struct Shipped;

impl Loader for Shipped {
    fn load(&mut self, _from: &str, path: &str) -> Result<(String, Vec<u8>), String> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let name = path.strip_prefix('@').ok_or("only shipped files are included")?;
        let text = std::fs::read(root.join(format!("programs/{name}.ppl")));
        Ok((path.to_string(), text.map_err(|error| error.to_string())?))
    }
}

fn checked(name: &str, binding: &Binding) -> Compiled {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read(root.join(name)).expect("the program is readable");
    compile(name, text, &mut Shipped, binding)
}

/// As `parabench check` binds a program: nobody asked for a number of ranks.
fn assumed() -> Binding {
    Binding { ranks_assumed: true, ..Binding::new(4) }
}

#[test]
fn listing_2_is_accepted_with_warnings() {
    let compiled = checked("examples/listing2.ppl", &assumed());
    let found: Vec<(&str, &str)> =
        compiled.diagnostics.iter().map(|d| (d.code.as_str(), d.message.as_str())).collect();
    let expected = [
        ("W0201", "the blanks around the group's name \" writers\" are dropped"),
        ("W0203", "a blank at the start or end of a path component is part of the name"),
    ];
    assert_eq!(found, expected);
    assert!(compiled.plan.is_some());
}

#[test]
fn other_programs_have_nothing_to_warn_of_and_their_plans_survive_as_bytes() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut count = 0;
    for folder in ["examples", "examples/applications", "programs"] {
        for entry in std::fs::read_dir(root.join(folder)).expect("the folder is readable") {
            let name = entry.expect("the folder is readable").file_name();
            let name = format!("{folder}/{}", name.to_string_lossy());
            if name.ends_with(".ppl") && name != "examples/listing2.ppl" {
                let compiled = checked(&name, &assumed());
                assert_eq!(compiled.diagnostics, [], "{name}");
                let plan = compiled.plan.expect("without diagnostics there is a plan");
                assert!(Plan::from_bytes(&plan.to_bytes()) == Ok(plan), "{name}");
                count += 1;
            }
        }
    }
    assert!(count >= 25);
}

#[test]
fn the_need_of_mpi_is_said_once() {
    let binding = Binding { mpi: false, ..Binding::new(4) };
    let compiled = checked("examples/listing2.ppl", &binding);
    let count = compiled.diagnostics.iter().filter(|d| d.code.as_str() == "W0401").count();
    assert_eq!(count, 1);
}

#[test]
fn the_need_of_mpi_is_not_said_where_a_parameter_switches_it_off() {
    let text = "param $mpi = false; if ($mpi) pdelete(\"a\"); else delete(\"a\");";
    for (value, count) in [("false", 0), ("true", 1)] {
        let params = vec![("mpi".to_string(), value.to_string())];
        let binding = Binding { mpi: false, params, ..Binding::new(2) };
        let compiled = compile("p", text.into(), &mut NoIncludes, &binding);
        let found = compiled.diagnostics.iter().filter(|d| d.code.as_str() == "W0401").count();
        assert_eq!(found, count, "{value}");
    }
}

#[test]
fn what_the_command_line_gives_is_checked() {
    let text = "param $num = 1; define groups {\"writers\":D}; group \"writers\" print $num;";
    let found = |params: &[(&str, &str)], groups: &[(&str, Option<&str>)]| -> Vec<String> {
        let owned = |text: &str| text.to_string();
        let binding = Binding {
            params: params.iter().map(|(a, b)| (owned(a), owned(b))).collect(),
            groups: groups.iter().map(|(a, b)| (owned(a), b.map(owned))).collect(),
            ..Binding::new(4)
        };
        let compiled = compile("p", text.into(), &mut NoIncludes, &binding);
        let shown = |d: &ppl::Diagnostic| {
            format!("{} {} {}", d.code.as_str(), d.message, d.help.as_deref().unwrap_or(""))
        };
        compiled.diagnostics.iter().map(shown).collect()
    };
    assert_eq!(found(&[("num", "4k")], &[("writers", Some("50%"))]), [""; 0]);
    assert_eq!(found(&[], &[(" writers ", None)]), [""; 0]);
    for (params, groups, expected) in [
        (
            vec![("nmu", "1")],
            vec![],
            "E0311 nmu=1: the program has no parameter nmu the nearest is num",
        ),
        (vec![], vec![("writer", None)], "the nearest is writers"),
        (vec![], vec![("writers", Some("x"))], "E0306 --group writers: expected a number of ranks"),
        (vec![], vec![("writers", Some("120%"))], "E0306"),
        (
            vec![],
            vec![("writers", Some("9"))],
            "W0306 group \"writers\" on 4 ranks: it has 4 of the 9 ranks",
        ),
    ] {
        let found = found(&params, &groups);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains(expected), "{found:?}");
    }
}
