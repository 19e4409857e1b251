//! How a request gets to a replica, and its answer back.

use crate::support::{Client, Replica, Site, config, route, soon};

#[tokio::test]
async fn a_request_gets_to_a_replica_and_its_answer_back() {
    let replica = Replica::echo("one").await;
    let site = Site::start(config(), route(&[&replica])).await;
    let mut client = Client::connect(site.addr()).await;
    for _ in 0..3 {
        let answer = soon(client.get("/v1/models?x=1")).await;
        assert_eq!(answer.status(), 200);
        assert!(answer.body().starts_with("one\nGET /v1/models?x=1 HTTP/1.1\n"), "{answer:?}");
        let answer = soon(client.post("/v1/completions", "hello")).await;
        assert!(answer.body().ends_with("\n\nhello"), "{answer:?}");
    }
}
