//! `--constraint='a100&(ib|roce)'`: which features nodes must have. Never looks at a node; whoever
//! chooses nodes asks [`Constraint::holds`].
//! Source: man sbatch, `--constraint`.

use crate::id::FeatureName;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The longest text, in bytes.
pub const CONSTRAINT_BYTES_MAX: usize = 255;

/// What is asked of one node.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Asked {
    Feature(FeatureName),
    All(Vec<Asked>),
    Any(Vec<Asked>),
}

/// What is asked of a job's nodes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Constraint {
    asked: Asked,
    /// `[a|b]`: all nodes by the same of them.
    same: bool,
    /// `a*4`: so many nodes.
    count: Option<u32>,
}

/// A text that is no constraint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConstraintError {
    #[error(
        "`{0}` is no constraint: join features by & (both) and | (one of them), with parentheses, \
         as in 'a100&(ib|roce)'"
    )]
    Shape(String),
    /// Features of several nodes of one job that differ.
    #[error(
        "`{0}`: features for some of a job's nodes are not supported: ask for what all its nodes \
         have, or submit one job for each kind of node"
    )]
    Parts(String),
    /// More than anything sensible.
    #[error(
        "a constraint of more than {CONSTRAINT_BYTES_MAX} bytes: ask an operator for a feature \
         that stands for it"
    )]
    TooLong,
}

impl Constraint {
    /// Does a node with these features hold it?
    #[must_use]
    pub fn holds(&self, features: &[FeatureName]) -> bool {
        holds(&self.asked, features)
    }

    /// Must all nodes have the same of several (`[a|b]`)?
    #[must_use]
    pub const fn is_same(&self) -> bool {
        self.same
    }

    /// Of how many nodes it is asked (`a*4`); `None`: of all.
    #[must_use]
    pub const fn count(&self) -> Option<u32> {
        self.count
    }

    /// The features it names, as often as it does.
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
        // A count stands behind one feature, or what is in parentheses.
        let is_one = matches!(asked, Asked::Feature(_)) || body.ends_with(')');
        if count.is_some() && !is_one {
            return Err(ConstraintError::Parts(text.to_owned()));
        }
        Ok(Self { asked, same, count })
    }
}

/// What is not read yet.
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

    /// What is asked together, which binds stronger.
    fn all(&mut self) -> Option<Asked> {
        let mut parts = vec![self.one()?];
        while self.skip('&') {
            parts.push(self.one()?);
        }
        Some(if parts.len() == 1 { parts.remove(0) } else { Asked::All(parts) })
    }

    /// As deep as there are bytes: the text is bounded.
    fn one(&mut self) -> Option<Asked> {
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

fn show(asked: &Asked, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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
                show(part, f)?;
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
            (Asked::Feature(_), _) | (_, None) => show(&self.asked, f)?,
            (asked, Some(_)) => {
                write!(f, "(")?;
                show(asked, f)?;
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
        assert_eq!((same.is_same(), same.count(), same.features().len()), (true, None, 2));
        assert_eq!("ib*4".parse::<Constraint>().unwrap().count(), Some(4));
    }

    #[test]
    fn nonsense_and_what_differs_from_node_to_node_are_refused() {
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
