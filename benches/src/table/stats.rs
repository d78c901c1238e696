//! Medians, and ratios that hold on a machine with other work: each round's figures are compared with each other alone.

/// The middle value.
pub(super) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    quartile(values, 2)
}

fn quartile(values: impl IntoIterator<Item = f64>, quarter: usize) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    let last = values.len().saturating_sub(1);
    values.get(last * quarter / 4).copied().unwrap_or(f64::NAN)
}

/// How many times the one is the other: the median over the rounds, and where the middle half of them lies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ratio {
    pub(super) median: f64,
    low: f64,
    high: f64,
}

impl Ratio {
    pub(super) fn of(numerators: &[f64], denominators: &[f64]) -> Self {
        let ratios: Vec<f64> = numerators.iter().zip(denominators).map(|(a, b)| a / b).collect();
        Self {
            median: median(ratios.iter().copied()),
            low: quartile(ratios.iter().copied(), 1),
            high: quartile(ratios.iter().copied(), 3),
        }
    }
}

impl std::fmt::Display for Ratio {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { median, low, high } = self;
        if *high < 10.0 {
            write!(f, "{median:.2} × ({low:.2}–{high:.2})")
        } else {
            write!(f, "{median:.0} × ({low:.0}–{high:.0})")
        }
    }
}
