//! Who replaces pods and who pre-warms, where these are two: the list says what the rollout's page says.

use super::*;
use crate::driver::fleet::tests::prewarm_of;

/// Its own controller replaces the pods of a DaemonSet of which somebody only holds the lease to pre-warm it.
#[test]
fn who_only_pre_warms_is_not_listed_as_replacing_pods() {
    let fake = FakeCluster::rolling(3, 1);
    let lease = |strategy: StrategyKind, holder: &str| {
        let fact = LeaseFact {
            uid: "lease".into(),
            resource_version: "1".into(),
            holder: Some(holder.into()),
            duration_secs: 15,
            acquired_at: None,
            renewed_at: Some(fake.now),
            transitions: 0,
            record: Ok(None),
            prewarm: Ok(Some(prewarm_of(&fake.daemonset.uid))),
            pace: Arc::default(),
            failing: None,
        };
        let mut list =
            KnownFleet { leases_sight: Sight::live(), revisions_sight: Sight::live(), ..KnownFleet::default() };
        let daemonset = PartialDaemonSet { strategy, ..daemonset_of(&fake) };
        let key = (daemonset.namespace.clone(), Str::from(lease_name(&daemonset.name)));
        list.daemonsets.insert((daemonset.namespace.clone(), daemonset.name.clone()), daemonset);
        list.lease(key, fact, fake.now);
        let row = row_of(&list, fake.now);
        (row.driven_by.to_string(), row.prewarmed_by.clone().map(|by| by.to_string()), row.standing())
    };
    let says = |driver: &str, warms: Option<&str>, standing: &str| {
        (driver.to_owned(), warms.map(str::to_owned), standing.to_owned())
    };
    let native = StrategyKind::RollingUpdate;
    assert_eq!(lease(native, "eve@host/1"), says("controller", Some("you"), "pre-warm by you, idle"));
    assert_eq!(lease(native, "ada@host/2"), says("controller", Some("ada@host/2"), "pre-warm by ada@host, idle"));
    assert_eq!(lease(StrategyKind::OnDelete, "eve@host/1"), says("you", None, "pre-warm, idle"));
}
