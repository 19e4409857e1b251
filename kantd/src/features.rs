//! The features of this node: those that the operator named, and the kinds of its GPUs.

use common::id::{FeatureName, IdError};
use common::node::Inventory;
use std::collections::BTreeSet;

/// Parses the operator's feature names.
///
/// # Errors
/// [`IdError`] for the first invalid name.
pub fn parse_features(named: Vec<String>) -> Result<Vec<FeatureName>, IdError> {
    named.into_iter().map(FeatureName::new).collect()
}

/// All features of the node, sorted and unique. A GPU kind that is not a valid name is left out.
#[must_use]
pub fn node_features(named: &[FeatureName], inventory: &Inventory) -> Vec<FeatureName> {
    let kinds = inventory.gpus.iter().filter_map(|gpu| FeatureName::new(&*gpu.kind.0).ok());
    let all: BTreeSet<FeatureName> = named.iter().cloned().chain(kinds).collect();
    all.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_feature_is_a_valid_name() {
        assert_eq!(parse_features(vec!["ib".into(), "rack7".into()]).unwrap().len(), 2);
        assert!(
            parse_features(vec!["a|b".into()]).unwrap_err().to_string().contains("feature name")
        );
    }
}
