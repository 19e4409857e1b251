//! Connections of nodes to controllers in the simulated world. A connection delivers its messages
//! in order and without gaps until it breaks.

use super::World;
use super::event::Event;
use crate::message::{Host as At, Input, LinkId, NodeOutput};
use crate::net::Link;
use crate::node::Ending;
use common::id::ControllerId;
use common::wire::node::{FromNode, ToNode};

/// A connection that delivers nothing for this time is closed, in milliseconds.
const KEEPALIVE_MS: u64 = 5_000;
/// How long a node waits to be welcomed, in milliseconds.
const WELCOME_MS: u64 = 5_000;

impl World {
    pub(super) fn start_kantd(&mut self, place: usize) {
        let mutant = self.plan.mutant;
        let node = &mut self.nodes[place];
        if node.kantd.is_some() || node.enrolment == 0 {
            return;
        }
        node.start_kantd(mutant);
        let (name, life) = (node.name.clone(), node.life);
        self.story.add(self.now_ms, || format!("kantd of {name} starts"));
        self.agenda.add(self.now_ms + 1, Event::Dial(place, life));
        self.with_node(place, |node, around, _| node.probe_replicas(around));
    }

    pub(super) fn dial(&mut self, place: usize, life: u64) {
        let known: Vec<ControllerId> = self.hosts.keys().copied().collect();
        let node = &mut self.nodes[place];
        let Some(mut kantd) = node.kantd.take() else { return };
        if node.life != life || kantd.link.is_some() {
            node.kantd = Some(kantd);
            return;
        }
        let Some(to) = kantd.course.next(&known) else { return };
        self.last_link.0 += 1;
        let id = self.last_link;
        let hello = kantd.hello(node, self.now_ms, id, self.plan.mutant);
        node.kantd = Some(kantd);
        let host = self.hosts.get(&to);
        let has_process = host.is_some_and(|host| host.process.is_some());
        let link = Link {
            node: place,
            node_life: life,
            controller: to,
            controller_life: host.map_or(0, |host| host.life),
            is_node_open: true,
            is_controller_open: has_process,
            is_doomed: false,
            bad_since_ms: None,
            up_at_ms: 0,
            down_at_ms: 0,
        };
        self.links.insert(id, link);
        let (from, to) = (At::Node(place), At::Controller(to));
        let is_cut = self.net.is_blocked(from, to) || self.net.is_blocked(to, from);
        if is_cut || !has_process {
            let in_ms = if is_cut { 2_000 } else { 3 };
            self.agenda.add(self.now_ms + in_ms, Event::DownClosed(id));
            return;
        }
        self.agenda.add(self.now_ms + WELCOME_MS, Event::WelcomeLimit(id));
        self.send_up(id, Box::new(hello));
    }

    pub(super) fn welcome_limit(&mut self, id: LinkId) {
        let Some(link) = self.links.get(&id).filter(|link| link.is_node_open) else { return };
        let place = link.node;
        let kantd = self.nodes[place].kantd.as_ref();
        if kantd.is_some_and(|kantd| kantd.link == Some(id) && !kantd.is_welcomed) {
            self.hang_up(place, Ending::Broken);
        }
    }

    fn hang_up(&mut self, place: usize, ending: Ending) {
        self.with_node(place, |node, around, rng| {
            if let Some(kantd) = &mut node.kantd {
                kantd.hang_up(ending, rng, around);
            }
        });
    }

    /// Carries out a node's outputs.
    pub(super) fn carry_out(&mut self, place: usize, outputs: Vec<NodeOutput>) {
        for output in outputs {
            match output {
                NodeOutput::Up(link, message) => self.send_up(link, message),
                NodeOutput::Close(link) => self.close_up(link),
                NodeOutput::DialIn(in_ms) => {
                    let life = self.nodes[place].life;
                    self.agenda.add(self.now_ms + in_ms.max(1), Event::Dial(place, life));
                }
                NodeOutput::StepIn(in_ms, id, change) => {
                    self.agenda.add(self.now_ms + in_ms, Event::Step(place, id, change));
                }
            }
        }
    }

    fn send_up(&mut self, id: LinkId, message: Box<FromNode>) {
        let Some(link) = self.links.get_mut(&id) else { return };
        let (node, controller) = (At::Node(link.node), At::Controller(link.controller));
        link.is_doomed |= self.net.is_blocked(node, controller);
        if link.is_doomed {
            return;
        }
        link.up_at_ms = link.up_at_ms.max(self.now_ms + self.net.delay_ms(self.now_ms));
        self.agenda.add(link.up_at_ms, Event::Up(id, message));
    }

    pub(super) fn send_down(&mut self, id: LinkId, message: Box<ToNode>, at_ms: u64) {
        let Some(link) = self.links.get_mut(&id) else { return };
        let (node, controller) = (At::Node(link.node), At::Controller(link.controller));
        link.is_doomed |= self.net.is_blocked(controller, node);
        if link.is_doomed || !link.is_controller_open {
            return;
        }
        link.down_at_ms = link.down_at_ms.max(at_ms + self.net.delay_ms(self.now_ms));
        self.agenda.add(link.down_at_ms, Event::Down(id, message));
    }

    pub(super) fn up_arrives(&mut self, id: LinkId, message: Box<FromNode>) {
        let Some(link) = self.links.get(&id) else { return };
        let host = self.hosts.get(&link.controller);
        let is_same = host.is_some_and(|host| host.life == link.controller_life);
        if link.is_controller_open && is_same {
            self.input(link.controller, Input::Up(id, message));
        }
    }

    pub(super) fn down_arrives(&mut self, id: LinkId, message: Box<ToNode>) {
        let Some(link) = self.links.get(&id).filter(|link| link.is_node_open) else { return };
        let place = link.node;
        self.with_node(place, |node, around, rng| {
            if let Some(mut kantd) = node.kantd.take() {
                if kantd.link == Some(id) {
                    kantd.on_message(node, *message, rng, around);
                }
                node.kantd = Some(kantd);
            }
        });
    }

    /// Closes the controller's end.
    pub(super) fn close_down(&mut self, id: LinkId, at_ms: u64) {
        let Some(link) = self.links.get_mut(&id).filter(|link| link.is_controller_open) else {
            return;
        };
        link.is_controller_open = false;
        if !link.is_doomed {
            let at_ms = link.down_at_ms.max(at_ms) + 1;
            self.agenda.add(at_ms, Event::DownClosed(id));
        }
    }

    /// Closes the node's end.
    fn close_up(&mut self, id: LinkId) {
        let Some(link) = self.links.get_mut(&id).filter(|link| link.is_node_open) else { return };
        link.is_node_open = false;
        let (node, controller) = (At::Node(link.node), At::Controller(link.controller));
        link.is_doomed |= self.net.is_blocked(node, controller);
        if !link.is_doomed {
            let at_ms = link.up_at_ms.max(self.now_ms) + 1;
            self.agenda.add(at_ms, Event::UpClosed(id));
        }
    }

    pub(super) fn up_closed(&mut self, id: LinkId) {
        let Some(link) = self.links.get_mut(&id).filter(|link| link.is_controller_open) else {
            return;
        };
        link.is_controller_open = false;
        let (controller, life) = (link.controller, link.controller_life);
        if self.hosts.get(&controller).is_some_and(|host| host.life == life) {
            self.input(controller, Input::Closed(id));
        }
    }

    pub(super) fn down_closed(&mut self, id: LinkId) {
        let Some(link) = self.links.get(&id).filter(|link| link.is_node_open) else { return };
        let (place, life) = (link.node, link.node_life);
        let node = &self.nodes[place];
        let is_its = node.kantd.as_ref().is_some_and(|kantd| kantd.link == Some(id));
        if node.life != life || !is_its {
            return;
        }
        let is_welcomed = node.kantd.as_ref().is_some_and(|kantd| kantd.is_welcomed);
        let ending = if is_welcomed { Ending::Broken } else { Ending::Unreached };
        self.hang_up(place, ending);
    }

    /// Breaks the connections of a controller whose process ended. Nodes notice at once, or after
    /// the keepalive time if the machine failed or the network is cut.
    pub(super) fn break_links_of(&mut self, id: ControllerId, is_machine: bool) {
        let mut closed = Vec::new();
        for (link_id, link) in &mut self.links {
            if link.controller != id || !link.is_controller_open {
                continue;
            }
            link.is_controller_open = false;
            if is_machine || self.net.is_blocked(At::Controller(id), At::Node(link.node)) {
                link.is_doomed = true;
            } else {
                closed.push(*link_id);
            }
        }
        for link in closed {
            self.agenda.add(self.now_ms + 2, Event::DownClosed(link));
        }
    }

    /// Breaks the connections of a node whose kantd or machine failed.
    pub(super) fn break_link_of_node(&mut self, place: usize, is_machine: bool) {
        let links: Vec<LinkId> =
            self.links.iter().filter(|(_, link)| link.node == place).map(|(id, _)| *id).collect();
        for id in links {
            if is_machine && let Some(link) = self.links.get_mut(&id) {
                link.is_doomed = true;
                link.is_node_open = false;
            } else {
                self.close_up(id);
            }
        }
    }

    /// Closes both ends of connections that have delivered nothing for the keepalive time.
    pub(super) fn sweep(&mut self) {
        let now_ms = self.now_ms;
        let (mut up, mut down) = (Vec::new(), Vec::new());
        for (id, link) in &mut self.links {
            let (node, controller) = (At::Node(link.node), At::Controller(link.controller));
            let is_cut =
                self.net.is_blocked(node, controller) || self.net.is_blocked(controller, node);
            let host = self.hosts.get(&link.controller);
            let is_suspended = host.is_none_or(|host| host.is_paused(now_ms));
            if !(is_cut || is_suspended || link.is_doomed) {
                link.bad_since_ms = None;
                continue;
            }
            let since = *link.bad_since_ms.get_or_insert(now_ms);
            if now_ms >= since + KEEPALIVE_MS {
                link.is_doomed = true;
                up.push(*id);
                down.push(*id);
            }
        }
        up.into_iter().for_each(|id| self.up_closed(id));
        down.into_iter().for_each(|id| self.down_closed(id));
        self.links.retain(|_, link| link.is_node_open || link.is_controller_open);
    }

    /// Records which nodes are really in contact with a leader.
    pub(super) fn note_contact(&mut self) {
        for (id, link) in &self.links {
            let host = self.hosts.get(&link.controller);
            let leads =
                host.filter(|host| host.is_up(self.now_ms)).and_then(|h| h.process.as_ref());
            let has_session = leads.is_some_and(|p| p.leads() && p.has_session(*id));
            let node = &self.nodes[link.node];
            let is_welcomed =
                node.kantd.as_ref().is_some_and(|k| k.link == Some(*id) && k.is_welcomed);
            let is_open = link.is_node_open && link.is_controller_open && !link.is_doomed;
            if has_session && is_welcomed && is_open && link.bad_since_ms.is_none() {
                self.node_judge.heard(self.now_ms, &node.name);
            }
        }
    }
}
