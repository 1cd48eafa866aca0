//! The language service and execution in virtual time, for the studio.

use crate::args::{ProgramArgs, Seed};
use crate::compile::{Places, Ranks, compile};
use crate::{language, program};
use engine::config::Config;
use engine::watch::{Limits, step, watch};
use model::Plan;
use model::plan::Span;
use model::watched::Target;
use page::scene::Scene;
use ppl::{Compiled, Severity};
use serde_json::Value;
use studio::{Language, Request, Session};

/// Ranks that are simulated at most, so that an answer comes while the user waits.
const RANKS_MAX: u32 = 1024;

/// Answers in this process.
pub struct Ppl;

struct Service(editor::Session);

impl Session for Service {
    fn handle(&mut self, message: Value) -> Vec<Value> {
        self.0.handle(message)
    }
}

impl Language for Ppl {
    fn session(&self) -> Box<dyn Session> {
        Box::new(Service(language::session()))
    }

    fn see(&self, request: Request) -> Result<String, String> {
        let (_, plan) = bind(request)?;
        let watched = watch(&plan, &Config::default(), true, Limits::default());
        let watched = watched.map_err(|why| why.to_string())?;
        Ok(Scene::new(&plan, &watched).to_json())
    }

    fn step(&self, mut request: Request) -> Result<String, String> {
        let target: Target = serde_json::from_value(request.target.take())
            .map_err(|why| format!("there is no such place to pause at: {why}"))?;
        let (compiled, plan) = bind(request)?;
        let statements = ppl::statements(&compiled.ast, &compiled.sources);
        let snapshot = step(&plan, &Config::default(), statements, &target);
        let snapshot = snapshot.map_err(|why| why.to_string())?;
        serde_json::to_string(&snapshot).map_err(|why| why.to_string())
    }
}

/// The plan of a program, or its first mistake.
fn bind(request: Request) -> Result<(Compiled, Plan), String> {
    if !(1..=RANKS_MAX).contains(&request.ranks) {
        return Err(format!("expected 1 to {RANKS_MAX} ranks, found {}", request.ranks));
    }
    let (groups, include_dirs, mounts) = (Vec::new(), Vec::new(), Vec::new());
    let params = request.parameters.into_iter().collect();
    let (program, seed) = (request.name.clone().into(), Seed::Given(42));
    let args = ProgramArgs { program, params, paper: false, groups, include_dirs, mounts, seed };
    let text = program::Text { name: request.name, bytes: request.text.into() };
    let ranks = Ranks { count: request.ranks, assumed: false, machines: Vec::new() };
    let mut compiled = compile(text, &args, ranks, Places::default(), true);
    let plan = compiled.plan.take();
    match plan {
        Some(plan) => Ok((compiled, plan)),
        None => Err(first_mistake(&compiled)),
    }
}

fn first_mistake(compiled: &Compiled) -> String {
    let mut mistakes = compiled.diagnostics.iter();
    let first = mistakes.find(|found| found.severity() == Severity::Error);
    let Some(first) = first else { return "the program has no plan".into() };
    match first.span == Span::COMMAND_LINE {
        true => first.message.clone(),
        false => {
            let (_, line, _) = compiled.sources.locate(first.span.start);
            format!("line {line}: {}", first.message)
        }
    }
}
