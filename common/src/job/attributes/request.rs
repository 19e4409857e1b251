//! Attributes in a job request: where each one is kept.

use super::{Attribute, GpusValue, Hosts, NodeCount, TaskCount, TimeLimit, Value};
use super::{FromValue, GpuCount, to_request};
use crate::gpu::GpuKind;
use crate::job::DataNames;
use crate::job::mail::Mail;
use crate::job::spec::Ask;
use crate::resource::{GpuRequest, MemoryRequest, Request};
use crate::unit::{Cpus, Nodes, Tasks};

impl Ask {
    /// Sets an attribute, or removes it. A value of another type than the attribute's removes it,
    /// too; attributes of the client change nothing.
    ///
    /// If the number of nodes changes, the tasks per node stay the same. Counts per GPU and options
    /// that depend on the submitting shell are computed by the client.
    pub fn set(&mut self, attribute: Attribute, value: Option<&Value>) {
        match attribute {
            Attribute::JobName => set_if_given(&mut self.name, value),
            Attribute::Account => self.account = value_as(value),
            Attribute::Qos => self.qos = value_as(value),
            Attribute::Service => self.service = is_true(value),
            Attribute::Comment => self.comment = value_as(value),
            Attribute::Queue => self.queue = value_as(value),
            Attribute::Time => {
                let limit: Option<TimeLimit> = value_as(value);
                self.unlimited = limit.is_some_and(|limit| limit.0.is_none());
                self.time_limit = limit.and_then(|limit| limit.0);
            }
            Attribute::Begin => self.begin_at = value_as(value),
            Attribute::Deadline => self.deadline = value_as(value),
            Attribute::Reservation => self.reservation = value_as(value),
            Attribute::Hold => self.hold = is_true(value),
            Attribute::Nice => self.nice = value_as(value).unwrap_or(0),
            Attribute::Dependency => self.dependency = value_as(value),
            Attribute::KillOnInvalidDep => self.kill_on_invalid_dependency = is_true(value),
            Attribute::Output => self.stdout = value_as(value),
            Attribute::Error => self.stderr = value_as(value),
            Attribute::Input => self.stdin = value_as(value),
            Attribute::OpenMode => self.open_mode = value_as(value).unwrap_or_default(),
            Attribute::Chdir => set_if_given(&mut self.work_dir, value),
            Attribute::Array => self.array = value_as(value),
            Attribute::ArrayLimit => {
                self.array = self.array.take().map(|array| array.with_limit(value_as(value)));
            }
            Attribute::Launch => self.launch = value_as(value).unwrap_or_default(),
            Attribute::Container => self.container = value_as(value),
            Attribute::Signal => self.warning = value_as(value),
            Attribute::MailType => {
                let mail = self.mail.take().unwrap_or_default();
                self.mail =
                    Mail { on: value_as(value).unwrap_or_default(), ..mail }.none_if_default();
            }
            Attribute::MailUser => {
                let mail = self.mail.take().unwrap_or_default();
                self.mail = Mail { to: value_as(value), ..mail }.none_if_default();
            }
            Attribute::ResizeSignal => self.resize_signal = value_as(value),
            Attribute::Requeue => self.requeue = true,
            Attribute::NoRequeue => self.requeue = !is_true(value),
            Attribute::Preemptible => self.preemptible = value.map(|_| true),
            Attribute::NoPreemptible => self.preemptible = value.map(|_| false),
            _ => self.request.set(attribute, value),
        }
    }

    /// The value of an attribute that records and lists show; `None` if it is not set.
    #[must_use]
    pub fn value(&self, attribute: Attribute) -> Option<Value> {
        let request = &self.request;
        match attribute {
            Attribute::Account => optional_value(&self.account),
            Attribute::Qos => optional_value(&self.qos),
            Attribute::Comment => optional_value(&self.comment),
            Attribute::Queue => optional_value(&self.queue),
            Attribute::Deadline => optional_value(&self.deadline),
            Attribute::Reservation => optional_value(&self.reservation),
            Attribute::Nice => (self.nice != 0).then_some(Value::Integer(self.nice)),
            Attribute::Constraint => optional_value(&request.constraint),
            Attribute::Nodelist => hosts_value(&request.only_nodes),
            Attribute::Exclude => hosts_value(&request.not_nodes),
            Attribute::Data => {
                (!request.data.is_empty()).then(|| Value::Data(DataNames(request.data.clone())))
            }
            Attribute::Array => optional_value(&self.array),
            Attribute::Container => optional_value(&self.container),
            _ => None,
        }
    }
}

impl Request {
    /// Sets an attribute of the resources, or removes it.
    fn set(&mut self, attribute: Attribute, value: Option<&Value>) {
        match attribute {
            Attribute::Nodes => set_nodes(self, value_as(value)),
            Attribute::Ntasks => set_tasks(self, value_as(value)),
            Attribute::NtasksPerNode => self.tasks_per_node = value_as(value).map(Tasks),
            Attribute::CpusPerTask => self.cpus_per_task = Cpus(value_as(value).unwrap_or(1)),
            Attribute::Mem => self.memory = value_as(value).map(MemoryRequest::PerNode),
            Attribute::MemPerCpu => self.memory = value_as(value).map(MemoryRequest::PerCpu),
            Attribute::MemPerGpu => self.memory = value_as(value).map(MemoryRequest::PerGpu),
            Attribute::Gpus => {
                let gpus: Option<GpusValue> = value_as(value);
                let kinds = gpus.as_ref().map(|gpus| gpus.kinds.clone());
                set_gpus(self, gpus.map(|gpus| to_request(gpus.amount)), kinds);
            }
            Attribute::GpusPerNode => {
                let gpus: Option<GpuCount> = value_as(value);
                let kinds = gpus.as_ref().map(|gpus| gpus.kinds.clone());
                set_gpus(self, gpus.map(|gpus| GpuRequest::PerNode(gpus.count)), kinds);
            }
            Attribute::GpusPerTask => {
                let gpus: Option<GpuCount> = value_as(value);
                let kinds = gpus.as_ref().map(|gpus| gpus.kinds.clone());
                set_gpus(self, gpus.map(|gpus| GpuRequest::PerTask(gpus.count)), kinds);
            }
            Attribute::GpuKind => set_kinds(self, value_as(value).unwrap_or_default()),
            Attribute::Exclusive => self.exclusive = is_true(value),
            Attribute::Grow => self.grow = is_true(value),
            Attribute::Near => self.near = value_as(value),
            Attribute::Segment => self.segment = value_as(value).map(Nodes),
            Attribute::Constraint => self.constraint = value_as(value),
            Attribute::Nodelist => self.only_nodes = hosts(value),
            Attribute::Exclude => self.not_nodes = hosts(value),
            Attribute::Data => {
                self.data = value_as::<DataNames>(value).map(|names| names.0).unwrap_or_default();
            }
            _ => {}
        }
    }
}

fn value_as<T: FromValue + Clone>(value: Option<&Value>) -> Option<T> {
    value.and_then(T::from_value).cloned()
}

fn optional_value<T: Clone + Into<Value>>(field: &Option<T>) -> Option<Value> {
    field.clone().map(Into::into)
}

fn is_true(value: Option<&Value>) -> bool {
    value_as(value).unwrap_or(false)
}

/// Texts that every request has.
fn set_if_given(field: &mut String, value: Option<&Value>) {
    if let Some(text) = value_as(value) {
        *field = text;
    }
}

fn hosts(value: Option<&Value>) -> Vec<crate::id::NodeName> {
    value_as::<Hosts>(value).map(|hosts| hosts.0).unwrap_or_default()
}

fn hosts_value(nodes: &[crate::id::NodeName]) -> Option<Value> {
    (!nodes.is_empty()).then(|| Value::Hosts(Hosts(nodes.to_vec())))
}

fn set_nodes(request: &mut Request, nodes: Option<NodeCount>) {
    let Some(NodeCount { most, .. }) = nodes else { return };
    let before = request.nodes.unwrap_or(Nodes(1)).0.max(1);
    let each = request.tasks.0.div_ceil(before);
    request.tasks = if request.nodes.is_some() {
        Tasks(most.saturating_mul(each))
    } else {
        Tasks(request.tasks.0.max(most))
    };
    (request.nodes, request.tasks_min) = (Some(Nodes(most)), None);
    // A job with a fixed size cannot grow.
    request.grow = false;
}

fn set_tasks(request: &mut Request, tasks: Option<TaskCount>) {
    let Some(TaskCount { most, least }) = tasks else { return };
    (request.tasks, request.tasks_min) = (most, least);
    request.grow &= least.is_some();
}

/// Without new kinds the old ones are kept, as long as there are GPUs.
fn set_gpus(request: &mut Request, gpus: Option<GpuRequest>, kinds: Option<Vec<GpuKind>>) {
    request.gpus = gpus;
    match kinds {
        Some(kinds) if kinds.is_empty() => {}
        kinds => set_kinds(request, kinds.unwrap_or_default()),
    }
}

fn set_kinds(request: &mut Request, kinds: Vec<GpuKind>) {
    let mut kinds = kinds.into_iter();
    (request.gpu_kind, request.gpu_kinds_or) = (kinds.next(), kinds.collect());
}

#[cfg(test)]
mod tests {
    use super::super::{Kind, ROWS, Removed, Row};
    use super::*;
    use crate::job::{MailEvents, OpenMode, Warning};
    use crate::topology::{Level, Nearness};

    fn sample(row: &Row) -> Value {
        match row.kind {
            Kind::Account => Value::Account("a".parse().unwrap()),
            Kind::Array => Value::Array("0-5".parse().unwrap()),
            Kind::Begin | Kind::Deadline => Value::Time(crate::time::Time(7)),
            Kind::Bytes => Value::Bytes("1G".parse().unwrap()),
            Kind::Constraint => Value::Constraint("ib".parse().unwrap()),
            Kind::Count => Value::Count(3),
            Kind::Data => Value::Data("llama3".parse().unwrap()),
            Kind::Dependency => Value::Dependency("afterok:1".parse().unwrap()),
            Kind::Export | Kind::MailAddress | Kind::Text => Value::Text("ada".to_owned()),
            Kind::Flag | Kind::YesNo => Value::Flag(true),
            Kind::GpuCount => Value::GpuCount("2".parse().unwrap()),
            Kind::GpuKinds => Value::GpuKinds(vec![GpuKind("h100".to_owned())]),
            Kind::Gpus => Value::Gpus("2".parse().unwrap()),
            Kind::Gres => Value::Gres("gpu:2".parse().unwrap()),
            Kind::Hosts => Value::Hosts("g1".parse().unwrap()),
            Kind::Launch => Value::Launch(crate::job::Launch::PerTask),
            Kind::MailEvents => Value::MailEvents("END".parse::<MailEvents>().unwrap()),
            Kind::Near => Value::Near(Nearness { level: Level::Leaf, required: true }),
            Kind::Nice => Value::Integer(5),
            Kind::NodeCount => Value::NodeCount("2".parse().unwrap()),
            Kind::OpenMode => Value::OpenMode(OpenMode::Append),
            Kind::Qos => Value::Qos("high".parse().unwrap()),
            Kind::Queue => Value::Queue("gpu".parse().unwrap()),
            Kind::Reservation => Value::Reservation("r".parse().unwrap()),
            Kind::ResizeSignal => Value::ResizeSignal("USR1".parse().unwrap()),
            Kind::Signal => Value::Signal("USR1".parse::<Warning>().unwrap()),
            Kind::Switches => Value::Switches("1".parse().unwrap()),
            Kind::TaskCount => Value::TaskCount("8".parse().unwrap()),
            Kind::TimeLimit => Value::TimeLimit("2h".parse().unwrap()),
        }
    }

    #[test]
    fn every_attribute_of_the_request_is_set_and_removed() {
        // The client computes these from the shell or from several options.
        let computed = [
            Attribute::NtasksPerGpu,
            Attribute::CpusPerGpu,
            Attribute::Gres,
            Attribute::Switches,
            Attribute::MaxPerNode,
        ];
        let mut without = Ask { array: "0-9".parse().ok(), requeue: false, ..Ask::default() };
        for row in ROWS.iter().filter(|row| !row.is_client) {
            if row.attribute == Attribute::NoRequeue {
                without.requeue = true;
            }
            let mut ask = without.clone();
            ask.set(row.attribute, Some(&sample(row)));
            assert_eq!(ask != without, !computed.contains(&row.attribute), "{}", row.option);
            if let Some(shown) = ask.value(row.attribute) {
                assert_eq!(shown, sample(row), "{}", row.option);
            }
            if row.removed != Removed::Never {
                ask.set(row.attribute, None);
                assert_eq!(ask, without, "{}", row.option);
            }
        }
    }
}
