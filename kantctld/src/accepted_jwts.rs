//! Which JSON Web Tokens this controller accepts on its HTTP port, the user that each one names,
//! and what all of them allow.

use axum::http::StatusCode;
use common::causes::with_causes;
use common::config::ControllerConfig;
use common::sync::{Mutex, RwLock};
use common::time::{Span, Time};
use common::token::{Scope, ScopeError, Scopes};
use jwt::{KeyError, Keys, Rules};
use net::{Refusal, TrustError};
use nix::unistd::User;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use std::{fs, io};
use tokio::sync::Semaphore;

/// How often to look at the files: an identity provider replaces its keys now and then.
pub const LOOK_PERIOD: Duration = Duration::from_secs(5);

/// The most questions to the user database at once.
const LOOKUPS_MAX: usize = 16;

/// Why the configuration of JSON Web Tokens cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JwtConfigError {
    #[error("failed to use `{key}`: failed to read {path}")]
    Read {
        key: &'static str,
        path: String,
        #[source]
        source: io::Error,
    },
    #[error("failed to use `{key}` = {path}")]
    Keys {
        key: &'static str,
        path: String,
        #[source]
        source: KeyError,
    },
    #[error(
        "failed to use `jwt_secret_file`: {0} can be read by other users, who could act for \
         all users; make it readable for kantctld's user alone: `chmod 600 {0}`"
    )]
    OpenSecret(String),
    /// Other users could replace the keys.
    #[error(transparent)]
    Trust(#[from] TrustError),
    #[error("failed to use `jwt_scopes`: {0}")]
    Scope(#[from] ScopeError),
}

/// What is configured.
#[derive(Debug)]
pub struct AcceptedJwts {
    files: KeyFiles,
    rules: Rules,
    scopes: Scopes,
    /// Users with a smaller uid are refused.
    uid_min: u32,
    keys: RwLock<Arc<Keys>>,
    /// Turns to ask the user database, which may be slow: other tasks need threads, too.
    lookups: Semaphore,
    /// The files as they were when they were last read.
    read: Mutex<Vec<Option<FileMark>>>,
}

/// What changes when a file is replaced, or when its content, owner or mode changes.
type FileMark = (u64, i64, i64);

#[derive(Debug, Clone)]
struct KeyFiles {
    secret: Option<PathBuf>,
    set: Option<PathBuf>,
}

impl AcceptedJwts {
    /// As configured; `None` if no keys are. May block.
    ///
    /// # Errors
    /// [`JwtConfigError`].
    pub fn from_config(config: &ControllerConfig) -> Result<Option<Self>, JwtConfigError> {
        let path = |text: &str| (!text.is_empty()).then(|| PathBuf::from(text));
        let files =
            KeyFiles { secret: path(&config.jwt_secret_file), set: path(&config.jwt_keys_file) };
        if files.secret.is_none() && files.set.is_none() {
            return Ok(None);
        }
        let named = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let rules = Rules {
            user_claim: config.jwt_user_claim.clone(),
            issuer: named(&config.jwt_issuer),
            audience: named(&config.jwt_audience),
            lifespan_max: Span::from_seconds(config.jwt_lifespan_max_seconds),
        };
        let scopes = match config.jwt_scopes.is_empty() {
            true => Scope::ALL.into_iter().filter(|scope| *scope != Scope::Admin).collect(),
            false => config.jwt_scopes.iter().map(|word| word.parse()).collect::<Result<_, _>>()?,
        };
        let read = Mutex::new(files.marks());
        let keys = RwLock::new(Arc::new(files.read()?));
        // Root by a claim would be root by the word of the issuer.
        let uid_min = config.uid_min.max(1);
        let lookups = Semaphore::new(LOOKUPS_MAX);
        Ok(Some(Self { files, rules, scopes, uid_min, keys, lookups, read }))
    }

    /// What these tokens allow.
    #[must_use]
    pub const fn scopes(&self) -> &Scopes {
        &self.scopes
    }

    /// The user of a token: uid and primary group in this host's user database.
    ///
    /// # Errors
    /// A refusal that says what is wrong with it.
    pub async fn user(self: Arc<Self>, token: &str, now: Time) -> Result<(u32, u32), Refusal> {
        let name = self.check_token(token, now)?;
        // The semaphore is never closed.
        let _turn = self.lookups.acquire().await.ok();
        let this = self.clone();
        let found = tokio::task::spawn_blocking(move || this.look_up(&name)).await;
        found.unwrap_or_else(|_| Err(unauthorized("the controller is stopping")))
    }

    fn check_token(&self, token: &str, now: Time) -> Result<String, Refusal> {
        let keys = self.keys.read().clone();
        let claims = jwt::check(&keys, &self.rules, token, now);
        Ok(claims.map_err(|rejection| unauthorized(&rejection.to_string()))?.user)
    }

    /// May block.
    fn look_up(&self, name: &str) -> Result<(u32, u32), Refusal> {
        match User::from_name(name) {
            Ok(Some(user)) if user.uid.as_raw() >= self.uid_min => {
                Ok((user.uid.as_raw(), user.gid.as_raw()))
            }
            Ok(Some(_)) => Err(unauthorized(&format!("{name} is a system user"))),
            Ok(None) => Err(unauthorized(&format!("its user {name} does not exist on this host"))),
            Err(error) => {
                let message = format!("failed to look up user {name}: {error}");
                Err(Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "no_user_database", message)
                    .with_hint("try again; if it persists, an operator must check this host"))
            }
        }
    }

    /// Reads the keys again if their files have changed since they could last be read. May block.
    pub fn read_again(&self) {
        let mut read = self.read.lock();
        let marks = self.files.marks();
        if marks == *read {
            return;
        }
        match self.files.read() {
            Ok(keys) => {
                tracing::info!("read the keys of JSON Web Tokens again");
                *self.keys.write() = Arc::new(keys);
            }
            Err(error) => {
                tracing::error!("{}; the keys before stay in use", with_causes(&error));
            }
        }
        // After an error, another change of the file is awaited: of its mode, for example.
        *read = marks;
    }
}

impl KeyFiles {
    fn marks(&self) -> Vec<Option<FileMark>> {
        let mark = |data: fs::Metadata| (data.ino(), data.ctime(), data.ctime_nsec());
        let files = self.secret.iter().chain(&self.set);
        files.map(|file| fs::metadata(file).ok().map(mark)).collect()
    }

    fn read(&self) -> Result<Keys, JwtConfigError> {
        let mut keys = Keys::default();
        if let Some(path) = &self.secret {
            let key = "jwt_secret_file";
            let secret = read(key, path)?;
            let mode = fs::metadata(path).map(|data| data.permissions().mode());
            if mode.is_ok_and(|mode| mode & 0o077 != 0) {
                return Err(JwtConfigError::OpenSecret(path.display().to_string()));
            }
            keys = keys.with_secret(&secret).map_err(key_error(key, path))?;
        }
        if let Some(path) = &self.set {
            let key = "jwt_keys_file";
            keys = keys.with_jwk_set(&read(key, path)?).map_err(key_error(key, path))?;
        }
        Ok(keys)
    }
}

fn read(key: &'static str, path: &Path) -> Result<Vec<u8>, JwtConfigError> {
    let failed = |source| JwtConfigError::Read { key, path: path.display().to_string(), source };
    let bytes = fs::read(path).map_err(failed)?;
    net::check_trusted(key, path)?;
    Ok(bytes)
}

fn key_error(key: &'static str, path: &Path) -> impl FnOnce(KeyError) -> JwtConfigError {
    let path = path.display().to_string();
    move |source| JwtConfigError::Keys { key, path, source }
}

fn unauthorized(why: &str) -> Refusal {
    let message = format!("this JSON Web Token is not valid: {why}");
    Refusal::new(StatusCode::UNAUTHORIZED, "token_invalid", message)
        .with_hint("get a new one from its issuer, or create a token with `kantctl token create`")
}

#[cfg(test)]
mod tests;
