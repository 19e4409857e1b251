//! Reading reservations.

use super::State;
use common::id::ReservationName;
use common::reservation::Reservation;

impl State {
    #[must_use]
    pub fn reservation(&self, name: &ReservationName) -> Option<&Reservation> {
        self.reservations.get(name)
    }

    /// All reservations, by name. An expired one may remain for up to a minute.
    pub fn reservations(&self) -> impl Iterator<Item = &Reservation> {
        self.reservations.values()
    }
}
