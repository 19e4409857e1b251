//! Answers in lines: JSON documents, one per line, which are read while the daemon writes. An
//! answer that broke off is an error, so that a part is not taken for the whole.

use super::{ANSWER_BYTES_MAX, Client, ClientError, request};
use axum::body::{Body, Bytes};
use axum::http::{Method, Request, header};
use http_body_util::{BodyExt, Limited};
use serde::de::{DeserializeOwned, Error as _};
use std::marker::PhantomData;

/// The value of [`axum::http::header::CONTENT_TYPE`].
const IN_LINES: &str = "application/x-ndjson";

impl Client {
    /// Requests an answer in lines. `start` makes a value of the first line; all others have
    /// another type, and are added to the value one by one. `path` may have a query.
    ///
    /// # Errors
    /// As [`Client::get`]; also if the answer has another form, or ends within a line or before the
    /// first one.
    pub async fn get_lines<H, L, S>(
        &self,
        path: &str,
        start: impl FnOnce(H) -> S,
        add: impl FnMut(&mut S, L),
    ) -> Result<S, ClientError>
    where
        H: DeserializeOwned,
        L: DeserializeOwned,
    {
        let asked: Request<Body> = request(Method::GET, path, "application/json", Body::empty())?;
        let again = super::copy_if_repeatable(&asked);
        let reading = async {
            let (response, mut connection) = self.exchange(asked, again).await?;
            if !response.status().is_success() {
                return Err(self.read_refusal(response).await);
            }
            let kind = response.headers().get(header::CONTENT_TYPE);
            if kind.is_none_or(|kind| kind != IN_LINES) {
                return Err(self.broken_error("the answer is not in lines"));
            }
            let mut lines = Lines::new(start, add);
            let mut body = Limited::new(response.into_body(), ANSWER_BYTES_MAX);
            while let Some(frame) = body.frame().await {
                let frame = frame.map_err(|error| self.body_error(error))?;
                let Ok(data) = frame.into_data() else { continue };
                lines.push_data(&data).map_err(|error| self.broken_error(error))?;
            }
            if connection.ready().await.is_ok() {
                self.put_idle(connection);
            }
            lines.finish().map_err(|error| self.broken_error(error))
        };
        self.within_limit(reading).await
    }
}

/// The state of reading.
struct Lines<H, L, S, B, A> {
    start: Option<B>,
    sum: Option<S>,
    add: A,
    /// The beginning of an incomplete line.
    rest: Vec<u8>,
    kinds: PhantomData<(H, L)>,
}

impl<H, L, S, B, A> Lines<H, L, S, B, A>
where
    H: DeserializeOwned,
    L: DeserializeOwned,
    B: FnOnce(H) -> S,
    A: FnMut(&mut S, L),
{
    fn new(start: B, add: A) -> Self {
        Self { start: Some(start), sum: None, add, rest: Vec::new(), kinds: PhantomData }
    }

    fn push_data(&mut self, data: &Bytes) -> serde_json::Result<()> {
        if self.rest.is_empty() {
            let read = self.read(data)?;
            self.rest.extend_from_slice(data.get(read..).unwrap_or_default());
            return Ok(());
        }
        let mut text = std::mem::take(&mut self.rest);
        text.extend_from_slice(data);
        let read = self.read(&text)?;
        text.drain(..read);
        self.rest = text;
        Ok(())
    }

    /// Reads all complete documents, and returns their length in bytes.
    fn read(&mut self, bytes: &[u8]) -> serde_json::Result<usize> {
        let mut read = 0;
        // UTF-8 is checked once, not for each string; a character may end in the next piece.
        let mut text = match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) if error.error_len().is_none() => valid_prefix(bytes, error.valid_up_to()),
            Err(error) => return Err(serde_json::Error::custom(error)),
        };
        if self.sum.is_none() {
            let (head, length) = parse_head(text)?;
            self.sum = head.and_then(|head| Some(self.start.take()?(head)));
            read = length;
            text = text.get(length..).unwrap_or_default();
        }
        let Some(sum) = &mut self.sum else { return Ok(read) };
        let mut documents = serde_json::Deserializer::from_str(text).into_iter::<L>();
        let mut whole = 0;
        loop {
            match documents.next() {
                Some(Ok(line)) => (self.add)(sum, line),
                Some(Err(error)) if error.is_eof() => return Ok(read + whole),
                Some(Err(error)) => return Err(error),
                None => return Ok(read + documents.byte_offset()),
            }
            whole = documents.byte_offset();
        }
    }

    fn finish(self) -> serde_json::Result<S> {
        let rest = self.rest.trim_ascii();
        // The deserializer reports an incomplete document, in its own words.
        match self.sum {
            Some(sum) if rest.is_empty() => Ok(sum),
            Some(_) => Err(incomplete_line_error::<L>(rest)),
            None => Err(incomplete_line_error::<H>(rest)),
        }
    }
}

fn valid_prefix(bytes: &[u8], length: usize) -> &str {
    std::str::from_utf8(bytes.get(..length).unwrap_or_default()).unwrap_or_default()
}

fn parse_head<H: DeserializeOwned>(text: &str) -> serde_json::Result<(Option<H>, usize)> {
    let mut documents = serde_json::Deserializer::from_str(text).into_iter::<H>();
    match documents.next() {
        None => Ok((None, 0)),
        Some(Ok(head)) => Ok((Some(head), documents.byte_offset())),
        Some(Err(error)) if error.is_eof() => Ok((None, 0)),
        Some(Err(error)) => Err(error),
    }
}

fn incomplete_line_error<T: DeserializeOwned>(rest: &[u8]) -> serde_json::Error {
    match serde_json::from_slice::<T>(rest) {
        Err(error) => error,
        Ok(_) => serde_json::Error::custom("the answer ends within a line"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a test fails by panicking

    use super::*;
    use serde::Deserialize;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Head {
        at: u64,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Line {
        name: String,
    }

    const TEXT: &str = "{\"at\":7}\n{\"name\":\"a \\n b\"}\n{\"name\":\"Ångström\"}\n";

    fn read(pieces: &[&[u8]]) -> serde_json::Result<(Head, Vec<Line>)> {
        type Read = (Head, Vec<Line>);
        let add = |read: &mut Read, line| read.1.push(line);
        let mut lines = Lines::new(|head| (head, Vec::new()), add);
        for piece in pieces {
            lines.push_data(&Bytes::copy_from_slice(piece))?;
        }
        lines.finish()
    }

    #[test]
    fn lines_read_the_same_wherever_the_answer_is_cut_into_pieces() {
        let whole = read(&[TEXT.as_bytes()]).unwrap();
        assert_eq!(whole.0, Head { at: 7 });
        let names: Vec<&str> = whole.1.iter().map(|line| line.name.as_str()).collect();
        assert_eq!(names, ["a \n b", "Ångström"]);
        for cut in 0..=TEXT.len() {
            let (one, two) = TEXT.as_bytes().split_at(cut);
            assert_eq!(read(&[one, two]).unwrap(), whole, "cut at {cut}");
        }
        let bytes: Vec<&[u8]> = TEXT.as_bytes().chunks(1).collect();
        assert_eq!(read(&bytes).unwrap(), whole);
    }

    #[test]
    fn an_answer_that_breaks_off_or_is_another_is_refused() {
        let cut = TEXT.len() - 3;
        assert!(read(&[&TEXT.as_bytes()[..cut]]).unwrap_err().is_eof());
        assert!(read(&[b""]).unwrap_err().is_eof());
        assert!(read(&[b"{\"at\":7}\n{\"other\":1}\n"]).unwrap_err().is_data());
        assert!(read(&[b"{\"at\":7}\nnothing\n"]).unwrap_err().is_syntax());
    }
}
