//! Invalid input of any kind gets a clear message and exit code, and disturbs nothing.

use common::job::Outcome;
use e2e::{Answer, Cluster, ClusterOptions, Person};
use std::process::Command;

fn assert_refused(answer: &Answer, code: i32, words: &[&str]) {
    assert_eq!(answer.code, code, "{answer:?}");
    assert!(answer.stdout.is_empty(), "stdout is for data: {answer:?}");
    for word in words {
        assert!(answer.stderr.contains(word), "no `{word}` in: {}", answer.stderr);
    }
}

#[test]
fn invalid_input_is_refused_with_a_clear_message_and_disturbs_nothing() -> anyhow::Result<()> {
    let mut cluster = Cluster::start(ClusterOptions::cpu_nodes(&["n1"]))?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let dir = kantctl.dir().to_owned();
    let file = |name: &str, bytes: &[u8]| -> anyhow::Result<String> {
        let path = dir.join(name);
        std::fs::write(&path, bytes)?;
        Ok(path.display().to_string())
    };
    let good = file("good.sh", b"#!/bin/sh\ntrue\n")?;

    let unknown = file("unknown.sh", b"#!/bin/sh\n#SBATCH --no-such-thing=1\ntrue\n")?;
    assert_refused(&kantctl.run(&["submit", &unknown])?, 2, &["unknown.sh", "--no-such-thing"]);
    assert_refused(&kantctl.run(&["submit", "--nonsense", &good])?, 2, &["--nonsense"]);
    assert_refused(&kantctl.run(&["submit", "-n", "-3", &good])?, 2, &["-3"]);
    assert_refused(&kantctl.run(&["submit", "-n", "0", &good])?, 2, &["--ntasks", "0"]);
    assert_refused(&kantctl.run(&["submit", "-c", "4000000", &good])?, 2, &["--cpus-per-task"]);
    assert_refused(&kantctl.run(&["submit", "-t", "soon", &good])?, 2, &["soon"]);
    assert_refused(&kantctl.run(&["submit", "no-such.sh"])?, 1, &["no-such.sh"]);
    let binary = file("binary", b"#!\x00\x01\x02")?;
    assert_refused(&kantctl.run(&["submit", &binary])?, 1, &["not a text file"]);
    let large = file("large.sh", &[b"#!/bin/sh\n", vec![b'#'; 4 << 20].as_slice()].concat())?;
    assert_refused(&kantctl.run(&["submit", &large])?, 1, &["more than 4194304"]);
    assert_refused(&kantctl.run(&["submit", "-p", "nowhere", &good])?, 1, &["nowhere", "default"]);

    let gpus = kantctl.run(&["submit", "--gpus=8", &good])?;
    assert_refused(&gpus, 1, &["8 GPUs", "--hold"]);
    let held = kantctl.ok(&["submit", "--parsable", "--hold", "--gpus=8", &good])?;
    kantctl.ok(&["cancel", held.trim()])?;

    assert_refused(&kantctl.run(&["show", "job", "999"])?, 1, &["no job 999"]);
    assert_refused(&kantctl.run(&["cancel", "999"])?, 1, &["no job 999"]);
    let id = kantctl.run(&["cancel", "x"])?;
    assert_refused(&id, 2, &["x", "a job's number"]);
    assert_refused(&kantctl.run(&["show", "node", "n9"])?, 1, &["no node n9"]);

    // Afterwards the cluster works as before.
    let id = kantctl.submit(&[], "#!/bin/sh\ntrue\n")?;
    kantctl.completed(&id)?;
    assert!(cluster.controller()?.ended()?.is_none() && cluster.node("n1")?.ended()?.is_none());
    Ok(())
}

#[test]
fn errors_that_only_the_node_can_detect_end_the_job_with_the_reason() -> anyhow::Result<()> {
    let cluster = Cluster::start(ClusterOptions::cpu_nodes(&["n1"]))?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let script = "#!/bin/sh\ntrue\n";
    for (flags, words) in [
        (&["--output=/proc/no/such.out"][..], &["/proc/no/such.out"][..]),
        (&["--chdir=/no/such/dir"], &["/no/such/dir"]),
        (&["--input=/no/such/input"], &["/no/such/input"]),
    ] {
        let job = kantctl.finished(&kantctl.submit(flags, script)?)?;
        assert_eq!(job.outcome, Some(Outcome::LaunchFailed), "{flags:?}: {job:?}");
        let message = job.message.unwrap_or_default();
        assert!(words.iter().all(|word| message.contains(word)), "{flags:?}: {message}");
    }
    let id = kantctl.submit(&[], "#!/no/such/interpreter\n")?;
    let job = kantctl.finished(&id)?;
    assert_eq!(job.outcome, Some(Outcome::LaunchFailed));
    let message = job.message.unwrap_or_default();
    assert!(message.contains("/no/such/interpreter"), "{message}");
    Ok(())
}

#[test]
fn malformed_configuration_stops_a_daemon_with_line_and_key() -> anyhow::Result<()> {
    let cluster = Cluster::start(ClusterOptions::default())?;
    for (program, text, words) in [
        (&cluster.binaries().kantctld, "clutser = \"x\"\n", &["clutser", "line 1"][..]),
        (&cluster.binaries().kantctld, "listen = [\n", &["line"]),
        (&cluster.binaries().kantctld, "[[queue]]\nname = \"a b\"\n", &["a b"]),
        (&cluster.binaries().kantd, "cpus = 7\n", &["cpus", "line 1"]),
        (&cluster.binaries().kantd, "\n\nname \n", &["line 3"]),
    ] {
        let file = cluster.dir().join("broken.toml");
        std::fs::write(&file, text)?;
        let output = Command::new(program).arg("--config").arg(&file).output()?;
        assert!(!output.status.success(), "{text}");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        for word in words.iter().chain(&["broken.toml"]) {
            assert!(stderr.contains(word), "no `{word}` in: {stderr}");
        }
        assert!(!stderr.contains("panicked"), "{stderr}");
    }
    Ok(())
}

#[test]
fn a_second_node_with_the_same_name_is_refused_and_the_first_stays() -> anyhow::Result<()> {
    let mut cluster = Cluster::start(ClusterOptions::cpu_nodes(&["n1"]))?;
    let config = cluster.dir().join("kantd-n1.toml");
    let text = std::fs::read_to_string(&config)?;
    let text = text.replace("spool-n1", "spool-twin").replace("kantd-n1.sock", "twin.sock");
    let twin_config = cluster.dir().join("twin.toml");
    std::fs::write(&twin_config, text)?;
    // As on a machine that was made from a copy of the first one's disk.
    let spool = |name: &str| cluster.dir().join(name);
    std::fs::create_dir(spool("spool-twin"))?;
    let credentials = "credentials.toml";
    std::fs::copy(spool("spool-n1").join(credentials), spool("spool-twin").join(credentials))?;
    let mut command = Command::new(&cluster.binaries().kantd);
    command.arg("--config").arg(&twin_config);
    let twin = e2e::Daemon::start(command, &cluster.dir().join("twin.log"))?;
    e2e::wait_for("the refusal", || Ok(twin.log().contains("already connected").then_some(())))?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let id = kantctl.submit(&[], "#!/bin/sh\ntrue\n")?;
    kantctl.completed(&id)?;
    assert!(cluster.node("n1")?.ended()?.is_none());
    Ok(())
}
