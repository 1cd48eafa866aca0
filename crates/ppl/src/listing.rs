//! A plan as text: one line per instruction, for `parabench plan` and for tests.
//!
//! ```text
//!     0  loop       $i = 0..10000          -> 3    ; 2
//!     1  write      "./env/f-{$i}", 1024           ; 2
//!     2  next       $i                     -> 1    ; 2
//!     3  halt
//! ```
//!
//! Behind `;` stands the line of the program, with the file where there are several.

use model::escape::is_harmful;
use model::plan::{
    Args, Instr, LabelKind, LoopCode, NO_SLOT, Operand, Options, Pc, Piece, Plan, SetId, Slot,
    Source, UnaryOp,
};
use model::{Op, Value, words};
use std::fmt::Write;

/// Columns before `-> target` and before `; line`.
const TARGET_COLUMN: usize = 44;
const LINE_COLUMN: usize = 52;
/// Lines for the splits of a statement, and sets in each.
const SPLIT_LINES: usize = 8;
const SPLIT_PARTS: usize = 6;

/// The whole plan.
pub fn listing(plan: &Plan) -> String {
    let mut out = String::new();
    head(plan, &mut out);
    let writer = Writer { plan, lines: line_starts(plan) };
    for site in 0..plan.code.len() as Pc {
        if let Some(proc) = plan.procs.iter().position(|proc| proc.entry == site) {
            writer.proc_head(proc, &mut out);
        }
        writer.line(site, &mut out);
    }
    out
}

/// Ranks, groups and patterns of the plan.
fn head(plan: &Plan, out: &mut String) {
    // Writing to a string cannot fail.
    let _ = writeln!(out, "; {}, seed {}", words::count(plan.ranks, "rank"), plan.seed);
    for (name, value) in &plan.params {
        let _ = writeln!(out, "; param {name} = {}", quoted_value(value));
    }
    for directory in &plan.directories {
        let place = if directory.granted { &directory.path } else { "not granted" };
        let _ = writeln!(out, "; directory {} = {place}", directory.name);
    }
    for group in &plan.groups {
        let (start, end) = (group.members.start, group.members.end);
        let _ = writeln!(out, "; group {:?} = ranks {start}..{end}", group.name);
    }
    splits(plan, out);
    for pattern in &plan.patterns {
        let _ = writeln!(
            out,
            "; pattern {:?} = {}, level {}",
            pattern.name, pattern.definition, pattern.level
        );
    }
}

/// The sets of ranks that splits make; at most a page of them.
fn splits(plan: &Plan, out: &mut String) {
    let sites = (0..plan.code.len()).filter_map(|site| match plan.code[site] {
        Instr::SplitEnter { split, .. } => Some((split, site)),
        _ => None,
    });
    for (split, site) in sites {
        let made = plan.sets.iter().flat_map(|set| {
            let of_it = set.splits.iter().filter(move |classes| classes.split == split);
            of_it.map(move |classes| (&set.members, classes))
        });
        let mut lines = made.map(|(members, classes)| {
            let values = plan.splits[split as usize].values(classes.case.into());
            let values = values.iter().map(|value| format!(" {value}")).collect::<String>();
            let case = if values.is_empty() { values } else { format!(", loop at{values}") };
            format!("; split at {site}{case}: {members} -> {}\n", parts(plan, &classes.classes))
        });
        out.extend(lines.by_ref().take(SPLIT_LINES));
        match lines.count() {
            0 => {}
            more => {
                let _ = writeln!(out, "; split at {site}: {more} more");
            }
        }
    }
}

/// "ranks 0 to 3; ranks 4 to 7"
fn parts(plan: &Plan, classes: &[(i64, SetId)]) -> String {
    let shown = classes.iter().take(SPLIT_PARTS);
    let mut shown: Vec<String> =
        shown.map(|(_, set)| plan.sets[*set as usize].members.to_string()).collect();
    if classes.len() > SPLIT_PARTS {
        shown.push(format!("{} more", classes.len() - SPLIT_PARTS));
    }
    shown.join("; ")
}

/// Where the lines of each file start, in the joined text.
fn line_starts(plan: &Plan) -> Vec<Vec<u32>> {
    let starts = plan.files.iter().map(|file| {
        let ends = file.text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let next = ends.map(|(at, _)| file.start + at as u32 + 1);
        std::iter::once(file.start).chain(next).collect()
    });
    starts.collect()
}

struct Writer<'a> {
    plan: &'a Plan,
    lines: Vec<Vec<u32>>,
}

impl Writer<'_> {
    fn proc_head(&self, number: usize, out: &mut String) {
        let proc = &self.plan.procs[number];
        let params = (0..proc.params).map(|at| self.slot(proc.entry, Slot::local(at)));
        let params: Vec<String> = params.collect();
        let _ = writeln!(out, "; proc {}({})", proc.name, params.join(", "));
    }

    fn line(&self, site: Pc, out: &mut String) {
        let instr = &self.plan.code[site as usize];
        let (mnemonic, operands, target) = self.parts(site, instr);
        let mut line = format!("{site:>5}  {mnemonic:<10} {operands}").trim_end().to_string();
        if let Some(target) = target {
            pad(&mut line, TARGET_COLUMN);
            let _ = write!(line, "-> {target}");
        }
        if let Some(place) = self.place(site) {
            pad(&mut line, LINE_COLUMN);
            let _ = write!(line, "; {place}");
        }
        out.push_str(&line);
        out.push('\n');
    }

    fn place(&self, site: Pc) -> Option<String> {
        let start = self.plan.spans.get(site as usize)?.start;
        let file = self.plan.files.iter().rposition(|file| file.start <= start)?;
        let line = self.lines[file].partition_point(|first| *first <= start);
        match self.plan.files.len() {
            1 => Some(line.to_string()),
            _ => Some(format!("{}:{line}", self.plan.files[file].name)),
        }
    }

    /// Mnemonic, operands, target.
    fn parts(&self, site: Pc, instr: &Instr) -> (&'static str, String, Option<Pc>) {
        let value = |operand: Operand| self.operand(site, operand);
        let slot = |slot: Slot| self.slot(site, slot);
        let group = |group: u32| format!("{:?}", self.plan.groups[group as usize].name);
        let set = |dst, text: String| ("set", format!("{} = {text}", slot(dst)), None);
        match *instr {
            Instr::Move { dst, src } => set(dst, value(src)),
            Instr::Unary { op: UnaryOp::Neg, dst, a } => set(dst, format!("-{}", value(a))),
            Instr::Unary { op: UnaryOp::Not, dst, a } => set(dst, format!("!{}", value(a))),
            Instr::Binary { op, dst, a, b } => {
                set(dst, format!("{} {} {}", value(a), op.symbol(), value(b)))
            }
            Instr::Function { function, dst, args } => {
                set(dst, format!("{}({})", function.row().name, self.args(site, args)))
            }
            Instr::Internal { what, dst } => set(dst, format!("$${}", what.row().name)),
            Instr::List { dst, args } => set(dst, format!("[{}]", self.args(site, args))),
            Instr::Index { dst, list, index } => {
                set(dst, format!("{}[{}]", value(list), value(index)))
            }
            Instr::SetItem { list, args } => {
                let (place, item) = self.changed(site, list, args);
                ("set", format!("{place} = {item}"), None)
            }
            Instr::Push { list, args } => {
                let (place, item) = self.changed(site, list, args);
                ("push", format!("{place}, {item}"), None)
            }
            Instr::Test { dst, a } => ("test", format!("{} = {}", slot(dst), value(a)), None),
            Instr::Jump { to } => ("jump", String::new(), Some(to)),
            Instr::JumpIf { cond, when, to } => {
                let sign = if when { "" } else { "!" };
                ("jump if", format!("{sign}{}", self.operand(site, cond)), Some(to))
            }
            Instr::Loop { code } => {
                let code = &self.plan.loops[code as usize];
                ("loop", self.range(site, code), Some(code.exit))
            }
            Instr::Next { code } => {
                let code = &self.plan.loops[code as usize];
                let var =
                    if code.var == NO_SLOT { String::new() } else { self.slot(site, code.var) };
                ("next", var, Some(code.body))
            }
            Instr::Share { count, by } if value(by) == "1" => ("share", value(count), None),
            Instr::Share { count, by } => {
                ("share", format!("{} by {}", value(count), value(by)), None)
            }
            Instr::Claim { dst, exit } => ("claim", slot(dst), Some(exit)),
            Instr::ShareEnd => ("share end", String::new(), None),
            Instr::Limit { end, exit } => ("limit", slot(end), Some(exit)),
            Instr::LabelEnter { label } => {
                let label = self.plan.labels[label as usize];
                let name = if label.kind == LabelKind::Wall { "time" } else { "ctime" };
                let sync = if label.sync { ", sync" } else { "" };
                (name, format!("{}{sync}", self.operand(site, label.text)), None)
            }
            Instr::LabelLeave => ("time end", String::new(), None),
            Instr::GroupEnter { group: id, skip } => ("group", group(id), Some(skip)),
            Instr::SplitEnter { value: by, end, .. } => ("split", value(by), Some(end)),
            Instr::GroupLeave => ("group end", String::new(), None),
            Instr::Master { skip } => ("master", String::new(), Some(skip)),
            Instr::Barrier { group: id } => ("barrier", id.map_or(String::new(), group), None),
            Instr::WithEnter { options } => {
                ("with", self.options(site, &self.plan.options[options as usize]), None)
            }
            Instr::WithLeave => ("with end", String::new(), None),
            Instr::Op { op, dst, args } => (op.name(), self.operation(site, op, dst, args), None),
            Instr::CallProc { proc, args } => {
                let name = &self.plan.procs[proc as usize].name;
                ("call", format!("{name}({})", self.args(site, args)), None)
            }
            Instr::Extent { args } => ("extent", self.args(site, args), None),
            Instr::Return => ("return", String::new(), None),
            Instr::Halt => ("halt", String::new(), None),
        }
    }

    fn range(&self, site: Pc, code: &LoopCode) -> String {
        let value = |operand: Operand| self.operand(site, operand);
        let mut text = String::new();
        if code.var != NO_SLOT {
            let _ = write!(text, "{} = ", self.slot(site, code.var));
        }
        let _ = write!(text, "{}..{}", value(code.from), value(code.to));
        let step = value(code.step);
        if step != "1" {
            let _ = write!(text, " step {step}");
        }
        text
    }

    fn operation(&self, site: Pc, op: Op, dst: Slot, args: u32) -> String {
        let first = args as usize;
        let operands = match op {
            Op::Print => {
                let count = self.plan.args.get(first).map_or(0, |count| match count.source() {
                    Source::Const(index) => self.plan.consts[index as usize].as_size().unwrap_or(0),
                    _ => 0,
                });
                &self.plan.args[first + 1..first + 1 + count as usize]
            }
            _ => &self.plan.args[first..first + op.row().params.len()],
        };
        // Arguments that are left out at the end are not shown.
        let last = operands.iter().rposition(|operand| *operand != Operand::ABSENT);
        let shown = &operands[..last.map_or(0, |last| last + 1)];
        let shown: Vec<String> = shown.iter().map(|operand| self.operand(site, *operand)).collect();
        let result = if dst == NO_SLOT { String::new() } else { self.slot(site, dst) + " = " };
        result + &shown.join(", ")
    }

    fn options(&self, site: Pc, options: &Options) -> String {
        let given = options.given().map(|(option, operand)| {
            format!("{}={}", option.row().name, self.operand(site, operand))
        });
        given.collect::<Vec<_>>().join(", ")
    }

    fn args(&self, site: Pc, args: Args) -> String {
        let args = self.plan.args[args.range()].iter();
        args.map(|operand| self.operand(site, *operand)).collect::<Vec<_>>().join(", ")
    }

    /// An element of a list or a list, and the value that comes there.
    fn changed(&self, site: Pc, list: Slot, args: Args) -> (String, String) {
        let Some((value, path)) = self.plan.args[args.range()].split_last() else {
            return Default::default();
        };
        let indices = path.iter().map(|at| format!("[{}]", self.operand(site, *at)));
        (self.slot(site, list) + &indices.collect::<String>(), self.operand(site, *value))
    }

    fn operand(&self, site: Pc, operand: Operand) -> String {
        match operand.source() {
            Source::Slot(slot) => self.slot(site, slot),
            Source::Const(index) => quoted_value(&self.plan.consts[index as usize]),
            Source::Template(index) => self.template(site, index),
            Source::Absent => "-".into(),
        }
    }

    fn template(&self, site: Pc, index: u32) -> String {
        let template = self.plan.templates[index as usize];
        let mut text = String::from("\"");
        for piece in &self.plan.pieces[template.start as usize..template.end as usize] {
            match piece {
                Piece::Text { start, end } => {
                    escaped(&self.plan.text[*start as usize..*end as usize], &mut text);
                }
                Piece::Value(operand) => {
                    let _ = write!(text, "{{{}}}", self.operand(site, *operand));
                }
                Piece::Formatted { value, format } => {
                    let _ = write!(text, "{{{}:{format}}}", self.operand(site, *value));
                }
                Piece::Internal(what) => {
                    let _ = write!(text, "{{$${}}}", what.row().name);
                }
            }
        }
        text + "\""
    }

    /// `$name`; a number behind it where several slots have the name; `%n` for hidden ones.
    fn slot(&self, site: Pc, slot: Slot) -> String {
        let index = (slot.0 & !Slot::LOCAL) as usize;
        let names = if slot.0 & Slot::LOCAL == 0 {
            Some(&self.plan.globals)
        } else {
            let proc = self.plan.procs.partition_point(|proc| proc.entry <= site).checked_sub(1);
            proc.and_then(|proc| self.plan.locals.get(proc))
        };
        let name = names.and_then(|names| names.get(index)).map_or("", String::as_str);
        if name.is_empty() {
            return format!("%{index}");
        }
        let earlier = names.map_or(0, |names| names[..index].iter().filter(|n| *n == name).count());
        if earlier == 0 { format!("${name}") } else { format!("${name}'{earlier}") }
    }
}

fn pad(line: &mut String, column: usize) {
    let width = line.chars().count();
    line.extend(std::iter::repeat_n(' ', column.saturating_sub(width).max(2)));
}

fn quoted_value(value: &Value) -> String {
    match value {
        Value::Str(text) => {
            let mut out = String::from("\"");
            escaped(text, &mut out);
            out + "\""
        }
        Value::List(items) => {
            let items: Vec<String> = items.iter().map(quoted_value).collect();
            format!("[{}]", items.join(", "))
        }
        other => other.to_string(),
    }
}

/// Text as it is written in a program.
fn escaped(text: &[u8], out: &mut String) {
    let hexadecimal = |bytes: &[u8], out: &mut String| {
        for byte in bytes {
            let _ = write!(out, "\\x{byte:02x}");
        }
    };
    for chunk in text.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '"' | '\\' | '$' => out.extend(['\\', c]),
                '\n' => out.push_str("\\n"),
                '\t' => out.push_str("\\t"),
                c if is_harmful(c) => hexadecimal(c.encode_utf8(&mut [0; 4]).as_bytes(), out),
                c => out.push(c),
            }
        }
        hexadecimal(chunk.invalid(), out);
    }
}
