//! The protocol between the client of a step and the launchers of its tasks, one on each node:
//! frames on a byte stream, with a kind, a task and a body. Parsing and formatting only.

/// The task of a frame that concerns all tasks of a node.
pub const ALL: u32 = u32::MAX;

/// The largest body: a plan for thousands of tasks.
pub const BODY_BYTES_MAX: usize = 64 << 20;

/// Size of the header: length of the body (4, little endian), kind (1), task (4).
const HEAD_BYTES: usize = 9;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// To a launcher, the first frame: the plan, as JSON.
    Plan = 1,
    /// To a task: input.
    Input = 2,
    /// To a task: end of input.
    InputEnd = 3,
    /// To a task: a signal, whose number is the only byte.
    Signal = 4,
    /// To a task with a terminal: rows and columns of the window, two bytes each.
    Window = 5,
    /// To a launcher: how many bytes of its output have been processed (8 bytes, little endian).
    Taken = 6,
    /// From a task: stdout.
    Output = 17,
    /// From a task: stderr.
    Error = 18,
    /// From a launcher: a task could not be started. The errno or 0 (1 byte), then the reason as
    /// text.
    Failed = 19,
    /// From a launcher: a task has ended. Two bytes: exit code, and signal or 0.
    Ended = 20,
    /// From a launcher: how many bytes of its input have been read (8 bytes, little endian).
    Read = 21,
    /// From a launcher: all tasks have ended, and no process is left.
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
    /// The index of the task on its node; [`ALL`] for all of them, or for none.
    pub task: u32,
    pub body: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// A kind of another version, or not a frame.
    #[error(
        "failed to read a frame: unknown kind {0}: do kantctl here and on the node have the same \
         version?"
    )]
    Kind(u8),
    #[error("failed to read a frame: its body has {0} bytes, more than 64 MiB")]
    Size(usize),
}

impl Frame {
    #[must_use]
    pub fn new(kind: Kind, task: u32, body: impl Into<Vec<u8>>) -> Self {
        Self { kind, task, body: body.into() }
    }

    #[must_use]
    pub const fn bytes_count(&self) -> u64 {
        (HEAD_BYTES + self.body.len()) as u64
    }

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

/// Parses frames from a byte stream.
#[derive(Debug, Default)]
pub struct Frames(Vec<u8>);

impl Frames {
    pub fn push(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// The next frame, if it is complete.
    ///
    /// # Errors
    /// [`FrameError`]: the rest of the stream cannot be read.
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
        fn frames_are_parsed_from_pieces_of_any_size(
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
    fn invalid_frames_are_refused() {
        let mut frames = Frames::default();
        frames.push(&[0, 0, 0, 0, 99, 0, 0, 0, 0]);
        assert_eq!(frames.take(), Err(FrameError::Kind(99)));
        let mut frames = Frames::default();
        frames.push(b"kant: node g1 has no directory\n");
        assert!(matches!(frames.take(), Err(FrameError::Size(_))));
    }
}
