//! A loop whose body is one operation goes a way of its own: it has to do what the same loop does
//! instruction by instruction, which is one with a second instruction in its body.

mod common;

use common::simulated::{config, run, run_with};
use common::{Build, P};
use engine::config::Config;
use engine::machine::Settings;
use engine::supervise::list_calls;
use model::plan::*;
use model::{Op, Value};

const RANGES: [[i64; 3]; 12] = [
    [0, 12, 1],
    [8, 23, 1],
    [95, 104, 1],
    [-3, 4, 1],
    [3, -4, -1],
    [-3, 8, 2],
    [0, 40, 7],
    [99, 90, -3],
    [0, 1, 1],
    [5, 5, 1],
    [i64::MAX - 3, i64::MAX, 1],
    [i64::MIN, i64::MIN + 3, 1],
];

/// What the path is, the operation and its arguments: operands of the loop variable and another.
type Case = (&'static str, Op, fn(&mut Build, Slot, Slot) -> Vec<Operand>);

const CASES: [Case; 14] = [
    ("counts on", Op::Create, |b, i, _| vec![b.text(&[P::T("f-"), P::V(i)])]),
    ("counts on below another", Op::Create, |b, i, x| vec![b.text(&[P::T("f"), P::V(x), P::V(i)])]),
    ("ends in text", Op::Create, |b, i, _| vec![b.text(&[P::T("f-"), P::V(i), P::T("x")])]),
    ("the number alone", Op::Create, |_, i, _| vec![Operand::slot(i)]),
    ("always the same", Op::Create, |b, _, _| vec![b.str("f")]),
    ("of another variable", Op::Create, |b, _, x| vec![b.text(&[P::T("f-"), P::V(x)])]),
    ("cannot be made", Op::Create, |b, i, _| vec![b.text(&[P::T("none/f-"), P::V(i)])]),
    ("bytes", Op::Write, |b, i, _| {
        vec![b.text(&[P::T("f-"), P::V(i)]), b.int(300), Operand::ABSENT]
    }),
    ("bytes of another variable", Op::Write, |b, i, x| {
        vec![b.text(&[P::T("f-"), P::V(i)]), Operand::slot(x), b.int(7)]
    }),
    ("bytes that change", Op::Write, |b, i, _| vec![b.str("f"), Operand::slot(i), Operand::ABSENT]),
    ("an offset that changes", Op::Write, |b, i, x| {
        vec![b.str("f"), Operand::slot(x), Operand::slot(i)]
    }),
    ("bytes in a text", Op::Write, |b, i, x| {
        vec![b.str("f"), b.text(&[P::V(x), P::V(i)]), Operand::ABSENT]
    }),
    ("the end", Op::Append, |b, _, x| vec![b.str("f"), Operand::slot(x)]),
    ("read", Op::Read, |b, i, _| {
        vec![b.text(&[P::T("f-"), P::V(i)]), Operand::ABSENT, Operand::ABSENT]
    }),
];

/// The loop inside another, in a label and with options; `apart`: with a second instruction.
fn looped(case: &Case, range: [i64; 3], options: Option<Options>, apart: bool) -> Plan {
    Build::plan(1, |b| {
        let (i, x, spare, outer) = (b.global("i"), b.global("x"), b.global("s"), b.global("o"));
        let (seven, two, label) = (b.int(7), b.int(2), b.str("l"));
        let args = (case.2)(b, i, x);
        let last = b.text(&[P::T("last-"), P::V(i)]);
        b.set(x, seven);
        b.time(label, false, |b| {
            b.repeat(outer, two, |b| {
                let range = range.map(|n| b.int(n));
                let body = |b: &mut Build| {
                    b.range(i, range, false, |b| {
                        b.op(case.1, &args);
                        if apart {
                            b.set(spare, seven);
                        }
                    });
                    b.set(spare, seven);
                };
                match options.clone() {
                    Some(options) => b.with(options, body),
                    None => body(b),
                }
            });
        });
        if range[0] != range[1] {
            b.op(Op::Mkdir, &[last]);
        }
    })
}

fn calls(plan: &Plan) -> Vec<Vec<String>> {
    let listed = list_calls(plan, &config(), 0..1, 1000).expect("it starts");
    listed.ranks.into_iter().map(|(_, lines)| lines).collect()
}

/// What is known of a run but the places in the program.
fn figures(plan: &Plan, config: &Config) -> String {
    let (outcome, found) = run_with(plan, config);
    format!("{:?} {:#?} {:#?} {:?}", outcome.ends, found.rows, found.times, found.rank_errors.len())
}

/// The same calls and the same figures.
#[track_caller]
fn check(plans: &[Plan; 2], what: &str) {
    let [here, apart] = plans.each_ref().map(calls);
    assert_eq!(here, apart, "{what}");
    let [here, apart] = plans.each_ref().map(|plan| figures(plan, &config()));
    assert_eq!(here, apart, "{what}");
}

#[test]
fn turns_do_what_the_instructions_do() {
    for case in &CASES {
        // Huge numbers are fine as names only.
        for range in RANGES.into_iter().filter(|r| r[0].abs_diff(0) < 1000 || case.1 == Op::Create)
        {
            let plans = [false, true].map(|apart| looped(case, range, None, apart));
            check(&plans, &format!("{}, {range:?}", case.0));
        }
    }
}

#[test]
fn turns_heed_options() {
    let options = |b: &mut Build| {
        let (close, four) = (b.str("close"), b.int(4));
        let (enoent, random) = (b.str("ENOENT"), b.str("random"));
        [
            Options { fsync: Some(close), ..Options::default() },
            Options { transfer: Some(four), ..Options::default() },
            Options { expect: Some(enoent), ..Options::default() },
            Options { data: Some(random), ..Options::default() },
        ]
    };
    // The operands of the options are the first constants of every plan.
    let all = options(&mut Build::new(1));
    for case in &CASES {
        for (number, option) in all.iter().enumerate() {
            let plans = [false, true].map(|apart| {
                Build::plan(1, |b| {
                    options(b);
                    let (i, x, spare) = (b.global("i"), b.global("x"), b.global("s"));
                    let (seven, twelve) = (b.int(7), b.int(12));
                    let args = (case.2)(b, i, x);
                    b.set(x, seven);
                    b.with(option.clone(), |b| {
                        b.repeat(i, twelve, |b| {
                            b.op(case.1, &args);
                            if apart {
                                b.set(spare, seven);
                            }
                        });
                    });
                })
            });
            check(&plans, &format!("{}, option {number}", case.0));
        }
    }
}

#[test]
fn turns_end_where_an_operation_fails_for_good() {
    let case = CASES.iter().find(|case| case.0 == "cannot be made").expect("the case");
    let settings = Settings { stop_on_error: true, ..Settings::default() };
    let strict = Config { settings, ..config() };
    let plans = [false, true].map(|apart| looped(case, [0, 12, 1], None, apart));
    let [here, apart] = plans.each_ref().map(|plan| figures(plan, &strict));
    assert_eq!(here, apart);
    assert!(here.contains("Failed"), "{here}");
    let (_, found) = run_with(&plans[0], &strict);
    assert_eq!(found.rank_errors[0].place, found.failures[0].place, "the place of the operation");
}

#[test]
fn a_text_that_is_no_number_ends_the_rank_at_the_operation() {
    let plan = Build::plan(1, |b| {
        let (i, x) = (b.global("i"), b.global("x"));
        let (path, four) = (b.str("f"), b.int(4));
        let list = b.value(Value::List([Value::Int(1)].into()));
        b.set(x, list);
        b.repeat(i, four, |b| b.op(Op::Write, &[path, Operand::slot(x), Operand::ABSENT]));
    });
    let (_, found) = run(&plan);
    assert_eq!(found.rank_errors.len(), 1);
}
