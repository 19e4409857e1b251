//! Submission of many jobs in one request: each line is accepted or refused on its own and durable
//! before it is acknowledged. Nothing is submitted if a line is invalid.

use e2e::{Cluster, ClusterOptions, Person};

#[test]
fn a_batch_is_accepted_line_by_line_and_survives_a_crash_of_the_controller() -> anyhow::Result<()> {
    let mut cluster = Cluster::start(ClusterOptions::default())?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let file = |name: &str, text: String| -> anyhow::Result<String> {
        let path = kantctl.dir().join(name);
        std::fs::write(&path, text)?;
        Ok(path.display().to_string())
    };
    let script = file("train.sh", "#!/bin/sh\n#KANT --hold\necho $1\n".to_owned())?;
    let line = |number: usize| match number {
        7 => format!("-p nowhere {script}\n"),
        8 => "{\"wrap\": \"echo here\", \"hold\": true, \"job_name\": \"eight\"}\n".to_owned(),
        9 => "# a remark\n\n".to_owned(),
        number => format!("-J seed-{number} {script} --seed {number}\n"),
    };
    // More than fits into one request.
    let batch = file("jobs.txt", (1..=1500).map(line).collect())?;

    let answer = kantctl.run(&["submit", "--parsable", "--batch", &batch, "--mem", "16M"])?;
    cluster.kill_controller()?;
    assert_eq!(answer.code, 1, "one line was refused: {}", answer.stderr);
    assert!(answer.stderr.contains("1 of 1499 jobs"), "{}", answer.stderr);
    let refused = "line 7: there is no queue `nowhere`; there are ";
    assert!(answer.stderr.contains(refused), "{}", answer.stderr);
    let ids: Vec<u32> = answer.stdout.lines().map(str::parse).collect::<Result<_, _>>()?;
    assert_eq!(ids.len(), 1498);
    assert!(ids.is_sorted(), "lines are accepted in their order");

    cluster.start_controller()?;
    let kept: common::wire::api::JobList = kantctl.json(&["queue", "--json"])?;
    let mut kept: Vec<u32> = kept.jobs.iter().map(|job| job.key.job.0).collect();
    kept.sort_unstable();
    assert_eq!(kept, ids, "exactly the acknowledged jobs exist");
    assert_eq!(kantctl.job(&ids[6].to_string())?.ask.name, "eight");

    let bad = file("bad.txt", format!("{script}\n--gpus=many {script}\n{script}\n"))?;
    let answer = kantctl.run(&["submit", "--batch", &bad])?;
    assert_eq!(answer.code, 2, "{answer:?}");
    assert!(answer.stderr.contains("line 2: ") && answer.stderr.contains("nothing was submitted"));
    let after: common::wire::api::JobList = kantctl.json(&["queue", "--json"])?;
    assert_eq!(after.jobs.len(), ids.len());
    Ok(())
}
