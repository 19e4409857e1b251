//! Pseudo-random numbers, the same for the same seed.

/// D. Knuth's linear congruential generator (MMIX), its upper half.
#[derive(Debug, Clone)]
pub struct Draw(u64);

impl Draw {
    pub fn new(seed: u64) -> Self {
        let mut draw = Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0xD1B5_4A32_D192_ED03);
        for _ in 0..4 {
            draw.next();
        }
        draw
    }

    fn next(&mut self) -> u32 {
        let next = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = next.wrapping_add(1_442_695_040_888_963_407);
        u32::try_from(self.0 >> 32).unwrap()
    }

    /// One of `0..below`.
    pub fn below(&mut self, below: u32) -> u32 {
        u32::try_from((u64::from(self.next()) * u64::from(below)) >> 32).unwrap()
    }

    /// One of `from..=to`.
    pub fn within(&mut self, from: u32, to: u32) -> u32 {
        from + self.below(to - from + 1)
    }

    /// True with a chance of one in `times`.
    pub fn once_in(&mut self, times: u32) -> bool {
        self.below(times) == 0
    }

    pub fn one<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(u32::try_from(of.len()).unwrap()) as usize].clone()
    }

    /// A value with a chance of one in `times`, else `None`.
    pub fn maybe<T>(&mut self, times: u32, of: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.once_in(times) { Some(of(self)) } else { None }
    }
}
