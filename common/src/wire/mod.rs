//! The messages that cross a wire: between kantctl and kantctld (`api`, JSON), between kantd and
//! kantctld (`node`, MessagePack with named fields), and between controllers (`peer`, likewise).
//! Fields may be added with a default; anything else is a new protocol version. Never holds logic.

pub mod api;
pub mod node;
pub mod peer;
mod step_record;
