use std::sync::Mutex;

use super::*;
use crate::audit::{EntrySubject, Log, Secrets};
use crate::engine::model::command::Refusal;
use crate::engine::model::config::RateLimit;
use crate::engine::model::config::{Role, Timing};
use crate::engine::model::effect::{DaemonSetPatch, Done};
use crate::engine::model::event::{Permission, Right, WatchHealth, Watched};
use crate::engine::model::facts::{DaemonSetFact, LeaseFact, NodeFact, RevisionFact, StrategyKind, UpdateStrategy};
use crate::engine::model::presence::Presence;
use crate::engine::model::template::Template;

/// Writes that are made as a test says, and remembered.
#[derive(Clone)]
struct ScriptedWrites {
    say: fn(&Effect) -> Executed,
    requests: Arc<Mutex<Vec<Effect>>>,
}

impl EffectExecutor for ScriptedWrites {
    async fn execute(&self, effect: Effect) -> Executed {
        self.requests.lock().unwrap().push(effect.clone());
        (self.say)(&effect)
    }
}

impl ScriptedWrites {
    fn new(say: fn(&Effect) -> Executed) -> Self {
        Self { say, requests: Arc::default() }
    }

    fn requests(&self) -> Vec<Effect> {
        self.requests.lock().unwrap().clone()
    }
}

/// Tells when it is dropped.
struct DroppedFeed(Arc<Mutex<bool>>);

impl Drop for DroppedFeed {
    fn drop(&mut self) {
        *self.0.lock().unwrap() = true;
    }
}

struct TestRun {
    rollout: Rollout,
    events: mpsc::Sender<Event>,
    executor: ScriptedWrites,
    feed_ended: Arc<Mutex<bool>>,
    restored: watch::Sender<u64>,
    /// Where events go once the state of the cluster went back.
    anew: Arc<Mutex<Option<mpsc::Sender<Event>>>>,
}

fn run(say: fn(&Effect) -> Executed) -> TestRun {
    run_audited(say, |_identity| AuditSink::default())
}

/// The same, with what each identity writes its audit lines to.
fn run_audited(
    say: fn(&Effect) -> Executed,
    audit: impl Fn(&'static str) -> AuditSink + Send + Sync + 'static,
) -> TestRun {
    let config = Config {
        namespace: "edge".into(),
        name: "agent".into(),
        identity: "ada@host/1".into(),
        role: Role::Driver,
        timing: Timing::default(),
        rate: RateLimit::default(),
        defaults: Default::default(),
        restored_at: None,
    };
    let (events, receiver) = mpsc::channel(EVENTS);
    let executor = ScriptedWrites::new(say);
    let feed_ended = Arc::new(Mutex::new(false));
    let (restored, anew) = (watch::Sender::new(0), Arc::<Mutex<Option<mpsc::Sender<Event>>>>::default());
    let surroundings = Surroundings {
        clock: Clock::start(),
        restored: restored.subscribe(),
        seen_holders: SeenHolders::default(),
        own_events: OwnEvents::default(),
    };
    let feed = DroppedFeed(feed_ended.clone());
    let (identity, audit_sink) = (config.identity.clone(), audit("ada@host/1"));
    let attached = Attached { identity, events: receiver, executor: executor.clone(), feed, audit_sink };
    let attach = {
        let (executor, anew) = (executor.clone(), anew.clone());
        move || {
            let (events, receiver) = mpsc::channel(EVENTS);
            *anew.lock().unwrap() = Some(events);
            let feed = DroppedFeed(Arc::default());
            let (identity, audit_sink) = ("ada@host/1.1", audit("ada@host/1.1"));
            Attached { identity: identity.into(), events: receiver, executor: executor.clone(), feed, audit_sink }
        }
    };
    let rollout = spawn(config, surroundings, attached, attach);
    TestRun { rollout, events, executor, feed_ended, restored, anew }
}

fn template() -> Template {
    Template::from_json(serde_json::json!({"spec": {"containers": [{"name": "agent", "image": "agent:v1"}]}}))
}

fn daemonset() -> DaemonSetFact {
    DaemonSetFact {
        namespace: "edge".into(),
        name: "agent".into(),
        uid: "ds".into(),
        resource_version: "1".into(),
        generation: 1,
        observed_generation: 1,
        strategy: UpdateStrategy {
            kind: StrategyKind::RollingUpdate,
            raw: serde_json::json!({"type": "RollingUpdate"}),
            ..UpdateStrategy::default()
        },
        template: template(),
        ..DaemonSetFact::default()
    }
}

impl TestRun {
    /// Tells everything that a rollout of `nodes` nodes without pods needs to be loaded.
    async fn load(&self, nodes: usize) {
        let revision = RevisionFact {
            name: "agent-r1".into(),
            hash: "r1".into(),
            number: 1,
            owner: Some("ds".into()),
            template: template(),
            ..RevisionFact::default()
        };
        let mut events = vec![
            Event::DaemonSet(Box::new(daemonset())),
            Event::Revision(Box::new(revision)),
            Event::Rights(
                [Right::PatchDaemonSet, Right::DeletePods, Right::CreateLease, Right::UpdateLease]
                    .map(|right| (right, Permission::Allowed))
                    .to_vec(),
            ),
            Event::LeaseGone(None),
        ];
        events.extend((0..nodes).map(|nth| Event::Node(Box::new(node(nth, "a")))));
        for watched in Watched::ALL {
            events.insert(0, Event::Listing(watched));
            events.push(Event::Listed(watched, None));
            events.push(Event::Watch(watched, WatchHealth::Live));
        }
        for event in events {
            self.events.send(event).await.unwrap();
        }
    }

    async fn until(&mut self, is: impl FnMut(&Arc<Snapshot>) -> bool) -> Arc<Snapshot> {
        let waiting = self.rollout.snapshots.wait_for(is);
        tokio::time::timeout(Duration::from_secs(20), waiting).await.expect("in time").expect("it runs").clone()
    }
}

fn node(nth: usize, site: &str) -> NodeFact {
    NodeFact {
        name: format!("n{nth}").into(),
        labels: [("site", site)].into_iter().collect(),
        ready: crate::engine::model::facts::ConditionStatus::True,
        ..NodeFact::default()
    }
}

fn only(outcome: crate::engine::model::effect::Outcome) -> Executed {
    Executed { outcome, events: Vec::new() }
}

/// Answers as a server that carries out every write.
fn obedient(effect: &Effect) -> Executed {
    only(Ok(match effect {
        Effect::DeletePod { .. } => Done::PodDeleted,
        Effect::TryPod { .. } => Done::PodAdmitted,
        Effect::CreateWarmPod { .. } | Effect::DeleteWarmPod { .. } => Done::WarmPodDeleted,
        Effect::ListWarmSets => Done::WarmSets(Vec::new()),
        Effect::CreateWarmSet { .. } | Effect::DeleteWarmSet { .. } => Done::WarmSetDeleted,
        Effect::PatchDaemonSet { patch, .. } => {
            let mut fact = DaemonSetFact { resource_version: "2".into(), ..daemonset() };
            if let DaemonSetPatch::Adopt { original, .. } = patch {
                fact.strategy.kind = StrategyKind::OnDelete;
                fact.annotations =
                    [(crate::engine::model::record::ORIGINAL_STRATEGY, original.as_str())].into_iter().collect();
            }
            Done::DaemonSet(Box::new(fact))
        }
        Effect::WriteLease { resource_version, lease } => {
            let version = resource_version.as_deref().map_or(0, |version| version.parse::<u32>().unwrap()) + 1;
            Done::Lease(Box::new(LeaseFact {
                uid: "lease".into(),
                resource_version: version.to_string().into(),
                holder: lease.holder.clone(),
                duration_secs: lease.duration_secs,
                acquired_at: lease.acquired_at,
                renewed_at: lease.renewed_at,
                transitions: lease.transitions,
                record: Ok(lease.record.clone()),
                prewarm: Ok(None),
                pace: Default::default(),
                failing: None,
            }))
        }
    }))
}

fn broken(effect: &Effect) -> Executed {
    match effect {
        Effect::PatchDaemonSet { .. } => panic!("a fault of ours"),
        other => obedient(other),
    }
}

#[tokio::test]
async fn nothing_is_accepted_before_it_is_loaded() {
    let mut run = run(obedient);
    let refused = run.rollout.command(Command::Adopt).await.unwrap_err();
    assert!(matches!(refused, CommandError::Refused(Refusal::NotLoaded(_))), "{refused:?}");
    let refused = run.rollout.preview(Command::Adopt).await.unwrap_err();
    assert!(matches!(refused, CommandError::Refused(Refusal::NotLoaded(_))), "{refused:?}");
    run.load(2).await;
    let loaded = run.until(|is| is.counts.nodes == 2 && !is.rights.is_empty()).await;
    assert_eq!(loaded.daemonset, Presence::Present);
    assert!(!run.rollout.preview(Command::Adopt).await.unwrap().calls.is_empty());
    assert!(run.executor.requests().is_empty(), "looking on writes nothing");
}

#[tokio::test]
async fn a_command_is_answered_when_it_is_written_and_the_snapshot_shows_it() {
    let mut run = run(obedient);
    run.load(2).await;
    run.until(|is| is.counts.nodes == 2 && is.watch(Watched::Lease) == Some(&WatchHealth::Live)).await;
    run.rollout.command(Command::Adopt).await.unwrap();
    let snapshot = run.rollout.snapshot();
    assert!(snapshot.adopted);
    assert!(matches!(snapshot.driver, DriverView::You { .. }), "{:?}", snapshot.driver);
    assert!(matches!(run.executor.requests()[0], Effect::WriteLease { resource_version: None, .. }));
}

#[tokio::test]
async fn when_the_last_front_end_leaves_the_lease_is_given_back() {
    let mut run = run(obedient);
    run.load(2).await;
    run.until(|is| is.counts.nodes == 2 && is.watch(Watched::Lease) == Some(&WatchHealth::Live)).await;
    run.rollout.command(Command::Adopt).await.unwrap();
    let second_hold = run.rollout.clone();
    drop(run.rollout);
    assert!(second_hold.command(Command::Pause { why: None }).await.is_ok(), "one is enough");
    tokio::time::timeout(Duration::from_secs(5), second_hold.close()).await.expect("it ends");
    let asked = run.executor.requests();
    assert!(matches!(asked.last(), Some(Effect::WriteLease { lease, .. }) if lease.holder.is_none()), "{asked:?}");
    tokio::time::timeout(Duration::from_secs(5), run.events.closed()).await.expect("nobody listens any more");
    tokio::time::timeout(Duration::from_secs(5), async {
        while !*run.feed_ended.lock().unwrap() {
            tokio::task::yield_now().await;
        }
    })
    .await
    .expect("the watches end");
}

#[tokio::test]
async fn a_front_end_that_only_looked_leaves_at_once() {
    let run = run(obedient);
    tokio::time::timeout(Duration::from_secs(2), run.rollout.close()).await.expect("it ends");
    assert!(run.executor.requests().is_empty());
}

#[tokio::test]
async fn a_fault_in_a_write_is_an_outcome_and_is_shown() {
    let mut run = run(broken);
    run.load(2).await;
    run.until(|is| is.counts.nodes == 2 && is.watch(Watched::Lease) == Some(&WatchHealth::Live)).await;
    let asking = run.rollout.clone();
    let asked = tokio::spawn(async move { asking.command(Command::Adopt).await });
    let told = run.until(|is| is.alarms.iter().any(|alarm| matches!(alarm, Alarm::WriteFailing { .. }))).await;
    assert!(told.alarms.iter().any(|alarm| alarm.to_string().contains("a fault in rolldeck")), "{:?}", told.alarms);
    asked.abort();
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_facts_is_shown_a_few_times_and_silence_not_at_all() {
    let mut run = run(obedient);
    run.load(50).await;
    run.until(|is| is.counts.nodes == 50).await;
    let mut shown = 0;
    let flood = async {
        for nth in 0..5_000 {
            let fact = node(nth % 50, &format!("s{nth}"));
            run.events.send(Event::Node(Box::new(fact))).await.unwrap();
            if nth % 100 == 0 {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    };
    tokio::pin!(flood);
    loop {
        tokio::select! {
            biased;
            changed = run.rollout.snapshots.changed() => {
                changed.unwrap();
                shown += 1;
            }
            () = &mut flood => break,
        }
    }
    assert!((2..=15).contains(&shown), "5,000 facts in one second were shown {shown} times");
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(!run.rollout.snapshots.has_changed().unwrap(), "nothing happened, nothing is shown");
}

/// The server's state went back, as after a restore from a backup: what is under way is answered, everything is read again, and nobody drives.
#[tokio::test]
async fn what_was_known_of_a_cluster_that_went_back_is_forgotten() {
    let mut run = run(|effect| match effect {
        // It is still under way then.
        Effect::PatchDaemonSet { .. } => {
            only(Err(EffectError { kind: EffectErrorKind::Unknown, message: "no answer".into(), dry_run: false }))
        }
        effect => obedient(effect),
    });
    run.load(3).await;
    run.until(|snapshot| snapshot.nodes.len() == 3).await;
    let rollout = run.rollout.clone();
    let asked = tokio::spawn(async move { rollout.command(Command::Adopt).await });
    while !run.executor.requests().iter().any(|effect| matches!(effect, Effect::PatchDaemonSet { .. })) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    run.restored.send_modify(|times| *times += 1);
    let said = asked.await.unwrap().unwrap_err().to_string();
    assert!(said.starts_with("the state of the cluster went back to an earlier one"), "{said}");
    let is_told =
        |snapshot: &Arc<Snapshot>| snapshot.alarms.iter().any(|alarm| matches!(alarm, Alarm::StateRestored { .. }));
    let snapshot = run.until(is_told).await;
    assert_eq!((snapshot.nodes.len(), *run.feed_ended.lock().unwrap()), (0, true));
    let writes = run.executor.requests().len();
    run.events = run.anew.lock().unwrap().take().expect("it is attached anew");
    run.load(2).await;
    let snapshot = run.until(|snapshot| snapshot.nodes.len() == 2).await;
    assert!(is_told(&snapshot), "until somebody drives");
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(run.executor.requests().len(), writes, "nothing is written by itself");
}

/// Whoever reads the audit log finds the process by the name that its Lease has: another one, once the state of the cluster went back.
#[tokio::test]
async fn after_the_cluster_went_back_the_audit_log_has_the_new_identity() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("audit.jsonl");
    let log = Log::to(path.clone());
    let mut run = run_audited(obedient, move |identity| {
        let subject = EntrySubject {
            origin: Arc::default(),
            secrets: Secrets::new(Vec::new),
            namespace: "edge".into(),
            name: "agent".into(),
            identity: identity.into(),
            role: Role::Driver,
        };
        AuditSink::to_log(subject, log.clone())
    });
    run.load(3).await;
    run.until(|snapshot| snapshot.nodes.len() == 3).await;
    let undo = || Command::Undo { to: Some(99) };
    run.rollout.command(undo()).await.unwrap_err();
    run.restored.send_modify(|times| *times += 1);
    run.until(|snapshot| snapshot.nodes.is_empty()).await;
    run.events = run.anew.lock().unwrap().take().expect("it is attached anew");
    run.load(2).await;
    run.until(|snapshot| snapshot.nodes.len() == 2).await;
    run.rollout.command(undo()).await.unwrap_err();
    let TestRun { rollout, .. } = run;
    rollout.close().await;
    let text = std::fs::read_to_string(path).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let refused = lines.filter(|line| line["outcome"] == "refused");
    let identities: Vec<_> = refused.map(|line| line["identity"].as_str().unwrap().to_owned()).collect();
    assert_eq!(identities, ["ada@host/1", "ada@host/1.1"]);
}

/// By Events alone it would be known as reported, since anybody may write one.
#[tokio::test]
async fn what_this_process_told_is_on_the_timeline_of_its_next_driver_too() {
    let mut run = run(obedient);
    run.load(3).await;
    run.until(|snapshot| snapshot.nodes.len() == 3).await;
    run.rollout.command(Command::Pause { why: Some("the link is down".to_owned()) }).await.unwrap();
    let told = |snapshot: &Arc<Snapshot>| {
        let is_pause = |event: &&RolloutEvent| event.to_string().contains("the link is down");
        snapshot.timeline.iter().find(is_pause).map(|event| (event.at, event.by.clone()))
    };
    let before = told(&run.until(|snapshot| told(snapshot).is_some()).await);
    assert!(before.as_ref().is_some_and(|(_, by)| by.is_some()));
    run.restored.send_modify(|times| *times += 1);
    run.until(|snapshot| snapshot.nodes.is_empty()).await;
    run.events = run.anew.lock().unwrap().take().expect("it is attached anew");
    run.load(2).await;
    let after = run.until(|snapshot| snapshot.nodes.len() == 2).await;
    assert_eq!(told(&after), before);
}
