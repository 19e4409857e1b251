//! The features that nodes must have, as written in `--constraint='a100&(ib|roce)'`.
//! Source: man sbatch, `--constraint`.

use crate::id::FeatureName;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// In bytes.
pub const CONSTRAINT_BYTES_MAX: usize = 255;

/// A condition on one node.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Asked {
    Feature(FeatureName),
    All(Vec<Asked>),
    Any(Vec<Asked>),
}

/// The condition on a job's nodes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct Constraint {
    asked: Asked,
    /// `[a|b]`: the same feature on all nodes.
    same: bool,
    /// `a*4`: the number of nodes with the features.
    count: Option<u32>,
}

/// The text is not a supported constraint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConstraintError {
    #[error(
        "`{0}` is not a constraint: join features by & (both) and | (one of them), with \
         parentheses, as in 'a100&(ib|roce)'"
    )]
    Shape(String),
    /// Different features on different nodes of one job.
    #[error(
        "`{0}`: features for only some of a job's nodes are not supported: ask for features that \
         all its nodes have, or submit one job for each kind of node"
    )]
    Parts(String),
    #[error(
        "a constraint longer than {CONSTRAINT_BYTES_MAX} bytes: ask an operator for one feature \
         that replaces it"
    )]
    TooLong,
}

impl Constraint {
    /// Does a node with these features satisfy the constraint?
    #[must_use]
    pub fn holds(&self, features: &[FeatureName]) -> bool {
        holds(&self.asked, features)
    }

    /// Must all nodes share one of several features (`[a|b]`)?
    #[must_use]
    pub const fn needs_common_feature(&self) -> bool {
        self.same
    }

    /// The number of nodes (`a*4`); `None`: all.
    #[must_use]
    pub const fn count(&self) -> Option<u32> {
        self.count
    }

    /// The named features, with repetitions.
    #[must_use]
    pub fn features(&self) -> Vec<&FeatureName> {
        let mut named = Vec::new();
        let mut rest = vec![&self.asked];
        while let Some(asked) = rest.pop() {
            match asked {
                Asked::Feature(name) => named.push(name),
                Asked::All(parts) | Asked::Any(parts) => rest.extend(parts),
            }
        }
        named
    }
}

fn holds(asked: &Asked, features: &[FeatureName]) -> bool {
    match asked {
        Asked::Feature(name) => features.contains(name),
        Asked::All(parts) => parts.iter().all(|part| holds(part, features)),
        Asked::Any(parts) => parts.iter().any(|part| holds(part, features)),
    }
}

impl FromStr for Constraint {
    type Err = ConstraintError;
    fn from_str(text: &str) -> Result<Self, ConstraintError> {
        if text.len() > CONSTRAINT_BYTES_MAX {
            return Err(ConstraintError::TooLong);
        }
        let shape = || ConstraintError::Shape(text.to_owned());
        let plain: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        let inside = plain.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        let (body, same) = inside.map_or((plain.as_str(), false), |inside| (inside, true));
        let (body, count) = match body.rsplit_once('*') {
            None => (body, None),
            Some((body, count)) if count.bytes().all(|b| b.is_ascii_digit()) => {
                (body, Some(count.parse().map_err(|_| shape())?))
            }
            Some(_) => return Err(ConstraintError::Parts(text.to_owned())),
        };
        if body.contains(['*', '[', ']']) {
            return Err(ConstraintError::Parts(text.to_owned()));
        }
        let mut reader = Reader { rest: body };
        let asked = reader.any().filter(|_| reader.rest.is_empty()).ok_or_else(shape)?;
        // A count follows one feature or parentheses.
        let is_one = matches!(asked, Asked::Feature(_)) || body.ends_with(')');
        if count.is_some() && !is_one {
            return Err(ConstraintError::Parts(text.to_owned()));
        }
        Ok(Self { asked, same, count })
    }
}

/// The rest of the text.
struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn any(&mut self) -> Option<Asked> {
        let mut parts = vec![self.all()?];
        while self.skip('|') {
            parts.push(self.all()?);
        }
        Some(if parts.len() == 1 { parts.remove(0) } else { Asked::Any(parts) })
    }

    /// Features joined by `&`, which binds more strongly.
    fn all(&mut self) -> Option<Asked> {
        let mut parts = vec![self.parse_term()?];
        while self.skip('&') {
            parts.push(self.parse_term()?);
        }
        Some(if parts.len() == 1 { parts.remove(0) } else { Asked::All(parts) })
    }

    /// The recursion is bounded by the length of the text.
    fn parse_term(&mut self) -> Option<Asked> {
        if self.skip('(') {
            let inside = self.any()?;
            return self.skip(')').then_some(inside);
        }
        let end = self.rest.find(['&', '|', '(', ')']).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        self.rest = rest;
        FeatureName::new(name).ok().map(Asked::Feature)
    }

    fn skip(&mut self, letter: char) -> bool {
        match self.rest.strip_prefix(letter) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }
}

fn write_condition(asked: &Asked, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let (parts, between) = match asked {
        Asked::Feature(name) => return write!(f, "{name}"),
        Asked::All(parts) => (parts, "&"),
        Asked::Any(parts) => (parts, "|"),
    };
    for (place, part) in parts.iter().enumerate() {
        write!(f, "{}", if place == 0 { "" } else { between })?;
        match part {
            Asked::Feature(name) => write!(f, "{name}")?,
            part => {
                write!(f, "(")?;
                write_condition(part, f)?;
                write!(f, ")")?;
            }
        }
    }
    Ok(())
}

impl fmt::Display for Constraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (open, close) = if self.same { ("[", "]") } else { ("", "") };
        write!(f, "{open}")?;
        match (&self.asked, self.count) {
            (Asked::Feature(_), _) | (_, None) => write_condition(&self.asked, f)?,
            (asked, Some(_)) => {
                write!(f, "(")?;
                write_condition(asked, f)?;
                write!(f, ")")?;
            }
        }
        self.count.map_or(Ok(()), |count| write!(f, "*{count}"))?;
        write!(f, "{close}")
    }
}

impl TryFrom<String> for Constraint {
    type Error = ConstraintError;
    fn try_from(text: String) -> Result<Self, ConstraintError> {
        text.parse()
    }
}

impl From<Constraint> for String {
    fn from(constraint: Constraint) -> Self {
        constraint.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn features(names: &[&str]) -> Vec<FeatureName> {
        names.iter().map(|name| FeatureName::new(*name).unwrap()).collect()
    }

    #[test]
    fn features_are_joined_by_and_and_or_and_parentheses() {
        for (text, has, holds) in [
            ("ib", &["ib", "x"][..], true),
            ("ib", &["roce"], false),
            ("a100&ib", &["a100"], false),
            ("a100&ib|h100", &["h100"], true),
            ("a100&(ib|roce)", &["a100", "roce"], true),
            ("a100 & (ib | roce)", &["ib", "roce"], false),
            ("[rack1|rack2]", &["rack2"], true),
            ("ib*4", &["ib"], true),
        ] {
            let constraint: Constraint = text.parse().unwrap();
            assert_eq!(constraint.holds(&features(has)), holds, "{text}");
            assert_eq!(constraint.to_string().parse(), Ok(constraint), "{text}");
        }
        let same: Constraint = "[rack1|rack2]".parse().unwrap();
        assert_eq!(
            (same.needs_common_feature(), same.count(), same.features().len()),
            (true, None, 2)
        );
        assert_eq!("ib*4".parse::<Constraint>().unwrap().count(), Some(4));
    }

    #[test]
    fn invalid_constraints_and_different_features_per_node_are_refused() {
        for text in ["", "&", "a&", "a||b", "(a", "a)", "a b&(c", "-a", "a(b)"] {
            let error = text.parse::<Constraint>().unwrap_err();
            assert!(matches!(error, ConstraintError::Shape(_)), "{text}: {error}");
        }
        for text in ["[a*2&b*4]", "a*2&b*1", "[a&b]&[c|d]", "a&b*2", "a*x"] {
            let error = text.parse::<Constraint>().unwrap_err();
            assert!(matches!(error, ConstraintError::Parts(_)), "{text}: {error}");
        }
        let long = "a".repeat(CONSTRAINT_BYTES_MAX + 1);
        assert_eq!(long.parse::<Constraint>(), Err(ConstraintError::TooLong));
        let deep = "(".repeat(CONSTRAINT_BYTES_MAX);
        assert!(deep.parse::<Constraint>().is_err());
    }
}
