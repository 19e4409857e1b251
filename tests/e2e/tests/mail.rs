//! `--mail-type` on real daemons, with a mail program that records the mail.

use anyhow::Context as _;
use common::config::ControllerConfig;
use e2e::{Cluster, ClusterOptions, Controllers, Person, wait_for};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

fn with_mailer(config: &mut ControllerConfig) {
    let dir = Path::new(&config.state_dir).parent().map(Path::to_owned).unwrap_or_default();
    config.mailer = dir.join("mailer").display().to_string();
    config.mail_domain = "example.org".to_owned();
}

/// Writes the mail program, and makes the directory for recorded mail.
fn mailer(dir: &Path) -> anyhow::Result<PathBuf> {
    let letters = dir.join("letters");
    fs::create_dir(&letters)?;
    // The program writes there as any user.
    fs::set_permissions(&letters, fs::Permissions::from_mode(0o777))?;
    let program = dir.join("mailer");
    let script = format!(
        "#!/bin/sh\ncd {}\n{{ printf '%s\\n' \"$@\"; cat; \
         echo \"$SLURM_JOB_ID $SLURM_JOB_STATE\"; echo \"as $(id -u)\"; }} >part.$$\n\
         mv part.$$ letter.$$\n",
        letters.display()
    );
    fs::write(&program, script)?;
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
    Ok(letters)
}

/// A cluster with one node, and the directory of its recorded mail.
fn cluster() -> anyhow::Result<(Cluster, PathBuf)> {
    let controller: Option<fn(&mut ControllerConfig)> = Some(with_mailer);
    let cluster =
        Cluster::start(ClusterOptions { controller, ..ClusterOptions::cpu_nodes(&["n1"]) })?;
    let letters = mailer(cluster.dir())?;
    Ok((cluster, letters))
}

/// The recorded mail, by subject.
fn letters(dir: &Path) -> anyhow::Result<Vec<(String, String)>> {
    let mut letters = Vec::new();
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        if path.file_stem().is_some_and(|stem| stem == "letter") {
            let text = fs::read_to_string(path)?;
            let subject = text.lines().nth(1).unwrap_or_default().to_owned();
            letters.push((subject, text));
        }
    }
    letters.sort();
    Ok(letters)
}

fn wait_for_letters(dir: &Path, count: usize) -> anyhow::Result<Vec<(String, String)>> {
    wait_for("the letters", || Ok(Some(letters(dir)?).filter(|letters| letters.len() >= count)))
}

#[test]
fn each_mail_is_sent_once_also_by_a_controller_that_replays_its_log() -> anyhow::Result<()> {
    let (mut cluster, dir) = cluster()?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let script = "#!/bin/sh\n#SBATCH --mail-type=BEGIN,END,FAIL --mail-user=ada\nexit 3\n";
    let id = kantctl.submit(&["--job-name=bad $(id)", "--mem=16M"], script)?;
    kantctl.finished(&id)?;
    let mails = wait_for_letters(&dir, 2)?;
    let [(began, _), (failed, text)] = mails.as_slice() else { anyhow::bail!("{mails:?}") };
    assert!(began.starts_with(&format!("kant Job_id={id} Name=bad $(id) Began, Queued time 00:")));
    assert!(failed.starts_with(&format!("kant Job_id={id} Name=bad $(id) Failed, Run time 00:")));
    assert!(failed.ends_with(", FAILED, ExitCode 3"), "{failed}");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!((lines.len(), lines[0], lines[2]), (5, "-s", "ada@example.org"), "{text}");
    assert_eq!(lines[3], format!("{id} FAILED"), "{text}");
    assert_ne!(lines[4], "as 0", "never root");

    // Mail is sent when the event happens and not when the log is replayed.
    cluster.kill_controller()?;
    cluster.start_controller()?;
    let array = kantctl.submit(
        &["--array=1-3", "--mem=16M", "--mail-type=ALL", "--mail-user=bob@x"],
        "#!/bin/sh\ntrue\n",
    )?;
    kantctl.finished(&format!("{array}_3"))?;
    let mails = wait_for_letters(&dir, 4)?;
    let subjects: Vec<&str> = mails.iter().map(|(subject, _)| subject.as_str()).collect();
    let summary = format!("kant Array Summary Job_id={array}_* ({array}) Name=script.sh");
    assert_eq!(subjects.len(), 4, "{subjects:?}");
    assert!(subjects[0].starts_with(&format!("{summary} Began, ")), "{subjects:?}");
    assert_eq!(subjects[1], format!("{summary} Ended, COMPLETED, ExitCode [0-0]"));
    assert_eq!(&subjects[2..], [began, failed]);
    Ok(())
}

#[test]
fn only_the_leader_sends_mail_and_its_successor_repeats_none() -> anyhow::Result<()> {
    let mut controllers = Controllers::three_with(with_mailer)?;
    // The program accesses it as any user.
    fs::set_permissions(controllers.dir(), fs::Permissions::from_mode(0o755))?;
    let dir = mailer(controllers.dir())?;
    controllers.start_node("n1")?;
    let (leader, _) = controllers.leader()?;
    let other = ["a", "b", "c"].into_iter().find(|name| *name != leader).context("no other")?;
    let kantctl = controllers.kantctl(other)?;
    let script = "#!/bin/sh\nwhile [ ! -e stop ]; do sleep 0.1; done\n";
    let asked = ["--mail-type=ALL", "--mail-user=ada", "--mem=16M"];
    let id = kantctl.submit(&asked, script)?;
    wait_for_letters(&dir, 1)?;
    controllers.kill(&leader)?;
    controllers.leader()?;
    fs::write(controllers.dir().join("stop"), "")?;
    kantctl.finished(&id)?;
    wait_for_letters(&dir, 2)?;
    // Another job: by its end, repeated mail about the first would have been sent.
    let last = kantctl.submit(&["--mail-type=END", "--mail-user=ada", "--mem=16M"], script)?;
    kantctl.finished(&last)?;
    let mails = wait_for_letters(&dir, 3)?;
    let subjects: Vec<&str> = mails.iter().map(|(subject, _)| subject.as_str()).collect();
    let begins = |place: usize, text: String| subjects[place].starts_with(&text);
    assert_eq!(subjects.len(), 3, "{subjects:?}");
    assert!(begins(0, format!("kant Job_id={id} Name=script.sh Began, ")), "{subjects:?}");
    assert!(begins(1, format!("kant Job_id={id} Name=script.sh Ended, ")), "{subjects:?}");
    assert!(begins(2, format!("kant Job_id={last} Name=script.sh Ended, ")), "{subjects:?}");
    Ok(())
}

#[test]
fn a_failing_mail_program_delays_nothing_and_a_missing_one_is_reported_at_submission()
-> anyhow::Result<()> {
    let (cluster, _) = cluster()?;
    fs::remove_file(cluster.dir().join("mailer"))?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let id = kantctl.submit(&["--mail-type=END", "--mem=16M"], "#!/bin/sh\ntrue\n")?;
    kantctl.finished(&id)?;
    wait_for("the log to say so", || {
        Ok(cluster.controller_log().contains("failed to send mail").then_some(()))
    })?;

    let cluster = Cluster::start(ClusterOptions::cpu_nodes(&["n1"]))?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let answer = kantctl.run(&["submit", "--mail-type=END", "--wrap", "true"])?;
    assert!(answer.code == 0 && answer.stderr.contains("this cluster sends no mail"), "{answer:?}");
    let silent = kantctl.run(&["submit", "--mail-type=NONE", "--wrap", "true"])?;
    assert_eq!((silent.code, silent.stderr.as_str()), (0, ""), "{silent:?}");
    Ok(())
}
