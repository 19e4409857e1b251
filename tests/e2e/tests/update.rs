//! `kantctl update` on real daemons: a job that waits starts as it was changed. Never what can be
//! changed and by whom in all its forms: tests/scenarios/update.txt has that.

use common::job::{Outcome, Phase};
use common::reason::WaitReason;
use common::resource::GpuRequest;
use common::unit::Gpus;
use e2e::{Cluster, ClusterOptions, Machine, Person, wait_for};

const UNTIL_TOLD: &str = "#!/bin/sh\nwhile [ ! -e enough ]; do sleep 0.1; done\n";

#[test]
fn a_waiting_job_that_is_changed_starts_as_it_is_then_and_a_running_one_is_left_alone()
-> anyhow::Result<()> {
    let nodes = vec![("g1", Machine::with_gpus("pcie-2"))];
    let cluster = Cluster::start(ClusterOptions { nodes, ..ClusterOptions::default() })?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let runs = kantctl.submit(&["--gpus=1", "--mem=16M", "--time=1:00:00"], UNTIL_TOLD)?;
    wait_for("the first job to run", || {
        Ok(Some(kantctl.job(&runs)?).filter(|job| job.phase == Phase::Running).map(drop))
    })?;
    let tells = "#!/bin/sh\necho \"$CUDA_VISIBLE_DEVICES\" > given\n";
    let waits = kantctl.submit(&["--gpus=2", "--mem=16M", "--time=1:00:00"], tells)?;
    wait_for("a round to say why the other waits", || {
        let reason = kantctl.job(&waits)?.reason.map(|reason| reason.detail);
        Ok(reason.filter(|reason| matches!(reason, WaitReason::Resources { .. })).map(drop))
    })?;

    let refused = kantctl.run(&["update", &waits, "--gpus=64"])?;
    assert!(refused.code == 1 && refused.stderr.contains("64 GPUs"), "{refused:?}");
    let refused = kantctl.run(&["update", &runs, "--time=2:00:00"])?;
    assert!(refused.code == 1 && refused.stderr.contains("RUNNING"), "{refused:?}");
    if let Some(other) = Person::other() {
        let refused = cluster.kantctl(other)?.run(&["update", &waits, "--gpus=1"])?;
        assert!(refused.code == 1 && refused.stderr.contains("belongs to"), "{refused:?}");
    }
    let asked = kantctl.job(&waits)?.ask.request;
    assert_eq!(asked.gpus, Some(GpuRequest::Total(Gpus(2))), "nothing was changed");

    kantctl.ok(&["update", &waits, "--gpus=1", "--time=10"])?;
    let job = kantctl.finished(&waits)?;
    assert_eq!((job.outcome, job.attempt), (Some(Outcome::Completed), 1), "{job:?}");
    let given = std::fs::read_to_string(kantctl.dir().join("given"))?;
    assert_eq!(given.trim().split(',').count(), 1, "one GPU: {given}");
    assert!(!given.trim().is_empty(), "a GPU");
    let mut story = job.story.iter();
    assert!(story.any(|line| line.text.contains("changed by")), "{job:?}");
    std::fs::write(kantctl.dir().join("enough"), "")?;
    assert_eq!(kantctl.finished(&runs)?.outcome, Some(Outcome::Completed));
    Ok(())
}
