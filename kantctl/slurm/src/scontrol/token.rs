//! `scontrol token`: a token for a program that asks the controllers over HTTP.
//! Source: man scontrol, `token`.

use cli::failure::{Failure, OK};
use cli::output::Screen;
use cli::output::screen::note;
use cli::output::user_names::user;
use cli::server::{Retry, Server};
use common::time::Span;
use common::token::{LIFESPAN_MAX, Scope};
use common::wire::api::{TokenAnswer, TokenRequest};

/// As in Slurm.
const LIFESPAN: Span = Span::from_seconds(1800);
/// What Slurm's clients do.
const SCOPES: [Scope; 4] =
    [Scope::JobsRead, Scope::JobsSubmit, Scope::JobsManage, Scope::ClusterRead];

/// Prints `SLURM_JWT=TOKEN`, for a shell that evaluates it.
///
/// # Errors
/// [`Failure`] when a word is unknown, another user is named, or the controller refuses.
pub async fn run(words: &[&str], server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let own = user(nix::unistd::geteuid().as_raw());
    let lifespan = read(words, &own).map_err(|why| Failure::usage(anyhow::anyhow!(why)))?;
    if lifespan == LIFESPAN_MAX {
        note("a token lasts at most 366 days: `kantctl token revoke` ends it earlier");
    }
    let request = TokenRequest {
        name: "scontrol token".to_owned(),
        scopes: SCOPES.into_iter().collect(),
        lifespan,
    };
    let TokenAnswer { secret, .. } = server.post("/v1/tokens", &request, Retry::IfUnsent).await?;
    screen.print_line(&format!("SLURM_JWT={}", secret.0))?;
    Ok(OK)
}

/// The lifespan of the words, which may also name the user `own`.
fn read(words: &[&str], own: &str) -> Result<Span, String> {
    let mut lifespan = LIFESPAN;
    for word in words {
        match word.split_once('=') {
            Some(("lifespan", "infinite")) => lifespan = LIFESPAN_MAX,
            Some(("lifespan", seconds)) => {
                let seconds: u64 = seconds.parse().map_err(|_| {
                    format!("{word}: write a number of seconds, or lifespan=infinite")
                })?;
                lifespan = Span::from_seconds(seconds);
            }
            Some(("username", name)) if name == own => {}
            Some(("username", name)) => {
                return Err(format!(
                    "username={name}: a token acts for the user who makes it, which is {own}: \
                     run `scontrol token` as {name}"
                ));
            }
            _ => {
                return Err(format!("`{word}`: write lifespan=SECONDS or username={own}"));
            }
        }
    }
    Ok(lifespan)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lifespan_is_in_seconds_and_the_user_is_the_own() {
        assert_eq!(read(&[], "ada"), Ok(Span::from_seconds(1800)));
        assert_eq!(read(&["username=ada", "lifespan=60"], "ada"), Ok(Span::from_seconds(60)));
        assert_eq!(read(&["lifespan=infinite"], "ada"), Ok(LIFESPAN_MAX));
        for (word, text) in [
            ("username=bob", "acts for the user who makes it"),
            ("lifespan=1h", "a number of seconds"),
            ("colour=red", "write lifespan=SECONDS"),
            ("lifespan", "write lifespan=SECONDS"),
        ] {
            let refused = read(&[word], "ada").unwrap_err();
            assert!(refused.contains(text), "{word}: {refused}");
        }
    }
}
