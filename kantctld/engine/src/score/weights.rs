//! The weights of placement, heaviest first. Never a number of this kind elsewhere.
//!
//! A penalty is a sum of `weight * count`, lower is better. Each weight is larger than all that
//! the weights below it can add up to, so a rule is only asked where those above it tie.
//!
//! Source: Kant (arXiv 2510.01256) page 9 for the order of the rules; the numbers are ours and only
//! keep that order.

/// A job without GPUs goes to a node with free GPUs, and may keep a GPU job from them.
pub(crate) const FREE_GPUS_PASSED_BY: u64 = 1 << 44;

/// A node that nobody uses is opened. Whole nodes are what large jobs wait for.
pub(crate) const WHOLE_NODE_OPENED: u64 = 1 << 43;

/// A job without GPUs goes to a node whose GPUs are all in use: good, but a node without any is
/// better, since GPUs come free again.
pub(crate) const GPU_NODE_FOR_CPU_JOB: u64 = 1 << 42;

/// For each GPU left free on the node: the tightest node first. At most [`COUNT_MAX`] of them.
pub(crate) const GPU_LEFT: u64 = 1 << 28;

/// For each CPU left free. At most [`COUNT_MAX`] of them.
pub(crate) const CPU_LEFT: u64 = 1 << 14;

/// For each GiB of memory left free. At most [`COUNT_MAX`] of them.
pub(crate) const GIB_LEFT: u64 = 1;

/// Leftovers above this count as this, so that they never outweigh the next rule.
pub(crate) const COUNT_MAX: u64 = (1 << 13) - 1;

const _: () = assert!(CPU_LEFT > GIB_LEFT * COUNT_MAX);
const _: () = assert!(GPU_LEFT > (CPU_LEFT + GIB_LEFT) * COUNT_MAX);
const _: () = assert!(GPU_NODE_FOR_CPU_JOB > (GPU_LEFT + CPU_LEFT + GIB_LEFT) * COUNT_MAX);
const _: () = assert!(WHOLE_NODE_OPENED > GPU_NODE_FOR_CPU_JOB);
const _: () = assert!(FREE_GPUS_PASSED_BY >= WHOLE_NODE_OPENED + GPU_NODE_FOR_CPU_JOB);
