//! Numbers that several statements share become parameters: `$count` for iterations, `$size` for bytes.
//!
//! So does each long directory that many names are below.
//!
//! ```text
//! $dir = "projects/2026/climate/run-17";
//! $dir2 = "$dir/checkpoints";
//! stat("$dir/input");
//! ```

use super::expr::{bytes, constant};
use super::further::Beyond;
use super::lists::numbered;
use super::names::Part;
use super::ranks::{Form, Item, Spread, Value};
use super::shape::Shaper;
use super::statement::{Arg, Statement};
use model::Op;
use model::escape;
use model::words::list_some;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

/// Most parameters of each kind.
const EACH_MAX: usize = 4;
/// Most lists that the documentation of a parameter names.
const LISTS_MAX: usize = 3;
/// Most uses that it names.
const USES_MAX: usize = 2;
/// Longest name in the documentation of a parameter, bytes; of a longer one the directories at its start are left out.
const NAME_MAX: usize = 30;
/// Smallest number of iterations that becomes a parameter.
const COUNT_MIN: i64 = 8;
/// Smallest number of bytes that becomes a parameter.
const SIZE_MIN: i64 = 64;

/// Parameters of a program.
#[derive(Clone, Debug, Default)]
pub struct Params {
    counts: Vec<Used>,
    sizes: Vec<Used>,
    /// Lists that have a value for each iteration, by value of the count, and what is read beyond their ends.
    bound: HashMap<i64, BTreeMap<String, Beyond>>,
    /// Counts of iterations with a file each that the program does not make.
    needs_files: Vec<i64>,
}

/// A number of a program.
#[derive(Clone, Debug)]
struct Used {
    value: i64,
    /// Places that are worth a name.
    times: u64,
    /// Its loops or operations, each once: `over in/f-*`, `fread`.
    uses: Vec<String>,
}

/// Numbers in order of their first use.
#[derive(Default)]
struct Uses(Vec<Used>);

impl Uses {
    fn add(&mut self, value: i64, times: u64, what: String) {
        let at = self.0.iter().position(|known| known.value == value).unwrap_or_else(|| {
            self.0.push(Used { value, times: 0, uses: Vec::new() });
            self.0.len() - 1
        });
        let known = &mut self.0[at];
        known.times += times;
        if !known.uses.contains(&what) {
            known.uses.push(what);
        }
    }

    /// The numbers used most, in order of their first use.
    fn most_used(self) -> Vec<Used> {
        let mut times: Vec<u64> = self.0.iter().map(|known| known.times).collect();
        times.sort_unstable_by_key(|times| Reverse(*times));
        let least = times.get(EACH_MAX - 1).map_or(2, |least| 2.max(*least));
        self.0.into_iter().filter(|known| known.times >= least).take(EACH_MAX).collect()
    }
}

/// The place of a number among some.
fn place(all: &[Used], value: i64) -> Option<usize> {
    all.iter().position(|known| known.value == value)
}

impl Params {
    /// Chooses the parameters of a program and its procs.
    pub fn choose(bodies: &[&[Item]], shaper: &Shaper<'_>) -> Params {
        let (mut counts, mut sizes) = (Uses::default(), Uses::default());
        for item in bodies.iter().copied().flatten() {
            collect(item, shaper, false, &mut counts, &mut sizes);
        }
        let (counts, sizes) = (counts.most_used(), sizes.most_used());
        Params { counts, sizes, ..Params::default() }
    }

    /// The parameter for this number of iterations.
    pub fn count(&self, value: i64) -> Option<String> {
        place(&self.counts, value).map(|at| numbered("$count", at))
    }

    /// The parameter for this number of bytes.
    pub fn size(&self, value: i64) -> Option<String> {
        place(&self.sizes, value).map(|at| numbered("$size", at))
    }

    /// Remembers that a list has a value for each of `count` iterations.
    pub fn bind(&mut self, count: i64, list: &str, beyond: Beyond) {
        if place(&self.counts, count).is_some() {
            self.bound.entry(count).or_default().insert(list.into(), beyond);
        }
    }

    /// Remembers that each of `count` iterations uses another file, which the program does not make.
    pub fn bind_files(&mut self, count: i64) {
        if place(&self.counts, count).is_some() && !self.needs_files.contains(&count) {
            self.needs_files.push(count);
        }
    }

    /// The part of a parameter's documentation about more iterations than in the run.
    fn limits(&self, count: i64) -> String {
        let none = BTreeMap::new();
        let bound = self.bound.get(&count).unwrap_or(&none);
        let lists = |wanted: Beyond| -> Vec<&str> {
            let all = bound.iter().filter(|(_, beyond)| **beyond == wanted);
            all.map(|(list, _)| list.as_str()).collect()
        };
        let named = |lists: &[&str]| list_some(lists, LISTS_MAX);
        let ends = |lists: &[&str]| if lists.len() > 1 { "" } else { "s" };
        let fixed = lists(Beyond::Nothing);
        if !fixed.is_empty() {
            let plural = if fixed.len() > 1 { "s" } else { "" };
            return format!(", at most {count}: the length{plural} of {}", named(&fixed));
        }
        let (again, others) = (lists(Beyond::Again), lists(Beyond::Others));
        let again =
            (!again.is_empty()).then(|| format!("{} start{} again", named(&again), ends(&again)));
        let others = (!others.is_empty())
            .then(|| format!("{} name{} further files", named(&others), ends(&others)));
        let files = self.needs_files.contains(&count).then(|| "it needs further files".into());
        let all: Vec<String> = again.into_iter().chain(others).chain(files).collect();
        if all.is_empty() { String::new() } else { format!("; above {count} {}", all.join(", ")) }
    }

    /// Definitions with their documentation.
    pub fn definitions(&self) -> String {
        let mut text = String::new();
        for (at, Used { value, uses, .. }) in self.counts.iter().enumerate() {
            let (name, limits) = (numbered("$count", at), self.limits(*value));
            let uses = list_some(uses, USES_MAX);
            let _ = writeln!(text, "param {name} = {value}; /// iterations {uses}{limits}");
        }
        for (at, Used { value, uses, .. }) in self.sizes.iter().enumerate() {
            let (name, uses) = (numbered("$size", at), list_some(uses, USES_MAX));
            let _ = writeln!(text, "param {name} = {}; /// bytes of {uses}", bytes(*value));
        }
        text
    }
}

fn collect(item: &Item, shaper: &Shaper<'_>, in_loop: bool, counts: &mut Uses, sizes: &mut Uses) {
    match &item.form {
        Form::Loop => {
            let count = constant(&item.numbers[0]).filter(|count| *count >= COUNT_MIN);
            count.into_iter().for_each(|count| counts.add(count, 2, subject(&item.body, shaper)));
        }
        _ => {
            let sized = shaper.operation(item).and_then(|it| Some((size_of(item, it)?, it.op)));
            // A size used in a loop is worth a name even in one place.
            let times = 1 + u64::from(in_loop);
            sized.into_iter().for_each(|(size, op)| sizes.add(size, times, op.name().into()));
        }
    }
    let inside = in_loop || item.form == Form::Loop;
    item.body.iter().for_each(|item| collect(item, shaper, inside, counts, sizes));
}

/// `over in/f-*`: the files whose names differ between the iterations of a loop; without any, `of` its operation.
fn subject(body: &[Item], shaper: &Shaper<'_>) -> String {
    let files = body.iter().find_map(|item| varying_name(item, 0, shaper));
    if let Some(files) = files {
        return format!("over {files}");
    }
    let has_calls = body.iter().any(|item| matches!(item.form, Form::Call(_)));
    let without = if has_calls { "procs" } else { "pauses" };
    format!("of {}", shaper.main_operation(body).map_or(without, Op::name))
}

/// The first name that differs between the iterations of a loop, with stars for its numbers. `depth`: loops between.
fn varying_name(item: &Item, depth: usize, shaper: &Shaper<'_>) -> Option<String> {
    let statement = shaper.operation(item);
    for (arg, own) in statement.iter().flat_map(|it| it.arguments(&item.numbers, &shaper.names)) {
        if let Arg::Path(template) = arg
            && own.iter().any(|number| varies(number, depth))
        {
            return Some(with_stars(&shaper.names.templates[*template as usize]));
        }
    }
    let inner = depth + usize::from(item.form == Form::Loop);
    item.body.iter().find_map(|item| varying_name(item, inner, shaper))
}

/// It differs between the iterations of the loop this many loops out.
fn varies(number: &Spread, depth: usize) -> bool {
    let grows = number.steps.get(depth).is_some_and(|step| *step != Value::Same(0));
    grows || number.list.as_ref().is_some_and(|list| list.depth == depth || list.root == depth)
}

/// The end of a name, from a directory on, with stars for its numbers.
fn with_stars(template: &[Part]) -> String {
    let parts = template.iter().map(|part| match part {
        Part::Text(text) => String::from_utf8_lossy(text),
        Part::Number { .. } => "*".into(),
    });
    let whole = escape::line(&parts.collect::<String>());
    let star = whole.find('*').unwrap_or(0);
    let starts = whole.match_indices('/').map(|(at, _)| at + 1);
    let mut starts = [0].into_iter().chain(starts).filter(|start| *start <= star);
    let last = starts.clone().next_back().unwrap_or(0);
    let start = starts.find(|start| whole.len() - start <= NAME_MAX).unwrap_or(last);
    whole[start..].to_string()
}

/// Bytes that a statement moves, if constant and not small. The number of a seek is an offset.
fn size_of(item: &Item, statement: &Statement) -> Option<i64> {
    let is_bytes = |arg: &&Arg| matches!(arg, Arg::Bytes | Arg::Keyed(_));
    let bytes = statement.args.iter().filter(is_bytes).count();
    let first = item.numbers.len().checked_sub(bytes).filter(|_| bytes > 0)?;
    let size = constant(&item.numbers[first])?;
    (statement.op != Op::Fseek && size >= SIZE_MIN).then_some(size)
}

/// Shortest directory that is worth a name, in bytes.
const LENGTH_MIN: usize = 12;
/// Fewest names below it.
const NAMES_MIN: usize = 4;
/// Fewest bytes that it makes the text shorter.
const GAIN_MIN: usize = 60;

/// Most directories with names.
const DIRECTORIES_MAX: usize = 8;

/// Gives directories names that make the lines shorter; the definitions.
pub fn name_directories(lines: &mut [&mut String]) -> String {
    let mut text = String::new();
    for at in 0..DIRECTORIES_MAX {
        let found = worth_a_name(lines.iter().map(|line| line.as_str()));
        let Some(directory) = found else { break };
        let name = numbered("$dir", at);
        lines.iter_mut().for_each(|line| **line = shortened(line, &directory, &name));
        let _ = writeln!(text, "{name} = \"{directory}\";");
    }
    text
}

/// The directory whose name shortens the text most, as written there; `None` if none is worth it.
fn worth_a_name<'a>(texts: impl Iterator<Item = &'a str>) -> Option<String> {
    let mut names: BTreeMap<&str, usize> = BTreeMap::new();
    for text in texts {
        for constant in beginnings(text) {
            let slashes = constant.match_indices('/').map(|(at, _)| at);
            let long = slashes.filter(|at| *at >= LENGTH_MIN);
            long.for_each(|at| *names.entry(&constant[..at]).or_default() += 1);
        }
    }
    let gain = |(name, times): &(&str, usize)| {
        let used = (name.len() - "$dir".len()) * times;
        used.saturating_sub(name.len() + "$dir = \"\";\n".len())
    };
    // One of several that differ in numbers alone says less than what they have in common.
    let without_digits = |name: &str| name.replace(|c: char| c.is_ascii_digit(), "");
    let mut alike: BTreeMap<String, usize> = BTreeMap::new();
    names.keys().for_each(|name| *alike.entry(without_digits(name)).or_default() += 1);
    let is_alone = |name: &str| alike[&without_digits(name)] == 1;
    let many = names.into_iter().filter(|(name, times)| *times >= NAMES_MIN && is_alone(name));
    let best = many.max_by_key(|found| (gain(found), Reverse(found.0.len())))?;
    (gain(&best) >= GAIN_MIN).then(|| best.0.to_string())
}

/// The part of each string before its first escape or variable but one of a directory.
fn beginnings(mut text: &str) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        let string = &text[text.find('"')? + 1..];
        let mut escaped = false;
        let end = string.find(|c| match (escaped, c) {
            (false, '"') => true,
            (before, c) => {
                escaped = !before && c == '\\';
                false
            }
        })?;
        text = &string[end + 1..];
        let constant = &string[..end];
        let rest = without_directory(constant).unwrap_or(constant);
        let cut = rest.find(['$', '\\']).map_or(0, |at| rest.len() - at);
        Some(&constant[..end - cut])
    })
}

/// A string without the directory's variable that it begins with.
fn without_directory(string: &str) -> Option<&str> {
    let rest = string.strip_prefix("$dir")?.trim_start_matches(|c: char| c.is_ascii_digit());
    (rest.is_empty() || rest.starts_with('/')).then_some(rest)
}

/// The text with the variable in the place of the directory.
fn shortened(text: &str, directory: &str, name: &str) -> String {
    let below = text.replace(&format!("\"{directory}/"), &format!("\"{name}/"));
    below.replace(&format!("\"{directory}\""), name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_directory_of_many_names_has_one() {
        let line = |name: &str| format!("stat(\"{name}\");");
        let below = |directory: &str| -> Vec<String> {
            ('a'..'m').map(|c| line(&format!("{directory}/{c}"))).collect()
        };
        let mut lines = [
            below("projects/climate/2026"),
            below("projects/climate/2026/checkpoints"),
            below("scratch/of/somebody"),
            below("src"),
        ]
        .concat();
        let mut all: Vec<&mut String> = lines.iter_mut().collect();
        let definitions = name_directories(&mut all);
        assert_eq!(
            definitions,
            "$dir = \"projects/climate/2026\";\n\
             $dir2 = \"scratch/of/somebody\";\n\
             $dir3 = \"$dir/checkpoints\";\n"
        );
        let first = [0, 12, 24, 36].map(|at| lines[at].as_str());
        let expected =
            ["stat(\"$dir/a\");", "stat(\"$dir3/a\");", "stat(\"$dir2/a\");", "stat(\"src/a\");"];
        assert_eq!(first, expected);
    }

    #[test]
    fn the_directory_of_most_names_stands_once() {
        let deep = "projects/2026/climate";
        let line = |name: &str| format!("stat(\"{deep}/{name}\");\n");
        let text: String = ["a/x", "a/y", "b$i", "c", "d", "e", "f"].map(line).concat();
        let found = worth_a_name([text.as_str()].into_iter());
        assert_eq!(found.as_deref(), Some(deep));
        let short = shortened(&(text + "stat(\"projects/2026/climate\");"), deep, "$dir");
        assert!(short.contains("stat(\"$dir/b$i\");") && short.ends_with("stat($dir);"), "{short}");
        let strings: Vec<&str> = beginnings(r#"f("a\"b", 1 / 2, "c/$d", "")"#).collect();
        assert_eq!(strings, ["a", "c/", ""]);
        let siblings = [1, 2].map(|run| format!("\"projects/run-{run}/a\"").repeat(20)).concat();
        assert_eq!(worth_a_name([siblings.as_str()].into_iter()), None);
        let strings: Vec<&str> =
            beginnings(r#""$dir/a/$i" "$dir2/b" "$dirty/c" "$dir" "$n/a""#).collect();
        assert_eq!(strings, ["$dir/a/", "$dir2/b", "", "$dir", ""]);
        // Few names, short names, and what runs into a variable stay.
        for text in [line("a"), "\"data/a\"".repeat(50), "\"projects/2026-$i/a\"".repeat(9)] {
            assert_eq!(worth_a_name([text.as_str()].into_iter()), None, "{text}");
        }
    }

    #[test]
    fn names_begin_where_they_still_say_what_they_are() {
        let number = || Part::Number { width: 0 };
        let text = |text: &str| Part::Text(text.as_bytes().to_vec());
        for (template, expected) in [
            (vec![text("in/f-"), number()], "in/f-*"),
            (
                vec![text("a/long/way/down/to/the/last/part-"), number()],
                "way/down/to/the/last/part-*",
            ),
            (
                vec![text("a/run-"), number(), text("/of/many/directories/content")],
                "run-*/of/many/directories/content",
            ),
            (vec![text("odd\n"), number()], "odd\\n*"),
        ] {
            assert_eq!(with_stars(&template), expected);
        }
    }
}
