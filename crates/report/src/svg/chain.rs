//! Points as a screen can show them: finite, in the plot, few.

use super::scale::Scale;
use crate::chart::Point;

/// A point in the plot, 0 to 1 both ways, with the ends of its error bar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mark {
    /// From the left.
    pub x: f64,
    /// From below.
    pub y: f64,
    /// Lower and upper end of the error bar.
    pub interval: Option<(f64, f64)>,
}

/// The points that have a place, in their order.
pub fn placed(points: &[Point], x: &Scale, y: &Scale) -> Vec<Mark> {
    points.iter().filter_map(|point| mark(point, x, y)).collect()
}

/// A line of about `most` points that looks the same: of the points of one narrow column the
/// lowest and the highest are kept, so that no peak is lost.
pub fn thinned(all: Vec<Mark>, most: usize) -> Vec<Mark> {
    if all.len() <= most.max(2) {
        return all;
    }
    let columns = (most / 4).max(1);
    let column = |mark: &Mark| ((mark.x * columns as f64) as usize).min(columns - 1);
    all.chunk_by(|a, b| column(a) == column(b)).flat_map(corners).collect()
}

fn mark(point: &Point, x: &Scale, y: &Scale) -> Option<Mark> {
    let interval = point.interval.and_then(|(low, high)| Some((y.place(low)?, y.place(high)?)));
    Some(Mark { x: x.place(point.x)?, y: y.place(point.y)?, interval })
}

/// First, lowest, highest and last of some points, in their order, each once (Jugel and others,
/// "M4: A Visualization-Oriented Time Series Data Aggregation", VLDB 2014).
fn corners(points: &[Mark]) -> Vec<Mark> {
    let by_y = |a: &usize, b: &usize| points[*a].y.total_cmp(&points[*b].y);
    let lowest = (0..points.len()).min_by(by_y).unwrap_or(0);
    let highest = (0..points.len()).max_by(by_y).unwrap_or(0);
    let mut kept = vec![0, lowest, highest, points.len() - 1];
    kept.sort_unstable();
    kept.dedup();
    kept.into_iter().map(|at| points[at]).collect()
}

/// The line of steps that keep their value until the next point.
pub fn steps(marks: &[Mark]) -> Vec<(f64, f64)> {
    let mut line = Vec::with_capacity(marks.len() * 2);
    for (at, mark) in marks.iter().enumerate() {
        if at > 0 {
            line.push((mark.x, marks[at - 1].y));
        }
        line.push((mark.x, mark.y));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCALE: Scale = Scale { lo: 0.0, hi: 1000.0, log: false };

    fn point(x: f64, y: f64) -> Point {
        Point { x, y, interval: None }
    }

    #[test]
    fn thinning_keeps_ends_and_peaks() {
        let mut points: Vec<Point> = (0..1000).map(|x| point(f64::from(x), 10.0)).collect();
        points[501].y = 900.0;
        points[502].y = 1.0;
        points[503].y = f64::NAN;
        let marks = thinned(placed(&points, &SCALE, &SCALE), 40);
        assert!(marks.len() <= 40, "{}", marks.len());
        let highest = marks.iter().map(|mark| mark.y).fold(0.0, f64::max);
        let lowest = marks.iter().map(|mark| mark.y).fold(1.0, f64::min);
        assert_eq!((highest, lowest), (0.9, 0.001));
        assert_eq!((marks[0].x, marks[marks.len() - 1].x), (0.0, 0.999));
    }

    #[test]
    fn few_points_stay_as_they_are() {
        let points = [point(0.0, 1.0), point(500.0, 2.0)];
        let marks = thinned(placed(&points, &SCALE, &SCALE), 2);
        assert_eq!(steps(&marks), [(0.0, 0.001), (0.5, 0.001), (0.5, 0.002)]);
    }
}
