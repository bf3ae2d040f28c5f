//! The command line as it is typed: flags, arguments and their help. Parsing only; nothing here acts.

mod format;
mod one_shot;
mod prewarm;
mod reference;
mod report;
mod revisions;
mod together;
mod tuning;
mod values;

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};

pub(crate) use self::format::{OutputAs, OutputFormat, OutputShape};
pub(crate) use self::one_shot::{How, OneShot};
pub(crate) use self::prewarm::PrewarmArgs;
pub(crate) use self::reference::{ENVIRONMENT, EXAMPLES, EXIT_CODE_TABLE, FILES, exit_code_meaning, exit_codes};
use self::report::REPORT_HELP;
pub(crate) use self::report::ReportArgs;
use self::revisions::DIFF_HELP;
pub(crate) use self::revisions::{DiffArgs, HistoryArgs};
pub(crate) use self::tuning::TuningFlags;
pub(crate) use self::values::{ContainerImage, DaemonSetName, LogTo, by_container};
use self::values::{duration, patience, somebody, speed};
use super::typed_line::TypedLine;
use crate::config::ConfigFile;
use crate::driver::practice;
use crate::engine::model::command::PrewarmCommand;
use crate::engine::model::labels::Selector;
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::settings::{Finish, Tuning};

/// Rolls out Kubernetes DaemonSets node by node, safely.
///
/// Without a command it opens the console: on one DaemonSet, or on all that you may see. The console is read-only until
/// it is armed.
#[derive(Parser, Clone, Debug, Default)]
#[command(name = "rolldeck", version, after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{}", exit_codes()))]
#[command(max_term_width = 110, disable_help_subcommand = true, infer_long_args = false)]
pub(crate) struct Cli {
    /// The DaemonSet: `ds/NAME`, or just NAME
    #[arg(value_name = "ds/NAME")]
    pub(crate) name: Option<DaemonSetName>,
    /// All namespaces, which is the default of a list, also where `-n` names one
    #[arg(short = 'A', long, conflicts_with = "name")]
    pub(crate) all_namespaces: bool,
    #[command(flatten)]
    pub(crate) look: Look,
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Option<CliCommand>,
    /// The configuration file, once it is read
    #[arg(skip)]
    pub(crate) config: ConfigFile,
    /// The line itself
    #[arg(skip)]
    pub(crate) typed: TypedLine,
}

/// Which cluster, and how to answer.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// Namespace; otherwise the context's own
    #[arg(short, long, global = true, value_parser = values::namespace)]
    pub(crate) namespace: Option<String>,
    /// Context of the kubeconfig; otherwise its current one
    #[arg(long, global = true, value_parser = values::context)]
    pub(crate) context: Option<String>,
    /// Kubeconfig file; otherwise KUBECONFIG, then ~/.kube/config
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// User to impersonate
    #[arg(long = "as", global = true, value_name = "USER", value_parser = somebody)]
    pub(crate) impersonate: Option<String>,
    /// Group to impersonate; may be given several times
    #[arg(long, global = true, value_name = "GROUP", requires = "impersonate", value_parser = somebody)]
    pub(crate) as_group: Vec<String>,
    /// Uid to impersonate
    #[arg(long, global = true, value_name = "UID", requires = "impersonate", value_parser = somebody)]
    pub(crate) as_uid: Option<String>,
    /// How long the API server may take to answer one read; 0s: as long as it takes [default: 10s to 60s, by what is read]
    #[arg(long, global = true, value_name = "DURATION", value_parser = duration)]
    pub(crate) request_timeout: Option<Duration>,
    /// Do not check the API server's certificate: whoever is between you and it can read and change everything
    #[arg(long, global = true)]
    pub(crate) insecure_skip_tls_verify: bool,
    /// Output format: `text`, `json` (one indented document; an object a line from `log` and from what keeps printing) or `yaml`; for
    /// `status` and `history` also `wide` (text with more columns); for `status` also `name`; `jsonpath=TEMPLATE` for parts of the
    /// JSON, as in `jsonpath={.items[*].name}` [default: text]
    #[arg(short, long, global = true, value_name = "FORMAT")]
    pub(crate) output: Option<OutputAs>,
    /// Only ASCII characters
    #[arg(long, global = true)]
    pub(crate) ascii: bool,
    /// The audit log: a file, or `none` [default: rolldeck/audit.jsonl in XDG_STATE_HOME or ~/.local/state]
    #[arg(long, global = true, value_name = "FILE", env = "ROLLDECK_AUDIT_LOG", hide_env_values = true)]
    pub(crate) audit_log: Option<LogTo>,
    /// The configuration file [default: rolldeck/config.toml in XDG_CONFIG_HOME or ~/.config]
    #[arg(long, global = true, value_name = "FILE", env = "ROLLDECK_CONFIG", hide_env_values = true)]
    #[arg(value_parser = OsStringValueParser::new().map(PathBuf::from))]
    pub(crate) config: Option<PathBuf>,
}

/// How the console looks.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Console options")]
pub(crate) struct Look {
    /// Colours and glyphs: a built-in theme, or one of your own in ~/.config/rolldeck/themes, by its name
    #[arg(long, env = "ROLLDECK_THEME", hide_env_values = true)]
    pub(crate) theme: Option<String>,
    /// The theme comes from the environment
    #[arg(skip)]
    pub(crate) theme_from_env: bool,
    /// No console: one sentence per change, as `status --watch` prints it
    #[arg(long)]
    pub(crate) plain: bool,
}

#[derive(Subcommand, Clone, Debug)]
pub(crate) enum CliCommand {
    #[command(flatten)]
    OnCluster(OnCluster),
    /// Print the audit log of this account: who did what; needs no cluster
    ///
    /// It has what was done on all clusters. Where the lines that are printed are of several, each names its own. With `--context` only
    /// those of the cluster are printed to which the kubeconfig leads from there, whatever its context was called then.
    ///
    /// A line names who did it: `ada@bastion-3`. In brackets, `(ada@bastion-3)`, it names whose process it was in which the rollout did
    /// something by itself, such as a halt.
    Log(LogArgs),
    /// Print the settings of the configuration file that are in force, where each comes from, and the paths that are used
    ///
    /// A flag takes precedence over the environment, that over the file, and that over the default.
    Config(ConfigArgs),
    /// Open the console on a practice cluster inside this process: a factory with a rollout ready to start
    #[command(after_help = scenarios())]
    Demo(DemoArgs),
    /// Test rolldeck's promises in a simulated cluster, with random rollouts and random faults
    ///
    /// Each run is made from one seed and replays exactly.
    ///
    /// With `--compare` it rolls out the scenario's new image once per method, without rolldeck and with it, in virtual
    /// time: how long that takes, how many nodes are offline for how long, and what it does to the links.
    #[command(
        after_help = "Exit codes: 0 every promise held (with --compare: every method came to its end), 4 otherwise"
    )]
    Simulate(SimulateArgs),
    /// Print the help of a command; `help exit-codes`: what exit codes mean
    Help {
        /// A command, or `exit-codes`
        #[arg(value_name = "COMMAND")]
        topic: Option<String>,
    },
    /// Print the man page
    #[command(after_help = MAN_HELP)]
    Man,
    /// Print the shell completion script, which also completes contexts, namespaces, DaemonSets, revisions, nodes and labels
    ///
    /// For these it asks the cluster to which the line leads, for 2 s at most, and offers nothing where it gets no answer.
    #[command(after_help = COMPLETIONS_HELP)]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// What needs a cluster.
#[derive(Subcommand, Clone, Debug)]
pub(crate) enum OnCluster {
    /// Show where a rollout stands; without a name, all DaemonSets
    #[command(after_help = STANDING_EXIT_CODES)]
    Status(StatusArgs),
    /// Say what is wrong, cause by cause: on which nodes, since when, what the cluster says, what to do
    ///
    /// Every node that is not where it should be has one cause, and nodes with the same cause are one finding. It only reads.
    ///
    /// Its exit code is that of `status`: it says how the rollout stands, and not whether there are findings.
    #[command(after_help = STANDING_EXIT_CODES)]
    Diagnose(DiagnoseArgs),
    /// Write a rollout down for who takes over: a page, and the same as text
    ///
    /// What it is, what is wrong, how many nodes had the new pod when, a map, who did what, and what happened on which node. The page is one file that needs nothing else. It only reads; what the audit log of this account says is added.
    #[command(after_help = REPORT_HELP)]
    Report(ReportArgs),
    /// List a DaemonSet's revisions, newest first; or print one in full
    History(HistoryArgs),
    /// Show what differs between two revisions of a DaemonSet
    ///
    /// First every field of the template that differs, then the lines that do, of the template as YAML.
    /// Without revisions it shows what this rollout changes: from the revision that most nodes not at the target run, to
    /// the target. Where every node is at the target: from the revision before. With one, from that one to the target.
    /// Where there is only one revision, nothing differs.
    #[command(after_help = DIFF_HELP)]
    Diff(DiffArgs),
    #[command(flatten)]
    OneShot(OneShot),
    /// Drive the rollout without a console, until it ends, halts or is interrupted
    ///
    /// Replaces pods within the budget, as far as partition and selector allow, and prints one sentence per change.
    /// Where every node is at the target it ends at once, and what is adopted stays adopted. Where no rollout is recorded it is
    /// refused (exit code 6).
    /// Ctrl-C stops driving: what is in flight ends, nothing more is taken down, and another console can carry on.
    /// It never waits for its output; when nobody has read that for 10 s, it stops driving and the record says why.
    #[command(after_help = DRIVE_EXIT_CODES)]
    Drive(DriveArgs),
    /// Bring images onto nodes before their pods are replaced, a few nodes at a time
    ///
    /// Makes one pod per node, which pulls the images and then sleeps, so that the node keeps them, and drives until every node has the images.
    /// A pod is deleted once its node is updated, with `--cancel`, and at the end of the rollout. The template is not changed:
    /// that is for `set-image` afterwards. Whoever drives carries out all that is recorded: a rollout that is under way goes on too.
    /// If another process drives, that one makes the pods, and this one reports what it does.
    #[command(after_help = PREWARM_HELP)]
    Prewarm(Box<PrewarmArgs>),
}

const MAN_HELP: &str = "\
Example:
  rolldeck man > ~/.local/share/man/man1/rolldeck.1      then: man rolldeck";

const COMPLETIONS_HELP: &str = "\
Examples:
  bash   echo 'source <(rolldeck completions bash)' >> ~/.bashrc
  zsh    echo 'source <(rolldeck completions zsh)' >> ~/.zshrc       after compinit
  fish   rolldeck completions fish > ~/.config/fish/completions/rolldeck.fish";

const PREWARM_HELP: &str = "\
Examples:
  rolldeck prewarm ds/agent --image agent=registry.example/agent:v2 --max-pulling 4
  rolldeck prewarm ds/agent --revision 14 -l canary=true      what a roll back would need
  rolldeck prewarm ds/agent --cancel                          delete the pods that it made

Exit codes: 0 every node has the images, 3 out of time, cancelled or replaced by another request,
4 some did not arrive, 5 not found, 6 refused, 130 or 143 interrupted";

/// Of `status` and `diagnose`, which judge a rollout alike.
const STANDING_EXIT_CODES: &str = "\
Exit codes: 0 complete, 3 not complete yet, 4 halted, paused by rolldeck itself, or failed, 5 not found";

const DRIVE_EXIT_CODES: &str = "\
Exit codes: 0 complete, 3 out of time or handed back early, 4 halted or paused by rolldeck itself,
5 not found, 6 refused, 7 somebody else drives, 130 or 143 interrupted; with `--until held` also:
0 the step is done, 3 no node of it can be updated, 4 a node of it failed";

impl OnCluster {
    /// The DaemonSet that it is about, where one was named.
    pub(crate) fn daemonset(&self) -> Option<&str> {
        let DaemonSetName(name) = match self {
            Self::Status(args) => args.name.as_ref()?,
            Self::Diagnose(args) => &args.name,
            Self::Report(args) => &args.name,
            Self::History(args) => &args.name,
            Self::Diff(args) => &args.name,
            Self::OneShot(one_shot) => one_shot.name(),
            Self::Drive(args) => &args.name,
            Self::Prewarm(args) => &args.name,
        };
        Some(name)
    }

    /// Whether it may change the cluster. A pause takes nothing down, and must be possible at once.
    pub(crate) fn writes(&self) -> bool {
        match self {
            Self::Status(_) | Self::Diagnose(_) | Self::Report(_) | Self::History(_) | Self::Diff(_) => false,
            Self::OneShot(one_shot) => one_shot.writes(),
            Self::Drive(_) => true,
            Self::Prewarm(args) => args.control() != Some(PrewarmCommand::Pause),
        }
    }

    /// Whether a signal is told to the command, which then ends in order. A signal ends any other command at once.
    pub(crate) fn heeds_signals(&self) -> bool {
        match self {
            Self::Status(_) | Self::Diagnose(_) | Self::Report(_) | Self::History(_) | Self::Diff(_) => false,
            Self::OneShot(_) | Self::Drive(_) | Self::Prewarm(_) => true,
        }
    }

    /// How long all of it may take, where that was said.
    pub(crate) fn timeout(&mut self) -> Option<&mut Duration> {
        match self {
            Self::Status(args) => args.timeout.as_mut(),
            Self::Diagnose(args) => Some(&mut args.timeout),
            Self::Report(args) => Some(&mut args.timeout),
            Self::History(args) => Some(&mut args.timeout),
            Self::Diff(args) => Some(&mut args.timeout),
            Self::OneShot(one_shot) => Some(&mut one_shot.how_mut().timeout),
            Self::Drive(args) => args.timeout.as_mut(),
            Self::Prewarm(args) => args.timeout.as_mut(),
        }
    }
}

impl Cli {
    /// Whether it is `diff`, of which exit code 1 says that there are differences.
    pub(crate) fn is_diff(&self) -> bool {
        matches!(self.command, Some(CliCommand::OnCluster(OnCluster::Diff(_))))
    }

    /// Whether it is `pause`, which stops what takes nodes down and so must not fail of anything beside the way to the cluster.
    pub(crate) fn is_pause(&self) -> bool {
        matches!(&self.command, Some(CliCommand::OnCluster(OnCluster::OneShot(OneShot::Pause(_)))))
    }

    /// Whether the configuration file matters: a broken one must not keep anybody from seeing how it is written.
    pub(crate) fn reads_config(&self) -> bool {
        match &self.command {
            Some(
                CliCommand::Completions { .. } | CliCommand::Help { .. } | CliCommand::Man | CliCommand::Simulate(_),
            ) => false,
            Some(CliCommand::Config(args)) => !args.reference,
            _ => true,
        }
    }
}

#[derive(Args, Clone, Debug)]
pub(crate) struct ConfigArgs {
    /// Print a configuration file with every setting, explained and commented out
    #[arg(long)]
    pub(crate) reference: bool,
}

#[derive(Args, Clone, Debug, Default)]
pub(crate) struct StatusArgs {
    /// The DaemonSet: `ds/NAME`, or just NAME
    #[arg(value_name = "ds/NAME")]
    pub(crate) name: Option<DaemonSetName>,
    /// All namespaces, which is the default of the list, also where `-n` names one
    #[arg(short = 'A', long, conflicts_with = "name")]
    pub(crate) all_namespaces: bool,
    /// Follow until the rollout ends or halts: one sentence per change
    #[arg(short, long, requires = "name")]
    pub(crate) watch: bool,
    /// Add one line per node, those in trouble first
    #[arg(long, requires = "name")]
    pub(crate) nodes: bool,
    /// Add one line per node about its images: whether they are there, how far a pull may be, why one failed
    #[arg(long, requires = "name")]
    pub(crate) images: bool,
    /// How long to wait for the cluster; with --watch: for the end [default: 30s, with --watch: none]
    #[arg(long, value_name = "DURATION", value_parser = patience)]
    pub(crate) timeout: Option<Duration>,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct DiagnoseArgs {
    /// The DaemonSet: `ds/NAME`, or just NAME
    #[arg(value_name = "ds/NAME")]
    pub(crate) name: DaemonSetName,
    /// How long to wait for the cluster
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = patience)]
    pub(crate) timeout: Duration,
}

#[derive(Args, Clone, Debug, Default)]
pub(crate) struct LogArgs {
    /// The DaemonSet: `ds/NAME`, or just NAME [default: all]
    #[arg(value_name = "ds/NAME")]
    pub(crate) name: Option<DaemonSetName>,
    /// Only what happened in this time: `2h`, `3d`
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) since: Option<Duration>,
    /// Only the last N lines
    #[arg(long, value_name = "N")]
    pub(crate) tail: Option<usize>,
    /// Every step: each pod that was deleted, each write that was sent, each command that was asked
    #[arg(long)]
    pub(crate) all: bool,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct DriveArgs {
    /// The DaemonSet: `ds/NAME`, or just NAME
    #[arg(value_name = "ds/NAME")]
    pub(crate) name: DaemonSetName,
    /// Begin a rollout of this image first; may be repeated
    #[arg(long = "image", value_name = "CONTAINER=IMAGE")]
    pub(crate) images: Vec<ContainerImage>,
    /// How many nodes may be updated in total: a count, or a percentage of all nodes, rounded up
    #[arg(long, value_name = "N|N%", allow_negative_numbers = true, conflicts_with = "partition")]
    pub(crate) to: Option<IntOrPercent>,
    /// How many nodes keep their old pod, all others may be updated: a count, or a percentage of all nodes, rounded down
    #[arg(long, value_name = "N|N%", allow_negative_numbers = true)]
    pub(crate) partition: Option<IntOrPercent>,
    /// Which nodes may be updated, as `kubectl get nodes -l` has it; empty: all
    #[arg(long)]
    pub(crate) selector: Option<Selector>,
    /// Ask whoever drives to hand over
    #[arg(long)]
    pub(crate) take_over: bool,
    /// Stay in charge at the end, instead of handing the DaemonSet back: `--finish keep`
    #[arg(long, conflicts_with = "finish")]
    pub(crate) keep: bool,
    /// When to end
    #[arg(long, value_enum, default_value_t)]
    pub(crate) until: DriveUntil,
    /// Do not ask for confirmation
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Stop driving after this long [default: none]
    #[arg(long, value_name = "DURATION", value_parser = patience)]
    pub(crate) timeout: Option<Duration>,
    #[command(flatten)]
    pub(crate) tuning: TuningFlags,
}

impl DriveArgs {
    /// Which budgets and gates are asked for.
    pub(crate) fn tuning(&self) -> Tuning {
        let keep = self.keep.then_some(Finish::Keep);
        self.tuning.tuning().and(Tuning { finish: keep, ..Tuning::default() })
    }
}

/// When a headless driver leaves.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum DriveUntil {
    /// When every node is at the target
    #[default]
    Complete,
    /// When the present step is done: nothing more may move under partition and selector
    Held,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct DemoArgs {
    /// What to practise on: a built-in scenario (see below) or a TOML file
    #[arg(value_name = "NAME|FILE", default_value = "factory", conflicts_with = "nodes")]
    pub(crate) scenario: String,
    /// A generated fleet of N nodes instead of a scenario
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) nodes: Option<u32>,
    /// How many times faster than in reality things happen in it; the times that it shows are this machine's
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, value_parser = speed)]
    pub(crate) speed: f64,
    /// The seed of the simulation; the same seed gives the same course of events, and the same uids [default: one course for everybody, with new uids each time]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Open no console: print a kubeconfig and leave the API up until Ctrl-C
    #[arg(long)]
    pub(crate) serve: bool,
    /// With --serve: write the kubeconfig to this file instead
    #[arg(long, value_name = "FILE", requires = "serve")]
    pub(crate) write_kubeconfig: Option<PathBuf>,
    /// Start nothing: print the scenario as a file, to change and to practise on
    #[arg(long, conflicts_with_all = ["nodes", "serve"])]
    pub(crate) print: bool,
    /// Start nothing: print a scenario file with every key there is, explained
    #[arg(long, conflicts_with_all = ["nodes", "serve", "print"])]
    pub(crate) reference: bool,
    #[command(flatten)]
    pub(crate) look: Look,
}

#[derive(Args, Clone, Debug)]
#[group(skip)]
#[command(group = clap::ArgGroup::new("one").args(["seed", "case"]))]
pub(crate) struct SimulateArgs {
    /// With --compare: a built-in scenario (see `demo --help`) or a TOML file that has a `[rollout]`
    #[arg(value_name = "NAME|FILE", requires = "compare")]
    pub(crate) scenario: Option<String>,
    /// Compare methods of rolling out in one scenario
    #[arg(long, requires = "scenario", conflicts_with_all = ["runs", "case", "trace", "shrink", "save"])]
    pub(crate) compare: bool,
    /// How many rollouts to run
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = values::positive)]
    pub(crate) runs: u64,
    /// The first seed [default: a random one, which is printed]
    #[arg(long, value_name = "S")]
    pub(crate) seed: Option<u64>,
    /// Run the case in this file instead
    #[arg(long, value_name = "FILE", conflicts_with_all = ["seed", "runs"])]
    pub(crate) case: Option<PathBuf>,
    /// Print what happens in the run of one seed or case
    #[arg(long, requires = "one", conflicts_with = "runs")]
    pub(crate) trace: bool,
    /// Reduce the case to what is needed to break the promise
    #[arg(long, requires = "one", conflicts_with = "runs")]
    pub(crate) shrink: bool,
    /// Save the case of a seed, or what `--shrink` left of it
    #[arg(long, value_name = "FILE", requires = "one", conflicts_with = "runs")]
    pub(crate) save: Option<PathBuf>,
}

impl SimulateArgs {
    /// Whether it is about one case only.
    pub(crate) fn plays_one_case(&self) -> bool {
        self.case.is_some() || self.trace || self.shrink || self.save.is_some()
    }
}

/// The built-in scenarios, with what they are about.
fn scenarios() -> String {
    let lines = practice::scenarios().into_iter().map(|(name, about)| format!("\n  {name:15} {about}"));
    format!("Scenarios:{}", lines.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::model::command::{Command, Early, Step};

    #[test]
    fn the_command_line_is_sound() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }

    /// What is typed to give a command; `None` where `drive` or a signal gives it.
    fn line_for(command: &Command) -> Option<&'static str> {
        match command {
            Command::Adopt => Some("adopt agent"),
            Command::SetImage(_) => Some("set-image agent *=a.example/agent:v2"),
            Command::Step(Step::Next) => Some("step agent"),
            Command::Step(Step::Back) => Some("step agent --back"),
            Command::Step(Step::Updated(_)) => Some("step agent --to 10%"),
            Command::Step(Step::Partition(_)) => Some("step agent --partition 3"),
            Command::Select(Some(_)) => Some("select agent canary=true"),
            Command::Select(None) => Some("select agent --clear"),
            Command::Pause { .. } => Some("pause agent --reason slow"),
            Command::Resume => Some("resume agent"),
            Command::Undo { .. } => Some("undo agent --to-revision 3"),
            Command::Release(Early::Refuse) => Some("release agent"),
            Command::Release(Early::Accept) => Some("release agent --early"),
            Command::Tune(_) => Some("tune agent --soak 90s"),
            Command::Tuned { .. } => Some("adopt agent --soak 90s"),
            // `prewarm` has a line of its own.
            Command::Prewarm(_)
            | Command::Drive(_)
            | Command::StopDriving
            | Command::EndDriving { .. }
            | Command::GiveUpDriving { .. } => None,
        }
    }

    #[test]
    fn every_one_shot_command_is_typed_as_its_line_says() {
        for line in [
            "adopt agent",
            "set-image agent *=a.example/agent:v2",
            "step agent",
            "step agent --back",
            "step agent --to 10%",
            "step agent --partition 3",
            "select agent canary=true",
            "select agent --clear",
            "pause agent --reason slow",
            "resume agent",
            "undo agent --to-revision 3",
            "release agent",
            "release agent --early",
            "tune agent --soak 90s",
            "adopt agent --soak 90s",
        ] {
            let cli = Cli::try_parse_from(format!("rolldeck {line}").split_whitespace()).unwrap();
            let Some(CliCommand::OnCluster(OnCluster::OneShot(one_shot))) = cli.command else {
                panic!("{line}: {cli:?}")
            };
            assert_eq!(line_for(&one_shot.into_parts().2), Some(line));
        }
    }

    #[test]
    fn what_is_typed_is_what_is_said_of_it() {
        let line = "rolldeck tune agent --max-unavailable 25% --max-pulling default --strict=false --failure-threshold 3 \
                    --progress-deadline 15m --max-restarts 0 --soak 90s --on-failure rollback --on-drift enforce --order spread --finish keep";
        let cli = Cli::try_parse_from(line.split_whitespace()).unwrap();
        let Some(CliCommand::OnCluster(OnCluster::OneShot(one_shot))) = cli.command else { panic!("{cli:?}") };
        let Command::Tune(tuning) = one_shot.into_parts().2 else { panic!("not a tune") };
        assert_eq!(
            tuning.to_string(),
            "max-unavailable=25% max-pulling=default strict=false failure-threshold=3 progress-deadline=15m \
             max-restarts=0 soak=90s on-failure=rollback on-drift=enforce order=spread finish=keep"
        );
    }

    #[test]
    fn flags_stand_before_or_after_the_command() {
        for line in [["rolldeck", "-n", "edge", "status", "ds/agent"], ["rolldeck", "status", "ds/agent", "-n", "edge"]]
        {
            let cli = Cli::try_parse_from(line).unwrap();
            assert_eq!(cli.global.namespace.as_deref(), Some("edge"));
            assert!(matches!(cli.command, Some(CliCommand::OnCluster(OnCluster::Status(_)))));
            assert_eq!(cli.name, None);
        }
    }
}
