//! What the one who asked for a step and the starters of its tasks, one on each node, tell each
//! other: frames on a stream of bytes, each with its kind, the task it is about, and a body.
//! Never more than a frame's bytes are kept; never reads or writes a stream itself.

/// The task of a frame that is about all of a node's.
pub const ALL: u32 = u32::MAX;

/// The largest body: a plan of thousands of tasks.
pub const BODY_BYTES_MAX: usize = 64 << 20;

/// Bytes before a body: its length (4, little endian), the kind (1), the task (4).
const HEAD_BYTES: usize = 9;

/// What a frame says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// To a starter, first of all: what to run, as JSON.
    Plan = 1,
    /// To a task: bytes that it reads.
    Input = 2,
    /// To a task: there is no more to read.
    InputEnd = 3,
    /// To a task: the signal whose number is the body's only byte.
    Signal = 4,
    /// To a task with a terminal: rows and columns of the window, two bytes each.
    Window = 5,
    /// To a starter: so many bytes of what it said are taken (8 bytes, little endian).
    Taken = 6,
    /// From a task: its standard output.
    Output = 17,
    /// From a task: its standard error.
    Error = 18,
    /// Of a task: it never ran. The number of the system's error or 0 (1 byte), then why, in a
    /// sentence.
    Failed = 19,
    /// Of a task: it ended. Two bytes: its code, and the signal that ended it or 0.
    Ended = 20,
    /// Of a starter: so many bytes of what was sent to it are read (8 bytes, little endian).
    Read = 21,
    /// Of a starter: all of it is over, and nothing is left.
    Over = 22,
}

const KINDS: [Kind; 12] = [
    Kind::Plan,
    Kind::Input,
    Kind::InputEnd,
    Kind::Signal,
    Kind::Window,
    Kind::Taken,
    Kind::Output,
    Kind::Error,
    Kind::Failed,
    Kind::Ended,
    Kind::Read,
    Kind::Over,
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    pub kind: Kind,
    /// About which task, by its place on the node; [`ALL`]: all of them, or none.
    pub task: u32,
    pub body: Vec<u8>,
}

/// Bytes that are no frames.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// A kind of a later release, or no frame at all.
    #[error("failed to read a frame: its kind is {0}: is it of another release?")]
    Kind(u8),
    #[error("failed to read a frame: its body has {0} bytes, and none has more than 64 MiB")]
    Size(usize),
}

impl Frame {
    #[must_use]
    pub fn new(kind: Kind, task: u32, body: impl Into<Vec<u8>>) -> Self {
        Self { kind, task, body: body.into() }
    }

    /// How many bytes it has.
    #[must_use]
    pub const fn bytes_count(&self) -> u64 {
        (HEAD_BYTES + self.body.len()) as u64
    }

    /// As bytes.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let length = u32::try_from(self.body.len()).unwrap_or(u32::MAX);
        let mut bytes = Vec::with_capacity(HEAD_BYTES + self.body.len());
        bytes.extend(length.to_le_bytes());
        bytes.push(self.kind as u8);
        bytes.extend(self.task.to_le_bytes());
        bytes.extend(&self.body);
        bytes
    }
}

/// Makes frames of bytes as they come.
#[derive(Debug, Default)]
pub struct Frames(Vec<u8>);

impl Frames {
    /// More bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// The next frame, if all of it is there.
    ///
    /// # Errors
    /// [`FrameError`]: nothing that follows can be read.
    pub fn take(&mut self) -> Result<Option<Frame>, FrameError> {
        let Some((head, rest)) = self.0.split_at_checked(HEAD_BYTES) else { return Ok(None) };
        let four =
            |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let (length, task) = (four(0) as usize, four(5));
        if length > BODY_BYTES_MAX {
            return Err(FrameError::Size(length));
        }
        let number = head[4];
        let kind = KINDS.into_iter().find(|kind| *kind as u8 == number);
        let kind = kind.ok_or(FrameError::Kind(number))?;
        let Some(body) = rest.get(..length) else { return Ok(None) };
        let frame = Frame { kind, task, body: body.to_vec() };
        self.0.drain(..HEAD_BYTES + length);
        Ok(Some(frame))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn frames_come_out_as_they_went_in_however_the_bytes_are_cut(
            bodies in vec(vec(any::<u8>(), 0..40), 1..8), cut in 1_usize..30,
        ) {
            let kinds = KINDS.into_iter().cycle();
            let sent: Vec<Frame> = kinds.zip((0..).zip(bodies))
                .map(|(kind, (task, body))| Frame::new(kind, task, body)).collect();
            let bytes: Vec<u8> = sent.iter().flat_map(Frame::bytes).collect();
            let (mut frames, mut got) = (Frames::default(), Vec::new());
            for piece in bytes.chunks(cut) {
                frames.push(piece);
                while let Some(frame) = frames.take().unwrap() {
                    got.push(frame);
                }
            }
            prop_assert_eq!(got, sent);
        }
    }

    #[test]
    fn what_is_no_frame_is_refused() {
        let mut frames = Frames::default();
        frames.push(&[0, 0, 0, 0, 99, 0, 0, 0, 0]);
        assert_eq!(frames.take(), Err(FrameError::Kind(99)));
        let mut frames = Frames::default();
        frames.push(b"kant: node g1 has no directory\n");
        assert!(matches!(frames.take(), Err(FrameError::Size(_))));
    }
}
