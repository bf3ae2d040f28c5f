//! Hints for a missing DaemonSet: another namespace with this name, or a similar name.
//!
//! ```text
//! Error: there is no DaemonSet `agent` in namespace `default`
//! Hint: there is one in namespace `factory`: `-n factory`
//! ```

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::error::CliError;
use crate::config::nearest;
use crate::driver::{Fleet, Session};
use crate::engine::model::event::WatchHealth;
use crate::engine::model::shell::shell_flag;

/// How long the search may take.
const LOOK: Duration = Duration::from_secs(2);
/// How many namespaces are named.
const NAMED: usize = 3;

/// The same error with the place or the probable name of the DaemonSet. Nothing is added if the list of DaemonSets may not
/// be read or does not arrive in time.
pub(crate) async fn hinted(session: &dyn Session, namespace: &str, name: &str, error: CliError) -> CliError {
    let look = async {
        match listed(session, None).await {
            Some(fleet) => Some(fleet),
            None => listed(session, Some(namespace)).await,
        }
    };
    let fleet = tokio::time::timeout(LOOK, look).await.ok().flatten();
    match fleet.and_then(|fleet| hint(&fleet, namespace, name)) {
        Some(hint) => error.hinted_first(hint),
        None => error,
    }
}

/// Where there are DaemonSets, if `empty`, a namespace, has none: ``did you mean `factory`?``, or the namespaces that have some. `None` if that cannot
/// be seen in time, or no namespace has one.
pub(crate) async fn namespaces(session: &dyn Session, empty: &str) -> Option<String> {
    let fleet = tokio::time::timeout(LOOK, listed(session, None)).await.ok().flatten()?;
    let names: BTreeSet<&str> = fleet.rows.iter().map(|row| &*row.namespace).collect();
    if let Some(near) = nearest(empty, names.iter().copied()) {
        return Some(format!("did you mean `{near}`?"));
    }
    let named: Vec<&str> = names.iter().copied().take(NAMED).collect();
    let more = names.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!named.is_empty()).then(|| format!("there are some in {}{more}", named.join(", ")))
}

/// All DaemonSets of one namespace or of all; `None` if they may not be listed.
pub(crate) async fn listed(session: &dyn Session, namespace: Option<&str>) -> Option<Arc<Fleet>> {
    let mut fleet = session.fleet(namespace);
    loop {
        let now = fleet.borrow_and_update().clone();
        match &now.health {
            WatchHealth::Live => return Some(now),
            WatchHealth::Forbidden { .. } => return None,
            WatchHealth::Loading | WatchHealth::Down { .. } | WatchHealth::Lagging { .. } => {}
        }
        fleet.changed().await.ok()?;
    }
}

fn hint(fleet: &Fleet, namespace: &str, name: &str) -> Option<String> {
    let elsewhere = fleet.rows.iter().filter(|row| &*row.name == name && &*row.namespace != namespace);
    let there: Vec<&str> = elsewhere.map(|row| &*row.namespace).collect();
    // A namespace that cannot be quoted for a shell is named without a flag.
    let flag = |namespace: &str| shell_flag("-n", namespace).map_or_else(String::new, |flag| format!(": `{flag}`"));
    match *there {
        [] => {}
        [one] => return Some(format!("there is one in namespace `{one}`{}", flag(one))),
        [first, ..] => {
            let named: Vec<String> = there.iter().take(NAMED).map(|namespace| format!("`{namespace}`")).collect();
            let more = there.len().saturating_sub(NAMED);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            return Some(format!("there are some in namespaces {}{more}{}", named.join(", "), flag(first)));
        }
    }
    let names = |here: bool| {
        // The name itself is in the list if the DaemonSet was created meanwhile.
        let rows = fleet.rows.iter().filter(move |row| (&*row.namespace == namespace) == here && &*row.name != name);
        rows.map(|row| &*row.name).collect::<Vec<_>>()
    };
    if let Some(near) = nearest(name, names(true)) {
        return Some(format!("did you mean `ds/{near}`?"));
    }
    let near = nearest(name, names(false))?;
    let row = fleet.rows.iter().find(|row| &*row.name == near)?;
    Some(format!("did you mean `ds/{near}` in namespace `{}`{}", row.namespace, flag(&row.namespace)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::{DrivenBy, FleetRevision, FleetRow};
    use crate::engine::model::facts::DaemonSetCounters;
    use crate::engine::model::fleet_state::FleetState;

    fn fleet(rows: &[(&str, &str)]) -> Fleet {
        let row = |(namespace, name): &(&str, &str)| FleetRow {
            namespace: (*namespace).into(),
            name: (*name).into(),
            counters: DaemonSetCounters::default(),
            strategy: "RollingUpdate 1".to_owned(),
            state: FleetState::UpToDate,
            since: None,
            to: FleetRevision::default(),
            from: None,
            more_revisions: 0,
            template_of_others: false,
            goes_back: false,
            pulls: None,
            prewarm: None,
            driven_by: DrivenBy::Controller,
            silent_since: None,
            prewarmed_by: None,
            failing: None,
            last_failing: None,
        };
        Fleet { rows: rows.iter().map(row).collect(), ..Fleet::default() }
    }

    #[test]
    fn it_is_said_where_it_is_or_what_it_is_called() {
        let rows =
            [("a", "agent"), ("a", "shipper"), ("b", "agent"), ("c", "agent"), ("d", "agent"), ("e", "exporter")];
        let fleet = fleet(&rows);
        let said = |namespace: &str, name: &str| hint(&fleet, namespace, name);
        assert_eq!(said("b", "shipper").as_deref(), Some("there is one in namespace `a`: `-n a`"));
        assert_eq!(
            said("default", "agent").as_deref(),
            Some("there are some in namespaces `a`, `b`, `c` and 1 more: `-n a`")
        );
        assert_eq!(said("a", "agnet").as_deref(), Some("did you mean `ds/agent`?"));
        assert_eq!(said("a", "exportre").as_deref(), Some("did you mean `ds/exporter` in namespace `e`: `-n e`"));
        assert_eq!(said("a", "nothing-like-it"), None);
    }
}
