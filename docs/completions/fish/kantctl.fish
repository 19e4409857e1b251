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

complete -c kantctl -n "__fish_kantctl_needs_command" -l socket -d 'The socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_needs_command" -l config -d 'The configuration file, instead of the usual ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_needs_command" -l retry -d 'Keep asking for so long (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_needs_command" -l json -d 'Print the controller\'s answer as JSON; what failed as {"error": ...}, beside the words on stderr'
complete -c kantctl -n "__fish_kantctl_needs_command" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_needs_command" -s V -l version -d 'Print version'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "queue" -d 'List jobs'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "q" -d 'List jobs'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "top" -d 'Watch the cluster and its jobs, live'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "watch" -d 'Tell what happens, as it happens'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "history" -d 'List jobs that are over, also those the controller no longer keeps'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "show" -d 'Show everything about a job or a node'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "explain" -d 'Say why a job is where it is, and what to do'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "logs" -d 'Print a job\'s output'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "run" -d 'Run a program on nodes of its own, now and here'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "alloc" -d 'Hold nodes for a shell here'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "attach" -d 'See what a step that runs writes, and detach with Ctrl-C'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "launch" -d 'Start a program on a node of a job that runs'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "step-tasks" -d 'Start the tasks of a step on this node'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "wait" -d 'Wait for jobs to end, and exit with their code'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "cancel" -d 'End jobs'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "hold" -d 'Keep waiting jobs from starting'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "release" -d 'Let held jobs go'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "update" -d 'Change what waiting jobs ask for'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "requeue" -d 'Start jobs again from the top'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "checkpoint" -d 'Say that a job\'s work so far is saved'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "resize" -d 'Let running jobs give nodes up'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "suspend" -d 'Let running jobs stand still'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "nodes" -d 'List nodes'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "drain" -d 'Let nothing new start on nodes'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "resume" -d 'Let suspended jobs go on, or jobs start on nodes again'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "queues" -d 'List queues, as a tree'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "share" -d 'Say who is owed how much, who has it, and who borrows from whom'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "reservations" -d 'List, make and delete bookings of nodes'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "priority" -d 'Say where waiting jobs\' priorities come from'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "metrics" -d 'Say how well the GPUs are used, and how long jobs wait'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "report" -d 'Add up who used how much, and how much there was'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "export" -d 'Write what ran, and where, as files that `kantctld simulate` replays'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "reload" -d 'Have the controller read its configuration again'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "status" -d 'Say how the controller is'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "admin" -d 'See and change the cluster\'s controllers, and back up all that they know'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "help" -d 'A short page on a topic: jobs, gpus, arrays, queues, environment, slurm'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "completions" -d 'Print a shell\'s completions'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "man" -d 'Print the manual page, or write all of them'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "install-slurm-names" -d 'Make links that answer as sbatch, squeue and Slurm\'s other commands'
complete -c kantctl -n "__fish_kantctl_needs_command" -f -a "submit" -d 'Submit a script as a job'
complete -c kantctl -n "__fish_kantctl_using_subcommand queue" -s u -l user -d 'Only of these users (names or numbers)' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand queue" -s p -l queue -l partition -d 'Only of these queues' -x -a "(kantctl completions --live queues 2>/dev/null)"
complete -c kantctl -n "__fish_kantctl_using_subcommand queue" -s w -l node -l nodelist -d 'Only on these nodes, like g[001-004]' -x -a "(kantctl completions --live nodes 2>/dev/null)"
complete -c kantctl -n "__fish_kantctl_using_subcommand queue" -s t -l state -l states -d 'Only in these states, as words or codes (PENDING, R)' -r -f -a "PENDING\t''
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
complete -c kantctl -n "__fish_kantctl_using_subcommand queue" -s n -l name -d 'Only with these names' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand queue" -s o -l format -d 'These columns' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand queue" -l sort -d 'By these columns; - turns around [default: running, then waiting in order, then finished]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand queue" -l socket -d 'The socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand queue" -l config -d 'The configuration file, instead of the usual ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand queue" -l retry -d 'Keep asking for so long (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand queue" -l me -d 'Only my jobs'
complete -c kantctl -n "__fish_kantctl_using_subcommand queue" -s a -l all -d 'Finished jobs too, as long as the controller keeps them'
complete -c kantctl -n "__fish_kantctl_using_subcommand queue" -l start -d 'When waiting jobs are expected to start'
complete -c kantctl -n "__fish_kantctl_using_subcommand queue" -l csv -d 'As CSV'
complete -c kantctl -n "__fish_kantctl_using_subcommand queue" -l json -d 'Print the controller\'s answer as JSON; what failed as {"error": ...}, beside the words on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand queue" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand q" -s u -l user -d 'Only of these users (names or numbers)' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand q" -s p -l queue -l partition -d 'Only of these queues' -x -a "(kantctl completions --live queues 2>/dev/null)"
complete -c kantctl -n "__fish_kantctl_using_subcommand q" -s w -l node -l nodelist -d 'Only on these nodes, like g[001-004]' -x -a "(kantctl completions --live nodes 2>/dev/null)"
complete -c kantctl -n "__fish_kantctl_using_subcommand q" -s t -l state -l states -d 'Only in these states, as words or codes (PENDING, R)' -r -f -a "PENDING\t''
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
complete -c kantctl -n "__fish_kantctl_using_subcommand q" -s n -l name -d 'Only with these names' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand q" -s o -l format -d 'These columns' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand q" -l sort -d 'By these columns; - turns around [default: running, then waiting in order, then finished]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand q" -l socket -d 'The socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand q" -l config -d 'The configuration file, instead of the usual ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand q" -l retry -d 'Keep asking for so long (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand q" -l me -d 'Only my jobs'
complete -c kantctl -n "__fish_kantctl_using_subcommand q" -s a -l all -d 'Finished jobs too, as long as the controller keeps them'
complete -c kantctl -n "__fish_kantctl_using_subcommand q" -l start -d 'When waiting jobs are expected to start'
complete -c kantctl -n "__fish_kantctl_using_subcommand q" -l csv -d 'As CSV'
complete -c kantctl -n "__fish_kantctl_using_subcommand q" -l json -d 'Print the controller\'s answer as JSON; what failed as {"error": ...}, beside the words on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand q" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand top" -s u -l user -d 'Only of these users (names or numbers)' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand top" -s p -l queue -l partition -d 'Only of these queues' -x -a "(kantctl completions --live queues 2>/dev/null)"
complete -c kantctl -n "__fish_kantctl_using_subcommand top" -s w -l node -l nodelist -d 'Only on these nodes, like g[001-004]' -x -a "(kantctl completions --live nodes 2>/dev/null)"
complete -c kantctl -n "__fish_kantctl_using_subcommand top" -s t -l state -l states -d 'Only in these states, as words or codes (PENDING, R)' -r -f -a "PENDING\t''
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
complete -c kantctl -n "__fish_kantctl_using_subcommand top" -s n -l name -d 'Only with these names' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand top" -s i -l interval -d 'Seconds between two looks' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand top" -l socket -d 'The socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand top" -l config -d 'The configuration file, instead of the usual ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand top" -l retry -d 'Keep asking for so long (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand top" -l me -d 'Only my jobs'
complete -c kantctl -n "__fish_kantctl_using_subcommand top" -l json -d 'Print the controller\'s answer as JSON; what failed as {"error": ...}, beside the words on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand top" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand watch" -s u -l user -d 'Only of jobs of these users' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand watch" -l count -d 'End after so many events' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand watch" -l socket -d 'The socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand watch" -l config -d 'The configuration file, instead of the usual ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand watch" -l retry -d 'Keep asking for so long (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand watch" -l me -d 'Only of my jobs'
complete -c kantctl -n "__fish_kantctl_using_subcommand watch" -l json -d 'Print the controller\'s answer as JSON; what failed as {"error": ...}, beside the words on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand watch" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand history" -s u -l user -d 'Only of these users (names or numbers)' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand history" -s A -l account -d 'Only of these accounts' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand history" -s p -l queue -l partition -d 'Only of these queues' -x -a "(kantctl completions --live queues 2>/dev/null)"
complete -c kantctl -n "__fish_kantctl_using_subcommand history" -s t -l state -d 'Only that ended so, as words (FAILED, TIMEOUT)' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand history" -s S -l since -d 'Over so long ago at most (7d, 12h), or since a date [default: 7d; with jobs: all]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand history" -s E -l until -d 'Over before this date, or so long ago at least' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand history" -l limit -d 'At most so many, the latest [default: 10000; with --csv: all]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand history" -s o -l format -d 'These columns' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand history" -l sort -d 'By these columns; - turns around [default: the latest first]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand history" -l socket -d 'The socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand history" -l config -d 'The configuration file, instead of the usual ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand history" -l retry -d 'Keep asking for so long (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand history" -l me -d 'Only my jobs'
complete -c kantctl -n "__fish_kantctl_using_subcommand history" -l runs -d 'Earlier runs of jobs that were requeued, too'
complete -c kantctl -n "__fish_kantctl_using_subcommand history" -l steps -d 'Their steps, one a line, instead of jobs'
complete -c kantctl -n "__fish_kantctl_using_subcommand history" -l csv -d 'As CSV'
complete -c kantctl -n "__fish_kantctl_using_subcommand history" -l json -d 'Print the controller\'s answer as JSON; what failed as {"error": ...}, beside the words on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand history" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand show; and not __fish_seen_subcommand_from job node queue" -l socket -d 'The socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand show; and not __fish_seen_subcommand_from job node queue" -l config -d 'The configuration file, instead of the usual ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand show; and not __fish_seen_subcommand_from job node queue" -l retry -d 'Keep asking for so long (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand show; and not __fish_seen_subcommand_from job node queue" -l json -d 'Print the controller\'s answer as JSON; what failed as {"error": ...}, beside the words on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand show; and not __fish_seen_subcommand_from job node queue" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand show; and not __fish_seen_subcommand_from job node queue" -a "job" -d 'A job\'s record and its story'
complete -c kantctl -n "__fish_kantctl_using_subcommand show; and not __fish_seen_subcommand_from job node queue" -a "node" -d 'A node\'s record'
complete -c kantctl -n "__fish_kantctl_using_subcommand show; and not __fish_seen_subcommand_from job node queue" -a "queue" -d 'A queue\'s record'
complete -c kantctl -n "__fish_kantctl_using_subcommand show; and __fish_seen_subcommand_from job" -l socket -d 'The socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand show; and __fish_seen_subcommand_from job" -l config -d 'The configuration file, instead of the usual ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand show; and __fish_seen_subcommand_from job" -l retry -d 'Keep asking for so long (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand show; and __fish_seen_subcommand_from job" -l json -d 'Print the controller\'s answer as JSON; what failed as {"error": ...}, beside the words on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand show; and __fish_seen_subcommand_from job" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand show; and __fish_seen_subcommand_from node" -l socket -d 'The socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand show; and __fish_seen_subcommand_from node" -l config -d 'The configuration file, instead of the usual ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand show; and __fish_seen_subcommand_from node" -l retry -d 'Keep asking for so long (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand show; and __fish_seen_subcommand_from node" -l json -d 'Print the controller\'s answer as JSON; what failed as {"error": ...}, beside the words on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand show; and __fish_seen_subcommand_from node" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand show; and __fish_seen_subcommand_from queue" -l socket -d 'The socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand show; and __fish_seen_subcommand_from queue" -l config -d 'The configuration file, instead of the usual ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand show; and __fish_seen_subcommand_from queue" -l retry -d 'Keep asking for so long (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand show; and __fish_seen_subcommand_from queue" -l json -d 'Print the controller\'s answer as JSON; what failed as {"error": ...}, beside the words on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand show; and __fish_seen_subcommand_from queue" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand explain" -l what-if -d 'Say what a changed request would bring: \'time=2h gpus=4\'' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand explain" -l trials -d 'Look at so many places at most [default: 200000]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand explain" -l socket -d 'The socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand explain" -l config -d 'The configuration file, instead of the usual ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand explain" -l retry -d 'Keep asking for so long (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand explain" -l solve -d 'Search for running jobs that would have to move for it to have room'
complete -c kantctl -n "__fish_kantctl_using_subcommand explain" -l json -d 'Print the controller\'s answer as JSON; what failed as {"error": ...}, beside the words on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand explain" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand logs" -s n -l tail -d 'Only the last so many lines of what is there' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand logs" -l socket -d 'The socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand logs" -l config -d 'The configuration file, instead of the usual ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand logs" -l retry -d 'Keep asking for so long (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand logs" -s f -l follow -d 'Go on until the job is over'
complete -c kantctl -n "__fish_kantctl_using_subcommand logs" -s e -l stderr -d 'The error file instead of the output file'
complete -c kantctl -n "__fish_kantctl_using_subcommand logs" -l json -d 'Print the controller\'s answer as JSON; what failed as {"error": ...}, beside the words on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand logs" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -s J -l job-name -d 'The job\'s name [default: the script\'s file name]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -s A -l account -d 'Whom to charge: an account of yours [default: the first of which you are a member]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -s q -l qos -d 'The quality of service: a priority and bounds that the cluster\'s operators set up' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l comment -d 'A word of yours, shown by `kantctl show job`' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -s N -l nodes -d 'How many nodes, or a range of which it takes what it gets (1-4), with one task on each [default: as few as hold the tasks]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -s n -l ntasks -d 'Tasks in all, or a range of which it takes what it gets (2-8) [default: --nodes times --ntasks-per-node, or 1]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l ntasks-per-node -d 'At most so many tasks on a node' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -s c -l cpus-per-task -d 'CPUs for each task [default: 1]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l ntasks-per-gpu -d 'Tasks for each GPU asked for' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l cpus-per-gpu -d 'CPUs for each GPU asked for' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l mem -d 'Memory on each node, in MiB or with K, M, G, T; 0 is all of it' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l mem-per-cpu -d 'Memory for each CPU' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l mem-per-gpu -d 'Memory for each GPU' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -s G -l gpus -d 'GPUs in the whole job: any (8), of a kind (h100:8), of one of several kinds (\'h100|a100:8\'), or a share of a GPU (0.5), of its memory (20G), or of several (2x0.5)' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l gpus-per-node -d 'GPUs on each node' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l gpus-per-task -d 'GPUs for each task' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l gres -d 'GPUs on each node, as Slurm writes it (gpu:2, gpu:h100:2)' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -s p -l queue -l partition -d 'The queue [default: the cluster\'s default queue]' -x -a "(kantctl completions --live queues 2>/dev/null)"
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -s t -l time -d 'Time limit: minutes, h:m:s, d-h, 90m, 2h, UNLIMITED [default: the queue\'s]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l begin -d 'Not before: now+1hour, 16:30, tomorrow, 2030-01-31T08:00' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l deadline -d 'Over by then by its time limit, or never started' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l reservation -d 'Run in this booking, see `kantctl reservations`' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l near -d 'Nodes near to each other: nvlink-domain, leaf, spine or superspine; one of them if there is one with room, or wait for that (leaf:required)' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l switches -d 'Slurm\'s way to ask for --near=leaf: --switches=1' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l segment -d 'Blocks of so many nodes, each near in itself [without --near: nvlink-domain:required]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l max-per-node -d 'At most so many jobs of this name of yours on one node' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l nice -d 'Step back: lowers the priority [without a number: 100]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -s C -l constraint -d 'Nodes with these features, see `kantctl show node`: \'ib\', \'a100&(ib|roce)\'' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -s w -l nodelist -d 'Only these nodes, like g[001-004],login' -x -a "(kantctl completions --live nodes 2>/dev/null)"
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -s x -l exclude -d 'Not these nodes' -x -a "(kantctl completions --live nodes 2>/dev/null)"
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -s o -l output -d 'Output file, with %j %A %a %x %u %N %n %t [default: kant-%j.out, arrays kant-%A_%a.out]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -s e -l error -d 'Error file [default: with the output]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -s i -l input -d 'Input file [default: /dev/null]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l open-mode -d 'What happens to output files that exist [default: truncate]' -r -f -a "append\t''
truncate\t''"
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -s D -l chdir -d 'Where it starts [default: here]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -s a -l array -d 'An array of tasks: 0-99, 1,3,5-9:2, at most 50 at once: 0-999%50' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l launch -d 'Run the script once, once on every node, or once for every task [default: once]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l container -d 'Run in a container: a directory on its nodes that is an OCI bundle or a root file system' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l signal -d 'A signal before its time limit: to all its processes, or (B:) to the script alone [without @SECONDS: 60 before]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l mail-type -d 'Letters when it begins, ends, fails, ...: NONE, BEGIN, END, FAIL, REQUEUE, ALL, INVALID_DEPEND, TIME_LIMIT, TIME_LIMIT_90 (80, 50), ARRAY_TASKS' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l mail-user -d 'To whom [default: you]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l resize-signal -d 'A signal when it is given another size while it runs (`kantctl resize`): to all its processes, or (B:) to the script alone' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l export -d 'What of your environment it gets: ALL, NONE, or NAME,NAME=VALUE [default: ALL]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -s d -l dependency -d 'Wait for other jobs: afterok:20:21, afterany:22_3, after:23+5 (minutes), afternotok, aftercorr (task for task), singleton; `,` between where all count, `?` where one is enough' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l kill-on-invalid-dep -d 'Cancel it once what it waits for cannot come any more [default: no, it goes on waiting]' -r -f -a "yes\t''
no\t''"
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l acctg-freq -d 'what a job uses is measured at its end' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -s M -l clusters -d 'there is one cluster' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l cores-per-socket -d 'cores are chosen near the GPUs given, whatever the socket' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l cpu-bind -d 'a job is held to its CPUs, near its GPUs; bind single tasks with taskset' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l cpu-freq -d 'the machine\'s governor decides' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l delay-boot -d 'nodes are not booted for jobs' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -s m -l distribution -d 'tasks stand node by node, in order' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -s B -l extra-node-info -d 'cores are chosen near the GPUs given, whatever the socket' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l get-user-env -d 'the environment is that of the submission; `#!/bin/bash -l` makes a login shell' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l gpu-bind -d 'each task sees all GPUs of its job on the node: choose by SLURM_LOCALID' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l gpu-freq -d 'GPUs keep the clocks they have' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l hint -d 'threads of a core go to one job in any case' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l mem-bind -d 'bind memory in the script with numactl' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l network -d 'there are no switch plug-ins' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l ntasks-per-core -d 'tasks of a job share its CPUs' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l ntasks-per-socket -d 'tasks of a job share its CPUs' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -s s -l oversubscribe -d 'CPUs and GPUs are never given twice' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l power -d 'power is the machine\'s' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l profile -d 'what a job uses is measured at its end' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l propagate -d 'the shell\'s soft limits are always passed on' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l sockets-per-node -d 'cores are chosen near the GPUs given, whatever the socket' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l threads-per-core -d 'threads of a core go to one job in any case' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l time-min -d 'a job gets the whole --time' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l tmp -d 'disks of nodes are not counted; /tmp is the job\'s own' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l wckey -d 'use --account or --comment' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -s I -l immediate -d 'Give up if it has not started within so long [without TIME: 1s]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l in -d 'On the nodes of this job of yours, which runs' -x -a "(kantctl completions --live jobs 2>/dev/null)"
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l socket -d 'The socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l config -d 'The configuration file, instead of the usual ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l retry -d 'Keep asking for so long (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l service -d 'A service that answers requests: a queue with a zone for services spreads its jobs there'
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l exclusive -d 'Whole nodes: nothing else runs there meanwhile'
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l grow -d 'Of a range of nodes or tasks: while it runs it takes more nodes that nobody else needs, up to the most'
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -s H -l hold -d 'Wait until `kantctl release`'
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l requeue -d 'Start it again if a node is lost (the default)'
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l no-requeue -d 'Never start it again'
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l preemptible -d 'It may be made to yield to others [default: as its QoS or queue says]'
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l no-preemptible -d 'It may not'
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l parsable -d 'Print only the job\'s id'
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l test-only -d 'Submit nothing: say when and where it would start'
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -s W -l wait -d 'Wait for its end, and exit with its code'
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -s Q -l quiet -d 'Say nothing but errors'
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -s l -l label -d 'The task\'s number before each line'
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l pty -d 'On a terminal of its own: what is typed here goes there'
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -s K -l kill-on-bad-exit -d 'End all tasks when one fails'
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -l json -d 'Print the controller\'s answer as JSON; what failed as {"error": ...}, beside the words on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand run" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -s J -l job-name -d 'The job\'s name [default: the script\'s file name]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -s A -l account -d 'Whom to charge: an account of yours [default: the first of which you are a member]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -s q -l qos -d 'The quality of service: a priority and bounds that the cluster\'s operators set up' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l comment -d 'A word of yours, shown by `kantctl show job`' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -s N -l nodes -d 'How many nodes, or a range of which it takes what it gets (1-4), with one task on each [default: as few as hold the tasks]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -s n -l ntasks -d 'Tasks in all, or a range of which it takes what it gets (2-8) [default: --nodes times --ntasks-per-node, or 1]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l ntasks-per-node -d 'At most so many tasks on a node' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -s c -l cpus-per-task -d 'CPUs for each task [default: 1]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l ntasks-per-gpu -d 'Tasks for each GPU asked for' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l cpus-per-gpu -d 'CPUs for each GPU asked for' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l mem -d 'Memory on each node, in MiB or with K, M, G, T; 0 is all of it' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l mem-per-cpu -d 'Memory for each CPU' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l mem-per-gpu -d 'Memory for each GPU' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -s G -l gpus -d 'GPUs in the whole job: any (8), of a kind (h100:8), of one of several kinds (\'h100|a100:8\'), or a share of a GPU (0.5), of its memory (20G), or of several (2x0.5)' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l gpus-per-node -d 'GPUs on each node' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l gpus-per-task -d 'GPUs for each task' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l gres -d 'GPUs on each node, as Slurm writes it (gpu:2, gpu:h100:2)' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -s p -l queue -l partition -d 'The queue [default: the cluster\'s default queue]' -x -a "(kantctl completions --live queues 2>/dev/null)"
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -s t -l time -d 'Time limit: minutes, h:m:s, d-h, 90m, 2h, UNLIMITED [default: the queue\'s]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l begin -d 'Not before: now+1hour, 16:30, tomorrow, 2030-01-31T08:00' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l deadline -d 'Over by then by its time limit, or never started' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l reservation -d 'Run in this booking, see `kantctl reservations`' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l near -d 'Nodes near to each other: nvlink-domain, leaf, spine or superspine; one of them if there is one with room, or wait for that (leaf:required)' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l switches -d 'Slurm\'s way to ask for --near=leaf: --switches=1' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l segment -d 'Blocks of so many nodes, each near in itself [without --near: nvlink-domain:required]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l max-per-node -d 'At most so many jobs of this name of yours on one node' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l nice -d 'Step back: lowers the priority [without a number: 100]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -s C -l constraint -d 'Nodes with these features, see `kantctl show node`: \'ib\', \'a100&(ib|roce)\'' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -s w -l nodelist -d 'Only these nodes, like g[001-004],login' -x -a "(kantctl completions --live nodes 2>/dev/null)"
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -s x -l exclude -d 'Not these nodes' -x -a "(kantctl completions --live nodes 2>/dev/null)"
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -s o -l output -d 'Output file, with %j %A %a %x %u %N %n %t [default: kant-%j.out, arrays kant-%A_%a.out]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -s e -l error -d 'Error file [default: with the output]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -s i -l input -d 'Input file [default: /dev/null]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l open-mode -d 'What happens to output files that exist [default: truncate]' -r -f -a "append\t''
truncate\t''"
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -s D -l chdir -d 'Where it starts [default: here]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -s a -l array -d 'An array of tasks: 0-99, 1,3,5-9:2, at most 50 at once: 0-999%50' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l launch -d 'Run the script once, once on every node, or once for every task [default: once]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l container -d 'Run in a container: a directory on its nodes that is an OCI bundle or a root file system' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l signal -d 'A signal before its time limit: to all its processes, or (B:) to the script alone [without @SECONDS: 60 before]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l mail-type -d 'Letters when it begins, ends, fails, ...: NONE, BEGIN, END, FAIL, REQUEUE, ALL, INVALID_DEPEND, TIME_LIMIT, TIME_LIMIT_90 (80, 50), ARRAY_TASKS' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l mail-user -d 'To whom [default: you]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l resize-signal -d 'A signal when it is given another size while it runs (`kantctl resize`): to all its processes, or (B:) to the script alone' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l export -d 'What of your environment it gets: ALL, NONE, or NAME,NAME=VALUE [default: ALL]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -s d -l dependency -d 'Wait for other jobs: afterok:20:21, afterany:22_3, after:23+5 (minutes), afternotok, aftercorr (task for task), singleton; `,` between where all count, `?` where one is enough' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l kill-on-invalid-dep -d 'Cancel it once what it waits for cannot come any more [default: no, it goes on waiting]' -r -f -a "yes\t''
no\t''"
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l acctg-freq -d 'what a job uses is measured at its end' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -s M -l clusters -d 'there is one cluster' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l cores-per-socket -d 'cores are chosen near the GPUs given, whatever the socket' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l cpu-bind -d 'a job is held to its CPUs, near its GPUs; bind single tasks with taskset' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l cpu-freq -d 'the machine\'s governor decides' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l delay-boot -d 'nodes are not booted for jobs' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -s m -l distribution -d 'tasks stand node by node, in order' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -s B -l extra-node-info -d 'cores are chosen near the GPUs given, whatever the socket' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l get-user-env -d 'the environment is that of the submission; `#!/bin/bash -l` makes a login shell' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l gpu-bind -d 'each task sees all GPUs of its job on the node: choose by SLURM_LOCALID' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l gpu-freq -d 'GPUs keep the clocks they have' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l hint -d 'threads of a core go to one job in any case' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l mem-bind -d 'bind memory in the script with numactl' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l network -d 'there are no switch plug-ins' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l ntasks-per-core -d 'tasks of a job share its CPUs' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l ntasks-per-socket -d 'tasks of a job share its CPUs' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -s s -l oversubscribe -d 'CPUs and GPUs are never given twice' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l power -d 'power is the machine\'s' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l profile -d 'what a job uses is measured at its end' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l propagate -d 'the shell\'s soft limits are always passed on' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l sockets-per-node -d 'cores are chosen near the GPUs given, whatever the socket' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l threads-per-core -d 'threads of a core go to one job in any case' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l time-min -d 'a job gets the whole --time' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l tmp -d 'disks of nodes are not counted; /tmp is the job\'s own' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l wckey -d 'use --account or --comment' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -s I -l immediate -d 'Give up if it has not started within so long [without TIME: 1s]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l socket -d 'The socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l config -d 'The configuration file, instead of the usual ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l retry -d 'Keep asking for so long (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l service -d 'A service that answers requests: a queue with a zone for services spreads its jobs there'
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l exclusive -d 'Whole nodes: nothing else runs there meanwhile'
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l grow -d 'Of a range of nodes or tasks: while it runs it takes more nodes that nobody else needs, up to the most'
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -s H -l hold -d 'Wait until `kantctl release`'
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l requeue -d 'Start it again if a node is lost (the default)'
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l no-requeue -d 'Never start it again'
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l preemptible -d 'It may be made to yield to others [default: as its QoS or queue says]'
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l no-preemptible -d 'It may not'
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l parsable -d 'Print only the job\'s id'
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l test-only -d 'Submit nothing: say when and where it would start'
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -s W -l wait -d 'Wait for its end, and exit with its code'
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -s Q -l quiet -d 'Say nothing but errors'
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l no-shell -d 'No shell: the nodes stay until the job is cancelled'
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -l json -d 'Print the controller\'s answer as JSON; what failed as {"error": ...}, beside the words on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand alloc" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand attach" -l output-filter -d 'Only the output of this task; or `none`' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand attach" -l error-filter -d 'Only the errors of this task; or `none`' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand attach" -l input-filter -d 'What is typed here goes to this task alone; or `none`' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand attach" -l socket -d 'The socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand attach" -l config -d 'The configuration file, instead of the usual ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand attach" -l retry -d 'Keep asking for so long (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand attach" -s l -l label -d 'The task\'s number before each line'
complete -c kantctl -n "__fish_kantctl_using_subcommand attach" -l layout -d 'Only show which tasks stand where'
complete -c kantctl -n "__fish_kantctl_using_subcommand attach" -l json -d 'Print the controller\'s answer as JSON; what failed as {"error": ...}, beside the words on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand attach" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand launch" -l job -d 'The job, which must run [default: the one this runs in]' -x -a "(kantctl completions --live jobs 2>/dev/null)"
complete -c kantctl -n "__fish_kantctl_using_subcommand launch" -l socket -d 'The socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand launch" -l config -d 'The configuration file, instead of the usual ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand launch" -l retry -d 'Keep asking for so long (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand launch" -s x -d 'For who takes kantctl for ssh; no effect'
complete -c kantctl -n "__fish_kantctl_using_subcommand launch" -l json -d 'Print the controller\'s answer as JSON; what failed as {"error": ...}, beside the words on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand launch" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand step-tasks" -l socket -d 'The socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand step-tasks" -l config -d 'The configuration file, instead of the usual ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand step-tasks" -l retry -d 'Keep asking for so long (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand step-tasks" -l json -d 'Print the controller\'s answer as JSON; what failed as {"error": ...}, beside the words on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand step-tasks" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand wait" -l socket -d 'The socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand wait" -l config -d 'The configuration file, instead of the usual ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand wait" -l retry -d 'Keep asking for so long (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand wait" -l json -d 'Print the controller\'s answer as JSON; what failed as {"error": ...}, beside the words on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand wait" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand cancel" -s s -l signal -d 'End nothing: send this signal to jobs that run' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand cancel" -s u -l user -d 'Only of these users (names or numbers)' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand cancel" -s p -l queue -l partition -d 'Only of these queues' -x -a "(kantctl completions --live queues 2>/dev/null)"
complete -c kantctl -n "__fish_kantctl_using_subcommand cancel" -s w -l node -l nodelist -d 'Only on these nodes, like g[001-004]' -x -a "(kantctl completions --live nodes 2>/dev/null)"
complete -c kantctl -n "__fish_kantctl_using_subcommand cancel" -s t -l state -l states -d 'Only in these states, as words or codes (PENDING, R)' -r -f -a "PENDING\t''
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
complete -c kantctl -n "__fish_kantctl_using_subcommand cancel" -s n -l name -d 'Only with these names' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand cancel" -l socket -d 'The socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand cancel" -l config -d 'The configuration file, instead of the usual ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand cancel" -l retry -d 'Keep asking for so long (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand cancel" -s b -l batch -d 'The signal is for the script alone'
complete -c kantctl -n "__fish_kantctl_using_subcommand cancel" -s f -l full -d 'The signal is for the script and all else'
complete -c kantctl -n "__fish_kantctl_using_subcommand cancel" -l me -d 'Only my jobs'
complete -c kantctl -n "__fish_kantctl_using_subcommand cancel" -l json -d 'Print the controller\'s answer as JSON; what failed as {"error": ...}, beside the words on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand cancel" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand hold" -l socket -d 'The socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand hold" -l config -d 'The configuration file, instead of the usual ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand hold" -l retry -d 'Keep asking for so long (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand hold" -l json -d 'Print the controller\'s answer as JSON; what failed as {"error": ...}, beside the words on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand hold" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand release" -l socket -d 'The socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand release" -l config -d 'The configuration file, instead of the usual ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand release" -l retry -d 'Keep asking for so long (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand release" -l json -d 'Print the controller\'s answer as JSON; what failed as {"error": ...}, beside the words on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand release" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand update" -s t -l time -d 'Time limit: minutes, h:m:s, d-h, 90m, 2h; +30 or -30: so much more or less than it has' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand update" -s G -l gpus -d 'GPUs in the whole job: 8, h100:8, 0.5' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand update" -l gpus-per-node -d 'GPUs on each node' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand update" -l gpu-kind -d 'The kind of GPU, one of several (h100|a100), or any' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand update" -s N -l nodes -d 'How many nodes; without --ntasks, each keeps as many tasks' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand update" -s n -l ntasks -d 'Tasks in all, or a range (2-8)' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand update" -s c -l cpus-per-task -d 'CPUs for each task' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand update" -l mem -d 'Memory on each node, in MiB or with K, M, G, T' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand update" -s p -l queue -l partition -d 'The queue' -x -a "(kantctl completions --live queues 2>/dev/null)"
complete -c kantctl -n "__fish_kantctl_using_subcommand update" -s q -l qos -d 'The quality of service' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand update" -l near -d 'Nodes near to each other: leaf, leaf:required' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand update" -l begin -d 'Not before: now+1hour, 16:30, tomorrow' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand update" -l deadline -d 'Over by then, or never started' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand update" -s d -l dependency -d 'Which other jobs it waits for: afterok:20, or none' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand update" -l reservation -d 'Run in this booking' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand update" -l array-limit -d 'At most so many tasks of the array at once' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand update" -s C -l constraint -d 'What its nodes must have: a100&ib' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand update" -s w -l nodelist -d 'Only these nodes' -x -a "(kantctl completions --live nodes 2>/dev/null)"
complete -c kantctl -n "__fish_kantctl_using_subcommand update" -s x -l exclude -d 'Not these nodes' -x -a "(kantctl completions --live nodes 2>/dev/null)"
complete -c kantctl -n "__fish_kantctl_using_subcommand update" -s A -l account -d 'Whom to charge' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand update" -l nice -d 'Stand back for others; below 0: operators' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand update" -s J -l job-name -d 'Its name' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand update" -l comment -d 'A word of yours' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand update" -l mail-type -d 'Letters about what: END,FAIL, or NONE' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand update" -l mail-user -d 'To whom; nobody named: its owner' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand update" -l socket -d 'The socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand update" -l config -d 'The configuration file, instead of the usual ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand update" -l retry -d 'Keep asking for so long (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand update" -l json -d 'Print the controller\'s answer as JSON; what failed as {"error": ...}, beside the words on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand update" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand requeue" -l socket -d 'The socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand requeue" -l config -d 'The configuration file, instead of the usual ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand requeue" -l retry -d 'Keep asking for so long (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand requeue" -l json -d 'Print the controller\'s answer as JSON; what failed as {"error": ...}, beside the words on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand requeue" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand checkpoint" -l socket -d 'The socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand checkpoint" -l config -d 'The configuration file, instead of the usual ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand checkpoint" -l retry -d 'Keep asking for so long (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand checkpoint" -l json -d 'Print the controller\'s answer as JSON; what failed as {"error": ...}, beside the words on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand checkpoint" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand resize" -s n -l tasks -l ntasks -d 'It keeps so many tasks: those of its first nodes' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand resize" -s N -l nodes -d 'It keeps so many nodes' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand resize" -l socket -d 'The socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand resize" -l config -d 'The configuration file, instead of the usual ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand resize" -l retry -d 'Keep asking for so long (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand resize" -l json -d 'Print the controller\'s answer as JSON; what failed as {"error": ...}, beside the words on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand resize" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand suspend" -l socket -d 'The socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand suspend" -l config -d 'The configuration file, instead of the usual ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand suspend" -l retry -d 'Keep asking for so long (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand suspend" -l json -d 'Print the controller\'s answer as JSON; what failed as {"error": ...}, beside the words on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand suspend" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand nodes" -s t -l state -l states -d 'Only in these states: idle, mixed, allocated, draining, drained, down' -r -f -a "idle\t''
mixed\t''
allocated\t''
draining\t''
drained\t''
down\t''"
complete -c kantctl -n "__fish_kantctl_using_subcommand nodes" -l socket -d 'The socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand nodes" -l config -d 'The configuration file, instead of the usual ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand nodes" -l retry -d 'Keep asking for so long (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand nodes" -l json -d 'Print the controller\'s answer as JSON; what failed as {"error": ...}, beside the words on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand nodes" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand drain" -s r -l reason -d 'Why; shown by `kantctl nodes`' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand drain" -l socket -d 'The socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand drain" -l config -d 'The configuration file, instead of the usual ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand drain" -l retry -d 'Keep asking for so long (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand drain" -l json -d 'Print the controller\'s answer as JSON; what failed as {"error": ...}, beside the words on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand drain" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand resume" -l socket -d 'The socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand resume" -l config -d 'The configuration file, instead of the usual ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand resume" -l retry -d 'Keep asking for so long (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand resume" -l nodes -d 'They are nodes, also those that read as jobs'
complete -c kantctl -n "__fish_kantctl_using_subcommand resume" -l json -d 'Print the controller\'s answer as JSON; what failed as {"error": ...}, beside the words on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand resume" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand queues" -l socket -d 'The socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand queues" -l config -d 'The configuration file, instead of the usual ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand queues" -l retry -d 'Keep asking for so long (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand queues" -l json -d 'Print the controller\'s answer as JSON; what failed as {"error": ...}, beside the words on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand queues" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand share" -l socket -d 'The socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand share" -l config -d 'The configuration file, instead of the usual ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand share" -l retry -d 'Keep asking for so long (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand share" -l json -d 'Print the controller\'s answer as JSON; what failed as {"error": ...}, beside the words on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand share" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and not __fish_seen_subcommand_from list create update delete" -l socket -d 'The socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and not __fish_seen_subcommand_from list create update delete" -l config -d 'The configuration file, instead of the usual ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and not __fish_seen_subcommand_from list create update delete" -l retry -d 'Keep asking for so long (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and not __fish_seen_subcommand_from list create update delete" -l json -d 'Print the controller\'s answer as JSON; what failed as {"error": ...}, beside the words on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and not __fish_seen_subcommand_from list create update delete" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and not __fish_seen_subcommand_from list create update delete" -f -a "list" -d 'List bookings that are not over (the default)'
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and not __fish_seen_subcommand_from list create update delete" -f -a "create" -d 'Book nodes'
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and not __fish_seen_subcommand_from list create update delete" -f -a "update" -d 'Change a booking: its time, its nodes, who may use it'
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and not __fish_seen_subcommand_from list create update delete" -f -a "delete" -d 'Give nodes back before their time'
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from list" -l socket -d 'The socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from list" -l config -d 'The configuration file, instead of the usual ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from list" -l retry -d 'Keep asking for so long (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from list" -l json -d 'Print the controller\'s answer as JSON; what failed as {"error": ...}, beside the words on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from create" -s w -l nodes -d 'These nodes, whole, like g-[001-004]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from create" -s N -l count -d 'So many nodes, chosen by the controller' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from create" -s G -l gpus -d 'So many GPUs: whole nodes, chosen by the controller, that have them together' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from create" -l gpu-kind -d 'Of the chosen nodes: only such with GPUs of this kind' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from create" -l from -l start -d 'When it begins, as for `submit --begin` [default: now]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from create" -l to -l end -d 'When it ends' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from create" -l for -l duration -d 'How long it lasts: minutes, h:m:s, d-h, 90m, 2h' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from create" -l flexible-until -d 'It may begin as late as this, and end as much later, where nodes are not free before' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from create" -s u -l user -l users -d 'Who may use it: users, by name or number' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from create" -s g -l group -l groups -d 'Members of these groups' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from create" -s A -l account -l accounts -d 'Jobs charged to these accounts' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from create" -l comment -d 'A word about it' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from create" -l socket -d 'The socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from create" -l config -d 'The configuration file, instead of the usual ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from create" -l retry -d 'Keep asking for so long (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from create" -l maintenance -d 'No job at all runs there meanwhile'
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from create" -l json -d 'Print the controller\'s answer as JSON; what failed as {"error": ...}, beside the words on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from create" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from update" -s w -l nodes -d 'These nodes instead' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from update" -l from -l start -d 'When it begins' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from update" -l to -l end -d 'When it ends' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from update" -l for -l duration -d 'How long it lasts, from its begin on' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from update" -s u -l user -l users -d 'Users that may use it, instead of those before' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from update" -s g -l group -l groups -d 'Groups that may use it, instead of those before' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from update" -s A -l account -l accounts -d 'Accounts that may use it, instead of those before' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from update" -l maintenance -d 'No job at all runs there meanwhile; with `=false`, jobs do again' -r -f -a "true\t''
false\t''"
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from update" -l comment -d 'Another word about it' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from update" -l socket -d 'The socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from update" -l config -d 'The configuration file, instead of the usual ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from update" -l retry -d 'Keep asking for so long (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from update" -l json -d 'Print the controller\'s answer as JSON; what failed as {"error": ...}, beside the words on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from update" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from delete" -l socket -d 'The socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from delete" -l config -d 'The configuration file, instead of the usual ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from delete" -l retry -d 'Keep asking for so long (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from delete" -l json -d 'Print the controller\'s answer as JSON; what failed as {"error": ...}, beside the words on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand reservations; and __fish_seen_subcommand_from delete" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand priority" -l socket -d 'The socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand priority" -l config -d 'The configuration file, instead of the usual ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand priority" -l retry -d 'Keep asking for so long (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand priority" -l json -d 'Print the controller\'s answer as JSON; what failed as {"error": ...}, beside the words on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand priority" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand metrics" -l socket -d 'The socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand metrics" -l config -d 'The configuration file, instead of the usual ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand metrics" -l retry -d 'Keep asking for so long (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand metrics" -l json -d 'Print the controller\'s answer as JSON; what failed as {"error": ...}, beside the words on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand metrics" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand report" -l by -d 'By user, account, queue, qos, state, gpus, cpus, nodes; several with commas' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand report" -s S -l since -d 'From then on: so long ago (7d, 12h), or a date [default: 30d]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand report" -s E -l until -d 'Until then [default: now]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand report" -s u -l user -d 'Only of these users (names or numbers)' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand report" -s A -l account -d 'Only of these accounts' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand report" -s p -l queue -l partition -d 'Only of these queues' -x -a "(kantctl completions --live queues 2>/dev/null)"
complete -c kantctl -n "__fish_kantctl_using_subcommand report" -l socket -d 'The socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand report" -l config -d 'The configuration file, instead of the usual ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand report" -l retry -d 'Keep asking for so long (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand report" -l csv -d 'As CSV, the times in hours'
complete -c kantctl -n "__fish_kantctl_using_subcommand report" -l json -d 'Print the controller\'s answer as JSON; what failed as {"error": ...}, beside the words on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand report" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand export" -l jobs -d 'Write the jobs here, as CSV' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand export" -l nodes -d 'Write the nodes here, as CSV' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand export" -l since -d 'Only jobs submitted so long ago at most (7d, 12h), or since a date (2030-01-31T08:00)' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand export" -l socket -d 'The socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand export" -l config -d 'The configuration file, instead of the usual ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand export" -l retry -d 'Keep asking for so long (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand export" -l json -d 'Print the controller\'s answer as JSON; what failed as {"error": ...}, beside the words on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand export" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand reload" -l socket -d 'The socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand reload" -l config -d 'The configuration file, instead of the usual ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand reload" -l retry -d 'Keep asking for so long (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand reload" -l json -d 'Print the controller\'s answer as JSON; what failed as {"error": ...}, beside the words on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand reload" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand status" -l socket -d 'The socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand status" -l config -d 'The configuration file, instead of the usual ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand status" -l retry -d 'Keep asking for so long (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand status" -l json -d 'Print the controller\'s answer as JSON; what failed as {"error": ...}, beside the words on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand status" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand admin; and not __fish_seen_subcommand_from controller backup" -l socket -d 'The socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand admin; and not __fish_seen_subcommand_from controller backup" -l config -d 'The configuration file, instead of the usual ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand admin; and not __fish_seen_subcommand_from controller backup" -l retry -d 'Keep asking for so long (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand admin; and not __fish_seen_subcommand_from controller backup" -l json -d 'Print the controller\'s answer as JSON; what failed as {"error": ...}, beside the words on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand admin; and not __fish_seen_subcommand_from controller backup" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand admin; and not __fish_seen_subcommand_from controller backup" -f -a "controller" -d 'See and change who keeps the cluster\'s log'
complete -c kantctl -n "__fish_kantctl_using_subcommand admin; and not __fish_seen_subcommand_from controller backup" -f -a "backup" -d 'Save all that the controllers know in one file, for `kantctld restore`'
complete -c kantctl -n "__fish_kantctl_using_subcommand admin; and __fish_seen_subcommand_from controller" -l socket -d 'The socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand admin; and __fish_seen_subcommand_from controller" -l config -d 'The configuration file, instead of the usual ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand admin; and __fish_seen_subcommand_from controller" -l retry -d 'Keep asking for so long (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand admin; and __fish_seen_subcommand_from controller" -l json -d 'Print the controller\'s answer as JSON; what failed as {"error": ...}, beside the words on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand admin; and __fish_seen_subcommand_from controller" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand admin; and __fish_seen_subcommand_from controller" -f -a "status" -d 'List the controllers: who leads, who is behind'
complete -c kantctl -n "__fish_kantctl_using_subcommand admin; and __fish_seen_subcommand_from controller" -f -a "invite" -d 'Let one more controller join'
complete -c kantctl -n "__fish_kantctl_using_subcommand admin; and __fish_seen_subcommand_from controller" -f -a "promote" -d 'Give a learner a vote'
complete -c kantctl -n "__fish_kantctl_using_subcommand admin; and __fish_seen_subcommand_from controller" -f -a "remove" -d 'Take a controller out for good; its number is never given again'
complete -c kantctl -n "__fish_kantctl_using_subcommand admin; and __fish_seen_subcommand_from controller" -f -a "transfer" -d 'Let another controller lead'
complete -c kantctl -n "__fish_kantctl_using_subcommand admin; and __fish_seen_subcommand_from backup" -l socket -d 'The socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand admin; and __fish_seen_subcommand_from backup" -l config -d 'The configuration file, instead of the usual ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand admin; and __fish_seen_subcommand_from backup" -l retry -d 'Keep asking for so long (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand admin; and __fish_seen_subcommand_from backup" -l json -d 'Print the controller\'s answer as JSON; what failed as {"error": ...}, beside the words on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand admin; and __fish_seen_subcommand_from backup" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand help" -l socket -d 'The socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand help" -l config -d 'The configuration file, instead of the usual ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand help" -l retry -d 'Keep asking for so long (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand help" -l json -d 'Print the controller\'s answer as JSON; what failed as {"error": ...}, beside the words on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand help" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand completions" -l live -d 'What there is of these, a line each, for the completions themselves' -r -f -a "jobs\t''
nodes\t''
queues\t''"
complete -c kantctl -n "__fish_kantctl_using_subcommand completions" -l socket -d 'The socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand completions" -l config -d 'The configuration file, instead of the usual ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand completions" -l retry -d 'Keep asking for so long (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand completions" -l json -d 'Print the controller\'s answer as JSON; what failed as {"error": ...}, beside the words on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand completions" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand man" -l socket -d 'The socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand man" -l config -d 'The configuration file, instead of the usual ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand man" -l retry -d 'Keep asking for so long (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand man" -l slurm -d 'Print what of Slurm\'s commands works, as Markdown'
complete -c kantctl -n "__fish_kantctl_using_subcommand man" -l json -d 'Print the controller\'s answer as JSON; what failed as {"error": ...}, beside the words on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand man" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand install-slurm-names" -l socket -d 'The socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand install-slurm-names" -l config -d 'The configuration file, instead of the usual ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand install-slurm-names" -l retry -d 'Keep asking for so long (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand install-slurm-names" -l json -d 'Print the controller\'s answer as JSON; what failed as {"error": ...}, beside the words on stderr'
complete -c kantctl -n "__fish_kantctl_using_subcommand install-slurm-names" -s h -l help -d 'Print help'
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -s J -l job-name -d 'The job\'s name [default: the script\'s file name]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -s A -l account -d 'Whom to charge: an account of yours [default: the first of which you are a member]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -s q -l qos -d 'The quality of service: a priority and bounds that the cluster\'s operators set up' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l comment -d 'A word of yours, shown by `kantctl show job`' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -s N -l nodes -d 'How many nodes, or a range of which it takes what it gets (1-4), with one task on each [default: as few as hold the tasks]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -s n -l ntasks -d 'Tasks in all, or a range of which it takes what it gets (2-8) [default: --nodes times --ntasks-per-node, or 1]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l ntasks-per-node -d 'At most so many tasks on a node' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -s c -l cpus-per-task -d 'CPUs for each task [default: 1]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l ntasks-per-gpu -d 'Tasks for each GPU asked for' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l cpus-per-gpu -d 'CPUs for each GPU asked for' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l mem -d 'Memory on each node, in MiB or with K, M, G, T; 0 is all of it' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l mem-per-cpu -d 'Memory for each CPU' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l mem-per-gpu -d 'Memory for each GPU' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -s G -l gpus -d 'GPUs in the whole job: any (8), of a kind (h100:8), of one of several kinds (\'h100|a100:8\'), or a share of a GPU (0.5), of its memory (20G), or of several (2x0.5)' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l gpus-per-node -d 'GPUs on each node' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l gpus-per-task -d 'GPUs for each task' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l gres -d 'GPUs on each node, as Slurm writes it (gpu:2, gpu:h100:2)' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -s p -l queue -l partition -d 'The queue [default: the cluster\'s default queue]' -x -a "(kantctl completions --live queues 2>/dev/null)"
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -s t -l time -d 'Time limit: minutes, h:m:s, d-h, 90m, 2h, UNLIMITED [default: the queue\'s]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l begin -d 'Not before: now+1hour, 16:30, tomorrow, 2030-01-31T08:00' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l deadline -d 'Over by then by its time limit, or never started' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l reservation -d 'Run in this booking, see `kantctl reservations`' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l near -d 'Nodes near to each other: nvlink-domain, leaf, spine or superspine; one of them if there is one with room, or wait for that (leaf:required)' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l switches -d 'Slurm\'s way to ask for --near=leaf: --switches=1' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l segment -d 'Blocks of so many nodes, each near in itself [without --near: nvlink-domain:required]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l max-per-node -d 'At most so many jobs of this name of yours on one node' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l nice -d 'Step back: lowers the priority [without a number: 100]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -s C -l constraint -d 'Nodes with these features, see `kantctl show node`: \'ib\', \'a100&(ib|roce)\'' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -s w -l nodelist -d 'Only these nodes, like g[001-004],login' -x -a "(kantctl completions --live nodes 2>/dev/null)"
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -s x -l exclude -d 'Not these nodes' -x -a "(kantctl completions --live nodes 2>/dev/null)"
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -s o -l output -d 'Output file, with %j %A %a %x %u %N %n %t [default: kant-%j.out, arrays kant-%A_%a.out]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -s e -l error -d 'Error file [default: with the output]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -s i -l input -d 'Input file [default: /dev/null]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l open-mode -d 'What happens to output files that exist [default: truncate]' -r -f -a "append\t''
truncate\t''"
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -s D -l chdir -d 'Where it starts [default: here]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -s a -l array -d 'An array of tasks: 0-99, 1,3,5-9:2, at most 50 at once: 0-999%50' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l launch -d 'Run the script once, once on every node, or once for every task [default: once]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l container -d 'Run in a container: a directory on its nodes that is an OCI bundle or a root file system' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l signal -d 'A signal before its time limit: to all its processes, or (B:) to the script alone [without @SECONDS: 60 before]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l mail-type -d 'Letters when it begins, ends, fails, ...: NONE, BEGIN, END, FAIL, REQUEUE, ALL, INVALID_DEPEND, TIME_LIMIT, TIME_LIMIT_90 (80, 50), ARRAY_TASKS' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l mail-user -d 'To whom [default: you]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l resize-signal -d 'A signal when it is given another size while it runs (`kantctl resize`): to all its processes, or (B:) to the script alone' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l export -d 'What of your environment it gets: ALL, NONE, or NAME,NAME=VALUE [default: ALL]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -s d -l dependency -d 'Wait for other jobs: afterok:20:21, afterany:22_3, after:23+5 (minutes), afternotok, aftercorr (task for task), singleton; `,` between where all count, `?` where one is enough' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l kill-on-invalid-dep -d 'Cancel it once what it waits for cannot come any more [default: no, it goes on waiting]' -r -f -a "yes\t''
no\t''"
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l acctg-freq -d 'what a job uses is measured at its end' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -s M -l clusters -d 'there is one cluster' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l cores-per-socket -d 'cores are chosen near the GPUs given, whatever the socket' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l cpu-bind -d 'a job is held to its CPUs, near its GPUs; bind single tasks with taskset' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l cpu-freq -d 'the machine\'s governor decides' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l delay-boot -d 'nodes are not booted for jobs' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -s m -l distribution -d 'tasks stand node by node, in order' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -s B -l extra-node-info -d 'cores are chosen near the GPUs given, whatever the socket' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l get-user-env -d 'the environment is that of the submission; `#!/bin/bash -l` makes a login shell' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l gpu-bind -d 'each task sees all GPUs of its job on the node: choose by SLURM_LOCALID' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l gpu-freq -d 'GPUs keep the clocks they have' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l hint -d 'threads of a core go to one job in any case' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l mem-bind -d 'bind memory in the script with numactl' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l network -d 'there are no switch plug-ins' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l ntasks-per-core -d 'tasks of a job share its CPUs' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l ntasks-per-socket -d 'tasks of a job share its CPUs' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -s s -l oversubscribe -d 'CPUs and GPUs are never given twice' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l power -d 'power is the machine\'s' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l profile -d 'what a job uses is measured at its end' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l propagate -d 'the shell\'s soft limits are always passed on' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l sockets-per-node -d 'cores are chosen near the GPUs given, whatever the socket' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l threads-per-core -d 'threads of a core go to one job in any case' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l time-min -d 'a job gets the whole --time' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l tmp -d 'disks of nodes are not counted; /tmp is the job\'s own' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l wckey -d 'use --account or --comment' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l wrap -d 'Run this command instead of a script' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l batch -d 'Submit a job for each line of this file (- is standard input): the words of a `kantctl submit`, or options as JSON: {"gpus": 1, "script": "train.sh", "args": ["--seed", "7"]}. What the command line says holds for lines that do not say it' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l socket -d 'The socket of kantctld or kantd, instead of the configured ones [env: KANT_SOCKET]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l config -d 'The configuration file, instead of the usual ones [env: KANT_CONFIG]' -r -F
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l retry -d 'Keep asking for so long (30s, 10m) while the controller cannot be reached [default: 30s for submit, 10m for wait and logs -f, 0s for status, else 15s] [env: KANT_RETRY]' -r
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l service -d 'A service that answers requests: a queue with a zone for services spreads its jobs there'
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l exclusive -d 'Whole nodes: nothing else runs there meanwhile'
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l grow -d 'Of a range of nodes or tasks: while it runs it takes more nodes that nobody else needs, up to the most'
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -s H -l hold -d 'Wait until `kantctl release`'
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l requeue -d 'Start it again if a node is lost (the default)'
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l no-requeue -d 'Never start it again'
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l preemptible -d 'It may be made to yield to others [default: as its QoS or queue says]'
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l no-preemptible -d 'It may not'
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l parsable -d 'Print only the job\'s id'
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l test-only -d 'Submit nothing: say when and where it would start'
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -s W -l wait -d 'Wait for its end, and exit with its code'
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -s Q -l quiet -d 'Say nothing but errors'
complete -c kantctl -n "__fish_kantctl_using_subcommand submit" -l json -d 'Print the controller\'s answer as JSON; what failed as {"error": ...}, beside the words on stderr'
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
