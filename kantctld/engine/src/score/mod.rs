//! Step 4: which of the nodes that fit is best, and which GPUs of it. Weights stand in one table.
//! Never asks whether something fits.

pub(crate) mod binpack;
pub(crate) mod nvlink;
pub(crate) mod weights;
