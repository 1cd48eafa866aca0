//! Reads a file of attacks:
//!
//! ```text
//! == a link that leaves once its directory is moved
//! needs root strace
//! file x.ppl mkdir("a"); symlink("../out", "a/l");
//! | further lines of the file
//! sh ln -s ../outside d/l
//! run parabench run x.ppl --dir d
//! exit 0 1
//! says EXDEV
//! never secret
//! makes leftover
//! ```
//!
//! `sh` is the attacker's or the test's own command: it must succeed, and may change what
//! lies outside. `run` is under attack: it must end with one of these codes (128 + N: signal N),
//! say this and never that on either stream, and leave everything outside as it was; `makes` names
//! what may be new beside the run directory. Lines of `#` are comments.

/// An attack.
#[derive(Debug, Default)]
pub struct Attack {
    /// What is tried.
    pub name: String,
    /// File and line, for messages.
    pub place: String,
    /// What the machine must have.
    pub needs: Vec<String>,
    /// What is done, in order.
    pub steps: Vec<Step>,
}

/// One step of it.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// Writes a file.
    File { path: String, text: String },
    /// A command that must succeed.
    Shell(String),
    /// A command under attack.
    Run(Run),
}

/// A command under attack and what must come of it.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Run {
    pub command: String,
    pub codes: Vec<i32>,
    pub says: Vec<String>,
    pub never: Vec<String>,
    pub makes: Vec<String>,
}

/// The attacks of a file; panics at a line that cannot be read.
pub fn read(file: &str, text: &str) -> Vec<Attack> {
    let mut attacks: Vec<Attack> = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let place = format!("{file}:{}", at + 1);
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        if word == "==" {
            attacks.push(Attack { name: rest.into(), place, ..Attack::default() });
            continue;
        }
        let attack = attacks.last_mut().unwrap_or_else(|| panic!("{place}: expected =="));
        add(attack, word, rest).unwrap_or_else(|why| panic!("{place}: {why}"));
    }
    for attack in &attacks {
        attack.check();
    }
    attacks
}

fn add(attack: &mut Attack, word: &str, rest: &str) -> Result<(), String> {
    match (word, attack.steps.last_mut()) {
        ("needs", _) => attack.needs.extend(words(rest)),
        ("file", _) => {
            let (path, text) = rest.split_once(' ').unwrap_or((rest, ""));
            let text = if text.is_empty() { String::new() } else { format!("{text}\n") };
            attack.steps.push(Step::File { path: path.into(), text });
        }
        ("|", Some(Step::File { text, .. })) => *text += &format!("{rest}\n"),
        ("|", Some(Step::Shell(command) | Step::Run(Run { command, .. }))) => {
            *command += &format!("\n{rest}");
        }
        ("sh", _) => attack.steps.push(Step::Shell(rest.into())),
        ("run", _) => {
            attack.steps.push(Step::Run(Run { command: rest.into(), ..Run::default() }));
        }
        ("exit", Some(Step::Run(run))) => {
            let code = |word: &str| word.parse().map_err(|_| format!("{word} is no exit code"));
            run.codes = rest.split_whitespace().map(code).collect::<Result<_, _>>()?;
        }
        ("says", Some(Step::Run(run))) => run.says.push(rest.into()),
        ("never", Some(Step::Run(run))) => run.never.push(rest.into()),
        ("makes", Some(Step::Run(run))) => run.makes.extend(words(rest)),
        _ => return Err(format!("`{word}` is no step, or belongs after a `run`")),
    }
    Ok(())
}

fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split_whitespace().map(str::to_string)
}

impl Attack {
    /// Nobody is left who could tidy up.
    pub fn kills_a_parent(&self) -> bool {
        self.steps.iter().any(|step| matches!(step, Step::Run(run) if run.codes.contains(&137)))
    }

    /// It attacks something, and says how that must end.
    fn check(&self) {
        let runs = self.steps.iter().filter_map(|step| match step {
            Step::Run(run) => Some(run),
            _ => None,
        });
        let codes: Vec<_> = runs.map(|run| run.codes.len()).collect();
        assert!(!codes.is_empty(), "{}: no `run` in `{}`", self.place, self.name);
        assert!(codes.iter().all(|count| *count > 0), "{}: a `run` without `exit`", self.place);
    }
}

#[test]
fn a_block_is_an_attack() {
    let text = "# comment\n== name of it\nneeds root\nfile x.ppl a;\n| b;\nsh ln -s a b\n\
                run parabench run x.ppl\nexit 0 1\nsays some words\nmakes results\n";
    let attacks = read("f", text);
    assert_eq!(attacks.len(), 1);
    assert_eq!((attacks[0].name.as_str(), attacks[0].place.as_str()), ("name of it", "f:2"));
    assert_eq!(attacks[0].steps[0], Step::File { path: "x.ppl".into(), text: "a;\nb;\n".into() });
    assert_eq!(attacks[0].steps[1], Step::Shell("ln -s a b".into()));
    let Step::Run(run) = &attacks[0].steps[2] else { panic!("{:?}", attacks[0].steps) };
    assert_eq!((run.codes.as_slice(), run.says[0].as_str()), (&[0, 1][..], "some words"));
}
