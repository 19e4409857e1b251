//! `--mail-type` on real daemons, with a stand-in for the site's mail program that writes letters
//! down. Never which event means which letter in all its forms: kantctld/lead has that.

use anyhow::Context as _;
use common::config::ControllerConfig;
use e2e::{Cluster, ClusterOptions, Controllers, Machine, Person, wait_for};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

fn with_mailer(config: &mut ControllerConfig) {
    let dir = Path::new(&config.state_dir).parent().map(Path::to_owned).unwrap_or_default();
    config.mailer = dir.join("mailer").display().to_string();
    config.mail_domain = "example.org".to_owned();
}

/// Makes the program in this directory, and where it puts letters.
fn mailer(dir: &Path) -> anyhow::Result<PathBuf> {
    let letters = dir.join("letters");
    fs::create_dir(&letters)?;
    // Whoever the program runs as writes there.
    fs::set_permissions(&letters, fs::Permissions::from_mode(0o777))?;
    let program = dir.join("mailer");
    let script = format!(
        "#!/bin/sh\ncd {}\n{{ printf '%s\\n' \"$@\"; cat; echo \"as $(id -u)\"; }} >part.$$\n\
         mv part.$$ letter.$$\n",
        letters.display()
    );
    fs::write(&program, script)?;
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
    Ok(letters)
}

/// A cluster of one node, and where its letters come to.
fn cluster() -> anyhow::Result<(Cluster, PathBuf)> {
    let nodes = vec![("n1", Machine::cpu())];
    let controller: Option<fn(&mut ControllerConfig)> = Some(with_mailer);
    let cluster = Cluster::start(ClusterOptions { nodes, controller, ..Default::default() })?;
    let letters = mailer(cluster.dir())?;
    Ok((cluster, letters))
}

/// The letters that came, by their subjects.
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
fn users_are_written_to_once_also_by_a_controller_that_reads_its_log_again() -> anyhow::Result<()> {
    let (mut cluster, dir) = cluster()?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let script = "#!/bin/sh\n#SBATCH --mail-type=BEGIN,END,FAIL --mail-user=ada\nexit 3\n";
    let id = kantctl.submit(&["--job-name=bad $(id)", "--mem=16M"], script)?;
    kantctl.finished(&id)?;
    let told = wait_for_letters(&dir, 2)?;
    let [(began, _), (failed, text)] = told.as_slice() else { anyhow::bail!("{told:?}") };
    assert!(began.starts_with(&format!("kant Job_id={id} Name=bad $(id) Began, Queued time 00:")));
    assert!(failed.starts_with(&format!("kant Job_id={id} Name=bad $(id) Failed, Run time 00:")));
    assert!(failed.ends_with(", FAILED, ExitCode 3"), "{failed}");
    let mut lines = text.lines();
    assert_eq!((lines.next(), lines.nth(1)), (Some("-s"), Some("ada@example.org")), "{text}");
    let output = format!("Output:     {}/kant-{id}.out", kantctl.dir().display());
    for line in ["Nodes:      n1", "State:      FAILED", "Exit:       code 3", &output] {
        assert!(text.lines().any(|other| other == line), "{line} in {text}");
    }
    assert!(!text.contains("as 0\n"), "never root: {text}");

    // Its letters were written when that happened, and not by whoever reads of it.
    cluster.kill_controller()?;
    cluster.start_controller()?;
    let array = kantctl.submit(
        &["--array=1-3", "--mem=16M", "--mail-type=ALL", "--mail-user=bob@x"],
        "#!/bin/sh\ntrue\n",
    )?;
    kantctl.finished(&format!("{array}_3"))?;
    let told = wait_for_letters(&dir, 4)?;
    let subjects: Vec<&str> = told.iter().map(|(subject, _)| subject.as_str()).collect();
    let summary = format!("kant Array Summary Job_id={array}_* ({array}) Name=script.sh");
    assert_eq!(subjects.len(), 4, "{subjects:?}");
    assert!(subjects[0].starts_with(&format!("{summary} Began, ")), "{subjects:?}");
    assert_eq!(subjects[1], format!("{summary} Ended, COMPLETED, ExitCode [0-0]"));
    assert_eq!(&subjects[2..], [began, failed]);
    Ok(())
}

#[test]
fn of_several_controllers_the_one_that_leads_writes_and_the_next_one_nothing_again()
-> anyhow::Result<()> {
    let mut house = Controllers::three_with(with_mailer)?;
    // Whoever the program runs as walks in.
    fs::set_permissions(house.dir(), fs::Permissions::from_mode(0o755))?;
    let dir = mailer(house.dir())?;
    house.start_node("n1")?;
    let (leader, _) = house.leader()?;
    let other = ["a", "b", "c"].into_iter().find(|name| *name != leader).context("no other")?;
    let kantctl = house.kantctl(other)?;
    let script = "#!/bin/sh\nwhile [ ! -e stop ]; do sleep 0.1; done\n";
    let asked = ["--mail-type=ALL", "--mail-user=ada", "--mem=16M"];
    let id = kantctl.submit(&asked, script)?;
    wait_for_letters(&dir, 1)?;
    house.kill(&leader)?;
    house.leader()?;
    fs::write(house.dir().join("stop"), "")?;
    kantctl.finished(&id)?;
    wait_for_letters(&dir, 2)?;
    // One more job: whatever another controller had to say of the first would have come by then.
    let last = kantctl.submit(&["--mail-type=END", "--mail-user=ada", "--mem=16M"], script)?;
    kantctl.finished(&last)?;
    let told = wait_for_letters(&dir, 3)?;
    let subjects: Vec<&str> = told.iter().map(|(subject, _)| subject.as_str()).collect();
    let begins = |place: usize, text: String| subjects[place].starts_with(&text);
    assert_eq!(subjects.len(), 3, "{subjects:?}");
    assert!(begins(0, format!("kant Job_id={id} Name=script.sh Began, ")), "{subjects:?}");
    assert!(begins(1, format!("kant Job_id={id} Name=script.sh Ended, ")), "{subjects:?}");
    assert!(begins(2, format!("kant Job_id={last} Name=script.sh Ended, ")), "{subjects:?}");
    Ok(())
}

#[test]
fn a_program_that_fails_holds_nothing_up_and_one_that_is_not_there_is_told_of_at_submit()
-> anyhow::Result<()> {
    let (cluster, _) = cluster()?;
    fs::remove_file(cluster.dir().join("mailer"))?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let id = kantctl.submit(&["--mail-type=END", "--mem=16M"], "#!/bin/sh\ntrue\n")?;
    kantctl.finished(&id)?;
    wait_for("the log to say so", || {
        Ok(cluster.controller_log().contains("failed to send mail").then_some(()))
    })?;

    let nodes = vec![("n1", Machine::cpu())];
    let cluster = Cluster::start(ClusterOptions { nodes, ..ClusterOptions::default() })?;
    let kantctl = cluster.kantctl(Person::plain())?;
    let answer = kantctl.run(&["submit", "--mail-type=END", "--wrap", "true"])?;
    assert!(answer.code == 0 && answer.stderr.contains("this cluster sends no mail"), "{answer:?}");
    let silent = kantctl.run(&["submit", "--mail-type=NONE", "--wrap", "true"])?;
    assert_eq!((silent.code, silent.stderr.as_str()), (0, ""), "{silent:?}");
    Ok(())
}
