//! Changes to a job's request, made by `kantctl update` or assumed by `kantctl explain --what-if`.

mod options;

use super::dependency::Dependency;
use super::mail::{Mail, MailEvents};
use super::spec::Ask;
use crate::constraint::Constraint;
use crate::gpu::GpuKind;
use crate::id::{AccountName, NodeName, QosName, QueueName, ReservationName};
use crate::resource::{GpuRequest, MemoryRequest, Request};
use crate::time::{Span, Time};
use crate::topology::Nearness;
use crate::unit::{Cpus, Nodes, Tasks};
use serde::{Deserialize, Serialize};

/// The new value of a setting that can also be removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Replaced<T> {
    Without,
    With(T),
}

impl<T> Replaced<T> {
    fn value(self) -> Option<T> {
        match self {
            Self::Without => None,
            Self::With(value) => Some(value),
        }
    }
}

/// Changed settings; `None` leaves a setting unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Patch {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_limit: Option<Span>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpus: Option<Replaced<GpuRequest>>,
    /// The acceptable GPU kinds; empty: any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu_kinds: Option<Vec<GpuKind>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<Nodes>,
    /// The number of tasks and the minimum; if absent, tasks are scaled with `nodes`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tasks: Option<(Tasks, Option<Tasks>)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus_per_task: Option<Cpus>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryRequest>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub qos: Option<Replaced<QosName>>,
    /// The required closeness of its nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub near: Option<Replaced<Nearness>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub begin_at: Option<Replaced<Time>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dependency: Option<Replaced<Dependency>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Replaced<Time>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reservation: Option<Replaced<ReservationName>>,
    /// The maximum number of array tasks that run at once; ignored for other jobs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub array_limit: Option<Replaced<u32>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comment: Option<Replaced<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<AccountName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nice: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub constraint: Option<Replaced<Constraint>>,
    /// An empty list allows any node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub only_nodes: Option<Vec<NodeName>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_nodes: Option<Vec<NodeName>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mail_on: Option<MailEvents>,
    /// Removed: the job's owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mail_to: Option<Replaced<String>>,
}

impl Patch {
    /// The request with the changes applied. If the number of nodes changes and the number of tasks
    /// is not given, the tasks per node stay the same.
    #[must_use]
    pub fn over(&self, ask: &Ask) -> Ask {
        let mut ask = ask.clone();
        let request = &mut ask.request;
        if let Some(nodes) = self.nodes {
            let before = request.nodes.unwrap_or(Nodes(1)).0.max(1);
            let each = request.tasks.0.div_ceil(before);
            request.tasks = if request.nodes.is_some() {
                Tasks(nodes.0.saturating_mul(each))
            } else {
                Tasks(request.tasks.0.max(nodes.0))
            };
            request.nodes = Some(nodes);
            request.tasks_min = None;
        }
        if let Some((most, least)) = self.tasks {
            (request.tasks, request.tasks_min) = (most, least);
        }
        if self.nodes.is_some() || self.tasks.is_some() {
            // A job with a fixed size cannot grow.
            request.grow &= request.tasks_min.is_some();
        }
        if let Some(gpus) = self.gpus {
            request.gpus = gpus.value();
            if request.gpus.is_none() {
                (request.gpu_kind, request.gpu_kinds_or) = (None, Vec::new());
            }
        }
        if let Some(kinds) = &self.gpu_kinds {
            request.gpu_kind = kinds.first().cloned();
            request.gpu_kinds_or = kinds.iter().skip(1).cloned().collect();
        }
        request.cpus_per_task = self.cpus_per_task.unwrap_or(request.cpus_per_task);
        request.memory = self.memory.or(request.memory);
        request.near = self.near.map_or(request.near, Replaced::value);
        self.over_place(request);
        ask.name = self.name.clone().unwrap_or(ask.name);
        ask.comment = self.comment.clone().map_or(ask.comment, Replaced::value);
        ask.account = self.account.clone().or(ask.account);
        ask.nice = self.nice.unwrap_or(ask.nice);
        ask.time_limit = self.time_limit.or(ask.time_limit);
        ask.queue = self.queue.clone().or(ask.queue);
        ask.qos = self.qos.clone().map_or(ask.qos, Replaced::value);
        ask.begin_at = self.begin_at.map_or(ask.begin_at, Replaced::value);
        ask.dependency = self.dependency.clone().map_or(ask.dependency, Replaced::value);
        ask.deadline = self.deadline.map_or(ask.deadline, Replaced::value);
        ask.reservation = self.reservation.clone().map_or(ask.reservation, Replaced::value);
        ask.mail = self.over_mail(ask.mail);
        if let Some(limit) = self.array_limit {
            ask.array = ask.array.map(|array| array.with_limit(limit.value()));
        }
        ask
    }

    fn over_mail(&self, mail: Option<Mail>) -> Option<Mail> {
        let mut mail = mail.unwrap_or_default();
        mail.on = self.mail_on.clone().unwrap_or(mail.on);
        mail.to = self.mail_to.clone().map_or(mail.to, Replaced::value);
        mail.kept()
    }

    fn over_place(&self, request: &mut Request) {
        if let Some(constraint) = &self.constraint {
            request.constraint = constraint.clone().value();
        }
        if let Some(nodes) = &self.only_nodes {
            request.only_nodes.clone_from(nodes);
        }
        if let Some(nodes) = &self.not_nodes {
            request.not_nodes.clone_from(nodes);
        }
    }

    /// Are all changes allowed for a job that has nodes?
    #[must_use]
    pub fn is_for_the_living(&self) -> bool {
        let Self { time_limit, name, comment, array_limit, mail_on, mail_to, .. } = self.clone();
        let living = Self { time_limit, name, comment, array_limit, ..Self::default() };
        *self == Self { mail_on, mail_to, ..living }
    }

    /// Does it change only the number of array tasks that run at once?
    #[must_use]
    pub fn is_for_the_array_alone(&self) -> bool {
        *self == Self { array_limit: self.array_limit, ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unit::Gpus;

    fn ask() -> Ask {
        let mut ask = Ask { time_limit: Some(Span::from_minutes(60)), ..Ask::default() };
        ask.request.nodes = Some(Nodes(2));
        ask.request.tasks = Tasks(8);
        ask.request.gpus = Some(GpuRequest::PerNode(Gpus(8)));
        ask.request.gpu_kind = Some(GpuKind("h100".to_owned()));
        ask
    }

    #[test]
    fn an_empty_patch_changes_nothing() {
        assert_eq!(Patch::default().over(&ask()), ask());
    }

    #[test]
    fn tasks_follow_nodes_unless_they_are_named() {
        let four = Patch { nodes: Some(Nodes(4)), ..Patch::default() };
        assert_eq!(four.over(&ask()).request.tasks, Tasks(16));
        let plain = Ask::default();
        assert_eq!(four.over(&plain).request.tasks, Tasks(4));
        let named = Patch { tasks: Some((Tasks(8), Some(Tasks(4)))), ..four };
        let request = named.over(&ask()).request;
        assert_eq!((request.tasks, request.tasks_min), (Tasks(8), Some(Tasks(4))));
    }

    #[test]
    fn a_job_with_a_fixed_size_does_not_grow() {
        let mut ask = ask();
        (ask.request.tasks_min, ask.request.grow) = (Some(Tasks(4)), true);
        let four = Patch { nodes: Some(Nodes(4)), ..Patch::default() };
        assert!(!four.over(&ask).request.grow);
        let ranged = Patch { tasks: Some((Tasks(16), Some(Tasks(4)))), ..four };
        assert!(ranged.over(&ask).request.grow);
        assert!(Patch { nice: Some(5), ..Patch::default() }.over(&ask).request.grow);
    }

    #[test]
    fn times_and_reservations_are_set_and_removed() {
        let until = |at| Patch { deadline: Some(at), ..Patch::default() };
        let dated = until(Replaced::With(Time(7))).over(&ask());
        assert_eq!(dated.deadline, Some(Time(7)));
        assert_eq!(until(Replaced::Without).over(&dated).deadline, None);
        let alone = Patch { array_limit: Some(Replaced::With(3)), ..Patch::default() };
        assert!(alone.is_for_the_array_alone());
        let both = Patch { nodes: Some(Nodes(1)), ..alone.clone() };
        assert!(!both.is_for_the_array_alone());
        let array = |text: &str| Ask { array: Some(text.parse().unwrap()), ..ask() };
        assert_eq!(alone.over(&array("0-9")), array("0-9%3"));
        assert_eq!(alone.over(&ask()), ask(), "no array");
        let any = Patch { array_limit: Some(Replaced::Without), ..Patch::default() };
        assert_eq!(any.over(&array("0-9%3")), array("0-9"));
    }

    #[test]
    fn nodes_and_names_change_and_only_names_and_times_of_running_jobs() {
        let node = |name: &str| NodeName::new(name).unwrap();
        let place = Patch {
            constraint: Some(Replaced::With("a100&ib".parse().unwrap())),
            not_nodes: Some(vec![node("g7")]),
            nice: Some(5),
            ..Patch::default()
        };
        let moved = place.over(&ask());
        assert_eq!(moved.request.not_nodes, [node("g7")]);
        assert!(moved.request.constraint.is_some() && moved.nice == 5);
        let back = Patch {
            constraint: Some(Replaced::Without),
            not_nodes: Some(Vec::new()),
            nice: Some(0),
            ..Patch::default()
        };
        assert_eq!(back.over(&moved), ask());
        let words = Patch {
            name: Some("b".to_owned()),
            comment: Some(Replaced::With("why".to_owned())),
            time_limit: Some(Span::from_minutes(5)),
            ..Patch::default()
        };
        let mail = |on: &str| Patch { mail_on: on.parse().ok(), ..Patch::default() };
        let letters = mail("END").over(&ask());
        assert!(mail("END").is_for_the_living() && letters.mail.is_some());
        assert_eq!(mail("NONE").over(&letters), ask(), "nothing is left to be kept");
        let named = words.over(&ask());
        assert_eq!((named.name.as_str(), named.comment.as_deref()), ("b", Some("why")));
        assert!(words.is_for_the_living() && !place.is_for_the_living());
    }

    #[test]
    fn gpus_keep_their_kind_and_go_with_it() {
        let fewer = Replaced::With(GpuRequest::Total(Gpus(4)));
        let fewer = Patch { gpus: Some(fewer), ..Patch::default() };
        let request = fewer.over(&ask()).request;
        assert_eq!(request.gpus, Some(GpuRequest::Total(Gpus(4))));
        assert_eq!(request.gpu_kind, Some(GpuKind("h100".to_owned())));
        let any = Patch { gpu_kinds: Some(vec![]), ..fewer };
        assert_eq!(any.over(&ask()).request.gpu_kind, None);
        let none = Patch { gpus: Some(Replaced::Without), ..Patch::default() };
        let request = none.over(&ask()).request;
        assert_eq!((request.gpus, request.gpu_kind), (None, None));
    }

    #[test]
    fn a_patch_crosses_the_wire() {
        let patch = Patch {
            near: Some(Replaced::Without),
            qos: Some(Replaced::With(QosName::new("high").unwrap())),
            tasks: Some((Tasks(8), None)),
            ..Patch::default()
        };
        let text = serde_json::to_string(&patch).unwrap();
        assert_eq!(serde_json::from_str::<Patch>(&text).unwrap(), patch);
    }
}
