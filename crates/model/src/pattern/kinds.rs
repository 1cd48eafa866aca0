//! The table of kinds: one row for each kind of pattern, with its arguments.
//!
//! Checker, `parabench pattern --kinds`, listings and completion read it. A new kind is a file
//! with its [`super::Shape`], a variant of [`Geometry`] and a row here.

use super::blockcyclic::BlockCyclic;
use super::flash::{Flash, Output};
use super::mesh::{Mesh, Partition};
use super::multipartition::Multipartition;
use super::nested::Nested;
use super::random::Random;
use super::segmented::Segmented;
use super::sequential::{Mode, Sequential};
use super::strided::Strided;
use super::subarray::Subarray;
use super::tiled::Tiled;
use super::{Geometry, MAX_OFFSET_BYTES};
use crate::value::Value;
use std::fmt;

/// The value of an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// A number.
    Number(u64),
    /// A list of numbers.
    Numbers(Vec<u64>),
    /// One of some words, in quotes.
    Word(&'static str),
}

impl fmt::Display for Argument {
    /// As it is written in a program.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Argument::Number(n) => write!(f, "{n}"),
            Argument::Numbers(list) => write!(f, "{list:?}"),
            Argument::Word(word) => write!(f, "\"{word}\""),
        }
    }
}

/// What an argument accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accepts {
    /// A number of at least this.
    Number(u64),
    /// A list of numbers of at least this, one for each dimension or level.
    Numbers(u64),
    /// One of these words.
    Word(&'static [&'static str]),
}

/// Most numbers in a list: dimensions and levels beyond that are mistakes.
const MAX_DIMS: usize = 16;

impl Accepts {
    /// What is expected, to follow "expected".
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

    /// The argument that a value is.
    ///
    /// # Errors
    /// A sentence for the user: what was expected and what was found.
    pub fn accept(self, value: &Value) -> Result<Argument, String> {
        let accepted = match self {
            Accepts::Number(least) => number(value, least).map(Argument::Number),
            Accepts::Numbers(least) => numbers(value, least).map(Argument::Numbers),
            Accepts::Word(words) => match value {
                Value::Str(text) => {
                    let word = words.iter().find(|word| word.as_bytes() == text);
                    word.map(|word| Argument::Word(word))
                }
                _ => None,
            },
        };
        accepted.ok_or_else(|| format!("expected {}, found {}", self.expected(), value.describe()))
    }
}

fn number(value: &Value, least: u64) -> Option<u64> {
    let n = value.as_size().ok()?;
    (least..=MAX_OFFSET_BYTES).contains(&n).then_some(n)
}

fn numbers(value: &Value, least: u64) -> Option<Vec<u64>> {
    let Value::List(items) = value else { return None };
    let fits = (1..=MAX_DIMS).contains(&items.len());
    let numbers = items.iter().map(|item| number(item, least)).collect::<Option<Vec<u64>>>();
    numbers.filter(|_| fits)
}

/// An argument of a kind.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// What it accepts.
    pub accepts: Accepts,
    /// `None`: it has to be given. `Some`: what holds without it, as it would be written, or the
    /// name of another argument, or "" for an empty list.
    pub default: Option<&'static str>,
    /// What it means, with its unit.
    pub doc: &'static str,
}

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub struct KindRow {
    /// Its name.
    pub name: &'static str,
    /// Its arguments.
    pub params: &'static [Parameter],
    /// What it is, in one or two sentences.
    pub doc: &'static str,
    /// Where member g of G accesses the file.
    pub formula: &'static str,
    /// A definition that uses it.
    pub example: &'static str,
    /// Makes the pattern of its arguments and the program's seed.
    pub build: fn(&Arguments, u64) -> Geometry,
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
}

/// The row of a name.
pub fn kind(name: &str) -> Option<&'static KindRow> {
    KINDS.iter().find(|row| row.name == name)
}

/// The arguments of a pattern: those given, and the defaults of the others.
#[derive(Clone, Debug)]
pub struct Arguments {
    row: &'static KindRow,
    given: Vec<(&'static str, Argument)>,
}

impl Arguments {
    /// Arguments of a kind; those that have to be given are taken to be there.
    pub fn new(row: &'static KindRow, given: Vec<(&'static str, Argument)>) -> Arguments {
        Arguments { row, given }
    }

    /// Names of arguments that have to be given and are not.
    pub fn missing(&self) -> Vec<&'static str> {
        let required = self.row.params.iter().filter(|param| param.default.is_none());
        required.map(|param| param.name).filter(|name| self.get(name).is_none()).collect()
    }

    /// The pattern.
    pub fn build(&self, seed: u64) -> Geometry {
        (self.row.build)(self, seed)
    }

    fn get(&self, name: &str) -> Option<&Argument> {
        self.given.iter().find(|(given, _)| *given == name).map(|(_, value)| value)
    }

    fn default_of(&self, name: &str) -> &'static str {
        self.row.param(name).and_then(|param| param.default).unwrap_or("")
    }

    fn number(&self, name: &str) -> u64 {
        match self.get(name) {
            Some(Argument::Number(n)) => *n,
            _ => {
                let default = self.default_of(name);
                let other = || self.row.param(default).map_or(0, |param| self.number(param.name));
                default.parse().unwrap_or_else(|_| other())
            }
        }
    }

    fn numbers(&self, name: &str) -> Vec<u64> {
        match self.get(name) {
            Some(Argument::Numbers(list)) => list.clone(),
            _ => Vec::new(),
        }
    }

    fn word(&self, name: &str) -> &'static str {
        match self.get(name) {
            Some(Argument::Word(word)) => word,
            _ => self.default_of(name).trim_matches('"'),
        }
    }
}

const fn req(name: &'static str, accepts: Accepts, doc: &'static str) -> Parameter {
    Parameter { name, accepts, default: None, doc }
}

const fn opt(
    name: &'static str,
    accepts: Accepts,
    default: &'static str,
    doc: &'static str,
) -> Parameter {
    Parameter { name, accepts, default: Some(default), doc }
}

const ANY: Accepts = Accepts::Number(0);
const POSITIVE: Accepts = Accepts::Number(1);
const BLOCK: Parameter = req("block", POSITIVE, "bytes of a piece");
const COUNT: Parameter = req("count", POSITIVE, "pieces of each member");
const HEADER: Parameter = opt("header", ANY, "0", "bytes before the pattern in the file");
const ELEM: Parameter = opt("elem", POSITIVE, "1", "bytes of an element");
const SIZES: Parameter =
    req("sizes", Accepts::Numbers(1), "elements in each dimension; the last one runs fastest");
const GRID: Parameter = opt(
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
        build: |args, _| {
            Geometry::Segmented(Segmented {
                block_bytes: args.number("block"),
                count: args.number("count"),
                header_bytes: args.number("header"),
            })
        },
    },
    KindRow {
        name: "sequential",
        params: &[
            BLOCK,
            COUNT,
            opt(
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
        build: |args, _| {
            Geometry::Sequential(Sequential {
                block_bytes: args.number("block"),
                count: args.number("count"),
                header_bytes: args.number("header"),
                mode: if args.word("mode") == "whole" { Mode::Whole } else { Mode::Partition },
            })
        },
    },
    KindRow {
        name: "strided",
        params: &[BLOCK, COUNT, HEADER],
        doc: "Members take turns, piece by piece.",
        formula: "offset(i) = header + (i*G + g)*block, i in 0..count",
        example: "define pattern \"p\" level 2 = strided(block=64k, count=16);",
        build: |args, _| {
            Geometry::Strided(Strided {
                block_bytes: args.number("block"),
                count: args.number("count"),
                header_bytes: args.number("header"),
                as_subarray: false,
            })
        },
    },
    KindRow {
        name: "nested",
        params: &[
            BLOCK,
            req("counts", Accepts::Numbers(1), "repetitions of each level, the innermost first"),
            opt(
                "strides",
                Accepts::Numbers(0),
                "",
                "bytes from one repetition to the next of each level; left out: G*block, and then \
                 gap*count*stride of the level inside",
            ),
            opt("gap", POSITIVE, "2", "factor between strides that are left out; 1: no holes"),
            opt("shift", ANY, "block", "bytes from a member's first piece to that of the next"),
            HEADER,
        ],
        doc: "Strides within strides, to any depth.",
        formula: "offset = header + g*shift + i1*stride1 + i2*stride2 + ..., ik in 0..countk, i1 \
                  fastest",
        example: "define pattern \"p\" level 2 = nested(block=4k, counts=[8, 4]);",
        build: |args, _| {
            Geometry::Nested(Nested {
                block_bytes: args.number("block"),
                counts: args.numbers("counts"),
                strides_bytes: args.numbers("strides"),
                gap: args.number("gap"),
                shift_bytes: args.number("shift"),
                header_bytes: args.number("header"),
            })
        },
    },
    KindRow {
        name: "random",
        params: &[
            req("min", ANY, "least bytes of a piece"),
            req("max", POSITIVE, "most bytes of a piece"),
            COUNT,
            HEADER,
        ],
        doc: "Members take turns, and every turn has another length, drawn with the seed of the \
              run: all members draw the same.",
        formula: "turn t belongs to member t mod G; offset(t) = header + the lengths before t",
        example: "define pattern \"p\" level 0 = random(min=1k, max=64k, count=100);",
        build: |args, seed| {
            Geometry::Random(Random {
                min_bytes: args.number("min"),
                max_bytes: args.number("max"),
                count: args.number("count"),
                header_bytes: args.number("header"),
                seed,
            })
        },
    },
    KindRow {
        name: "tiled",
        params: &[
            req("nx", POSITIVE, "tiles beside each other"),
            req("ny", POSITIVE, "tiles below each other"),
            req("sx", POSITIVE, "elements of a tile in x"),
            req("sy", POSITIVE, "elements of a tile in y"),
            ELEM,
            opt("ox", ANY, "0", "elements that neighbours share in x"),
            opt("oy", ANY, "0", "elements that neighbours share in y"),
            HEADER,
        ],
        doc: "A 2-D array cut into tiles that may overlap, a tile for each member, as in \
              MPI-Tile-IO. Needs nx*ny members; more have no pieces.",
        formula: "offset(y) = header + ((ty*(sy-oy) + y)*X + tx*(sx-ox))*elem, y in 0..sy, \
                  tx = g%nx, ty = g/nx, X = nx*sx - (nx-1)*ox",
        example: "define pattern \"p\" level 3 = tiled(nx=2, ny=2, sx=1024, sy=768, elem=32, \
                  ox=16, oy=16);",
        build: |args, _| {
            Geometry::Tiled(Tiled {
                tiles: [args.number("nx"), args.number("ny")],
                tile: [args.number("sx"), args.number("sy")],
                element_bytes: args.number("elem"),
                overlap: [args.number("ox"), args.number("oy")],
                header_bytes: args.number("header"),
            })
        },
    },
    KindRow {
        name: "subarray",
        params: &[SIZES, GRID, ELEM, HEADER],
        doc: "An array of any number of dimensions, a block of it for each member.",
        formula: "a row of the block in one piece; along n elements and p members the first n mod \
                  p members have one more than n div p",
        example: "define pattern \"p\" level 3 = subarray(sizes=[64, 64, 64], elem=8);",
        build: |args, _| {
            Geometry::Subarray(Subarray {
                sizes: args.numbers("sizes"),
                grid: args.numbers("grid"),
                element_bytes: args.number("elem"),
                header_bytes: args.number("header"),
            })
        },
    },
    KindRow {
        name: "blockcyclic",
        params: &[
            SIZES,
            req("blocks", Accepts::Numbers(1), "elements of a block in each dimension"),
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
        build: |args, _| {
            Geometry::BlockCyclic(BlockCyclic {
                sizes: args.numbers("sizes"),
                blocks: args.numbers("blocks"),
                grid: args.numbers("grid"),
                element_bytes: args.number("elem"),
                header_bytes: args.number("header"),
            })
        },
    },
    KindRow {
        name: "multipartition",
        params: &[
            req("n", POSITIVE, "points along a side of the cube"),
            opt("elem", POSITIVE, "40", "bytes of a point"),
            opt("dumps", POSITIVE, "1", "cubes one after the other"),
            HEADER,
        ],
        doc: "The diagonal cells of a cube, as NAS BT-IO has them. Needs a square number of \
              members, and 3 points along each side of a cell.",
        formula: "q*q = G; cell c in 0..q: cx = (g%q + c) % q, cy = (g/q - c) mod q, cz = c; \
                  offset = header + elem*(low(cx) + n*(y + n*(z + n*t)))",
        example: "define pattern \"p\" level 3 = multipartition(n=12);",
        build: |args, _| {
            Geometry::Multipartition(Multipartition {
                n: args.number("n"),
                element_bytes: args.number("elem"),
                dumps: args.number("dumps"),
                header_bytes: args.number("header"),
            })
        },
    },
    KindRow {
        name: "flash",
        params: &[
            opt("blocks", POSITIVE, "80", "least blocks of a member"),
            opt("spread", POSITIVE, "3", "member g has g % spread blocks more"),
            opt("nxb", POSITIVE, "8", "zones of a block in x"),
            opt("nyb", POSITIVE, "8", "zones of a block in y"),
            opt("nzb", POSITIVE, "8", "zones of a block in z"),
            opt(
                "file",
                Accepts::Word(&["checkpoint", "centred", "corners"]),
                "\"checkpoint\"",
                "which of the three files: 8-byte or, the others, 4-byte reals",
            ),
            opt("vars", ANY, "0", "variables; 0: 24 in a checkpoint, 4 in the others"),
            HEADER,
        ],
        doc: "An output file of the FLASH code: six arrays for the tree of blocks, then an array \
              for each variable.",
        formula: "in an array with s bytes a block: offset = start + left(g)*s, length = \
                  blocks(g)*s, left(g) = the blocks of the members before",
        example: "define pattern \"p\" level 1 = flash(blocks=80, file=\"centred\");",
        build: |args, _| {
            let output = match args.word("file") {
                "centred" => Output::Centred,
                "corners" => Output::Corners,
                _ => Output::Checkpoint,
            };
            Geometry::Flash(Flash {
                blocks: args.number("blocks"),
                spread: args.number("spread"),
                zones: [args.number("nxb"), args.number("nyb"), args.number("nzb")],
                variables: match args.number("vars") {
                    0 => output.variables(),
                    variables => variables,
                },
                output,
                header_bytes: args.number("header"),
            })
        },
    },
    KindRow {
        name: "mesh",
        params: &[
            req("vertices", POSITIVE, "vertices of all members"),
            opt("values", POSITIVE, "1", "values of 8 bytes of each vertex"),
            opt(
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
        build: |args, seed| {
            Geometry::Mesh(Mesh {
                vertices: args.number("vertices"),
                values: args.number("values"),
                partition: match args.word("partition") {
                    "cyclic" => Partition::Cyclic,
                    "random" => Partition::Random,
                    _ => Partition::Block,
                },
                header_bytes: args.number("header"),
                seed,
            })
        },
    },
];
