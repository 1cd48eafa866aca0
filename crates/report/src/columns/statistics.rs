//! Columns of statistics: one figure over the repetitions of a cell of a sweep.

use crate::statistics::Statistic;

columns! {
    /// Tables for people lay them out over the grid of the sweep.
    STATISTICS: Statistic {
        label Text "Label path.";
        op Text "Operation, or operation.part; empty for the time of the label itself.";
        cell Small "Parameter point of the sweep.";
        metric Metric "Which figure; the unit stands last. mib_s, ops_s and mean_ns are those of the rows, \
                       time_ns is busy_ns of the label.";
        n Small "Repetitions that have this figure.";
        mean Real "Arithmetic mean.";
        median Real "Median.";
        sd MaybeReal "Sample standard deviation; null below 2 repetitions.";
        ci95_low MaybeReal "Lower end of the 95 % confidence interval of the median; null below 5 repetitions.";
        ci95_high MaybeReal "Its upper end.";
        mean_ci95_low MaybeReal "Lower end of the 95 % confidence interval of the mean; null below 5 repetitions.";
        mean_ci95_high MaybeReal "Its upper end.";
        outliers List "Numbers of the repetitions that stand apart.";
    }
}
