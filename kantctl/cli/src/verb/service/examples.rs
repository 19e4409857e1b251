//! The examples in the help of `kantctl service` and its verbs.

pub(super) const EXAMPLES: &str = "\
Examples:
  kantctl service deploy chat.toml
  kantctl service deploy chat --port 8000 --max 4 --http /health -- --gpus 1 serve.sh
  kantctl service list
  kantctl service show chat
  kantctl service scale chat 3
  kantctl service rollback chat
  kantctl service logs chat worker.0
  kantctl service stop chat

A service keeps a number of replicas of a program running. Each replica is a job without a time
limit: it counts in its queue like any other, and `kantctl explain` says why it waits. Its node
gives it ports (PORT and KANT_PORT_<NAME> in its environment), probes it, and reports when it is
ready. `kantctl help services` has an example of a file.";

pub(super) const DEPLOY_EXAMPLES: &str = "\
Examples:
  kantctl service deploy chat.toml
  kantctl service deploy chat.toml --dry-run
  kantctl service deploy chat --port 8000 --max 4 --http /health -- --gpus 1 serve.sh
  kantctl service deploy chat.toml --wait

Deploying a service that exists makes a new revision, to which its replicas are moved step by step.
If they do not become healthy, the service returns to its last healthy revision.";

pub(super) const LIST_EXAMPLES: &str = "\
Examples:
  kantctl service list
  kantctl service list --json";

pub(super) const SHOW_EXAMPLES: &str = "\
Examples:
  kantctl service show chat
  kantctl service show chat --json";

pub(super) const EXPLAIN_EXAMPLES: &str = "\
Examples:
  kantctl service explain chat
  kantctl service explain chat --json";

pub(super) const EVENTS_EXAMPLES: &str = "\
Examples:
  kantctl service events chat
  kantctl service events chat --json";

pub(super) const SCALE_EXAMPLES: &str = "\
Examples:
  kantctl service scale chat 3
  kantctl service scale chat 3 --role worker";

pub(super) const ROLLBACK_EXAMPLES: &str = "\
Examples:
  kantctl service rollback chat
  kantctl service rollback chat --to 3";

pub(super) const PAUSE_EXAMPLES: &str = "\
Examples:
  kantctl service pause chat
  kantctl service pause chat --json";

pub(super) const RESUME_EXAMPLES: &str = "\
Examples:
  kantctl service resume chat
  kantctl service resume chat --json";

pub(super) const PROMOTE_EXAMPLES: &str = "\
Examples:
  kantctl service promote chat
  kantctl service promote chat --json";

pub(super) const STOP_EXAMPLES: &str = "\
Examples:
  kantctl service stop chat
  kantctl service stop chat --wait";

pub(super) const LOGS_EXAMPLES: &str = "\
Examples:
  kantctl service logs chat
  kantctl service logs chat worker.0 --follow";

pub(super) const ENDPOINTS_EXAMPLES: &str = "\
Examples:
  kantctl service endpoints chat
  kantctl service endpoints chat > targets.json
  kantctl service endpoints chat --format haproxy --role worker
  kantctl service endpoints chat --format envoy --output chat-eds.json --follow";
