//! The recent output of a step's tasks, for clients that attach to it: a bounded buffer of complete
//! frames, which drops the oldest.

use super::frame::{Frame, Kind};
use common::wire::node::{Octets, StepPiece};
use std::collections::VecDeque;

/// The size of the buffer.
const KEPT_BYTES_MAX: u64 = 256 << 10;
/// How much of it a client gets when it attaches.
const SHOWN_BYTES: u64 = 64 << 10;
/// The most bytes sent at once, except for a single larger frame.
const PIECE_BYTES: u64 = 64 << 10;

#[derive(Debug, Default)]
pub struct RecentOutput {
    frames: VecDeque<Vec<u8>>,
    /// The offset of the first frame in the whole output, and the offset after the last.
    start: u64,
    end: u64,
}

impl RecentOutput {
    /// Appends output of a task.
    pub fn push(&mut self, kind: Kind, rank: u32, bytes: &[u8]) {
        let frame = Frame::new(kind, rank, bytes).bytes();
        self.end += frame.len() as u64;
        self.frames.push_back(frame);
        while self.frames.len() > 1 && self.end - self.start > KEPT_BYTES_MAX {
            let gone = self.frames.pop_front().unwrap_or_default();
            self.start += gone.len() as u64;
        }
    }

    /// The offset after the last frame.
    #[must_use]
    pub const fn end_offset(&self) -> u64 {
        self.end
    }

    /// The offset at which a new client begins.
    #[must_use]
    pub fn replay_offset(&self) -> u64 {
        let mut from = self.end;
        for frame in self.frames.iter().rev() {
            let before = from - frame.len() as u64;
            if self.end - before > SHOWN_BYTES && from < self.end {
                break;
            }
            from = before;
        }
        from
    }

    /// A piece of the output from that offset on, or from a later one if it was dropped; `None` if
    /// there is none.
    #[must_use]
    pub fn after(&self, from: u64) -> Option<StepPiece> {
        let (mut place, mut begun, mut bytes) = (self.start, None, Vec::new());
        for frame in &self.frames {
            let next = place + frame.len() as u64;
            if place >= from {
                if !bytes.is_empty() && bytes.len() as u64 + frame.len() as u64 > PIECE_BYTES {
                    break;
                }
                begun.get_or_insert(place);
                bytes.extend_from_slice(frame);
            }
            place = next;
        }
        begun.map(|from| StepPiece { from, bytes: Octets(bytes) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes a frame of this size; nine bytes of it are its header.
    fn written(output: &mut RecentOutput, bytes: usize) {
        output.push(Kind::Output, 3, &vec![b'x'; bytes - 9]);
    }

    #[test]
    fn the_buffer_is_bounded_and_keeps_complete_frames() {
        let mut output = RecentOutput::default();
        assert_eq!((output.after(0), output.replay_offset()), (None, 0));
        (0..300).for_each(|_| written(&mut output, 1024));
        assert_eq!((output.end_offset(), output.start), (300 << 10, 44 << 10));
        let piece = output.after(0).unwrap();
        assert_eq!((piece.from, piece.end()), (44 << 10, 108 << 10), "dropped output is skipped");
        assert_eq!(output.after(output.end_offset()), None);
        assert_eq!(output.replay_offset(), 236 << 10);
        let (mut from, mut count) = (0, 0);
        while let Some(piece) = output.after(from) {
            (from, count) = (piece.end(), count + 1);
        }
        assert_eq!((from, count), (300 << 10, 4));
    }

    #[test]
    fn a_frame_larger_than_the_buffer_is_kept() {
        let mut output = RecentOutput::default();
        written(&mut output, 10);
        written(&mut output, 1 << 20);
        let place = output.replay_offset();
        assert_eq!((place, output.after(place).unwrap().bytes.0.len()), (10, 1 << 20));
    }
}
