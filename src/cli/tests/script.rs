//! A driver that plays a script: the first snapshot until it is told to drive or to pre-warm, then the others in order.

use std::ffi::OsString;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use clap::CommandFactory;
use serde_json::json;
use tokio::sync::{mpsc, watch};

use crate::cli::args::{Cli, OutputAs};
use crate::cli::output::Charset;
use crate::cli::output::tests::Kept;
use crate::driver::{DrivenBy, Fleet, FleetPrewarm, FleetRow, Request, Rollout, Session};
use crate::engine::model::Str;
use crate::engine::model::budget::BudgetView;
use crate::engine::model::cause::{Cause, CauseKind};
use crate::engine::model::clocks::NodeClocks;
use crate::engine::model::command::{Command, Preview, PrewarmCommand, Refusal};
use crate::engine::model::config::Role;
use crate::engine::model::container_log::{LogNews, LogSource};
use crate::engine::model::danger::Danger;
use crate::engine::model::driver::DriverView;
use crate::engine::model::estimate::{RolloutEstimate, TimeRange};
use crate::engine::model::event::{WatchHealth, Watched};
use crate::engine::model::facts::{DaemonSetCounters, StrategyKind};
use crate::engine::model::fleet_state::FleetState;
use crate::engine::model::gitops_owner::{Application, GitOpsOwner, RevertTrigger, StrategyOwnership, Tool};
use crate::engine::model::hold::Hold;
use crate::engine::model::images_on_nodes::ImagesOnNodes;
use crate::engine::model::inspection::Inspection;
use crate::engine::model::node::{Blame, ImageState, NodeState};
use crate::engine::model::node_details::NodeDetails;
use crate::engine::model::presence::Presence;
use crate::engine::model::pull::fixtures::{a_minute, image};
use crate::engine::model::pull::{
    Evidence, FinishedPull, ImageSummary, PeerScope, PullCounts, PullFailure, PullState, PullSummary, SlowPull,
};
use crate::engine::model::quantity::IntOrPercent;
use crate::engine::model::record::Direction;
use crate::engine::model::settings::Settings;
use crate::engine::model::site::SiteLabel;
use crate::engine::model::step_ahead::StepAhead;
use crate::engine::model::template::{ImageUse, Template};
use crate::engine::model::time::Timestamp;
use crate::engine::model::wait::DistanceView;
use crate::engine::report::snapshot::{
    Counts, ImageChange, NodeView, Phase, PlanView, RevisionView, Snapshot, WatchView,
};

/// An instant of the scripts: so many seconds after they begin.
pub(super) fn at(secs: i64) -> Timestamp {
    Timestamp::from_millis(1_795_000_000_000 + secs * 1000)
}

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
    asked: Arc<Mutex<Vec<Command>>>,
    runs_by_itself: bool,
    context: &'static str,
    given: Option<String>,
    inspection: Arc<Inspection>,
    elsewhere: Option<&'static str>,
    hides_other_namespaces: bool,
    /// Whoever drives lets nodes of a rollout go.
    carries_on: bool,
}

impl Script {
    pub(super) fn of(first: Snapshot) -> Self {
        let asked = Arc::default();
        Self {
            snapshots: vec![Arc::new(first)],
            danger: Danger::None,
            refusal: None,
            asked,
            runs_by_itself: false,
            context: "prod-eu",
            given: Some(String::new()),
            inspection: Arc::default(),
            elsewhere: None,
            hides_other_namespaces: false,
            carries_on: false,
        }
    }

    /// A rollout is recorded that nobody drives: who drives for something else lets its nodes go, too.
    pub(super) fn carries_on(mut self) -> Self {
        self.carries_on = true;
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

    pub(super) fn refuses(mut self, refusal: Refusal) -> Self {
        self.refusal = Some(refusal);
        self
    }

    /// What was asked for, in order.
    pub(super) fn asked(&self) -> Vec<Command> {
        self.asked.lock().unwrap().clone()
    }

    /// Runs a command line against it.
    pub(super) async fn run(&self, line: &str) -> CommandOutput {
        let words = std::iter::once("rolldeck").chain(line.split(' ')).map(OsString::from);
        let cli = crate::cli::parse(words).unwrap().typed();
        let kept = Kept::default();
        let global = &cli.global;
        let charset = if global.ascii { Charset::Ascii } else { Charset::Unicode };
        let OutputAs { format, shape } = global.output.clone().unwrap_or_default();
        let output = kept.output(format, charset).shaped(shape);
        let script = Self { runs_by_itself: line.contains("--watch"), ..self.clone() };
        let end = crate::cli::run_to(cli, async move |_| Ok(Arc::new(script.clone()) as Arc<dyn Session>), output);
        let (error, code) = match end.await {
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
            Some(refusal) => Err(refusal.clone()),
            None => Ok(Preview {
                title: title(command).to_owned(),
                effects: vec!["12 nodes may be updated, at most 2 down at a time.".to_owned()],
                nodes: match command {
                    Command::Prewarm(PrewarmCommand::Cancel) if !self.carries_on => Default::default(),
                    _ => (1..=12).map(|nth| Str::from(format!("ipc-{nth:03}"))).collect(),
                },
                warnings: self.snapshots[0].gitops_owners.iter().map(GitOpsOwner::warning).collect(),
                changes: Default::default(),
                calls: vec!["PATCH leases/rolldeck-agent (intent)".to_owned()],
                danger: self.danger,
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
        if matches!(self.snapshots[0].driver, DriverView::Unconfirmed { .. }) {
            // The script's other snapshots show what follows.
            follow(&snapshots, &mut rest.by_ref().take(1)).await;
        }
        while let Some(request) = requests.recv().await {
            match request {
                Request::ImagesOnNodes(answer) => drop(answer.send(self.images_on_nodes())),
                Request::Preview(command, answer) => drop(answer.send(self.preview(&command))),
                Request::Command(command, answer) => {
                    let prewarm =
                        matches!(command, Command::Prewarm(PrewarmCommand::Start { .. } | PrewarmCommand::Cancel));
                    let drive = prewarm || matches!(command, Command::Drive(_));
                    if prewarm && let Some(shown) = rest.next() {
                        // A command is settled once the snapshot shows it.
                        snapshots.send_replace(shown);
                    }
                    drop(answer.send(Ok(format!("settled: {}", title(&command)))));
                    self.asked.lock().unwrap().push(command);
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
        Command::StopDriving | Command::GiveUpDriving { .. } => "Stop driving",
    }
}

impl Session for Script {
    fn context(&self) -> &str {
        self.context
    }

    fn default_namespace(&self) -> &str {
        "edge"
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
            state,
            since: None,
            to: Default::default(),
            from: None,
            pulls: None,
            prewarm: (name == "log-shipper").then_some(FleetPrewarm::Paused),
            driven_by,
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

fn revision(number: i64, image: &str, pods: u32, created_at: i64) -> RevisionView {
    RevisionView {
        hash: format!("hash{number}").into(),
        number: Some(number),
        images: vec![("agent".into(), image.into())],
        template: Some(template(number, image)),
        created_at: Some(at(created_at)),
        change_cause: (number == 15).then(|| "ticket 4711".into()),
        pods,
    }
}

/// The template of a revision: 15 has more memory and another level than those before.
fn template(number: i64, image: &str) -> Template {
    let (level, memory) = if number < 15 { ("info", "128Mi") } else { ("debug", "256Mi") };
    Template::from_json(json!({
        "metadata": {"labels": {"app": "agent"}},
        "spec": {
            "containers": [{
                "name": "agent",
                "image": image,
                "command": ["sh", "-c", "set -e\nexec agent --buffer 512\n"],
                "env": [{"name": "LOG_LEVEL", "value": level}, {"name": "CACHE", "value": "yes"}],
                "resources": {"limits": {"memory": memory}},
            }],
            "hostNetwork": true,
        },
    }))
}

/// A node with its pod.
pub(super) fn node(name: &str, state: NodeState) -> NodeView {
    let at_target = matches!(state, NodeState::Updated | NodeState::Failed | NodeState::Pulling);
    NodeView {
        name: name.into(),
        state,
        hold: (state == NodeState::Outdated).then_some(Hold::Budget { used: 2, limit: 2 }),
        pod_wait: None,
        cause: None,
        blame: None,
        since: Some(at(540)),
        revision: Some(if at_target { "hash15".into() } else { "hash14".into() }),
        revision_number: Some(if at_target { 15 } else { 14 }),
        at_target,
        image: if at_target { ImageState::Present } else { ImageState::Unknown },
        images: Arc::default(),
        usual_pull: None,
        prewarm: None,
        pod: Some(format!("agent-{name}").into()),
        pod_created_at: Some(at(300)),
        restarts: 0,
        restarted: None,
        lost_readiness: false,
        suspect: None,
        eligible: true,
        ineligible: None,
        serves: true,
        committed: false,
        selected: true,
        site: Str::default(),
        labels: Default::default(),
        rank: None,
        clock_skew_millis: None,
        counted_unavailable_until: None,
        pressure: None,
        details: NodeDetails::known(name.trim_start_matches("ipc-").parse().unwrap_or_default()),
    }
}

/// The same, with an image that is not there.
pub(super) fn cause(mut node: NodeView) -> NodeView {
    node.cause = Some(
        Cause { kind: CauseKind::ImageNotFound, container: None, message: Some("manifest unknown".into()) }.into(),
    );
    node.blame = Some(Blame::Rollout);
    node
}

/// A rollout under way, ten minutes after it began.
pub(super) fn rollout() -> Snapshot {
    let revisions = [
        revision(15, "registry.example/agent:v1.9.0", 38, 0),
        revision(14, "registry.example/agent:v1.8.2", 82, -86_400 * 3),
    ];
    Snapshot {
        at: at(600),
        namespace: "edge".into(),
        name: "agent".into(),
        uid: Some("0f-agent".into()),
        daemonset: Presence::Present,
        strategy: StrategyKind::OnDelete,
        surge: None,
        adopted: true,
        original_strategy: Some("RollingUpdate 10%".into()),
        gitops_owners: [].into(),
        counters: DaemonSetCounters { desired: 120, updated: 38, available: 115, ..Default::default() },
        driver: DriverView::Other { holder: "ops@bastion-2/4711".into(), renewal_observed_at: at(598) },
        identity: "ada@bastion-3/1f00c3a9".into(),
        watches: watches(&WatchHealth::Live),
        rights: Vec::new(),
        phase: Phase::Running,
        direction: Direction::Forward,
        requested_change: None,
        started_at: Some(at(0)),
        from: Some(revisions[1].clone()),
        to: Some(revisions[0].clone()),
        image_changes: vec![ImageChange {
            container: "agent".into(),
            from: Some("registry.example/agent:v1.8.2".into()),
            to: Some("registry.example/agent:v1.9.0".into()),
        }],
        revisions: revisions.into(),
        counts: Counts { nodes: 120, updated: 38, committed: 40, available: 115, failed: 1, ..Counts::default() },
        pulls: PullSummary::default(),
        estimate: RolloutEstimate::None,
        times: Default::default(),
        budget: BudgetView {
            max_unavailable: 2,
            rollout: 1,
            suspect: 1,
            node: 3,
            charged: 2,
            pulling: 2,
            max_pulling: 2,
            ..BudgetView::default()
        },
        plan: PlanView {
            steps: vec![IntOrPercent::Int(1), IntOrPercent::Percent(50), IntOrPercent::Percent(100)],
            step: Some(1),
            partition: Some(IntOrPercent::Percent(50)),
            keep: 60,
            allowed: 60,
            selector: None,
            selected: 120,
            next: Some(Ok(StepAhead {
                step: IntOrPercent::Percent(100),
                allowed: 120,
                frees: Some(60),
                cut_by_selector: false,
            })),
        },
        settings: Settings::default(),
        pace: Default::default(),
        site_label: SiteLabel::default(),
        comparisons: Vec::new(),
        blocked: None,
        paused: None,
        halt: None,
        alarms: Vec::new(),
        timeline: Arc::default(),
        unsent: Vec::new(),
        driver_stopped: None,
        unaudited: Vec::new(),
        waits: None,
        prewarm: None,
        distance: DistanceView::default(),
        skew_millis: Some(0),
        node_clocks: NodeClocks::default(),
        nodes: [
            cause(node("ipc-017", NodeState::Failed)),
            NodeView { state: NodeState::NodeDown, blame: Some(Blame::Suspect), ..node("ipc-031", NodeState::Updated) },
            node("ipc-018", NodeState::Pulling),
            // Nothing is known of its machine.
            NodeView { details: NodeDetails::default(), ..node("ipc-020", NodeState::Outdated) },
            node("ipc-001", NodeState::Updated),
        ]
        .into(),
    }
}

/// Argo CD, as it is found on a DaemonSet.
pub(super) fn argo_cd() -> GitOpsOwner {
    GitOpsOwner {
        tool: Tool::ArgoCd,
        application: Some(Application { namespace: None, name: "edge-agents".into() }),
        evidence: vec!["annotation argocd.argoproj.io/tracking-id".into(), "field manager argocd-controller".into()],
        strategy: StrategyOwnership::Yes,
        reverts: RevertTrigger::ByItself,
    }
}

/// A DaemonSet that its own controller rolls and Argo CD manages.
pub(super) fn under_argo_cd() -> Snapshot {
    Snapshot {
        strategy: StrategyKind::RollingUpdate,
        adopted: false,
        original_strategy: None,
        driver: DriverView::Nobody,
        phase: Phase::Idle,
        started_at: None,
        gitops_owners: [argo_cd()].into(),
        nodes: [].into(),
        counts: Counts { nodes: 120, updated: 120, committed: 120, available: 120, ..Counts::default() },
        budget: BudgetView { max_unavailable: 12, max_pulling: 12, ..BudgetView::default() },
        image_changes: Vec::new(),
        from: None,
        ..rollout()
    }
}

/// The same, with images that are there, come, wait, fail; and how long they usually take.
pub(super) fn pulling() -> Snapshot {
    let agent = |state| [image(ImageUse::Main, state)].into();
    let secs = Duration::from_secs;
    let pull = FinishedPull { took: secs(58), transfer: secs(51), bytes: Some(412_345_678) };
    let message = "write /var/lib/containerd/7: no space left on device";
    let behind =
        [image(ImageUse::Init, PullState::Pulling { since: at(588) }), image(ImageUse::Main, PullState::Queued)];
    let since = at(560);
    let nodes = [
        NodeView {
            image: ImageState::Failed,
            images: agent(PullState::Failed { why: PullFailure::Disk, message: Some(message.into()) }),
            ..node("ipc-017", NodeState::Failed)
        },
        NodeView {
            image: ImageState::Pulling { since },
            images: agent(PullState::Pulling { since }),
            usual_pull: Some(a_minute(7, PeerScope::Site).into()),
            ..node("ipc-018", NodeState::Pulling)
        },
        NodeView {
            image: ImageState::Pulling { since: at(588) },
            images: behind.into(),
            ..node("ipc-019", NodeState::Pulling)
        },
        NodeView { images: agent(PullState::Unknown), ..node("ipc-020", NodeState::Outdated) },
        NodeView {
            images: agent(PullState::Present { by: Evidence::ImageId, pull: Some(pull) }),
            ..node("ipc-001", NodeState::Updated)
        },
    ];
    let slow = SlowPull {
        node: "ipc-037".into(),
        image: "registry.example/agent:v1.9.0".into(),
        took: secs(370),
        times: 6,
        scope: PeerScope::Site,
    };
    let summary = ImageSummary {
        image: "registry.example/agent:v1.9.0".into(),
        bytes: Some(412_345_678),
        fleet: Some(a_minute(9, PeerScope::Fleet)),
        sites: vec![("hall-a".into(), a_minute(7, PeerScope::Site))],
        took: None,
    };
    let counts = PullCounts { present: 38, pulling: 2, failed: 1, absent: 0, unknown: 79 };
    let pulls = PullSummary { counts, images: [summary].into(), slow: [slow].into() };
    Snapshot { nodes: nodes.into(), pulls, ..rollout() }
}

/// The same, held, with nobody who drives.
pub(super) fn held_by_nobody() -> Snapshot {
    let nodes = [node("ipc-020", NodeState::Outdated), node("ipc-001", NodeState::Updated)];
    let counts = Counts { nodes: 120, updated: 38, available: 120, ..Counts::default() };
    Snapshot { phase: Phase::Held, driver: DriverView::Nobody, nodes: nodes.into(), counts, ..rollout() }
}

/// The same, with us driving.
pub(super) fn driving() -> Snapshot {
    Snapshot {
        at: at(610),
        phase: Phase::Running,
        driver: DriverView::You { renewed_at: at(610), lapsed: false },
        ..held_by_nobody()
    }
}

/// The same, with one node in another state.
pub(super) fn node_moves(name: &str, state: NodeState) -> Snapshot {
    let nodes =
        driving().nodes.iter().map(|view| if &*view.name == name { node(name, state) } else { view.clone() }).collect();
    Snapshot { at: at(620), nodes, ..driving() }
}

/// All watches, in this health.
fn watches(health: &WatchHealth) -> Vec<WatchView> {
    let heard_at = (*health == WatchHealth::Live).then(|| at(580));
    Watched::ALL.map(|watched| WatchView { watched, health: health.clone(), heard_at, skipped: None }).to_vec()
}

/// Nothing is known yet.
pub(super) fn loading() -> Snapshot {
    Snapshot {
        daemonset: Presence::Loading,
        phase: Phase::Loading,
        watches: watches(&WatchHealth::Loading),
        nodes: [].into(),
        ..rollout()
    }
}

/// No watch gets an answer.
pub(super) fn watches_down(snapshot: &mut Snapshot, why: &str) {
    for watch in &mut snapshot.watches {
        watch.health = WatchHealth::Down { since: at(590), why: why.into() };
    }
}

pub(super) fn minutes(least: u64, most: u64) -> TimeRange {
    TimeRange { least: Duration::from_secs(60 * least), most: Duration::from_secs(60 * most) }
}
