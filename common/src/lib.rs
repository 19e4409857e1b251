//! the shared vocabulary: ids, units, specs, states, reasons, configuration and wire messages; pure
