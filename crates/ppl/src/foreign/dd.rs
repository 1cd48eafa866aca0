//! `dd if=/dev/zero of=file bs=1M count=1024 conv=fsync` in PPL.

use super::command::Command;
use super::options::size;
use super::page::{Page, Start, bytes, place};

/// Blocks of a copy whose end dd finds by itself.
const COUNT: &str = "1024";

/// What dd is asked for.
#[derive(Default)]
struct Copy<'t> {
    from: Option<&'t str>,
    to: Option<&'t str>,
    block: Option<u64>,
    count: Option<&'t str>,
    /// Words of `conv`, `iflag` and `oflag`.
    flags: Vec<&'t str>,
}

pub(super) fn translate(command: &Command<'_>) -> Option<String> {
    let mut copy = Copy::default();
    let mut left_out = Vec::new();
    for word in &command.words {
        match word.split_once('=')? {
            ("if", path) => copy.from = Some(path),
            ("of", path) => copy.to = Some(path),
            ("bs" | "ibs" | "obs", value) => copy.block = size(value),
            ("count", value) => {
                copy.count = Some(value).filter(|value| value.parse::<u32>().is_ok())
            }
            ("conv" | "iflag" | "oflag", words) => copy.flags.extend(words.split(',')),
            ("status", _) => {}
            _ => left_out.push(*word),
        }
    }
    Some(copy.program(&left_out))
}

fn is_device(path: &str) -> bool {
    path.starts_with("/dev/")
}

impl Copy<'_> {
    fn program(&self, left_out: &[&str]) -> String {
        let reads = self.from.filter(|path| !is_device(path)).map(place);
        let writes = self.to.filter(|path| !is_device(path)).map(place);
        let folder = writes.as_ref().or(reads.as_ref()).and_then(|place| place.0.clone());
        let mut page = Page::new("dd", &Start { folder, ..Start::default() });
        page.param("bs", &bytes(self.block.unwrap_or(512)), "bs: bytes of one call");
        page.param("count", self.count.unwrap_or(COUNT), "count: number of calls");
        left_out.iter().for_each(|word| page.leaves_out(*word));
        if let Some((_, name)) = &reads {
            page.line(&format!("write(\"{name}\", $count * $bs); # the file that is read"));
        }
        let options = self.options(writes.is_some());
        page.line(&options);
        page.line(if options.is_empty() { "" } else { "{" });
        match (&reads, &writes) {
            (Some((_, from)), Some((_, to))) => self.copies(&mut page, from, to),
            (Some((_, name)), None) => self.reads(&mut page, name),
            (None, to) => self.writes(&mut page, to.as_ref().map_or("data", |place| &place.1)),
        }
        page.line(if options.is_empty() { "" } else { "}" });
        page.finish()
    }

    fn has(&self, flag: &str) -> bool {
        self.flags.contains(&flag)
    }

    /// `with (...)`, or nothing.
    fn options(&self, writes: bool) -> String {
        let mut options = Vec::new();
        if self.has("direct") {
            options.push("direct=true");
        }
        if writes && self.from == Some("/dev/zero") {
            options.push("data=\"zero\"");
        }
        if options.is_empty() { String::new() } else { format!("with ({})", options.join(", ")) }
    }

    /// The flags that a file is opened with for writing.
    fn flags(&self) -> String {
        let mut flags = String::from("O_WRONLY|O_CREAT");
        let also = [
            (!self.has("notrunc"), "|O_TRUNC"),
            (self.has("dsync"), "|O_DSYNC"),
            (self.has("sync"), "|O_SYNC"),
        ];
        also.iter().filter(|flag| flag.0).for_each(|flag| flags.push_str(flag.1));
        flags
    }

    /// What makes data stable before the end.
    fn sync(&self) -> &'static str {
        match (self.has("fsync"), self.has("fdatasync")) {
            (true, _) => "fsync($h);",
            (_, true) => "fdatasync($h);",
            _ => "",
        }
    }

    fn writes(&self, page: &mut Page, name: &str) {
        page.line("time[\"write\"] {");
        page.line(&format!("$h = fopen(\"{name}\", \"{}\");", self.flags()));
        page.line("repeat $count fwrite($h, $bs);");
        page.line(self.sync());
        page.line("fclose($h); }");
    }

    fn reads(&self, page: &mut Page, name: &str) {
        page.line("time[\"read\"] {");
        page.line(&format!("$h = fopen(\"{name}\", \"r\");"));
        page.line("repeat $count fread($h, $bs);");
        page.line("fclose($h); }");
    }

    fn copies(&self, page: &mut Page, from: &str, to: &str) {
        page.line("time[\"copy\"] {");
        page.line(&format!("$from = fopen(\"{from}\", \"r\");"));
        page.line(&format!("$h = fopen(\"{to}\", \"{}\");", self.flags()));
        page.line("repeat $count { fread($from, $bs); fwrite($h, $bs); }");
        page.line(self.sync());
        page.line("fclose($h); fclose($from); }");
    }
}
