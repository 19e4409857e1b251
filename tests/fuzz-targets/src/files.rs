//! Files of operators and users: configurations, topologies, services, images, recorded workloads,
//! and the files by which the daemons of a node know what runs.

use crate::scratch;
use common::config::policy::TopologyFile;
use common::config::{ClientConfig, ControllerConfig, NodeConfig, read};
use common::service::table::Table;
use kantctld::settings::{self, ConfigFile};

/// Reads a configuration of each program; a controller's is checked and its policy is made.
pub fn config(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let _ = read::<ClientConfig>("kantctl.toml", text);
    let _ = read::<NodeConfig>("kantd.toml", text);
    let Ok(config) = read::<ControllerConfig>("kantctld.toml", text) else { return };
    let file = ConfigFile {
        path: "kantctld.toml".into(),
        named: true,
        found: true,
        text: text.to_owned(),
        config,
        topology: None,
    };
    if settings::check(&file.config).is_ok()
        && let Ok(settings) = settings::settings(&file)
    {
        let _ = settings::warnings(&settings);
    }
}

/// Reads a topology file.
pub fn topology(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(file) = TopologyFile::read("topology", text) {
        let _ = file.topology();
        let _ = file.check_known(|_| false);
    }
}

/// Reads the description of a service.
pub fn service_file(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    // It may name a script, which would be read.
    if !text.contains('/') && text.contains("--wrap") {
        let _ = cli::verb::service::read_text(text);
    }
}

/// Reads the table of a router.
pub fn route_table(bytes: &[u8]) {
    if let Ok(table) = serde_json::from_slice::<Table>(bytes) {
        let _ = table.check();
    }
}

/// Opens the image of a container with this `config.json`.
pub fn oci_config(bytes: &[u8]) {
    let path = scratch::write("config.json", bytes);
    if let Some(dir) = path.parent() {
        let _ = kantd::step::open_image(dir);
    }
}

/// Reads the journal of a step.
pub fn step_journal(bytes: &[u8]) {
    let _ = kantd::step::read_journal(&scratch::write("journal", bytes));
}

/// Reads the metrics of an inference engine.
pub fn engine_metrics(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let _ = kantd::probes::read_metrics(text);
}

/// Reads recorded workloads; jobs that are read can be written and read again.
pub fn trace(bytes: &[u8]) {
    if let Ok(jobs) = trace::read_jobs("jobs.csv", bytes) {
        let written = trace::write_jobs(&jobs);
        let again = trace::read_jobs("again.csv", written.as_bytes()).unwrap();
        assert_eq!(trace::write_jobs(&again), written);
    }
    let _ = trace::read_nodes("nodes.csv", bytes);
    let _ = trace::read_requests("requests.csv", bytes);
    let _ = trace::read_swf("log.swf", bytes, common::unit::Gpus(8));
}
