//! `kantctl token`: tokens by which programs use the API over HTTP. Of Slurm, `scontrol token`.

use crate::failure::{Failure, OK};
use crate::fetch::{self, Answer};
use crate::output::screen::note;
use crate::output::time::local;
use crate::output::{Screen, tokens};
use crate::server::{Retry, Server};
use clap::{ArgGroup, Subcommand};
use common::time::Span;
use common::token::{Scope, TokenId};
use common::wire::api::{TokenAnswer, TokenList, TokenRequest};
use serde_json::Value;

const EXAMPLES: &str = "\
Examples:
  kantctl token create --scope jobs:read,cluster:read --lifespan 8h
  kantctl token list
  kantctl token revoke 3f9a0c51e7d2

A program sends its token as `Authorization: Bearer TOKEN` to the address that `http_listen` sets in
kantctld.toml. The Slurm command is `scontrol token`.";

const CREATE_EXAMPLES: &str = "\
Examples:
  kantctl token create
  kantctl token create --scope jobs:read,jobs:submit --lifespan 30m --name ci
  KANT_TOKEN=$(kantctl token create --scope cluster:read)
  kantctl token create --scope jobs:manage,admin --lifespan 1h       # for users with a role

Scopes: jobs:read, jobs:submit, jobs:manage, cluster:read, services:read, services:manage, admin.
The token is printed once, and only its hash is kept: treat it like a password. It has your rights
within its scopes; your roles count only with `admin`. Jobs never get it in their environment.";

const LIST_EXAMPLES: &str = "\
Examples:
  kantctl token list
  kantctl token list --all        # for operators, viewers and support
  kantctl token list --json

LAST USE is what the leading controller remembers; another leader begins without any.";

const REVOKE_EXAMPLES: &str = "\
Examples:
  kantctl token revoke 3f9a0c51e7d2
  kantctl token revoke --mine     # all of your tokens

A revoked token is refused from the next request on. Operators may revoke the tokens of others.";

const TOKENS: &str = "/v1/tokens";

#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    pub what: What,
}

#[derive(Subcommand, Debug)]
pub enum What {
    /// Create a token, and print it
    #[command(after_help = CREATE_EXAMPLES)]
    Create(Create),
    /// List your tokens
    #[command(after_help = LIST_EXAMPLES)]
    List(List),
    /// Revoke tokens
    #[command(after_help = REVOKE_EXAMPLES)]
    Revoke(Revoke),
}

#[derive(clap::Args, Debug)]
pub struct Create {
    /// What the program may do
    #[arg(
        long,
        value_name = "SCOPES",
        value_delimiter = ',',
        default_value = "jobs:read,cluster:read"
    )]
    pub scope: Vec<Scope>,
    /// How long the token is valid, at most 366 days: minutes, h:m:s, d-h, 90m, 2h
    #[arg(long, value_name = "TIME", default_value = "30-0")]
    pub lifespan: Span,
    /// A name, by which you recognize it in the list
    #[arg(long, value_name = "NAME", default_value = "")]
    pub name: String,
}

#[derive(clap::Args, Debug)]
pub struct List {
    /// List the tokens of all users
    #[arg(long)]
    pub all: bool,
}

#[derive(clap::Args, Debug)]
#[command(group(ArgGroup::new("which").required(true).args(["ids", "mine"])))]
pub struct Revoke {
    /// Ids, as `kantctl token list` shows them
    #[arg(value_name = "ID")]
    pub ids: Vec<TokenId>,
    /// Revoke all of your tokens
    #[arg(long)]
    pub mine: bool,
}

/// Creates, lists or revokes tokens.
///
/// # Errors
/// [`Failure`] when the controller refuses or does not answer.
pub async fn run(args: &Args, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    match &args.what {
        What::Create(create) => self::create(create, server, screen).await,
        What::List(List { all }) => list(*all, server, screen).await,
        What::Revoke(revoke) => self::revoke(revoke, server, screen).await,
    }
}

/// The secret alone is on stdout, so that a shell can keep it in a variable.
async fn create(args: &Create, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let scopes = args.scope.iter().copied().collect();
    let request = TokenRequest { name: args.name.clone(), scopes, lifespan: args.lifespan };
    let raw: Value = server.post(TOKENS, &request, Retry::IfUnsent).await?;
    let answer: Answer<TokenAnswer> = raw.try_into()?;
    if screen.json {
        screen.print_answer_json(&answer.raw)?;
        return Ok(OK);
    }
    let TokenAnswer { secret, token } = &answer.typed;
    let (until, scopes) = (local(token.until, &screen.zone), tokens::scopes(token));
    note(&format!("token {} for {scopes} until {until}; it is shown only now", token.id));
    screen.print_line(&secret.0)?;
    Ok(OK)
}

async fn list(all: bool, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let path = if all { format!("{TOKENS}?all=true") } else { TOKENS.to_owned() };
    let answer: Answer<TokenList> = fetch::get(server, &path).await?;
    if screen.json {
        screen.print_answer_json(&answer.raw)?;
    } else {
        screen.print_table(&tokens::table(&answer.typed.tokens, &screen.zone))?;
    }
    Ok(OK)
}

async fn revoke(args: &Revoke, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let ids = match args.mine {
        false => args.ids.clone(),
        true => {
            let mine: Answer<TokenList> = fetch::get(server, TOKENS).await?;
            mine.typed.tokens.into_iter().map(|token| token.id).collect()
        }
    };
    for id in ids {
        let path = format!("{TOKENS}/{id}/revoke");
        let raw: Value = server.post(&path, &Value::Null, Retry::IfUnsent).await?;
        match screen.json {
            true => screen.print_answer_json(&raw)?,
            false => screen.print_line(&format!("token {id} is revoked"))?,
        }
    }
    Ok(OK)
}
