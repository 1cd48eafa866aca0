//! Exit codes: the one place that says what they are and which one wins.

use std::process::ExitCode;

/// How the program ends. The order of the variants is the order in which they win.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// Everything went well.
    Success,
    /// A verdict mark (with `--strict`) or a gate failed.
    Verdict,
    /// Some operation or rank failed.
    Failed,
    /// The run was interrupted.
    Interrupted,
    /// The input was wrong: program, arguments, directory, preflight.
    Input,
    /// A command that was recorded ended with this code, which is passed on.
    Command(u8),
}

impl Exit {
    /// The number that the shell sees.
    pub fn code(self) -> u8 {
        match self {
            Exit::Success => 0,
            Exit::Failed => 1,
            Exit::Input => 2,
            Exit::Verdict => 3,
            Exit::Interrupted => 130,
            Exit::Command(code) => code,
        }
    }

    /// The inverse of [`Exit::code`]; other codes are failures.
    pub fn from_code(code: u8) -> Exit {
        let all = [Exit::Success, Exit::Verdict, Exit::Interrupted, Exit::Input];
        all.into_iter().find(|exit| exit.code() == code).unwrap_or(Exit::Failed)
    }

    /// The more important one of two exit codes: 2 > 130 > 1 > 3 > 0.
    pub fn and(self, other: Exit) -> Exit {
        self.max(other)
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_reason_wins() {
        let order = [Exit::Success, Exit::Verdict, Exit::Failed, Exit::Interrupted, Exit::Input];
        for (at, worse) in order.iter().enumerate() {
            for better in &order[..=at] {
                assert_eq!(better.and(*worse), *worse);
                assert_eq!(worse.and(*better), *worse);
            }
        }
        assert_eq!(order.map(Exit::code), [0, 3, 1, 130, 2]);
        assert_eq!(order.map(|exit| Exit::from_code(exit.code())), order);
    }
}
