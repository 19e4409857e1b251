//! Random numbers from a seed. All chance in a history comes from here, so the seed determines it.

#[derive(Debug, Clone)]
pub struct Rng(fastrand::Rng);

impl Rng {
    /// A generator for one purpose. Its draws do not change those for other purposes.
    pub fn new(seed: u64, purpose: u64) -> Self {
        let mixed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ purpose.wrapping_mul(0xd6e8_feb8);
        Self(fastrand::Rng::with_seed(mixed))
    }

    /// A number below `bound`, or 0 if `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 { 0 } else { self.0.u64(0..bound) }
    }

    /// The same as `below`, for indexes.
    pub fn place(&mut self, bound: usize) -> usize {
        if bound == 0 { 0 } else { self.0.usize(0..bound) }
    }

    /// A number from `least` to `most`, both included.
    pub fn between(&mut self, least: u64, most: u64) -> u64 {
        self.0.u64(least..=most.max(least))
    }

    /// True in `percent` of 100 cases.
    pub fn percent(&mut self, percent: u64) -> bool {
        self.0.u64(0..100) < percent
    }

    pub fn one<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        if of.is_empty() { None } else { of.get(self.0.usize(0..of.len())) }
    }
}
