//! `sprio`: the factors of waiting jobs' priorities, in Slurm's columns. A fifo queue ranks its
//! jobs without adding up factors: there all values are 0.
//! Source: man sprio.

use super::format::{self, Piece};
use super::shared_options::Common;
use cli::failure::{Failure, OK};
use cli::keys::{self, Keys};
use cli::output::Screen;
use cli::server::Server;
use common::id::{JobKey, QueueName};
use common::wire::api::{PriorityList, PriorityView};

const DEFAULT_FORMAT: &str = "%.15i %9r %.10Y %.10S %.10A %.10F %.10J %.10P %.10Q";
const LONG_FORMAT: &str = "%.15i %9r %.8u %.10Y %.10S %.10A %.10F %.10J %.10P %.10Q %.11N";
const NORMALIZED_FORMAT: &str = "%.15i %9r %.10y %.10a %.10f %.10j %.10p %.10q";
const WEIGHT_FORMAT: &str = "%.15i %9r %.10Y %.10S %.10A %.10F %.10J %.10P %.10Q";

/// Show the factors of waiting jobs' priorities, as Slurm's sprio does
#[derive(clap::Parser, Debug)]
#[command(name = "sprio", disable_help_flag = true, disable_version_flag = true)]
pub struct Args {
    #[command(flatten)]
    pub common: Common,
    /// Omit the header
    #[arg(short = 'h', long = "noheader")]
    pub no_header: bool,
    /// Only these jobs
    #[arg(short = 'j', long = "jobs", value_name = "JOB")]
    pub jobs: Vec<Keys>,
    /// Show more columns
    #[arg(short = 'l', long)]
    pub long: bool,
    /// Show factors between 0 and 1, without their weights
    #[arg(short = 'n', long)]
    pub norm: bool,
    /// Fields to show: %[[.]size]letter
    #[arg(short = 'o', long, value_name = "FORMAT")]
    pub format: Option<String>,
    /// Only jobs of these partitions
    #[arg(short = 'p', long = "partition", value_delimiter = ',', value_name = "PARTITION")]
    pub partitions: Vec<QueueName>,
    /// Only jobs of these users
    #[arg(short = 'u', long = "user", value_delimiter = ',', value_name = "USER")]
    pub users: Vec<String>,
    /// Show the weights of the factors
    #[arg(short = 'w', long)]
    pub weights: bool,
}

/// A field of sprio.
#[derive(Debug)]
pub struct Field {
    letter: char,
    title: &'static str,
    value: fn(&PriorityView) -> String,
}

const fn field(letter: char, title: &'static str, value: fn(&PriorityView) -> String) -> Field {
    Field { letter, title, value }
}

const FIELDS: &[Field] = &[
    field('i', "JOBID", |view| view.key.to_string()),
    field('r', "PARTITION", |view| view.queue.to_string()),
    field('u', "USER", |view| view.user.clone()),
    field('Y', "PRIORITY", |view| view.total.to_string()),
    field('y', "PRIORITY", |view| {
        // A fraction of the largest priority, as %p of squeue.
        format!("{:.14}", view.total.max(0) as f64 / 4_294_967_295.0)
    }),
    field('S', "SITE", |_| "0".to_owned()),
    field('A', "AGE", |view| points(view, "age")),
    field('F', "FAIRSHARE", |view| points(view, "fair-share")),
    field('J', "JOBSIZE", |view| points(view, "size")),
    field('P', "PARTITION", |view| points(view, "queue")),
    field('Q', "QOS", |view| points(view, "qos")),
    field('N', "NICE", |view| value(view, "nice").map_or(0.0, |nice| nice).to_string()),
    field('T', "TRES", |_| String::new()),
    field('a', "AGE", |view| normalized(view, "age")),
    field('f', "FAIRSHARE", |view| normalized(view, "fair-share")),
    field('j', "JOBSIZE", |view| normalized(view, "size")),
    field('p', "PARTITION", |view| normalized(view, "queue")),
    field('q', "QOS", |view| normalized(view, "qos")),
    field('c', "CLUSTER", |_| String::new()),
    field('o', "ACCOUNT", |_| String::new()),
];

fn points(view: &PriorityView, name: &str) -> String {
    let factor = view.factors.iter().find(|factor| factor.name == name);
    factor.map_or(0, |factor| factor.points).to_string()
}

fn value(view: &PriorityView, name: &str) -> Option<f64> {
    view.factors.iter().find(|factor| factor.name == name).map(|factor| factor.value)
}

fn normalized(view: &PriorityView, name: &str) -> String {
    format!("{:.7}", value(view, name).unwrap_or(0.0))
}

/// The weights, as the points of a job whose factors are all 1.
fn with_weights_as_points(view: &PriorityView) -> PriorityView {
    let mut weights = view.clone();
    weights.total = 0;
    for factor in &mut weights.factors {
        factor.points = factor.weight;
    }
    weights
}

/// Shows priorities.
///
/// # Errors
/// [`Failure`] when the controller does not answer, or a field is unknown.
pub async fn run(args: &Args, server: &Server, screen: &Screen) -> Result<u8, Failure> {
    let default = match (args.weights, args.norm, args.long) {
        (true, ..) => WEIGHT_FORMAT,
        (_, true, _) => NORMALIZED_FORMAT,
        (_, _, true) => LONG_FORMAT,
        _ => DEFAULT_FORMAT,
    };
    let by_letter = |letter| FIELDS.iter().find(|field| field.letter == letter);
    let format = args.format.as_deref().unwrap_or(default);
    let pieces: Vec<Piece<&'static Field>> =
        format::parse_letters(format, by_letter).map_err(Failure::usage)?;
    let mut list: PriorityList = server.get("/v1/priority").await?;
    let keys = keys::flatten(&args.jobs);
    list.jobs.retain(|view| matches_job(args, view, &keys));
    if args.weights {
        list.jobs = list.jobs.iter().take(1).map(with_weights_as_points).collect();
    }
    let title = |field: &&'static Field| field.title.to_owned();
    let titled = (!args.no_header).then_some(&title as &dyn Fn(&&'static Field) -> String);
    let show = |field: &&'static Field, view: &PriorityView| match (args.weights, field.letter) {
        (true, 'i') => "Weights".to_owned(),
        (true, 'r' | 'u' | 'Y') => String::new(),
        _ => (field.value)(view),
    };
    screen.print(&format::format_text(&pieces, titled, &list.jobs, show))?;
    Ok(OK)
}

fn matches_job(args: &Args, view: &PriorityView, keys: &[JobKey]) -> bool {
    let whole = JobKey::single(view.key.job);
    (keys.is_empty() || keys.contains(&view.key) || keys.contains(&whole))
        && (args.partitions.is_empty() || args.partitions.contains(&view.queue))
        && (args.users.is_empty() || args.users.contains(&view.user))
}
