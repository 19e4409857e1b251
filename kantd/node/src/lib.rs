//! reconcile(&Desired, &Observed) -> Vec<NodeAction>: what a node must do next; pure
