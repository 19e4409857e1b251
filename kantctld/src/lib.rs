//! the kant controller: raft-replicated state, scheduler loop, API
