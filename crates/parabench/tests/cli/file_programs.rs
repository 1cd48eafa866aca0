//! Made-up programs that do things to files.

/// Programs that make, change and remove files in loops and under conditions.
struct Writer<'a> {
    tape: &'a [u8],
    at: usize,
    text: String,
    depth: u32,
}

pub fn file_program(tape: &[u8]) -> String {
    let mut writer = Writer {
        tape,
        at: 0,
        text: "$x = 1; param $n = 3; $h = fopen(\"z\", \"w\");\n".into(),
        depth: 0,
    };
    while writer.at < tape.len() {
        writer.statement();
    }
    writer.text
}

impl Writer<'_> {
    fn choose(&mut self, n: u8) -> u8 {
        let byte = self.tape.get(self.at).copied().unwrap_or(0);
        self.at += 1;
        byte % n
    }

    fn path(&mut self) -> String {
        let last = if self.depth > 0 { 8 } else { 4 };
        let names = ["a", "./a", "f-1", "b$x", "f-$i", "f-$i", "g-$i-$i", "f-$x-$i"];
        format!("\"{}\"", names[usize::from(self.choose(last))])
    }

    fn size(&mut self) -> String {
        let last = if self.depth > 0 { 5 } else { 3 };
        ["10", "25", "$x", "$i", "$i * 3 + 1"][usize::from(self.choose(last))].to_string()
    }

    fn statement(&mut self) {
        let (path, size) = (self.path(), self.size());
        let line = match self.choose(16) {
            0 | 1 => format!("write({path}, {size});"),
            2 => format!("append({path}, {size});"),
            3 => format!("delete({path});"),
            4 => format!("rename({path}, {});", self.path()),
            5 => format!("truncate({path}, {size});"),
            6 => format!(
                "$h = fopen({path}, \"{}\");",
                ["w", "a", "r+"][usize::from(self.choose(3))]
            ),
            7 => format!("fwrite($h, {size});"),
            8 => format!("fwrite($h, {size}, {});", self.size()),
            9 => format!("fseek($h, {size});"),
            10 => format!("$x = {size};"),
            11 if self.depth < 3 => {
                let condition =
                    ["$x > 2", "rand(1, 2) > 5", "$n == 3"][usize::from(self.choose(3))];
                return self.block(&format!("if ({condition}) "), 0);
            }
            12..=14 if self.depth < 3 => {
                let count = ["2", "$n", "1..6 step 2", "4"][usize::from(self.choose(4))];
                return self.block(&format!("repeat $i {count} "), 1);
            }
            _ => format!("create({path});"),
        };
        self.text.push_str(&line);
        self.text.push('\n');
    }

    fn block(&mut self, head: &str, depth: u32) {
        self.text.push_str(head);
        self.text.push_str("{\n");
        self.depth += depth;
        for _ in 0..=self.choose(3) {
            self.statement();
        }
        self.depth -= depth;
        self.text.push_str("}\n");
    }
}
