//! Certificates of nodes are renewed, and one is revoked, while the cluster works: no submission
//! fails, and every controller refuses the revoked one.

use common::wire::api::{IssuedCertificate, RenewRequest};
use e2e::{Controllers, under_load, wait_for};
use net::{Client, ClientError, Credentials, Endpoint, Identity, NewKey};

/// A client with the certificate in the spool of a node.
fn client(controllers: &Controllers, node: &str, controller: &str) -> anyhow::Result<Client> {
    let spool = controllers.dir().join(format!("spool-{node}"));
    let identity = Identity::node(&Credentials::load(&spool)?)?;
    Ok(Client::new(Endpoint::Tls { addr: controllers.address(controller), identity }))
}

async fn renew(client: &Client) -> anyhow::Result<Result<IssuedCertificate, ClientError>> {
    let request = RenewRequest { key: NewKey::generate()?.public_hex() };
    Ok(client.post("/v1/enrolments/renew", &request).await)
}

#[test]
fn renewals_and_a_revocation_under_load_fail_no_submission() -> anyhow::Result<()> {
    let mut controllers = Controllers::three()?;
    for node in ["n1", "n2", "n3"] {
        controllers.start_node(node)?;
    }
    controllers.wait_for_nodes("a")?;
    let (leader, _) = controllers.leader()?;
    let kantctl = controllers.kantctl(&leader)?;
    // A job there would wait for its node.
    kantctl.ok(&["drain", "n3", "--reason", "test"])?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (renewed, record) = under_load(&mut controllers, &["n1", "n2"], |controllers, load| {
        load.wait_for_more(10)?;
        let mut renewed = 0;
        for controller in ["a", "b", "c"] {
            for node in ["n1", "n2", "n3"] {
                let client = client(controllers, node, controller)?;
                let issued = runtime.block_on(renew(&client))??;
                assert_eq!(issued.name.as_str(), node);
                renewed += 1;
            }
        }
        load.wait_for_more(10)?;
        kantctl.ok(&["admin", "node", "revoke", "n3"])?;
        for controller in ["a", "b", "c"] {
            let client = client(controllers, "n3", controller)?;
            wait_for("the refusal", || match runtime.block_on(renew(&client))? {
                Err(ClientError::Refused { error, .. }) => {
                    assert_eq!(error.code, "certificate_revoked");
                    Ok(Some(()))
                }
                _ => Ok(None),
            })?;
        }
        load.wait_for_more(20)?;
        Ok(renewed)
    })?;
    assert_eq!(renewed, 9);
    record.judge(&controllers, &leader)?;
    Ok(())
}
