//! Gaps: facts that a log lacks, and lines and calls that were left out; counted, with examples.

use model::escape;
use model::run::{GapName, TraceGap};
use std::collections::BTreeMap;

/// Examples that are kept of each kind.
const EXAMPLES: usize = 10;
/// Characters of an example.
const EXAMPLE_CHARS: usize = 160;
/// Different names that are counted one by one.
const NAMES: usize = 100;

macro_rules! gaps {
    ($( $name:ident $code:literal $says:literal; )*) => {
        /// A kind of gap.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Gap { $(
            #[doc = $says]
            $name,
        )* }

        /// Code and sentence of each; `#` becomes the number, `@` the bytes, `[a|b]` the first of both for one.
        pub const GAPS: &[(&str, &str)] = &[ $( ($code, $says), )* ];
    };
}

gaps! {
    Unparsed "unparsed-lines" "# [line is|lines are] in no form that is known";
    UnfitLines "unfit-lines" "# [line has|lines have] a rule, but no operation";
    SkippedLines "skipped-lines" "# [line was|lines were] left out by rules that skip them";
    LongLines "long-lines" "# [line is|lines are] longer than 1 MiB: their ends were skipped";
    CutCalls "cut-calls" "# [call has|calls have] no end: the log was cut, or their thread died in them";
    CutLogs "cut-logs" "# [log ends|logs end] in the middle: what came behind is missing";
    LostStarts "lost-starts" "# [call has|calls have] an end but no beginning in the log";
    Restarted "restarted" "# [call was|calls were] interrupted by signals and began anew";
    UnknownFiles "unknown-descriptors" "# [call uses|calls use] descriptors that the log does not explain";
    UnknownOrigin "unknown-origin" "# [descriptor was|descriptors were] opened before the log began: their flags and positions are unknown";
    NoFiles "no-files" "# [call works|calls work] on pipes, sockets, terminals and other things that are no files";
    Outside "outside" "# [call on files elsewhere was|calls on files elsewhere were] left out (@)";
    OwnDirectory "own-directory" "# [call|calls] made, removed, renamed or missed the directory itself and [was|were] left out: a run has it";
    Launcher "launcher" "# [call of the launcher of the MPI job was|calls of the launcher of the MPI job were] left out (@)";
    NoOperation "no-operation" "# [call has|calls have] no operation of Parabench and [was|were] left out";
    Opaque "opaque" "# [call hands|calls hand] work to the kernel that the log does not show";
    Mapped "mapped" "# [file was|files were] mapped into memory (@): what was read and written there is invisible";
    Unplaced "unplaced" "# [transfer|transfers] took place at positions that the log does not tell";
    Halves "copies" "# [call|calls] that send bytes from file to file became a read without time and a write";
    FailedCopies "failed-copies" "# [copy was|copies were] not possible inside the kernel and [was|were] left out";
    Duplicates "duplicates" "# [call|calls] closed one of several descriptors of the same instance";
    CutNames "cut-names" "# [name is|names are] not complete in the log";
    UnknownDirectory "unknown-directory" "# [name is|names are] relative to a directory that the log does not tell";
    UnknownParents "unknown-parents" "# [thread appears|threads appear] whose beginning is not in the log";
    Impossible "impossible" "# [call contradicts|calls contradict] what the log says before, [exceeds|exceed] every limit, or [holds|hold] a name with a zero byte";
    NoTimes "no-times" "# [call has|calls have] no time: only their order is known";
    RelativeTimes "relative-times" "# [log has|logs have] times that begin with each of them anew: times of two of them cannot be compared";
    Seconds "whole-seconds" "# [call has|calls have] times in whole seconds";
    NoDurations "no-durations" "# [call has|calls have] a beginning but no duration";
    Backwards "time-backwards" "# [time lies|times lie] before the ones of earlier lines";
    Layers "layers" "# [transfer|transfers] of MPI-IO (@) [was|were] left out: the log has the ones of POSIX that they became";
    Sums "sums" "# [module holds|modules hold] sums over calls: their rows have no events, percentiles and order";
    Aggregated "aggregated" "# [module holds|modules hold] counters of other things than calls and [was|were] left out";
    Unlisted "unlisted-layouts" "# [file|files] lie on storage as Lustre stripes them, but are not listed: 10,000 are";
    Unfound "unlisted-files" "# [file was|files were] removed, or are links, of which nothing more is listed: 100,000 are";
    NoMetadata "no-metadata" "opens and other metadata operations of # [file|files] with transfers are not in the log one by one";
    CoarseTimes "coarse-times" "# [transfer has|transfers have] times that are multiples of 0.1 ms";
    NoResults "no-results" "# [call has|calls have] no result in the log: taken as done in full";
    SinglePrecision "single-precision" "# [call has|calls have] times of seven digits: after 100 s they are multiples of 8 us";
    Milliseconds "milliseconds" "# [operation has|operations have] times in whole milliseconds";
    Queued "from-queue" "# [request is|requests are] timed from the queue: the log has no issue of theirs to the driver";
    Above "above" "# [call is|calls are] of MPI, HDF5 and the like: left out, as the log has the calls of POSIX below them";
    Unseen "unseen-programs" "# [program was|programs were] executed that the recorder cannot look into";
    Streams "streams" "# [program has|programs have] a C library whose streams cannot be recorded";
    Dropped "dropped" "# [call was|calls were] not recorded, for want of room or of access to the log";
    Running "running" "# [process was|processes were] still at work when recording ended: what they did behind that is missing";
    PartMet "barriers-of-some" "# [barrier|barriers] of some ranks of the job [was|were] left out: what they waited there counts as pauses";
    Unmet "lost-barriers" "# [arrival|arrivals] of ranks at barriers [was|were] left out: not all others came, or 262,144 are listed";
    Partial "partial" "# [file|files] may have more transfers than the recorder could keep";
    PartialModules "partial-modules" "# [module was|modules were] short of memory and [lacks|lack] records of files";
    LaterModules "later-modules" "# [module has|modules have] transfers in a form that is not read, but counters";
    Untraced "untraced" "# [transfer|transfers] (@) [is|are] in the log's counters but not in its trace";
}

#[derive(Clone, Debug, Default)]
struct Count {
    count: u64,
    bytes: u64,
    names: BTreeMap<Vec<u8>, u64>,
    examples: Vec<String>,
}

/// Counts and examples so far.
#[derive(Clone, Debug)]
pub struct Gaps {
    counts: Vec<Count>,
}

impl Default for Gaps {
    fn default() -> Gaps {
        Gaps { counts: vec![Count::default(); GAPS.len()] }
    }
}

impl Gaps {
    /// Counts one.
    pub fn add(&mut self, gap: Gap) {
        self.counts[gap as usize].count += 1;
    }

    /// Counts several.
    pub fn add_many(&mut self, gap: Gap, count: u64) {
        let sum = &mut self.counts[gap as usize].count;
        *sum = sum.saturating_add(count);
    }

    /// Counts one with its bytes.
    pub fn add_bytes(&mut self, gap: Gap, bytes: u64) {
        self.add(gap);
        let count = &mut self.counts[gap as usize];
        count.bytes = count.bytes.saturating_add(bytes);
    }

    /// Counts several with their bytes.
    pub fn add_amount(&mut self, gap: Gap, count: u64, bytes: u64) {
        self.add_many(gap, count);
        let sum = &mut self.counts[gap as usize].bytes;
        *sum = sum.saturating_add(bytes);
    }

    /// Counts one with its name, such as that of the call.
    pub fn add_name(&mut self, gap: Gap, name: &[u8]) {
        self.add_names(gap, name, 1);
    }

    /// Counts several with the same name.
    pub fn add_names(&mut self, gap: Gap, name: &[u8], count: u64) {
        if count == 0 {
            return;
        }
        self.add_many(gap, count);
        let names = &mut self.counts[gap as usize].names;
        let room = names.len() < NAMES;
        if let Some(sum) = names.get_mut(name) {
            *sum = sum.saturating_add(count);
        } else if room {
            names.insert(name.to_vec(), count);
        }
    }

    /// Counts one and keeps the text if it is among the first.
    pub fn add_line(&mut self, gap: Gap, log: &str, line: u64, text: &[u8]) {
        self.add(gap);
        let examples = &mut self.counts[gap as usize].examples;
        if examples.len() < EXAMPLES {
            let text = &text[..text.len().min(4 * EXAMPLE_CHARS)];
            let text = escape::line(&String::from_utf8_lossy(text));
            let text: String = text.chars().take(EXAMPLE_CHARS).collect();
            examples.push(format!("{}:{line}: {text}", escape::line(log)));
        }
    }

    /// How many there are of one kind.
    pub fn count(&self, gap: Gap) -> u64 {
        self.counts[gap as usize].count
    }

    /// The gaps that occurred, in the order of the table.
    pub fn list(&self) -> Vec<TraceGap> {
        (0..GAPS.len()).filter_map(|at| self.find(at)).collect()
    }

    /// A kind of gap by its place in the table, if it occurred.
    pub fn find(&self, at: usize) -> Option<TraceGap> {
        let ((code, says), count) = (GAPS[at], &self.counts[at]);
        (count.count > 0).then(|| count.gap(code, says))
    }
}

impl Count {
    fn gap(&self, code: &str, says: &str) -> TraceGap {
        let mut says = sentence_for(says, self.count);
        says = says.replacen('#', &self.count.to_string(), 1);
        says = says.replacen('@', &format!("{} bytes", self.bytes), 1);
        let mut names: Vec<_> = self.names.iter().collect();
        names.sort_by_key(|(name, count)| (u64::MAX - **count, (*name).clone()));
        let name = |(name, count): &(&Vec<u8>, &u64)| GapName {
            name: escape::line(&String::from_utf8_lossy(name)),
            count: **count,
        };
        let names: Vec<GapName> = names.iter().map(name).collect();
        for (at, GapName { name, count }) in names.iter().take(8).enumerate() {
            says += &format!("{} {name} {count}", if at == 0 { ":" } else { "," });
        }
        if names.len() > 8 {
            says += &format!(" and {} others", names.len() - 8);
        }
        let (count, bytes, examples) = (self.count, self.bytes, self.examples.clone());
        TraceGap { code: code.into(), count, bytes, says, examples, names }
    }
}

/// A sentence of the table in singular or plural.
fn sentence_for(says: &str, count: u64) -> String {
    let mut says = says.to_string();
    while let Some((before, rest)) = says.split_once('[')
        && let Some((choice, behind)) = rest.split_once(']')
    {
        let (one, many) = choice.split_once('|').unwrap_or((choice, choice));
        says = [before, if count == 1 { one } else { many }, behind].concat();
    }
    says
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_no_plural() {
        for (gap, one, many) in [
            (Gap::Unparsed, "# line is in no form", "# lines are in no form"),
            (
                Gap::Outside,
                "# call on files elsewhere was left",
                "# calls on files elsewhere were left",
            ),
            (Gap::NoOperation, "# call has no operation", "# calls have no operation"),
        ] {
            let says = GAPS[gap as usize].1;
            assert!(
                sentence_for(says, 1).starts_with(one) && sentence_for(says, 2).starts_with(many)
            );
        }
        for (code, says) in GAPS {
            assert!(!sentence_for(says, 1).contains(['[', ']', '|']), "{code}");
        }
    }

    #[test]
    fn gaps_are_sentences_with_numbers_and_examples() {
        let mut gaps = Gaps::default();
        gaps.add_line(Gap::Unparsed, "a.log", 7, b"?\x1b[1m?");
        gaps.add_bytes(Gap::Outside, 10);
        gaps.add_bytes(Gap::Outside, 20);
        for name in ["flock", "chown", "flock"] {
            gaps.add_name(Gap::NoOperation, name.as_bytes());
        }
        let all = gaps.list();
        let says: Vec<&str> = all.iter().map(|gap| gap.says.as_str()).collect();
        assert_eq!(
            says,
            [
                "1 line is in no form that is known",
                "2 calls on files elsewhere were left out (30 bytes)",
                "3 calls have no operation of Parabench and were left out: flock 2, chown 1",
            ]
        );
        assert_eq!(all[0].examples, ["a.log:7: ?\\x1b[1m?"]);
    }

    #[test]
    fn the_page_lists_every_gap() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/traces.md");
        let page = std::fs::read_to_string(page).unwrap();
        for (code, says) in GAPS {
            let says = sentence_for(says, 2).replace('#', "N").replace("(@)", "(BYTES)");
            assert!(page.contains(&format!("\n| `{code}` | {says} |\n")), "{code}");
        }
    }

    #[test]
    fn examples_and_names_are_limited() {
        let mut gaps = Gaps::default();
        for line in 0..1000 {
            gaps.add_line(Gap::Unparsed, "x", line, &[b'y'; 10_000]);
            gaps.add_name(Gap::NoOperation, line.to_string().as_bytes());
        }
        let all = gaps.list();
        assert_eq!((all[0].count, all[0].examples.len()), (1000, EXAMPLES));
        assert!(all[0].examples[0].len() < 200);
        assert!(all[1].says.ends_with("and 92 others"), "{}", all[1].says);
    }
}
