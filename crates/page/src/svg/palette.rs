//! Colours: a palette that colour-blind readers can tell apart (Okabe and Ito, 2008, darkened
//! or lightened for contrast with the page), and viridis for quantities.

use report::markup::Element;

/// Colour of a drawing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    /// Words and numbers.
    Text,
    /// Titles of axes, notes.
    Muted,
    /// Lines of the mesh.
    Grid,
    /// Axes.
    Axis,
    /// A series, from 0; those past [`SERIES`] share a grey.
    Series(usize),
    /// A quantity from 0 (least) to [`SHADES`] - 1.
    Shade(usize),
}

/// Series that have colours of their own.
pub const SERIES: usize = 8;
/// Steps of the scale of quantities.
pub const SHADES: usize = 32;

/// Name of the custom property, colour on a light page, on a dark one.
const COLORS: [(&str, &str, &str); 13] = [
    ("text", "#1b1f24", "#e3e6ea"),
    ("muted", "#5c6470", "#9aa3ae"),
    ("grid", "#e6e8eb", "#2b3037"),
    ("axis", "#8b939d", "#6b737e"),
    ("s0", "#0067a5", "#5aa9e6"),
    ("s1", "#c8500a", "#f28b4b"),
    ("s2", "#00805c", "#3ecf9f"),
    ("s3", "#a8488b", "#e394c8"),
    ("s4", "#b07d00", "#e8b93f"),
    ("s5", "#3d9bd1", "#9ad4f5"),
    ("s6", "#6b4ba1", "#b79df0"),
    ("s7", "#7a4a2b", "#c99a78"),
    ("rest", "#a3a9b1", "#5d656f"),
];
/// The page behind: no ink is needed for it.
const PAGE: (&str, &str) = ("#ffffff", "#14171b");

/// Ten points of viridis (van der Walt and Smith, 2015, public domain), darkest first.
const VIRIDIS: [[u8; 3]; 10] = [
    [68, 1, 84],
    [72, 40, 120],
    [62, 74, 137],
    [49, 104, 142],
    [38, 130, 142],
    [31, 158, 137],
    [53, 183, 121],
    [110, 206, 88],
    [181, 222, 43],
    [253, 231, 37],
];

impl Ink {
    /// The element filled with it.
    pub fn fill(self, element: Element) -> Element {
        self.paint(element, "f", "fill")
    }

    /// The element's outline drawn with it.
    pub fn stroke(self, element: Element) -> Element {
        self.paint(element, "s", "stroke")
    }

    /// Gives it the class that lets the page choose the colour, and the colour of the light theme.
    fn paint(self, element: Element, initial: &str, property: &'static str) -> Element {
        let at = match self {
            Ink::Text => 0,
            Ink::Muted => 1,
            Ink::Grid => 2,
            Ink::Axis => 3,
            Ink::Series(at) => 4 + at.min(SERIES),
            Ink::Shade(shade) => return element.attr(property, self::shade(shade)),
        };
        let (name, light, _) = COLORS[at];
        element.class(&format!("{initial}-{name}")).attr(property, light)
    }
}

/// Between two points of viridis in proportion.
fn shade(shade: usize) -> String {
    let at = shade.min(SHADES - 1) as f64 / (SHADES - 1) as f64 * (VIRIDIS.len() - 1) as f64;
    let below = (at as usize).min(VIRIDIS.len() - 2);
    let part = at - below as f64;
    let mix = |channel: usize| {
        let (a, b) = (f64::from(VIRIDIS[below][channel]), f64::from(VIRIDIS[below + 1][channel]));
        (a + (b - a) * part).round() as u8
    };
    format!("#{:02x}{:02x}{:02x}", mix(0), mix(1), mix(2))
}

/// Custom properties for light, dark and print, and the classes that use them.
pub fn style() -> String {
    let variables = |of: fn(&(&str, &str, &str)) -> String, page: &str| {
        let all: String = COLORS.iter().map(of).collect();
        format!("{all}--page:{page}")
    };
    let light = variables(|(name, light, _)| format!("--{name}:{light};"), PAGE.0);
    let dark = variables(|(name, _, dark)| format!("--{name}:{dark};"), PAGE.1);
    let class = |(name, _, _): &(&str, &str, &str)| {
        format!(".f-{name}{{fill:var(--{name})}}.s-{name}{{stroke:var(--{name})}}\n")
    };
    let classes: String = COLORS.iter().map(class).collect();
    format!(
        ":root{{{light}}}\n@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}\n\
         .picture rect{{shape-rendering:crispEdges}}\n{classes}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use report::markup::{Markup, element};
    use std::collections::HashSet;

    fn filled(ink: Ink) -> String {
        Markup::from(ink.fill(element("rect"))).into_string()
    }

    #[test]
    fn every_colour_stands_for_one_thing() {
        let inks = [Ink::Text, Ink::Muted, Ink::Grid, Ink::Axis].into_iter();
        let series = (0..=SERIES).map(Ink::Series);
        let all: Vec<Ink> = inks.chain(series).chain((0..SHADES).map(Ink::Shade)).collect();
        let colors: HashSet<_> = all.iter().map(|ink| filled(*ink)).collect();
        assert_eq!(colors.len(), all.len());
        assert_eq!(filled(Ink::Series(99)), filled(Ink::Series(SERIES)));
        assert_eq!(filled(Ink::Shade(99)), filled(Ink::Shade(SHADES - 1)));
    }

    #[test]
    fn colours_become_classes_with_the_light_theme_as_fallback() {
        let outlined = Markup::from(Ink::Series(0).stroke(element("rect"))).into_string();
        assert_eq!(outlined, "<rect class=\"s-s0\" stroke=\"#0067a5\"/>\n");
        assert_eq!(filled(Ink::Shade(0)), "<rect fill=\"#440154\"/>\n");
        assert_eq!(filled(Ink::Text), "<rect class=\"f-text\" fill=\"#1b1f24\"/>\n");
    }

    /// WCAG 2 asks for 4.5 between words and page, and 3 between marks and page.
    #[test]
    fn words_and_marks_stand_out_on_both_pages() {
        for (name, light, dark) in COLORS {
            let least = match name {
                "text" | "muted" => 4.5,
                "grid" | "axis" | "rest" => continue,
                _ => 3.0,
            };
            for (color, page) in [(light, PAGE.0), (dark, PAGE.1)] {
                let contrast = contrast(color, page);
                assert!(contrast >= least, "{name} {color} on {page}: {contrast:.2}");
            }
        }
    }

    fn contrast(a: &str, b: &str) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    /// Relative luminance (WCAG 2.2).
    fn luminance(color: &str) -> f64 {
        let channel = |at: usize| {
            let value = f64::from(u8::from_str_radix(&color[at..at + 2], 16).unwrap()) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
    }
}
