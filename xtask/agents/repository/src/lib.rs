//! What an agent is given to mend: the mean of nothing is wrong. Must never be mended here.

/// The arithmetic mean; `None` without values.
pub fn mean(values: &[f64]) -> Option<f64> {
    let sum: f64 = values.iter().sum();
    Some(sum / values.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_of_nothing_is_none() {
        assert_eq!(mean(&[]), None);
    }

    #[test]
    fn mean_of_two() {
        assert_eq!(mean(&[1.0, 3.0]), Some(2.0));
    }
}
