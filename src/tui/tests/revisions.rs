//! The revisions: the list, what differs, templates, and what the dialogs say of them.

use std::time::Duration;

use insta::assert_snapshot;
use ratatui::buffer::Cell;
use serde_json::json;

use super::console::TestConsole;
use super::events::rollout_event;
use super::fixtures;
use crate::engine::model::command::{Command, Preview};
use crate::engine::model::danger::Danger;
use crate::engine::model::record::Direction;
use crate::engine::model::roll_back::NoRollBack;
use crate::engine::model::rollout_event::{EventOutcome, RevisionHalt, RolloutEvent, RolloutEventKind};
use crate::engine::model::template::Template;
use crate::engine::model::template::diff::changes;
use crate::engine::report::snapshot::{RevisionView, Snapshot};
use crate::tui::message::ConsoleEffect;
use crate::tui::words::{CELL_BYTES, amount_read};

const SIZES: [(u16, u16); 4] = [(40, 12), (80, 24), (120, 40), (200, 50)];

fn at_all_sizes(name: &str, keys: &str) {
    for (width, height) in SIZES {
        let console = TestConsole::on(fixtures::running(), width, height).typed(keys);
        assert_snapshot!(format!("{name}_{width}x{height}"), console.screen());
    }
}

#[test]
fn the_list_says_what_each_revision_changes() {
    at_all_sizes("list", "v");
}

#[test]
fn what_differs_stands_in_one_column_or_in_two() {
    at_all_sizes("diff", ":diff<enter>");
}

#[test]
fn a_template_is_shown_in_full() {
    at_all_sizes("template", "vjy");
}

fn screen(console: &TestConsole) -> String {
    console.screen()
}

#[test]
fn each_revision_is_compared_with_what_most_nodes_run_and_that_one_with_the_one_before() {
    let console = |keys: &str| screen(&TestConsole::on(fixtures::running(), 120, 40).typed(keys));
    assert!(
        console("v").contains("from revision 14, on most nodes, to revision 15: 4 fields differ"),
        "{}",
        console("v")
    );
    assert!(console("vj").contains("from revision 13 to revision 14: 2 fields differ"), "{}", console("vj"));
    assert!(
        console("vjj").contains("from revision 14, on most nodes, to revision 13: 2 fields differ"),
        "{}",
        console("vjj")
    );
    // Marked, it is what the others are compared with.
    let marked = console("vjjmkk");
    assert!(marked.contains("from revision 13 to revision 15: 5 fields differ"), "{marked}");
    assert!(marked.contains("compared with revision 13"), "{marked}");
    assert!(console("vjjmkk<enter>").contains("revision 13 → revision 15"));
    assert!(!console("vjjmkkm").contains("compared with revision 13"), "another one is marked");
}

#[test]
fn keys_and_commands_lead_there_and_back() {
    let console = |keys: &str| screen(&TestConsole::on(fixtures::running(), 80, 24).typed(keys));
    for keys in ["v", ":history<enter>", ":revisions<enter>", ":diff<enter><esc>", "vy<esc>", "Tv"] {
        assert!(console(keys).contains("revisions 1-3 of 3"), "{keys}: {}", console(keys));
    }
    for keys in [":diff<enter>", ":diff 14 15<enter>", ":diff 14<enter>", "v<enter>", "vd", "vk<enter>"] {
        assert!(console(keys).contains("revision 14 → revision 15 · 4 fields differ"), "{keys}: {}", console(keys));
    }
    for keys in [":template<enter>", ":template 15<enter>", "vy", ":diff<enter>y"] {
        assert!(console(keys).contains("template of revision 15"), "{keys}: {}", console(keys));
    }
    for keys in ["vv", "vk<esc><esc>", ":diff<enter><esc><esc>", "vT<esc>"] {
        assert!(console(keys).contains("NODE "), "{keys}: {}", console(keys));
    }
    assert!(console(":diff 12<enter>").contains("there is no revision `12`; there are 15, 14, 13"));
    assert!(console(":diff 12 13 14<enter>").contains("two revisions can be compared"));
    assert!(console(":mark<enter>").contains("NODE "), "it works where revisions are listed only");
}

#[test]
fn lines_are_filtered_and_scrolled() {
    let console = |keys: &str| screen(&TestConsole::on(fixtures::running(), 80, 24).typed(keys));
    let filtered = console(":diff<enter>/memory<enter>");
    assert!(filtered.contains("filter memory"), "{filtered}");
    assert!(filtered.contains("memory: 256Mi") && !filtered.contains("LOG_LEVEL"), "{filtered}");
    assert!(console(":diff<enter>/memory<enter><esc>").contains("LOG_LEVEL"));
    assert!(console(":diff<enter>/nothing like it<enter>").contains("no line passes the filter"));
    let list = console("v/v1.8.1<enter>");
    assert!(list.contains("1-1 of 1") && list.contains("nightly build"), "{list}");
    assert_ne!(console(":diff<enter>jj"), console(":diff<enter>"));
    assert_eq!(
        console(":diff<enter>jjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjj"),
        console(":diff<enter>G"),
        "no farther than the end"
    );
    let moved = console(":diff<enter><right><right>");
    assert!(moved.contains("from column 17"), "{moved}");
    assert!(
        moved.contains(" nt].image: registry.factory.example/edge/agent:v1.8.2 → registry.factory.examp…"),
        "{moved}"
    );
    assert_eq!(console(":diff<enter><right><left>"), console(":diff<enter>"));
}

/// The same revisions, one more, or one less, while they are looked at.
#[test]
fn revisions_come_and_go_while_they_are_looked_at() {
    let with = |revisions: Vec<RevisionView>| Snapshot { revisions: revisions.into(), ..fixtures::running() };
    let known = fixtures::running().revisions.to_vec();
    let template = Template::from_json(json!({"spec": {"containers": [{"name": "agent", "image": "a:v2"}]}}));
    let newer = RevisionView {
        hash: "new".into(),
        number: Some(16),
        images: vec![("agent".into(), "a:v2".into())],
        template: Some(template),
        pods: 0,
        ..known[0].clone()
    };
    let mut console = TestConsole::on(fixtures::running(), 120, 40).typed("vj");
    let more: Vec<_> = [newer].into_iter().chain(known.clone()).collect();
    console.see(with(more));
    let text = screen(&console);
    assert!(text.contains("revisions 1-4 of 4") && text.contains("from revision 13 to revision 14"), "{text}");

    let mut console = TestConsole::on(fixtures::running(), 120, 40).typed(":diff 13 15<enter>");
    let before = screen(&console);
    console.see(with(known[..2].to_vec()));
    let text = screen(&console);
    assert!(text.contains("revision 13 IS NOT IN THE HISTORY ANY MORE"), "{text}");
    assert_eq!(
        text.lines().skip(12).collect::<Vec<_>>(),
        before.lines().skip(12).collect::<Vec<_>>(),
        "it stays readable"
    );
    console.type_keys("<esc>");
    assert!(screen(&console).contains("revisions 1-2 of 2"));
}

#[test]
fn a_revision_that_is_not_in_the_history_any_more_says_so() {
    let mut revisions = fixtures::running().revisions.to_vec();
    revisions.push(RevisionView {
        hash: "77c8d6".into(),
        number: None,
        images: Vec::new(),
        template: None,
        seen_numbers: Vec::new(),
        created_at: None,
        change_cause: None,
        pods: 3,
        halted: None,
    });
    let snapshot = Snapshot { revisions: revisions.into(), ..fixtures::running() };
    let console = |keys: &str| screen(&TestConsole::on(snapshot.clone(), 80, 24).typed(keys));
    let list = console("vG");
    assert!(list.contains("77c8d6: not in history"), "{list}");
    assert!(console("vG<enter>").contains("its template is not known"), "{}", console("vG<enter>"));
    assert!(console("vGy").contains("its template is not known"));
}

/// Whoever may write a template may write anything into it.
#[test]
fn hostile_values_stay_in_their_lines() {
    let mut revisions = fixtures::running().revisions.to_vec();
    let long = "x".repeat(300_000);
    let hostile = crate::engine::model::printable::tests::HOSTILE;
    revisions[0].template = Some(Template::from_json(json!({
        "metadata": {"annotations": {hostile: hostile, "long": long}},
        "spec": {"containers": [{"name": hostile, "image": hostile, "args": [format!("{hostile}\n{hostile}")]}]},
    })));
    let to = revisions[0].clone();
    let snapshot = Snapshot { revisions: revisions.into(), to: Some(to), ..fixtures::running() };
    for keys in ["v", "d", "vy", "d<right><right>", "dG"] {
        let text = screen(&TestConsole::on(snapshot.clone(), 120, 40).typed(keys));
        assert_eq!(text.lines().count(), 40, "{keys}");
        assert!(!text.contains(['\u{1b}', '\u{202e}', '\u{200b}']), "{keys}: {text:?}");
    }
}

/// Texts of templates come as they are: each is read a few times when it is opened, and only its beginning when it is drawn.
#[test]
fn floods_in_templates_are_read_a_few_times() {
    for piece in ["word ", "e\u{301}", "\u{200b}", "\n", "x"] {
        let flood = piece.repeat(60_000 / piece.len());
        let mut revisions = fixtures::running().revisions.to_vec();
        for (nth, revision) in revisions.iter_mut().take(2).enumerate() {
            revision.template = Some(Template::from_json(json!({
                "metadata": {"annotations": {"flood": format!("{nth}{flood}"), "other": format!("{flood}{nth}")}},
                "spec": {"containers": [{"name": "agent", "image": format!("a:v{nth}"), "args": [flood]}]},
            })));
        }
        let (to, from) = (revisions[0].clone(), revisions[1].clone());
        let snapshot = Snapshot { revisions: revisions.into(), to: Some(to), from: Some(from), ..fixtures::running() };
        for keys in ["v", "d", "d<right>", "dG", "vy", "vyG"] {
            let (console, opening) = amount_read(|| TestConsole::on(snapshot.clone(), 120, 40).typed(keys));
            assert!(opening <= 30 * flood.len() + 100_000, "{piece:?} {keys}: {opening} read to open it");
            let (frame, drawing) = amount_read(|| console.frame());
            assert!(drawing <= 200_000, "{piece:?} {keys}: {drawing} read to draw it");
            let floods = |cell: &Cell| cell.symbol().len() > CELL_BYTES || cell.symbol().contains(char::is_control);
            assert!(!frame.content().iter().any(floods), "{piece:?} {keys}");
        }
    }
}

fn previewed(keys: &str, to: usize, width: u16, height: u16) -> TestConsole {
    let revisions = fixtures::running().revisions;
    let template = |at: usize| revisions[at].template.clone().unwrap();
    let preview = Preview {
        title: "Roll back".into(),
        effects: vec![
            "35 nodes are not at that revision: their pods are replaced, broken ones first, at most 2 down at a time."
                .into(),
        ],
        changes: changes(&template(0), &template(to)).into(),
        nodes: [].into(),
        ..fixtures::preview(Danger::Serious)
    };
    TestConsole::on(fixtures::running(), width, height).typed(keys).answered(preview)
}

#[test]
fn a_roll_back_says_what_changes_in_the_template() {
    assert_snapshot!("undo_80x24", previewed("AU", 1, 80, 24).screen());
    assert_snapshot!("undo_120x40", previewed("AU", 1, 120, 40).screen());
    let more = previewed("AvjjU", 2, 80, 24);
    assert!(more.screen().contains("The template changes in 5 fields:"), "{}", more.screen());
    let all = more.typed("<pgdn>").screen();
    assert!(all.contains("terminationGracePeriodSeconds"), "{all}");
}

#[test]
fn what_changes_is_told_in_full_where_there_is_room_and_nothing_more_is_promised() {
    let now = fixtures::running().revisions[0].template.clone().unwrap();
    let long = format!("registry.{}.example/edge/agent:v0.9.0", "long-name".repeat(6));
    let wanted = now.with_images([("agent", long.as_str())]).unwrap();
    let preview = Preview {
        title: "Roll back".into(),
        changes: changes(&now, &wanted).into(),
        nodes: [].into(),
        ..fixtures::preview(Danger::Serious)
    };
    let screen = TestConsole::on(fixtures::running(), 120, 40).typed("AU").answered(preview).screen();
    assert!(screen.contains(&long) && !screen.contains("pgdn"), "{screen}");
}

#[test]
fn in_the_list_a_roll_back_begins_with_the_selected_revision() {
    let text = TestConsole::on(fixtures::running(), 80, 24).typed("AvjjU").screen();
    assert!(text.contains(">  13") || text.contains("> 13") || text.contains(">   13"), "{text}");
}

/// On a fleet that was rolled back the newest other revision is the one that was given up: three keys do not bring it again.
#[test]
fn what_was_rolled_back_from_is_not_chosen_by_itself() {
    let idle = fixtures::idle();
    let [now, before] = &idle.revisions[..] else { panic!("two revisions") };
    let given_up = RevisionView {
        number: Some(15),
        hash: "given-up".into(),
        created_at: now.created_at.map(|at| at + Duration::from_secs(60)),
        ..now.clone()
    };
    let revisions = [given_up, now.clone(), before.clone()];
    let roll_back = Err(NoRollBack::RolledBackFrom { number: 15 });
    let snapshot = Snapshot { revisions: revisions.into(), to: Some(now.clone()), roll_back, ..fixtures::idle() };
    let console = || TestConsole::on(snapshot.clone(), 80, 24).typed("AU");
    let screen = console().screen();
    assert!(screen.contains("revision 15 is the one that was rolled back from"), "{screen}");
    assert!(!screen.contains(">  15"), "{screen}");
    let asked = console().typed("<tab><enter>").effects.iter().any(|effect| matches!(effect, ConsoleEffect::Do { .. }));
    assert!(!asked, "nothing is asked for");
    for keys in ["<down>", "<tab><enter><down>"] {
        let chosen = console().typed(keys).screen();
        assert!(chosen.contains(">  15"), "{keys}: {chosen}");
    }
}

/// Somebody else changed the template in the middle of a roll back: the dialog lists the revision to which it went, and chooses it; so does the
/// list of revisions.
#[test]
fn a_roll_back_that_somebody_else_stopped_is_gone_on_with() {
    let back = fixtures::running();
    let to = back.to.clone().unwrap();
    let theirs = RevisionView { number: to.number.map(|number| number + 1), hash: "theirs".into(), ..to.clone() };
    let revisions: Vec<RevisionView> = [theirs.clone()].into_iter().chain(back.revisions.iter().cloned()).collect();
    let roll_back = Ok(to.hash.clone());
    let template_revision = Some(theirs.hash);
    let snapshot =
        Snapshot { revisions: revisions.into(), direction: Direction::Back, template_revision, roll_back, ..back };
    let number = to.number.unwrap();
    for keys in ["AU", "AvjU"] {
        let screen = TestConsole::on(snapshot.clone(), 80, 24).typed(keys).screen();
        assert!(screen.contains(&format!(">  {number}")), "{keys}: {screen}");
    }
}

#[test]
fn a_new_image_says_what_changes_in_the_template() {
    let now = fixtures::running().revisions[0].template.clone().unwrap();
    let wanted = now.with_images([("agent", "registry.factory.example/edge/agent:v2.0.0")]).unwrap();
    let preview = Preview {
        title: "Set image".into(),
        effects: vec!["Adopts the DaemonSet first, then changes its template.".into()],
        changes: changes(&now, &wanted).into(),
        nodes: [].into(),
        ..fixtures::preview(Danger::Serious)
    };
    let console = TestConsole::on(fixtures::running(), 80, 24).typed("AI<backspace>x").answered(preview);
    let text = console.screen();
    assert!(text.contains("The template changes in 1 field:"), "{text}");
    assert!(text.contains("~ containers[agent].image: ") && text.contains(":v1.9.0 → "), "{text}");
    assert!(text.contains("agent:v2.0.0"), "{text}");
}

/// `m` marks a revision here: the footer does not offer it for the map as well, which a wide one has room for.
#[test]
fn the_footer_gives_a_key_one_meaning() {
    let footer = |keys: &str| {
        let shown = screen(&TestConsole::on(fixtures::running(), 200, 50).typed(keys));
        shown.lines().last().unwrap_or_default().to_owned()
    };
    assert!(footer("").contains("m map"), "{}", footer(""));
    assert!(footer("v").contains("m mark") && !footer("v").contains("m map"), "{}", footer("v"));
}

/// A roll back to revision 13, which its controller has numbered 15 since.
fn numbered_anew() -> Snapshot {
    let changed = RolloutEventKind::TemplateChanged { from: Some(14), to: Some(13), images: Vec::new() };
    let undone = RolloutEventKind::Command(Command::Undo { to: None });
    let said = "roll back: template is that of revision 13; nodes that still run it count as updated";
    let timeline = [
        rollout_event(90, Some("ops@bastion-2"), undone, EventOutcome::Done, said),
        rollout_event(80, None, changed, EventOutcome::Done, ""),
    ];
    let mut snapshot = fixtures::running();
    let revision = snapshot.to.as_ref().map(|to| to.hash.clone());
    snapshot.timeline = timeline.map(|event| RolloutEvent { revision: revision.clone(), ..event }).into();
    let kept = snapshot.revisions.iter().filter(|revision| revision.number != Some(13)).cloned();
    snapshot.revisions = kept.collect::<Vec<_>>().into();
    snapshot
}

#[test]
fn a_revision_that_a_roll_back_numbered_anew_is_known_by_both_numbers() {
    let revisions = TestConsole::on(numbered_anew(), 80, 24).typed("v").screen();
    assert!(
        revisions.contains("\n revision 15: the template of 13, which came back. AGE is since it was made\n"),
        "{revisions}"
    );
    let timeline = TestConsole::on(numbered_anew(), 120, 40).typed("T").screen();
    assert!(timeline.contains("roll back: template is that of revision 13 (now 15); nodes"), "{timeline}");
    // It is numbered while the timeline is open.
    let mut before = numbered_anew();
    before.to = before.to.map(|to| RevisionView { number: Some(13), ..to });
    let numbered = before.to.clone().into_iter().chain(before.revisions.iter().skip(1).cloned());
    before.revisions = numbered.collect::<Vec<_>>().into();
    let mut console = TestConsole::on(before, 120, 40).typed("T");
    assert!(console.screen().contains("template is that of revision 13; nodes"), "{}", console.screen());
    console.see(numbered_anew());
    assert!(console.screen().contains("template is that of revision 13 (now 15); nodes"), "{}", console.screen());
}

/// The present list has the target below where it comes from: until its controller has numbered it anew, and where others went back.
#[test]
fn a_number_that_falls_is_said_to_lead_to_an_earlier_revision() {
    let mut snapshot = fixtures::running();
    let screen = |snapshot: &Snapshot| TestConsole::on(snapshot.clone(), 120, 40).screen();
    assert!(!screen(&snapshot).contains("older"), "{}", screen(&snapshot));
    snapshot.to = snapshot.to.map(|to| RevisionView { number: Some(12), ..to });
    assert!(screen(&snapshot).contains("rev 14 → 12 (older)"), "{}", screen(&snapshot));
}

/// At 80 columns it is cut after what the revision runs, and told in full below the list.
#[test]
fn why_a_revision_was_made_gives_way_to_what_it_runs() {
    let mut snapshot = fixtures::running();
    let versions =
        ["agent", "proxy", "sidecar"].map(|name| (name.into(), format!("r.example/{name}:v10.0.0-rc.1").into()));
    let cause = "kubectl set image daemonset/ipc-agent agent=registry.factory.example/edge/agent:v1.9.0";
    let of_newest = |revision: &RevisionView| RevisionView {
        images: versions.to_vec(),
        change_cause: Some(cause.into()),
        ..revision.clone()
    };
    snapshot.revisions = snapshot.revisions.iter().map(of_newest).collect::<Vec<_>>().into();
    let screen = TestConsole::on(snapshot, 80, 24).typed("v").screen();
    let row = screen.lines().find(|line| line.starts_with(">   15")).unwrap_or_default();
    assert!(row.contains("35    1h  target") && row.contains("agent v10.0.0-rc.1, proxy v10.0.0-rc.1"), "{screen}");
    let said = screen.lines().map(str::trim).collect::<Vec<_>>().join(" ");
    assert!(said.contains(&format!("cause: {cause}")), "{screen}");
}

/// Two revisions with the same image look the same, and a mark does not say what went wrong.
#[test]
fn a_revision_says_when_and_why_it_halted_and_whether_more_than_its_images_differs() {
    let mut revisions = fixtures::running().revisions.to_vec();
    let at = fixtures::noon();
    let why = "image not found on 2 nodes";
    let halted_at = at - Duration::from_secs(720);
    revisions[1].halted = Some(RevisionHalt { at: halted_at, why: why.into(), from_event: false });
    // The image of the one before, and two fields more.
    let mut raw = revisions[2].template.clone().unwrap().json().clone();
    raw["spec"]["hostNetwork"] = json!(false);
    raw["spec"]["priorityClassName"] = json!("edge");
    revisions[1].template = Some(Template::from_json(raw));
    revisions[1].images = revisions[2].images.clone();
    let snapshot = Snapshot { revisions: revisions.into(), at, ..fixtures::running() };
    let list = TestConsole::on(snapshot.clone(), 120, 40).typed("vj").screen();
    assert!(list.contains("revision 14: halted 12m ago: image not found on 2 nodes"), "{list}");
    assert!(list.contains("v1.8.1 + 2 fields"), "{list}");
    let page = TestConsole::on(snapshot.clone(), 200, 50).typed("vjy").screen();
    assert!(page.contains("halted 12m ago: image not found on 2 nodes"), "{page}");
    let undo = TestConsole::on(snapshot, 120, 40).typed("AU").screen();
    assert!(undo.contains("v1.8.1 + 2 fields   halted 12m ago"), "{undo}");
    assert!(undo.contains("halted 12m ago: image not found on 2 nodes"), "{undo}");
}

/// The heading of the list says how many there are, however small the screen.
#[test]
fn a_list_that_is_cut_says_so_on_the_smallest_screen() {
    let mut revisions = fixtures::running().revisions.to_vec();
    let oldest = revisions.last().unwrap().clone();
    let older = (1..=5).map(|nth| RevisionView {
        number: Some(nth),
        hash: format!("old{nth}").into(),
        pods: 0,
        ..oldest.clone()
    });
    revisions.extend(older.rev());
    let all = revisions.len();
    let snapshot = Snapshot { revisions: revisions.into(), ..fixtures::running() };
    let screen = TestConsole::on(snapshot, 40, 12).typed("v").screen();
    let last = screen.lines().filter(|line| line.trim_start().starts_with(|c: char| c.is_ascii_digit())).count();
    assert!(screen.contains(&format!("of {all}")) || screen.contains(" more"), "{last} rows\n{screen}");
}

/// The end of a version tells builds apart, and where several containers have images, their names have no room.
#[test]
fn the_smallest_screen_shows_the_versions_of_images_and_not_their_names() {
    let list = |images: &[(&str, &str)]| {
        let mut revisions = fixtures::running().revisions.to_vec();
        let named = images.iter().map(|(name, image)| ((*name).into(), (*image).into()));
        revisions[0].images = named.collect();
        let screen =
            TestConsole::on(Snapshot { revisions: revisions.into(), ..fixtures::running() }, 40, 12).typed("v");
        let row = |line: &&str| line.starts_with(">   15");
        screen.screen().lines().find(row).unwrap_or_default().to_owned()
    };
    let several = list(&[("agent", "r.example/agent:v1.9.0"), ("shipper", "r.example/shipper:v1")]);
    assert!(several.contains("v1.9.0") && !several.contains("agent"), "{several}");
    let long = list(&[("agent", "r.example/agent:v1.9.0-rc.20261130-7f3")]);
    assert!(long.ends_with("-7f3"), "{long}");
}
