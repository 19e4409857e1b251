//! kantctl run through a link with the name of a Slurm command.

use crate::support::{Finished, TestController, finish};
use tokio::process::Child;

/// Runs the Slurm command `words[0]` to its end.
pub async fn slurm(controller: &TestController, words: &[&str]) -> Finished {
    slurm_with(controller, words, &[]).await
}

pub async fn slurm_with(
    controller: &TestController,
    words: &[&str],
    environment: &[(&str, &str)],
) -> Finished {
    finish(started(controller, words, environment).await).await
}

pub async fn started(
    controller: &TestController,
    words: &[&str],
    environment: &[(&str, &str)],
) -> Child {
    let link = controller.dir.path().join("bin").join(words[0]);
    if !link.exists() {
        let bin = link.parent().unwrap().to_str().unwrap().to_owned();
        controller.kantctl(&["install-slurm-names", &bin]).await.good();
    }
    let mut command = controller.command(&words[1..]);
    let mut linked = tokio::process::Command::new(&link);
    linked.args(&words[1..]).current_dir(controller.dir.path()).env_clear();
    for (name, text) in command.as_std_mut().get_envs() {
        linked.env(name, text.unwrap());
    }
    linked.envs(environment.iter().copied()).env("TZ", "UTC");
    linked.stdin(std::process::Stdio::null());
    linked.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    linked.spawn().unwrap()
}
