//! A running mean, which keeps no values.

#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Mean {
    sum: f64,
    count: u32,
}

impl Mean {
    pub fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1;
    }

    /// The number of values.
    #[must_use]
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// Their mean. `None` without values.
    #[must_use]
    pub fn value(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / f64::from(self.count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_counts_equally_and_of_none_there_is_no_mean() {
        let mut mean = Mean::default();
        assert_eq!((mean.value(), mean.count()), (None, 0));
        [1.0, 2.0, 6.0].into_iter().for_each(|value| mean.add(value));
        assert_eq!((mean.value(), mean.count()), (Some(3.0), 3));
    }
}
