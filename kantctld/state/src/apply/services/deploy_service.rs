//! `DeployService`: creates a service, or makes a specification its current revision. Only the
//! first deployment decides the owner; the owner or an operator may deploy again. Whether replicas
//! fit the nodes is checked by the leader before it proposes the command.

use super::super::admission::{self, Applicant};
use super::super::submit_job;
use crate::command::{Actor, Deployment};
use crate::event::Event;
use crate::service::{Service, Update};
use crate::state::State;
use common::blob::BlobHash;
use common::id::{Revision, RoleName, ServiceName, Uid};
use common::job::Ask;
use common::job::check::{AskError, ENVIRONMENT_BYTES_MAX, check_script};
use common::reason::{BadRequest, NoRoom, Refusal, ServiceRefusal};
use common::right::Right;
use common::service::{
    RoleSpec, SERVICES_PER_USER_MAX, ScaledBy, ServiceEventKind, ServiceSpec, check_spec,
};
use common::unit::Bytes;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub(super) fn apply(
    state: &mut State,
    events: &mut Vec<Event>,
    deployment: &Deployment,
) -> Result<(), Refusal> {
    let Deployment { owner, groups, operator, name, spec, .. } = deployment;
    let CheckedDeployment { revision, is_unchanged, texts, .. } =
        check_deployment(state, deployment)?;
    if is_unchanged {
        events.push(Event::ServiceChanged { name: name.clone(), revision });
        return Ok(());
    }
    for hash in spec.blob_hashes() {
        let text = texts.get(&hash).copied().unwrap_or_default();
        state.blobs.add_use(hash, text.as_bytes());
    }
    let uid = owner.uid;
    let service = state.services.entry(name.clone()).or_insert_with(|| new(deployment, state.now));
    (service.groups, service.operator) = (groups.clone(), *operator);
    service.via = deployment.via.clone();
    service.revisions.insert(revision, Arc::new(spec.clone()));
    service.note(state.now, ServiceEventKind::Deployed { revision, by: uid });
    switch_revision(state, events, name, revision);
    Ok(())
}

/// A deployment that is not refused.
#[derive(Debug)]
pub struct CheckedDeployment<'a> {
    /// The revision that it makes current.
    pub revision: Revision,
    /// It is a repetition, and changes nothing.
    pub is_unchanged: bool,
    /// The request of each role, with the defaults of its queue.
    pub asks: Vec<Ask>,
    texts: BTreeMap<BlobHash, &'a str>,
}

/// Checks a deployment without carrying it out.
///
/// # Errors
/// Why it is refused.
pub fn check_deployment<'a>(
    state: &State,
    deployment: &'a Deployment,
) -> Result<CheckedDeployment<'a>, Refusal> {
    let Deployment { owner, groups, operator, name, spec, .. } = deployment;
    admission::check_owner(state, owner.uid)?;
    check_spec(spec)?;
    let known = state.services.get(name);
    if let Some(known) = known {
        may_change(known, &Actor { operator: *operator, ..Actor::user(owner.uid) })?;
        if known.is_stopping {
            return Err(ServiceRefusal::Stopping { name: name.clone() }.into());
        }
        if known.spec() == Some(spec) && known.update.is_none() {
            let revision = known.current;
            let (asks, texts) = (Vec::new(), BTreeMap::new());
            return Ok(CheckedDeployment { revision, is_unchanged: true, asks, texts });
        }
        if known.spec().is_some_and(|before| before.protocol != spec.protocol) {
            return Err(ServiceRefusal::ProtocolChange { name: name.clone() }.into());
        }
    } else {
        check_room(state, owner.uid)?;
    }
    let who = known.map_or(owner, |known| &known.owner);
    let applicant = Applicant { owner: who, groups, operator: *operator };
    let mut asks = Vec::new();
    for role in &spec.roles {
        let ask = submit_job::fill_in(state, &applicant, &role.ask)?;
        admission::check(state, &applicant, &ask)?;
        asks.push(ask);
    }
    check_port(state, name, spec)?;
    let texts = check_texts(state, who.uid, deployment)?;
    let revision = known.map_or(Revision(1), next);
    Ok(CheckedDeployment { revision, is_unchanged: false, asks, texts })
}

/// A service without revisions.
fn new(deployment: &Deployment, now: common::time::Time) -> Service {
    Service {
        name: deployment.name.clone(),
        owner: deployment.owner.clone(),
        groups: Vec::new(),
        operator: false,
        via: None,
        created_at: now,
        revisions: BTreeMap::new(),
        current: Revision(0),
        healthy: None,
        update: None,
        wanted: BTreeMap::new(),
        is_paused: false,
        is_stopping: false,
        submitted: 0,
        failures: Vec::new(),
        submits_after: None,
        events: Vec::new(),
    }
}

fn next(service: &Service) -> Revision {
    let last = service.revisions.keys().next_back().map_or(0, |revision| revision.0);
    Revision(last.max(service.current.0).saturating_add(1))
}

/// Makes a revision the current one, and begins the update to it.
pub(super) fn switch_revision(
    state: &mut State,
    events: &mut Vec<Event>,
    name: &ServiceName,
    revision: Revision,
) {
    let now = state.now;
    let used: BTreeSet<Revision> = state
        .replicas_of(name)
        .filter_map(|record| record.spec.ask.replica.as_ref().map(|replica| replica.revision))
        .collect();
    let Some(service) = state.services.get_mut(name) else { return };
    let Some(spec) = service.revisions.get(&revision).cloned() else { return };
    let is_promoted = spec.update.canary == 0 || used.is_empty();
    service.current = revision;
    service.update = Some(Update { since: now, is_promoted });
    (service.failures, service.submits_after) = (Vec::new(), None);
    service.is_paused = false;
    let before = std::mem::take(&mut service.wanted);
    for role in &spec.roles {
        let had = before.get(&role.name).copied();
        let wanted = role.replicas.clamp(had.unwrap_or(role.replicas.min));
        service.wanted.insert(role.name.clone(), wanted);
        if let Some(from) = had.filter(|had| *had != wanted) {
            let (role, by) = (role.name.clone(), ScaledBy::Revision(revision));
            service.note(now, ServiceEventKind::Scaled { role, from, to: wanted, by });
        }
    }
    let surplus = service.surplus_revisions(|revision| used.contains(&revision));
    let gone: Vec<Arc<ServiceSpec>> =
        surplus.iter().filter_map(|revision| service.revisions.remove(revision)).collect();
    for hash in gone.iter().flat_map(|spec| spec.blob_hashes().collect::<Vec<_>>()) {
        state.blobs.drop_use(&hash);
    }
    events.push(Event::ServiceChanged { name: name.clone(), revision });
}

/// Whether the user may change the service.
pub(super) fn may_change(service: &Service, actor: &Actor) -> Result<(), ServiceRefusal> {
    if actor.has_for(Right::Own, service.owner.uid) {
        return Ok(());
    }
    let (name, owner) = (service.name.clone(), service.owner.name.clone());
    Err(ServiceRefusal::NotYours { name, owner })
}

fn check_room(state: &State, uid: Uid) -> Result<(), ServiceRefusal> {
    let own = state.services.values().filter(|service| service.owner.uid == uid).count();
    if own >= SERVICES_PER_USER_MAX {
        return Err(ServiceRefusal::TooMany { most: SERVICES_PER_USER_MAX });
    }
    Ok(())
}

/// Checks that no other service has this port.
fn check_port(state: &State, name: &ServiceName, spec: &ServiceSpec) -> Result<(), ServiceRefusal> {
    let Some(port) = spec.port else { return Ok(()) };
    let has = |service: &&Service| {
        let specs = service.revisions.values();
        service.name != *name && specs.into_iter().any(|spec| spec.port == Some(port))
    };
    match state.services.values().find(has) {
        Some(other) => Err(ServiceRefusal::PortTaken { port, service: other.name.clone() }),
        None => Ok(()),
    }
}

/// The texts of a deployment by hash, if they are sound and their user has room for them.
fn check_texts<'a>(
    state: &State,
    uid: Uid,
    deployment: &'a Deployment,
) -> Result<BTreeMap<BlobHash, &'a str>, Refusal> {
    let texts: BTreeMap<BlobHash, &str> =
        deployment.texts.iter().map(|text| (BlobHash::of(text.as_bytes()), &**text)).collect();
    for role in &deployment.spec.roles {
        let script = texts.get(&role.script).ok_or(BadRequest::UnknownText)?;
        check_script(script.as_bytes())?;
        let environment = texts.get(&role.environment).ok_or(BadRequest::UnknownText)?;
        if environment.len() > ENVIRONMENT_BYTES_MAX {
            return Err(AskError::EnvironmentTooLarge(environment.len()).into());
        }
    }
    let held = text_bytes(state, uid);
    let more: u64 = texts.values().map(|text| text.len() as u64).sum();
    let limit = state.user_bounds().text;
    if held.saturating_add(more) > limit.0 {
        let (held, more) = (Bytes(held), Bytes(more));
        return Err(Refusal::NoRoom(NoRoom::TooMuchText { held, more, limit }));
    }
    Ok(texts)
}

/// The bytes of the texts of a user's services, each counted once.
fn text_bytes(state: &State, uid: Uid) -> u64 {
    let own = state.services.values().filter(|service| service.owner.uid == uid);
    let specs = own.flat_map(|service| service.revisions.values());
    let hashes: BTreeSet<BlobHash> = specs.flat_map(|spec| spec.blob_hashes()).collect();
    hashes.iter().map(|hash| state.blobs.get(hash).map_or(0, |text| text.len() as u64)).sum()
}

/// A role of the current revision.
pub(super) fn find_role<'a>(
    service: &'a Service,
    role: &RoleName,
) -> Result<&'a RoleSpec, ServiceRefusal> {
    let roles = || service.spec().into_iter().flat_map(|spec| &spec.roles);
    roles().find(|one| one.name == *role).ok_or_else(|| ServiceRefusal::UnknownRole {
        name: service.name.clone(),
        role: role.clone(),
        known: roles().map(|role| role.name.clone()).collect(),
    })
}
