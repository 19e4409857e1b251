//! Keys that follow the log.

use super::*;
use common::id::Uid;
use common::time::Time;
use common::wire::api::RotationStep;
use state::key_rotation::Rotation;

struct Site {
    _dir: tempfile::TempDir,
    store: KeyStore,
    old: ClusterKey,
    new: ClusterKey,
}

fn site() -> Site {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cluster.key");
    let (old, new) = (ClusterKey::generate().unwrap(), ClusterKey::generate().unwrap());
    ClusterKeys::new(old.clone()).create_file(&path).unwrap();
    Site { store: KeyStore::open(&path).unwrap(), _dir: dir, old, new }
}

impl Site {
    fn status(&self, generation: u32, step: Option<RotationStep>) -> KeyStatus {
        let new = authority_fingerprint(&self.new).unwrap();
        let rotation =
            step.map(|step| Rotation { new: new.clone(), step, by: Uid(0), begun_at: Time(0) });
        let authority = rotation.is_none().then_some(new);
        KeyStatus { generation, authority, rotation }
    }

    fn keys(&self) -> ClusterKeys {
        let held = self.store.held_keys().keys.clone();
        assert_eq!(held, ClusterKeys::load(&self.store.path).unwrap(), "the file is the same");
        held
    }
}

const TRUST: Option<RotationStep> = Some(RotationStep::Trust);
const ISSUE: Option<RotationStep> = Some(RotationStep::Issue);

#[test]
fn each_step_changes_the_keys_and_the_last_one_ends_trust_in_the_old_one() {
    let site = site();
    site.store.hold_new_key(site.new.clone()).unwrap();
    let of = |generation, issuing: &ClusterKey, other: Option<&ClusterKey>| ClusterKeys {
        generation,
        issuing: issuing.clone(),
        other: other.cloned(),
    };
    for (generation, step, change, keys) in [
        (1, TRUST, Change::Step, of(1, &site.old, Some(&site.new))),
        (2, ISSUE, Change::Step, of(2, &site.new, Some(&site.old))),
        (3, None, Change::OneTrustedLess, of(3, &site.new, None)),
    ] {
        let status = site.status(generation, step);
        assert_eq!(site.store.follow_step(&status).unwrap(), change);
        assert_eq!(site.keys(), keys);
        assert_eq!(site.store.follow_step(&status).unwrap(), Change::None, "it follows already");
    }
    assert_eq!(
        site.store.follow_step(&KeyStatus::default()).unwrap(),
        Change::None,
        "read from disk"
    );
}

#[test]
fn a_controller_that_missed_steps_goes_to_the_present_one() {
    let site = site();
    site.store.hold_new_key(site.new.clone()).unwrap();
    assert_eq!(site.store.follow_step(&site.status(3, None)).unwrap(), Change::OneTrustedLess);
    assert_eq!(site.keys().issuing, site.new);
}

#[test]
fn a_controller_without_the_new_key_says_so_and_changes_nothing() {
    let site = site();
    for (generation, step) in [(1, TRUST), (2, ISSUE), (3, None)] {
        let error = site.store.follow_step(&site.status(generation, step)).unwrap_err();
        let wanted = authority_fingerprint(&site.new).unwrap();
        assert!(matches!(error, KeyStoreError::Lacks(of) if of == wanted));
    }
    assert_eq!(site.keys(), ClusterKeys::new(site.old.clone()));
}

#[test]
fn a_cancelled_replacement_leaves_the_old_key() {
    let site = site();
    site.store.hold_new_key(site.new.clone()).unwrap();
    site.store.follow_step(&site.status(1, TRUST)).unwrap();
    let cancelled = KeyStatus { generation: 2, ..KeyStatus::default() };
    assert_eq!(site.store.follow_step(&cancelled).unwrap(), Change::OneTrustedLess);
    assert_eq!(site.keys(), ClusterKeys { generation: 2, ..ClusterKeys::new(site.old.clone()) });
}

#[test]
fn only_the_key_that_the_log_names_is_taken() {
    let site = site();
    let stranger = || ClusterKey::generate().unwrap();
    let settled = KeyStatus::default();
    for (key, status) in [
        (site.new.clone(), settled),
        (stranger(), site.status(1, TRUST)),
        (site.new.clone(), site.status(3, None)),
    ] {
        let error = site.store.accept_new_key(key, &status).unwrap_err();
        assert!(matches!(error, KeyStoreError::NotExpected), "{error}");
    }
    assert_eq!(site.keys(), ClusterKeys::new(site.old.clone()));
    let taken = site.store.accept_new_key(site.new.clone(), &site.status(2, ISSUE)).unwrap();
    assert_eq!(taken, Change::Step);
    assert_eq!((&site.keys().issuing, site.keys().generation), (&site.new, 2));
    assert_eq!(
        site.store.accept_new_key(site.new.clone(), &site.status(2, ISSUE)).unwrap(),
        Change::None
    );
}

#[test]
fn a_key_that_the_log_refused_is_dropped() {
    let site = site();
    site.store.hold_new_key(site.new.clone()).unwrap();
    site.store.drop_new_key(&ClusterKey::generate().unwrap()).unwrap();
    assert!(site.keys().other.is_some(), "it was another one");
    site.store.drop_new_key(&site.new).unwrap();
    assert_eq!(site.keys(), ClusterKeys::new(site.old.clone()));
}
