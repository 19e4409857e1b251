//! Answers to requests about job steps (`srun`), and the ledgers of all jobs whose first node this
//! is. Each ledger lies in its attempt's directory; a change is written before it takes effect.

use super::dir::{self, StepDir};
use super::job_size;
use super::ledger::streams::Streams;
use super::ledger::{LEASE_MAX, StepLedger};
use super::registry::StepRegistry;
use crate::clock;
use common::id::AttemptId;
use common::job::StepRecord;
use common::resource::Allocation;
use common::sync::Mutex;
use common::time::{Span, Time};
use common::wire::node::{
    AskSteps, StepAnswer, StepHeard, StepNews, StepPhase, StepSaid, StepWish,
};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

/// The longest time that a request waits for its answer.
const WAIT_MAX: Duration = Duration::from_secs(60);
/// The same as a [`Span`].
const WAIT_MAX_SPAN: Span = Span::from_seconds(60);

/// A ledger and the allocation of its job.
#[derive(Debug)]
struct OpenLedger {
    ledger: StepLedger,
    job: Allocation,
    streams: Streams,
}

#[derive(Debug, Default)]
pub struct LedgerService {
    open: Mutex<BTreeMap<AttemptId, OpenLedger>>,
    /// Jobs that have ended, though the registry may not show it yet. Locked after `open`.
    closed: Mutex<BTreeSet<AttemptId>>,
    /// Notified when there are signals or input for a step's client, or a first listener.
    for_clients: Notify,
    /// Notified when a step's tasks wrote output, or a step ended.
    for_listeners: Notify,
}

impl LedgerService {
    /// Answers a request about a job's steps; waits up to the time that the request allows.
    pub async fn answer(&self, asked: AskSteps, registry: &StepRegistry, steps: &Path) -> StepNews {
        let AskSteps { question, id, wish: request } = asked;
        let wait = match &request {
            StepWish::Hold { wait, .. } | StepWish::Listen { wait, .. } => {
                Duration::from_millis(wait.0).min(WAIT_MAX)
            }
            _ => Duration::ZERO,
        };
        let listened_before = match &request {
            StepWish::Hold { streams: Some(client), .. } => client.listened,
            _ => false,
        };
        let listens = matches!(request, StepWish::Listen { .. });
        let until = Instant::now() + wait;
        loop {
            // Registered before the request is tried, so that no change is missed.
            let (for_client, for_listener) =
                (self.for_clients.notified(), self.for_listeners.notified());
            let answer =
                self.try_answer(id, request.clone(), registry, &StepDir::for_attempt(steps, id));
            let answer = answer.unwrap_or_else(StepAnswer::Refused);
            let news = async { if listens { for_listener.await } else { for_client.await } };
            if !has_no_news(&answer, listened_before) || timeout_at(until, news).await.is_err() {
                return StepNews { question, answer };
            }
        }
    }

    /// Renews all leases when a session begins, because clients could not renew them without one.
    pub fn renew_all(&self) {
        let mut open = self.open.lock();
        open.values_mut().for_each(|open| open.ledger.renew_leases(clock::now()));
    }

    /// Sets the allocation of a resized job.
    pub fn set_allocation(&self, id: AttemptId, job: &Allocation) {
        let mut open = self.open.lock();
        if let Some(open) = open.get_mut(&id) {
            open.job.clone_from(job);
        }
    }

    /// Renews the leases of suspended jobs, whose clients are suspended too. To be called
    /// regularly.
    pub fn pause_leases(&self, registry: &StepRegistry) {
        let mut open = self.open.lock();
        for (id, open) in open.iter_mut() {
            if let Some(StepPhase::Running { suspended: true, .. }) = registry.phase(*id) {
                open.ledger.pause_leases(clock::now());
            }
        }
    }

    /// The steps of an ended job, for accounting; empty if it has no ledger. The ledger is closed:
    /// later answers must agree with accounting. If it is unreadable, accounting lacks the steps.
    /// Blocks.
    pub fn close(&self, id: AttemptId, dir: &StepDir, at: Time) -> Vec<StepRecord> {
        let mut open = self.open.lock();
        open.remove(&id);
        self.closed.lock().insert(id);
        drop(open);
        match read_ledger(dir) {
            Ok(ledger) => ledger.into_records(at),
            Err(error) => {
                let shown = dir.path().display();
                tracing::warn!(
                    "failed to read the steps in {shown}: {error}; accounting lacks them"
                );
                Vec::new()
            }
        }
    }

    fn try_answer(
        &self,
        id: AttemptId,
        request: StepWish,
        registry: &StepRegistry,
        dir: &StepDir,
    ) -> Result<StepAnswer, String> {
        let mut open = self.open.lock();
        open.retain(|id, _| registry.phase(*id).is_some_and(|p| !matches!(p, StepPhase::Ended(_))));
        let mut closed = self.closed.lock();
        closed.retain(|id| registry.phase(*id).is_some());
        let is_over = match registry.phase(id) {
            None => return Err(format!("{id} does not run on this node")),
            Some(phase) => closed.contains(&id) || matches!(phase, StepPhase::Ended(_)),
        };
        drop(closed);
        if is_over && request != StepWish::List {
            return Err(format!("{id} has ended"));
        }
        let failed = |error: io::Error| format!("failed to read the steps of {id}: {error}");
        let known = match open.entry(id) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => place.insert(open_ledger(dir).map_err(failed)?),
        };
        let now = clock::now();
        if let Some(answer) = self.answer_stream_request(&request, known, now) {
            return answer;
        }
        let mut changed = known.ledger.clone();
        if is_over {
            changed.end_all(now);
        }
        let (is_signal, is_end) =
            (matches!(request, StepWish::Signal { .. }), matches!(request, StepWish::Close { .. }));
        let held = match &request {
            StepWish::Hold { number, streams: Some(client), .. } => Some((*number, *client)),
            _ => None,
        };
        let (answer, is_news) = changed.handle(cap_lease(request), &known.job, now);
        let written = if is_news { write_ledger(dir, &changed) } else { Ok(()) };
        if written.is_ok() {
            known.ledger = changed;
        }
        if is_signal {
            self.for_clients.notify_waiters();
        }
        if is_end {
            let OpenLedger { ledger, streams, .. } = &mut *known;
            streams.discard_input_of_ended(|number| ledger.has_ended(number, now));
            self.for_listeners.notify_waiters();
        }
        written.map_err(|error| format!("failed to write the steps of {id}: {error}"))?;
        Ok(match (held, answer) {
            (Some((number, client)), StepAnswer::Words(signals)) => {
                StepAnswer::Heard(known.streams.take_for_client(number, client, signals, now))
            }
            (_, answer) => answer,
        })
    }

    /// Answers a request about a step's streams; `None` for other requests.
    fn answer_stream_request(
        &self,
        request: &StepWish,
        known: &mut OpenLedger,
        now: Time,
    ) -> Option<Result<StepAnswer, String>> {
        let OpenLedger { ledger, streams, .. } = known;
        let (StepWish::Say { number, .. }
        | StepWish::Listen { number, .. }
        | StepWish::Speak { number, .. }) = request
        else {
            return None;
        };
        let ended = match ledger.step_end(*number, now) {
            Ok(ended) => ended,
            Err(why) => return Some(Err(why)),
        };
        Some(match request {
            StepWish::Say { number, piece } => streams.add_output(*number, piece, now).map(|()| {
                self.for_listeners.notify_waiters();
                StepAnswer::Done
            }),
            StepWish::Speak { .. } if ended.is_some() => Err(format!("step {number} has ended")),
            StepWish::Speak { number, speech } => {
                streams.add_input(*number, speech.clone(), now).map(|kept| {
                    self.for_clients.notify_waiters();
                    kept.map_or_else(|why| StepAnswer::Busy(why.to_owned()), |()| StepAnswer::Done)
                })
            }
            StepWish::Listen { number, from, .. } if ended.is_some() => {
                let (pieces, exit) =
                    (streams.remaining_output(*number, *from, now), ended.flatten());
                Ok(StepAnswer::Said(StepSaid { pieces, is_over: true, exit }))
            }
            StepWish::Listen { number, from, wait } => {
                streams.discard_input_of_ended(|number| ledger.has_ended(number, now));
                let wait = Span(wait.0.min(WAIT_MAX_SPAN.0));
                streams.listen(*number, *from, wait, now).map(|(pieces, is_first)| {
                    if is_first {
                        self.for_clients.notify_waiters();
                    }
                    StepAnswer::Said(StepSaid { pieces, is_over: false, exit: None })
                })
            }
            _ => return None,
        })
    }
}

/// Whether the answer has nothing new, so that the request keeps waiting. `listened_before`: what
/// the client believes about listeners.
fn has_no_news(answer: &StepAnswer, listened_before: bool) -> bool {
    match answer {
        StepAnswer::Words(words) => words.is_empty(),
        StepAnswer::Heard(StepHeard { signals, listened, speech }) => {
            signals.is_empty() && speech.is_empty() && *listened == listened_before
        }
        StepAnswer::Said(said) => said.pieces.is_empty() && !said.is_over,
        _ => false,
    }
}

fn cap_lease(request: StepWish) -> StepWish {
    match request {
        StepWish::Open(mut ask) => {
            ask.lease = ask.lease.min(LEASE_MAX);
            StepWish::Open(ask)
        }
        request => request,
    }
}

fn open_ledger(dir: &StepDir) -> io::Result<OpenLedger> {
    let mut ledger = read_ledger(dir)?;
    // Renewals are not written, so every lease starts again when kantd does.
    ledger.renew_leases(clock::now());
    let job = match job_size::read(dir)? {
        Some(resized) => resized.allocation,
        None => dir.read_spec()?.launch.allocation,
    };
    Ok(OpenLedger { ledger, job, streams: Streams::default() })
}

fn read_ledger(dir: &StepDir) -> io::Result<StepLedger> {
    match fs::read(dir.ledger_path()) {
        Ok(text) => Ok(serde_json::from_slice(&text)?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(StepLedger::default()),
        Err(error) => Err(error),
    }
}

/// Writes the ledger atomically. Not synced: the job does not survive a power failure either.
fn write_ledger(dir: &StepDir, ledger: &StepLedger) -> io::Result<()> {
    let text = serde_json::to_vec(ledger)?;
    let draft = dir.ledger_path().with_extension("new");
    let mut file = dir::private_file_options().create(true).truncate(true).open(&draft)?;
    file.write_all(&text)?;
    fs::rename(&draft, dir.ledger_path())
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::id::TaskNumber;
    use common::job::ExitStatus;
    use common::wire::node::{StepAsk, StepGpus};
    use tokio::sync::mpsc::unbounded_channel;

    /// An attempt's directory with its spec.
    fn ordered(home: &tempfile::TempDir) -> (crate::step::spec::StepSpec, StepDir) {
        let spec = crate::step::example_spec("g1");
        let dir = StepDir::at(home.path().join(spec.launch.id.to_string()));
        dir.make().unwrap();
        dir.write_spec(&spec).unwrap();
        (spec, dir)
    }

    #[test]
    fn a_ledger_that_accounting_has_read_does_not_change() {
        let home = tempfile::tempdir().unwrap();
        let (spec, dir) = ordered(&home);
        let id = spec.launch.id;
        let (changes, _seen) = unbounded_channel();
        let (registry, ledgers) = (StepRegistry::new(changes), LedgerService::default());
        let running = StepPhase::Running { since: Time(1), suspended: false };
        let _requests = registry.add(id, running).unwrap();
        let close = || StepWish::Close { number: 7, exit: Default::default() };
        let asked = |ledgers: &LedgerService| ledgers.try_answer(id, close(), &registry, &dir);
        assert!(!asked(&ledgers).is_err_and(|why| why.contains("has ended")), "it runs");
        assert_eq!(ledgers.close(id, &dir, Time(2)), []);
        let why = asked(&ledgers).unwrap_err();
        assert!(why.contains("has ended"), "{why}");
    }

    #[test]
    fn reading_the_output_of_ended_steps_registers_no_listener() {
        let home = tempfile::tempdir().unwrap();
        let (spec, dir) = ordered(&home);
        let id = spec.launch.id;
        let (changes, _seen) = unbounded_channel();
        let (registry, ledgers) = (StepRegistry::new(changes), LedgerService::default());
        let _requests =
            registry.add(id, StepPhase::Running { since: Time(1), suspended: false }).unwrap();
        let ask = |request: StepWish| ledgers.try_answer(id, request, &registry, &dir).unwrap();
        let listen = |number| StepWish::Listen { number, from: None, wait: Span(0) };
        for nonce in 0..70 {
            let opened = ask(StepWish::Open(StepAsk {
                nonce: TaskNumber(nonce),
                name: "train".to_owned(),
                tasks: vec![(spec.launch.allocation.shares()[0].node.clone(), 1)],
                others: Vec::new(),
                cpus_each: 1,
                gpus: StepGpus::All,
                exclusive: false,
                lease: Span::from_seconds(60),
            }));
            let StepAnswer::Opened(view) = opened else { panic!("{opened:?}") };
            let (number, exit) = (view.number, ExitStatus { code: 3, signal: None });
            assert_eq!(ask(StepWish::Close { number, exit }), StepAnswer::Done);
            let over = StepSaid { pieces: Vec::new(), is_over: true, exit: Some(exit) };
            assert_eq!(ask(listen(number)), StepAnswer::Said(over));
        }
    }
}
