//! `kantctld setup` and `kantd setup`, as far as they go without systemd: `cargo xtask vm` installs
//! the packages and runs both.

use e2e::Controllers;

#[test]
fn one_command_founds_a_cluster_and_one_joins_it() -> anyhow::Result<()> {
    let mut controllers = Controllers::new()?;
    controllers.add("a")?;
    let before = std::fs::read(controllers.dir().join("a.toml"))?;
    let founded = controllers.verb("a", &["setup"])?;
    assert!(founded.contains("a.toml is as it was\nthis is controller 1 of the new"), "{founded}");
    let again = controllers.verb("a", &["setup"])?;
    assert!(again.contains("controller 1 of cluster") && again.contains("already"), "{again}");
    controllers.verb_refused("a", &["setup", "--cluster", "other"], "never changes it")?;
    assert_eq!(std::fs::read(controllers.dir().join("a.toml"))?, before);
    controllers.start("a")?;

    controllers.add("b")?;
    // It could found a second cluster, whose controllers would command the same nodes.
    controllers.verb_refused("b", &["setup"], "kantctld found")?;
    let invitation = controllers.invite("a")?;
    let joined = controllers.verb("b", &["setup", "--invitation", &invitation])?;
    assert!(joined.contains("this is controller 2 of cluster"), "{joined}");
    controllers.start("b")?;
    controllers.wait_for_voters("a", 2)?;
    Ok(())
}
