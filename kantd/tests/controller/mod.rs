//! Fixtures: a stand-in controller that hands every node channel to the test, and fake steps that
//! carry out every action at once.

use axum::Router;
use axum::extract::ws::WebSocketUpgrade;
use axum::routing::get;
use common::id::{AttemptId, Gid, NodeName, Uid};
use common::job::{EndCause, Owner};
use common::resource::{Allocation, Share};
use common::time::{Span, Time};
use common::unit::Bytes;
use common::wire::node::{
    DesiredStep, DesiredUpdate, FenceTerms, FromNode, Hello, LaunchOrder, NODE_PATH, Resized,
    StepPhase, StepStatus, ToNode, Want,
};
use kantd::runner::Executor;
use kantd::session::{NodeInfo, SessionTiming};
use net::{
    Channel, ClusterKey, Endpoint, Identity, Keepalive, TlsListener, User, accept_channel, serve,
};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
pub use testkit::{attempt as id, running, wanted};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};

/// The longest time that a test waits for anything.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Fails the test if `future` takes longer than [`PATIENCE`].
pub async fn soon<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(PATIENCE, future).await.expect("took too long")
}

/// The controller's end of a node channel.
pub type NodeChannel = Channel<ToNode, FromNode>;

/// A controller on loopback: node channels arrive in `nodes`, and users' requests are answered with
/// the user and the request.
pub struct Controller {
    pub addr: SocketAddr,
    pub nodes: mpsc::UnboundedReceiver<NodeChannel>,
    stop: oneshot::Sender<()>,
    task: tokio::task::JoinHandle<std::io::Result<()>>,
}

impl Controller {
    pub async fn start(key: &ClusterKey) -> Self {
        Self::start_at(key, "127.0.0.1:0").await
    }

    pub async fn start_at(key: &ClusterKey, addr: &str) -> Self {
        let (found, nodes) = mpsc::unbounded_channel();
        let channel = move |upgrade: WebSocketUpgrade| async move {
            accept_channel(
                upgrade,
                short_timing().keepalive,
                Handle::current(),
                |channel: NodeChannel| async move {
                    let _ = found.send(channel);
                },
            )
        };
        let echo = |user: User, request: axum::extract::Request| async move {
            format!(
                "{} {} {}:{} {:?}",
                request.method(),
                request.uri(),
                user.uid,
                user.gid,
                user.via
            )
        };
        let router = Router::new().route(NODE_PATH, get(channel)).fallback(echo);
        let identity = Identity::controller(key).unwrap();
        let listener = TlsListener::bind(addr, &identity).await.unwrap();
        let addr = listener.local_addr();
        let (stop, stopped) = oneshot::channel::<()>();
        let task = tokio::spawn(serve(listener, router, async {
            let _ = stopped.await;
        }));
        Self { addr, nodes, stop, task }
    }

    /// The next node that connects, and its Hello.
    pub async fn greet(&mut self) -> (NodeChannel, Hello) {
        let mut channel = soon(self.nodes.recv()).await.expect("the controller runs");
        match soon(channel.recv()).await {
            Some(Ok(FromNode::Hello(hello))) => (channel, *hello),
            other => panic!("expected a hello, got {other:?}"),
        }
    }

    /// Like [`Controller::greet`], and sends a Welcome.
    pub async fn welcome(&mut self) -> (NodeChannel, Hello) {
        self.welcome_on(None).await
    }

    /// The same, on these terms.
    pub async fn welcome_on(&mut self, fence: Option<FenceTerms>) -> (NodeChannel, Hello) {
        let (channel, hello) = self.greet().await;
        let welcome = ToNode::Welcome { protocol: 1, cluster: "test".to_owned(), fence };
        channel.send(&welcome).await.unwrap();
        (channel, hello)
    }

    pub async fn stop(self) {
        drop(self.stop);
        drop(self.nodes);
        soon(self.task).await.unwrap().unwrap();
    }
}

/// Sends a full update.
pub async fn send_all(channel: &NodeChannel, steps: Vec<DesiredStep>) {
    let update = DesiredUpdate { full: true, steps, gone: vec![] };
    channel.send(&ToNode::Desired(update)).await.unwrap();
}

/// Reads reports until an attempt is in a phase of this kind.
pub async fn until(
    channel: &mut NodeChannel,
    id: AttemptId,
    is_it: impl Fn(&StepPhase) -> bool,
) -> StepPhase {
    loop {
        match soon(channel.recv()).await {
            Some(Ok(FromNode::Report(news))) => {
                if let Some(found) = news.into_iter().find(|s| s.id == id && is_it(&s.phase)) {
                    return found.phase;
                }
            }
            // May come at any time, and does not matter here.
            Some(Ok(FromNode::Health(_) | FromNode::Replicas(_))) => {}
            other => panic!("expected a report about {id}, got {other:?}"),
        }
    }
}

/// Short time limits of a session.
pub fn short_timing() -> SessionTiming {
    SessionTiming {
        redial_first: Duration::from_millis(20),
        redial_cap: Duration::from_millis(100),
        leaderless_cap: Duration::from_millis(50),
        refused_wait: Duration::from_millis(200),
        welcome_limit: Duration::from_secs(10),
        confirm_limit: Duration::from_millis(100),
        keepalive: Keepalive {
            ping_interval: Duration::from_millis(500),
            silence_limit: Duration::from_secs(10),
        },
    }
}

pub fn tls(addr: SocketAddr, key: &ClusterKey, node: &str) -> Endpoint {
    let identity = Identity::emulated_node(key, node).unwrap();
    Endpoint::Tls { addr: addr.to_string(), identity }
}

/// A node with two CPUs, named `name`.
pub fn node_info(name: &str) -> NodeInfo {
    NodeInfo {
        name: NodeName::new(name).unwrap(),
        address: name.to_owned(),
        identity: format!("identity of {name}"),
        inventory: Arc::new(testkit::inventory(2, 1, 0)),
    }
}

/// A launch order for `script` on node `node`, for the user who runs this test.
pub fn order(id: AttemptId, node: &str, script: &str, work_dir: &str) -> Box<LaunchOrder> {
    let share = Share { memory: Bytes(64 << 20), ..testkit::share(node, 0, 1, &[]) };
    Box::new(LaunchOrder {
        owner: Owner {
            uid: Uid(nix::unistd::geteuid().as_raw()),
            gid: Gid(nix::unistd::getegid().as_raw()),
            name: "tester".to_owned(),
        },
        script: script.to_owned(),
        work_dir: work_dir.to_owned(),
        allocation: Allocation::new(vec![share]).unwrap(),
        ..testkit::launch_order(id, node)
    })
}

/// A wanted attempt with a launch order for node g-1, which the fake steps do not use.
pub fn ordered(id: AttemptId, want: Want) -> DesiredStep {
    DesiredStep { order: Some(order(id, "g-1", "#!/bin/sh\n", "/")), ..wanted(id, want) }
}

/// Fake steps that carry out every action at once, and record it.
#[derive(Clone)]
pub struct FakeSteps {
    changes: mpsc::UnboundedSender<StepStatus>,
    pub recorded: Arc<Mutex<Vec<String>>>,
}

impl FakeSteps {
    pub fn new() -> (Self, mpsc::UnboundedReceiver<StepStatus>) {
        let (changes, receiver) = mpsc::unbounded_channel();
        (Self { changes, recorded: Arc::default() }, receiver)
    }

    pub fn set(&self, id: AttemptId, phase: StepPhase) {
        // The runner may be gone at the end of a test.
        let _ = self.changes.send(StepStatus { id, phase });
    }

    fn note(&self, what: &str, id: AttemptId) {
        self.recorded.lock().unwrap().push(format!("{what} {id}"));
    }

    /// The recorded actions, once there are this many.
    pub async fn until_recorded(&self, count: usize) -> Vec<String> {
        let enough = async {
            while self.recorded().len() < count {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        soon(enough).await;
        self.recorded()
    }

    pub fn recorded(&self) -> Vec<String> {
        self.recorded.lock().unwrap().clone()
    }
}

impl Executor for FakeSteps {
    fn launch(&self, order: LaunchOrder) {
        self.note("launch", order.id);
        self.set(order.id, StepPhase::Ready);
    }
    fn start_ready_step(&self, id: AttemptId) {
        self.note("go", id);
        self.set(id, running());
    }
    fn suspend(&self, id: AttemptId) {
        self.note("suspend", id);
        self.set(id, StepPhase::Running { since: Time(1), suspended: true });
    }
    fn resume(&self, id: AttemptId) {
        self.note("resume", id);
        self.set(id, running());
    }
    fn limit(&self, id: AttemptId, limit: Span) {
        self.note(&format!("limit {limit}"), id);
    }
    fn resize(&self, id: AttemptId, resized: Resized) {
        self.note(&format!("resize {}", resized.number), id);
    }
    fn stop(&self, id: AttemptId) {
        self.note("stop", id);
        self.set(id, ended(EndCause::Stopped));
    }
    fn forget(&self, id: AttemptId) {
        self.note("forget", id);
    }
}

pub fn ended(cause: EndCause) -> StepPhase {
    testkit::ended(cause, 0)
}
