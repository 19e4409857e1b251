//! What a node of a test cluster pretends to have. Never more CPUs than this machine.

/// A node's make.
#[derive(Debug, Clone, Default)]
pub struct Machine {
    /// The stand-in's machine file, by name (`pcie-2`); none: a CPU node, whatever this host has.
    pub gpus: Option<&'static str>,
    /// The CPUs it offers; none: all of this host.
    pub cpus: Option<String>,
}

impl Machine {
    /// A CPU node.
    #[must_use]
    pub fn cpu() -> Self {
        Self::default()
    }

    /// A node with the GPUs of a stand-in machine.
    #[must_use]
    pub fn with_gpus(machine: &'static str) -> Self {
        Self { gpus: Some(machine), cpus: None }
    }

    /// The same, offering only these CPUs.
    #[must_use]
    pub fn on_cpus(mut self, cpus: &str) -> Self {
        self.cpus = Some(cpus.to_owned());
        self
    }
}
