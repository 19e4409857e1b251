//! Tests of the queue and of runs of a mail program.

use super::*;
use std::os::unix::fs::PermissionsExt;
use std::time::Instant;

/// A program in a world-writable directory, because it runs as another user if the tests run as
/// root.
fn program(script: &str) -> (tempfile::TempDir, Mailer) {
    let dir = tempfile::tempdir().unwrap();
    let open = std::fs::Permissions::from_mode(0o777);
    std::fs::set_permissions(dir.path(), open.clone()).unwrap();
    let path = dir.path().join("mailer");
    let here = dir.path().display();
    std::fs::write(&path, format!("#!/bin/sh\ncd {here}\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, open).unwrap();
    let mailer = path.display().to_string();
    let mail_domain = "example.org".to_owned();
    let config = ControllerConfig { mailer, mail_domain, ..ControllerConfig::default() };
    (dir, Mailer::from_config(&config).unwrap().unwrap())
}

fn notification() -> Notification {
    Notification {
        to: vec!["ada".to_owned(), "bob@x".to_owned()],
        subject: "kant Job_id=1 Name=$(touch evil) `id` Began".to_owned(),
        variables: vec![("SLURM_JOB_ID", "1".to_owned())],
    }
}

#[test]
fn messages_beyond_the_queue_are_dropped() {
    let (sender, mut receiver) = mpsc::channel(WAITING_MAX);
    let queue = MailQueue(Some(sender));
    queue.enqueue(vec![notification(); WAITING_MAX + 3]);
    assert_eq!(receiver.len(), WAITING_MAX);
    receiver.try_recv().unwrap();
    queue.enqueue(vec![notification()]);
    assert_eq!(receiver.len(), WAITING_MAX, "the queue had space again");
    MailQueue::default().enqueue(vec![notification()]);
}

#[tokio::test]
async fn a_job_that_asks_for_mail_where_none_is_sent_gets_a_warning() {
    let asks = |on: &str| Ask {
        mail: Some(common::job::Mail { on: on.parse().unwrap(), to: None }),
        ..Ask::default()
    };
    let none = Mailer::from_config(&ControllerConfig::default()).unwrap();
    assert!(none.is_none(), "no program is configured");
    let nowhere = MailQueue::start(none);
    assert!(nowhere.warning(&asks("END")).unwrap().contains("`mailer`"));
    assert_eq!((nowhere.warning(&asks("NONE")), nowhere.warning(&Ask::default())), (None, None));
    assert_eq!(MailQueue(Some(mpsc::channel(1).0)).warning(&asks("END")), None);
}

#[tokio::test]
async fn the_program_gets_the_message_as_data_and_no_shell_reads_it() {
    let script = "{ printf '%s\\n' \"$@\"; cat; env | grep -v ^PWD= | grep -v ^_= | \
                  grep -v ^SHLVL= | grep -v ^OLDPWD= | sort; id -u; } >output";
    let (dir, mailer) = program(script);
    assert!(mailer.run(&notification()).await.unwrap().success());
    let output = std::fs::read_to_string(dir.path().join("output")).unwrap();
    let (said, uid) = output.trim_end().rsplit_once('\n').unwrap();
    assert_eq!(
        said,
        "-s\nkant Job_id=1 Name=$(touch evil) `id` Began\nada@example.org,bob@x\nHOME=/\n\
         LANG=C.UTF-8\nPATH=/usr/sbin:/usr/bin:/sbin:/bin\nSLURM_JOB_ID=1"
    );
    assert_ne!(uid, "0", "not as root");
    assert!(!dir.path().join("evil").exists());
}

#[tokio::test]
async fn a_failure_is_reported_and_a_hanging_program_is_killed_with_its_children() {
    let (_dir, mailer) = program("exit 3");
    assert_eq!(mailer.run(&notification()).await.unwrap().code(), Some(3));

    let (dir, mailer) = program("sleep 600 & echo $! >child; wait");
    let mailer = Mailer { timeout: Duration::from_millis(500), ..mailer };
    let begun = Instant::now();
    let error = mailer.run(&notification()).await.unwrap_err().to_string();
    assert!(error.contains("did not end within"), "{error}");
    let child = std::fs::read_to_string(dir.path().join("child")).unwrap();
    let stat = format!("/proc/{}/stat", child.trim());
    while std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z ")) {
        assert!(begun.elapsed() < Duration::from_secs(20), "{child} still runs");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }

    let (dir, mailer) = program("");
    std::fs::remove_file(dir.path().join("mailer")).unwrap();
    let error = mailer.run(&notification()).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotFound, "{error}");
}

#[tokio::test]
async fn a_few_messages_are_sent_at_a_time_and_a_failure_stops_none() {
    let (dir, mailer) = program(
        "mkdir running.$$; ls -d running.* | wc -l >>at_once; sleep 0.1; rmdir running.$$; exit 1",
    );
    let (sender, receiver) = mpsc::channel(WAITING_MAX);
    let queue = MailQueue(Some(sender));
    queue.enqueue(vec![notification(); 20]);
    drop(queue);
    send_all(mailer, receiver).await;
    let at_once = std::fs::read_to_string(dir.path().join("at_once")).unwrap();
    let most = at_once.lines().map(|line| line.trim().parse::<u32>().unwrap());
    assert_eq!(most.clone().count(), 20);
    assert!(most.max().unwrap() <= PROGRAMS_MAX, "{at_once}");
}
