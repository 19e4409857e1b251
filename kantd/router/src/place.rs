//! The places of a service's connections, of which all clients and each may take some.

use crate::service::Service;
use common::sync::Mutex;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

/// The place of one open connection. Released when dropped.
#[derive(Debug)]
pub struct Place {
    service: Arc<Service>,
    client: IpAddr,
    clients: Arc<Clients>,
}

/// The connections through one listener, by client.
#[derive(Debug, Default)]
pub struct Clients(Mutex<BTreeMap<IpAddr, usize>>);

impl Place {
    /// A place, if there is one for this client.
    pub fn take(service: Arc<Service>, client: IpAddr, clients: &Arc<Clients>) -> Option<Self> {
        let limits = &service.config.client;
        let mut by_client = clients.0.lock();
        let own = by_client.get(&client).copied().unwrap_or_default();
        let is_free = own < limits.connections_each_max
            && service.stats.connections.try_add_one(limits.connections_max as u64);
        if !is_free {
            return None;
        }
        by_client.insert(client, own + 1);
        drop(by_client);
        Some(Self { service, client, clients: clients.clone() })
    }

    pub const fn service(&self) -> &Arc<Service> {
        &self.service
    }

    pub const fn client(&self) -> IpAddr {
        self.client
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.service.stats.connections.subtract_one();
        let mut by_client = self.clients.0.lock();
        match by_client.get_mut(&self.client) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(by_client.remove(&self.client)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{ClientLimits, Config};
    use common::service::table::Route;

    #[test]
    fn each_client_and_all_together_get_as_many_places_as_configured() {
        let client =
            ClientLimits { connections_max: 3, connections_each_max: 2, ..Default::default() };
        let config = Arc::new(Config { client, ..Default::default() });
        let route: Route =
            serde_json::from_str(r#"{"service":"a","listen":"127.0.0.1:0"}"#).unwrap();
        let service = Arc::new(Service::new(&route, config));
        let clients = Arc::default();
        let take = |last| Place::take(service.clone(), IpAddr::from([10, 0, 0, last]), &clients);
        let first = take(1).unwrap();
        let _second = take(1).unwrap();
        assert!(take(1).is_none(), "the client has two");
        let _third = take(2).unwrap();
        assert!(take(3).is_none(), "the service has three");
        drop(first);
        let again = take(1);
        assert!(again.is_some());
        drop((again, _second, _third));
        assert!(clients.0.lock().is_empty());
        assert_eq!(service.stats.connections.get(), 0);
    }
}
