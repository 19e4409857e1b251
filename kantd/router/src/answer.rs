//! The body of an answer on its way to the client, and the answers of the router itself.

use crate::endpoint::Lease;
use crate::exchange::Exchange;
use crate::stats::ErrorKind;
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::header::{
    CONNECTION, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE,
};
use hyper::{Response, StatusCode};
use serde_json::json;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// When a client that found no replica should ask again.
const RETRY_AFTER_SECONDS: HeaderValue = HeaderValue::from_static("5");

/// The body of an answer.
#[derive(Debug)]
pub enum AnswerBody {
    /// The router's own text, or nothing.
    Own { text: Option<Bytes>, _exchange: Option<Exchange> },
    /// A replica's answer, passed on piece by piece.
    Streamed(Streamed),
}

/// What a replica sends. The request is in flight until this is dropped.
#[derive(Debug)]
pub struct Streamed {
    body: Incoming,
    is_over: bool,
    lease: Option<Lease>,
    exchange: Exchange,
}

/// Why the router answers itself.
#[derive(Debug)]
pub struct Refusal {
    pub kind: ErrorKind,
    pub status: StatusCode,
    pub message: String,
}

impl AnswerBody {
    /// An answer without a body, whose exchange goes on elsewhere.
    pub const EMPTY: Self = Self::Own { text: None, _exchange: None };

    pub const fn streamed(body: Incoming, lease: Lease, exchange: Exchange) -> Self {
        Self::Streamed(Streamed { body, is_over: false, lease: Some(lease), exchange })
    }
}

impl Refusal {
    pub fn new(kind: ErrorKind, status: StatusCode, message: impl Into<String>) -> Self {
        Self { kind, status, message: message.into() }
    }

    /// The answer, in the form of kant's other errors.
    pub fn into_response(self, mut exchange: Exchange) -> Response<AnswerBody> {
        exchange.count_error(self.kind);
        exchange.set_status(self.status);
        let body = json!({ "error": { "code": self.kind.label(), "message": self.message } });
        let text = Some(Bytes::from(format!("{body}\n")));
        let mut response = Response::new(AnswerBody::Own { text, _exchange: Some(exchange) });
        *response.status_mut() = self.status;
        let mut set = |name: HeaderName, value| drop(response.headers_mut().insert(name, value));
        set(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        match self.status {
            StatusCode::SERVICE_UNAVAILABLE => set(RETRY_AFTER, RETRY_AFTER_SECONDS),
            StatusCode::UNAUTHORIZED => set(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer")),
            _ => {}
        }
        if matches!(self.kind, ErrorKind::BadRequest | ErrorKind::SlowBody) {
            // Where the next request begins is not certain.
            set(CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        match &mut *self {
            Self::Own { text, .. } => Poll::Ready(text.take().map(|text| Ok(Frame::data(text)))),
            Self::Streamed(streamed) => {
                let frame = ready!(Pin::new(&mut streamed.body).poll_frame(cx));
                streamed.note_frame(frame.as_ref());
                Poll::Ready(frame)
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Own { text, .. } => text.is_none(),
            Self::Streamed(streamed) => streamed.body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Own { text, .. } => {
                SizeHint::with_exact(text.as_ref().map_or(0, |text| text.len() as u64))
            }
            Self::Streamed(streamed) => streamed.body.size_hint(),
        }
    }
}

impl Streamed {
    fn note_frame(&mut self, frame: Option<&Result<Frame<Bytes>, hyper::Error>>) {
        match frame {
            Some(Ok(_)) => self.exchange.note_first_byte(),
            Some(Err(_)) => {
                self.exchange.count_error(ErrorKind::AnswerCut);
                // The connection cannot be used again.
                self.lease = None;
                self.is_over = true;
            }
            None => self.is_over = true,
        }
    }
}

impl Drop for Streamed {
    fn drop(&mut self) {
        let is_complete = self.is_over || self.body.is_end_stream();
        let Some(lease) = self.lease.take() else { return };
        if is_complete {
            lease.give_back(&self.exchange.service().config.upstream);
        } else {
            self.exchange.count_error(ErrorKind::ClientGone);
        }
    }
}
