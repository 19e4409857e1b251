//! Who holds a held job, beside its user: this decides who may release it.

use serde::{Deserialize, Serialize};

/// One byte of each array task, so not two flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "Stored", into = "Stored")]
pub enum HeldBy {
    /// At most its user.
    #[default]
    User,
    /// Only an operator can release it.
    Operator,
    /// Only a coordinator or an operator can release it.
    Coordinator,
    OperatorAndCoordinator,
}

/// The stored form: a flag for operators is older than coordinators.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Stored {
    Operator(bool),
    Coordinator(StoredCoordinator),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoredCoordinator {
    Coordinator,
    OperatorAndCoordinator,
}

impl HeldBy {
    const fn new(operator: bool, coordinator: bool) -> Self {
        match (operator, coordinator) {
            (false, false) => Self::User,
            (true, false) => Self::Operator,
            (false, true) => Self::Coordinator,
            (true, true) => Self::OperatorAndCoordinator,
        }
    }

    #[must_use]
    pub const fn includes_operator(self) -> bool {
        matches!(self, Self::Operator | Self::OperatorAndCoordinator)
    }

    #[must_use]
    pub const fn includes_coordinator(self) -> bool {
        matches!(self, Self::Coordinator | Self::OperatorAndCoordinator)
    }

    /// The same, held by these too.
    #[must_use]
    pub const fn and(self, operator: bool, coordinator: bool) -> Self {
        Self::new(self.includes_operator() || operator, self.includes_coordinator() || coordinator)
    }
}

impl From<Stored> for HeldBy {
    fn from(stored: Stored) -> Self {
        match stored {
            Stored::Operator(operator) => Self::new(operator, false),
            Stored::Coordinator(StoredCoordinator::Coordinator) => Self::Coordinator,
            Stored::Coordinator(StoredCoordinator::OperatorAndCoordinator) => {
                Self::OperatorAndCoordinator
            }
        }
    }
}

impl From<HeldBy> for Stored {
    fn from(by: HeldBy) -> Self {
        match by {
            HeldBy::User => Self::Operator(false),
            HeldBy::Operator => Self::Operator(true),
            HeldBy::Coordinator => Self::Coordinator(StoredCoordinator::Coordinator),
            HeldBy::OperatorAndCoordinator => {
                Self::Coordinator(StoredCoordinator::OperatorAndCoordinator)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_is_stored_and_the_flag_of_earlier_states_is_read() {
        for by in
            [HeldBy::User, HeldBy::Operator, HeldBy::Coordinator, HeldBy::OperatorAndCoordinator]
        {
            let bytes = rmp_serde::to_vec_named(&by).unwrap();
            assert_eq!(rmp_serde::from_slice::<HeldBy>(&bytes).unwrap(), by);
        }
        let read = |flag: bool| {
            let bytes = rmp_serde::to_vec_named(&flag).unwrap();
            rmp_serde::from_slice::<HeldBy>(&bytes).unwrap()
        };
        assert_eq!((read(true), read(false)), (HeldBy::Operator, HeldBy::User));
        assert_eq!(HeldBy::Operator.and(false, true), HeldBy::OperatorAndCoordinator);
    }
}
