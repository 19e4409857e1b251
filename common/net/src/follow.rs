//! An answer that keeps coming, read as bytes, lines or JSON values.
//!
//! Never reads ahead of its reader by more than a chunk: a slow reader slows the daemon's answer
//! down, not its memory up.

use axum::body::{Body, Bytes};
use http_body_util::BodyExt;
use serde::de::DeserializeOwned;

use crate::client::ClientError;

/// Longer lines are a broken answer.
const LINE_BYTES_MAX: usize = 16 << 20;

/// A streamed answer. Dropping it hangs up.
#[derive(Debug)]
pub struct Follow {
    endpoint: String,
    body: Body,
    /// Read, but not yet given out; the first `searched` bytes hold no newline.
    buffer: Vec<u8>,
    searched: usize,
}

impl Follow {
    pub(crate) fn new(endpoint: String, body: Body) -> Self {
        Self { endpoint, body, buffer: Vec::new(), searched: 0 }
    }

    /// The next bytes, as they come; `None` at the end.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, ClientError> {
        if !self.buffer.is_empty() {
            self.searched = 0;
            return Ok(Some(std::mem::take(&mut self.buffer).into()));
        }
        self.receive().await
    }

    /// The next line, without its newline; `None` at the end. A last line may lack its newline.
    pub async fn line(&mut self) -> Result<Option<String>, ClientError> {
        let line = loop {
            let unsearched = &self.buffer[self.searched..];
            if let Some(offset) = unsearched.iter().position(|byte| *byte == b'\n') {
                let rest = self.buffer.split_off(self.searched + offset + 1);
                let mut line = std::mem::replace(&mut self.buffer, rest);
                line.pop();
                break line;
            }
            self.searched = self.buffer.len();
            if self.searched > LINE_BYTES_MAX {
                return Err(self.broken(format!("a line of over {LINE_BYTES_MAX} bytes")));
            }
            match self.receive().await? {
                Some(chunk) => self.buffer.extend_from_slice(&chunk),
                None if self.buffer.is_empty() => return Ok(None),
                None => break std::mem::take(&mut self.buffer),
            }
        };
        self.searched = 0;
        String::from_utf8(line).map(Some).map_err(|error| self.broken(error))
    }

    /// The next value of an answer with one JSON value a line; `None` at the end. Empty lines,
    /// which a daemon may send to show that it lives, are passed over.
    pub async fn next<A: DeserializeOwned>(&mut self) -> Result<Option<A>, ClientError> {
        loop {
            match self.line().await? {
                None => return Ok(None),
                Some(line) if line.trim().is_empty() => {}
                Some(line) => {
                    return serde_json::from_str(&line).map(Some).map_err(|e| self.broken(e));
                }
            }
        }
    }

    async fn receive(&mut self) -> Result<Option<Bytes>, ClientError> {
        loop {
            match self.body.frame().await {
                None => return Ok(None),
                Some(Ok(frame)) => {
                    // Anything but data is a trailer, which kant does not use.
                    if let Ok(data) = frame.into_data()
                        && !data.is_empty()
                    {
                        return Ok(Some(data));
                    }
                }
                Some(Err(error)) => {
                    return Err(ClientError::Interrupted {
                        endpoint: self.endpoint.clone(),
                        source: error.into(),
                    });
                }
            }
        }
    }

    fn broken(&self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> ClientError {
        ClientError::Broken { endpoint: self.endpoint.clone(), source: source.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn following(chunks: &[&'static str]) -> Follow {
        let chunks: Vec<_> = chunks.iter().map(|c| Ok::<_, std::io::Error>(*c)).collect();
        Follow::new("test".to_owned(), Body::from_stream(futures_util::stream::iter(chunks)))
    }

    #[tokio::test]
    async fn lines_are_found_across_chunks() {
        let mut follow = following(&["o", "ne\ntw", "o\n", "\nlast"]);
        let mut lines = Vec::new();
        while let Some(line) = follow.line().await.unwrap() {
            lines.push(line);
        }
        assert_eq!(lines, ["one", "two", "", "last"]);
    }

    #[tokio::test]
    async fn bytes_read_ahead_for_a_line_are_not_lost() {
        let mut follow = following(&["head\nbo", "dy"]);
        assert_eq!(follow.line().await.unwrap().unwrap(), "head");
        assert_eq!(follow.chunk().await.unwrap().unwrap(), "bo");
        assert_eq!(follow.chunk().await.unwrap().unwrap(), "dy");
        assert_eq!(follow.chunk().await.unwrap(), None);
    }

    #[tokio::test]
    async fn values_come_one_a_line_and_nonsense_is_reported() {
        let mut follow = following(&["[1]\n\n[2,3]\nnonsense\n"]);
        assert_eq!(follow.next::<Vec<u8>>().await.unwrap().unwrap(), [1]);
        assert_eq!(follow.next::<Vec<u8>>().await.unwrap().unwrap(), [2, 3]);
        let error = follow.next::<Vec<u8>>().await.unwrap_err();
        assert!(matches!(error, ClientError::Broken { .. }), "{error}");
    }
}
