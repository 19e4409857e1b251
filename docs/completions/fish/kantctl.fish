# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_kantctl_global_optspecs
    string join \n json socket= config= retry= h/help V/version
end

function __fish_kantctl_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_kantctl_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_kantctl_using_subcommand
    set -l cmd (__fish_kantctl_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c kantctl -n "__fish_kantctl_needs_command" -l socket -d 'Socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_needs_command" -l config -d 'Configuration file, instead of the default ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_needs_command" -l retry -d 'How long to keep retrying (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_needs_command" -l json -d 'Print the controller\'s answer as JSON; errors are printed as {"error": ...} as well as in plain text on stderr'
complete -c kantctl -n "__fish_kantctl_needs_command" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_needs_command" -s V -l version -d 'Print version'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "queue" -d 'List jobs'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "q" -d 'List jobs'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "top" -d 'Show the cluster and its jobs on a live screen'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "watch" -d 'Print events as they happen'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "history" -d 'List finished jobs, including those the controller no longer keeps'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "show" -d 'Show everything about a job or a node'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "explain" -d 'Explain why a job is in its state, and what to do about it'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "logs" -d 'Print a job\'s output'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "run" -d 'Run a program on nodes of the cluster, with input and output on this terminal'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "alloc" -d 'Allocate nodes for a shell or a command on this host'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "attach" -d 'Attach to the output and input of a running step; Ctrl-C detaches'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "launch" -d 'Start a program on a node of a running job'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "step-tasks" -d 'Start the tasks of a step on this node'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "wait" -d 'Wait for jobs to end, and exit with their exit code'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "cancel" -d 'Cancel jobs, or send them a signal'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "hold" -d 'Hold waiting jobs, so that they do not start'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "release" -d 'Release held jobs'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "update" -d 'Change the request of waiting jobs'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "requeue" -d 'Requeue jobs: they start again from the beginning'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "checkpoint" -d 'Record that a job\'s work up to now is saved'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "resize" -d 'Shrink running jobs to fewer nodes'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "suspend" -d 'Suspend running jobs'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "nodes" -d 'List nodes'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "drain" -d 'Drain nodes: no new jobs start on them'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "resume" -d 'Resume suspended jobs, or drained nodes'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "queues" -d 'List queues, as a tree'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "share" -d 'Show fair shares: entitlement, use and borrowing of each queue'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "reservations" -d 'List, create, change and delete reservations of nodes'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "priority" -d 'Show how the priorities of waiting jobs are calculated'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "metrics" -d 'Show GPU utilization and job waiting times'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "report" -d 'Report usage by user, account or queue, and the available capacity'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "export" -d 'Export past jobs and the nodes as files that `kantctld simulate` replays'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "reload" -d 'Make the controller read its configuration again'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "status" -d 'Show the controller\'s status'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "admin" -d 'Administer the controllers: membership and backups'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "help" -d 'Show a page on a topic: jobs, gpus, arrays, queues, environment, slurm'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "completions" -d 'Print completions for a shell'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "man" -d 'Print the manual page, or write all manual pages to a directory'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "install-slurm-names" -d 'Create links named sbatch, squeue and so on, which behave as Slurm\'s commands'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "submit" -d 'Submit a script as a job'
complete -c kantctl -n "__fish_kantctl_using_subcommand queue" -s o -l format -d 'Columns to show' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand queue" -l sort -d 'Columns to sort by; a - before a column reverses it [default: running, then waiting in order, then finished]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand queue" -s u -l user -d 'Only jobs of these users (names or numbers)' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand queue" -s p -l queue -l partition -d 'Only jobs in these queues' -x -a "(kantctl completions --live queues 2>/dev/null)"
complete -c kantctl -n "__fish_kantctl_using_subcommand queue" -s w -l node -l nodelist -d 'Only jobs on these nodes, e.g. g[001-004]' -x -a "(kantctl completions --live nodes 2>/dev/null)"
complete -c kantctl -n "__fish_kantctl_using_subcommand queue" -s t -l state -l states -d 'Only jobs in these states, as words or codes (PENDING, R)' -r -f -a "PENDING\t''
CONFIGURING\t''
RUNNING\t''
SUSPENDED\t''
COMPLETING\t''
COMPLETED\t''
FAILED\t''
CANCELLED\t''
TIMEOUT\t''
OUT_OF_MEMORY\t''
NODE_FAIL\t''
PREEMPTED\t''
DEADLINE\t''
LAUNCH_FAILED\t''"
complete -c kantctl -n "__fish_kantctl_using_subcommand queue" -s n -l name -d 'Only jobs with these names' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand queue" -l socket -d 'Socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand queue" -l config -d 'Configuration file, instead of the default ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand queue" -l retry -d 'How long to keep retrying (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand queue" -s a -l all -d 'Also show finished jobs, as long as the controller keeps them'
complete -c kantctl -n "__fish_kantctl_using_subcommand queue" -l start -d 'Show when waiting jobs are expected to start'
complete -c kantctl -n "__fish_kantctl_using_subcommand queue" -l csv -d 'Print CSV'
complete -c kantctl -n "__fish_kantctl_using_subcommand queue" -l me -d 'Only your own jobs'
complete -c kantctl -n "__fish_kantctl_using_subcommand queue" -l json -d 'Print the controller\'s answer as JSON; errors are printed as {"error": ...} as well as in plain text on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand queue" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand q" -s o -l format -d 'Columns to show' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand q" -l sort -d 'Columns to sort by; a - before a column reverses it [default: running, then waiting in order, then finished]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand q" -s u -l user -d 'Only jobs of these users (names or numbers)' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand q" -s p -l queue -l partition -d 'Only jobs in these queues' -x -a "(kantctl completions --live queues 2>/dev/null)"
complete -c kantctl -n "__fish_kantctl_using_subcommand q" -s w -l node -l nodelist -d 'Only jobs on these nodes, e.g. g[001-004]' -x -a "(kantctl completions --live nodes 2>/dev/null)"
complete -c kantctl -n "__fish_kantctl_using_subcommand q" -s t -l state -l states -d 'Only jobs in these states, as words or codes (PENDING, R)' -r -f -a "PENDING\t''
CONFIGURING\t''
RUNNING\t''
SUSPENDED\t''
COMPLETING\t''
COMPLETED\t''
FAILED\t''
CANCELLED\t''
TIMEOUT\t''
OUT_OF_MEMORY\t''
NODE_FAIL\t''
PREEMPTED\t''
DEADLINE\t''
LAUNCH_FAILED\t''"
complete -c kantctl -n "__fish_kantctl_using_subcommand q" -s n -l name -d 'Only jobs with these names' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand q" -l socket -d 'Socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand q" -l config -d 'Configuration file, instead of the default ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand q" -l retry -d 'How long to keep retrying (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand q" -s a -l all -d 'Also show finished jobs, as long as the controller keeps them'
complete -c kantctl -n "__fish_kantctl_using_subcommand q" -l start -d 'Show when waiting jobs are expected to start'
complete -c kantctl -n "__fish_kantctl_using_subcommand q" -l csv -d 'Print CSV'
complete -c kantctl -n "__fish_kantctl_using_subcommand q" -l me -d 'Only your own jobs'
complete -c kantctl -n "__fish_kantctl_using_subcommand q" -l json -d 'Print the controller\'s answer as JSON; errors are printed as {"error": ...} as well as in plain text on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand q" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand top" -s i -l interval -d 'Seconds between updates' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand top" -s u -l user -d 'Only jobs of these users (names or numbers)' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand top" -s p -l queue -l partition -d 'Only jobs in these queues' -x -a "(kantctl completions --live queues 2>/dev/null)"
complete -c kantctl -n "__fish_kantctl_using_subcommand top" -s w -l node -l nodelist -d 'Only jobs on these nodes, e.g. g[001-004]' -x -a "(kantctl completions --live nodes 2>/dev/null)"
complete -c kantctl -n "__fish_kantctl_using_subcommand top" -s t -l state -l states -d 'Only jobs in these states, as words or codes (PENDING, R)' -r -f -a "PENDING\t''
CONFIGURING\t''
RUNNING\t''
SUSPENDED\t''
COMPLETING\t''
COMPLETED\t''
FAILED\t''
CANCELLED\t''
TIMEOUT\t''
OUT_OF_MEMORY\t''
NODE_FAIL\t''
PREEMPTED\t''
DEADLINE\t''
LAUNCH_FAILED\t''"
complete -c kantctl -n "__fish_kantctl_using_subcommand top" -s n -l name -d 'Only jobs with these names' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand top" -l socket -d 'Socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand top" -l config -d 'Configuration file, instead of the default ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand top" -l retry -d 'How long to keep retrying (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand top" -l me -d 'Only your own jobs'
complete -c kantctl -n "__fish_kantctl_using_subcommand top" -l json -d 'Print the controller\'s answer as JSON; errors are printed as {"error": ...} as well as in plain text on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand top" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand watch" -s u -l user -d 'Only events of jobs of these users' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand watch" -l count -d 'Exit after COUNT events' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand watch" -l socket -d 'Socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand watch" -l config -d 'Configuration file, instead of the default ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand watch" -l retry -d 'How long to keep retrying (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand watch" -l me -d 'Only events of your own jobs'
complete -c kantctl -n "__fish_kantctl_using_subcommand watch" -l json -d 'Print the controller\'s answer as JSON; errors are printed as {"error": ...} as well as in plain text on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand watch" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand history" -s u -l user -d 'Only runs of these users (names or numbers)' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand history" -s A -l account -d 'Only runs of these accounts' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand history" -s p -l queue -l partition -d 'Only runs in these queues' -x -a "(kantctl completions --live queues 2>/dev/null)"
complete -c kantctl -n "__fish_kantctl_using_subcommand history" -s t -l state -d 'Only jobs that ended in these states, as words (FAILED, TIMEOUT)' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand history" -s S -l since -d 'Only jobs that ended since then: an age (7d, 12h) or a date [default: 7d; if jobs are named: all]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand history" -s E -l until -d 'Only jobs that ended before then: a date or an age' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand history" -l limit -d 'At most COUNT runs, the latest [default: 10000; with --csv: all]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand history" -s o -l format -d 'Columns to show' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand history" -l sort -d 'Columns to sort by; a - before a column reverses it [default: the latest first]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand history" -l socket -d 'Socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand history" -l config -d 'Configuration file, instead of the default ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand history" -l retry -d 'How long to keep retrying (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand history" -l me -d 'Only your own jobs'
complete -c kantctl -n "__fish_kantctl_using_subcommand history" -l runs -d 'Also show earlier runs of requeued jobs'
complete -c kantctl -n "__fish_kantctl_using_subcommand history" -l steps -d 'Show steps instead of jobs, one per line'
complete -c kantctl -n "__fish_kantctl_using_subcommand history" -l csv -d 'Print CSV'
complete -c kantctl -n "__fish_kantctl_using_subcommand history" -l json -d 'Print the controller\'s answer as JSON; errors are printed as {"error": ...} as well as in plain text on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand history" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand show; and not __fish_seen_subcommand_from job node queue" -l socket -d 'Socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand show; and not __fish_seen_subcommand_from job node queue" -l config -d 'Configuration file, instead of the default ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand show; and not __fish_seen_subcommand_from job node queue" -l retry -d 'How long to keep retrying (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand show; and not __fish_seen_subcommand_from job node queue" -l json -d 'Print the controller\'s answer as JSON; errors are printed as {"error": ...} as well as in plain text on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand show; and not __fish_seen_subcommand_from job node queue" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand show; and not __fish_seen_subcommand_from job node queue" -a "job" -d 'Show jobs, with their history'
complete -c kantctl -n "__fish_kantctl_using_subcommand show; and not __fish_seen_subcommand_from job node queue" -a "node" -d 'Show nodes'
complete -c kantctl -n "__fish_kantctl_using_subcommand show; and not __fish_seen_subcommand_from job node queue" -a "queue" -d 'Show queues'
complete -c kantctl -n "__fish_kantctl_using_subcommand show; and __fish_seen_subcommand_from job" -l socket -d 'Socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand show; and __fish_seen_subcommand_from job" -l config -d 'Configuration file, instead of the default ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand show; and __fish_seen_subcommand_from job" -l retry -d 'How long to keep retrying (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand show; and __fish_seen_subcommand_from job" -l json -d 'Print the controller\'s answer as JSON; errors are printed as {"error": ...} as well as in plain text on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand show; and __fish_seen_subcommand_from job" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand show; and __fish_seen_subcommand_from node" -l socket -d 'Socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand show; and __fish_seen_subcommand_from node" -l config -d 'Configuration file, instead of the default ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand show; and __fish_seen_subcommand_from node" -l retry -d 'How long to keep retrying (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand show; and __fish_seen_subcommand_from node" -l json -d 'Print the controller\'s answer as JSON; errors are printed as {"error": ...} as well as in plain text on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand show; and __fish_seen_subcommand_from node" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand show; and __fish_seen_subcommand_from queue" -l socket -d 'Socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand show; and __fish_seen_subcommand_from queue" -l config -d 'Configuration file, instead of the default ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand show; and __fish_seen_subcommand_from queue" -l retry -d 'How long to keep retrying (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand show; and __fish_seen_subcommand_from queue" -l json -d 'Print the controller\'s answer as JSON; errors are printed as {"error": ...} as well as in plain text on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand show; and __fish_seen_subcommand_from queue" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand explain" -l what-if -d 'Show the effect of a changed request: \'time=2h gpus=4\'' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand explain" -l trials -d 'Try at most N placements [default: 200000]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand explain" -l socket -d 'Socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand explain" -l config -d 'Configuration file, instead of the default ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand explain" -l retry -d 'How long to keep retrying (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand explain" -l solve -d 'Search for running jobs that would have to move to make room for the job'
complete -c kantctl -n "__fish_kantctl_using_subcommand explain" -l json -d 'Print the controller\'s answer as JSON; errors are printed as {"error": ...} as well as in plain text on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand explain" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand logs" -s n -l tail -d 'Only the last LINES lines of the existing output' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand logs" -l socket -d 'Socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand logs" -l config -d 'Configuration file, instead of the default ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand logs" -l retry -d 'How long to keep retrying (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand logs" -s f -l follow -d 'Follow the output until the job ends'
complete -c kantctl -n "__fish_kantctl_using_subcommand logs" -s e -l stderr -d 'Print stderr instead of stdout'
complete -c kantctl -n "__fish_kantctl_using_subcommand logs" -l json -d 'Print the controller\'s answer as JSON; errors are printed as {"error": ...} as well as in plain text on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand logs" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -s J -l job-name -d 'Job name [default: the script\'s file name]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -s A -l account -d 'Account to charge, of which you must be a member [default: your first account]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -s q -l qos -d 'Quality of service, which sets a priority and limits; configured by the operators' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l comment -d 'Comment, shown by `kantctl show job`' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -s N -l nodes -d 'Number of nodes, or a range that the job accepts (1-4), with one task per node [default: the fewest nodes on which the tasks fit]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -s n -l ntasks -d 'Number of tasks, or a range that the job accepts (2-8) [default: --nodes times --ntasks-per-node, or 1]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l ntasks-per-node -d 'Maximum number of tasks per node' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -s c -l cpus-per-task -d 'CPUs per task [default: 1]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l ntasks-per-gpu -d 'Tasks per requested GPU' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l cpus-per-gpu -d 'CPUs per requested GPU' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l mem -d 'Memory per node, in MiB or with K, M, G, T; 0 for all of it' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l mem-per-cpu -d 'Memory per CPU' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l mem-per-gpu -d 'Memory per GPU' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -s G -l gpus -d 'GPUs in the whole job: of any kind (8), of one kind (h100:8), of one of several kinds (\'h100|a100:8\'); or a share of a GPU (0.5), of its memory (20G), or of several GPUs (2x0.5)' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l gpus-per-node -d 'GPUs per node' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l gpus-per-task -d 'GPUs per task' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l gres -d 'GPUs per node, in Slurm\'s syntax (gpu:2, gpu:h100:2)' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -s p -l queue -l partition -d 'Queue [default: the cluster\'s default queue]' -x -a "(kantctl completions --live queues 2>/dev/null)"
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -s t -l time -d 'Run time limit: minutes, h:m:s, d-h, 90m, 2h, UNLIMITED [default: the queue\'s]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l begin -d 'Earliest start: now+1hour, 16:30, tomorrow, 2030-01-31T08:00' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l deadline -d 'Deadline: the job must end by then according to its time limit, or never starts' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l reservation -d 'Run in this reservation, see `kantctl reservations`' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l near -d 'Topology group for all nodes: nvlink-domain, leaf, spine or superspine. A group with enough free nodes is preferred, or required (leaf:required)' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l switches -d 'Slurm\'s option for --near=leaf: --switches=1' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l segment -d 'Split the nodes into blocks of this size, each within one group [without --near: nvlink-domain:required]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l max-per-node -d 'Run at most COUNT of your jobs with this name per node' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l nice -d 'Lower the priority by N [without a number: 100]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -s C -l constraint -d 'Required features of nodes, see `kantctl show node`: \'ib\', \'a100&(ib|roce)\'' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -s w -l nodelist -d 'Use only these nodes, e.g. g[001-004],login' -x -a "(kantctl completions --live nodes 2>/dev/null)"
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -s x -l exclude -d 'Do not use these nodes' -x -a "(kantctl completions --live nodes 2>/dev/null)"
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -s d -l dependency -d 'Wait for other jobs: afterok:20:21, afterany:22_3, after:23+5 (minutes), afternotok, aftercorr (task by task), singleton; separated by `,` if all are required, by `?` if one is enough' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l kill-on-invalid-dep -d 'Cancel the job when its dependency can no longer be satisfied [default: no, it keeps waiting]' -r -f -a "yes\t''
no\t''"
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -s o -l output -d 'Output file, with %j %A %a %x %u %N %n %t [default: kant-%j.out, arrays kant-%A_%a.out]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -s e -l error -d 'Error file [default: the output file]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -s i -l input -d 'Input file [default: /dev/null]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l open-mode -d 'What to do with existing output files [default: truncate]' -r -f -a "append\t''
truncate\t''"
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -s D -l chdir -d 'Working directory [default: the current directory]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -s a -l array -d 'Submit an array of tasks: 0-99; 1,3,5-9:2; 0-999%50 for at most 50 at once' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l launch -d 'Run the script once, once on every node, or once for every task [default: once]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l container -d 'Run in a container: a directory on the nodes with an OCI bundle or a root file system' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l signal -d 'Send a signal before the time limit to all processes, or (B:) only to the script [without @SECONDS: 60 before]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l mail-type -d 'Events that send an e-mail: NONE, BEGIN, END, FAIL, REQUEUE, ALL, INVALID_DEPEND, TIME_LIMIT, TIME_LIMIT_90 (80, 50), ARRAY_TASKS' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l mail-user -d 'Recipient of e-mails [default: you]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l resize-signal -d 'Send a signal when the running job is resized (`kantctl resize`) to all processes, or (B:) only to the script' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l export -d 'Environment variables to pass to the job: ALL, NONE, or NAME,NAME=VALUE [default: ALL]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l acctg-freq -d 'the resource use of a job is measured at its end' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -s M -l clusters -d 'there is one cluster' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l cores-per-socket -d 'cores are chosen near the allocated GPUs, on any socket' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l cpu-bind -d 'a job is bound to its CPUs, near its GPUs; bind single tasks with taskset' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l cpu-freq -d 'the machine\'s governor decides' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l delay-boot -d 'nodes are not booted for jobs' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -s m -l distribution -d 'tasks are assigned node by node, in order' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -s B -l extra-node-info -d 'cores are chosen near the allocated GPUs, on any socket' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l get-user-env -d 'the environment is that of the submission; `#!/bin/bash -l` starts a login shell' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l gpu-bind -d 'each task sees all GPUs of its job on the node: choose by SLURM_LOCALID' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l gpu-freq -d 'GPU clocks are not changed' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l hint -d 'all threads of a core always belong to one job' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l mem-bind -d 'bind memory in the script with numactl' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l network -d 'there are no switch plug-ins' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l ntasks-per-core -d 'tasks of a job share its CPUs' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l ntasks-per-socket -d 'tasks of a job share its CPUs' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -s s -l oversubscribe -d 'CPUs and GPUs are never shared between jobs' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l power -d 'power is not managed per job' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l profile -d 'the resource use of a job is measured at its end' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l propagate -d 'the shell\'s soft limits are always passed on' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l sockets-per-node -d 'cores are chosen near the allocated GPUs, on any socket' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l threads-per-core -d 'all threads of a core always belong to one job' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l time-min -d 'a job gets the whole --time' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l tmp -d 'disk space of nodes is not counted; /tmp is private to the job' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l wckey -d 'use --account or --comment' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -s I -l immediate -d 'Give up if the job has not started within TIME [without TIME: 1s]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l in -d 'Run on the nodes of this job, which must be yours and running' -x -a "(kantctl completions --live jobs 2>/dev/null)"
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l socket -d 'Socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l config -d 'Configuration file, instead of the default ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l retry -d 'How long to keep retrying (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l service -d 'The job is a service: a queue with a zone for services spreads its jobs there'
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l exclusive -d 'Use whole nodes, which no other job shares'
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l grow -d 'Let a running job with a range of nodes or tasks grow onto idle nodes, up to the upper bound'
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -s H -l hold -d 'Hold the job until `kantctl release`'
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l requeue -d 'Start the job again when a node is lost (the default)'
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l no-requeue -d 'Never start the job again'
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l preemptible -d 'Allow preemption of the job [default: as configured for its QoS or queue]'
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l no-preemptible -d 'Do not allow preemption of the job'
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l parsable -d 'Print only the job\'s id'
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l test-only -d 'Do not submit: show when and where the job would start'
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -s W -l wait -d 'Wait until the job ends, and exit with its exit code'
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -s Q -l quiet -d 'Print only errors'
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -s l -l label -d 'Prefix each line of output with the task\'s number'
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l pty -d 'Run the program on a pseudo-terminal, connected to this one'
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -s K -l kill-on-bad-exit -d 'End all tasks when one fails'
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l json -d 'Print the controller\'s answer as JSON; errors are printed as {"error": ...} as well as in plain text on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -s J -l job-name -d 'Job name [default: the script\'s file name]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -s A -l account -d 'Account to charge, of which you must be a member [default: your first account]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -s q -l qos -d 'Quality of service, which sets a priority and limits; configured by the operators' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l comment -d 'Comment, shown by `kantctl show job`' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -s N -l nodes -d 'Number of nodes, or a range that the job accepts (1-4), with one task per node [default: the fewest nodes on which the tasks fit]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -s n -l ntasks -d 'Number of tasks, or a range that the job accepts (2-8) [default: --nodes times --ntasks-per-node, or 1]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l ntasks-per-node -d 'Maximum number of tasks per node' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -s c -l cpus-per-task -d 'CPUs per task [default: 1]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l ntasks-per-gpu -d 'Tasks per requested GPU' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l cpus-per-gpu -d 'CPUs per requested GPU' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l mem -d 'Memory per node, in MiB or with K, M, G, T; 0 for all of it' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l mem-per-cpu -d 'Memory per CPU' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l mem-per-gpu -d 'Memory per GPU' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -s G -l gpus -d 'GPUs in the whole job: of any kind (8), of one kind (h100:8), of one of several kinds (\'h100|a100:8\'); or a share of a GPU (0.5), of its memory (20G), or of several GPUs (2x0.5)' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l gpus-per-node -d 'GPUs per node' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l gpus-per-task -d 'GPUs per task' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l gres -d 'GPUs per node, in Slurm\'s syntax (gpu:2, gpu:h100:2)' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -s p -l queue -l partition -d 'Queue [default: the cluster\'s default queue]' -x -a "(kantctl completions --live queues 2>/dev/null)"
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -s t -l time -d 'Run time limit: minutes, h:m:s, d-h, 90m, 2h, UNLIMITED [default: the queue\'s]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l begin -d 'Earliest start: now+1hour, 16:30, tomorrow, 2030-01-31T08:00' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l deadline -d 'Deadline: the job must end by then according to its time limit, or never starts' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l reservation -d 'Run in this reservation, see `kantctl reservations`' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l near -d 'Topology group for all nodes: nvlink-domain, leaf, spine or superspine. A group with enough free nodes is preferred, or required (leaf:required)' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l switches -d 'Slurm\'s option for --near=leaf: --switches=1' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l segment -d 'Split the nodes into blocks of this size, each within one group [without --near: nvlink-domain:required]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l max-per-node -d 'Run at most COUNT of your jobs with this name per node' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l nice -d 'Lower the priority by N [without a number: 100]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -s C -l constraint -d 'Required features of nodes, see `kantctl show node`: \'ib\', \'a100&(ib|roce)\'' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -s w -l nodelist -d 'Use only these nodes, e.g. g[001-004],login' -x -a "(kantctl completions --live nodes 2>/dev/null)"
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -s x -l exclude -d 'Do not use these nodes' -x -a "(kantctl completions --live nodes 2>/dev/null)"
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -s d -l dependency -d 'Wait for other jobs: afterok:20:21, afterany:22_3, after:23+5 (minutes), afternotok, aftercorr (task by task), singleton; separated by `,` if all are required, by `?` if one is enough' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l kill-on-invalid-dep -d 'Cancel the job when its dependency can no longer be satisfied [default: no, it keeps waiting]' -r -f -a "yes\t''
no\t''"
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -s o -l output -d 'Output file, with %j %A %a %x %u %N %n %t [default: kant-%j.out, arrays kant-%A_%a.out]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -s e -l error -d 'Error file [default: the output file]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -s i -l input -d 'Input file [default: /dev/null]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l open-mode -d 'What to do with existing output files [default: truncate]' -r -f -a "append\t''
truncate\t''"
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -s D -l chdir -d 'Working directory [default: the current directory]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -s a -l array -d 'Submit an array of tasks: 0-99; 1,3,5-9:2; 0-999%50 for at most 50 at once' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l launch -d 'Run the script once, once on every node, or once for every task [default: once]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l container -d 'Run in a container: a directory on the nodes with an OCI bundle or a root file system' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l signal -d 'Send a signal before the time limit to all processes, or (B:) only to the script [without @SECONDS: 60 before]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l mail-type -d 'Events that send an e-mail: NONE, BEGIN, END, FAIL, REQUEUE, ALL, INVALID_DEPEND, TIME_LIMIT, TIME_LIMIT_90 (80, 50), ARRAY_TASKS' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l mail-user -d 'Recipient of e-mails [default: you]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l resize-signal -d 'Send a signal when the running job is resized (`kantctl resize`) to all processes, or (B:) only to the script' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l export -d 'Environment variables to pass to the job: ALL, NONE, or NAME,NAME=VALUE [default: ALL]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l acctg-freq -d 'the resource use of a job is measured at its end' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -s M -l clusters -d 'there is one cluster' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l cores-per-socket -d 'cores are chosen near the allocated GPUs, on any socket' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l cpu-bind -d 'a job is bound to its CPUs, near its GPUs; bind single tasks with taskset' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l cpu-freq -d 'the machine\'s governor decides' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l delay-boot -d 'nodes are not booted for jobs' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -s m -l distribution -d 'tasks are assigned node by node, in order' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -s B -l extra-node-info -d 'cores are chosen near the allocated GPUs, on any socket' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l get-user-env -d 'the environment is that of the submission; `#!/bin/bash -l` starts a login shell' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l gpu-bind -d 'each task sees all GPUs of its job on the node: choose by SLURM_LOCALID' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l gpu-freq -d 'GPU clocks are not changed' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l hint -d 'all threads of a core always belong to one job' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l mem-bind -d 'bind memory in the script with numactl' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l network -d 'there are no switch plug-ins' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l ntasks-per-core -d 'tasks of a job share its CPUs' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l ntasks-per-socket -d 'tasks of a job share its CPUs' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -s s -l oversubscribe -d 'CPUs and GPUs are never shared between jobs' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l power -d 'power is not managed per job' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l profile -d 'the resource use of a job is measured at its end' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l propagate -d 'the shell\'s soft limits are always passed on' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l sockets-per-node -d 'cores are chosen near the allocated GPUs, on any socket' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l threads-per-core -d 'all threads of a core always belong to one job' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l time-min -d 'a job gets the whole --time' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l tmp -d 'disk space of nodes is not counted; /tmp is private to the job' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l wckey -d 'use --account or --comment' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -s I -l immediate -d 'Give up if the job has not started within TIME [without TIME: 1s]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l socket -d 'Socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l config -d 'Configuration file, instead of the default ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l retry -d 'How long to keep retrying (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l service -d 'The job is a service: a queue with a zone for services spreads its jobs there'
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l exclusive -d 'Use whole nodes, which no other job shares'
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l grow -d 'Let a running job with a range of nodes or tasks grow onto idle nodes, up to the upper bound'
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -s H -l hold -d 'Hold the job until `kantctl release`'
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l requeue -d 'Start the job again when a node is lost (the default)'
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l no-requeue -d 'Never start the job again'
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l preemptible -d 'Allow preemption of the job [default: as configured for its QoS or queue]'
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l no-preemptible -d 'Do not allow preemption of the job'
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l parsable -d 'Print only the job\'s id'
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l test-only -d 'Do not submit: show when and where the job would start'
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -s W -l wait -d 'Wait until the job ends, and exit with its exit code'
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -s Q -l quiet -d 'Print only errors'
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l no-shell -d 'Start no shell: the nodes stay allocated until the job is cancelled'
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l json -d 'Print the controller\'s answer as JSON; errors are printed as {"error": ...} as well as in plain text on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand attach" -l output-filter -d 'Show stdout of task TASK only; with `none`, of no task' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand attach" -l error-filter -d 'Show stderr of task TASK only; with `none`, of no task' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand attach" -l input-filter -d 'Send input to task TASK only; with `none`, to no task' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand attach" -l socket -d 'Socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand attach" -l config -d 'Configuration file, instead of the default ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand attach" -l retry -d 'How long to keep retrying (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand attach" -s l -l label -d 'Prefix each line of output with the task\'s number'
complete -c kantctl -n "__fish_kantctl_using_subcommand attach" -l layout -d 'Only show on which nodes the tasks run, then exit'
complete -c kantctl -n "__fish_kantctl_using_subcommand attach" -l json -d 'Print the controller\'s answer as JSON; errors are printed as {"error": ...} as well as in plain text on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand attach" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand launch" -l job -d 'A running job [default: the job that this command runs in]' -x -a "(kantctl completions --live jobs 2>/dev/null)"
complete -c kantctl -n "__fish_kantctl_using_subcommand launch" -l socket -d 'Socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand launch" -l config -d 'Configuration file, instead of the default ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand launch" -l retry -d 'How long to keep retrying (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand launch" -s x -d 'Ignored; accepted from programs that call kantctl like ssh'
complete -c kantctl -n "__fish_kantctl_using_subcommand launch" -l json -d 'Print the controller\'s answer as JSON; errors are printed as {"error": ...} as well as in plain text on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand launch" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand step-tasks" -l socket -d 'Socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand step-tasks" -l config -d 'Configuration file, instead of the default ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand step-tasks" -l retry -d 'How long to keep retrying (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand step-tasks" -l json -d 'Print the controller\'s answer as JSON; errors are printed as {"error": ...} as well as in plain text on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand step-tasks" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand wait" -l socket -d 'Socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand wait" -l config -d 'Configuration file, instead of the default ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand wait" -l retry -d 'How long to keep retrying (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand wait" -l json -d 'Print the controller\'s answer as JSON; errors are printed as {"error": ...} as well as in plain text on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand wait" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand cancel" -s s -l signal -d 'Send this signal to running jobs instead of ending them' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand cancel" -s u -l user -d 'Only jobs of these users (names or numbers)' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand cancel" -s p -l queue -l partition -d 'Only jobs in these queues' -x -a "(kantctl completions --live queues 2>/dev/null)"
complete -c kantctl -n "__fish_kantctl_using_subcommand cancel" -s w -l node -l nodelist -d 'Only jobs on these nodes, e.g. g[001-004]' -x -a "(kantctl completions --live nodes 2>/dev/null)"
complete -c kantctl -n "__fish_kantctl_using_subcommand cancel" -s t -l state -l states -d 'Only jobs in these states, as words or codes (PENDING, R)' -r -f -a "PENDING\t''
CONFIGURING\t''
RUNNING\t''
SUSPENDED\t''
COMPLETING\t''
COMPLETED\t''
FAILED\t''
CANCELLED\t''
TIMEOUT\t''
OUT_OF_MEMORY\t''
NODE_FAIL\t''
PREEMPTED\t''
DEADLINE\t''
LAUNCH_FAILED\t''"
complete -c kantctl -n "__fish_kantctl_using_subcommand cancel" -s n -l name -d 'Only jobs with these names' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand cancel" -l socket -d 'Socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand cancel" -l config -d 'Configuration file, instead of the default ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand cancel" -l retry -d 'How long to keep retrying (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand cancel" -s b -l batch -d 'Send the signal to the script only'
complete -c kantctl -n "__fish_kantctl_using_subcommand cancel" -s f -l full -d 'Send the signal to the script and all other processes'
complete -c kantctl -n "__fish_kantctl_using_subcommand cancel" -l me -d 'Only your own jobs'
complete -c kantctl -n "__fish_kantctl_using_subcommand cancel" -l json -d 'Print the controller\'s answer as JSON; errors are printed as {"error": ...} as well as in plain text on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand cancel" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand hold" -l socket -d 'Socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand hold" -l config -d 'Configuration file, instead of the default ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand hold" -l retry -d 'How long to keep retrying (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand hold" -l json -d 'Print the controller\'s answer as JSON; errors are printed as {"error": ...} as well as in plain text on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand hold" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand release" -l socket -d 'Socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand release" -l config -d 'Configuration file, instead of the default ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand release" -l retry -d 'How long to keep retrying (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand release" -l json -d 'Print the controller\'s answer as JSON; errors are printed as {"error": ...} as well as in plain text on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand release" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand update" -s J -l job-name -d 'Job name' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand update" -s A -l account -d 'Account to charge, of which you must be a member' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand update" -s q -l qos -d 'Quality of service, which sets a priority and limits; configured by the operators' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand update" -l comment -d 'Comment, shown by `kantctl show job`' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand update" -s N -l nodes -d 'Number of nodes; without --ntasks the tasks per node stay the same' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand update" -s n -l ntasks -d 'Number of tasks, or a range that the job accepts (2-8)' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand update" -s c -l cpus-per-task -d 'CPUs per task' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand update" -l mem -d 'Memory per node, in MiB or with K, M, G, T' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand update" -s G -l gpus -d 'GPUs in the whole job: 8, h100:8, 0.5' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand update" -l gpus-per-node -d 'GPUs per node' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand update" -l gpu-kind -d 'Kind of GPU, alternatives (h100|a100), or any' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand update" -s p -l queue -l partition -d 'Queue' -x -a "(kantctl completions --live queues 2>/dev/null)"
complete -c kantctl -n "__fish_kantctl_using_subcommand update" -s t -l time -d 'Time limit: minutes, h:m:s, d-h, 90m, 2h; +30 or -30 change the current limit' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand update" -l begin -d 'Earliest start: now+1hour, 16:30, tomorrow, 2030-01-31T08:00' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand update" -l deadline -d 'Deadline: the job must end by then according to its time limit, or never starts' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand update" -l reservation -d 'Run in this reservation, see `kantctl reservations`' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand update" -l near -d 'Prefer or require nodes in one topology group: leaf, leaf:required' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand update" -l nice -d 'Lower the priority by N; operators can use negative values' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand update" -s C -l constraint -d 'Required features of nodes, see `kantctl show node`: \'ib\', \'a100&(ib|roce)\'' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand update" -s w -l nodelist -d 'Use only these nodes, e.g. g[001-004],login' -x -a "(kantctl completions --live nodes 2>/dev/null)"
complete -c kantctl -n "__fish_kantctl_using_subcommand update" -s x -l exclude -d 'Do not use these nodes' -x -a "(kantctl completions --live nodes 2>/dev/null)"
complete -c kantctl -n "__fish_kantctl_using_subcommand update" -s d -l dependency -d 'Jobs to wait for: afterok:20, or none' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand update" -l array-limit -d 'Run at most COUNT tasks of the array at once' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand update" -l mail-type -d 'Events that send an e-mail: NONE, BEGIN, END, FAIL, REQUEUE, ALL, INVALID_DEPEND, TIME_LIMIT, TIME_LIMIT_90 (80, 50), ARRAY_TASKS' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand update" -l mail-user -d 'Recipient of e-mails [default: the job\'s owner]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand update" -l socket -d 'Socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand update" -l config -d 'Configuration file, instead of the default ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand update" -l retry -d 'How long to keep retrying (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand update" -l json -d 'Print the controller\'s answer as JSON; errors are printed as {"error": ...} as well as in plain text on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand update" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand requeue" -l socket -d 'Socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand requeue" -l config -d 'Configuration file, instead of the default ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand requeue" -l retry -d 'How long to keep retrying (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand requeue" -l json -d 'Print the controller\'s answer as JSON; errors are printed as {"error": ...} as well as in plain text on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand requeue" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand checkpoint" -l socket -d 'Socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand checkpoint" -l config -d 'Configuration file, instead of the default ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand checkpoint" -l retry -d 'How long to keep retrying (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand checkpoint" -l json -d 'Print the controller\'s answer as JSON; errors are printed as {"error": ...} as well as in plain text on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand checkpoint" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand resize" -s n -l tasks -l ntasks -d 'Number of tasks to keep: those on its first nodes' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand resize" -s N -l nodes -d 'Number of nodes to keep' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand resize" -l socket -d 'Socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand resize" -l config -d 'Configuration file, instead of the default ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand resize" -l retry -d 'How long to keep retrying (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand resize" -l json -d 'Print the controller\'s answer as JSON; errors are printed as {"error": ...} as well as in plain text on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand resize" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand suspend" -l socket -d 'Socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand suspend" -l config -d 'Configuration file, instead of the default ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand suspend" -l retry -d 'How long to keep retrying (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand suspend" -l json -d 'Print the controller\'s answer as JSON; errors are printed as {"error": ...} as well as in plain text on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand suspend" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand nodes" -s t -l state -l states -d 'Only nodes in these states: idle, mixed, allocated, draining, drained, down' -r -f -a "idle\t''
mixed\t''
allocated\t''
draining\t''
drained\t''
down\t''"
complete -c kantctl -n "__fish_kantctl_using_subcommand nodes" -l socket -d 'Socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand nodes" -l config -d 'Configuration file, instead of the default ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand nodes" -l retry -d 'How long to keep retrying (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand nodes" -l json -d 'Print the controller\'s answer as JSON; errors are printed as {"error": ...} as well as in plain text on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand nodes" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand drain" -s r -l reason -d 'Reason, as shown by `kantctl nodes`' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand drain" -l socket -d 'Socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand drain" -l config -d 'Configuration file, instead of the default ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand drain" -l retry -d 'How long to keep retrying (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand drain" -l json -d 'Print the controller\'s answer as JSON; errors are printed as {"error": ...} as well as in plain text on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand drain" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand resume" -l socket -d 'Socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand resume" -l config -d 'Configuration file, instead of the default ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand resume" -l retry -d 'How long to keep retrying (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand resume" -l nodes -d 'All arguments are nodes, even those that look like jobs'
complete -c kantctl -n "__fish_kantctl_using_subcommand resume" -l json -d 'Print the controller\'s answer as JSON; errors are printed as {"error": ...} as well as in plain text on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand resume" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand queues" -l socket -d 'Socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand queues" -l config -d 'Configuration file, instead of the default ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand queues" -l retry -d 'How long to keep retrying (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand queues" -l json -d 'Print the controller\'s answer as JSON; errors are printed as {"error": ...} as well as in plain text on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand queues" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand share" -l socket -d 'Socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand share" -l config -d 'Configuration file, instead of the default ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand share" -l retry -d 'How long to keep retrying (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand share" -l json -d 'Print the controller\'s answer as JSON; errors are printed as {"error": ...} as well as in plain text on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand share" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and not __fish_seen_subcommand_from list create update delete" -l socket -d 'Socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and not __fish_seen_subcommand_from list create update delete" -l config -d 'Configuration file, instead of the default ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and not __fish_seen_subcommand_from list create update delete" -l retry -d 'How long to keep retrying (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and not __fish_seen_subcommand_from list create update delete" -l json -d 'Print the controller\'s answer as JSON; errors are printed as {"error": ...} as well as in plain text on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and not __fish_seen_subcommand_from list create update delete" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and not __fish_seen_subcommand_from list create update delete" -f -a "list" -d 'List reservations that have not ended (the default)'
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and not __fish_seen_subcommand_from list create update delete" -f -a "create" -d 'Reserve nodes'
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and not __fish_seen_subcommand_from list create update delete" -f -a "update" -d 'Change a reservation: its time, nodes or users'
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and not __fish_seen_subcommand_from list create update delete" -f -a "delete" -d 'Delete reservations, and release their nodes'
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from list" -l socket -d 'Socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from list" -l config -d 'Configuration file, instead of the default ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from list" -l retry -d 'How long to keep retrying (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from list" -l json -d 'Print the controller\'s answer as JSON; errors are printed as {"error": ...} as well as in plain text on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from create" -s w -l nodes -d 'These nodes as a whole, e.g. g-[001-004]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from create" -s N -l count -d 'COUNT nodes, chosen by the controller' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from create" -s G -l gpus -d 'Whole nodes with COUNT GPUs in total, chosen by the controller' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from create" -l gpu-kind -d 'Choose only nodes with GPUs of this kind' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from create" -l from -l start -d 'When it begins, as for `submit --begin` [default: now]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from create" -l to -l end -d 'When it ends' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from create" -l for -l duration -d 'How long it lasts: minutes, h:m:s, d-h, 90m, 2h' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from create" -l flexible-until -d 'The latest time to begin, if nodes are not free earlier; the end moves accordingly' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from create" -s u -l user -l users -d 'Users who may use it, by name or number' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from create" -s g -l group -l groups -d 'Groups that may use it' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from create" -s A -l account -l accounts -d 'Accounts with jobs that may use it' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from create" -l comment -d 'Comment' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from create" -l socket -d 'Socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from create" -l config -d 'Configuration file, instead of the default ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from create" -l retry -d 'How long to keep retrying (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from create" -l maintenance -d 'For maintenance: no job may use it'
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from create" -l json -d 'Print the controller\'s answer as JSON; errors are printed as {"error": ...} as well as in plain text on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from create" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from update" -s w -l nodes -d 'New nodes' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from update" -l from -l start -d 'New begin' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from update" -l to -l end -d 'New end' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from update" -l for -l duration -d 'New duration, counted from its begin' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from update" -s u -l user -l users -d 'Users who may use it, replacing the current ones' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from update" -s g -l group -l groups -d 'Groups that may use it, replacing the current ones' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from update" -s A -l account -l accounts -d 'Accounts that may use it, replacing the current ones' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from update" -l maintenance -d 'For maintenance: no job may use it; `=false` allows jobs again' -r -f -a "true\t''
false\t''"
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from update" -l comment -d 'New comment' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from update" -l socket -d 'Socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from update" -l config -d 'Configuration file, instead of the default ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from update" -l retry -d 'How long to keep retrying (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from update" -l json -d 'Print the controller\'s answer as JSON; errors are printed as {"error": ...} as well as in plain text on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from update" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from delete" -l socket -d 'Socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from delete" -l config -d 'Configuration file, instead of the default ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from delete" -l retry -d 'How long to keep retrying (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from delete" -l json -d 'Print the controller\'s answer as JSON; errors are printed as {"error": ...} as well as in plain text on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from delete" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand priority" -l socket -d 'Socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand priority" -l config -d 'Configuration file, instead of the default ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand priority" -l retry -d 'How long to keep retrying (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand priority" -l json -d 'Print the controller\'s answer as JSON; errors are printed as {"error": ...} as well as in plain text on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand priority" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand metrics" -l socket -d 'Socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand metrics" -l config -d 'Configuration file, instead of the default ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand metrics" -l retry -d 'How long to keep retrying (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand metrics" -l json -d 'Print the controller\'s answer as JSON; errors are printed as {"error": ...} as well as in plain text on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand metrics" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand report" -l by -d 'Group by user, account, queue, qos, state, gpus, cpus or nodes; several are comma-separated' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand report" -s S -l since -d 'Start of the period: an age (7d, 12h) or a date [default: 30d]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand report" -s E -l until -d 'End of the period [default: now]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand report" -s u -l user -d 'Only runs of these users (names or numbers)' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand report" -s A -l account -d 'Only runs of these accounts' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand report" -s p -l queue -l partition -d 'Only runs in these queues' -x -a "(kantctl completions --live queues 2>/dev/null)"
complete -c kantctl -n "__fish_kantctl_using_subcommand report" -l socket -d 'Socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand report" -l config -d 'Configuration file, instead of the default ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand report" -l retry -d 'How long to keep retrying (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand report" -l csv -d 'Print CSV, with times in hours'
complete -c kantctl -n "__fish_kantctl_using_subcommand report" -l json -d 'Print the controller\'s answer as JSON; errors are printed as {"error": ...} as well as in plain text on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand report" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand export" -l jobs -d 'Write the jobs to this file, as CSV' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand export" -l nodes -d 'Write the nodes to this file, as CSV' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand export" -l since -d 'Only jobs submitted since then: an age (7d, 12h) or a date (2030-01-31T08:00)' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand export" -l socket -d 'Socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand export" -l config -d 'Configuration file, instead of the default ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand export" -l retry -d 'How long to keep retrying (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand export" -l json -d 'Print the controller\'s answer as JSON; errors are printed as {"error": ...} as well as in plain text on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand export" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand reload" -l socket -d 'Socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand reload" -l config -d 'Configuration file, instead of the default ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand reload" -l retry -d 'How long to keep retrying (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand reload" -l json -d 'Print the controller\'s answer as JSON; errors are printed as {"error": ...} as well as in plain text on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand reload" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand status" -l socket -d 'Socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand status" -l config -d 'Configuration file, instead of the default ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand status" -l retry -d 'How long to keep retrying (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand status" -l json -d 'Print the controller\'s answer as JSON; errors are printed as {"error": ...} as well as in plain text on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand status" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand admin; and not __fish_seen_subcommand_from controller backup" -l socket -d 'Socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand admin; and not __fish_seen_subcommand_from controller backup" -l config -d 'Configuration file, instead of the default ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand admin; and not __fish_seen_subcommand_from controller backup" -l retry -d 'How long to keep retrying (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand admin; and not __fish_seen_subcommand_from controller backup" -l json -d 'Print the controller\'s answer as JSON; errors are printed as {"error": ...} as well as in plain text on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand admin; and not __fish_seen_subcommand_from controller backup" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand admin; and not __fish_seen_subcommand_from controller backup" -f -a "controller" -d 'List and change the controllers that keep the cluster\'s log'
complete -c kantctl -n "__fish_kantctl_using_subcommand admin; and not __fish_seen_subcommand_from controller backup" -f -a "backup" -d 'Save the whole state of the cluster in one file, for `kantctld restore`'
complete -c kantctl -n "__fish_kantctl_using_subcommand admin; and __fish_seen_subcommand_from controller" -l socket -d 'Socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand admin; and __fish_seen_subcommand_from controller" -l config -d 'Configuration file, instead of the default ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand admin; and __fish_seen_subcommand_from controller" -l retry -d 'How long to keep retrying (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand admin; and __fish_seen_subcommand_from controller" -l json -d 'Print the controller\'s answer as JSON; errors are printed as {"error": ...} as well as in plain text on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand admin; and __fish_seen_subcommand_from controller" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand admin; and __fish_seen_subcommand_from controller" -f -a "status" -d 'List the controllers, with their roles and their positions in the log'
complete -c kantctl -n "__fish_kantctl_using_subcommand admin; and __fish_seen_subcommand_from controller" -f -a "invite" -d 'Invite one more controller'
complete -c kantctl -n "__fish_kantctl_using_subcommand admin; and __fish_seen_subcommand_from controller" -f -a "promote" -d 'Promote a learner to a voting member'
complete -c kantctl -n "__fish_kantctl_using_subcommand admin; and __fish_seen_subcommand_from controller" -f -a "remove" -d 'Remove a controller permanently; its id is never reused'
complete -c kantctl -n "__fish_kantctl_using_subcommand admin; and __fish_seen_subcommand_from controller" -f -a "transfer" -d 'Transfer leadership to another controller'
complete -c kantctl -n "__fish_kantctl_using_subcommand admin; and __fish_seen_subcommand_from backup" -l socket -d 'Socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand admin; and __fish_seen_subcommand_from backup" -l config -d 'Configuration file, instead of the default ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand admin; and __fish_seen_subcommand_from backup" -l retry -d 'How long to keep retrying (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand admin; and __fish_seen_subcommand_from backup" -l json -d 'Print the controller\'s answer as JSON; errors are printed as {"error": ...} as well as in plain text on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand admin; and __fish_seen_subcommand_from backup" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand help" -l socket -d 'Socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand help" -l config -d 'Configuration file, instead of the default ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand help" -l retry -d 'How long to keep retrying (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand help" -l json -d 'Print the controller\'s answer as JSON; errors are printed as {"error": ...} as well as in plain text on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand help" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand completions" -l live -d 'Print the jobs, nodes or queues in the cluster, one per line; used by the completions' -r -f -a "jobs\t''
nodes\t''
queues\t''"
complete -c kantctl -n "__fish_kantctl_using_subcommand completions" -l socket -d 'Socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand completions" -l config -d 'Configuration file, instead of the default ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand completions" -l retry -d 'How long to keep retrying (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand completions" -l json -d 'Print the controller\'s answer as JSON; errors are printed as {"error": ...} as well as in plain text on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand completions" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand man" -l socket -d 'Socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand man" -l config -d 'Configuration file, instead of the default ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand man" -l retry -d 'How long to keep retrying (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand man" -l slurm -d 'Print the table of supported Slurm options, as Markdown'
complete -c kantctl -n "__fish_kantctl_using_subcommand man" -l json -d 'Print the controller\'s answer as JSON; errors are printed as {"error": ...} as well as in plain text on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand man" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand install-slurm-names" -l socket -d 'Socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand install-slurm-names" -l config -d 'Configuration file, instead of the default ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand install-slurm-names" -l retry -d 'How long to keep retrying (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand install-slurm-names" -l json -d 'Print the controller\'s answer as JSON; errors are printed as {"error": ...} as well as in plain text on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand install-slurm-names" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -s J -l job-name -d 'Job name [default: the script\'s file name]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -s A -l account -d 'Account to charge, of which you must be a member [default: your first account]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -s q -l qos -d 'Quality of service, which sets a priority and limits; configured by the operators' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l comment -d 'Comment, shown by `kantctl show job`' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -s N -l nodes -d 'Number of nodes, or a range that the job accepts (1-4), with one task per node [default: the fewest nodes on which the tasks fit]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -s n -l ntasks -d 'Number of tasks, or a range that the job accepts (2-8) [default: --nodes times --ntasks-per-node, or 1]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l ntasks-per-node -d 'Maximum number of tasks per node' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -s c -l cpus-per-task -d 'CPUs per task [default: 1]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l ntasks-per-gpu -d 'Tasks per requested GPU' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l cpus-per-gpu -d 'CPUs per requested GPU' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l mem -d 'Memory per node, in MiB or with K, M, G, T; 0 for all of it' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l mem-per-cpu -d 'Memory per CPU' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l mem-per-gpu -d 'Memory per GPU' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -s G -l gpus -d 'GPUs in the whole job: of any kind (8), of one kind (h100:8), of one of several kinds (\'h100|a100:8\'); or a share of a GPU (0.5), of its memory (20G), or of several GPUs (2x0.5)' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l gpus-per-node -d 'GPUs per node' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l gpus-per-task -d 'GPUs per task' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l gres -d 'GPUs per node, in Slurm\'s syntax (gpu:2, gpu:h100:2)' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -s p -l queue -l partition -d 'Queue [default: the cluster\'s default queue]' -x -a "(kantctl completions --live queues 2>/dev/null)"
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -s t -l time -d 'Run time limit: minutes, h:m:s, d-h, 90m, 2h, UNLIMITED [default: the queue\'s]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l begin -d 'Earliest start: now+1hour, 16:30, tomorrow, 2030-01-31T08:00' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l deadline -d 'Deadline: the job must end by then according to its time limit, or never starts' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l reservation -d 'Run in this reservation, see `kantctl reservations`' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l near -d 'Topology group for all nodes: nvlink-domain, leaf, spine or superspine. A group with enough free nodes is preferred, or required (leaf:required)' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l switches -d 'Slurm\'s option for --near=leaf: --switches=1' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l segment -d 'Split the nodes into blocks of this size, each within one group [without --near: nvlink-domain:required]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l max-per-node -d 'Run at most COUNT of your jobs with this name per node' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l nice -d 'Lower the priority by N [without a number: 100]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -s C -l constraint -d 'Required features of nodes, see `kantctl show node`: \'ib\', \'a100&(ib|roce)\'' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -s w -l nodelist -d 'Use only these nodes, e.g. g[001-004],login' -x -a "(kantctl completions --live nodes 2>/dev/null)"
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -s x -l exclude -d 'Do not use these nodes' -x -a "(kantctl completions --live nodes 2>/dev/null)"
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -s d -l dependency -d 'Wait for other jobs: afterok:20:21, afterany:22_3, after:23+5 (minutes), afternotok, aftercorr (task by task), singleton; separated by `,` if all are required, by `?` if one is enough' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l kill-on-invalid-dep -d 'Cancel the job when its dependency can no longer be satisfied [default: no, it keeps waiting]' -r -f -a "yes\t''
no\t''"
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -s o -l output -d 'Output file, with %j %A %a %x %u %N %n %t [default: kant-%j.out, arrays kant-%A_%a.out]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -s e -l error -d 'Error file [default: the output file]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -s i -l input -d 'Input file [default: /dev/null]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l open-mode -d 'What to do with existing output files [default: truncate]' -r -f -a "append\t''
truncate\t''"
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -s D -l chdir -d 'Working directory [default: the current directory]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -s a -l array -d 'Submit an array of tasks: 0-99; 1,3,5-9:2; 0-999%50 for at most 50 at once' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l launch -d 'Run the script once, once on every node, or once for every task [default: once]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l container -d 'Run in a container: a directory on the nodes with an OCI bundle or a root file system' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l signal -d 'Send a signal before the time limit to all processes, or (B:) only to the script [without @SECONDS: 60 before]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l mail-type -d 'Events that send an e-mail: NONE, BEGIN, END, FAIL, REQUEUE, ALL, INVALID_DEPEND, TIME_LIMIT, TIME_LIMIT_90 (80, 50), ARRAY_TASKS' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l mail-user -d 'Recipient of e-mails [default: you]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l resize-signal -d 'Send a signal when the running job is resized (`kantctl resize`) to all processes, or (B:) only to the script' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l export -d 'Environment variables to pass to the job: ALL, NONE, or NAME,NAME=VALUE [default: ALL]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l acctg-freq -d 'the resource use of a job is measured at its end' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -s M -l clusters -d 'there is one cluster' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l cores-per-socket -d 'cores are chosen near the allocated GPUs, on any socket' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l cpu-bind -d 'a job is bound to its CPUs, near its GPUs; bind single tasks with taskset' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l cpu-freq -d 'the machine\'s governor decides' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l delay-boot -d 'nodes are not booted for jobs' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -s m -l distribution -d 'tasks are assigned node by node, in order' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -s B -l extra-node-info -d 'cores are chosen near the allocated GPUs, on any socket' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l get-user-env -d 'the environment is that of the submission; `#!/bin/bash -l` starts a login shell' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l gpu-bind -d 'each task sees all GPUs of its job on the node: choose by SLURM_LOCALID' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l gpu-freq -d 'GPU clocks are not changed' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l hint -d 'all threads of a core always belong to one job' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l mem-bind -d 'bind memory in the script with numactl' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l network -d 'there are no switch plug-ins' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l ntasks-per-core -d 'tasks of a job share its CPUs' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l ntasks-per-socket -d 'tasks of a job share its CPUs' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -s s -l oversubscribe -d 'CPUs and GPUs are never shared between jobs' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l power -d 'power is not managed per job' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l profile -d 'the resource use of a job is measured at its end' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l propagate -d 'the shell\'s soft limits are always passed on' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l sockets-per-node -d 'cores are chosen near the allocated GPUs, on any socket' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l threads-per-core -d 'all threads of a core always belong to one job' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l time-min -d 'a job gets the whole --time' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l tmp -d 'disk space of nodes is not counted; /tmp is private to the job' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l wckey -d 'use --account or --comment' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l wrap -d 'Run this command instead of a script' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l batch -d 'Submit a job for each line of this file (- is standard input). A line has the words of a `kantctl submit`, or options as JSON: {"gpus": 1, "script": "train.sh", "args": ["--seed", "7"]}. Options on the command line apply to lines that do not set them' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l socket -d 'Socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l config -d 'Configuration file, instead of the default ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l retry -d 'How long to keep retrying (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l service -d 'The job is a service: a queue with a zone for services spreads its jobs there'
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l exclusive -d 'Use whole nodes, which no other job shares'
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l grow -d 'Let a running job with a range of nodes or tasks grow onto idle nodes, up to the upper bound'
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -s H -l hold -d 'Hold the job until `kantctl release`'
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l requeue -d 'Start the job again when a node is lost (the default)'
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l no-requeue -d 'Never start the job again'
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l preemptible -d 'Allow preemption of the job [default: as configured for its QoS or queue]'
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l no-preemptible -d 'Do not allow preemption of the job'
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l parsable -d 'Print only the job\'s id'
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l test-only -d 'Do not submit: show when and where the job would start'
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -s W -l wait -d 'Wait until the job ends, and exit with its exit code'
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -s Q -l quiet -d 'Print only errors'
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l json -d 'Print the controller\'s answer as JSON; errors are printed as {"error": ...} as well as in plain text on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand watch" -f -a "(kantctl completions --live jobs 2>/dev/null)"
complete -c kantctl -n "__fish_kantctl_using_subcommand history" -f -a "(kantctl completions --live jobs 2>/dev/null)"
complete -c kantctl -n "__fish_kantctl_using_subcommand show; and not __fish_seen_subcommand_from job node queue" -f -a "(kantctl completions --live jobs 2>/dev/null)"
complete -c kantctl -n "__fish_kantctl_using_subcommand show; and __fish_seen_subcommand_from job" -f -a "(kantctl completions --live jobs 2>/dev/null)"
complete -c kantctl -n "__fish_kantctl_using_subcommand show; and __fish_seen_subcommand_from node" -f -a "(kantctl completions --live nodes 2>/dev/null)"
complete -c kantctl -n "__fish_kantctl_using_subcommand show; and __fish_seen_subcommand_from queue" -f -a "(kantctl completions --live queues 2>/dev/null)"
complete -c kantctl -n "__fish_kantctl_using_subcommand explain" -f -a "(kantctl completions --live jobs 2>/dev/null)"
complete -c kantctl -n "__fish_kantctl_using_subcommand logs" -f -a "(kantctl completions --live jobs 2>/dev/null)"
complete -c kantctl -n "__fish_kantctl_using_subcommand attach" -f -a "(kantctl completions --live jobs 2>/dev/null)"
complete -c kantctl -n "__fish_kantctl_using_subcommand launch" -f -a "(kantctl completions --live nodes 2>/dev/null)"
complete -c kantctl -n "__fish_kantctl_using_subcommand wait" -f -a "(kantctl completions --live jobs 2>/dev/null)"
complete -c kantctl -n "__fish_kantctl_using_subcommand cancel" -f -a "(kantctl completions --live jobs 2>/dev/null)"
complete -c kantctl -n "__fish_kantctl_using_subcommand hold" -f -a "(kantctl completions --live jobs 2>/dev/null)"
complete -c kantctl -n "__fish_kantctl_using_subcommand release" -f -a "(kantctl completions --live jobs 2>/dev/null)"
complete -c kantctl -n "__fish_kantctl_using_subcommand update" -f -a "(kantctl completions --live jobs 2>/dev/null)"
complete -c kantctl -n "__fish_kantctl_using_subcommand requeue" -f -a "(kantctl completions --live jobs 2>/dev/null)"
complete -c kantctl -n "__fish_kantctl_using_subcommand checkpoint" -f -a "(kantctl completions --live jobs 2>/dev/null)"
complete -c kantctl -n "__fish_kantctl_using_subcommand resize" -f -a "(kantctl completions --live jobs 2>/dev/null)"
complete -c kantctl -n "__fish_kantctl_using_subcommand suspend" -f -a "(kantctl completions --live jobs 2>/dev/null)"
complete -c kantctl -n "__fish_kantctl_using_subcommand nodes" -f -a "(kantctl completions --live nodes 2>/dev/null)"
complete -c kantctl -n "__fish_kantctl_using_subcommand drain" -f -a "(kantctl completions --live nodes 2>/dev/null)"
complete -c kantctl -n "__fish_kantctl_using_subcommand resume" -f -a "(kantctl completions --live jobs 2>/dev/null)"
complete -c kantctl -n "__fish_kantctl_using_subcommand priority" -f -a "(kantctl completions --live jobs 2>/dev/null)"
