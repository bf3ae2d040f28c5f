//! The page of one node: its open tab, the data read of the node, the search.

use std::sync::Arc;

use super::log_pane::LogPane;
use crate::engine::model::Str;
use crate::engine::model::container_log::{LogRun, LogSource};
use crate::engine::model::inspection::{ContainerInspection, Inspection, Reading};

/// The tabs, in their order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum NodeTab {
    /// The reason for the node's state, and the events on it.
    #[default]
    Why,
    /// The log of a container.
    Log,
    /// The log of the container's previous run.
    Previous,
    /// The Events on the pod.
    Events,
    /// The pod and the node in words.
    Describe,
    /// The Pod as YAML, as the API server returns it.
    Yaml,
}

impl NodeTab {
    /// All tabs, each with the word that names it.
    pub(crate) const ALL: [(Self, &'static str); 6] = [
        (Self::Why, "why"),
        (Self::Log, "log"),
        (Self::Previous, "previous"),
        (Self::Events, "events"),
        (Self::Describe, "describe"),
        (Self::Yaml, "yaml"),
    ];

    fn place(self) -> usize {
        Self::ALL.iter().position(|(tab, _)| *tab == self).unwrap_or_default()
    }

    /// The tab after this one; with `false` the one before.
    pub(crate) fn next(self, forward: bool) -> Self {
        let len = Self::ALL.len();
        Self::ALL[(self.place() + if forward { 1 } else { len - 1 }) % len].0
    }

    /// The run of a container whose log this tab shows, if it shows one.
    pub(crate) fn run(self) -> Option<LogRun> {
        match self {
            Self::Log => Some(LogRun::Current),
            Self::Previous => Some(LogRun::Previous),
            Self::Why | Self::Events | Self::Describe | Self::Yaml => None,
        }
    }
}

/// A node that is read for the diagnosis of a rollout, while the diagnosis is shown.
#[derive(Debug)]
pub(crate) struct NodeReading {
    pub(crate) node: Str,
    /// The number under which the node is read.
    pub(crate) serial: u64,
    pub(crate) inspection: Arc<Inspection>,
}

/// The page of one node, while it is shown in place of the nodes.
#[derive(Debug)]
pub(crate) struct NodePage {
    pub(crate) node: Str,
    /// The Pod that is read, if the node had one at the time of the request.
    pub(crate) pod: Option<Str>,
    pub(crate) tab: NodeTab,
    /// The first visible line of each tab; logs keep their own place.
    tops: [usize; NodeTab::ALL.len()],
    /// The number under which the node is read.
    pub(crate) serial: u64,
    pub(crate) inspection: Arc<Inspection>,
    pub(crate) log: Option<LogPane>,
    /// The container chosen by the user, whose log is shown.
    chosen: Option<Str>,
    /// Whether long lines are wrapped instead of cut.
    pub(crate) wraps: bool,
    /// Whether a log shows the time of each line.
    pub(crate) timestamps: bool,
    /// The searched text; empty if there is no search.
    pub(crate) search: String,
    /// The pod as YAML, line by line.
    yaml: Vec<String>,
}

impl NodePage {
    pub(crate) fn new(node: Str, pod: Option<Str>, tab: NodeTab, serial: u64) -> Self {
        Self {
            node,
            pod,
            tab,
            tops: Default::default(),
            serial,
            inspection: Arc::default(),
            log: None,
            chosen: None,
            wraps: true,
            timestamps: false,
            search: String::new(),
            yaml: Vec::new(),
        }
    }

    /// Takes in what was read.
    pub(crate) fn see(&mut self, inspection: Arc<Inspection>) {
        let raw = |inspection: &Inspection| inspection.pod.read().map(|pod| pod.raw.clone());
        let (known, new) = (raw(&self.inspection), raw(&inspection));
        if known != new {
            self.yaml = new.map(|raw| yaml(&raw)).unwrap_or_default();
        }
        self.inspection = inspection;
    }

    /// Begins anew with another Pod, which is read under this number.
    pub(crate) fn turn_to(&mut self, pod: Option<Str>, serial: u64) {
        (self.pod, self.serial, self.chosen) = (pod, serial, None);
        self.see(Arc::default());
    }

    /// The container whose log is shown: the chosen one, or else the one that tells most.
    pub(crate) fn container(&self) -> Option<&ContainerInspection> {
        let pod = self.inspection.pod.read()?;
        let chosen = self.chosen.as_ref();
        let kept = || self.log.as_ref().map(|log| &log.source).filter(|source| source.pod == pod.name);
        let named = |name: &Str| pod.containers.iter().find(|one| one.name == *name);
        // The log on screen stays with the same container, although another one may fail meanwhile.
        chosen.and_then(named).or_else(|| named(&kept()?.container)).or_else(|| pod.telling_container())
    }

    /// Chooses the container after the present one. Returns its name, if there is another one.
    pub(crate) fn next_container(&mut self) -> Option<Str> {
        let at = self.container()?.name.clone();
        let containers = &self.inspection.pod.read()?.containers;
        let place = containers.iter().position(|one| one.name == at)?;
        let next = containers[(place + 1) % containers.len()].name.clone();
        self.chosen = Some(next.clone());
        (next != at).then_some(next)
    }

    /// The log that the open tab has to show; `None` while the containers are unknown, or on another tab.
    pub(crate) fn wanted_log(&self, namespace: &Str) -> Option<LogSource> {
        let run = self.tab.run()?;
        let pod = self.inspection.pod.read()?.name.clone();
        Some(LogSource { namespace: namespace.clone(), pod, container: self.container()?.name.clone(), run })
    }

    /// The lines of the YAML tab; empty while the pod was not read.
    pub(crate) fn yaml(&self) -> &[String] {
        &self.yaml
    }

    pub(crate) fn top(&self) -> usize {
        self.tops[self.tab.place()]
    }

    pub(crate) fn set_top(&mut self, top: usize) {
        self.tops[self.tab.place()] = top;
    }

    /// The reason why nothing of the Pod is shown, if so.
    pub(crate) fn no_pod(&self) -> Option<String> {
        match &self.inspection.pod {
            Reading::Read(_) => None,
            Reading::Pending => Some("reading …".to_owned()),
            Reading::Absent if self.pod.is_none() => Some("the node has no pod".to_owned()),
            Reading::Absent => Some("the pod is gone".to_owned()),
            Reading::Failed(why) => Some(format!("the pod cannot be read: {why}")),
        }
    }
}

/// An object as YAML. Objects of an API server are trees of plain values, so this does not fail.
fn yaml(object: &serde_json::Value) -> Vec<String> {
    let text = serde_saphyr::to_string(object).unwrap_or_else(|error| format!("cannot be written as YAML: {error}"));
    text.lines().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::engine::model::inspection::PodInspection;

    fn pod(names: &[&str]) -> Arc<Inspection> {
        let container = |name: &&str| ContainerInspection { name: (*name).into(), ..ContainerInspection::default() };
        let containers = names.iter().map(container).collect();
        let raw = Arc::new(json!({"kind": "Pod", "metadata": {"name": "x"}, "note": "a: b"}));
        let pod = PodInspection { name: "x".into(), containers, raw, ..PodInspection::default() };
        Arc::new(Inspection { pod: Reading::Read(pod), ..Inspection::default() })
    }

    #[test]
    fn tabs_go_round() {
        assert_eq!((NodeTab::Why.next(false), NodeTab::Yaml.next(true)), (NodeTab::Yaml, NodeTab::Why));
    }

    #[test]
    fn containers_go_round_and_a_chosen_one_stays() {
        let mut page = NodePage::new("n".into(), Some("x".into()), NodeTab::Log, 1);
        assert_eq!((page.wanted_log(&"edge".into()), page.next_container()), (None, None));
        page.see(pod(&["agent", "proxy"]));
        assert_eq!(&*page.wanted_log(&"edge".into()).unwrap().container, "agent");
        assert_eq!(page.next_container().as_deref(), Some("proxy"));
        page.see(pod(&["agent", "proxy"]));
        assert_eq!(page.container().map(|one| &*one.name), Some("proxy"));
        assert_eq!(page.next_container().as_deref(), Some("agent"));
        page.see(pod(&["only"]));
        assert_eq!(page.next_container(), None);
        page.tab = NodeTab::Events;
        assert_eq!(page.wanted_log(&"edge".into()), None);
    }

    #[test]
    fn the_pod_is_shown_as_yaml() {
        let mut page = NodePage::new("n".into(), Some("x".into()), NodeTab::Yaml, 1);
        page.see(pod(&["agent"]));
        let lines: Vec<&str> = page.yaml().iter().map(String::as_str).collect();
        assert!(lines.contains(&"kind: Pod") && lines.contains(&"  name: x"), "{lines:?}");
        assert!(lines.iter().any(|line| line.starts_with("note: ") && line.contains("a: b") && line.len() > 10));
    }
}
