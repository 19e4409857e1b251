//! When and where jobs ran, one job per line, in the trace's order. A job that did not start has
//! empty fields.

use super::{NodeIndex, Outcome};
use common::time::Time;
use trace::{push_row, show_thousandths};

/// `job_id,start_s,end_s,nodes`; the nodes' names are joined by `|`.
#[must_use]
pub fn jobs_csv(outcome: &Outcome) -> String {
    let name = |node: &NodeIndex| {
        outcome.nodes.get(node.0 as usize).map_or("?", |node| node.name.as_str())
    };
    let mut text = "job_id,start_s,end_s,nodes\n".to_owned();
    for job in &outcome.jobs {
        let (start, end) = (show(job.start), show(job.end));
        let nodes: Vec<&str> = job.nodes.iter().map(name).collect();
        push_row(&mut text, [job.id.to_string().as_str(), &start, &end, &nodes.join("|")]);
    }
    text
}

fn show(time: Option<Time>) -> String {
    time.map_or_else(String::new, |time| show_thousandths(time.0))
}

#[cfg(test)]
mod tests {
    use super::super::stretch::tests::two_nodes;
    use super::*;

    #[test]
    fn every_job_has_its_line_and_times_keep_their_milliseconds() {
        let mut outcome = two_nodes();
        outcome.jobs[0].start = Some(Time(4709));
        outcome.jobs[2].start = None;
        outcome.jobs[2].end = None;
        outcome.jobs[2].nodes.clear();
        assert_eq!(
            jobs_csv(&outcome),
            "job_id,start_s,end_s,nodes\n1,4.709,100,a\n2,0,50,b\n3,,,\n"
        );
    }
}
