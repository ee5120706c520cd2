//! What was measured: rows with figures, the targets held against them, as text and as JSON.
//!
//! Text in, text out. Must never leave a row or a peer out: what could not be measured says why.

use std::fmt;

use serde_json::{Value, json};

use super::rounds::{Lane, State};

/// Everything that was measured.
#[derive(Debug)]
pub struct Measured {
    pub(super) machine: Vec<(&'static str, String)>,
    pub(super) rows: Vec<Row>,
}

/// One question, and everyone's figures. The first figure is ours.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) what: &'static str,
    /// `ms` or `MB`.
    pub(super) unit: &'static str,
    pub(super) figures: Vec<Figure>,
    /// Our median has to stay below it.
    pub(super) below: Option<f64>,
    /// What a reader has to know to believe the row.
    pub(super) note: String,
}

/// One who took part.
#[derive(Debug)]
pub(super) struct Figure {
    pub(super) name: String,
    pub(super) outcome: Outcome,
}

/// What became of it.
#[derive(Debug, PartialEq)]
pub(super) enum Outcome {
    Measured(Summary),
    /// The command that would install it.
    Missing(String),
    /// How it failed.
    Failed(String),
}

/// Many samples in few numbers, in the row's unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Summary {
    pub(super) p50: f64,
    pub(super) p95: f64,
    /// CPU time of one time, milliseconds.
    pub(super) cpu_ms: Option<f64>,
    pub(super) samples: usize,
}

/// How a row stands to its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Met,
    Missed,
    /// There is no target; only the comparison.
    Open,
}

impl Summary {
    /// Nothing, if there are no samples.
    pub(super) fn new(mut samples: Vec<f64>, cpu_ms: Option<f64>) -> Option<Self> {
        samples.sort_by(f64::total_cmp);
        // The nearest rank: a value that occurred.
        let at = |percent: usize| {
            samples.get((samples.len() * percent).div_ceil(100).saturating_sub(1)).copied()
        };
        let (p50, p95) = (at(50)?, at(95)?);
        let count = u32::try_from(samples.len()).map_or(f64::INFINITY, f64::from);
        let cpu_ms = cpu_ms.map(|sum| sum / count);
        Some(Self { p50, p95, cpu_ms, samples: samples.len() })
    }
}

impl Figure {
    /// What a lane's samples say. `values` picks what is measured when it is not the time.
    pub(super) fn new<S>(lane: &Lane<S>, values: impl Fn(&S) -> Option<Vec<f64>>) -> Self {
        let outcome = match &lane.state {
            State::Ready(subject) => {
                let other = values(subject);
                let cpu_ms = lane.cpu_ms.filter(|_| other.is_none());
                let samples = other.unwrap_or_else(|| lane.wall_ms.clone());
                let none = || Outcome::Failed("nothing was measured".to_owned());
                Summary::new(samples, cpu_ms).map_or_else(none, Outcome::Measured)
            }
            State::Missing(install) => Outcome::Missing(install.clone()),
            State::Failed(reason) => Outcome::Failed(reason.clone()),
        };
        Self { name: lane.name.clone(), outcome }
    }

    pub(super) fn is_measured(&self) -> bool {
        self.summary().is_some()
    }

    fn summary(&self) -> Option<&Summary> {
        match &self.outcome {
            Outcome::Measured(summary) => Some(summary),
            Outcome::Missing(_) | Outcome::Failed(_) => None,
        }
    }
}

impl Row {
    fn ours(&self) -> Option<&Summary> {
        self.figures.first().and_then(Figure::summary)
    }

    /// A row in which ours failed is missed, with or without a target.
    fn verdict(&self) -> Verdict {
        match (self.ours(), self.below) {
            (None, _) => Verdict::Missed,
            (Some(_), None) => Verdict::Open,
            (Some(ours), Some(limit)) if ours.p50 < limit => Verdict::Met,
            (Some(_), Some(_)) => Verdict::Missed,
        }
    }

    /// Our median as a multiple of another one's.
    fn ratio(&self, other: &Figure) -> Option<f64> {
        let (ours, other) = (self.ours()?, other.summary()?);
        (other.p50 > 0.0).then(|| ours.p50 / other.p50)
    }

    fn json(&self) -> Value {
        let figures = self.figures.iter().map(|figure| {
            let mut value = match &figure.outcome {
                Outcome::Measured(found) => json!({
                    "p50": found.p50,
                    "p95": found.p95,
                    "cpu_ms": found.cpu_ms,
                    "samples": found.samples,
                    "ours_over_this": self.ratio(figure),
                }),
                Outcome::Missing(install) => json!({ "missing": { "install": install } }),
                Outcome::Failed(reason) => json!({ "failed": reason }),
            };
            if let Some(members) = value.as_object_mut() {
                members.insert("name".to_owned(), json!(figure.name));
            }
            value
        });
        json!({
            "what": self.what,
            "unit": self.unit,
            "note": self.note,
            "target": self.below.map(|limit| json!({ "p50_below": limit })),
            "verdict": self.verdict().word(),
            "figures": figures.collect::<Vec<_>>(),
        })
    }
}

impl Verdict {
    fn word(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::Missed => "missed",
            Self::Open => "none",
        }
    }
}

impl Measured {
    /// Whether every row of ours was measured and kept below its target.
    #[must_use]
    pub fn meets_targets(&self) -> bool {
        self.rows.iter().all(|row| row.verdict() != Verdict::Missed)
    }

    /// For machines: times in milliseconds, memory in megabytes of 10⁶ bytes.
    #[must_use]
    pub fn json(&self) -> Value {
        let machine = self.machine.iter().map(|(name, value)| ((*name).to_owned(), json!(value)));
        json!({
            "machine": machine.collect::<serde_json::Map<_, _>>(),
            "rows": self.rows.iter().map(Row::json).collect::<Vec<_>>(),
            "meets_targets": self.meets_targets(),
        })
    }
}

impl fmt::Display for Measured {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in &self.machine {
            writeln!(out, "{name:8} {value}")?;
        }
        for row in &self.rows {
            write!(out, "\n{row}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Row {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = self.unit;
        writeln!(out, "{}", heading(self))?;
        let (p50, p95) = (format!("p50 {unit}"), format!("p95 {unit}"));
        writeln!(out, "  {:34}{p50:>9}{p95:>9}{:>9}{:>6}{:>8}", "", "cpu ms", "n", "ours/")?;
        for figure in &self.figures {
            let name = &figure.name;
            match &figure.outcome {
                Outcome::Measured(found) => {
                    let cpu = found.cpu_ms.map_or_else(|| "-".to_owned(), number);
                    let ratio = self.ratio(figure).map_or_else(String::new, number);
                    let (p50, p95, n) = (number(found.p50), number(found.p95), found.samples);
                    writeln!(out, "  {name:34}{p50:>9}{p95:>9}{cpu:>9}{n:>6}{ratio:>8}")?;
                }
                Outcome::Missing(how) => writeln!(out, "  {name:34}not installed: {how}")?,
                Outcome::Failed(why) => writeln!(out, "  {name:34}failed: {why}")?,
            }
        }
        if self.note.is_empty() { Ok(()) } else { writeln!(out, "  {}", self.note) }
    }
}

fn heading(row: &Row) -> String {
    let (what, unit, word) = (row.what, row.unit, row.verdict().word());
    row.below.map_or_else(
        || what.to_owned(),
        |limit| format!("{what}, p50 below {limit} {unit}: {word}"),
    )
}

/// Three digits are as much as such a measurement is worth.
fn number(value: f64) -> String {
    let decimals = match value {
        value if value < 10.0 => 2,
        value if value < 100.0 => 1,
        _ => 0,
    };
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(ours: Outcome, below: Option<f64>) -> Row {
        let peer = Summary { p50: 4.0, p95: 123.4, cpu_ms: Some(12.34), samples: 9 };
        let figures = [
            ("chancery", ours),
            ("peer", Outcome::Measured(peer)),
            ("absent", Outcome::Missing("apt-get install absent".into())),
        ];
        let figures = figures.map(|(name, outcome)| Figure { name: name.into(), outcome });
        let note = "Both read 7 files.".into();
        Row { what: "read", unit: "ms", figures: figures.into(), below, note }
    }

    fn measured(p50: f64) -> Outcome {
        Outcome::Measured(Summary { p50, p95: p50, cpu_ms: None, samples: 9 })
    }

    #[test]
    fn a_row_is_printed_with_its_ratio_and_what_is_missing() {
        let expected = "\
read, p50 below 3 ms: met
                                       p50 ms   p95 ms   cpu ms     n   ours/
  chancery                               2.00     2.00        -     9    1.00
  peer                                   4.00      123     12.3     9    0.50
  absent                            not installed: apt-get install absent
  Both read 7 files.
";
        assert_eq!(row(measured(2.0), Some(3.0)).to_string(), expected);
    }

    #[test]
    fn only_a_measured_row_below_its_target_passes() {
        let cases = [
            (measured(2.0), Some(3.0), true),
            (measured(3.0), Some(3.0), false),
            (measured(9.0), None, true),
            (Outcome::Failed("broken".into()), None, false),
            (Outcome::Missing("build it".into()), Some(3.0), false),
        ];
        for (ours, below, passes) in cases {
            let rows = vec![row(measured(1.0), None), row(ours, below)];
            let measured = Measured { machine: Vec::new(), rows };
            assert_eq!(measured.meets_targets(), passes, "{measured}");
            assert_eq!(measured.json()["meets_targets"], passes);
        }
    }

    #[test]
    fn a_summary_is_made_of_samples_that_occurred() {
        let samples: Vec<f64> = (1..=20).rev().map(f64::from).collect();
        let expected = Summary { p50: 10.0, p95: 19.0, cpu_ms: Some(2.0), samples: 20 };
        assert_eq!(Summary::new(samples, Some(40.0)), Some(expected));
        assert_eq!(Summary::new(vec![7.0], None).map(|one| (one.p50, one.p95)), Some((7.0, 7.0)));
        assert_eq!(Summary::new(Vec::new(), None), None);
    }
}
