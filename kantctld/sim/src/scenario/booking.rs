//! Operators' reservations: `reserve` and `unreserve`.

use super::words::Words;
use common::hostlist;
use common::id::{ReservationName, Uid};
use common::policy::Access;
use common::reservation::Reservation;
use common::time::{Span, Time};
use state::{Actor, Command};

/// The command of the line, as an operator.
pub(super) fn command(verb: &str, words: &mut Words) -> Result<Command, String> {
    let actor = Actor::operator(Uid(0));
    let name: ReservationName = words.take_plain("a reservation's name")?;
    if verb == "unreserve" {
        words.check_empty()?;
        return Ok(Command::DeleteReservation { actor, name });
    }
    let nodes: String = words.value("nodes")?.ok_or("nodes= is missing")?;
    let nodes = hostlist::expand(&nodes).map_err(|error| error.to_string())?;
    let mut time = |which: &str| {
        let span: Option<Span> = words.value(which)?;
        span.map(|span| Time(span.0)).ok_or_else(|| format!("{which}= is missing"))
    };
    let (from, to) = (time("from")?, time("to")?);
    let maintenance = words.flag("maintenance");
    words.check_empty()?;
    let reservation = Reservation {
        name,
        nodes: nodes.into_iter().collect(),
        from,
        to,
        access: Access::default(),
        maintenance,
        by: actor.uid,
        comment: String::new(),
    };
    Ok(Command::CreateReservation { actor, reservation: Box::new(reservation) })
}
