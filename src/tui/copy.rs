//! The texts that can be copied for the selected row: its name, its description, commands that look at it.

use super::daemonset_ref::DaemonSetRef;
use super::model::{Model, Page, RolloutPage, RolloutScreen};
use crate::engine::model::Str;
use crate::engine::model::container_log::{LogRun, LogSource};
use crate::engine::model::shell::{shell_flag, shell_word};
use crate::engine::report::snapshot::words::Why;
use crate::engine::report::snapshot::{NodeView, Snapshot};

/// Said instead of a command of kubectl on a practice cluster: its server is known to this console only, and ends with it.
pub(in crate::tui) const NO_KUBECTL: &str =
    "kubectl cannot reach this practice cluster; `rolldeck demo --serve` serves one";

/// Something to copy, under the name by which it is chosen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Copyable {
    pub(crate) name: &'static str,
    pub(crate) text: String,
}

fn copyable(name: &'static str, text: impl Into<String>) -> Option<Copyable> {
    let text = text.into();
    (!text.is_empty()).then_some(Copyable { name, text })
}

/// The texts that can be copied here; the name of the selected row comes first.
pub(crate) fn copyables(model: &Model) -> Vec<Copyable> {
    let found = match &model.page {
        Page::Fleet => model.fleet.as_ref().and_then(|page| {
            let at = page.list.current(page.rows.len())?;
            let row = page.fleet.rows.get(*page.rows.get(at)?)?;
            let describe = kubectl(model, &row.namespace, "describe daemonset", &row.name);
            Some(vec![
                copyable("name", &*row.name),
                copyable("why", row.standing()),
                copyable("namespace", &*row.namespace),
                describe.and_then(|command| copyable("describe", command)),
            ])
        }),
        Page::Rollout(_) => model.rollout().and_then(|page| of_rollout(model, page)),
    };
    found.unwrap_or_default().into_iter().flatten().collect()
}

fn of_rollout(model: &Model, page: &RolloutPage) -> Option<Vec<Option<Copyable>>> {
    let snapshot = page.snapshot()?;
    if let Some(open) = &page.node_page {
        let node = page.shown_nodes().iter().find(|node| node.name == open.node)?;
        return Some(of_node(model, snapshot, node, open.container().map(|container| container.name.clone())));
    }
    Some(match &page.screen {
        RolloutScreen::Timeline(timeline) => {
            let entry = timeline.selected()?;
            vec![copyable("name", &*entry.subject()), copyable("why", entry.to_string())]
        }
        RolloutScreen::Revisions(revisions) => {
            let revision = revisions.in_sight()?;
            let images: Vec<&str> = revision.images.iter().map(|(_, image)| &**image).collect();
            let cause = revision.change_cause.as_deref().unwrap_or_default();
            vec![copyable("name", &*revision.hash), copyable("why", cause), copyable("image", images.join(" "))]
        }
        RolloutScreen::Nodes | RolloutScreen::Prewarm(_) => {
            let marked: Vec<&str> = page.marked.iter().map(|name| &**name).collect();
            let mut found = page.current().map(|node| of_node(model, snapshot, node, None)).unwrap_or_default();
            found.push(copyable("marked", marked.join(" ")));
            found
        }
    })
}

fn of_node(model: &Model, snapshot: &Snapshot, node: &NodeView, container: Option<Str>) -> Vec<Option<Copyable>> {
    let namespace = &snapshot.namespace;
    // The container that the trouble is about, or else the first of the template.
    let cause = node.cause.as_ref();
    let of_template = || Some(snapshot.to.as_ref()?.images.first()?.0.clone());
    let container = container.or_else(|| cause.and_then(|cause| cause.container.clone())).or_else(of_template);
    let log = |run| {
        let source =
            LogSource { namespace: namespace.clone(), pod: node.pod.clone()?, container: container.clone()?, run };
        source.kubectl(model.shell_flags()?)
    };
    let pod = |what: &str| kubectl(model, namespace, what, node.pod.as_deref()?);
    let said = cause.and_then(|cause| cause.message.clone());
    let command = |name, command: Option<String>| command.and_then(|command| copyable(name, command));
    vec![
        copyable("name", &*node.name),
        copyable("why", Why { node, at: snapshot.at }.to_string()),
        copyable("message", said.as_deref().unwrap_or_default()),
        copyable("pod", node.pod.as_deref().unwrap_or_default()),
        command("logs", log(LogRun::Current)),
        command("previous", log(LogRun::Previous)),
        command("describe", pod("describe pod")),
        command("yaml", pod("get -o yaml pod")),
        command("describe-node", kubectl_cluster(model, "describe node", &node.name)),
    ]
}

/// `rolldeck WHAT --context prod -n NAMESPACE ds/NAME`, as a shell in another place takes it; without the DaemonSet if that cannot be quoted safely.
pub(in crate::tui) fn rolldeck(model: &Model, what: &str, target: &DaemonSetRef) -> String {
    let whole = || {
        let (flags, namespace) = (model.shell_flags()?, shell_flag("-n", &target.namespace)?);
        let gap = if flags.is_empty() { "" } else { " " };
        Some(format!("rolldeck {what} {flags}{gap}{namespace} {}", shell_word(&format!("ds/{}", target.name))?))
    };
    whole().unwrap_or_else(|| format!("rolldeck {what}"))
}

/// `kubectl … -n NAMESPACE what NAME`; `None` if it cannot be pasted safely.
fn kubectl(model: &Model, namespace: &str, what: &str, name: &str) -> Option<String> {
    let namespace = shell_flag("-n", namespace)?;
    kubectl_cluster(model, &format!("{namespace} {what}"), name)
}

/// `kubectl … what NAME`, with the flags that lead to this cluster.
fn kubectl_cluster(model: &Model, what: &str, name: &str) -> Option<String> {
    let flags = model.shell_flags()?;
    let gap = if flags.is_empty() { "" } else { " " };
    Some(format!("kubectl {flags}{gap}{what} {}", shell_word(name)?))
}
