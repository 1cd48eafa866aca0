//! The table of kinds as a manual.

use model::pattern::KINDS;

/// All kinds, with arguments, formula and an example.
pub fn list(columns: usize) -> String {
    let mut text = String::new();
    for row in KINDS {
        text.push_str(&format!("{}\n", row.signature()));
        paragraph(&mut text, "  ", row.doc, columns);
        for param in row.params {
            text.push_str(&format!(
                "    {:<10} {}: {}\n",
                param.name,
                param.accepts.expected(),
                param.doc
            ));
        }
        paragraph(&mut text, "  where: ", row.formula, columns);
        text.push_str(&format!("  example: {}\n\n", row.example));
    }
    text.push_str(
        "Any other geometry: define pattern \"p\" level 0 { ... extent(offset, length); ... }\n\
         g: place of the member in its group, from 0; G: size of the group. All offsets are bytes.\n",
    );
    text
}

/// Words in lines of at most so many columns, the first after `head`, the others below its end.
fn paragraph(text: &mut String, head: &str, words: &str, columns: usize) {
    let mut line = head.to_string();
    let columns = columns.max(40);
    for word in words.split_whitespace() {
        if line.len() > head.len() && line.len() + 1 + word.len() > columns {
            text.push_str(line.trim_end());
            text.push('\n');
            line = " ".repeat(head.len());
        } else if line.len() > head.len() {
            line.push(' ');
        }
        line.push_str(word);
    }
    text.push_str(&line);
    text.push('\n');
}
