//! Letters that time alone brings, while this controller leads. Never those about events: the log's
//! thread has them written as it applies entries.

use crate::core::Core;
use lead::Marks;
use std::convert::Infallible;
use std::time::Duration;

/// Runs for one term of leading; ends when it is dropped.
pub async fn run(core: &Core) -> Infallible {
    if !core.mail.is_open() {
        return std::future::pending().await;
    }
    let mut marks = Marks::default();
    loop {
        let now = core.now();
        let letters = marks.look(&core.state.read(), now);
        core.mail.put(letters);
        tokio::time::sleep(Duration::from_millis(Marks::EVERY.0)).await;
    }
}
