//! A node against a controller that wants anything in any order: a tiny executor carries out what
//! `reconcile` says, and a judge that shares no code with it watches every single action.

#![allow(clippy::unwrap_used)] // a test fails by panicking

mod house;

use common::id::AttemptId;
use common::job::EndCause;
use common::time::Span;
use common::wire::node::{DesiredStep, Resized, StepPhase, StepStatus, Want};
use house::{change, ended, id, order, running, standing, wanted, wanted_without_order, whole};
use node::{Desired, NodeAction, Observed, reconcile};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// What can happen to a node.
#[derive(Debug, Clone)]
enum Event {
    /// The controller changes its mind about an attempt.
    Want { id: AttemptId, want: Want, with_order: bool },
    /// The controller wants an attempt to stand still while it runs, or no more.
    Suspend(AttemptId, bool),
    /// The controller no longer wants an attempt.
    Unwant(AttemptId),
    /// The connection breaks; what the controller says is lost until it says everything.
    Disconnect,
    /// The controller says everything.
    SayAll,
    /// kantd restarts: it knows what it holds, and nothing else.
    Restart,
    /// A step gets on by itself.
    Progress(AttemptId),
    /// kantd looks, decides and acts.
    Act,
}

/// The node, its controller, and what the judge remembers.
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
    fn happen(&mut self, event: Event) {
        match event {
            Event::Want { id, want, with_order } => {
                self.wants.insert(id, (want, with_order));
                // While nothing is in force this is refused, as a lost message would be.
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
            Event::Disconnect => self.desired.suspend(),
            Event::SayAll => self.say_all(),
            Event::Restart => {
                self.desired = Desired::new();
                self.observed = self.observed.statuses().into_iter().collect();
                // What was forgotten before a restart is forgotten for good.
                self.launched.retain(|id| self.observed.phase(*id).is_some());
            }
            Event::Progress(id) => self.progress(id, true),
            Event::Act => drop(self.act()),
        }
    }

    fn step(&self, id: AttemptId) -> DesiredStep {
        let (want, with_order) = self.wants[&id];
        let step = if with_order { wanted(id, want) } else { wanted_without_order(id, want) };
        let time_limit = Some(Span::from_seconds(u64::from(id.attempt.0)));
        let (allocation, addresses) = (order(id).allocation, Vec::new());
        let resized = Resized { number: id.attempt.0, allocation, addresses, signal: None };
        let (resized, suspended) = (Some(Box::new(resized)), self.suspended.contains(&id));
        DesiredStep { time_limit, suspended, resized, ..step }
    }

    fn say_all(&mut self) {
        let steps = self.wants.keys().map(|id| self.step(*id)).collect();
        self.desired.apply(whole(steps)).unwrap();
    }

    /// One phase further; a stopping step ends, a running one only if `may_exit`.
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
        assert_eq!(actions, reconcile(&self.desired, &self.observed), "asked twice");
        assert!(actions.is_empty() || self.desired.is_in_force(), "acted without the word");
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
                assert_eq!(rival, None, "launched {id} beside another attempt");
                let is_stranger = |s: &StepStatus| {
                    !self.wants.contains_key(&s.id) && !matches!(s.phase, StepPhase::Ended(_))
                };
                let stranger = self.observed.statuses().into_iter().find(is_stranger);
                assert_eq!(stranger, None, "launched {id} beside a stranger");
                let newer = self.launched.iter().find(|l| l.key == id.key && **l > id);
                assert_eq!(newer, None, "launched {id} after a newer attempt");
            }
            NodeAction::Go(_) => {
                assert_eq!((want, phase), (Some(Want::Run), Some(&StepPhase::Ready)), "go {id}");
            }
            NodeAction::Suspend(_) | NodeAction::Resume(_) => {
                assert_eq!(want, Some(Want::Run), "{action:?}, which is not to run");
                let still = matches!(phase, Some(StepPhase::Running { suspended: true, .. }));
                assert_eq!(still, matches!(action, NodeAction::Resume(_)), "{action:?} anew");
                assert_eq!(self.suspended.contains(&id), !still, "{action:?} that nobody wants");
            }
            NodeAction::Limit(_, limit) => {
                assert!(lives && want.is_some_and(|want| want != Want::Stop), "limited {id}");
                assert_ne!(self.observed.limit(id), Some(*limit), "told {id} its limit twice");
            }
            NodeAction::Resize(_, resized) => {
                let runs = matches!(phase, Some(StepPhase::Running { .. }));
                assert!(runs && want == Some(Want::Run), "told {id} its size, which does not run");
                assert_ne!(self.observed.size(id), Some(resized.number), "told {id} twice");
            }
            NodeAction::Stop(_) => {
                assert!(lives, "stopped {id}, which does not live");
                assert!(matches!(want, None | Some(Want::Stop)), "stopped wanted {id}");
            }
            NodeAction::Forget(_) => {
                assert!(phase.is_some() && !lives, "forgot {id}, which is not over");
                assert_eq!(want, None, "forgot wanted {id}");
            }
            NodeAction::Decline(..) => {
                assert_eq!(phase, None, "declined {id}, which is here");
                assert!(want.is_some(), "declined {id}, which nobody wants");
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
            NodeAction::Suspend(id) => self.observed.insert(*id, standing()),
            NodeAction::Resume(id) => self.observed.insert(*id, running()),
            NodeAction::Limit(id, limit) => self.observed.note_limit(*id, *limit),
            NodeAction::Resize(id, resized) => self.observed.note_size(*id, resized.number),
            NodeAction::Stop(id) => drop(self.stopping.insert(*id)),
            NodeAction::Forget(id) => self.observed.forget(*id),
            NodeAction::Decline(id, reason) => self.observed.insert(*id, ended(reason.cause())),
        }
    }

    /// Is everything as wanted? An attempt may be missing only behind a wanted rival that lives.
    fn judge_settled(&self) {
        for status in self.observed.statuses() {
            assert!(self.wants.contains_key(&status.id), "kept unwanted {}", status.id);
        }
        for (id, (want, _)) in &self.wants {
            let rival = self.observed.living_of(id.key).find(|other| other != id);
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
    // Few jobs and attempts, so that they get in each other's way.
    let any_id = || (1u32..4, 1u32..4).prop_map(|(job, attempt)| id(job, attempt));
    let any_want = prop_oneof![Just(Want::Prepare), Just(Want::Run), Just(Want::Stop)];
    let want = (any_id(), any_want, prop::bool::weighted(0.8))
        .prop_map(|(id, want, with_order)| Event::Want { id, want, with_order });
    prop_oneof![
        6 => want,
        2 => any_id().prop_map(Event::Unwant),
        2 => (any_id(), prop::bool::ANY).prop_map(|(id, still)| Event::Suspend(id, still)),
        1 => Just(Event::Disconnect),
        2 => Just(Event::SayAll),
        1 => Just(Event::Restart),
        8 => any_id().prop_map(Event::Progress),
        8 => Just(Event::Act),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn no_history_makes_a_node_run_twice_or_stop_what_is_wanted_and_it_always_settles(
        events in prop::collection::vec(any_event(), 0..80)
    ) {
        let mut world = World::default();
        for event in events {
            world.happen(event);
        }
        world.say_all();
        // Stop, end, launch, ready, go, suspend: no attempt needs more rounds than this.
        for _ in 0..7 {
            world.act();
            let ids: Vec<AttemptId> = world.observed.iter().map(|(id, _)| id).collect();
            ids.into_iter().for_each(|id| world.progress(id, false));
        }
        prop_assert_eq!(world.act(), vec![], "did not settle");
        world.judge_settled();
    }
}
