//! What jobs may ask of this node by name: what the operator named, and the kinds of its GPUs,
//! which nobody has to. Never looks at the machine itself.

use common::id::{FeatureName, IdError};
use common::node::Inventory;
use std::collections::BTreeSet;

/// The names that an operator gave.
///
/// # Errors
/// [`IdError`] of the first that is no name.
pub fn check(named: Vec<String>) -> Result<Vec<FeatureName>, IdError> {
    named.into_iter().map(FeatureName::new).collect()
}

/// All features of the node, rising, each once. A kind of GPU that is no name is none.
#[must_use]
pub fn of(named: &[FeatureName], inventory: &Inventory) -> Vec<FeatureName> {
    let kinds = inventory.gpus.iter().filter_map(|gpu| FeatureName::new(&*gpu.kind.0).ok());
    let all: BTreeSet<FeatureName> = named.iter().cloned().chain(kinds).collect();
    all.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_feature_is_a_name() {
        assert_eq!(check(vec!["ib".into(), "rack7".into()]).unwrap().len(), 2);
        assert!(check(vec!["a|b".into()]).unwrap_err().to_string().contains("feature name"));
    }
}
