//! A node against a controller with arbitrary wants: a tiny executor carries out what `reconcile`
//! returns, and an independent judge checks every action.

#![allow(clippy::unwrap_used)] // a test fails by panicking

mod fixtures;

use common::id::AttemptId;
use common::job::EndCause;
use common::time::Span;
use common::wire::node::{DesiredStep, Resized, StepPhase, StepStatus, Want};
use fixtures::{change, ended, id, order, ordered, running, suspended_phase, wanted, whole};
use node::{Desired, NodeAction, Observed, reconcile};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Clone)]
enum Event {
    /// The controller changes what it wants of an attempt.
    Want {
        id: AttemptId,
        want: Want,
        with_order: bool,
    },
    /// The controller wants a running attempt suspended, or resumed.
    Suspend(AttemptId, bool),
    Unwant(AttemptId),
    /// The connection breaks; updates are lost until a full one.
    Disconnect,
    /// The controller sends a full update.
    SendAll,
    /// kantd restarts: it knows the phases and nothing else.
    Restart,
    /// A step advances on its own.
    Progress(AttemptId),
    /// kantd reconciles and acts.
    Act,
}

/// The node, its controller, and the judge's records.
#[derive(Default)]
struct World {
    wants: BTreeMap<AttemptId, (Want, bool)>,
    suspended: BTreeSet<AttemptId>,
    desired: Desired,
    observed: Observed,
    stopping: BTreeSet<AttemptId>,
    launched: BTreeSet<AttemptId>,
}

impl World {
    fn apply_event(&mut self, event: Event) {
        match event {
            Event::Want { id, want, with_order } => {
                self.wants.insert(id, (want, with_order));
                // Refused before a full update, like a lost message.
                let _ = self.desired.apply(change(vec![self.step(id)], vec![]));
            }
            Event::Suspend(id, suspended) => {
                match suspended {
                    true => self.suspended.insert(id),
                    false => self.suspended.remove(&id),
                };
                if self.wants.contains_key(&id) {
                    let _ = self.desired.apply(change(vec![self.step(id)], vec![]));
                }
            }
            Event::Unwant(id) => {
                self.wants.remove(&id);
                let _ = self.desired.apply(change(vec![], vec![id]));
            }
            Event::Disconnect => self.desired.invalidate(),
            Event::SendAll => self.send_all(),
            Event::Restart => {
                self.desired = Desired::new();
                self.observed = self.observed.statuses().into_iter().collect();
                // Attempts forgotten before a restart stay forgotten.
                self.launched.retain(|id| self.observed.phase(*id).is_some());
            }
            Event::Progress(id) => self.progress(id, true),
            Event::Act => drop(self.act()),
        }
    }

    fn step(&self, id: AttemptId) -> DesiredStep {
        let (want, with_order) = self.wants[&id];
        let step = if with_order { ordered(id, want) } else { wanted(id, want) };
        let time_limit = Some(Span::from_seconds(u64::from(id.attempt.0)));
        let (allocation, addresses) = (order(id).allocation, Vec::new());
        let resized = Resized { number: id.attempt.0, allocation, addresses, signal: None };
        let (resized, suspended) = (Some(Box::new(resized)), self.suspended.contains(&id));
        DesiredStep { time_limit, suspended, resized, ..step }
    }

    fn send_all(&mut self) {
        let steps = self.wants.keys().map(|id| self.step(*id)).collect();
        self.desired.apply(whole(steps)).unwrap();
    }

    /// Advances a step by one phase; a stopping step ends, a running one only if `may_exit`.
    fn progress(&mut self, id: AttemptId, may_exit: bool) {
        let next = match self.observed.phase(id) {
            Some(StepPhase::Ended(_)) | None => return,
            Some(_) if self.stopping.remove(&id) => ended(EndCause::Stopped),
            Some(StepPhase::Preparing) => StepPhase::Ready,
            Some(StepPhase::Running { .. }) if may_exit => ended(EndCause::Exited),
            Some(phase) => phase.clone(),
        };
        self.observed.insert(id, next);
    }

    /// One round. Every action is judged before it is carried out.
    fn act(&mut self) -> Vec<NodeAction> {
        let actions = reconcile(&self.desired, &self.observed);
        assert_eq!(
            actions,
            reconcile(&self.desired, &self.observed),
            "differs when computed twice"
        );
        assert!(actions.is_empty() || self.desired.is_in_force(), "acted before a full update");
        for action in &actions {
            self.judge(action);
            self.carry_out(action);
        }
        actions
    }

    fn judge(&self, action: &NodeAction) {
        let id = action.id();
        let want = self.wants.get(&id).map(|(want, _)| *want);
        let phase = self.observed.phase(id);
        let lives = matches!(phase, Some(p) if !matches!(p, StepPhase::Ended(_)));
        match action {
            NodeAction::Launch(_) => {
                assert!(matches!(want, Some(Want::Prepare | Want::Run)), "launched unwanted {id}");
                assert!(!self.launched.contains(&id), "launched {id} a second time");
                let is_rival =
                    |s: &StepStatus| s.id.key == id.key && !matches!(s.phase, StepPhase::Ended(_));
                let rival = self.observed.statuses().into_iter().find(is_rival);
                assert_eq!(rival, None, "launched {id} next to another attempt");
                let is_unwanted = |s: &StepStatus| {
                    !self.wants.contains_key(&s.id) && !matches!(s.phase, StepPhase::Ended(_))
                };
                let unwanted = self.observed.statuses().into_iter().find(is_unwanted);
                assert_eq!(unwanted, None, "launched {id} while an unwanted step lives");
                let newer = self.launched.iter().find(|l| l.key == id.key && **l > id);
                assert_eq!(newer, None, "launched {id} after a newer attempt");
            }
            NodeAction::Go(_) => {
                assert_eq!((want, phase), (Some(Want::Run), Some(&StepPhase::Ready)), "go {id}");
            }
            NodeAction::Suspend(_) | NodeAction::Resume(_) => {
                assert_eq!(want, Some(Want::Run), "{action:?}, which is not to run");
                let still = matches!(phase, Some(StepPhase::Running { suspended: true, .. }));
                assert_eq!(still, matches!(action, NodeAction::Resume(_)), "{action:?} repeated");
                assert_eq!(self.suspended.contains(&id), !still, "{action:?} that is not wanted");
            }
            NodeAction::Limit(_, limit) => {
                assert!(lives && want.is_some_and(|want| want != Want::Stop), "limited {id}");
                assert_ne!(self.observed.limit(id), Some(*limit), "sent {id} its limit twice");
            }
            NodeAction::Resize(_, resized) => {
                let runs = matches!(phase, Some(StepPhase::Running { .. }));
                assert!(runs && want == Some(Want::Run), "sent {id} its size, which does not run");
                assert_ne!(
                    self.observed.resize_number(id),
                    Some(resized.number),
                    "sent {id} its size twice"
                );
            }
            NodeAction::Stop(_) => {
                assert!(lives, "stopped {id}, which does not live");
                assert!(matches!(want, None | Some(Want::Stop)), "stopped wanted {id}");
            }
            NodeAction::Forget(_) => {
                assert!(phase.is_some() && !lives, "forgot {id}, which has not ended");
                assert_eq!(want, None, "forgot wanted {id}");
            }
            NodeAction::Decline(..) => {
                assert_eq!(phase, None, "declined {id}, which is here");
                assert!(want.is_some(), "declined {id}, which is not wanted");
            }
        }
    }

    fn carry_out(&mut self, action: &NodeAction) {
        match action {
            NodeAction::Launch(order) => {
                self.launched.insert(order.id);
                self.observed.insert(order.id, StepPhase::Preparing);
            }
            NodeAction::Go(id) => self.observed.insert(*id, running()),
            NodeAction::Suspend(id) => self.observed.insert(*id, suspended_phase()),
            NodeAction::Resume(id) => self.observed.insert(*id, running()),
            NodeAction::Limit(id, limit) => self.observed.record_limit(*id, *limit),
            NodeAction::Resize(id, resized) => self.observed.record_resize(*id, resized.number),
            NodeAction::Stop(id) => drop(self.stopping.insert(*id)),
            NodeAction::Forget(id) => self.observed.forget(*id),
            NodeAction::Decline(id, reason) => self.observed.insert(*id, ended(reason.cause())),
        }
    }

    /// Checks that everything is as wanted; an attempt may be missing only behind a living rival.
    fn judge_settled(&self) {
        for status in self.observed.statuses() {
            assert!(self.wants.contains_key(&status.id), "kept unwanted {}", status.id);
        }
        for (id, (want, _)) in &self.wants {
            let rival = self.observed.alive_attempts_of(id.key).find(|other| other != id);
            match (want, self.observed.phase(*id)) {
                (_, Some(StepPhase::Ended(_))) => {}
                (Want::Run, Some(StepPhase::Running { suspended, .. })) => {
                    assert_eq!(*suspended, self.suspended.contains(id), "{id}");
                }
                (Want::Prepare, Some(StepPhase::Ready | StepPhase::Running { .. })) => {}
                (Want::Prepare | Want::Run, None) if rival.is_some() => {}
                (want, phase) => panic!("{id} should {want:?} and is {phase:?}"),
            }
        }
    }
}

fn any_event() -> impl Strategy<Value = Event> {
    // Few jobs and attempts, so that they conflict.
    let any_id = || (1u32..4, 1u32..4).prop_map(|(job, attempt)| id(job, attempt));
    let any_want = prop_oneof![Just(Want::Prepare), Just(Want::Run), Just(Want::Stop)];
    let want = (any_id(), any_want, prop::bool::weighted(0.8))
        .prop_map(|(id, want, with_order)| Event::Want { id, want, with_order });
    prop_oneof![
        6 => want,
        2 => any_id().prop_map(Event::Unwant),
        2 => (any_id(), prop::bool::ANY).prop_map(|(id, still)| Event::Suspend(id, still)),
        1 => Just(Event::Disconnect),
        2 => Just(Event::SendAll),
        1 => Just(Event::Restart),
        8 => any_id().prop_map(Event::Progress),
        8 => Just(Event::Act),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn no_history_runs_an_attempt_twice_or_stops_a_wanted_one_and_all_settle(
        events in prop::collection::vec(any_event(), 0..80)
    ) {
        let mut world = World::default();
        for event in events {
            world.apply_event(event);
        }
        world.send_all();
        // Stop, end, launch, ready, go, suspend: no attempt needs more rounds.
        for _ in 0..7 {
            world.act();
            let ids: Vec<AttemptId> = world.observed.iter().map(|(id, _)| id).collect();
            ids.into_iter().for_each(|id| world.progress(id, false));
        }
        prop_assert_eq!(world.act(), vec![], "did not settle");
        world.judge_settled();
    }
}
