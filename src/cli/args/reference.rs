//! What `--help` and the man page say beside the flags: exit codes, environment variables, files, examples.

/// Exit codes and what they mean.
pub(crate) const EXIT_CODE_TABLE: &[(&str, &str)] = &[
    ("0", "done; for `status` and `diagnose`: complete, every node at the target"),
    ("1", "it went wrong: configuration, network, credentials, a write that failed"),
    ("2", "the command line is not valid"),
    ("3", "not complete yet: running, held, paused, or out of time"),
    ("4", "halted, paused by rolldeck itself, rolled back while it drove, or failed"),
    ("5", "the DaemonSet, or a revision that was named, is not there"),
    ("6", "refused (by rolldeck, a policy, a right that is missing; what stays of it is said), or declined"),
    ("7", "somebody else drives"),
    ("130", "interrupted (143: terminated); the lease was given back"),
    ("141", "nobody reads the output any more; what was asked for may be done all the same"),
];

/// What an exit code means, in a few words; empty for one that the table does not name.
pub(crate) fn exit_code_meaning(code: u8) -> &'static str {
    match code {
        130 => "interrupted",
        143 => "terminated",
        code => {
            let row = EXIT_CODE_TABLE.iter().find(|(named, _)| named.parse() == Ok(code));
            row.map_or("", |(_, meaning)| meaning)
        }
    }
}

/// Environment variables that are read, for the man page.
pub(crate) const ENVIRONMENT: &[(&str, &str)] = &[
    ("KUBECONFIG", "Kubeconfig files, separated by colons, where --kubeconfig names none."),
    ("ROLLDECK_CONFIG", "The configuration file, as --config. Empty counts as not set."),
    ("ROLLDECK_THEME", "The console's theme, as --theme. Empty counts as not set."),
    ("ROLLDECK_AUDIT_LOG", "The audit log: a file, or `none`, as --audit-log."),
    ("ROLLDECK_COMPLETE", "Set by the completion script: which shell asks how a line may go on."),
    ("HTTPS_PROXY, HTTP_PROXY, NO_PROXY", "The proxy to the API server, where the kubeconfig names none."),
    ("NO_COLOR", "No colours, where it is set and not empty."),
    ("TERM", "With `dumb`: no console, but one line per change."),
    (
        "XDG_CONFIG_HOME, XDG_STATE_HOME",
        "Where configuration and audit log are, instead of ~/.config and ~/.local/state.",
    ),
];

/// Files that are read and written, for the man page.
pub(crate) const FILES: &[(&str, &str)] = &[
    (
        "~/.config/rolldeck/config.toml",
        "The configuration file; `rolldeck config --reference` prints one with every setting.",
    ),
    ("~/.config/rolldeck/themes/NAME.toml", "A theme of your own, for `theme = \"NAME\"` and --theme NAME."),
    ("~/.local/state/rolldeck/audit.jsonl", "Who did what from this account; `rolldeck log` prints it."),
    ("~/.local/state/rolldeck/saved", "What the console saves with ctrl-s."),
    ("~/.kube/config", "The kubeconfig, where neither --kubeconfig nor KUBECONFIG names one."),
];

/// The exit codes, as `--help` ends with them.
pub(crate) fn exit_codes() -> String {
    let rows = EXIT_CODE_TABLE.iter().map(|(code, meaning)| format!("  {code:<4} {meaning}\n"));
    let diff = "For `diff`: 0 the same, 1 different, 2 or more as above, 2 also where it went wrong";
    format!("Exit codes:\n{}{diff}", rows.collect::<String>())
}

/// What is typed most, for `--help` and the man page.
pub(crate) const EXAMPLES: &str = "\
Examples:
  rolldeck                                 the console, on all DaemonSets
  rolldeck ds/agent -n edge                the console, on one
  rolldeck set-image ds/agent agent=registry.example/agent:v2
  rolldeck step ds/agent --to 10%          let a tenth of the nodes be updated
  rolldeck prewarm ds/agent --image agent=registry.example/agent:v2
  rolldeck drive ds/agent                  replace pods, within the budget, until the rollout ends
  rolldeck demo                            a factory to practise on, no cluster needed";
