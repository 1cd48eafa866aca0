//! Options of a job as they are given. A value that is not understood is listed: nothing is lost without a word.
//!
//! ```text
//! numjobs=4          number("numjobs", 1) = 4
//! numjobs=${JOBS}    number("numjobs", 1) = 1, and numjobs=${JOBS} is left out
//! ```

use crate::foreign::command::size;
use std::cell::RefCell;

/// Options of a section: names and values.
pub(crate) type Settings = Vec<(String, String)>;

/// Names, what is printed, and what is logged: the work is the same.
const WITHOUT_EFFECT: &[&str] = &[
    "description",
    "group_reporting",
    "new_group",
    "gtod_reduce",
    "unified_rw_reporting",
    "stats",
    "percentile_list",
    "clat_percentiles",
    "lat_percentiles",
    "slat_percentiles",
    "significant_figures",
    "disable_lat",
    "disable_clat",
    "disable_slat",
    "disable_bw",
    "disable_bw_measurement",
    "bwavgtime",
    "iopsavgtime",
    "log_avg_msec",
    "log_hist_msec",
    "log_hist_coarseness",
    "log_max_value",
    "log_offset",
    "log_prio",
    "log_entries",
    "log_unix_epoch",
    "log_compression",
    "log_compression_cpus",
    "log_store_compressed",
    "write_bw_log",
    "write_lat_log",
    "write_iops_log",
    "write_hist_log",
    "write_iolog",
    "per_job_logs",
    "output",
    "output-format",
    "minimal",
    "append-terse",
    "terse-version",
    "bandwidth-log",
    "eta",
    "eta-newline",
    "eta-interval",
    "status-interval",
    "disk_util",
    "max-jobs",
    "warnings-fatal",
];

/// The options of a job, and those without a counterpart.
pub(crate) struct Given<'s> {
    settings: &'s Settings,
    left_out: RefCell<Vec<String>>,
}

impl<'s> Given<'s> {
    /// Options that are not `known` are left out from the start, unless they have no effect on the work.
    pub(crate) fn new(settings: &'s Settings, known: &[&str]) -> Given<'s> {
        let is_known = |name: &str| known.contains(&name) || WITHOUT_EFFECT.contains(&name);
        let others = settings.iter().filter(|setting| !is_known(&setting.0));
        let left_out = others.map(|(name, value)| format!("{name}={value}")).collect();
        Given { settings, left_out: RefCell::new(left_out) }
    }

    /// The last value of an option with one of these names, if `read` understands it.
    pub(crate) fn read<T>(
        &self,
        names: &[&str],
        read: impl FnOnce(&'s str) -> Option<T>,
    ) -> Option<T> {
        let mut settings = self.settings.iter().rev();
        let (name, value) = settings.find(|setting| names.contains(&setting.0.as_str()))?;
        // fio takes ${NAME} from its environment, which is not known here.
        let understood = if value.contains("${") { None } else { read(value) };
        if understood.is_none() {
            self.leave_out(format!("{name}={value}"));
        }
        understood
    }

    /// The last value of an option, whatever it is.
    pub(crate) fn text(&self, names: &[&str]) -> Option<&'s str> {
        self.read(names, Some)
    }

    /// A number, as fio reads them: `16`, `2k`.
    pub(crate) fn number(&self, name: &str, default: u64) -> u64 {
        self.read(&[name], size).unwrap_or(default)
    }

    /// A number of bytes above 0.
    pub(crate) fn bytes(&self, names: &[&str]) -> Option<u64> {
        self.read(names, |text| size(text).filter(|bytes| *bytes > 0))
    }

    /// Whether a switch is on; an option without a value is.
    pub(crate) fn is_on(&self, name: &str) -> bool {
        self.read(&[name], switch).unwrap_or(false)
    }

    /// Lists an option, once.
    pub(crate) fn leave_out(&self, option: String) {
        let mut left_out = self.left_out.borrow_mut();
        if !left_out.contains(&option) {
            left_out.push(option);
        }
    }

    /// The options without a counterpart, as they were written.
    pub(crate) fn left_out(self) -> Vec<String> {
        self.left_out.into_inner()
    }
}

pub(crate) fn switch(text: &str) -> Option<bool> {
    match text {
        "1" | "true" => Some(true),
        "0" | "false" => Some(false),
        _ => None,
    }
}

/// Units of times, and microseconds of each.
const TIMES: &[(&str, u64)] = &[
    ("us", 1),
    ("usec", 1),
    ("ms", 1000),
    ("msec", 1000),
    ("s", 1_000_000),
    ("sec", 1_000_000),
    ("m", 60_000_000),
    ("min", 60_000_000),
    ("h", 3_600_000_000),
    ("d", 86_400_000_000),
];

/// Microseconds of `60`, `500ms`, `5m`; a number without a unit is in `unit`.
pub(crate) fn time_us(text: &str, unit: &str) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let number: u64 = text[..digits].parse().ok()?;
    let unit = if text[digits..].is_empty() { unit } else { &text[digits..] };
    let row = TIMES.iter().find(|row| row.0.eq_ignore_ascii_case(unit))?;
    number.checked_mul(row.1)
}

/// A time in the largest unit that tells it exactly.
pub(crate) fn time(us: u64) -> String {
    match us {
        us if us.is_multiple_of(1_000_000) => format!("{}s", us / 1_000_000),
        us if us.is_multiple_of(1000) => format!("{}ms", us / 1000),
        us => format!("{us}us"),
    }
}

/// The names of `filename=a:b`; `\:` is a colon in a name.
pub(crate) fn split_names(text: &str) -> Vec<String> {
    let names = text.replace("\\:", "\0");
    let names = names.split(':').map(|name| name.replace('\0', ":"));
    names.filter(|name| !name.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_are_not_understood_are_listed() {
        let settings: Settings =
            [("a", "${N}"), ("b", "x"), ("c", "3"), ("d", "50%"), ("e", "2"), ("f", "1")]
                .map(|(name, value)| (name.to_string(), value.to_string()))
                .into();
        let given = Given::new(&settings, &["a", "b", "c", "d", "e"]);
        assert_eq!(["a", "b", "c"].map(|name| given.number(name, 7)), [7, 7, 3]);
        assert_eq!((given.bytes(&["d"]), given.is_on("e"), given.is_on("g")), (None, false, false));
        assert_eq!(given.number("a", 7), 7, "listed once");
        assert_eq!(given.left_out(), ["f=1", "a=${N}", "b=x", "d=50%", "e=2"]);
    }

    #[test]
    fn what_is_printed_and_logged_is_no_work() {
        let names = ["log_hist_msec", "write_iolog", "stats", "max_latency"];
        let settings = names.map(|name| (name.to_string(), "1".to_string())).into();
        assert_eq!(Given::new(&settings, &[]).left_out(), ["max_latency=1"]);
    }

    #[test]
    fn times_have_units() {
        for (text, unit, us) in [
            ("60", "s", Some(60_000_000)),
            ("500ms", "s", Some(500_000)),
            ("10", "us", Some(10)),
            ("5M", "s", Some(300_000_000)),
            ("1y", "s", None),
            ("", "s", None),
        ] {
            assert_eq!(time_us(text, unit), us, "{text}");
        }
        assert_eq!([60_000_000, 1500, 7].map(time), ["60s", "1500us", "7us"]);
        assert_eq!(split_names("/d/a:b\\:c:"), ["/d/a", "b:c"]);
    }
}
