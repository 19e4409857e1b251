//! The keys of /etc/kant/kantctl.toml and ~/.config/kant/kantctl.toml.

use super::table::config_table;

config_table! {
    /// The command line, kantctl.
    pub struct ClientConfig {
        /// The local sockets of controllers and of the node daemon. kantctl uses the first one that
        /// answers and whose controller knows a leader.
        sockets: Vec<String> = vec![
            "/run/kant/kantctld.sock".to_owned(),
            "/run/kantd/kantd.sock".to_owned(),
        ],
    }
}
