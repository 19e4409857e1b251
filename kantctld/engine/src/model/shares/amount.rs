//! Amounts of CPUs, memory and GPUs, as fair shares count them. All kinds of GPU count together.

use serde::{Deserialize, Serialize};

/// No bound: more than any cluster has.
pub const UNLIMITED: i64 = i64::MAX;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Resource {
    /// Thousandths of a CPU.
    Cpu,
    /// Bytes.
    Memory,
    /// Thousandths of a GPU.
    Gpu,
}

impl Resource {
    /// All resources, in the order in which a refusal looks for the first that is exceeded.
    pub const ALL: [Self; 3] = [Self::Cpu, Self::Memory, Self::Gpu];

    /// The smallest part of a surplus that is handed out: a thousandth of a CPU, 10^6 bytes, one
    /// GPU.
    #[must_use]
    pub const fn unit(self) -> i64 {
        match self {
            Self::Cpu => 1,
            Self::Memory => 1_000_000,
            Self::Gpu => 1_000,
        }
    }
}

/// An amount of each resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Amount {
    /// Thousandths of a CPU.
    pub cpu_milli: i64,
    /// Bytes.
    pub memory_bytes: i64,
    /// Thousandths of a GPU.
    pub gpu_milli: i64,
}

impl Amount {
    pub const UNLIMITED: Self =
        Self { cpu_milli: UNLIMITED, memory_bytes: UNLIMITED, gpu_milli: UNLIMITED };

    #[must_use]
    pub const fn get(&self, resource: Resource) -> i64 {
        match resource {
            Resource::Cpu => self.cpu_milli,
            Resource::Memory => self.memory_bytes,
            Resource::Gpu => self.gpu_milli,
        }
    }

    pub const fn set(&mut self, resource: Resource, amount: i64) {
        match resource {
            Resource::Cpu => self.cpu_milli = amount,
            Resource::Memory => self.memory_bytes = amount,
            Resource::Gpu => self.gpu_milli = amount,
        }
    }

    /// Combines two amounts, resource by resource.
    #[must_use]
    pub fn zip(&self, other: &Self, each: impl Fn(i64, i64) -> i64) -> Self {
        Self {
            cpu_milli: each(self.cpu_milli, other.cpu_milli),
            memory_bytes: each(self.memory_bytes, other.memory_bytes),
            gpu_milli: each(self.gpu_milli, other.gpu_milli),
        }
    }

    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        self.zip(other, i64::saturating_add)
    }

    /// The difference; saturates instead of overflowing.
    #[must_use]
    pub fn minus(&self, other: &Self) -> Self {
        self.zip(other, i64::saturating_sub)
    }

    /// The smaller amount of each resource.
    #[must_use]
    pub fn min(&self, other: &Self) -> Self {
        self.zip(other, i64::min)
    }

    /// The larger amount of each resource.
    #[must_use]
    pub fn max(&self, other: &Self) -> Self {
        self.zip(other, i64::max)
    }

    /// Whether this is at most the other amount in every resource.
    #[must_use]
    pub fn is_within(&self, other: &Self) -> bool {
        self.first_above(other).is_none()
    }

    /// The first resource in which this exceeds the other amount.
    #[must_use]
    pub fn first_above(&self, other: &Self) -> Option<Resource> {
        Resource::ALL.into_iter().find(|resource| self.get(*resource) > other.get(*resource))
    }

    #[must_use]
    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }
}
