//! Variables of a replica of a service: its place in the service, and its ports.

use super::Variables;
use crate::step::spec::StepSpec;

impl Variables {
    /// `PORT` is the first port; each has a variable with its name.
    pub(super) fn set_replica(&mut self, spec: &StepSpec) {
        let Some(replica) = &spec.launch.replica else { return };
        self.set("KANT_SERVICE", &replica.service);
        self.set("KANT_SERVICE_ROLE", &replica.role);
        self.set("KANT_SERVICE_REVISION", replica.revision);
        self.set("KANT_REPLICA", replica.ordinal);
        if let Some(first) = spec.ports.first() {
            self.set("PORT", first.number);
        }
        for port in &spec.ports {
            self.set(&variable(port.name.as_str()), port.number);
        }
    }
}

/// The variable of a port: `KANT_PORT_HTTP` for `http`.
fn variable(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    format!("KANT_PORT_{}", name.chars().map(plain).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_of_a_port_has_its_name_in_capitals() {
        assert_eq!(variable("http"), "KANT_PORT_HTTP");
        assert_eq!(variable("grpc-v1.2"), "KANT_PORT_GRPC_V1_2");
    }
}
