//! The resources of a node of a test cluster.

/// The source of a node's GPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Gpus {
    /// No GPUs, even if this host has some.
    #[default]
    None,
    /// Simulated GPUs, by the name of a machine file (`pcie-2`).
    StandIn(&'static str),
    /// The GPUs of this host.
    Real,
}

#[derive(Debug, Clone, Default)]
pub struct Machine {
    pub gpus: Gpus,
    /// The offered CPUs; `None`: all CPUs of this host.
    pub cpus: Option<String>,
}

impl Machine {
    #[must_use]
    pub fn cpu() -> Self {
        Self::default()
    }

    /// A node with the GPUs of a simulated machine.
    #[must_use]
    pub fn with_gpus(machine: &'static str) -> Self {
        Self { gpus: Gpus::StandIn(machine), cpus: None }
    }

    /// A node with this host's own GPUs.
    #[must_use]
    pub fn real() -> Self {
        Self { gpus: Gpus::Real, cpus: None }
    }

    /// Offers only these CPUs.
    #[must_use]
    pub fn on_cpus(mut self, cpus: &str) -> Self {
        self.cpus = Some(cpus.to_owned());
        self
    }
}
