//! Services of one history: what their users do, what their replicas do on nodes, and the requests
//! that they get. None of it depends on the state of the cluster.

mod draft;
mod load;
mod replica;

pub use load::{requests, requests_in_flight};
pub use replica::{Fate, ReplicaPlan, is_never_ready, replica_plan};

use crate::rng::Rng;
use common::blob::BlobHash;
use common::id::{Gid, ServiceName, Uid};
use common::job::Owner;
use common::service::ServiceSpec;
use draft::Draft;
use state::{Actor, Command, Deployment, ServiceAction};

/// An action of a user on a service.
#[derive(Debug, Clone, PartialEq)]
pub struct ServiceWork {
    /// The number of the service.
    pub service: usize,
    pub act: ServiceAct,
}

#[derive(Debug, Clone, PartialEq)]
pub enum ServiceAct {
    /// Makes this the current revision.
    Deploy(Box<Text>),
    Act(ServiceAction),
}

/// A specification with the scripts of its roles.
#[derive(Debug, Clone, PartialEq)]
pub struct Text {
    pub spec: ServiceSpec,
    pub scripts: Vec<String>,
}

/// Time after the last fault in which the last revisions are deployed, in milliseconds.
const LAST_MS: (u64, u64) = (2_000, 8_000);

pub fn service_name(number: usize) -> ServiceName {
    format!("s{number}").parse().expect("a valid name")
}

/// The number of a service with this name.
pub fn service_number(name: &ServiceName) -> usize {
    name.as_str().trim_start_matches('s').parse().unwrap_or(0)
}

impl ServiceWork {
    /// The command for the log.
    pub fn command(&self) -> Command {
        let name = service_name(self.service);
        let uid = Uid(1000 + u32::try_from(self.service).unwrap_or(0));
        match &self.act {
            ServiceAct::Act(action) => {
                let actor = Actor::user(uid);
                Command::ActOnService { actor, name, action: action.clone() }
            }
            ServiceAct::Deploy(text) => Command::DeployService(Box::new(Deployment {
                owner: Owner { uid, gid: Gid(uid.0), name: format!("u{uid}") },
                groups: Vec::new(),
                operator: false,
                via: None,
                name,
                spec: text.spec.clone(),
                texts: text.scripts.iter().cloned().chain([String::new()]).collect(),
            })),
        }
    }
}

/// Draws the users' actions on services within `within_ms` milliseconds, each with its time, in no
/// order; and actions after the last fault, with the time since then.
pub fn draw(within_ms: u64, nodes: usize, rng: &mut Rng) -> [Vec<(u64, ServiceWork)>; 2] {
    let (mut works, mut last) = (Vec::new(), Vec::new());
    let count = if nodes > 3 { rng.between(1, 2) } else { 1 };
    for service in 0..usize::try_from(count).unwrap_or(1) {
        let mut draft = Draft::draw(service, nodes, rng);
        let deploy = |draft: &mut Draft, rng: &mut Rng| {
            let act = ServiceAct::Deploy(Box::new(draft.next_text(rng)));
            ServiceWork { service, act }
        };
        works.push((rng.below(3_000), deploy(&mut draft, rng)));
        let mut times: Vec<u64> =
            (0..rng.between(1, 7)).map(|_| rng.between(3_000, within_ms)).collect();
        times.sort_unstable();
        for at_ms in times {
            let work = match rng.below(100) {
                0..35 => deploy(&mut draft, rng),
                35..55 => ServiceWork { service, act: draft.scale(rng) },
                55..67 => act(service, ServiceAction::RollBack { to: None }),
                67..75 => act(service, ServiceAction::Pause),
                75..87 => act(service, ServiceAction::Resume),
                87..97 => act(service, ServiceAction::Promote),
                _ => act(service, ServiceAction::Stop),
            };
            works.push((at_ms, work));
        }
        if rng.percent(75) {
            draft.is_sound = true;
            let at_ms = rng.between(LAST_MS.0, LAST_MS.1);
            last.push((at_ms, deploy(&mut draft, rng)));
        }
    }
    [works, last]
}

const fn act(service: usize, action: ServiceAction) -> ServiceWork {
    ServiceWork { service, act: ServiceAct::Act(action) }
}

/// The hash of an empty environment.
fn no_environment() -> BlobHash {
    BlobHash::of(b"")
}
