//! Steps on a node that has no contact with a leader.

use crate::harness::StepHarness;
use common::job::EndCause;
use common::time::Span;
use common::wire::node::FenceTerms;
use kantd::clock;
use kantd::step::LeaderContact;
use std::time::Duration;

const TERMS: FenceTerms =
    FenceTerms { after: Span(1500), kill_within: Span(1000), ask_every: Span(100) };

/// Runs for longer than a node without a leader lets it.
const SCRIPT: &str = "trap 'echo term; exit 0' TERM; for i in 1 2 3 4 5 6; do sleep 0.5; done";

async fn node() -> Option<(StepHarness, LeaderContact, tempfile::TempDir)> {
    let dir = tempfile::tempdir().unwrap();
    let path = LeaderContact::path(dir.path());
    let harness = StepHarness::with_rules(|rules| rules.leader_contact = Some(path)).await?;
    let contact = LeaderContact::new(dir.path());
    contact.record(clock::uptime(), &TERMS);
    Some((harness, contact, dir))
}

#[tokio::test]
async fn a_job_that_may_be_requeued_ends_and_says_why() {
    let Some((mut harness, _contact, _dir)) = node().await else { return };
    let end = harness.run(harness.order(SCRIPT)).await;
    assert_eq!(end.cause, EndCause::Lost, "{end:?}");
    let message = end.message.unwrap_or_default();
    assert!(message.contains("no contact with a leading controller"), "{message}");
    assert!(harness.written("out").contains("term"), "it got SIGTERM");
    let (held, ran) = (end.held.unwrap(), end.ran.unwrap());
    assert!(ran <= held && held < Span::from_seconds(10), "{held:?} {ran:?}");
}

#[tokio::test]
async fn a_job_that_may_not_be_requeued_runs_on() {
    let Some((mut harness, _contact, _dir)) = node().await else { return };
    let order = common::wire::node::LaunchOrder { requeue: false, ..harness.order(SCRIPT) };
    let end = harness.run(order).await;
    assert_eq!(end.cause, EndCause::Exited, "{end:?}");
}

#[tokio::test]
async fn a_job_runs_on_while_leaders_are_confirmed() {
    let Some((mut harness, contact, _dir)) = node().await else { return };
    let confirming = tokio::spawn(async move {
        loop {
            contact.record(clock::uptime(), &TERMS);
            tokio::time::sleep(Duration::from_millis(TERMS.ask_every.0)).await;
        }
    });
    let end = harness.run(harness.order(SCRIPT)).await;
    confirming.abort();
    assert_eq!(end.cause, EndCause::Exited, "{end:?}");
    assert!(end.ran.is_some_and(|ran| ran > Span(2500)), "{end:?}");
}
