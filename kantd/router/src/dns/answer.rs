//! The answer to a query (RFC 1035, RFC 2782 for ports, RFC 6891 for larger messages).

use super::zone::{Found, Missing, Replica, Zone};
use domain::base::iana::{Class, Opcode, OptRcode, Rcode, Rtype};
use domain::base::message_builder::{AdditionalBuilder, AnswerBuilder, PushError};
use domain::base::{
    Message, MessageBuilder, Name, ParsedName, Question, Serial, TreeCompressor, Ttl,
};
use domain::rdata::{A, Aaaa, Soa, Srv};
use std::net::IpAddr;

/// How long others may keep an answer: replicas come and go.
const TTL: Ttl = Ttl::from_secs(2);
/// The largest answer by UDP to a client that does not say what it accepts (RFC 1035, 4.2.1).
const UDP_BYTES: u16 = 512;
/// The largest answer by UDP: more may be lost on the way (DNS flag day 2020).
const UDP_BYTES_MAX: u16 = 1232;
/// The largest answer by TCP.
const TCP_BYTES_MAX: usize = 65_535;

/// How a query came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    Udp,
    Tcp,
}

type Target = TreeCompressor<Vec<u8>>;

/// The answer to a query; `None` if it is none, or is an answer itself.
pub fn answer(zone: &Zone, query: &[u8], transport: Transport) -> Option<Vec<u8>> {
    let query = Message::from_octets(query).ok()?;
    if query.header().qr() {
        return None;
    }
    let edns = query.opt();
    let limit = match (transport, &edns) {
        (Transport::Tcp, _) => TCP_BYTES_MAX,
        (_, None) => UDP_BYTES.into(),
        (_, Some(edns)) => edns.udp_payload_size().clamp(UDP_BYTES, UDP_BYTES_MAX).into(),
    };
    let version = edns.map(|edns| edns.version());
    let reply = Reply { zone, query: &query, limit, edns: version };
    if query.header().opcode() != Opcode::QUERY {
        return reply.refuse(Rcode::NOTIMP);
    }
    let Ok(question) = query.sole_question() else { return reply.refuse(Rcode::FORMERR) };
    if version.is_some_and(|version| version > 0) {
        return reply.refuse_version();
    }
    let is_transfer = matches!(question.qtype(), Rtype::AXFR | Rtype::IXFR);
    if question.qclass() != Class::IN || is_transfer {
        return reply.refuse(Rcode::REFUSED);
    }
    match zone.find(&question.qname().to_string()) {
        Err(Missing::Domain) => reply.refuse(Rcode::REFUSED),
        Err(Missing::Name) => reply.without_records(Rcode::NXDOMAIN),
        Ok(found) => reply.with_records(&question, &found),
    }
}

struct Reply<'a> {
    zone: &'a Zone,
    query: &'a Message<&'a [u8]>,
    /// The size of the answer at most, in bytes.
    limit: usize,
    /// The version of EDNS that the query has.
    edns: Option<u8>,
}

impl Reply<'_> {
    fn start(&self, rcode: Rcode) -> Option<AnswerBuilder<Target>> {
        let mut builder = MessageBuilder::from_target(TreeCompressor::new(Vec::new())).ok()?;
        // Room for the record that says what this side accepts (RFC 6891).
        let kept = if self.edns.is_some() { 11 } else { 0 };
        builder.set_push_limit(self.limit - kept);
        Some(builder.start_error(self.query, rcode))
    }

    fn refuse(&self, rcode: Rcode) -> Option<Vec<u8>> {
        self.finish(self.start(rcode)?.additional())
    }

    fn refuse_version(&self) -> Option<Vec<u8>> {
        let mut additional = self.start(Rcode::NOERROR)?.additional();
        additional.clear_push_limit();
        let set = |opt: &mut domain::base::message_builder::OptBuilder<'_, Target>| {
            opt.set_udp_payload_size(UDP_BYTES_MAX);
            opt.set_rcode(OptRcode::BADVERS);
            Ok(())
        };
        additional.opt(set).ok()?;
        Some(additional.finish().into_target())
    }

    /// Says that there is nothing, and for how long that may be kept (RFC 2308).
    fn without_records(&self, rcode: Rcode) -> Option<Vec<u8>> {
        let mut builder = self.start(rcode)?;
        builder.header_mut().set_aa(true);
        let mut authority = builder.authority();
        authority.push((self.zone.domain.name(), Class::IN, TTL, self.soa()?)).ok()?;
        self.finish(authority.additional())
    }

    fn with_records<'r>(
        &self,
        question: &Question<ParsedName<&[u8]>>,
        found: &Found<'r>,
    ) -> Option<Vec<u8>> {
        let (name, kind) = (question.qname(), question.qtype());
        let mut builder = self.start(Rcode::NOERROR)?;
        builder.header_mut().set_aa(true);
        let mut additional = Vec::new();
        let pushed = match found {
            Found::Domain if matches!(kind, Rtype::SOA | Rtype::ANY) => {
                builder.push((name, Class::IN, TTL, self.soa()?))
            }
            Found::Addresses(replicas) => self
                .turned(replicas)
                .try_for_each(|replica| push_address(&mut builder, name, kind, replica.addr.ip())),
            Found::Ports(replicas) if matches!(kind, Rtype::SRV | Rtype::ANY) => {
                let named = |replica: &'r Replica| Some((replica.name.as_ref()?, replica.addr));
                additional = self.turned(replicas).filter_map(named).collect();
                additional.iter().try_for_each(|(target, addr)| {
                    builder.push((name, Class::IN, TTL, Srv::new(0, 1, addr.port(), *target)))
                })
            }
            Found::Domain | Found::Ports(_) | Found::Parent => Ok(()),
        };
        if pushed.is_err() {
            // The client may come again by TCP, or go on with what there was room for.
            builder.header_mut().set_tc(true);
            return self.finish(builder.additional());
        }
        if builder.counts().ancount() == 0 {
            return self.without_records(Rcode::NOERROR);
        }
        let mut builder = builder.additional();
        for (name, addr) in additional {
            // Only a help, so there need not be room for all.
            if push_additional(&mut builder, name, addr.ip()).is_err() {
                break;
            }
        }
        self.finish(builder)
    }

    /// The replicas from one on that differs from query to query, since clients take the first.
    fn turned<'r, 's>(
        &self,
        replicas: &'s [&'r Replica],
    ) -> impl Iterator<Item = &'r Replica> + use<'r, 's> {
        let from = usize::from(self.query.header().id()) % replicas.len().max(1);
        replicas[from..].iter().chain(&replicas[..from]).copied()
    }

    /// Who is responsible for the domain.
    fn soa(&self) -> Option<Soa<Name<Vec<u8>>>> {
        let domain = self.zone.domain.name();
        let below = |label: &str| format!("{label}.{domain}").parse().ok();
        let serial = Serial(self.zone.serial);
        let (day, week) = (Ttl::from_secs(86_400), Ttl::from_secs(604_800));
        Some(Soa::new(below("router")?, below("hostmaster")?, serial, day, TTL, week, TTL))
    }

    fn finish(&self, mut additional: AdditionalBuilder<Target>) -> Option<Vec<u8>> {
        additional.clear_push_limit();
        if self.edns.is_some() {
            let set = |opt: &mut domain::base::message_builder::OptBuilder<'_, Target>| {
                opt.set_udp_payload_size(UDP_BYTES_MAX);
                Ok(())
            };
            additional.opt(set).ok()?;
        }
        Some(additional.finish().into_target())
    }
}

fn push_address(
    builder: &mut AnswerBuilder<Target>,
    name: &ParsedName<&[u8]>,
    kind: Rtype,
    ip: IpAddr,
) -> Result<(), PushError> {
    let is_wanted = |own: Rtype| kind == own || kind == Rtype::ANY;
    match ip {
        IpAddr::V4(ip) if is_wanted(Rtype::A) => builder.push((name, Class::IN, TTL, A::new(ip))),
        IpAddr::V6(ip) if is_wanted(Rtype::AAAA) => {
            builder.push((name, Class::IN, TTL, Aaaa::new(ip)))
        }
        _ => Ok(()),
    }
}

fn push_additional(
    builder: &mut AdditionalBuilder<Target>,
    name: &Name<Vec<u8>>,
    ip: IpAddr,
) -> Result<(), PushError> {
    match ip {
        IpAddr::V4(ip) => builder.push((name, Class::IN, TTL, A::new(ip))),
        IpAddr::V6(ip) => builder.push((name, Class::IN, TTL, Aaaa::new(ip))),
    }
}
