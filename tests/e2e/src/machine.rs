//! What a node of a test cluster pretends to have. Never more CPUs than this machine.

/// Where a node's GPUs come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Gpus {
    /// A CPU node, whatever this host has.
    #[default]
    None,
    /// The stand-in's, by the name of a machine file (`pcie-2`).
    StandIn(&'static str),
    /// Those of this host.
    Real,
}

#[derive(Debug, Clone, Default)]
pub struct Machine {
    pub gpus: Gpus,
    /// The CPUs it offers; none: all of this host.
    pub cpus: Option<String>,
}

impl Machine {
    #[must_use]
    pub fn cpu() -> Self {
        Self::default()
    }

    /// A node with the GPUs of a stand-in machine.
    #[must_use]
    pub fn with_gpus(machine: &'static str) -> Self {
        Self { gpus: Gpus::StandIn(machine), cpus: None }
    }

    /// A node with this host's own GPUs.
    #[must_use]
    pub fn real() -> Self {
        Self { gpus: Gpus::Real, cpus: None }
    }

    /// The same, offering only these CPUs.
    #[must_use]
    pub fn on_cpus(mut self, cpus: &str) -> Self {
        self.cpus = Some(cpus.to_owned());
        self
    }
}
