//! The page about a request that was refused or failed.

use crate::frame::Frame;
use crate::words::sentence;
use maud::html;

/// What failed, and what to do next if that is known.
#[must_use]
pub fn failure(frame: &Frame<'_>, message: &str, hint: Option<&str>) -> String {
    let live = html! {
        p.trouble role="alert" { (sentence(message)) }
        @if let Some(hint) = hint { p { (sentence(hint)) } }
        p { a href="/jobs" { "To the queue" } }
    };
    frame.page(None, "That did not work", None, &live)
}
