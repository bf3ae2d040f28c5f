//! A driver that plays a script: the first snapshot until it is told to drive or to pre-warm, then the others in order.

mod rollouts;

use std::ffi::OsString;
use std::sync::{Arc, Mutex};

use clap::CommandFactory;
use tokio::sync::{mpsc, watch};

pub(in crate::cli) use self::rollouts::rollout;
pub(super) use self::rollouts::{
    argo_cd, at, cause, driving, held_by_nobody, loading, minutes, node, node_moves, pulling, step_done, under_argo_cd,
    watches_down,
};
use crate::cli::args::{Cli, OutputAs};
use crate::cli::output::tests::{Full, Kept};
use crate::cli::output::{Charset, Output};
use crate::driver::{CommandError, DrivenBy, Fleet, FleetPrewarm, FleetRow, Request, Rollout, Session};
use crate::engine::model::Str;
use crate::engine::model::command::{BEFORE_THE_FIRST_STEP, Command, Preview, PrewarmCommand, Refusal};
use crate::engine::model::config::Role;
use crate::engine::model::container_log::{LogNews, LogSource};
use crate::engine::model::danger::Danger;
use crate::engine::model::driver::DriverView;
use crate::engine::model::event::WatchHealth;
use crate::engine::model::facts::DaemonSetCounters;
use crate::engine::model::failing_nodes::{FailingCause, FailingNodes};
use crate::engine::model::fleet_state::FleetState;
use crate::engine::model::gitops_owner::GitOpsOwner;
use crate::engine::model::images_on_nodes::ImagesOnNodes;
use crate::engine::model::inspection::Inspection;
use crate::engine::model::record::Paused;
use crate::engine::model::time::Timestamp;
use crate::engine::report::snapshot::{Phase, RevisionView, Snapshot};

/// The help of a command, at a fixed width.
pub(super) fn help(path: &[&str]) -> String {
    let mut command = Cli::command().term_width(100);
    command.build();
    let mut command = &mut command;
    for name in path {
        command = command.find_subcommand_mut(name).unwrap();
    }
    command.render_long_help().to_string()
}

/// What one command line came to.
pub(super) struct CommandOutput {
    pub(super) text: String,
    pub(super) error: String,
    pub(super) code: u8,
}

/// A cluster with one DaemonSet, whose driver plays a script.
#[derive(Clone)]
pub(super) struct Script {
    snapshots: Vec<Arc<Snapshot>>,
    danger: Danger,
    refusal: Option<Refusal>,
    /// Which commands are refused.
    refuses: fn(&Command) -> bool,
    requests: Arc<Mutex<Vec<Command>>>,
    /// What was refused before it was given, and why.
    refused: Arc<Mutex<Vec<(Command, String)>>>,
    runs_by_itself: bool,
    context: &'static str,
    given: Option<String>,
    inspection: Arc<Inspection>,
    elsewhere: Option<&'static str>,
    hides_other_namespaces: bool,
    /// Whoever drives lets nodes of a rollout go.
    carries_on: bool,
    halted_before: Option<String>,
    lifts_pause: Option<Paused>,
    /// Nodes of the rollout are in line.
    has_line: bool,
    /// Somebody else is first to drive.
    is_second: bool,
    /// Why no command is carried out, although it was accepted.
    fails: Option<CommandError>,
    /// No command is settled before the driver is told to end.
    never_settles: bool,
    /// The next snapshot comes right after a preview.
    moves_on_preview: bool,
    /// Nothing that is printed can be written.
    disk_is_full: bool,
    /// The clock, where time passes and nothing changes.
    now: Timestamp,
}

impl Script {
    pub(super) fn of(first: Snapshot) -> Self {
        let requests = Arc::default();
        Self {
            snapshots: vec![Arc::new(first)],
            danger: Danger::None,
            refusal: None,
            refuses: |_| true,
            requests,
            refused: Arc::default(),
            runs_by_itself: false,
            context: "prod-eu",
            given: Some(String::new()),
            inspection: Arc::default(),
            elsewhere: None,
            hides_other_namespaces: false,
            carries_on: false,
            halted_before: None,
            lifts_pause: None,
            has_line: true,
            is_second: false,
            fails: None,
            never_settles: false,
            moves_on_preview: false,
            disk_is_full: false,
            now: Timestamp::default(),
        }
    }

    /// Commands are accepted, and the next snapshot shows it; they are not settled.
    pub(super) fn never_settles(mut self) -> Self {
        self.never_settles = true;
        self
    }

    /// Something changes between the preview and the command.
    pub(super) fn moves_on_preview(mut self) -> Self {
        self.moves_on_preview = true;
        self
    }

    /// What is printed goes to a disk that is full.
    pub(super) fn on_a_full_disk(mut self) -> Self {
        self.disk_is_full = true;
        self
    }

    /// What the clock shows; otherwise it shows the time of each snapshot.
    pub(super) fn reads_the_clock_at(mut self, now: Timestamp) -> Self {
        self.now = now;
        self
    }

    /// Commands are accepted, and end with this error once the next snapshot is there.
    pub(super) fn fails(mut self, error: CommandError) -> Self {
        self.fails = Some(error);
        self
    }

    /// A rollout is recorded that nobody drives: who drives for something else lets its nodes go, too.
    /// Every preview says that this pause is lifted, and that this has to be agreed to.
    pub(super) fn lifts(mut self, paused: Paused) -> Self {
        self.lifts_pause = Some(paused);
        self
    }

    pub(super) fn carries_on(mut self) -> Self {
        self.carries_on = true;
        self
    }

    /// No node of the rollout is in line: who drives lets none go.
    pub(super) fn without_a_line(mut self) -> Self {
        self.has_line = false;
        self
    }

    /// DaemonSets may be listed in one namespace only.
    pub(super) fn hides_other_namespaces(mut self) -> Self {
        self.hides_other_namespaces = true;
        self
    }

    /// The namespace of one more DaemonSet `agent`.
    pub(super) fn also_in(mut self, namespace: &'static str) -> Self {
        self.elsewhere = Some(namespace);
        self
    }

    /// The kubeconfig context, where it matters what it is called.
    pub(super) fn on(mut self, context: &'static str) -> Self {
        self.context = context;
        self
    }

    /// What is read of every node.
    pub(super) fn reads(mut self, inspection: Inspection) -> Self {
        self.inspection = Arc::new(inspection);
        self
    }

    /// The flags that were given beside it, quoted.
    pub(super) fn given(mut self, given: Option<&str>) -> Self {
        self.given = given.map(str::to_owned);
        self
    }

    /// The next snapshot.
    pub(super) fn then(mut self, next: Snapshot) -> Self {
        self.snapshots.push(Arc::new(next));
        self
    }

    pub(super) fn previews(mut self, danger: Danger) -> Self {
        self.danger = danger;
        self
    }

    /// Somebody else is first to drive: that command is not answered, and the other snapshots follow.
    pub(super) fn driven_first_by_another(mut self) -> Self {
        self.is_second = true;
        self
    }

    pub(super) fn refuses(mut self, refusal: Refusal) -> Self {
        self.refusal = Some(refusal);
        self
    }

    /// Commands lead to a revision at which the rollout halted.
    pub(super) fn halted_before(mut self, warning: &str) -> Self {
        self.halted_before = Some(warning.to_owned());
        self
    }

    /// Only these commands are refused.
    pub(super) fn refuses_only(mut self, refuses: fn(&Command) -> bool, refusal: Refusal) -> Self {
        self.refuses = refuses;
        self.refuses(refusal)
    }

    /// Why commands were refused before they were given, in order.
    pub(super) fn refused(&self) -> Vec<(Command, String)> {
        self.refused.lock().unwrap().clone()
    }

    /// What was asked for, in order.
    pub(super) fn requests(&self) -> Vec<Command> {
        self.requests.lock().unwrap().clone()
    }

    /// Runs a command line against this scripted rollout.
    pub(super) async fn run(&self, line: &str) -> CommandOutput {
        let words = std::iter::once("rolldeck").chain(line.split(' ')).map(OsString::from);
        let cli = crate::cli::parse(words).unwrap().typed();
        let kept = Kept::default();
        let global = &cli.global;
        let charset = if global.ascii { Charset::Ascii } else { Charset::Unicode };
        let OutputAs { format, shape } = global.output.clone().unwrap_or_default();
        let output = match self.disk_is_full {
            true => Output::to(Box::new(Full), format, charset),
            false => kept.output(format, charset),
        };
        let output = output.shaped(shape);
        let script = Self { runs_by_itself: line.contains("--watch"), ..self.clone() };
        let end = crate::cli::run_to(cli, async move |_| Ok(Arc::new(script.clone()) as Arc<dyn Session>), output);
        let (error, code) = match Box::pin(end).await {
            Ok(crate::cli::CallerTask::Exit(exit)) => (String::new(), exit.code()),
            Ok(other) => panic!("{line}: {other:?}"),
            Err(error) => (error.to_string(), error.code()),
        };
        CommandOutput { text: kept.text(), error, code }
    }

    /// Runs a command line and lays its JSON out for a reader.
    pub(super) async fn json(&self, line: &str) -> String {
        let value: serde_json::Value = serde_json::from_str(&self.run(line).await.text).unwrap();
        serde_json::to_string_pretty(&value).unwrap()
    }

    fn preview(&self, command: &Command) -> Result<Preview, Refusal> {
        match &self.refusal {
            Some(refusal) if (self.refuses)(command) => Err(refusal.clone()),
            _ => Ok(Preview {
                title: title(command).to_owned(),
                effects: vec![match command {
                    Command::Resume if self.snapshots[0].phase == Phase::Halted => {
                        "It goes on past the halt, and accepts these 2 failures, 1 of which came after it:".to_owned()
                    }
                    _ => "12 nodes may be updated, at most 2 down at a time.".to_owned(),
                }],
                nodes: match command {
                    Command::Prewarm(_) if !self.carries_on => Default::default(),
                    Command::Drive(_) if !self.has_line => Default::default(),
                    _ => (1..=12).map(|nth| Str::from(format!("ipc-{nth:03}"))).collect(),
                },
                pulls_on: match command {
                    Command::Prewarm(PrewarmCommand::Start { .. }) => {
                        (1..=108).map(|nth| Str::from(format!("ipc-{nth:03}"))).collect()
                    }
                    _ => Default::default(),
                },
                warnings: self.snapshots[0].gitops_owners.iter().map(GitOpsOwner::warning).collect(),
                changes: Default::default(),
                calls: vec!["PATCH leases/rolldeck-agent (intent)".to_owned()],
                danger: self.danger,
                all_may_be_down: false,
                leads_later: false,
                halted_before: self.halted_before.clone(),
                lifts_pause: self.lifts_pause.clone(),
                accepts: match command {
                    Command::Resume if self.snapshots[0].phase == Phase::Halted => {
                        ["ipc-017", "ipc-031"].map(Str::from).into()
                    }
                    _ => Arc::default(),
                },
                pinned: None,
            }),
        }
    }

    /// The target's images are on the nodes that have its pods, and of the others one tells that it would pull.
    fn images_on_nodes(&self) -> Vec<(Str, ImagesOnNodes)> {
        let nodes = self.snapshots[0].counts.nodes;
        let of = |revision: &RevisionView| {
            let absent = u32::from(revision.pods < nodes);
            let images = revision.images.iter().map(|(_, image)| image.clone()).collect();
            let unknown = nodes - revision.pods - absent;
            (revision.hash.clone(), ImagesOnNodes { images, nodes, present: revision.pods, absent, unknown })
        };
        self.snapshots[0].revisions.iter().map(of).collect()
    }

    /// Answers what it is asked; once told to drive, the other snapshots follow.
    async fn answer(self, snapshots: watch::Sender<Arc<Snapshot>>, mut requests: mpsc::Receiver<Request>) {
        let mut rest = self.snapshots.iter().skip(1).cloned();
        let mut unanswered = Vec::new();
        if matches!(self.snapshots[0].driver, DriverView::Unconfirmed { .. }) {
            // The script's other snapshots show what follows.
            follow(&snapshots, &mut rest.by_ref().take(1)).await;
        }
        while let Some(request) = requests.recv().await {
            match request {
                Request::ImagesOnNodes(answer) => drop(answer.send(self.images_on_nodes())),
                Request::Refused(command, why) => self.refused.lock().unwrap().push((command, why)),
                Request::Preview(command, answer) => {
                    if self.moves_on_preview
                        && let Some(next) = rest.next()
                    {
                        snapshots.send_replace(next);
                    }
                    drop(answer.send(self.preview(&command)));
                }
                Request::Command(command, answer) if self.never_settles => {
                    follow(&snapshots, &mut rest.by_ref().take(1)).await;
                    match command {
                        Command::EndDriving { .. } => drop(answer.send(Ok(String::new()))),
                        _ => unanswered.push(answer),
                    }
                    self.requests.lock().unwrap().push(command);
                }
                Request::Command(command, answer) => {
                    if let Some(error) = &self.fails {
                        follow(&snapshots, &mut rest).await;
                        drop(answer.send(Err(error.clone())));
                        self.requests.lock().unwrap().push(command);
                        continue;
                    }
                    if self.is_second && matches!(command, Command::Drive(_)) {
                        unanswered.push(answer);
                        follow(&snapshots, &mut rest).await;
                        continue;
                    }
                    let prewarm =
                        matches!(command, Command::Prewarm(PrewarmCommand::Start { .. } | PrewarmCommand::Cancel));
                    let drive = prewarm || matches!(command, Command::Drive(_));
                    if prewarm && let Some(shown) = rest.next() {
                        // A command is settled once the snapshot shows it.
                        snapshots.send_replace(shown);
                    }
                    let sets = matches!(command.inner(), Command::SetImage(_));
                    let end = if sets { BEFORE_THE_FIRST_STEP } else { "" };
                    drop(answer.send(Ok(format!("settled: {}{end}", title(&command)))));
                    self.requests.lock().unwrap().push(command);
                    if drive {
                        follow(&snapshots, &mut rest).await;
                    }
                }
            }
        }
    }
}

/// Publishes what is left, each when the one before was seen.
async fn follow(snapshots: &watch::Sender<Arc<Snapshot>>, rest: &mut (impl Iterator<Item = Arc<Snapshot>> + Send)) {
    for snapshot in rest {
        // Readers of the snapshots run first.
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
        snapshots.send_replace(snapshot);
    }
}

fn title(command: &Command) -> &'static str {
    match command.inner() {
        Command::Adopt => "Adopt",
        Command::SetImage(_) => "Set image",
        Command::Step(_) => "Step",
        Command::Select(_) => "Select",
        Command::Pause { .. } => "Pause",
        Command::Resume => "Resume",
        Command::Undo { .. } => "Roll back",
        Command::Release(_) => "Release",
        Command::Tune(_) | Command::Tuned { .. } => "Tune",
        Command::Prewarm(_) => "Pre-warm",
        Command::Drive(_) => "Drive",
        Command::StopDriving | Command::EndDriving { .. } | Command::GiveUpDriving { .. } => "Stop driving",
    }
}

impl Session for Script {
    fn context(&self) -> &str {
        self.context
    }

    fn default_namespace(&self) -> &str {
        "edge"
    }

    fn now(&self) -> Timestamp {
        self.now
    }

    fn given_flags(&self) -> Option<String> {
        self.given.clone()
    }

    fn open(&self, namespace: &str, name: &str, role: Role) -> Rollout {
        assert_eq!((namespace, name), ("edge", "agent"));
        let (sender, snapshots) = watch::channel(self.snapshots[0].clone());
        let (requests, asked) = mpsc::channel(8);
        let script = self.clone();
        tokio::spawn(async move {
            if role == Role::OneShot && script.runs_by_itself {
                follow(&sender, &mut script.snapshots.iter().skip(1).cloned()).await;
            }
            script.answer(sender, asked).await;
        });
        Rollout { snapshots, requests }
    }

    fn fleet(&self, namespace: Option<&str>) -> watch::Receiver<Arc<Fleet>> {
        if self.hides_other_namespaces && namespace.is_none() {
            let health = WatchHealth::Forbidden { why: "cannot list daemonsets at the cluster scope".into() };
            return watch::channel(Arc::new(Fleet { health, ..Fleet::default() })).1;
        }
        let row = |name: &str, state: FleetState, driven_by: DrivenBy| FleetRow {
            namespace: "edge".into(),
            name: name.into(),
            counters: DaemonSetCounters { desired: 120, updated: 38, available: 115, ..Default::default() },
            strategy: "OnDelete (ours)".to_owned(),
            since: None,
            to: Default::default(),
            from: None,
            more_revisions: 0,
            template_of_others: false,
            goes_back: false,
            pulls: None,
            prewarm: (name == "log-shipper").then_some(FleetPrewarm::Paused),
            driven_by,
            silent_since: None,
            prewarmed_by: None,
            failing: matches!(state, FleetState::Rolling).then(|| FailingNodes {
                by: "ops@bastion-2".into(),
                nodes: 2,
                accepted: 0,
                causes: vec![FailingCause { cause: "crash loop".into(), nodes: 2 }],
                ..FailingNodes::default()
            }),
            last_failing: None,
            state,
        };
        let mut rows = vec![
            row("agent", FleetState::Rolling, DrivenBy::Other("ops@bastion-2".into())),
            row("log-shipper", FleetState::UpToDate, DrivenBy::Controller),
        ];
        let here = row("agent", FleetState::UpToDate, DrivenBy::Controller);
        rows.extend(self.elsewhere.map(|namespace| FleetRow { namespace: namespace.into(), ..here }));
        rows.retain(|row| namespace.is_none_or(|namespace| &*row.namespace == namespace));
        watch::channel(Arc::new(Fleet {
            health: WatchHealth::Live,
            leases: WatchHealth::Live,
            revisions: WatchHealth::Live,
            starting_pods: WatchHealth::Live,
            rows,
            ..Fleet::default()
        }))
        .1
    }

    fn inspect(&self, _namespace: &str, _node: &str, _pod: Option<&str>) -> watch::Receiver<Arc<Inspection>> {
        watch::channel(self.inspection.clone()).1
    }

    fn read_log(&self, _source: LogSource) -> mpsc::Receiver<LogNews> {
        mpsc::channel(1).1
    }
}
