//! What the tasks of a job's steps write, kept for those that listen, and what these give them to
//! read. In memory alone, bounded, and only while somebody listens. Never makes anybody wait: what
//! is too old for a slow listener is gone, and they see the gap.

use common::id::TaskNumber;
use common::job::SignalNumber;
use common::time::{Span, Time};
use common::wire::node::{StepHeard, StepInput, StepPiece, StepSpeech, StepStreams};
use std::collections::{BTreeMap, VecDeque};

/// So much of what one step's tasks wrote is kept.
const KEPT_BYTES_MAX: usize = 256 << 10;
/// No piece is larger: a frame of one read, and what came with it.
const PIECE_BYTES_MAX: usize = 256 << 10;
/// So much may wait to be read by a step's tasks.
const SPEECH_BYTES_MAX: usize = 64 << 10;
/// So many steps of a job are listened to at once.
const STREAMS_MAX: usize = 64;
/// So many speak to a step in its time.
const SPEAKERS_MAX: usize = 64;
/// Between two questions of who listens there is never so long.
const LISTENS: Span = Span::from_seconds(10);

/// Those of one step.
#[derive(Debug)]
struct Stream {
    pieces: VecDeque<StepPiece>,
    /// The place after the last piece.
    end: u64,
    listened_until: Time,
    speech: VecDeque<StepSpeech>,
    /// How much each speaker has said.
    said: BTreeMap<TaskNumber, u64>,
    input: StepInput,
}

impl Stream {
    const fn new() -> Self {
        Self {
            pieces: VecDeque::new(),
            end: 0,
            listened_until: Time(0),
            speech: VecDeque::new(),
            said: BTreeMap::new(),
            input: StepInput::Passed,
        }
    }

    fn kept_bytes(&self) -> usize {
        self.pieces.iter().map(|piece| piece.bytes.0.len()).sum()
    }
}

/// Those of all steps of a job, by their numbers.
#[derive(Debug, Default)]
pub struct Streams(BTreeMap<u32, Stream>);

impl Streams {
    /// Somebody listens for so long; what there is from there on. True: nobody did before.
    ///
    /// # Errors
    /// In a sentence, when too many steps are listened to.
    pub fn listen(
        &mut self,
        number: u32,
        from: Option<u64>,
        wait: Span,
        now: Time,
    ) -> Result<(Vec<StepPiece>, bool), String> {
        self.sweep(now);
        if !self.0.contains_key(&number) && self.0.len() >= STREAMS_MAX {
            return Err(format!("{STREAMS_MAX} steps of the job are listened to already"));
        }
        let stream = self.0.entry(number).or_insert_with(Stream::new);
        let is_first = stream.listened_until < now;
        stream.listened_until = stream.listened_until.max(now + wait + LISTENS);
        let from = from.unwrap_or(0);
        let news = stream.pieces.iter().filter(|piece| piece.end() > from);
        Ok((news.map(|piece| after(piece, from)).collect(), is_first))
    }

    /// Keeps what tasks wrote.
    ///
    /// # Errors
    /// In a sentence, when nobody listens, or it is too large.
    pub fn say(&mut self, number: u32, piece: &StepPiece, now: Time) -> Result<(), String> {
        self.sweep(now);
        let Some(stream) = self.0.get_mut(&number).filter(|known| known.listened_until >= now)
        else {
            return Err("nobody listens".to_owned());
        };
        let bytes = piece.bytes.0.len();
        if bytes > PIECE_BYTES_MAX {
            return Err(format!("a piece of {bytes} bytes: none has more than {PIECE_BYTES_MAX}"));
        }
        // One that was sent twice, or begins with what is there.
        if piece.end() > stream.end {
            stream.pieces.push_back(after(piece, stream.end));
            stream.end = piece.end();
            while stream.pieces.len() > 1 && stream.kept_bytes() > KEPT_BYTES_MAX {
                stream.pieces.pop_front();
            }
        }
        Ok(())
    }

    /// Keeps something for its tasks to read. False: not now.
    ///
    /// # Errors
    /// In a sentence, when nobody reads, or it makes no sense.
    pub fn speak(&mut self, number: u32, speech: StepSpeech, now: Time) -> Result<bool, String> {
        self.sweep(now);
        let Some(stream) = self.0.get_mut(&number) else {
            return Err("nobody listens to it: listen before you speak".to_owned());
        };
        if stream.input == StepInput::Unread {
            return Err("its tasks read nothing, or what they read has ended".to_owned());
        }
        let bytes = speech.bytes.0.len();
        if bytes > SPEECH_BYTES_MAX {
            return Err(format!("{bytes} bytes at once: no more than {SPEECH_BYTES_MAX}"));
        }
        let said = stream.said.get(&speech.speaker).copied();
        if said.is_none() && stream.said.len() >= SPEAKERS_MAX {
            return Err(format!("{SPEAKERS_MAX} have spoken to the step already"));
        }
        let end = speech.from.saturating_add(bytes as u64);
        if end <= said.unwrap_or(0) {
            return Ok(true);
        }
        let waiting: usize = stream.speech.iter().map(|speech| speech.bytes.0.len()).sum();
        if waiting + bytes > SPEECH_BYTES_MAX {
            return Ok(false);
        }
        stream.said.insert(speech.speaker, end);
        stream.speech.push_back(speech);
        Ok(true)
    }

    /// What whoever holds the step is to know.
    pub fn hear(
        &mut self,
        number: u32,
        told: StepStreams,
        signals: Vec<SignalNumber>,
        now: Time,
    ) -> StepHeard {
        self.sweep(now);
        let Some(stream) = self.0.get_mut(&number) else {
            return StepHeard { signals, ..StepHeard::default() };
        };
        stream.input = told.input;
        let speech = match told.input {
            StepInput::Passed => stream.speech.drain(..).collect(),
            StepInput::Full => Vec::new(),
            StepInput::Unread => {
                stream.speech.clear();
                Vec::new()
            }
        };
        StepHeard { signals, listened: stream.listened_until >= now, speech }
    }

    /// Nobody listens any more, and nothing waits.
    fn sweep(&mut self, now: Time) {
        self.0.retain(|_, stream| stream.listened_until >= now || !stream.speech.is_empty());
    }
}

/// The piece from there on, where that is in it: the end of a frame, for both begin with one.
fn after(piece: &StepPiece, from: u64) -> StepPiece {
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

    fn heard(streams: &mut Streams, from: Option<u64>) -> Vec<(u64, usize)> {
        let (pieces, _) = streams.listen(0, from, WAIT, NOW).unwrap();
        pieces.iter().map(|piece| (piece.from, piece.bytes.0.len())).collect()
    }

    #[test]
    fn nothing_is_kept_unless_somebody_listens_and_not_for_long_after() {
        let mut streams = Streams::default();
        assert_eq!(streams.say(0, &piece(0, 5), NOW), Err("nobody listens".to_owned()));
        assert!(streams.listen(0, None, WAIT, NOW).unwrap().1, "the first one");
        assert!(!streams.listen(0, None, WAIT, NOW).unwrap().1);
        assert_eq!(streams.say(0, &piece(0, 5), NOW), Ok(()));
        assert_eq!(streams.say(1, &piece(0, 5), NOW), Err("nobody listens".to_owned()));
        assert_eq!(heard(&mut streams, None), [(0, 5)]);
        let late = NOW + WAIT + LISTENS + Span(1);
        assert_eq!(streams.say(0, &piece(5, 5), late), Err("nobody listens".to_owned()));
        assert!(streams.0.is_empty());
    }

    #[test]
    fn who_listens_gets_all_that_is_new_once_and_who_is_slow_sees_a_gap() {
        let mut streams = Streams::default();
        streams.listen(0, None, WAIT, NOW).unwrap();
        streams.say(0, &piece(100, 10), NOW).unwrap();
        streams.say(0, &piece(100, 10), NOW).unwrap();
        assert_eq!(heard(&mut streams, None), [(100, 10)]);
        assert_eq!(heard(&mut streams, Some(110)), []);
        // Sent again from further back, in other pieces.
        streams.say(0, &piece(105, 20), NOW).unwrap();
        assert_eq!(heard(&mut streams, Some(110)), [(110, 15)]);
        assert_eq!(heard(&mut streams, Some(120)), [(120, 5)]);
        for number in 0..4 {
            streams.say(0, &piece(125 + number * 100_000, 100_000), NOW).unwrap();
        }
        let expected = [(200_125, 100_000), (300_125, 100_000)];
        assert_eq!(heard(&mut streams, Some(125)), expected);
        assert!(streams.say(0, &piece(0, PIECE_BYTES_MAX + 1), NOW).is_err());
    }

    #[test]
    fn what_is_said_to_a_step_is_heard_once_and_in_order_while_it_takes_any() {
        let mut streams = Streams::default();
        let speech = |speaker, from, text: &str| StepSpeech {
            speaker: TaskNumber(speaker),
            from,
            task: None,
            bytes: Octets(text.as_bytes().to_vec()),
        };
        assert!(streams.speak(0, speech(1, 0, "a"), NOW).is_err(), "nobody listens");
        streams.listen(0, None, WAIT, NOW).unwrap();
        for _ in 0..2 {
            assert_eq!(streams.speak(0, speech(1, 0, "ab"), NOW), Ok(true));
        }
        assert_eq!(streams.speak(0, speech(2, 0, "c"), NOW), Ok(true));
        let hear = |input, streams: &mut Streams| {
            let told = StepStreams { listened: false, input };
            let heard = streams.hear(0, told, vec![SignalNumber(2)], NOW);
            assert!(heard.listened && heard.signals == [SignalNumber(2)]);
            let told = heard.speech.iter().map(|speech| speech.bytes.0.clone());
            String::from_utf8(told.flatten().collect()).unwrap()
        };
        assert_eq!(hear(StepInput::Full, &mut streams), "");
        assert_eq!(hear(StepInput::Passed, &mut streams), "abc");
        assert_eq!(hear(StepInput::Passed, &mut streams), "");
        let much = "x".repeat(SPEECH_BYTES_MAX);
        assert_eq!(streams.speak(0, speech(1, 2, &much), NOW), Ok(true));
        assert_eq!(streams.speak(0, speech(2, 1, "d"), NOW), Ok(false), "not now");
        assert_eq!(hear(StepInput::Unread, &mut streams), "");
        assert!(streams.speak(0, speech(2, 1, "d"), NOW).unwrap_err().contains("read nothing"));
    }

    #[test]
    fn no_more_steps_are_listened_to_than_there_is_memory_for() {
        let mut streams = Streams::default();
        for number in 0..u32::try_from(STREAMS_MAX).unwrap() {
            streams.listen(number, None, WAIT, NOW).unwrap();
        }
        assert!(streams.listen(9999, None, WAIT, NOW).unwrap_err().contains("64 steps"));
        let late = NOW + WAIT + LISTENS + Span(1);
        assert!(streams.listen(9999, None, WAIT, late).is_ok());
    }
}
