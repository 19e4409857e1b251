//! The queues of outgoing messages, one for each connected controller. Messages to a controller
//! that is not connected are dropped.

use crate::raft::{PeerMessage, Transport};
use common::id::ControllerId;
use common::sync::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::mpsc::Sender;

/// The queues to one controller.
#[derive(Debug, Clone)]
pub(super) struct Link {
    pub messages: Sender<PeerMessage>,
    pub snapshots: Sender<PeerMessage>,
}

#[derive(Debug, Default)]
pub struct Links(Mutex<BTreeMap<ControllerId, Link>>);

/// Keeps a link open while it lives.
pub(super) struct OpenLink {
    links: Arc<Links>,
    to: ControllerId,
    messages: Sender<PeerMessage>,
}

impl Links {
    /// The function through which the log sends its messages.
    pub fn transport(self: &Arc<Self>) -> Transport {
        let links = self.clone();
        Box::new(move |message| links.send(message))
    }

    /// True if the message was queued.
    fn send(&self, message: PeerMessage) -> bool {
        let links = self.0.lock();
        let Some(link) = links.get(&message.to) else { return false };
        let queue = if message.has_snapshot { &link.snapshots } else { &link.messages };
        queue.try_send(message).is_ok()
    }

    pub(super) fn open(self: &Arc<Self>, to: ControllerId, link: Link) -> OpenLink {
        let messages = link.messages.clone();
        self.0.lock().insert(to, link);
        OpenLink { links: self.clone(), to, messages }
    }
}

impl Drop for OpenLink {
    fn drop(&mut self) {
        let mut links = self.links.0.lock();
        // A later connector may have opened it again.
        if links.get(&self.to).is_some_and(|link| link.messages.same_channel(&self.messages)) {
            links.remove(&self.to);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::mpsc;

    fn message(to: u64, has_snapshot: bool) -> PeerMessage {
        PeerMessage { to: ControllerId(to), has_snapshot, bytes: vec![1] }
    }

    #[test]
    fn a_message_is_queued_only_where_its_receiver_is_connected() {
        let links = Arc::new(Links::default());
        let send = links.transport();
        let (messages, mut messages_seen) = mpsc::channel(1);
        let (snapshots, mut snapshots_seen) = mpsc::channel(1);
        assert!(!send(message(2, false)), "not connected");
        let link = Link { messages, snapshots };
        let first = links.open(ControllerId(2), link.clone());
        assert!(send(message(2, false)) && send(message(2, true)));
        assert!(!send(message(2, false)), "full");
        assert!(!send(message(3, false)));
        assert!(!messages_seen.try_recv().unwrap().has_snapshot);
        assert!(snapshots_seen.try_recv().unwrap().has_snapshot);
        let again = Link { messages: mpsc::channel(1).0, ..link };
        let _second = links.open(ControllerId(2), again);
        drop(first);
        assert!(links.0.lock().contains_key(&ControllerId(2)), "the later link stays");
    }
}
