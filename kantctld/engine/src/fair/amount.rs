//! CPUs, memory and GPUs side by side, as fair shares count them. Never a kind of GPU: a tree that
//! shares fairly counts all kinds together.

use serde::{Deserialize, Serialize};

/// No bound: more than any cluster has.
pub const UNLIMITED: i64 = i64::MAX;

/// What a fair share is counted in.
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
    /// All of them, in the order in which a refusal names the first that is exceeded.
    pub const ALL: [Self; 3] = [Self::Cpu, Self::Memory, Self::Gpu];

    /// The least of it that is handed out of a surplus: a thousandth of a CPU, 10^6 bytes, a GPU.
    #[must_use]
    pub const fn unit(self) -> i64 {
        match self {
            Self::Cpu => 1,
            Self::Memory => 1_000_000,
            Self::Gpu => 1_000,
        }
    }
}

/// So much of each resource.
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
    /// No bound on anything.
    pub const UNLIMITED: Self =
        Self { cpu_milli: UNLIMITED, memory_bytes: UNLIMITED, gpu_milli: UNLIMITED };

    /// So much of one.
    #[must_use]
    pub const fn of(&self, resource: Resource) -> i64 {
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

    /// Both, resource by resource.
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

    /// What is left without the other.
    #[must_use]
    pub fn minus(&self, other: &Self) -> Self {
        self.zip(other, i64::saturating_sub)
    }

    /// Of each resource the smaller.
    #[must_use]
    pub fn min(&self, other: &Self) -> Self {
        self.zip(other, i64::min)
    }

    /// Of each resource the larger.
    #[must_use]
    pub fn max(&self, other: &Self) -> Self {
        self.zip(other, i64::max)
    }

    /// Is it no more than the other in every resource?
    #[must_use]
    pub fn is_within(&self, other: &Self) -> bool {
        self.first_above(other).is_none()
    }

    /// The first resource of which it is more.
    #[must_use]
    pub fn first_above(&self, other: &Self) -> Option<Resource> {
        Resource::ALL.into_iter().find(|resource| self.of(*resource) > other.of(*resource))
    }

    #[must_use]
    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }
}
