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
/// Pieces that follow on each other become one of up to so much: who writes a word at a time fills
/// no memory with what surrounds each.
const JOINED_BYTES_MAX: usize = 16 << 10;
/// So many pieces are kept, however small: where each leaves some out, none joins another.
const PIECES_MAX: usize = 1024;
/// So much may wait to be read by a step's tasks.
const SPEECH_BYTES_MAX: usize = 64 << 10;
/// In so many parts.
const SPEECHES_MAX: usize = 1024;
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
    /// What all pieces have.
    kept_bytes: usize,
    /// The place after the last piece.
    end: u64,
    listened_until: Time,
    speech: VecDeque<StepSpeech>,
    /// What all speech has.
    waiting_bytes: usize,
    /// How much each speaker has said.
    said: BTreeMap<TaskNumber, u64>,
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
            said: BTreeMap::new(),
            input: StepInput::Passed,
        }
    }

    /// Those from there on.
    fn after(&self, from: Option<u64>) -> Vec<StepPiece> {
        let from = from.unwrap_or(0);
        let news = self.pieces.iter().filter(|piece| piece.end() > from);
        news.map(|piece| after(piece, from)).collect()
    }

    /// One that begins where the last ends, or later.
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

    /// All that is to be read: what was not heard until now is heard or lost.
    fn take_speech(&mut self) -> Vec<StepSpeech> {
        self.waiting_bytes = 0;
        std::mem::take(&mut self.speech).into()
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
        Ok((stream.after(from), is_first))
    }

    /// What there is from there on of a step that is over: nobody listens to it any more than
    /// before.
    pub fn rest(&mut self, number: u32, from: Option<u64>, now: Time) -> Vec<StepPiece> {
        self.sweep(now);
        self.0.get(&number).map(|stream| stream.after(from)).unwrap_or_default()
    }

    /// Steps of which this is true are over: nobody is there to read what was said to them.
    pub fn silence(&mut self, is_over: impl Fn(u32) -> bool) {
        for (number, stream) in &mut self.0 {
            if !stream.speech.is_empty() && is_over(*number) {
                drop(stream.take_speech());
            }
        }
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
        if bytes == 0 || bytes > PIECE_BYTES_MAX {
            return Err(format!("a piece of {bytes} bytes: each has 1 to {PIECE_BYTES_MAX}"));
        }
        // One that was sent twice, or begins with what is there.
        if piece.end() > stream.end {
            stream.keep(after(piece, stream.end));
        }
        Ok(())
    }

    /// Keeps something for its tasks to read; else why not now.
    ///
    /// # Errors
    /// In a sentence, when nobody reads, or it makes no sense.
    pub fn speak(
        &mut self,
        number: u32,
        speech: StepSpeech,
        now: Time,
    ) -> Result<Result<(), &'static str>, String> {
        self.sweep(now);
        let Some(stream) = self.0.get_mut(&number) else {
            // Who does both may be heard in any order, or kantd began anew.
            return Ok(Err("nobody listens to it yet: listen before you speak"));
        };
        if stream.input == StepInput::Unread {
            return Err("its tasks read nothing, or what they read has ended".to_owned());
        }
        let bytes = speech.bytes.0.len();
        if bytes == 0 || bytes > SPEECH_BYTES_MAX {
            return Err(format!("{bytes} bytes at once: 1 to {SPEECH_BYTES_MAX} are taken"));
        }
        let said = stream.said.get(&speech.speaker).copied();
        if said.is_none() && stream.said.len() >= SPEAKERS_MAX {
            return Err(format!("{SPEAKERS_MAX} have spoken to the step already"));
        }
        let end = speech.from.saturating_add(bytes as u64);
        if end <= said.unwrap_or(0) {
            return Ok(Ok(()));
        }
        if stream.waiting_bytes + bytes > SPEECH_BYTES_MAX || stream.speech.len() >= SPEECHES_MAX {
            return Ok(Err("the step reads slowly: much waits for it"));
        }
        stream.said.insert(speech.speaker, end);
        stream.waiting_bytes += bytes;
        stream.speech.push_back(speech);
        Ok(Ok(()))
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
            StepInput::Passed => stream.take_speech(),
            StepInput::Full => Vec::new(),
            StepInput::Unread => {
                drop(stream.take_speech());
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

    fn speech(speaker: u64, from: u64, text: &str) -> StepSpeech {
        let bytes = Octets(text.as_bytes().to_vec());
        StepSpeech { speaker: TaskNumber(speaker), from, task: None, bytes }
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
        let early = streams.speak(0, speech(1, 0, "a"), NOW);
        assert!(early.unwrap().unwrap_err().contains("listen before"), "nobody listens yet");
        streams.listen(0, None, WAIT, NOW).unwrap();
        for _ in 0..2 {
            assert_eq!(streams.speak(0, speech(1, 0, "ab"), NOW), Ok(Ok(())));
        }
        assert_eq!(streams.speak(0, speech(2, 0, "c"), NOW), Ok(Ok(())));
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
        assert_eq!(streams.speak(0, speech(1, 2, &much), NOW), Ok(Ok(())));
        assert!(streams.speak(0, speech(2, 1, "d"), NOW).unwrap().is_err(), "not now");
        assert_eq!(hear(StepInput::Unread, &mut streams), "");
        assert!(streams.speak(0, speech(2, 1, "d"), NOW).unwrap_err().contains("read nothing"));
    }

    #[test]
    fn however_small_the_pieces_there_are_not_many_and_what_is_empty_is_refused() {
        let mut streams = Streams::default();
        for (number, place) in [(1, 1), (2, 2)] {
            streams.listen(number, None, WAIT, NOW).unwrap();
            assert!(streams.say(number, &piece(9, 0), NOW).is_err(), "an empty piece");
            for count in 0..300_000 {
                streams.say(number, &piece(count * place, 1), NOW).unwrap();
            }
            let stream = &streams.0[&number];
            assert!(stream.pieces.len() <= PIECES_MAX, "{} pieces", stream.pieces.len());
            let bytes: usize = stream.pieces.iter().map(|piece| piece.bytes.0.len()).sum();
            assert_eq!(stream.kept_bytes, bytes);
            assert!(bytes <= KEPT_BYTES_MAX);
            assert_eq!(stream.end, 299_999 * place + 1);
        }
        let joined = &streams.0[&1];
        assert!(joined.kept_bytes > KEPT_BYTES_MAX - JOINED_BYTES_MAX, "what follows on is kept");
        let last = joined.after(Some(joined.end - 3));
        assert_eq!((last.len(), last[0].from, last[0].bytes.0.len()), (1, 299_997, 3));
    }

    #[test]
    fn however_little_is_said_at_once_not_much_waits_and_what_is_empty_is_refused() {
        let mut streams = Streams::default();
        streams.listen(0, None, WAIT, NOW).unwrap();
        assert!(streams.speak(0, speech(1, 9, ""), NOW).is_err(), "empty, further on");
        for from in 0..u64::try_from(SPEECHES_MAX).unwrap() {
            assert_eq!(streams.speak(0, speech(1, from, "a"), NOW), Ok(Ok(())));
        }
        assert!(streams.speak(0, speech(1, 5000, "a"), NOW).unwrap().is_err(), "not now");
        let told = StepStreams { listened: true, input: StepInput::Passed };
        assert_eq!(streams.hear(0, told, Vec::new(), NOW).speech.len(), SPEECHES_MAX);
        let much = "x".repeat(SPEECH_BYTES_MAX);
        assert_eq!(
            streams.speak(0, speech(1, 5000, &much), NOW),
            Ok(Ok(())),
            "there is room again"
        );
    }

    #[test]
    fn what_nobody_reads_any_more_makes_room_for_other_steps() {
        let mut streams = Streams::default();
        for number in 0..u32::try_from(STREAMS_MAX).unwrap() {
            streams.listen(number, None, WAIT, NOW).unwrap();
            streams.speak(number, speech(1, 0, "a"), NOW).unwrap().unwrap();
        }
        streams.say(7, &piece(0, 5), NOW).unwrap();
        let late = NOW + WAIT + LISTENS + Span(1);
        assert!(streams.listen(9999, None, WAIT, late).is_err(), "they may read it yet");
        streams.silence(|number| number == 7);
        assert_eq!(streams.rest(7, None, NOW).len(), 1, "what it wrote is there");
        assert_eq!(streams.rest(7, None, late), []);
        assert!(streams.listen(9999, None, WAIT, late).is_ok());
        assert_eq!(streams.rest(8888, None, late), []);
        assert_eq!(streams.0.len(), STREAMS_MAX, "nobody listens to what is over");
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
