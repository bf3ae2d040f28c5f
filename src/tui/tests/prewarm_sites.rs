//! The figures of sites, where the record names only some of the nodes that failed.

use super::console::TestConsole;
use super::prewarm::warm;

#[test]
fn what_waits_in_a_site_may_have_failed_where_the_record_does_not_name_it() {
    let mut snapshot = warm();
    let view = snapshot.prewarm.as_mut().unwrap();
    (view.counts.failed, view.counts.waiting) = (view.counts.failed + 15, view.counts.waiting - 15);
    view.failed_elsewhere = 15;
    let waiting: Vec<u32> = view.sites.iter().map(|site| site.counts.waiting).collect();
    let (waits, failed) = (view.counts.waiting, view.counts.failed);
    let screen = TestConsole::on(snapshot.clone(), 120, 40).typed("W").screen();
    let said = "15 of the failed nodes are not recorded by name: what waits in a site may be among them";
    assert!(screen.contains(said), "{screen}");
    for waiting in waiting {
        assert!(screen.contains(&format!(" ≤{waiting} ")), "{screen}");
    }
    let all = screen.lines().find(|line| line.starts_with("   all ")).unwrap();
    assert!(all.contains(&format!(" {waits} ")) && all.contains(&format!(" {failed} ")), "the whole is known: {all}");
    assert!(!TestConsole::on(warm(), 120, 40).typed("W").screen().contains('≤'));
    // Of one site it is known, too.
    let view = snapshot.prewarm.as_mut().unwrap();
    view.sites.truncate(1);
    view.sites[0].counts = view.counts;
    assert!(!TestConsole::on(snapshot, 120, 40).typed("W").screen().contains('≤'));
}
