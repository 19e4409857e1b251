//! Reservations: operators create and delete them, no two hold a node at the same time, and only
//! some users may use them.

use crate::house::{House, OPERATOR, OTHER, USER, name};
use common::id::ReservationName;
use common::job::Ask;
use common::policy::Access;
use common::reason::Refusal;
use common::reservation::Reservation;
use common::time::Span;
use state::{Command, Event};
use std::collections::BTreeSet;

fn called(text: &str) -> ReservationName {
    ReservationName::new(text).unwrap()
}

/// A reservation of these nodes, from and to these minutes from now.
fn booking(house: &House, text: &str, nodes: &[&str], from: u64, to: u64) -> Reservation {
    Reservation {
        name: called(text),
        nodes: nodes.iter().map(|node| name(node)).collect(),
        from: house.now + Span::from_minutes(from),
        to: house.now + Span::from_minutes(to),
        access: Access::default(),
        maintenance: false,
        by: OTHER.uid,
        comment: String::new(),
    }
}

fn create(reservation: Reservation) -> Command {
    Command::CreateReservation { actor: OPERATOR, reservation: Box::new(reservation) }
}

fn book(house: &mut House, text: &str, nodes: &[&str], from: u64, to: u64) {
    let command = create(booking(house, text, nodes, from, to));
    assert_eq!(house.apply(command), [Event::ReservationCreated { name: called(text) }]);
}

#[test]
fn only_operators_book() {
    let mut house = House::new();
    let reservation = Box::new(booking(&house, "r", &["g1"], 0, 10));
    let refusal = house.refused(Command::CreateReservation { actor: USER, reservation });
    assert!(matches!(refusal, Refusal::OperatorsOnly { .. }));
    book(&mut house, "r", &["g1"], 0, 10);
    assert_eq!(house.state.reservation(&called("r")).unwrap().by, OPERATOR.uid);
    let delete = |actor| Command::DeleteReservation { actor, name: called("r") };
    assert!(matches!(house.refused(delete(USER)), Refusal::OperatorsOnly { .. }));
    let by = OPERATOR.uid;
    let gone = Event::ReservationDeleted { name: called("r"), by };
    assert_eq!(house.apply(delete(OPERATOR)), [gone]);
    assert!(matches!(house.refused(delete(OPERATOR)), Refusal::UnknownReservation { .. }));
}

#[test]
fn a_booking_that_makes_no_sense_is_refused() {
    let mut house = House::new();
    book(&mut house, "r", &["g1"], 10, 20);
    for (text, nodes, from, to, word) in [
        ("r", &["g2"][..], 0, 5, "reservation `r` already exists"),
        ("s", &["g1", "g2"], 19, 30, "node g1 is in reservation r"),
        ("s", &["g1"], 0, 11, "node g1 is in reservation r"),
        ("s", &["g9"], 0, 5, "there is no node g9"),
        ("s", &[], 0, 5, "has no node"),
        ("s", &["g2"], 5, 5, "before it begins"),
    ] {
        let command = create(booking(&house, text, nodes, from, to));
        let refusal = house.refused(command).to_string();
        assert!(refusal.contains(word), "{refusal}");
    }
    let comment = "two\nlines".to_owned();
    let command = create(Reservation { comment, ..booking(&house, "s", &["g2"], 0, 5) });
    assert!(house.refused(command).to_string().contains("comment"));
    book(&mut house, "s", &["g1", "g2"], 20, 30);
    book(&mut house, "t", &["g1"], 0, 10);
}

#[test]
fn a_booking_is_changed_at_once_and_stays_as_it_is_where_that_is_refused() {
    let mut house = House::new();
    book(&mut house, "r", &["g1"], 0, 10);
    book(&mut house, "s", &["g2"], 5, 30);
    let begun = house.state.reservation(&called("r")).unwrap().from;
    let update = |actor, reservation: Reservation| Command::UpdateReservation {
        actor,
        reservation: Box::new(reservation),
    };
    let longer = Reservation { from: begun, ..booking(&house, "r", &["g1"], 0, 20) };
    assert!(matches!(house.refused(update(USER, longer.clone())), Refusal::OperatorsOnly { .. }));
    let changed = Event::ReservationChanged { name: called("r"), by: OPERATOR.uid };
    assert_eq!(house.apply(update(OPERATOR, longer.clone())), [changed]);
    let kept = Reservation { by: OPERATOR.uid, ..longer };
    assert_eq!(house.state.reservation(&called("r")), Some(&kept));
    for (nodes, to, word) in [
        (&["g1", "g2"][..], 20, "node g2 is in reservation s"),
        (&["g9"], 20, "there is no node g9"),
        (&[], 20, "has no node"),
        (&["g1"], 0, "before it begins"),
    ] {
        let wrong = Reservation { from: begun, ..booking(&house, "r", nodes, 0, to) };
        let refusal = house.refused(update(OPERATOR, wrong)).to_string();
        assert!(refusal.contains(word), "{refusal}");
        assert_eq!(house.state.reservation(&called("r")), Some(&kept), "the old one stays");
    }
    let unknown = booking(&house, "t", &["g1"], 0, 5);
    let refusal = house.refused(update(OPERATOR, unknown));
    assert!(matches!(refusal, Refusal::UnknownReservation { .. }));
}

#[test]
fn a_booking_goes_when_its_time_is_over() {
    let mut house = House::new();
    book(&mut house, "r", &["g1"], 0, 10);
    house.wait(599);
    assert_eq!(house.apply(Command::ForgetDone), []);
    house.wait(1);
    let over = Event::ReservationExpired { name: called("r") };
    assert_eq!(house.apply(Command::ForgetDone), [over]);
    book(&mut house, "r", &["g1"], 0, 10);
}

#[test]
fn jobs_name_bookings_that_are_there_and_open_to_them() {
    let mut house = House::new();
    let asks = |text: &str| Ask { reservation: Some(called(text)), ..Ask::default() };
    let command = house.submission(asks("r"));
    assert!(matches!(house.refused(command), Refusal::UnknownReservation { .. }));
    book(&mut house, "open", &["g1"], 0, 10);
    house.submit(asks("open"));
    let access = Access { users: BTreeSet::from([OTHER.uid]), ..Access::default() };
    let command = create(Reservation { access, ..booking(&house, "theirs", &["g1"], 10, 20) });
    house.apply(command);
    let work = booking(&house, "work", &["g2"], 0, 10);
    house.apply(create(Reservation { maintenance: true, ..work }));
    for text in ["theirs", "work"] {
        let command = house.submission(asks(text));
        assert!(matches!(house.refused(command), Refusal::ReservationClosed { .. }), "{text}");
    }
    house.wait(600);
    // It has expired, but is not removed yet.
    house.apply(Command::NodeSilent { name: name("g1") });
    let command = house.submission(asks("open"));
    assert!(matches!(house.refused(command), Refusal::UnknownReservation { .. }), "it is over");
}
