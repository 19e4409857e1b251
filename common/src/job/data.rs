//! The data that a job reads, by name: data sets, models, images.

use crate::id::{DataName, IdError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// `--data=llama3,imagenet`: in ascending order, each name once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DataNames(pub Vec<DataName>);

impl FromStr for DataNames {
    type Err = IdError;
    fn from_str(text: &str) -> Result<Self, IdError> {
        let names = text.split(',').map(|name| name.trim().parse());
        let mut names: Vec<DataName> = names.collect::<Result<_, _>>()?;
        names.sort();
        names.dedup();
        Ok(Self(names))
    }
}

impl fmt::Display for DataNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.0.iter().map(DataName::as_str).collect();
        f.pad(&names.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_and_unique_and_bad_ones_are_named() {
        let read = |text: &str| text.parse::<DataNames>();
        assert_eq!(read("llama3, imagenet,llama3").unwrap().to_string(), "imagenet,llama3");
        for (text, bad) in [("", "``"), ("a,,b", "``"), ("meta/llama", "`meta/llama`")] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(bad), "{text}: {error}");
        }
    }
}
