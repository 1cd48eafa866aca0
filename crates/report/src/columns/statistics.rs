//! Columns of statistics: one figure over the repetitions of a cell of a sweep.

use super::{Column, Type, Value};
use crate::statistics::Statistic;

/// Tables for people lay them out over the grid of the sweep.
pub static STATISTICS: &[Column<Statistic>] = &[
    Column::<Statistic>::new(
        "label",
        Type::Text,
        |statistic| (&statistic.label).into(),
        "Label path.",
    ),
    Column::<Statistic>::new(
        "op",
        Type::Text,
        |statistic| (&statistic.op).into(),
        "Operation, or operation.part; empty for the time of the label itself.",
    ),
    Column::<Statistic>::new(
        "cell",
        Type::Small,
        |statistic| statistic.cell.into(),
        "Parameter point of the sweep.",
    ),
    Column::<Statistic>::new(
        "metric",
        Type::Metric,
        |statistic| Value::Text(statistic.metric.name()),
        "Which figure; the unit stands last. mib_s, ops_s and mean_ns are those of the rows, \
         time_ns is busy_ns of the label.",
    ),
    Column::<Statistic>::new(
        "n",
        Type::Small,
        |statistic| (statistic.n as u64).into(),
        "Repetitions that have this figure.",
    ),
    Column::<Statistic>::new(
        "mean",
        Type::Real,
        |statistic| statistic.mean.into(),
        "Arithmetic mean.",
    ),
    Column::<Statistic>::new("median", Type::Real, |statistic| statistic.median.into(), "Median."),
    Column::<Statistic>::new(
        "sd",
        Type::MaybeReal,
        |statistic| statistic.sd.into(),
        "Sample standard deviation; null below 2 repetitions.",
    ),
    Column::<Statistic>::new(
        "ci95_low",
        Type::MaybeReal,
        |statistic| statistic.ci95_low.into(),
        "Lower end of the 95 % confidence interval of the median; null below 5 repetitions.",
    ),
    Column::<Statistic>::new(
        "ci95_high",
        Type::MaybeReal,
        |statistic| statistic.ci95_high.into(),
        "Its upper end.",
    ),
    Column::<Statistic>::new(
        "mean_ci95_low",
        Type::MaybeReal,
        |statistic| statistic.mean_ci95_low.into(),
        "Lower end of the 95 % confidence interval of the mean; null below 5 repetitions.",
    ),
    Column::<Statistic>::new(
        "mean_ci95_high",
        Type::MaybeReal,
        |statistic| statistic.mean_ci95_high.into(),
        "Its upper end.",
    ),
    Column::<Statistic>::new(
        "outliers",
        Type::List,
        |statistic| Value::List(&statistic.outliers),
        "Numbers of the repetitions that stand apart.",
    ),
];
