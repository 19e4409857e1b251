//! The nodes of its job that a step may use, by --exclude, --constraint and --nodelist, and the
//! check of its memory request against the job's memory.

use super::job_options::JobOptions;
use cli::failure::Failure;
use cli::server::Server;
use cli::step::job_allocation::JobAllocation;
use cli::submission::options;
use common::hostlist;
use common::id::{FeatureName, NodeName};
use common::job::{Attribute, Constraint};
use common::unit::Bytes;
use common::wire::api::NodeList;
use std::collections::BTreeMap;

/// The nodes of the job that the step may use, as a host list; `None`: all nodes.
///
/// # Errors
/// [`Failure`] when a list or constraint is invalid, or no node remains.
pub async fn select(
    asked: &JobOptions,
    nodelist: Option<&str>,
    ground: &JobAllocation,
    server: &Server,
) -> Result<Option<String>, Failure> {
    let asked = Limits::of(asked);
    let (None, None) = (asked.exclude, asked.constraint) else {
        let known = match asked.constraint {
            Some(_) => {
                let list: NodeList = server.get("/v1/nodes").await?;
                list.nodes.into_iter().map(|node| (node.name, node.inventory.features)).collect()
            }
            None => Vec::new(),
        };
        return remaining(asked, nodelist, ground, &known);
    };
    Ok(nodelist.map(str::to_owned))
}

/// What limits the nodes of a step.
#[derive(Clone, Copy)]
struct Limits<'a> {
    exclude: Option<&'a str>,
    constraint: Option<&'a str>,
}

impl<'a> Limits<'a> {
    fn of(asked: &'a JobOptions) -> Self {
        let word = |attribute| asked.attributes.get(attribute);
        Self { exclude: word(Attribute::Exclude), constraint: word(Attribute::Constraint) }
    }
}

fn remaining(
    asked: Limits<'_>,
    nodelist: Option<&str>,
    ground: &JobAllocation,
    known: &[(NodeName, Vec<FeatureName>)],
) -> Result<Option<String>, Failure> {
    let wrong = |text: String| Failure::usage(anyhow::Error::msg(text));
    let expand = |option: &str, text: &str| {
        hostlist::expand(text).map_err(|error| wrong(format!("--{option}={text}: {error}")))
    };
    let only = nodelist.map(|text| expand("nodelist", text)).transpose()?;
    let not = asked.exclude.map(|text| expand("exclude", text)).transpose()?;
    let features = asked.constraint.map(|text| {
        let read = text.parse::<Constraint>();
        let read = read.map_err(|error| wrong(format!("--constraint={text}: {error}")))?;
        if read.needs_common_feature() && read.features().len() > 1 || read.count().is_some() {
            let text = format!(
                "--constraint={text}: in a job, name features that every node of the step has; \
                 [a|b] and a*2 are for a new job only"
            );
            return Err(wrong(text));
        }
        Ok(read)
    });
    let features = features.transpose()?;
    let has = |name: &NodeName, constraint: &Constraint| {
        let node = known.iter().find(|(known, _)| known == name);
        node.is_some_and(|(_, features)| constraint.holds(features))
    };
    let is_allowed = |name: &&NodeName| {
        only.as_ref().is_none_or(|only| only.contains(name))
            && not.as_ref().is_none_or(|not| !not.contains(name))
            && features.as_ref().is_none_or(|constraint| has(name, constraint))
    };
    let names: Vec<&NodeName> = ground.nodes.iter().map(|node| &node.name).collect();
    let remaining: Vec<&NodeName> = names.iter().copied().filter(is_allowed).collect();
    // A node that is not the job's is refused later, with the list as it was typed.
    let has_foreign_node = only.iter().flatten().any(|name| !names.contains(&name));
    if has_foreign_node || remaining.len() == names.len() {
        return Ok(nodelist.map(str::to_owned));
    }
    if remaining.is_empty() {
        let all = hostlist::compress(names);
        let options = [("exclude", asked.exclude), ("constraint", asked.constraint)];
        let options = options.into_iter().filter_map(|(name, value)| Some((name, value?)));
        let options: Vec<String> =
            options.map(|(name, value)| format!("--{name}={value}")).collect();
        let text = format!("{}: job {} has no such node: {all}", options.join(" "), ground.key);
        return Err(wrong(text));
    }
    Ok(Some(hostlist::compress(remaining)))
}

/// Checks that a step requests no more memory than its job has on the node.
///
/// # Errors
/// [`Failure`] when it requests more, or the size is invalid.
pub fn check_memory(
    asked: &JobOptions,
    ground: &JobAllocation,
    environment: &BTreeMap<String, String>,
) -> Result<(), Failure> {
    let Some(text) = asked.attributes.get(Attribute::Mem) else { return Ok(()) };
    let read = options::read_words(&[format!("--mem={text}")]);
    let wrong = |text: String| Failure::usage(anyhow::Error::msg(text));
    let asked = read.map_err(|error| wrong(cli::submission::parse_error::explain(&error)))?;
    let asked: Option<Bytes> = asked.get(Attribute::Mem);
    let of_job = environment.get("SLURM_MEM_PER_NODE").and_then(|mib| mib.parse().ok());
    let of_job = of_job.map(Bytes::from_mib).filter(|_| ground.here.is_some());
    match (asked, of_job) {
        (Some(asked), Some(of_job)) if asked > of_job => Err(wrong(format!(
            "--mem={text}: job {} has {} MiB on this node: request more when submitting the job",
            ground.key,
            of_job.0 >> 20
        ))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    fn environment() -> BTreeMap<String, String> {
        let all = [
            ("KANT_JOB_ID", "42"),
            ("KANT_NODE", "g-1"),
            ("SLURM_JOB_NODELIST", "g-[1-3]"),
            ("SLURM_JOB_CPUS_PER_NODE", "4(x3)"),
            ("SLURM_MEM_PER_NODE", "2048"),
        ];
        all.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
    }

    fn ground() -> JobAllocation {
        JobAllocation::from_environment(&environment()).unwrap().unwrap()
    }

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        asked: JobOptions,
    }

    fn asked<'a>(exclude: Option<&'a str>, constraint: Option<&'a str>) -> Limits<'a> {
        Limits { exclude, constraint }
    }

    fn known() -> Vec<(NodeName, Vec<FeatureName>)> {
        let feature = |name: &&str| FeatureName::new(*name).unwrap();
        let nodes = [("g-1", &["ib"][..]), ("g-2", &[]), ("g-3", &["ib", "a100"])];
        let node = |(name, features): (&str, &[&str])| {
            (NodeName::new(name).unwrap(), features.iter().map(feature).collect())
        };
        nodes.map(node).into()
    }

    fn selected(nodelist: Option<&str>, asked: Limits<'_>) -> Result<Option<String>, String> {
        remaining(asked, nodelist, &ground(), &known()).map_err(|failure| failure.to_string())
    }

    #[test]
    fn a_step_uses_only_nodes_that_it_does_not_exclude_and_that_have_its_features() {
        let some = |text: &str| Ok(Some(text.to_owned()));
        assert_eq!(selected(None, asked(Some("g-2"), None)), some("g-[1,3]"));
        assert_eq!(
            selected(None, asked(Some("other"), None)),
            Ok(None),
            "all of them, as they are"
        );
        assert_eq!(selected(Some("g-[1-2]"), asked(Some("g-1"), None)), some("g-2"));
        assert_eq!(selected(None, asked(None, Some("ib"))), some("g-[1,3]"));
        assert_eq!(selected(None, asked(Some("g-3"), Some("ib"))), some("g-1"));
        assert_eq!(selected(None, asked(None, Some("ib&a100"))), some("g-3"));
        for (asked, word) in [
            (asked(Some("g-[1-3]"), None), "has no such node: g-[1-3]"),
            (asked(Some("g-["), None), "--exclude=g-["),
            (asked(None, Some("v100")), "--constraint=v100: job 42 has no such node"),
            (asked(None, Some("ib*2")), "for a new job only"),
            (asked(None, Some("ib&")), "is not a constraint"),
        ] {
            let why = selected(None, asked).unwrap_err();
            assert!(why.contains(word), "{why}");
        }
    }

    #[test]
    fn a_step_that_wants_more_memory_than_its_job_has_is_refused() {
        let check = |mem: &str| {
            let asked = Line::parse_from(["srun", "--mem", mem]).asked;
            let checked = check_memory(&asked, &ground(), &environment());
            checked.map_err(|failure| failure.to_string())
        };
        assert_eq!((check("2G"), check("0"), check("100")), (Ok(()), Ok(()), Ok(())));
        assert!(check("2049").unwrap_err().contains("job 42 has 2048 MiB"));
        assert!(check("much").unwrap_err().contains("much"));
    }
}
