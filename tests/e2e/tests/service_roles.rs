//! A service of several roles on real daemons: nodes read the load of its engines, and the roles
//! follow it and each other.

use common::wire::api::{ServiceExplanation, ServiceList, ServiceView};
use e2e::{Cluster, ClusterOptions, Kantctl, Person, WebClient, free_port, get, wait_for};

/// A stream of two seconds, and its last event.
const STREAM: &str = "/generate?n=40";
const LAST: &str = "token 39\n";

fn show(kantctl: &Kantctl) -> anyhow::Result<ServiceView> {
    let list: ServiceList = kantctl.json(&["service", "show", "pd"])?;
    list.services.into_iter().next().ok_or_else(|| anyhow::anyhow!("the service is gone"))
}

/// The ready replicas of prefill and decode.
fn ready(kantctl: &Kantctl) -> anyhow::Result<(u32, u32)> {
    let roles = show(kantctl)?.roles;
    let of = |name| roles.iter().find(|role| role.name.as_str() == name).map_or(0, |one| one.ready);
    Ok((of("prefill"), of("decode")))
}

#[test]
fn decode_grows_with_the_load_of_its_engines_and_prefill_keeps_the_ratio() -> anyhow::Result<()> {
    let cluster = Cluster::start(ClusterOptions {
        node: Some(|config| {
            if config.name == "n1" {
                "127.0.0.1".clone_into(&mut config.router);
            }
        }),
        ..ClusterOptions::cpu_nodes(&["n1", "n2", "n3", "n4"])
    })?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let (port, examples) = (free_port()?, e2e::workspace().join("etc/examples"));
    std::fs::copy(examples.join("disaggregated.py"), kantctl.dir().join("disaggregated.py"))?;
    let file = std::fs::read_to_string(examples.join("prefill-decode.toml"))?;
    let file = file.replace("port = 8001", &format!("port = {port}"));
    // Prefill has no reason of its own to grow, so that only the ratio makes it.
    assert!(file.contains("target = 2\n"), "{file}");
    let file = file.replace("target = 2\n", "target = 50\n");
    std::fs::write(kantctl.dir().join("pd.toml"), file)?;

    let router = cluster.start_router("n1")?;
    kantctl.ok(&["service", "deploy", "pd.toml", "--wait"])?;
    wait_for("the first answer", || Ok(get(port, STREAM).ok().filter(|one| one.contains(LAST))))?;
    assert_eq!(ready(&kantctl)?, (1, 2));
    kantctl.refused(&["service", "scale", "pd", "4", "--role", "decode"], "autoscaling policy")?;

    // Twelve streams at a time fill the eight places of two decode replicas.
    let clients: Vec<WebClient> = (0..12).map(|_| WebClient::start(port, STREAM, LAST)).collect();
    wait_for("four decode replicas", || Ok((ready(&kantctl)? == (2, 4)).then_some(())))?;
    let events = kantctl.ok(&["service", "events", "pd"])?;
    let decode = "role decode scaled from 2 to 3 replicas: ";
    let scaled = events.lines().find(|event| event.contains(decode)).unwrap_or_default();
    let reasons = ["waiting for each replica, above 0.5", "% full, above 60 %"];
    assert!(reasons.iter().any(|reason| scaled.contains(reason)), "{events}");
    let ratio = "2 replicas for the ratio to the other role";
    assert!(events.contains(ratio), "{events}");
    let explained: ServiceExplanation = kantctl.json(&["service", "explain", "pd"])?;
    let decode = &explained.roles[2];
    let measured = decode.measured.clone().unwrap_or_default();
    assert!(measured.contains("KV caches in use"), "{measured}");
    assert!(measured.contains("ms to the first token"), "{measured}");
    assert!(decode.set.1.starts_with("by its policy: "), "{:?}", decode.set);
    let answered: usize = clients.into_iter().map(WebClient::stop).sum();
    assert!(answered > 12, "{answered} answers");

    // Without load they return to their minimum.
    wait_for("the minimum", || Ok((ready(&kantctl)? == (1, 2)).then_some(())))?;
    let text = kantctl.ok(&["service", "explain", "pd"])?;
    assert!(text.contains("no: at least 2 are required by `min`"), "{text}");
    assert!(router.stop()?.success());
    Ok(())
}
