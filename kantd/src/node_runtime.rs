//! The concurrent tasks of kantd and their channels: the session sends messages to the runner, the
//! runner publishes the observed phases, and the session and the output reader read those.

use crate::data_dirs::DataNames;
use crate::health::Findings;
use crate::local;
use crate::notify;
use crate::output::OutputReader;
use crate::probes::Prober;
use crate::runner::{Executor, Runner, RunnerMessage};
use crate::session::{KeyGenerations, Measurements, NodeInfo, Session, SessionTiming};
use crate::step::{LeaderContact, Steps};
use common::wire::node::{RouteOrder, StepStatus};
use net::{Endpoint, LocalListener};
use node::Observed;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

/// Capacity of the channel to the runner, which never takes long.
const MESSAGES_MAX: usize = 64;

/// The parts of a node daemon, before they are started.
#[derive(Debug)]
pub struct NodeRuntime {
    /// The controllers, in the order in which to connect; at least one.
    pub controllers: Vec<Endpoint>,
    pub info: NodeInfo,
    /// Run jobs of root if the controller allows them.
    pub allow_root: bool,
    pub timing: SessionTiming,
    pub health: Findings,
    /// The data that the node has.
    pub data: DataNames,
    /// Steps in which programs can be started, if there are any.
    pub steps: Option<Steps>,
    /// Where supervisors read when a leader was last confirmed, if there are any.
    pub leader_contact: Option<LeaderContact>,
    pub measurements: Measurements,
    /// Takes the services for a router on this node, if there is one.
    pub routes: Option<watch::Sender<Vec<RouteOrder>>>,
    /// The steps of the replacements of the cluster key.
    pub key_generations: KeyGenerations,
}

impl NodeRuntime {
    /// Starts the runner, the session, the watchdog and the local socket. `held` are the adopted
    /// steps, `changes` later phase changes. No task ends on its own; all end when the set is
    /// dropped.
    pub fn start<E: Executor>(
        self,
        executor: E,
        prober: impl Into<Option<Prober>>,
        held: Vec<StepStatus>,
        changes: mpsc::UnboundedReceiver<StepStatus>,
        listener: Option<LocalListener>,
    ) -> JoinSet<()> {
        let (runner, observed) = Runner::new(executor, held);
        let (messages, inbox) = mpsc::channel(MESSAGES_MAX);
        let (session_controller, answers) = watch::channel(None);

        let mut running = JoinSet::new();
        running.spawn(runner.run(inbox, changes));
        if let Some(prober) = prober.into() {
            running.spawn(prober.run(observed.clone()));
        }
        running.spawn(notify::watchdog(messages.clone()));
        if let Some(listener) = listener {
            let router = local::router(&self.controllers, answers);
            running.spawn(async move {
                if let Err(error) = net::serve(listener, router, std::future::pending()).await {
                    tracing::error!(%error, "the local socket failed");
                }
            });
        }
        running.spawn(self.session(observed, messages, session_controller).run());
        running
    }

    fn session(
        self,
        observed: watch::Receiver<Observed>,
        messages: mpsc::Sender<RunnerMessage>,
        session_controller: watch::Sender<Option<Endpoint>>,
    ) -> Session {
        let output = OutputReader::new(self.allow_root, observed.clone())
            .with_emulated(self.info.inventory.is_emulated());
        let Self { controllers, info, timing, health, steps, measurements, routes, .. } = self;
        let (leader_contact, key_generations) = (self.leader_contact, self.key_generations);
        let data = self.data;
        Session {
            controllers,
            info,
            timing,
            observed,
            health,
            data,
            messages,
            output,
            steps,
            leader_contact,
            measurements,
            routes,
            key_generations,
            session_controller,
        }
    }
}
