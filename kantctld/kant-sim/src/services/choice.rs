//! The policies that are compared: those of the user, then the named ones.

use super::named::{NamedPolicy, bounds};
use super::{Arguments, ServicesError, path_text, read};
use clap::ValueEnum;
use common::autoscale::Policy;
use sim::service::Setup;
use std::path::Path;
use trace::Request;

/// A policy under its name.
pub struct Choice {
    pub name: String,
    pub policy: Policy,
}

/// The policies of `--policy`, then `kpa` and `hpa`, each once.
///
/// # Errors
/// A file that cannot be read, is no policy, or is an invalid one; an unknown name.
pub fn choices(
    arguments: &Arguments,
    setup: &Setup,
    requests: &[Request],
) -> Result<Vec<Choice>, ServicesError> {
    let named = |name: NamedPolicy| Choice {
        name: name.name().to_owned(),
        policy: name.policy(setup, requests, bounds(arguments.max.max(1))),
    };
    let mut choices = Vec::new();
    for text in &arguments.policy {
        choices.push(match NamedPolicy::from_str(text, false) {
            Ok(name) => named(name),
            Err(_) => from_file(text)?,
        });
    }
    for name in [NamedPolicy::Kpa, NamedPolicy::Hpa] {
        if !choices.iter().any(|choice| choice.name == name.name()) {
            choices.push(named(name));
        }
    }
    Ok(choices)
}

/// A policy in JSON if the file is called so, else in TOML.
fn from_file(text: &str) -> Result<Choice, ServicesError> {
    let path = Path::new(text);
    if !path.exists() && !text.contains(['/', '.']) {
        let known = NamedPolicy::value_variants().iter().map(|name| name.name());
        let known = known.collect::<Vec<&str>>().join(", ");
        return Err(ServicesError::UnknownPolicy { name: text.to_owned(), known });
    }
    let content = String::from_utf8_lossy(&read(path)?).into_owned();
    let file = path_text(path);
    let is_json = path.extension().is_some_and(|extension| extension == "json");
    let policy: Result<Policy, String> = if is_json {
        serde_json::from_str(&content).map_err(|error| error.to_string())
    } else {
        toml::from_str(&content).map_err(|error: toml::de::Error| error.to_string())
    };
    let problem = |problem| ServicesError::Form { file: file.clone(), problem };
    let policy = policy.map_err(problem)?;
    policy.validate().map_err(|source| ServicesError::Policy { file, source })?;
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Choice { name: stem, policy })
}
