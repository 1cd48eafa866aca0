//! Kinds of patterns: the table of their arguments, and the PPL text that computes their extents.
//!
//! Checker, `parabench pattern --kinds`, suggestions and documentation read the table. `strided`,
//! `random` and `subarray` are built in ([`model::pattern`]); the others are procs in `kinds.ppl`. A new
//! kind is a row here and a proc there.

use model::Value;
use model::pattern::MAX_OFFSET_BYTES;
use std::fmt::Write;

/// The values of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accepts {
    /// A number of at least this.
    Number(u64),
    /// A list of numbers of at least this, one for each dimension or level.
    Numbers(u64),
    /// One of these words, in quotes.
    Word(&'static [&'static str]),
}

/// Most numbers in a list: dimensions and levels beyond that are mistakes.
const MAX_DIMS: usize = 16;

impl Accepts {
    /// The accepted values in words, to follow "expected".
    pub fn expected(self) -> String {
        match self {
            Accepts::Number(least) => format!("a number of at least {least}"),
            Accepts::Numbers(least) => {
                format!("a list of 1 to {MAX_DIMS} numbers of at least {least}")
            }
            Accepts::Word(words) => {
                let words: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
                words.join(" or ")
            }
        }
    }

    /// The value as the argument has it: parameters that hold numbers become numbers.
    ///
    /// # Errors
    /// A sentence for the user: what was expected and what was found.
    pub fn accept(self, value: &Value) -> Result<Value, String> {
        let number = |value: &Value, least: u64| {
            let n = value.as_size().ok()?;
            (least..=MAX_OFFSET_BYTES).contains(&n).then_some(Value::Int(n as i64))
        };
        let accepted = match (self, value) {
            (Accepts::Number(least), value) => number(value, least),
            (Accepts::Numbers(least), Value::List(items))
                if (1..=MAX_DIMS).contains(&items.len()) =>
            {
                let numbers = items.iter().map(|item| number(item, least));
                numbers.collect::<Option<Vec<Value>>>().map(|list| Value::List(list.into()))
            }
            (Accepts::Word(words), Value::Str(text)) => {
                let known = words.iter().any(|word| word.as_bytes() == text);
                known.then(|| value.clone())
            }
            _ => None,
        };
        accepted.ok_or_else(|| format!("expected {}, found {}", self.expected(), value.describe()))
    }
}

/// An argument of a kind.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// Its values.
    pub accepts: Accepts,
    /// `None`: it has to be given. `Some`: the default as it would be written, the name of another
    /// argument, or "" for an empty list.
    pub default: Option<&'static str>,
    /// Its meaning, with its unit.
    pub doc: &'static str,
}

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub struct KindRow {
    /// Its name.
    pub name: &'static str,
    /// Its arguments.
    pub params: &'static [Parameter],
    /// Its description in one or two sentences.
    pub doc: &'static str,
    /// Where member g of G accesses the file.
    pub formula: &'static str,
    /// A definition that uses it.
    pub example: &'static str,
}

/// The row of a name.
pub fn find_kind(name: &str) -> Option<&'static KindRow> {
    KINDS.iter().find(|row| row.name == name)
}

impl KindRow {
    /// `tiled(nx, ny, sx, sy, elem=1, ...)`
    pub fn signature(&self) -> String {
        let params = self.params.iter().map(|param| match param.default {
            None => param.name.to_string(),
            Some("") => format!("{}=[...]", param.name),
            Some(default) => format!("{}={default}", param.name),
        });
        format!("{}({})", self.name, params.collect::<Vec<_>>().join(", "))
    }

    /// The argument of a name.
    pub fn param(&self, name: &str) -> Option<&'static Parameter> {
        self.params.iter().find(|param| param.name == name)
    }

    /// The proc that computes the extents; `None`: the kind is built in.
    pub(crate) fn definition(&self) -> Option<&'static str> {
        const TEXT: &str = include_str!("kinds.ppl");
        let start = TEXT.find(&format!("define proc {}(", self.name))?;
        let end = TEXT[start..].find("\n}\n")?;
        Some(&TEXT[start..start + end + 3])
    }

    /// The values of all arguments in the order of the table.
    ///
    /// # Errors
    /// The first argument that has to be given and is not.
    pub fn complete(&self, given: &[(&str, Value)]) -> Result<Arguments, &'static Parameter> {
        let mut values: Vec<(&'static str, Value)> = Vec::new();
        for param in self.params {
            let own = given.iter().find(|(name, _)| *name == param.name);
            let value = match (own, param.default, param.accepts) {
                (Some((_, value)), ..) => value.clone(),
                (None, None, _) => return Err(param),
                (None, Some(default), Accepts::Word(_)) => Value::str(default.trim_matches('"')),
                (None, Some(""), _) => Value::List(Vec::new().into()),
                (None, Some(default), _) => match default.parse() {
                    Ok(n) => Value::Int(n),
                    Err(_) => {
                        let other = values.iter().find(|(name, _)| *name == default);
                        other.map_or(Value::Int(0), |(_, value)| value.clone())
                    }
                },
            };
            values.push((param.name, value));
        }
        Ok(Arguments { kind: self.name, values })
    }
}

/// All arguments of a pattern, those that were left out included.
#[derive(Clone, Debug, PartialEq)]
pub struct Arguments {
    kind: &'static str,
    values: Vec<(&'static str, Value)>,
}

impl Arguments {
    /// The values in the order of the table.
    pub(crate) fn values(&self) -> impl Iterator<Item = &Value> {
        self.values.iter().map(|(_, value)| value)
    }

    fn get(&self, name: &str) -> Option<&Value> {
        self.values.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// The number of a name; 0 if there is none.
    pub(crate) fn number(&self, name: &str) -> u64 {
        self.get(name).and_then(|value| value.as_size().ok()).unwrap_or(0)
    }

    /// The numbers of a name; none if there is no list.
    pub(crate) fn numbers(&self, name: &str) -> Vec<u64> {
        match self.get(name) {
            Some(Value::List(items)) => {
                items.iter().filter_map(|item| item.as_size().ok()).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The definition as a program writes it, with all arguments but empty lists.
    pub(crate) fn definition(&self) -> String {
        let mut text = format!("{}(", self.kind);
        let mut separator = "";
        for (name, value) in &self.values {
            let _ = match value {
                Value::List(items) if items.is_empty() => continue,
                Value::Str(word) => {
                    let word = String::from_utf8_lossy(word);
                    write!(text, "{separator}{name}=\"{word}\"")
                }
                value => write!(text, "{separator}{name}={value}"),
            };
            separator = ", ";
        }
        text + ")"
    }
}

const fn required(name: &'static str, accepts: Accepts, doc: &'static str) -> Parameter {
    Parameter { name, accepts, default: None, doc }
}

const fn optional(
    name: &'static str,
    accepts: Accepts,
    default: &'static str,
    doc: &'static str,
) -> Parameter {
    Parameter { name, accepts, default: Some(default), doc }
}

const ANY: Accepts = Accepts::Number(0);
const POSITIVE: Accepts = Accepts::Number(1);
const BLOCK: Parameter = required("block", POSITIVE, "bytes of a piece");
const COUNT: Parameter = required("count", POSITIVE, "pieces of each member");
const HEADER: Parameter = optional("header", ANY, "0", "bytes before the pattern in the file");
const ELEM: Parameter = optional("elem", POSITIVE, "1", "bytes of an element");
const SIZES: Parameter =
    required("sizes", Accepts::Numbers(1), "elements in each dimension; the last one runs fastest");
const GRID: Parameter = optional(
    "grid",
    Accepts::Numbers(1),
    "",
    "members in each dimension; left out: a balanced grid of all members",
);

/// The table.
pub static KINDS: &[KindRow] = &[
    KindRow {
        name: "segmented",
        params: &[BLOCK, COUNT, HEADER],
        doc: "The file is cut into equal segments, one for each member.",
        formula: "offset(u) = header + (g*count + u)*block, u in 0..count",
        example: "define pattern \"p\" level 0 = segmented(block=64k, count=16);",
    },
    KindRow {
        name: "sequential",
        params: &[
            BLOCK,
            COUNT,
            optional(
                "mode",
                Accepts::Word(&["partition", "whole"]),
                "\"partition\"",
                "each member goes through its own part, or all through the same pieces",
            ),
            HEADER,
        ],
        doc: "Pieces one after the other: each member its own part, or all the whole file.",
        formula: "offset(u) = header + (g*count + u)*block, or header + u*block, u in 0..count",
        example: "define pattern \"p\" level 0 = sequential(block=1m, count=16, mode=\"whole\");",
    },
    KindRow {
        name: "strided",
        params: &[BLOCK, COUNT, HEADER],
        doc: "Members take turns, piece by piece.",
        formula: "offset(i) = header + (i*G + g)*block, i in 0..count",
        example: "define pattern \"p\" level 2 = strided(block=64k, count=16);",
    },
    KindRow {
        name: "nested",
        params: &[
            BLOCK,
            required(
                "counts",
                Accepts::Numbers(1),
                "repetitions of each level, the innermost first",
            ),
            optional(
                "strides",
                Accepts::Numbers(0),
                "",
                "bytes from one repetition to the next of each level; left out: G*block, and then \
                 gap*count*stride of the level inside",
            ),
            optional("gap", POSITIVE, "2", "factor between strides that are left out; 1: no holes"),
            optional(
                "shift",
                ANY,
                "block",
                "bytes from a member's first piece to that of the next",
            ),
            HEADER,
        ],
        doc: "Strides within strides, to any depth.",
        formula: "offset = header + g*shift + i1*stride1 + i2*stride2 + ..., ik in 0..countk, i1 \
                  fastest",
        example: "define pattern \"p\" level 2 = nested(block=4k, counts=[8, 4]);",
    },
    KindRow {
        name: "random",
        params: &[
            required("min", ANY, "least bytes of a piece"),
            required("max", POSITIVE, "most bytes of a piece"),
            COUNT,
            HEADER,
        ],
        doc: "Members take turns, and every turn has another length, drawn with the seed of the \
              run: all members draw the same.",
        formula: "turn t belongs to member t mod G; offset(t) = header + the lengths before t",
        example: "define pattern \"p\" level 0 = random(min=1k, max=64k, count=100);",
    },
    KindRow {
        name: "tiled",
        params: &[
            required("nx", POSITIVE, "tiles beside each other"),
            required("ny", POSITIVE, "tiles below each other"),
            required("sx", POSITIVE, "elements of a tile in x"),
            required("sy", POSITIVE, "elements of a tile in y"),
            ELEM,
            optional("ox", ANY, "0", "elements that neighbours share in x"),
            optional("oy", ANY, "0", "elements that neighbours share in y"),
            HEADER,
        ],
        doc: "A 2-D array cut into tiles that may overlap, a tile for each member, as in \
              MPI-Tile-IO. Needs nx*ny members; more have no pieces.",
        formula: "offset(y) = header + ((ty*(sy-oy) + y)*X + tx*(sx-ox))*elem, y in 0..sy, \
                  tx = g%nx, ty = g/nx, X = nx*sx - (nx-1)*ox",
        example: "define pattern \"p\" level 3 = tiled(nx=2, ny=2, sx=1024, sy=768, elem=32, \
                  ox=16, oy=16);",
    },
    KindRow {
        name: "subarray",
        params: &[SIZES, GRID, ELEM, HEADER],
        doc: "An array of any number of dimensions, a block of it for each member.",
        formula: "a row of the block in one piece; along n elements and p members the first n mod \
                  p members have one more than n div p",
        example: "define pattern \"p\" level 3 = subarray(sizes=[64, 64, 64], elem=8);",
    },
    KindRow {
        name: "blockcyclic",
        params: &[
            SIZES,
            required("blocks", Accepts::Numbers(1), "elements of a block in each dimension"),
            GRID,
            ELEM,
            HEADER,
        ],
        doc: "An array cut into small blocks that are dealt out to the members in turn in every \
              dimension, as ScaLAPACK has it.",
        formula: "element e of a dimension belongs to place (e/block) % p; a row of a block in \
                  one piece",
        example: "define pattern \"p\" level 3 = blockcyclic(sizes=[1000, 1000], blocks=[64, 64], \
                  elem=8);",
    },
    KindRow {
        name: "multipartition",
        params: &[
            required("n", POSITIVE, "points along a side of the cube"),
            optional("elem", POSITIVE, "40", "bytes of a point"),
            optional("dumps", POSITIVE, "1", "cubes one after the other"),
            HEADER,
        ],
        doc: "The diagonal cells of a cube, as NAS BT-IO has them. Needs a square number of \
              members, and 3 points along each side of a cell.",
        formula: "q*q = G; cell c in 0..q: cx = (g%q + c) % q, cy = (g/q - c) mod q, cz = c; \
                  offset = header + elem*(low(cx) + n*(y + n*(z + n*t)))",
        example: "define pattern \"p\" level 3 = multipartition(n=12);",
    },
    KindRow {
        name: "flash",
        params: &[
            optional("blocks", POSITIVE, "80", "least blocks of a member"),
            optional("spread", POSITIVE, "3", "member g has g % spread blocks more"),
            optional("nxb", POSITIVE, "8", "zones of a block in x"),
            optional("nyb", POSITIVE, "8", "zones of a block in y"),
            optional("nzb", POSITIVE, "8", "zones of a block in z"),
            optional(
                "file",
                Accepts::Word(&["checkpoint", "centred", "corners"]),
                "\"checkpoint\"",
                "which of the three files: 8-byte or, the others, 4-byte reals",
            ),
            optional("vars", ANY, "0", "variables; 0: 24 in a checkpoint, 4 in the others"),
            HEADER,
        ],
        doc: "An output file of the FLASH code: six arrays for the tree of blocks, then an array \
              for each variable.",
        formula: "in an array with s bytes a block: offset = start + left(g)*s, length = \
                  blocks(g)*s, left(g) = the blocks of the members before",
        example: "define pattern \"p\" level 1 = flash(blocks=80, file=\"centred\");",
    },
    KindRow {
        name: "mesh",
        params: &[
            required("vertices", POSITIVE, "vertices of all members"),
            optional("values", POSITIVE, "1", "values of 8 bytes of each vertex"),
            optional(
                "partition",
                Accepts::Word(&["block", "cyclic", "random"]),
                "\"block\"",
                "who has which vertices",
            ),
            HEADER,
        ],
        doc: "Vertices of an unstructured mesh with a record of values each; a piece is a record.",
        formula: "offset(v) = header + v*values*8 for the vertices v of the member",
        example: "define pattern \"p\" level 3 = mesh(vertices=100000, values=5, \
                  partition=\"random\");",
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{NoIncludes, Sources};

    #[test]
    fn arguments_that_do_not_fit_are_refused() {
        let refusal = |accepts: Accepts, value: &Value| accepts.accept(value).unwrap_err();
        let number = Accepts::Number(1);
        assert_eq!(
            refusal(number, &Value::Int(0)),
            "expected a number of at least 1, found an integer (0)"
        );
        assert_eq!(number.accept(&Value::str("12")), Ok(Value::Int(12)), "parameters are texts");
        let lists = Accepts::Numbers(1);
        let empty = Value::List(Vec::new().into());
        assert!(refusal(lists, &empty).contains("a list of 1 to 16 numbers"));
        assert!(refusal(lists, &Value::Int(4)).contains("a list"));
        let words = Accepts::Word(&["block", "cyclic"]);
        assert_eq!(
            refusal(words, &Value::str("x")),
            "expected \"block\" or \"cyclic\", found the string \"x\""
        );
    }

    /// Each proc takes the arguments of its row, has no mistakes, and has the common style.
    #[test]
    fn definitions_go_with_the_table() {
        let text = include_str!("kinds.ppl");
        assert_eq!(crate::format(text), (text.to_string(), Vec::new()));
        for row in KINDS {
            let built_in = ["strided", "random", "subarray"].contains(&row.name);
            assert_eq!(row.definition().is_none(), built_in, "{}", row.name);
            let Some(definition) = row.definition() else { continue };
            let mut sources = Sources::default();
            let (root, _) = sources.add("kind", definition.as_bytes().to_vec());
            let (ast, diagnostics) = crate::parse(&mut sources, root, &mut NoIncludes);
            assert_eq!(diagnostics, [], "{}", row.name);
            let params = ast.exprs_in(ast.procs[0].params);
            let params = params.filter_map(|id| ast.param_name(id));
            let names: Vec<&str> = params.map(|name| ast.names.text(name)).collect();
            let known: Vec<&str> = row.params.iter().map(|param| param.name).collect();
            assert_eq!(names, known, "{}", row.name);
        }
    }
}
