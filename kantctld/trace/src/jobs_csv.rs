//! Job files: one job per line, 18 columns, five of them required. `kantctl export` writes them,
//! too. A file with any invalid line is refused as a whole.

use super::columns::{Column, Row, Table, header_of, optional_column, push_row, required_column};
use super::field::{self, Problem, show_thousandths};
use super::job::MAX_PER_NODE;
use super::{Job, TraceError};
use common::time::Time;
use common::unit::{GpuMilli, Gpus, Nodes};
use std::collections::BTreeMap;

const COLUMNS: &[Column] = &[
    required_column("job_id"),
    required_column("submit_s"),
    required_column("runtime_s"),
    optional_column("walltime_request_s"),
    required_column("nodes"),
    optional_column("gpus_total"),
    required_column("gpus_per_node"),
    optional_column("gpu_fraction_milli"),
    optional_column("gpu_model"),
    optional_column("cpus"),
    optional_column("mem_mib"),
    optional_column("user"),
    optional_column("group"),
    optional_column("qos"),
    optional_column("kind"),
    optional_column("final_status"),
    optional_column("constraint"),
    optional_column("account"),
];

/// Reads a job file, plain or gzip. `file` is its name in errors. Jobs are sorted by submit time;
/// those of equal times keep the file's order.
///
/// # Errors
/// The first invalid line, a duplicate number, or a file without jobs.
pub fn read_jobs(file: &str, bytes: &[u8]) -> Result<Vec<Job>, TraceError> {
    let table = Table::read(file, bytes, COLUMNS)?;
    let mut jobs = Vec::new();
    let mut lines = BTreeMap::new();
    for row in table.rows() {
        let job = read_job(&row)?;
        if let Some(earlier) = lines.insert(job.id, row.line()) {
            let problem = format!("is the number of line {earlier} too: every job needs its own");
            return Err(row.wrong("job_id", problem));
        }
        jobs.push(job);
    }
    if jobs.is_empty() {
        return Err(TraceError::Empty { file: file.to_owned(), header: header_of(COLUMNS) });
    }
    jobs.sort_by_key(|job| job.submit);
    Ok(jobs)
}

fn read_job(row: &Row<'_>) -> Result<Job, TraceError> {
    let submit = row.read("submit_s", field::seconds)?;
    let runtime = row.read("runtime_s", field::seconds)?;
    let walltime = row.read("walltime_request_s", |text| field::optional(text, field::seconds))?;
    let walltime = walltime.filter(|walltime| !walltime.rounded.is_zero());
    let nodes = row.read("nodes", positive_nodes)?;
    let gpus_per_node = row.read("gpus_per_node", |text| field::count(text, "GPUs").map(Gpus))?;
    let wanted = u64::from(nodes.0) * u64::from(gpus_per_node.0);
    row.read("gpus_total", |text| {
        let total: Option<u64> = field::optional(text, |text| field::count(text, "GPUs"))?;
        match total {
            Some(total) if total != wanted => Err(format!(
                "is not nodes x gpus_per_node = {wanted}: mend one of the three, or leave it empty"
            )),
            _ => Ok(()),
        }
    })?;
    let mem = |text: &str| field::optional(text, |text| field::count(text, "MiB"));
    let word = |column: &str| row.text(column).to_owned();
    Ok(Job {
        id: row.read("job_id", |text| field::count(text, "job numbers"))?,
        submit: Time(submit.rounded.0),
        submit_seconds: submit.exact,
        runtime: runtime.rounded,
        runtime_seconds: runtime.exact,
        walltime: walltime.map(|walltime| walltime.rounded),
        walltime_seconds: walltime.map(|walltime| walltime.exact),
        nodes,
        gpus_per_node,
        gpu_fraction: row
            .read("gpu_fraction_milli", |text| fraction(text, nodes, gpus_per_node))?,
        gpu_models: row.read("gpu_model", parse_gpu_models)?,
        cpus: row.read("cpus", |text| field::optional(text, field::cpus))?,
        mem_mib: row.read("mem_mib", mem)?,
        user: word("user"),
        group: word("group"),
        qos: word("qos"),
        account: word("account"),
        kind: word("kind"),
        status: word("final_status"),
        constraint: row.read("constraint", constraints)?,
    })
}

fn positive_nodes(text: &str) -> Result<Nodes, Problem> {
    match field::count(text, "nodes")? {
        0 => Err("is no node: a job runs on at least 1".to_owned()),
        count => Ok(Nodes(count)),
    }
}

/// The fraction of each GPU; a whole one if the column is empty.
fn fraction(text: &str, nodes: Nodes, gpus_per_node: Gpus) -> Result<GpuMilli, Problem> {
    let whole = if gpus_per_node.0 == 0 { 0 } else { GpuMilli::WHOLE.0 };
    let milli = field::optional(text, |text| field::count(text, "thousandths"))?.unwrap_or(whole);
    match (gpus_per_node.0, milli) {
        (0, 1..) => Err("is a share of no GPU: write 0, or gpus_per_node above 0".to_owned()),
        (1.., 0) => Err("is nothing of its GPUs: write 1 to 1000, or gpus_per_node 0".to_owned()),
        (_, 1001..) => Err("is more than a whole GPU: 1000 is all of one".to_owned()),
        (1.., 1..=999) if nodes.0 > 1 => Err(
            "is a share of GPUs on several nodes: those of one node are shared; write 1000, or \
                 nodes 1"
                .to_owned(),
        ),
        _ => Ok(GpuMilli(milli)),
    }
}

fn parse_gpu_models(text: &str) -> Result<Vec<String>, Problem> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let models: Vec<String> = text.split('|').map(|model| model.trim().to_owned()).collect();
    if models.iter().any(String::is_empty) {
        return Err("has an empty model: write A or A|B".to_owned());
    }
    Ok(models)
}

fn constraints(text: &str) -> Result<BTreeMap<String, String>, Problem> {
    let mut constraints = BTreeMap::new();
    for part in text.split(';').filter(|part| !part.trim().is_empty()) {
        let Some((key, value)) = part.split_once('=').filter(|(key, _)| !key.trim().is_empty())
        else {
            return Err(format!("has the part `{part}`: write key=value;key=value"));
        };
        let (key, value) = (key.trim(), value.trim());
        if key == MAX_PER_NODE && !value.parse::<u32>().is_ok_and(|most| most > 0) {
            return Err(format!("has {MAX_PER_NODE}={value}: write a whole number above 0"));
        }
        if constraints.insert(key.to_owned(), value.to_owned()).is_some() {
            return Err(format!("has `{key}` twice: keep one"));
        }
    }
    Ok(constraints)
}

/// The jobs as a job file.
#[must_use]
pub fn write_jobs(jobs: &[Job]) -> String {
    // The last column is our own; other traces are written as they were read.
    let has_accounts = jobs.iter().any(|job| !job.account.is_empty());
    let width = COLUMNS.len() - usize::from(!has_accounts);
    let mut text = header_of(&COLUMNS[..width]);
    text.push('\n');
    for job in jobs {
        push_row(&mut text, to_row(job)[..width].iter().map(String::as_str));
    }
    text
}

fn to_row(job: &Job) -> [String; 18] {
    let constraint: Vec<String> =
        job.constraint.iter().map(|(key, value)| format!("{key}={value}")).collect();
    [
        job.id.to_string(),
        job.submit_seconds.to_string(),
        job.runtime_seconds.to_string(),
        job.walltime_seconds.map_or_else(String::new, |seconds| seconds.to_string()),
        job.nodes.to_string(),
        (u64::from(job.nodes.0) * u64::from(job.gpus_per_node.0)).to_string(),
        job.gpus_per_node.to_string(),
        job.gpu_fraction.to_string(),
        job.gpu_models.join("|"),
        job.cpus.map_or_else(String::new, |cpus| show_thousandths(cpus.0.into())),
        job.mem_mib.map_or_else(String::new, |mem| mem.to_string()),
        job.user.clone(),
        job.group.clone(),
        job.qos.clone(),
        job.kind.clone(),
        job.status.clone(),
        constraint.join(";"),
        job.account.clone(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CpuMilli, Estimates};
    use common::time::Span;
    use proptest::prelude::*;

    const HEADER: &str = "job_id,submit_s,runtime_s,walltime_request_s,nodes,gpus_total,\
        gpus_per_node,gpu_fraction_milli,gpu_model,cpus,mem_mib,user,group,qos,kind,final_status,\
        constraint,account\n";

    #[test]
    fn a_full_line_is_read_into_every_field() {
        let line = "7,4.709164,265.8,399,1,1,1,460,V100|A10,11.908,47104,u1,app_0,LS,inference,\
            running,role=HN;max_per_node=8,red\n";
        let jobs = read_jobs("j.csv", format!("{HEADER}{line}").as_bytes()).unwrap();
        let job = &jobs[0];
        assert_eq!((job.id, job.submit, job.runtime), (7, Time(4709), Span(265_800)));
        assert_eq!((job.walltime, job.cpus), (Some(Span(399_000)), Some(CpuMilli(11_908))));
        assert_eq!(job.gpu_models, ["V100", "A10"]);
        assert_eq!((job.gpu_milli_total(), job.max_per_node()), (GpuMilli(460), Some(8)));
        assert_eq!((job.user.as_str(), job.status.as_str()), ("u1", "running"));
        assert_eq!(job.account, "red");
        assert_eq!(job.submit_seconds, 4.709164);
    }

    #[test]
    fn five_columns_are_enough_and_gpus_are_whole() {
        let text = b"nodes,job_id,gpus_per_node,runtime_s,submit_s\n2,9,8,60,5\n1,3,0,10,1\n";
        let jobs = read_jobs("j.csv", text).unwrap();
        assert_eq!(jobs.iter().map(|job| job.id).collect::<Vec<_>>(), [3, 9], "by submit time");
        assert_eq!(jobs[1].gpu_milli_total(), GpuMilli(16_000));
        assert_eq!(jobs[0].gpu_milli_total(), GpuMilli(0));
        assert_eq!(jobs[1].estimate(Estimates::Request), Span(120_000));
        assert_eq!(jobs[1].estimate(Estimates::Exact), Span(60_000));
    }

    #[test]
    fn a_shorter_span_between_submissions_keeps_the_start() {
        let text = b"nodes,job_id,gpus_per_node,runtime_s,submit_s\n2,9,8,60,120.003\n";
        let mut job = read_jobs("j.csv", text).unwrap().remove(0);
        job.scale_submit(1.0 / 1.2);
        assert_eq!((job.submit, job.runtime), (Time(100_003), Span(60_000)));
    }

    fn refusal(columns: &str, line: &str) -> String {
        let text = format!("job_id,submit_s,runtime_s,nodes,gpus_per_node{columns}\n{line}\n");
        read_jobs("j.csv", text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn each_mistake_names_line_column_value_and_way_out() {
        for (columns, line, expected) in [
            ("", "1,-5,1,1,1", "line 2, column submit_s: `-5` is negative: seconds begin at 0"),
            ("", "1,0,,1,1", "line 2, column runtime_s: `` is empty: every line needs a value"),
            ("", "1,0,soon,1,1", "column runtime_s: `soon` is not a number: write seconds"),
            ("", "1,0,1,0,1", "column nodes: `0` is no node"),
            ("", "1,0,1,1,1\n1,0,1,1,1", "line 3, column job_id: `1` is the number of line 2 too"),
            (",gpus_total", "1,0,1,2,8,8", "`8` is not nodes x gpus_per_node = 16"),
            (",gpu_fraction_milli", "1,0,1,2,1,500", "`500` is a share of GPUs on several nodes"),
            (",gpu_fraction_milli", "1,0,1,1,0,500", "`500` is a share of no GPU"),
            (",gpu_fraction_milli", "1,0,1,1,1,0", "`0` is nothing of its GPUs"),
            (",gpu_fraction_milli", "1,0,1,1,1,1001", "`1001` is more than a whole GPU"),
            (",gpu_model", "1,0,1,1,1,A||B", "`A||B` has an empty model"),
            (",constraint", "1,0,1,1,1,max_per_node=0", "has max_per_node=0: write a whole"),
            (",constraint", "1,0,1,1,1,fast", "has the part `fast`: write key=value"),
            (",constraint", "1,0,1,1,1,a=1;a=2", "has `a` twice: keep one"),
            (",walltime_request_s", "1,0,1,1,1,-1", "column walltime_request_s: `-1` is negative"),
            (",cpus", "1,0,1,1,1,9999999", "`9999999` is more CPUs than one node has"),
            (",colour", "1,0,1,1,1,red", "the column `colour` is unknown; known are job_id, "),
        ] {
            let error = refusal(columns, line);
            assert!(error.contains(expected), "{error}\nlacks: {expected}");
            assert!(error.starts_with("failed to read j.csv, line "), "{error}");
        }
    }

    #[test]
    fn a_file_without_jobs_says_how_one_begins() {
        let error = read_jobs("j.csv", HEADER.as_bytes()).unwrap_err().to_string();
        assert!(
            error.contains("j.csv: it is empty; a trace begins with the line `job_id,submit_s")
        );
    }

    /// A decimal number of seconds with up to six decimals, as in traces.
    fn decimal() -> impl Strategy<Value = String> {
        (0u64..100_000_000, 0u64..1_000_000)
            .prop_map(|(whole, micros)| format!("{whole}.{micros:06}"))
    }

    fn line() -> impl Strategy<Value = String> {
        let times = (decimal(), decimal(), proptest::option::of(decimal()));
        let sizes = (1u32..2000, 0u32..9, 1u32..=1000);
        let words = ("([A-Z][a-z0-9 ]{0,5}(\\|[A-Z0-9]{1,5}){0,2})?", "[a-z,\"\n ]{0,9}");
        let rest = (proptest::option::of(any::<u32>()), proptest::option::of(any::<u64>()));
        let constraint = "(b=[a-z0-9]{0,3};max_per_node=[1-9])?";
        (times, sizes, words, rest, constraint).prop_map(
            |((submit, run, walltime), (nodes, gpus, milli), (model, user), (cpus, mem), ends)| {
                let (nodes, milli) = match gpus {
                    0 => (nodes, 0),
                    1 if milli < 1000 => (1, milli),
                    _ => (nodes, 1000),
                };
                let show = |value: Option<String>| value.unwrap_or_default();
                let walltime = show(walltime);
                let cpus = show(cpus.map(|cpus| show_thousandths(cpus.into())));
                let mem = show(mem.map(|mem| mem.to_string()));
                let user = user.replace('"', "\"\"");
                format!(
                    "{submit},{run},{walltime},{nodes},,{gpus},{milli},{model},{cpus},{mem},\
                     \"{user}\",g,,training,,{ends},red"
                )
            },
        )
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(lines in proptest::collection::vec(line(), 1..20)) {
            let rows: Vec<String> =
                lines.iter().enumerate().map(|(id, line)| format!("{id},{line}\n")).collect();
            let text = format!("{HEADER}{}", rows.concat());
            let jobs = read_jobs("j.csv", text.as_bytes()).unwrap();
            prop_assert_eq!(jobs.len(), lines.len());
            let written = write_jobs(&jobs);
            prop_assert_eq!(&read_jobs("j.csv", written.as_bytes()).unwrap(), &jobs);
        }

        #[test]
        fn no_bytes_make_the_reader_fall_over(
            bytes in proptest::collection::vec(any::<u8>(), 0..300),
        ) {
            let text = [HEADER.as_bytes(), &bytes].concat();
            let _ = read_jobs("j.csv", &text);
            let gzip = [&[0x1f, 0x8b, 8][..], &bytes].concat();
            prop_assert!(read_jobs("j.csv.gz", &gzip).is_err());
        }
    }
}
