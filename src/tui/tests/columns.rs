//! What each column of both tables shows of a row of which all is known, and how rows are sorted by it.

use std::cmp::Ordering;
use std::fmt::Debug;

use super::console::TestConsole;
use super::fixtures::{ago, fleet, node, running};
use crate::driver::{DrivenBy, Fleet, FleetRevision, FleetRow};
use crate::engine::model::facts::DaemonSetCounters;
use crate::engine::model::fleet_state::FleetState;
use crate::engine::model::node_details::{NodeDetail, NodeDetails};
use crate::engine::report::snapshot::{NodeView, Phase, Snapshot};
use crate::tui::columns::fleet::FLEET_COLUMNS;
use crate::tui::columns::nodes::{NODE_COLUMNS, NodeTable};
use crate::tui::columns::sorting::TableColumn;
use crate::tui::columns::{Column, ColumnKind, ColumnRow, FilterableCell, Width, fields, widths};
use crate::tui::filter::{FilterRow, FilterSchema};
use crate::tui::words::width;

/// A terminal that has room for every column.
const WIDE: usize = 400;

/// A DaemonSet of which all is known, with this number wherever it has one; see [`NodeView::known`].
fn known_row(number: u32) -> FleetRow {
    let image = format!("agent:v1.9.{number}").into();
    FleetRow {
        namespace: format!("edge-{number}").into(),
        name: format!("ipc-agent-{number}").into(),
        counters: DaemonSetCounters {
            desired: 120,
            current: 120,
            ready: number,
            updated: number,
            available: number,
            misscheduled: 0,
        },
        strategy: "OnDelete (ours)".into(),
        since: Some(ago(number.into())),
        to: FleetRevision { number: Some(number.into()), images: vec![("agent".into(), image)] },
        state: FleetState::Rolling,
        driven_by: DrivenBy::You,
        more_revisions: 0,
        template_of_others: false,
        goes_back: false,
        ..unknown_row()
    }
}

fn unknown_row() -> FleetRow {
    FleetRow {
        namespace: "".into(),
        name: "".into(),
        counters: DaemonSetCounters { desired: 120, ..DaemonSetCounters::default() },
        strategy: "".into(),
        since: None,
        to: FleetRevision::default(),
        from: None,
        template_of_others: true,
        goes_back: false,
        driven_by: DrivenBy::Unknown,
        ..fleet().rows.remove(0)
    }
}

/// Columns of which the known rows say the same, because they tell a few kinds of rows apart and no number.
const TELLS_FEW_APART: [&str; 2] = ["state", "driver"];

/// Columns of which no row lacks the value.
const NEVER_MISSING: [&str; 3] = ["namespace", "name", "available"];

/// What is wrong with what the columns show of rows of which all is known, by their number, and of one of which nothing is.
fn wrong<R: 'static, P: 'static, C: FilterableCell + PartialEq + Debug>(
    columns: &'static [Column<R, P, C>],
    page: &P,
    known: fn(u32) -> R,
    unknown: &R,
) -> Vec<String>
where
    Column<R, P, C>: TableColumn,
{
    let mut wrong = Vec::new();
    for (field, (column, cells)) in columns.iter().zip(widths(columns, page, WIDE)).enumerate() {
        let rows = [1, 2, 9, 10].map(known);
        let row = &rows[3];
        let cell = |row: &R| (column.cell)(row, page, cells).0;
        let asked = |row| ColumnRow { columns, row, page, labels: None, is_new: None, at: ago(0), known: None };
        // Words that tell ages are made when they are drawn.
        let is_drawn = cell(row).text().is_none() && cell(row).since().is_none() && cell(row).count().is_none();
        let tells = match is_drawn {
            true => asked(row).words(field) != asked(unknown).words(field),
            false => cell(row) != cell(unknown),
        };
        let is_number = column.kind.is_number();
        let is_age = column.kind == ColumnKind::Age;
        let [one, two, nine, ten] = &rows;
        let order = column.order.map(|order| [order(one, two), order(nine, ten), order(two, ten)]);
        let by_number = order.is_none_or(|order| order.windows(2).all(|two| two[0] == two[1]));
        let missing_is_last = column.order.is_none_or(|order| rows.iter().all(|row| order(row, unknown).is_lt()));
        let sorted_by_it = order.is_none_or(|order| order[0] != Ordering::Equal);
        for (right, what) in [
            (tells, "shows the same of a row of which nothing is known: is it filled in `known`?"),
            (cell(row).text().is_none_or(|text| width(text) <= cells), "cuts what it shows"),
            (width(column.header(cells)) <= cells, "cuts its header"),
            (is_number || !asked(row).words(field).is_empty(), "has no words for the filter"),
            (!is_number || asked(row).number(field).is_some(), "is of numbers, and the filter reads none"),
            (is_age == cell(row).since().is_some(), "is of ages, and its cells tell none, or the other way round"),
            (by_number, "is sorted by its text, and not by the number in it"),
            (missing_is_last || NEVER_MISSING.contains(&column.name), "sorts what is not known before what is"),
            (sorted_by_it || TELLS_FEW_APART.contains(&column.name), "has an order by which different rows are equal"),
        ] {
            wrong.extend((!right).then(|| format!("{}: {what}", column.name)));
        }
    }
    wrong
}

#[test]
fn every_column_of_nodes_shows_and_sorts_what_is_known() {
    let nodes = [NodeView::known(10)].into_iter().collect();
    let page = NodeTable::of(&Snapshot { nodes, ..super::fixtures::running() });
    assert_eq!(wrong(NODE_COLUMNS, &page, NodeView::known, &NodeView::unknown("")), [""; 0]);
}

#[test]
fn every_column_of_daemonsets_shows_and_sorts_what_is_known() {
    let page = Fleet { rows: vec![known_row(10)], ..fleet() };
    assert_eq!(wrong(FLEET_COLUMNS, &page, known_row, &unknown_row()), [""; 0]);
}

/// Nodes are listed before their pods: what comes later moves no column, and where nothing is known yet there are no columns.
#[test]
fn columns_stay_where_they_are_while_data_arrives() {
    let pods = |with: bool| {
        let pod = |nth: u32| with.then(|| format!("ipc-agent-k8d{nth:02}").into());
        let nodes = (0..40).map(move |nth| NodeView { pod: pod(nth), ..node(&format!("ipc-{nth:03}")) });
        nodes.collect::<Vec<_>>()
    };
    let heading = |console: &TestConsole| {
        let screen = console.screen();
        screen
            .lines()
            .find(|line| line.contains("NODE "))
            .map(|line| line.split('│').next().unwrap_or_default().to_owned())
    };
    let loading = |with| Snapshot { nodes: pods(with).into(), phase: Phase::Loading, ..running() };
    let list = TestConsole::on_fleet(200, 50);
    assert!(!list.screen().contains("DAEMONSET") && list.screen().contains("loading"), "{}", list.screen());
    assert!(list.with_fleet().screen().contains("DAEMONSET"));
    for (width, height) in [(80, 24), (120, 40), (200, 50)] {
        let mut console = TestConsole::on(super::fixtures::loading(), width, height);
        assert_eq!(heading(&console), None, "{}", console.screen());
        assert!(!console.screen().contains('│'), "{}", console.screen());
        console.see(loading(false));
        let first = heading(&console);
        assert!(first.is_some(), "{}", console.screen());
        console.see(loading(true));
        assert_eq!(heading(&console), first, "{width}x{height}");
        console.see(Snapshot { nodes: pods(true).into(), ..running() });
        assert_eq!(heading(&console), first, "{width}x{height}");
    }
}

/// Details that are another text on every node; all others are the same on most, so that each word of them would match everywhere.
const DIFFER_ON_EVERY_NODE: [NodeDetail; 0] = [];

#[test]
fn what_most_nodes_say_the_same_of_themselves_is_searched_only_where_it_is_asked_for() {
    let page = NodeTable::of(&super::fixtures::running());
    for column in NODE_COLUMNS {
        let says = |details| (column.cell)(&NodeView { details, ..NodeView::known(10) }, &page, WIDE).0;
        let common = NodeDetail::ALL.into_iter().filter(|detail| !DIFFER_ON_EVERY_NODE.contains(detail));
        for detail in common {
            let without =
                NodeDetails::of(|other| NodeDetails::known(10).get(other).filter(|_| other != detail).cloned());
            let shows_it = says(NodeDetails::known(10)) != says(without);
            assert!(!(shows_it && column.searched), "{}: `searched: false`, or name {detail:?} here", column.name);
        }
    }
}

/// Of two columns with the same priority the left one would be served first, which nobody decided.
#[test]
fn no_two_columns_are_served_at_the_same_time() {
    fn priorities<R, P, C>(columns: &[Column<R, P, C>]) -> Vec<u8> {
        let shares = columns.iter().flat_map(|column| match column.width {
            Width::Optional(shares) | Width::Growing(shares, _) => shares,
            Width::Always(_) | Width::Rest(_) | Width::Leftover { .. } => &[],
        });
        let mut priorities: Vec<u8> = shares.map(|share| share.priority).collect();
        priorities.sort_unstable();
        priorities
    }
    for priorities in [priorities(NODE_COLUMNS), priorities(FLEET_COLUMNS)] {
        assert!(priorities.windows(2).all(|pair| pair[0] < pair[1]), "{priorities:?}");
    }
}

/// Labels that every kubelet sets, or nearly every cloud. A filter takes a name for that of a column first.
const ON_EVERY_NODE: [&str; 5] = [
    "kubernetes.io/arch",
    "kubernetes.io/os",
    "kubernetes.io/hostname",
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone",
];

#[test]
fn no_column_hides_a_label_of_every_node_from_the_filter() {
    let schema = FilterSchema { fields: fields(NODE_COLUMNS), labelled: None };
    for label in ON_EVERY_NODE {
        let (_, short) = label.split_once('/').unwrap();
        let hidden = schema.field(short).map(|field| &schema.fields[field].name);
        assert_eq!(hidden, None, "this column hides {label}, which `{short}=…` means");
    }
}

/// From which width of the screen each column is shown, in the list of 120 nodes. Up to 139 cells the list has all of the screen; beyond, the
/// map stands beside it, and is at most 72 cells wide.
#[test]
fn each_column_is_shown_from_this_width_on() {
    const WIDEST: u16 = 300;
    let headings = |width: u16| -> Vec<String> {
        let screen = TestConsole::on(running(), width, 24).screen();
        let heading = screen.lines().find(|line| line.contains("NODE ")).unwrap_or_default();
        heading.split('│').next().unwrap_or_default().split_whitespace().map(str::to_owned).collect()
    };
    let shown: Vec<Vec<String>> = (40..=WIDEST).map(headings).collect();
    let of = |column: &Column<NodeView, NodeTable, _>| {
        let widths = (40..=WIDEST).zip(&shown);
        let widths =
            widths.filter(|(_, shown)| column.headers.iter().any(|header| shown.iter().any(|word| word == header)));
        let widths: Vec<u16> = widths.map(|(width, _)| width).collect();
        let spans = widths.chunk_by(|a, b| a + 1 == *b).map(|span| match (span[0], span[span.len() - 1]) {
            (first, WIDEST) => format!("{first}…"),
            (first, last) => format!("{first}-{last}"),
        });
        format!("{:6} {}", column.headers[0], spans.collect::<Vec<_>>().join(" "))
    };
    insta::assert_snapshot!(NODE_COLUMNS.iter().map(of).collect::<Vec<_>>().join("\n"));
}
