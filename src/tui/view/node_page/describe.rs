//! The Pod and the node in words, in the order of `kubectl describe`.

use ratatui::text::Line;

use crate::engine::model::inspection::{
    ConditionInspection, ContainerInspection, ContainerKind, ContainerPhase, EndedRun, NodeInspection, PodInspection,
    Reading,
};
use crate::tui::model::ShownSnapshot;
use crate::tui::node_page::NodePage;
use crate::tui::theme::ThemeRole;
use crate::tui::view::RenderContext;
use crate::tui::words::{fit, width, wrap};

/// The least width of the names of the lines. Their most is a third of the line: `PodReadyToStartContainers` fits into a third of 80 cells.
const NAMES: usize = 16;

struct Description<'a, 'c> {
    ctx: &'a RenderContext<'c>,
    shown: &'a ShownSnapshot,
    cells: usize,
    /// The width of the names of the lines.
    names: usize,
    lines: Vec<Line<'static>>,
}

pub(super) fn lines(
    ctx: &RenderContext<'_>,
    shown: &ShownSnapshot,
    open: &NodePage,
    cells: usize,
) -> Vec<Line<'static>> {
    let names = longest_condition(open).min(cells / 3).max(NAMES);
    let mut to = Description { ctx, shown, cells, names, lines: Vec::new() };
    match (open.inspection.pod.read(), open.no_pod()) {
        (Some(pod), _) => to.pod(pod),
        (None, why) => to.say("Pod", &why.unwrap_or_default(), ThemeRole::Muted),
    }
    to.title("Node");
    match &open.inspection.node {
        Reading::Read(node) => to.node(node),
        Reading::Pending => to.say("", "reading …", ThemeRole::Muted),
        Reading::Absent => to.say("", "the node is not there", ThemeRole::Warn),
        Reading::Failed(why) => to.say("", &format!("cannot be read: {why}"), ThemeRole::Warn),
    }
    to.lines
}

/// The width of the longest name of a condition.
fn longest_condition(open: &NodePage) -> usize {
    let of_pod = open.inspection.pod.read().into_iter().flat_map(|pod| &pod.conditions);
    let of_node = open.inspection.node.read().into_iter().flat_map(|node| &node.conditions);
    of_pod.chain(of_node).map(|condition| width(&condition.kind)).max().unwrap_or(0)
}

impl Description<'_, '_> {
    fn title(&mut self, text: &str) {
        if !self.lines.is_empty() {
            self.lines.push(Line::default());
        }
        self.lines.push(Line::from(self.ctx.span(text.to_owned(), ThemeRole::Column)));
    }

    fn say(&mut self, name: &str, text: &str, role: ThemeRole) {
        let names = self.names;
        let indent = names + 3;
        for (nth, line) in wrap(text, self.cells.saturating_sub(indent).max(20)).enumerate() {
            let name = if nth == 0 { name } else { "" };
            let name = self.ctx.span(format!("  {:names$} ", fit(name, names)), ThemeRole::Muted);
            self.lines.push(Line::from(vec![name, self.ctx.span(line, role)]));
        }
    }

    fn pod(&mut self, pod: &PodInspection) {
        self.title(&format!("Pod {}", pod.name));
        let bad = matches!(&*pod.phase, "Failed" | "Unknown");
        self.say("Phase", &pod.phase, if bad { ThemeRole::Bad } else { ThemeRole::Text });
        if let Some(verdict) = &pod.verdict {
            self.say("", verdict, ThemeRole::Bad);
        }
        let fields = [
            ("IP", &pod.ip),
            ("QoS class", &pod.qos_class),
            ("Account", &pod.service_account),
            ("Priority", &pod.priority_class),
        ];
        for (name, value) in fields {
            if let Some(value) = value {
                self.say(name, value, ThemeRole::Text);
            }
        }
        for container in &pod.containers {
            self.container(container);
        }
        self.title("Pod conditions");
        self.conditions(&pod.conditions);
    }

    fn container(&mut self, container: &ContainerInspection) {
        let kind = match container.kind {
            ContainerKind::Init => "Init container",
            ContainerKind::Sidecar => "Sidecar container",
            ContainerKind::Main => "Container",
            ContainerKind::Ephemeral => "Ephemeral container",
        };
        self.title(&format!("{kind} {}", container.name));
        self.say("Image", &container.image, ThemeRole::Text);
        if let Some(id) = &container.image_id {
            self.say("Image ID", id, ThemeRole::Muted);
        }
        match &container.state {
            Some(ContainerPhase::Waiting { reason, message }) => {
                let role = if container.has_failed() { ThemeRole::Bad } else { ThemeRole::Text };
                self.say("State", &format!("waiting: {reason}"), role);
                if let Some(message) = message {
                    self.say("", message, ThemeRole::Text);
                }
            }
            Some(ContainerPhase::Running { since }) => {
                let since = since.map(|since| format!(", started {} ago", self.ctx.age(self.shown, since)));
                self.say("State", &format!("running{}", since.unwrap_or_default()), ThemeRole::Text);
            }
            Some(ContainerPhase::Ended(run)) => self.run("State", run),
            None => self.say("State", "not known: its kubelet has not said", ThemeRole::Muted),
        }
        if let Some(last) = &container.last {
            self.run("Last state", last);
        }
        if container.kind != ContainerKind::Init {
            let (word, role) = if container.ready { ("yes", ThemeRole::Text) } else { ("no", ThemeRole::Warn) };
            self.say("Ready", word, role);
        }
        if container.restarts > 0 {
            self.say("Restarts", &container.restarts.to_string(), ThemeRole::Warn);
        }
    }

    fn run(&mut self, name: &str, run: &EndedRun) {
        let ago = run.finished_at.map(|at| format!(", {} ago", self.ctx.age(self.shown, at))).unwrap_or_default();
        let role = if run.exit_code == 0 { ThemeRole::Text } else { ThemeRole::Bad };
        self.say(name, &format!("ended: {run}{ago}"), role);
        if let (Some(from), Some(to)) = (run.started_at, run.finished_at) {
            self.say("", &format!("from {from} to {to}"), ThemeRole::Muted);
        }
        for line in run.message.iter().flat_map(|message| message.lines()) {
            self.say("", line, ThemeRole::Bad);
        }
    }

    fn conditions(&mut self, conditions: &[ConditionInspection]) {
        if conditions.is_empty() {
            self.say("", "none", ThemeRole::Muted);
        }
        for condition in conditions {
            let role = if condition.is_good() { ThemeRole::Text } else { ThemeRole::Warn };
            let since = condition.since.map(|since| format!(" for {}", self.ctx.age(self.shown, since)));
            let reason = condition.reason.as_ref().map(|reason| format!("  {reason}")).unwrap_or_default();
            let text = format!("{:7}{}{reason}", condition.status, since.unwrap_or_default());
            self.say(&condition.kind, &text, role);
            // A good condition needs no message.
            if let Some(message) = condition.message.as_ref().filter(|_| !condition.is_good()) {
                self.say("", message, ThemeRole::Text);
            }
        }
    }

    fn node(&mut self, node: &NodeInspection) {
        if node.cordoned {
            self.say("Cordoned", "yes: no new pods but those of DaemonSets", ThemeRole::Warn);
        }
        self.conditions(&node.conditions);
        for taint in &node.taints {
            self.say("Taint", taint, ThemeRole::Warn);
        }
        for (kind, address) in &node.addresses {
            self.say(kind, address, ThemeRole::Text);
        }
        if !node.system.is_empty() {
            self.say("System", &node.system.join(", "), ThemeRole::Text);
        }
        let amounts: Vec<String> = node.allocatable.iter().map(|(name, amount)| format!("{name} {amount}")).collect();
        if !amounts.is_empty() {
            self.say("Allocatable", &amounts.join(", "), ThemeRole::Text);
        }
    }
}
