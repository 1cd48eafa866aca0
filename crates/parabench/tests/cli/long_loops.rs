//! Random programs with long loops: nested ones, with conditions on indices, remainders and lists.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

/// Iterations of all loops of a program together, about.
const ITERATIONS_MAX: u64 = 6_000;

/// Makes one program for a seed.
pub struct Programs {
    random: ChaCha8Rng,
}

impl Programs {
    pub fn new(seed: u64) -> Programs {
        Programs { random: ChaCha8Rng::seed_from_u64(seed) }
    }

    fn below(&mut self, end: u64) -> u64 {
        self.random.next_u64() % end
    }

    fn chosen<'a>(&mut self, texts: &[&'a str]) -> &'a str {
        texts[self.below(texts.len() as u64) as usize]
    }

    pub fn program(&mut self) -> String {
        let mut text = "$list = [3, 1, 4, 1, 5, 9, 2, 6];\n".to_string();
        for at in 0..1 + self.below(2) {
            text += &self.a_loop(["a", "b"][at as usize], &[], ITERATIONS_MAX);
        }
        text
    }

    /// A loop, with variables of its own and of those around it.
    fn a_loop(&mut self, name: &str, around: &[String], most: u64) -> String {
        let iterations = match self.below(3) {
            0 if most > 2000 => 2 + self.below(40),
            _ => 2 + self.below(most.min(3000)),
        };
        let variable = format!("{name}{}", around.len());
        let all = [around, std::slice::from_ref(&variable)].concat();
        let mut body = String::new();
        for _ in 0..1 + self.below(3) {
            body += &self.statement(name, &all, most / iterations);
        }
        format!("repeat ${variable} {iterations} {{ {body}}}\n")
    }

    fn statement(&mut self, name: &str, variables: &[String], most: u64) -> String {
        match self.below(8) {
            0 if variables.len() < 3 && most > 4 => self.a_loop(name, variables, most),
            0..=2 => {
                let condition = self.condition(variables);
                let (one, other) = (self.operation(variables), self.operation(variables));
                match self.below(2) {
                    0 => format!("if ({condition}) {{ {one}}} else {{ {other}}} "),
                    _ if most > 8 && self.below(2) == 0 => {
                        let times = 2 + self.below(most.min(50));
                        format!("if ({condition}) repeat {times} {{ {one}}} ")
                    }
                    _ => format!("if ({condition}) {{ {one}}} "),
                }
            }
            _ => self.operation(variables),
        }
    }

    fn variable(&mut self, variables: &[String]) -> String {
        variables[self.below(variables.len() as u64) as usize].clone()
    }

    fn condition(&mut self, variables: &[String]) -> String {
        let variable = self.variable(variables);
        let number = 1 + self.below(60);
        match self.below(5) {
            0 => format!("${variable} < {}", 20 * number),
            1 => format!("$list[${variable} % 8] > {}", self.below(8)),
            2 => {
                format!("${variable} % {number} == {} || ${variable} % 7 == 3", self.below(number))
            }
            _ => format!("${variable} % {number} == {}", self.below(number)),
        }
    }

    fn operation(&mut self, variables: &[String]) -> String {
        let size = self.chosen(&["1", "100", "4k", "64k", "1m"]);
        let own = variables.iter().map(|variable| format!("-${variable}")).collect::<String>();
        let variable = self.variable(variables);
        let few = 1 + self.below(20);
        match self.below(9) {
            0 => "stat(\".\"); ".into(),
            1 => format!("append(\"log\", {size}); "),
            2 => format!("write(\"same\", {size}); "),
            3 => format!("write(\"t{own}\", {size}); delete(\"t{own}\"); "),
            4 => format!("write(\"u{own}\", {size}); read(\"u{own}\"); "),
            5 => format!("$k = ${variable} % {few}; write(\"ring-$k\", {size}); "),
            6 => format!("write(\"s{own}\", ${variable} % 1000 * 8); "),
            7 => format!("write(\"tmp\", {size}); rename(\"tmp\", \"r{own}\"); "),
            _ => format!("write(\"f{own}\", {size}); "),
        }
    }
}
