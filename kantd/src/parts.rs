//! The parts of kantd that run beside each other, and how they hear from one another: the session
//! tells the runner what is wanted, the runner shows on its board what is there, the session and
//! the output reader read it. Wiring only.

use crate::health::Findings;
use crate::local;
use crate::notify;
use crate::output::OutputReader;
use crate::runner::{Executor, Runner, Word};
use crate::session::{About, Pace, Session};
use crate::step::Steps;
use common::wire::node::StepStatus;
use net::{Endpoint, LocalListener};
use node::Observed;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

/// Words that wait for the runner; it never takes long.
const WORDS_WAITING: usize = 64;

/// What the parts of kantd are made from.
#[derive(Debug)]
pub struct Parts {
    /// Whom to dial, in order; at least one.
    pub controllers: Vec<Endpoint>,
    pub about: About,
    /// Run jobs of root where the controller allows them.
    pub allow_root: bool,
    /// How patient the session is.
    pub pace: Pace,
    /// What is wrong with the node.
    pub health: Findings,
    /// In which programs can be started; `None`: in none.
    pub steps: Option<Steps>,
}

impl Parts {
    /// Starts the runner, the session, the watchdog and the local socket. `held` are the steps
    /// that were adopted, `changes` what happens to steps from now on. None of the parts ends by
    /// itself; all end when the set is dropped.
    pub fn start<E: Executor>(
        self,
        executor: E,
        held: Vec<StepStatus>,
        changes: mpsc::UnboundedReceiver<StepStatus>,
        listener: Option<LocalListener>,
    ) -> JoinSet<()> {
        let (runner, board) = Runner::new(executor, held);
        let (words, heard) = mpsc::channel(WORDS_WAITING);
        let (answering, answers) = watch::channel(None);

        let mut running = JoinSet::new();
        running.spawn(runner.run(heard, changes));
        running.spawn(notify::watchdog(words.clone()));
        if let Some(listener) = listener {
            let router = local::router(&self.controllers, answers);
            running.spawn(async move {
                if let Err(error) = net::serve(listener, router, std::future::pending()).await {
                    tracing::error!(%error, "the local socket failed");
                }
            });
        }
        running.spawn(self.session(board, words, answering).run());
        running
    }

    fn session(
        self,
        board: watch::Receiver<Observed>,
        words: mpsc::Sender<Word>,
        answering: watch::Sender<Option<Endpoint>>,
    ) -> Session {
        let output = OutputReader::new(self.allow_root, board.clone())
            .emulated(self.about.inventory.is_emulated());
        let Self { controllers, about, pace, health, steps, .. } = self;
        Session { controllers, about, pace, board, health, words, output, steps, answering }
    }
}
