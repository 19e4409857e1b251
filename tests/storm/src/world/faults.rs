//! Faults in the simulated world: what each fault hits, what it does, and how it ends.

use super::World;
use super::event::Event;
use super::operator::Task;
use crate::faults::{Fault, Kind};
use crate::message::{Host as At, Input};
use crate::net::Flaky;
use crate::rng::Rng;
use common::health::{Check, Finding, Response};
use common::id::ControllerId;

/// Number of hosts from which users submit.
const USER_HOSTS: usize = 3;

/// The host from which the user of this action submits.
pub fn user_host(work: usize) -> usize {
    work % USER_HOSTS
}

/// A random health finding of a node: one that passes by itself or one that lasts.
fn random_finding(rng: &mut Rng) -> Finding {
    let check = *rng.one(&[Check::DiskFull, Check::GpuXid]).unwrap_or(&Check::DiskFull);
    let responses = [Response::Warn, Response::Drain, Response::DrainNow];
    let response = *rng.one(&responses).unwrap_or(&Response::Warn);
    Finding { check, says: check.word().to_owned(), response }
}

impl World {
    pub(super) fn fault_begins(&mut self, place: usize) {
        if self.is_healed {
            return;
        }
        let fault = self.plan.faults[place];
        let mut rng = Rng::new(fault.salt, 0);
        self.story.add(self.now_ms, || format!("fault {place} begins: {}", fault.kind.name()));
        self.agenda.add(self.now_ms + fault.lasts_ms, Event::FaultEnds(place));
        if fault.kind == Kind::Storm {
            self.blow_again(place, fault);
        }
        match fault.kind {
            Kind::Kantd | Kind::NodeCut | Kind::LongCut | Kind::Reboot | Kind::Sick => {
                self.hit_node(fault, &mut rng);
            }
            Kind::Split | Kind::OneWay => {
                let pairs = self.cuts(fault);
                pairs.into_iter().for_each(|(from, to)| self.net.block(from, to));
            }
            Kind::Flaky => {
                self.net.flaky = Flaky {
                    until_ms: self.now_ms + fault.lasts_ms,
                    lost_percent: rng.below(40),
                    doubled_percent: rng.below(40),
                    late_ms: rng.below(600),
                };
            }
            Kind::Voters => {
                self.voters_die_until_ms = self.now_ms + fault.lasts_ms;
                self.net.flaky = Flaky {
                    until_ms: self.voters_die_until_ms,
                    lost_percent: 0,
                    doubled_percent: 60,
                    late_ms: rng.between(100, 800),
                };
                if let Some((leader, _)) = self.leader() {
                    self.kill_controller(leader);
                    self.start_soon(leader, rng.between(20, 500));
                }
            }
            Kind::Revoke | Kind::RotateKey => self.change_trust(fault),
            Kind::Members => {
                let task = self.choose_change(&mut rng);
                self.tasks.extend(task);
            }
            _ => {
                if let Some(id) = self.victim(&mut rng) {
                    self.hit_controller(id, fault, &mut rng);
                }
            }
        }
    }

    /// Repeats the kill of a restart storm until the storm ends.
    fn blow_again(&mut self, place: usize, fault: Fault) {
        let until_ms = self.ready_ms.unwrap_or(0) + fault.at_ms + fault.lasts_ms;
        let next_ms = self.now_ms + self.rng.between(200, 1_500);
        if next_ms < until_ms {
            self.agenda.add(next_ms, Event::FaultBegins(place));
        }
    }

    /// A member controller, chosen at random with a preference for the leader.
    fn victim(&self, rng: &mut Rng) -> Option<ControllerId> {
        let leader = self.leader().map(|(id, _)| id);
        if rng.percent(40) && leader.is_some() {
            return leader;
        }
        let parts = self.hosts.iter().filter(|(_, host)| !host.is_gone && !host.is_broken);
        let parts: Vec<ControllerId> = parts.map(|(id, _)| *id).collect();
        rng.one(&parts).copied()
    }

    fn hit_controller(&mut self, id: ControllerId, fault: Fault, rng: &mut Rng) {
        let Some(host) = self.hosts.get_mut(&id) else { return };
        let memory = host.disk.memory.clone();
        match fault.kind {
            Kind::Kill | Kind::Storm => {
                self.kill_controller(id);
                self.start_soon(id, rng.between(100, fault.lasts_ms.clamp(100, 2_000)));
            }
            Kind::Power => self.cut_power(id),
            Kind::Tear => {
                host.is_tearing = true;
                let count = u32::try_from(rng.below(12)).unwrap_or(0);
                match rng.percent(50) {
                    true => memory.fail_write_after(count),
                    false => memory.fail_sync_after(count),
                }
            }
            Kind::BadSync => {
                memory.fail_sync_after(u32::try_from(rng.below(6)).unwrap_or(0));
            }
            Kind::Pause => {
                host.paused_until_ms = self.now_ms + fault.lasts_ms;
                self.story.add(self.now_ms, || format!("c{id} stands still"));
            }
            Kind::Clock => {
                let far_ms = i64::try_from(rng.below(3_600_000)).unwrap_or(0);
                self.set_wall(id, if rng.percent(50) { far_ms } else { -far_ms });
            }
            Kind::SlowDisk => host.slow_until_ms = self.now_ms + fault.lasts_ms,
            Kind::FullDisk => {
                memory.set_capacity_bytes(Some(memory.used_bytes() + rng.below(20_000)));
            }
            Kind::Transfer => drop(self.input(id, Input::Transfer)),
            Kind::Rot => self.damage(id, rng),
            Kind::Install => self.install_other(id, fault.lasts_ms),
            _ => {}
        }
    }

    fn hit_node(&mut self, fault: Fault, rng: &mut Rng) {
        let place = self.node_of(fault);
        let name = self.nodes[place].name.clone();
        self.story.add(self.now_ms, || format!("{} hits {name}", fault.kind.name()));
        match fault.kind {
            Kind::Kantd => {
                self.nodes[place].kill_kantd();
                self.break_link_of_node(place, false);
                self.agenda.add(self.now_ms + fault.lasts_ms, Event::Kantd(place));
            }
            Kind::Reboot => {
                let has_new_disk = rng.percent(25);
                self.with_node(place, |node, around, _| node.reboot(has_new_disk, around));
                self.break_link_of_node(place, true);
                self.agenda.add(self.now_ms + fault.lasts_ms + 1_000, Event::Kantd(place));
            }
            Kind::Sick => {
                let finding = random_finding(rng);
                self.with_node(place, |node, around, _| node.find(Some(finding), around));
            }
            _ => {
                let pairs = self.cuts(fault);
                pairs.into_iter().for_each(|(from, to)| self.net.block(from, to));
            }
        }
    }

    pub(super) fn node_of(&self, fault: Fault) -> usize {
        Rng::new(fault.salt, 7).place(self.nodes.len())
    }

    /// The directed pairs of hosts that a fault disconnects, the same at its start and at its end.
    fn cuts(&self, fault: Fault) -> Vec<(At, At)> {
        let mut rng = Rng::new(fault.salt, 9);
        // Includes controllers that join while the fault lasts.
        let controllers = (1..=12).map(|id| At::Controller(ControllerId(id)));
        let controllers: Vec<At> = controllers.collect();
        let nodes = (0..self.nodes.len()).map(At::Node);
        let all: Vec<At> =
            controllers.iter().copied().chain(nodes).chain((0..USER_HOSTS).map(At::User)).collect();
        match fault.kind {
            Kind::Split => {
                let (left, right): (Vec<At>, Vec<At>) =
                    all.into_iter().partition(|_| rng.percent(50));
                let pairs = left.iter().flat_map(|l| right.iter().map(|r| (*l, *r)));
                pairs.flat_map(|(l, r)| [(l, r), (r, l)]).collect()
            }
            Kind::OneWay => {
                let from = *rng.one(&controllers[..5]).unwrap_or(&controllers[0]);
                let others = all.into_iter().filter(|to| *to != from);
                let cut: Vec<At> = others.filter(|_| rng.percent(50)).collect();
                let is_out = rng.percent(50);
                cut.into_iter().map(|to| if is_out { (from, to) } else { (to, from) }).collect()
            }
            _ => {
                let node = At::Node(self.node_of(fault));
                controllers.iter().flat_map(|c| [(node, *c), (*c, node)]).collect()
            }
        }
    }

    fn choose_change(&mut self, rng: &mut Rng) -> Option<Task> {
        let (_, members) = self.leader()?;
        let planned = self.tasks.iter().filter(|task| matches!(task, Task::Add(_))).count();
        let voters = members.voters.len() + planned;
        if voters < 5 && (voters < 3 || rng.percent(50)) && self.machines < 12 {
            return Some(self.new_member());
        }
        let is_planned = |id: &&u64| self.tasks.contains(&Task::Remove(ControllerId(**id)));
        let free: Vec<u64> = members.voters.iter().filter(|id| !is_planned(id)).copied().collect();
        if free.len() < 3 {
            return None;
        }
        rng.one(&free).map(|id| Task::Remove(ControllerId(*id)))
    }

    pub(super) fn fault_ends(&mut self, place: usize) {
        let fault = self.plan.faults[place];
        if self.is_healed {
            return;
        }
        self.story.add(self.now_ms, || format!("fault {place} ends: {}", fault.kind.name()));
        match fault.kind {
            Kind::Split | Kind::OneWay | Kind::NodeCut | Kind::LongCut => {
                let pairs = self.cuts(fault);
                pairs.into_iter().for_each(|(from, to)| self.net.unblock(from, to));
            }
            Kind::Sick => {
                let place = self.node_of(fault);
                self.with_node(place, |node, around, _| node.find(None, around));
            }
            // Other clock faults last until all faults are ended.
            Kind::Clock if fault.salt.is_multiple_of(2) => self.set_walls_right(),
            Kind::FullDisk => {
                for host in self.hosts.values() {
                    host.disk.memory.set_capacity_bytes(None);
                }
            }
            _ => {}
        }
        let ready_ms = self.ready_ms.unwrap_or(0);
        let is_over = |fault: &Fault| ready_ms + fault.at_ms + fault.lasts_ms <= self.now_ms;
        let are_right = self.hosts.values().all(|host| host.skew_ms == 0);
        if are_right && self.plan.faults.iter().all(is_over) {
            self.log.borrow_mut().time.note_calm(self.now_ms);
        }
    }

    pub(super) fn set_walls_right(&mut self) {
        let ids: Vec<ControllerId> = self.hosts.keys().copied().collect();
        ids.into_iter().for_each(|id| self.set_wall(id, 0));
    }
}
