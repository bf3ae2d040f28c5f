//! The judgement by itself: what decides when several things are true at once.

use super::*;

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);
const GRACE: Duration = Duration::from_secs(300);

fn ago(secs: u64) -> Timestamp {
    NOW - Duration::from_secs(secs)
}

/// `updated` updated nodes and `others` others of one site, all well.
fn site(updated: usize, others: usize) -> Vec<NodeHealth> {
    let node = |node| NodeHealth {
        node,
        site: "hall".into(),
        updated: node < updated,
        updated_at: (node < updated).then(|| ago(3_600)),
        suspect: false,
        down: false,
        has_left: false,
        fell_at: None,
        back_at: None,
        falls: 0,
        flaps: false,
        in_update: false,
        acknowledged_failures: false,
    };
    (0..updated + others).map(node).collect()
}

fn falls(node: &mut NodeHealth, secs_ago: u64) {
    (node.down, node.suspect, node.fell_at, node.back_at) = (true, node.updated, Some(ago(secs_ago)), None);
    node.falls += u32::from(node.updated);
}

fn comes_back(node: &mut NodeHealth, secs_ago: u64) {
    (node.down, node.suspect, node.back_at) = (false, false, Some(ago(secs_ago)));
}

fn judged(nodes: &[NodeHealth]) -> Judgement {
    let question = JudgementInput {
        now: NOW,
        grace: GRACE,
        compared_since: ago(86_400),
        looked_since: ago(86_400),
        others_before: &|_| 0,
    };
    judge(nodes, &question)
}

#[test]
fn it_waits_until_the_grace_is_over_and_says_until_when() {
    let mut nodes = site(6, 24);
    falls(&mut nodes[0], 100);
    let judgement = judged(&nodes);
    assert_eq!(judgement.verdicts[&0], SuspectView::Waits { until: NOW + Duration::from_secs(200) });
    assert_eq!(judgement.changes_at, Some(NOW + Duration::from_secs(200)));
    assert_eq!(
        judgement.comparisons[0].to_string(),
        "1 of 6 nodes went down after their update, 0 of 24 before it, in 10m (hall)"
    );
    falls(&mut nodes[1], 300);
    assert_eq!(judged(&nodes).verdicts[&1], SuspectView::Stays);
}

#[test]
fn what_the_comparison_says_goes_before_the_outage() {
    let mut nodes = site(6, 114);
    nodes[0..4].iter_mut().for_each(|node| falls(node, 60));
    falls(&mut nodes[50], 60);
    let judgement = judged(&nodes);
    assert!((0..4).all(|node| judgement.verdicts[&node] == SuspectView::Compared), "{judgement:?}");
    // Where as many of the others fell, it is an outage.
    nodes[50..120].iter_mut().for_each(|node| falls(node, 60));
    let judgement = judged(&nodes);
    assert!((0..4).all(|node| judgement.verdicts[&node] == SuspectView::Outage), "{judgement:?}");
    assert_eq!(judgement.outages, [SiteOutage { site: "hall".into(), down: 74, nodes: 120 }]);
}

#[test]
fn the_first_of_many_are_not_compared_before_the_many_had_time() {
    let mut nodes = site(6, 24);
    nodes[0..3].iter_mut().for_each(|node| falls(node, 29));
    assert!(judged(&nodes).verdicts.values().all(|verdict| matches!(verdict, SuspectView::Waits { .. })));
    nodes[0..3].iter_mut().for_each(|node| node.fell_at = Some(ago(30)));
    assert!(judged(&nodes).verdicts.values().all(|verdict| *verdict == SuspectView::Compared));
}

#[test]
fn others_of_another_time_or_another_site_are_no_companions() {
    let mut nodes = site(6, 24);
    falls(&mut nodes[0], 400);
    falls(&mut nodes[10], 250);
    assert_eq!(judged(&nodes).verdicts[&0], SuspectView::Stays);
    nodes[10].fell_at = Some(ago(290));
    assert_eq!(judged(&nodes).verdicts[&0], SuspectView::Outage);
    nodes[10].site = "yard".into();
    assert_eq!(judged(&nodes).verdicts[&0], SuspectView::Stays);
    // An updated one is none either: it may be down for the same reason.
    falls(&mut nodes[1], 400);
    assert_eq!(judged(&nodes).verdicts[&0], SuspectView::Stays);
}

#[test]
fn the_grace_begins_when_the_last_of_the_others_is_back() {
    let mut nodes = site(6, 24);
    falls(&mut nodes[0], 1_000);
    falls(&mut nodes[10], 1_000);
    comes_back(&mut nodes[10], 60);
    assert_eq!(judged(&nodes).verdicts[&0], SuspectView::Waits { until: NOW + Duration::from_secs(240) });
}

#[test]
fn one_that_was_updated_after_it_had_been_down_went_down_as_an_old_one() {
    let mut nodes = site(6, 24);
    falls(&mut nodes[0], 200);
    comes_back(&mut nodes[0], 150);
    nodes[0].falls = 0;
    nodes[0].updated_at = Some(ago(100));
    falls(&mut nodes[1], 90);
    let judgement = judged(&nodes);
    assert_eq!(
        judgement.comparisons[0].to_string(),
        "1 of 5 nodes went down after their update, 1 of 25 before it, in 10m (hall)"
    );
}

#[test]
fn who_was_down_all_the_time_is_not_compared() {
    let mut nodes = site(6, 24);
    falls(&mut nodes[0], 60);
    (nodes[20].down, nodes[20].fell_at) = (true, Some(ago(7_200)));
    (nodes[21].down, nodes[21].fell_at) = (true, None);
    assert_eq!(judged(&nodes).comparisons[0].others, 22);
}

/// A short outage of the API server: some nodes of all sites are found silent in the same moment. The site that has been updated as a whole has no other node
/// that would tell so.
#[test]
fn who_goes_down_with_nodes_all_over_the_fleet_is_not_blamed() {
    let elsewhere = |name: &str, first: usize| {
        let mut nodes = site(0, 4);
        for (nth, node) in nodes.iter_mut().enumerate() {
            (node.site, node.node) = (name.into(), first + nth);
        }
        nodes
    };
    let mut fleet: Vec<NodeHealth> =
        site(3, 0).into_iter().chain(elsewhere("b", 10)).chain(elsewhere("c", 20)).collect();
    let at = |fleet: &mut Vec<NodeHealth>, which: &[usize], secs: u64| {
        which.iter().for_each(|nth| falls(&mut fleet[*nth], secs));
    };
    at(&mut fleet, &[0, 1, 2], 400);
    let failed = |fleet: &[NodeHealth]| judged(fleet).verdicts.values().filter(|verdict| verdict.has_failed()).count();
    assert_eq!(failed(&fleet), 3, "a site of its own: it was the update");
    at(&mut fleet, &[3, 4], 395);
    assert_eq!(failed(&fleet), 3, "one site more is not all of two");
    at(&mut fleet, &[7], 405);
    assert_eq!(failed(&fleet), 0, "others are still down: they are waited for");
    assert!(judged(&fleet).verdicts.values().all(|verdict| *verdict == SuspectView::AllOver));
    assert!(judged(&fleet).outages.is_empty(), "nobody says that it is its site");
    for nth in [3, 4, 7] {
        comes_back(&mut fleet[nth], 380);
    }
    assert_eq!(failed(&fleet), 3, "the others are back, and these are not");
    for node in &mut fleet[..3] {
        comes_back(node, 370);
        (node.suspect, node.falls) = (false, 2);
    }
    assert_eq!(failed(&fleet), 0, "neither compared, nor taken for down again and again");
    at(&mut fleet, &[3, 4, 7], 300);
    assert!(failed(&fleet) > 0, "at another moment");
}
