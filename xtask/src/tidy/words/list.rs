//! The words that are not plain, each with what to write instead.

/// Words that are part of no name, be it of a type, a function, a test or a file.
pub const NAMES: &[(&str, &str)] = &[
    ("whoever", "the noun: job, user, node"),
    ("whom", "the noun: job, user, node"),
    ("somebody", "the noun: a job, a user"),
    ("nobody", "`no` and the noun: no job, no user"),
    ("anybody", "the noun: any job, any user"),
    ("everybody", "the noun: all jobs, all users"),
    ("anew", "`again`"),
    ("alike", "`equal` or `equivalent`"),
    ("told", "`sent`, `reported` or `notified`"),
    ("untold", "`pending`"),
    ("muster", "`running_index`"),
    ("lookout", "`scheduler_cache`"),
    ("dialler", "`connector`"),
    ("farewell", "`exit_notice`"),
    ("courier", "`fd_passing`"),
    ("mishaps", "`faults`"),
    ("sabotage", "`mutants`"),
    ("pledge", "`future_claim`"),
    ("crowd", "`victim_index`"),
    ("roster", "`victim_cache`"),
];

/// Words and phrases that stand in no sentence.
pub const PHRASES: &[(&str, &str)] = &[
    ("whoever", "the noun: the job, the user, the node"),
    ("whomever", "the noun: the job, the user, the node"),
    ("whom", "a sentence with the noun: the job, the user, the node"),
    ("somebody", "the noun: a job, a user, an operator"),
    ("nobody", "`no` and the noun: no job, no user"),
    ("anybody", "the noun: any job, any user"),
    ("everybody", "the noun: all jobs, all users"),
    ("so many", "`N` or `at most N`"),
    ("so often", "`N times`"),
    ("anew", "`again`"),
    ("alike", "`equal`, `the same`, or `both`"),
    ("in vain", "`without success`"),
    ("let go", "`released` or `freed`"),
    ("lets go", "`releases` or `frees`"),
    ("is told", "`receives` or `is notified`"),
    ("are told", "`receive` or `are notified`"),
    ("was told", "`received` or `was notified`"),
    ("were told", "`received` or `were notified`"),
    ("hears", "`receives`"),
    ("tells", "`reports`, `sends` or `says`"),
];
