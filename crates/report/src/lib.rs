//! Parabench: report.
