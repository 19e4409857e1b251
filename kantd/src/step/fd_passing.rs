//! Passing open files and messages between a process and its child (man 7 unix, SCM_RIGHTS).

use nix::sys::socket::{
    AddressFamily, ControlMessage, ControlMessageOwned, MsgFlags, SockFlag, SockType, recvmsg,
    sendmsg, socketpair,
};
use std::io::{IoSlice, IoSliceMut};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

pub const MESSAGE_BYTES_MAX: usize = 64 << 10;

/// A received message.
#[derive(Debug)]
pub struct ReceivedMessage {
    /// The bytes; empty at the end of the stream.
    pub message: Vec<u8>,
    /// The file that was passed with it.
    pub file: Option<OwnedFd>,
}

/// A connected socket pair, closed on exec. Messages keep their boundaries and order.
pub fn pair() -> nix::Result<(OwnedFd, OwnedFd)> {
    socketpair(AddressFamily::Unix, SockType::SeqPacket, None, SockFlag::SOCK_CLOEXEC)
}

/// Sends a message, with a file or without.
pub fn send(end: BorrowedFd<'_>, message: &[u8], file: Option<BorrowedFd<'_>>) -> nix::Result<()> {
    let descriptors: Vec<i32> = file.iter().map(AsRawFd::as_raw_fd).collect();
    let rights = [ControlMessage::ScmRights(&descriptors)];
    let control: &[ControlMessage<'_>] = if file.is_some() { &rights } else { &[] };
    let text = [IoSlice::new(message)];
    sendmsg::<()>(end.as_raw_fd(), &text, control, MsgFlags::MSG_NOSIGNAL, None).map(drop)
}

/// Receives the next message without blocking: `EAGAIN` if there is none yet.
///
/// End of stream counts only if it is reported twice. The kernel checks for a message first and for
/// the end second, so a message sent and a close between the two checks make it report the end
/// although a message waits (net/unix/af_unix.c).
pub fn receive(end: BorrowedFd<'_>) -> nix::Result<ReceivedMessage> {
    let received = receive_once(end)?;
    if received.message.is_empty() { receive_once(end) } else { Ok(received) }
}

fn receive_once(end: BorrowedFd<'_>) -> nix::Result<ReceivedMessage> {
    let mut message = vec![0; MESSAGE_BYTES_MAX];
    let mut space = nix::cmsg_space!(i32);
    let mut text = [IoSliceMut::new(&mut message)];
    let flags = MsgFlags::MSG_CMSG_CLOEXEC | MsgFlags::MSG_DONTWAIT;
    let received = recvmsg::<()>(end.as_raw_fd(), &mut text, Some(&mut space), flags)?;
    let bytes = received.bytes;
    let mut file = None;
    for control in received.cmsgs()? {
        if let ControlMessageOwned::ScmRights(descriptors) = control {
            for descriptor in descriptors {
                // SAFETY: the kernel just made this descriptor for us; nothing else owns it.
                file = Some(unsafe { OwnedFd::from_raw_fd(descriptor) });
            }
        }
    }
    message.truncate(bytes);
    Ok(ReceivedMessage { message, file })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::Read;
    use std::os::fd::AsFd;

    #[test]
    fn a_file_arrives_open_and_the_end_is_an_empty_message() {
        let (ours, theirs) = pair().unwrap();
        let file = File::open("/proc/self/comm").unwrap();
        send(theirs.as_fd(), b"here", Some(file.as_fd())).unwrap();
        send(theirs.as_fd(), b"plain", None).unwrap();
        drop((theirs, file));
        let received = receive(ours.as_fd()).unwrap();
        assert_eq!(received.message, b"here");
        let mut text = String::new();
        File::from(received.file.unwrap()).read_to_string(&mut text).unwrap();
        assert!(!text.is_empty());
        let plain = receive(ours.as_fd()).unwrap();
        assert!(plain.file.is_none() && plain.message == b"plain");
        assert!(receive(ours.as_fd()).unwrap().message.is_empty());
    }

    #[test]
    fn the_end_is_never_reported_before_the_last_message() {
        for round in 0..20_000 {
            let (ours, theirs) = pair().unwrap();
            let sender = std::thread::spawn(move || {
                send(theirs.as_fd(), b"last", None).unwrap();
            });
            let first = loop {
                match receive(ours.as_fd()) {
                    Err(nix::Error::EAGAIN) => std::hint::spin_loop(),
                    received => break received.unwrap(),
                }
            };
            assert_eq!(first.message, b"last", "round {round}");
            sender.join().unwrap();
            assert!(receive(ours.as_fd()).unwrap().message.is_empty());
        }
    }

    #[test]
    fn receiving_does_not_block() {
        let (ours, _theirs) = pair().unwrap();
        assert_eq!(receive(ours.as_fd()).unwrap_err(), nix::Error::EAGAIN);
    }
}
