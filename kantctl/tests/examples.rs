//! Submission of the scripts in etc/examples, as their first lines and README describe it.

use crate::support::{TestController, json};
use common::resource::GpuRequest;
use common::unit::{Gpus, Tasks};
use common::wire::api::SubmitRequest;
use std::path::PathBuf;

fn example(name: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../etc/examples");
    folder.join(name).to_str().unwrap().to_owned()
}

async fn submitted(words: &[&str]) -> SubmitRequest {
    let controller = TestController::answering(|_, _| json(serde_json::json!({ "job": 1 })));
    let done = controller.kantctl(&[&["submit"], words].concat()).await;
    assert_eq!((done.good(), done.err.as_str()), ("Submitted job 1\n", ""), "{words:?}");
    serde_json::from_value(controller.requests()[0].body.clone()).unwrap()
}

#[tokio::test]
async fn every_example_is_accepted_and_says_how_to_submit_it() {
    for name in ["train.sh", "gang.sh", "sweep.sh", "too-much-memory.sh", "too-long.sh"] {
        let request = submitted(&[&example(name)]).await;
        assert!(request.script.contains(&format!("kantctl submit {name}")), "{name}");
        assert_eq!(Some(request.ask.name.as_str()), name.strip_suffix(".sh"));
        assert!(request.ask.time_limit.is_some() && request.ask.stdout.is_some(), "{name}");
    }
}

#[tokio::test]
async fn the_variations_in_the_readme_have_their_described_meaning() {
    let train = submitted(&["--gres=none", &example("train.sh"), "600", "1"]).await.ask;
    assert_eq!((train.request.gpus, train.args), (None, vec!["600".to_owned(), "1".to_owned()]));
    let gang = submitted(&["--gpus-per-task=1", &example("gang.sh")]).await.ask.request;
    assert_eq!((gang.tasks, gang.gpus), (Tasks(4), Some(GpuRequest::PerTask(Gpus(1)))));
    let sweep = submitted(&["--array=0-3%1", &example("sweep.sh")]).await.ask;
    assert_eq!(sweep.array.unwrap().to_string(), "0-3%1");
}
