//! Output and input of the tasks of a job's steps, buffered between the step's client and those
//! attached to it (`sattach`). The buffers are bounded, live in memory, and exist only while a
//! listener is attached. Nothing blocks: old output that a slow listener has not read is dropped,
//! and the listener sees the gap.

use common::id::TaskNumber;
use common::job::SignalNumber;
use common::time::{Span, Time};
use common::wire::node::{StepHeard, StepInput, StepPiece, StepSpeech, StepStreams};
use std::collections::{BTreeMap, VecDeque};

/// Buffered output of one step.
const KEPT_BYTES_MAX: usize = 256 << 10;
/// The largest piece: one frame of a single read, with its header.
const PIECE_BYTES_MAX: usize = 256 << 10;
/// Consecutive pieces are joined up to this size, so that tiny writes do not fill the memory with
/// overhead.
const JOINED_BYTES_MAX: usize = 16 << 10;
/// Number of buffered pieces, however small: pieces with gaps between them are not joined.
const PIECES_MAX: usize = 1024;
/// Buffered input of one step.
const INPUT_BYTES_MAX: usize = 64 << 10;
/// Number of buffered inputs of one step.
const INPUTS_MAX: usize = 1024;
/// Number of steps of a job with listeners.
const STREAMS_MAX: usize = 64;
/// Number of different writers of input to one step.
const WRITERS_MAX: usize = 64;
/// A listener that does not ask again within this time is gone.
const LISTENER_TIMEOUT: Span = Span::from_seconds(10);

/// The streams of one step.
#[derive(Debug)]
struct Stream {
    pieces: VecDeque<StepPiece>,
    /// Total bytes in `pieces`.
    kept_bytes: usize,
    /// The offset after the last piece.
    end: u64,
    listened_until: Time,
    speech: VecDeque<StepSpeech>,
    /// Total bytes in `speech`.
    waiting_bytes: usize,
    /// How many bytes each writer has sent.
    received: BTreeMap<TaskNumber, u64>,
    input: StepInput,
}

impl Stream {
    const fn new() -> Self {
        Self {
            pieces: VecDeque::new(),
            kept_bytes: 0,
            end: 0,
            listened_until: Time(0),
            speech: VecDeque::new(),
            waiting_bytes: 0,
            received: BTreeMap::new(),
            input: StepInput::Passed,
        }
    }

    /// The pieces from this offset on.
    fn pieces_from(&self, from: Option<u64>) -> Vec<StepPiece> {
        let from = from.unwrap_or(0);
        let news = self.pieces.iter().filter(|piece| piece.end() > from);
        news.map(|piece| piece_from(piece, from)).collect()
    }

    /// Buffers a piece that begins at or after `end`.
    fn keep(&mut self, piece: StepPiece) {
        self.end = piece.end();
        self.kept_bytes += piece.bytes.0.len();
        match self.pieces.back_mut() {
            Some(last)
                if last.end() == piece.from
                    && last.bytes.0.len() + piece.bytes.0.len() <= JOINED_BYTES_MAX =>
            {
                last.bytes.0.extend_from_slice(&piece.bytes.0);
            }
            _ => self.pieces.push_back(piece),
        }
        while self.pieces.len() > 1
            && (self.kept_bytes > KEPT_BYTES_MAX || self.pieces.len() > PIECES_MAX)
        {
            let gone = self.pieces.pop_front().map_or(0, |piece| piece.bytes.0.len());
            self.kept_bytes = self.kept_bytes.saturating_sub(gone);
        }
    }

    /// Takes all buffered input.
    fn take_input(&mut self) -> Vec<StepSpeech> {
        self.waiting_bytes = 0;
        std::mem::take(&mut self.speech).into()
    }
}

/// The streams of all steps of a job, by step number.
#[derive(Debug, Default)]
pub struct Streams(BTreeMap<u32, Stream>);

impl Streams {
    /// Registers a listener for `wait`; returns the pieces from `from` on, and whether it is the
    /// first listener.
    ///
    /// # Errors
    /// A sentence, when too many steps have listeners.
    pub fn listen(
        &mut self,
        number: u32,
        from: Option<u64>,
        wait: Span,
        now: Time,
    ) -> Result<(Vec<StepPiece>, bool), String> {
        self.sweep(now);
        if !self.0.contains_key(&number) && self.0.len() >= STREAMS_MAX {
            return Err(format!("{STREAMS_MAX} steps of the job have listeners already"));
        }
        let stream = self.0.entry(number).or_insert_with(Stream::new);
        let is_first = stream.listened_until < now;
        stream.listened_until = stream.listened_until.max(now + wait + LISTENER_TIMEOUT);
        Ok((stream.pieces_from(from), is_first))
    }

    /// The buffered output of an ended step from `from` on. Registers no listener.
    pub fn remaining_output(
        &mut self,
        number: u32,
        from: Option<u64>,
        now: Time,
    ) -> Vec<StepPiece> {
        self.sweep(now);
        self.0.get(&number).map(|stream| stream.pieces_from(from)).unwrap_or_default()
    }

    /// Discards the input of steps that have ended, because no task is left to read it.
    pub fn discard_input_of_ended(&mut self, is_over: impl Fn(u32) -> bool) {
        for (number, stream) in &mut self.0 {
            if !stream.speech.is_empty() && is_over(*number) {
                drop(stream.take_input());
            }
        }
    }

    /// Buffers output of the step's tasks.
    ///
    /// # Errors
    /// A sentence, when there is no listener, or the piece is too large.
    pub fn add_output(&mut self, number: u32, piece: &StepPiece, now: Time) -> Result<(), String> {
        self.sweep(now);
        let Some(stream) = self.0.get_mut(&number).filter(|known| known.listened_until >= now)
        else {
            return Err("the step has no listener".to_owned());
        };
        let bytes = piece.bytes.0.len();
        if bytes == 0 || bytes > PIECE_BYTES_MAX {
            return Err(format!("the piece has {bytes} bytes, not 1 to {PIECE_BYTES_MAX}"));
        }
        // A repeated piece may overlap what is buffered.
        if piece.end() > stream.end {
            stream.keep(piece_from(piece, stream.end));
        }
        Ok(())
    }

    /// Buffers input for the step's tasks; the inner error says why it cannot be accepted yet.
    ///
    /// # Errors
    /// A sentence, when the tasks read no input, or the input is malformed.
    pub fn add_input(
        &mut self,
        number: u32,
        speech: StepSpeech,
        now: Time,
    ) -> Result<Result<(), &'static str>, String> {
        self.sweep(now);
        let Some(stream) = self.0.get_mut(&number) else {
            // The writer's own request to listen may arrive later, or kantd has restarted.
            return Ok(Err("the step has no listener yet: listen before sending input"));
        };
        if stream.input == StepInput::Unread {
            return Err("the step's tasks read no input, or have closed it".to_owned());
        }
        let bytes = speech.bytes.0.len();
        if bytes == 0 || bytes > INPUT_BYTES_MAX {
            return Err(format!("the input has {bytes} bytes, not 1 to {INPUT_BYTES_MAX}"));
        }
        let received = stream.received.get(&speech.speaker).copied();
        if received.is_none() && stream.received.len() >= WRITERS_MAX {
            return Err(format!("{WRITERS_MAX} clients have sent input to the step already"));
        }
        let end = speech.from.saturating_add(bytes as u64);
        if end <= received.unwrap_or(0) {
            return Ok(Ok(()));
        }
        if stream.waiting_bytes + bytes > INPUT_BYTES_MAX || stream.speech.len() >= INPUTS_MAX {
            return Ok(Err("the step reads slowly: its input buffer is full"));
        }
        stream.received.insert(speech.speaker, end);
        stream.waiting_bytes += bytes;
        stream.speech.push_back(speech);
        Ok(Ok(()))
    }

    /// What the step's client gets when it renews its lease: signals, input, and whether a listener
    /// is attached.
    pub fn take_for_client(
        &mut self,
        number: u32,
        client: StepStreams,
        signals: Vec<SignalNumber>,
        now: Time,
    ) -> StepHeard {
        self.sweep(now);
        let Some(stream) = self.0.get_mut(&number) else {
            return StepHeard { signals, ..StepHeard::default() };
        };
        stream.input = client.input;
        let speech = match client.input {
            StepInput::Passed => stream.take_input(),
            StepInput::Full => Vec::new(),
            StepInput::Unread => {
                drop(stream.take_input());
                Vec::new()
            }
        };
        StepHeard { signals, listened: stream.listened_until >= now, speech }
    }

    /// Drops streams without a listener and without input.
    fn sweep(&mut self, now: Time) {
        self.0.retain(|_, stream| stream.listened_until >= now || !stream.speech.is_empty());
    }
}

/// The part of a piece from an offset on, or all of it if it begins later.
fn piece_from(piece: &StepPiece, from: u64) -> StepPiece {
    let known = usize::try_from(from.saturating_sub(piece.from)).unwrap_or(usize::MAX);
    let mut piece = piece.clone();
    piece.bytes.0.drain(..known.min(piece.bytes.0.len()));
    piece.from = piece.from.max(from);
    piece
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::wire::node::Octets;

    const WAIT: Span = Span::from_seconds(20);
    const NOW: Time = Time(1_000_000);

    fn piece(from: u64, bytes: usize) -> StepPiece {
        StepPiece { from, bytes: Octets(vec![b'x'; bytes]) }
    }

    fn speech(speaker: u64, from: u64, text: &str) -> StepSpeech {
        let bytes = Octets(text.as_bytes().to_vec());
        StepSpeech { speaker: TaskNumber(speaker), from, task: None, bytes }
    }

    fn heard(streams: &mut Streams, from: Option<u64>) -> Vec<(u64, usize)> {
        let (pieces, _) = streams.listen(0, from, WAIT, NOW).unwrap();
        pieces.iter().map(|piece| (piece.from, piece.bytes.0.len())).collect()
    }

    #[test]
    fn output_is_kept_only_while_a_listener_is_attached() {
        let mut streams = Streams::default();
        assert_eq!(
            streams.add_output(0, &piece(0, 5), NOW),
            Err("the step has no listener".to_owned())
        );
        assert!(streams.listen(0, None, WAIT, NOW).unwrap().1, "the first one");
        assert!(!streams.listen(0, None, WAIT, NOW).unwrap().1);
        assert_eq!(streams.add_output(0, &piece(0, 5), NOW), Ok(()));
        assert_eq!(
            streams.add_output(1, &piece(0, 5), NOW),
            Err("the step has no listener".to_owned())
        );
        assert_eq!(heard(&mut streams, None), [(0, 5)]);
        let late = NOW + WAIT + LISTENER_TIMEOUT + Span(1);
        assert_eq!(
            streams.add_output(0, &piece(5, 5), late),
            Err("the step has no listener".to_owned())
        );
        assert!(streams.0.is_empty());
    }

    #[test]
    fn a_listener_gets_new_output_once_and_a_slow_one_sees_a_gap() {
        let mut streams = Streams::default();
        streams.listen(0, None, WAIT, NOW).unwrap();
        streams.add_output(0, &piece(100, 10), NOW).unwrap();
        streams.add_output(0, &piece(100, 10), NOW).unwrap();
        assert_eq!(heard(&mut streams, None), [(100, 10)]);
        assert_eq!(heard(&mut streams, Some(110)), []);
        // Sent again from an earlier offset, in other pieces.
        streams.add_output(0, &piece(105, 20), NOW).unwrap();
        assert_eq!(heard(&mut streams, Some(110)), [(110, 15)]);
        assert_eq!(heard(&mut streams, Some(120)), [(120, 5)]);
        for number in 0..4 {
            streams.add_output(0, &piece(125 + number * 100_000, 100_000), NOW).unwrap();
        }
        let expected = [(200_125, 100_000), (300_125, 100_000)];
        assert_eq!(heard(&mut streams, Some(125)), expected);
        assert!(streams.add_output(0, &piece(0, PIECE_BYTES_MAX + 1), NOW).is_err());
    }

    #[test]
    fn input_arrives_once_and_in_order_while_the_step_reads_it() {
        let mut streams = Streams::default();
        let early = streams.add_input(0, speech(1, 0, "a"), NOW);
        assert!(early.unwrap().unwrap_err().contains("listen before"), "no listener yet");
        streams.listen(0, None, WAIT, NOW).unwrap();
        for _ in 0..2 {
            assert_eq!(streams.add_input(0, speech(1, 0, "ab"), NOW), Ok(Ok(())));
        }
        assert_eq!(streams.add_input(0, speech(2, 0, "c"), NOW), Ok(Ok(())));
        let hear = |input, streams: &mut Streams| {
            let client = StepStreams { listened: false, input };
            let heard = streams.take_for_client(0, client, vec![SignalNumber(2)], NOW);
            assert!(heard.listened && heard.signals == [SignalNumber(2)]);
            let client = heard.speech.iter().map(|speech| speech.bytes.0.clone());
            String::from_utf8(client.flatten().collect()).unwrap()
        };
        assert_eq!(hear(StepInput::Full, &mut streams), "");
        assert_eq!(hear(StepInput::Passed, &mut streams), "abc");
        assert_eq!(hear(StepInput::Passed, &mut streams), "");
        let much = "x".repeat(INPUT_BYTES_MAX);
        assert_eq!(streams.add_input(0, speech(1, 2, &much), NOW), Ok(Ok(())));
        assert!(
            streams.add_input(0, speech(2, 1, "d"), NOW).unwrap().is_err(),
            "the buffer is full"
        );
        assert_eq!(hear(StepInput::Unread, &mut streams), "");
        assert!(
            streams.add_input(0, speech(2, 1, "d"), NOW).unwrap_err().contains("read no input")
        );
    }

    #[test]
    fn tiny_pieces_are_bounded_in_number_and_empty_ones_refused() {
        let mut streams = Streams::default();
        for (number, place) in [(1, 1), (2, 2)] {
            streams.listen(number, None, WAIT, NOW).unwrap();
            assert!(streams.add_output(number, &piece(9, 0), NOW).is_err(), "an empty piece");
            for count in 0..300_000 {
                streams.add_output(number, &piece(count * place, 1), NOW).unwrap();
            }
            let stream = &streams.0[&number];
            assert!(stream.pieces.len() <= PIECES_MAX, "{} pieces", stream.pieces.len());
            let bytes: usize = stream.pieces.iter().map(|piece| piece.bytes.0.len()).sum();
            assert_eq!(stream.kept_bytes, bytes);
            assert!(bytes <= KEPT_BYTES_MAX);
            assert_eq!(stream.end, 299_999 * place + 1);
        }
        let joined = &streams.0[&1];
        assert!(
            joined.kept_bytes > KEPT_BYTES_MAX - JOINED_BYTES_MAX,
            "consecutive pieces are kept"
        );
        let last = joined.pieces_from(Some(joined.end - 3));
        assert_eq!((last.len(), last[0].from, last[0].bytes.0.len()), (1, 299_997, 3));
    }

    #[test]
    fn tiny_inputs_are_bounded_in_number_and_empty_ones_refused() {
        let mut streams = Streams::default();
        streams.listen(0, None, WAIT, NOW).unwrap();
        assert!(streams.add_input(0, speech(1, 9, ""), NOW).is_err(), "empty, at a later offset");
        for from in 0..u64::try_from(INPUTS_MAX).unwrap() {
            assert_eq!(streams.add_input(0, speech(1, from, "a"), NOW), Ok(Ok(())));
        }
        assert!(
            streams.add_input(0, speech(1, 5000, "a"), NOW).unwrap().is_err(),
            "the buffer is full"
        );
        let client = StepStreams { listened: true, input: StepInput::Passed };
        assert_eq!(streams.take_for_client(0, client, Vec::new(), NOW).speech.len(), INPUTS_MAX);
        let much = "x".repeat(INPUT_BYTES_MAX);
        assert_eq!(
            streams.add_input(0, speech(1, 5000, &much), NOW),
            Ok(Ok(())),
            "there is room again"
        );
    }

    #[test]
    fn input_of_ended_steps_makes_room_for_other_steps() {
        let mut streams = Streams::default();
        for number in 0..u32::try_from(STREAMS_MAX).unwrap() {
            streams.listen(number, None, WAIT, NOW).unwrap();
            streams.add_input(number, speech(1, 0, "a"), NOW).unwrap().unwrap();
        }
        streams.add_output(7, &piece(0, 5), NOW).unwrap();
        let late = NOW + WAIT + LISTENER_TIMEOUT + Span(1);
        assert!(streams.listen(9999, None, WAIT, late).is_err(), "their tasks may still read it");
        streams.discard_input_of_ended(|number| number == 7);
        assert_eq!(streams.remaining_output(7, None, NOW).len(), 1, "its output is kept");
        assert_eq!(streams.remaining_output(7, None, late), []);
        assert!(streams.listen(9999, None, WAIT, late).is_ok());
        assert_eq!(streams.remaining_output(8888, None, late), []);
        assert_eq!(streams.0.len(), STREAMS_MAX, "an ended step has no listener");
    }

    #[test]
    fn the_number_of_steps_with_listeners_is_bounded() {
        let mut streams = Streams::default();
        for number in 0..u32::try_from(STREAMS_MAX).unwrap() {
            streams.listen(number, None, WAIT, NOW).unwrap();
        }
        assert!(streams.listen(9999, None, WAIT, NOW).unwrap_err().contains("64 steps"));
        let late = NOW + WAIT + LISTENER_TIMEOUT + Span(1);
        assert!(streams.listen(9999, None, WAIT, late).is_ok());
    }
}
