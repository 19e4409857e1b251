//! Forwarding of the consensus library's log lines to `tracing`.

use slog::{Drain, KV, Level, Logger, OwnedKVList, Record, Serializer, o};
use std::fmt::{Arguments, Write as _};
use tracing::Level as Tracing;

/// The target of these lines.
const TARGET: &str = "kantctld::raft";

pub fn logger() -> Logger {
    Logger::root(ToTracing, o!())
}

struct ToTracing;

impl Drain for ToTracing {
    type Ok = ();
    type Err = slog::Never;

    fn log(&self, record: &Record<'_>, values: &OwnedKVList) -> Result<(), slog::Never> {
        let is_enabled = match record.level() {
            Level::Critical | Level::Error => tracing::enabled!(target: TARGET, Tracing::ERROR),
            Level::Warning => tracing::enabled!(target: TARGET, Tracing::WARN),
            Level::Info | Level::Debug => tracing::enabled!(target: TARGET, Tracing::DEBUG),
            Level::Trace => tracing::enabled!(target: TARGET, Tracing::TRACE),
        };
        // The library formats a message more slowly than it handles it.
        if !is_enabled {
            return Ok(());
        }
        let mut pairs = Pairs(String::new());
        // Writing into a string cannot fail.
        let _ = record.kv().serialize(record, &mut pairs);
        let _ = values.serialize(record, &mut pairs);
        let text = format!("{}{}", record.msg(), pairs.0);
        match record.level() {
            Level::Critical | Level::Error => tracing::error!(target: TARGET, "{text}"),
            Level::Warning => tracing::warn!(target: TARGET, "{text}"),
            // The library logs every election as info, which is a detail for operators.
            Level::Info | Level::Debug => tracing::debug!(target: TARGET, "{text}"),
            Level::Trace => tracing::trace!(target: TARGET, "{text}"),
        }
        Ok(())
    }
}

struct Pairs(String);

impl Serializer for Pairs {
    fn emit_arguments(&mut self, key: slog::Key, value: &Arguments<'_>) -> slog::Result {
        write!(self.0, " {key}={value}").map_err(|_| slog::Error::Other)
    }
}
