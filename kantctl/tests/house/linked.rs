//! kantctl by a link of one of Slurm's names, as its users run it.

use crate::house::{Done, House, finish};
use tokio::process::Child;

/// Runs it as if by a link of this name.
pub async fn slurm(house: &House, words: &[&str]) -> Done {
    slurm_with(house, words, &[]).await
}

pub async fn slurm_with(house: &House, words: &[&str], environment: &[(&str, &str)]) -> Done {
    finish(started(house, words, environment).await).await
}

pub async fn started(house: &House, words: &[&str], environment: &[(&str, &str)]) -> Child {
    let link = house.dir.path().join("bin").join(words[0]);
    if !link.exists() {
        let bin = link.parent().unwrap().to_str().unwrap().to_owned();
        house.kantctl(&["install-slurm-names", &bin]).await.good();
    }
    let mut command = house.command(&words[1..]);
    let mut linked = tokio::process::Command::new(&link);
    linked.args(&words[1..]).current_dir(house.dir.path()).env_clear();
    for (name, text) in command.as_std_mut().get_envs() {
        linked.env(name, text.unwrap());
    }
    linked.envs(environment.iter().copied()).env("TZ", "UTC");
    linked.stdin(std::process::Stdio::null());
    linked.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    linked.spawn().unwrap()
}
