//! Which nodes may go next, in which order, and what holds the others: pure arithmetic over assessed rows.
//!
//! ```text
//! candidates ── order ──▶ room under the partition ──▶ proven? ──▶ budget ──▶ pull slots ──▶ next
//! ```

mod pulls_by_site;
mod unproven;

use self::pulls_by_site::PullsBySite;
use self::unproven::Unproven;
pub(crate) use self::unproven::put_back;
use super::hold_of_node::hold_of_node;
use super::order::site_places;
use super::rows::{Assessment, Row};
use crate::engine::model::Str;
use crate::engine::model::budget::BudgetView;
use crate::engine::model::cause::CauseKind;
use crate::engine::model::hold::{Hold, ImageWait};
use crate::engine::model::node::{Blame, ImageState, NodeIx, NodeState, RestartsView};
use crate::engine::model::quantity::{IntOrPercent, Rounding};
use crate::engine::model::record::{Direction, Intent};
use crate::engine::model::settings::{Budgets, Limit, NodeOrder, Pace};
use crate::engine::model::suspect::SiteOutage;
use crate::engine::rules::holds::HoldKind;
use crate::engine::rules::saved_strategy::own_max_unavailable;
use crate::engine::rules::surge::lacks_budget;
use crate::engine::view::View;

/// The limits of a rollout, resolved to counts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) direction: Direction,
    pub(crate) max_unavailable: u32,
    pub(crate) max_unavailable_setting: IntOrPercent,
    pub(crate) max_pulling: u32,
    /// The limit of each site; a percentage is of the site's nodes.
    pub(crate) max_pulling_per_site: Limit,
    /// Whether limits of sites follow what their links bear.
    pub(crate) pace: Pace,
    /// A node goes only once its images are there.
    pub(crate) require_image: bool,
    /// In which order nodes of several sites go.
    pub(crate) order: NodeOrder,
    /// Pods that stay at the old revision.
    pub(crate) keep: u32,
    /// Nodes that may be updated in total.
    pub(crate) allowed: u32,
    /// Bytes of the record that are left for names of nodes in progress.
    pub(crate) room_for_names: usize,
    /// The DaemonSet surges, and nobody has said how many nodes may be down instead, so that none may.
    pub(crate) lacks_budget: bool,
}

impl Limits {
    /// `at most 2 down and 2 pulling at a time, of each site at most 1`.
    pub(crate) fn pace_in_words(&self) -> String {
        let of_site = match self.max_pulling_per_site {
            Limit::Default => String::new(),
            Limit::At(limit) => format!(", of each site at most {limit}"),
        };
        let by_pace = match self.pace {
            Pace::Fixed => "",
            Pace::Auto => ", of each site no more than its link bears (pace auto)",
        };
        format!("at most {} down and {} pulling at a time{of_site}{by_pace}", self.max_unavailable, self.max_pulling)
    }

    /// Resolves the intent's limits for this fleet.
    ///
    /// `maxUnavailable` is a percentage of desired, rounded up, as Kubernetes does; `partition` one of the fleet, rounded
    /// down, as OpenKruise does.
    pub(crate) fn of(view: &View, intent: &Intent, assessment: &Assessment) -> Self {
        let daemonset = view.daemonset();
        let original = view.original_strategy();
        let lacks_budget = daemonset.is_some_and(|daemonset| lacks_budget(daemonset, original, intent));
        let own = || match lacks_budget {
            true => Some(IntOrPercent::Int(0)),
            false => daemonset.and_then(|daemonset| own_max_unavailable(daemonset, original, assessment.desired)),
        };
        // `strict` decides what is charged to the budget: see `budget`. The view knows the site of a node; the pace of a site is in
        // [`NodeLookup`].
        let Budgets { max_unavailable, max_pulling, max_pulling_per_site, site_label: _, pace, strict: _ } =
            intent.budgets;
        let setting = max_unavailable.at().or_else(own).unwrap_or(IntOrPercent::Int(1));
        let max_unavailable = setting.of(assessment.desired, Rounding::Up);
        let max_pulling = max_pulling.at().map_or(max_unavailable, |limit| limit.of(assessment.desired, Rounding::Up));
        let keep = intent.kept_of(assessment.fleet);
        let allowed = assessment.fleet - keep;
        Self {
            direction: intent.direction(),
            max_unavailable,
            max_unavailable_setting: setting,
            max_pulling,
            max_pulling_per_site,
            pace,
            require_image: intent.requires_images(),
            order: intent.order,
            keep,
            allowed,
            room_for_names: usize::MAX,
            lacks_budget,
        }
    }
}

/// Where the budget stands before anything more is started.
pub(crate) fn budget(assessment: &Assessment, limits: &Limits, strict: bool) -> BudgetView {
    let mut budget = BudgetView {
        max_unavailable: limits.max_unavailable,
        max_unavailable_setting: Some(limits.max_unavailable_setting),
        max_pulling: limits.max_pulling,
        strict,
        ..BudgetView::default()
    };
    for row in assessment.rows() {
        match row.blame {
            Some(Blame::Rollout) => {
                budget.rollout += 1;
                budget.restarted += u32::from(row.restarted.is_some());
            }
            Some(Blame::Suspect) => budget.suspect += 1,
            Some(Blame::Node) => budget.node += 1,
            Some(Blame::PreExisting) => budget.pre_existing += 1,
            None => {}
        }
        let charged = is_charged(row, strict);
        budget.charged += u32::from(charged);
        budget.soaking += u32::from(charged && row.state == NodeState::Soaking);
        budget.pulling += u32::from(row.pulls || row.warm_pulls);
        let fails = row.cause.as_ref().is_some_and(|cause| cause.kind.is_about_the_image());
        let ended = row.cause.as_ref().is_some_and(|cause| cause.kind.is_told_by_ended_pod());
        match (row.pulls, row.image) {
            (false, _) => budget.pulling_ahead += u32::from(row.warm_pulls),
            (true, ImageState::Present) => {
                budget.pulling_others += 1;
                budget.pulling_others_fails += u32::from(fails);
            }
            (true, _) => {
                budget.pulling_fails += u32::from(fails);
                budget.pulling_ended += u32::from(ended);
            }
        }
    }
    budget
}

/// Whether a node may go although the budget is used up, because it is already charged to the budget. A pod that serves is not taken beyond
/// the budget, even if it does not count as available yet.
pub(crate) fn costs_nothing(row: &Row, strict: bool) -> bool {
    is_charged(row, strict) && !row.ready
}

/// Whether a node that is down counts against the budget.
pub(crate) fn is_charged(row: &Row, strict: bool) -> bool {
    match row.blame {
        Some(Blame::Rollout | Blame::Suspect) => true,
        Some(Blame::Node | Blame::PreExisting) => strict,
        None => false,
    }
}

/// By site and the limit that operators set: how many nodes of the site may pull by its pace. `None`: the operators' limit applies.
pub(crate) type SitePaces<'a> = dyn Fn(&Str, u32) -> Option<u32> + 'a;

/// The lookups of nodes that a plan needs.
pub(crate) struct NodeLookup<'a> {
    /// A node's name.
    pub(crate) name: &'a dyn Fn(&Row) -> Str,
    /// The outage of its site, where that is down at large.
    pub(crate) outage: &'a dyn Fn(&Row) -> Option<SiteOutage>,
    /// Its site.
    pub(crate) site: &'a dyn Fn(&Row) -> Str,
    /// The paces of sites, where limits follow what links bear.
    pub(crate) pace: Option<&'a SitePaces<'a>>,
    /// Whether it went down again with the new pod, and is judged once it is clear whether others went down with it.
    pub(crate) pending: &'a dyn Fn(&Row) -> bool,
    /// Pre-warming is cancelled: its pods are deleted, and their unfinished pulls are lost.
    pub(crate) warm_pods_go: bool,
}

/// What comes next: a hold for every node, and the nodes whose pods to replace now, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    holds: Vec<Option<Hold>>,
    ranks: Vec<Option<u32>>,
    /// By node: the place that its site gives it in any order.
    site_places: Vec<u64>,
    /// Nodes in line, in order.
    pub(crate) line: Vec<NodeIx>,
    /// Nodes whose pods to replace now, in order.
    pub(crate) next: Vec<NodeIx>,
    /// How many of those in line the partition lets through, those that wait for budget included.
    pub(crate) in_line: u32,
}

/// The obstacle of the whole rollout, in contrast to one node.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum RolloutHold {
    /// Nothing: it moves.
    None,
    /// Everything that could move is held by this.
    Held(Hold),
}

impl RolloutHold {
    /// Whether the DaemonSet's own controller replaces the pods.
    fn is_native(&self) -> bool {
        matches!(self, Self::Held(Hold::Native))
    }

    /// The hold of a node that has no pod. Most holds do not apply to such a node: the DaemonSet's controller creates its pod all the same.
    fn hold_without_pod(&self) -> Option<Hold> {
        match self {
            Self::Held(held) => (held.kind() == HoldKind::WithoutPods).then(|| held.clone()),
            Self::None => None,
        }
    }
}

/// The obstacles besides limits.
pub(crate) struct Obstacles<'a> {
    /// The obstacle of the whole rollout.
    pub(crate) rollout_hold: &'a RolloutHold,
    /// The refusal of a node whose pod the API server refused to delete.
    pub(crate) refused: &'a dyn Fn(&Row) -> Option<Refused>,
}

/// A node whose pod the API server refused to delete.
#[derive(Clone, Debug)]
pub(crate) enum Refused {
    /// It waits for its next turn.
    Held(Str),
    /// It is tried again, after the others.
    Due,
}

impl Plan {
    /// Whether nodes wait because the new revision is in trouble elsewhere.
    pub(crate) fn waits_for_trouble(&self) -> bool {
        self.line.iter().any(|node| matches!(self.hold(*node), Some(Hold::Unproven { .. })))
    }

    /// Why a node is not being updated right now.
    pub(crate) fn hold(&self, node: NodeIx) -> Option<&Hold> {
        self.holds.get(node)?.as_ref()
    }

    /// Whether a node waits for images that do not arrive by themselves.
    pub(crate) fn lacks_images(&self) -> bool {
        let lacks = |hold: &Option<Hold>| matches!(hold, Some(Hold::ImageAbsent(wait)) if !wait.comes_by_itself());
        self.holds.iter().any(lacks)
    }

    /// Says of each node that waits for its images what becomes of them.
    pub(crate) fn tell_of_images(&mut self, wait: impl Fn(NodeIx) -> ImageWait) {
        for (node, hold) in self.holds.iter_mut().enumerate() {
            if let Some(Hold::ImageAbsent(told)) = hold {
                *told = wait(node);
            }
        }
    }

    /// A node's place in line.
    pub(crate) fn rank(&self, node: NodeIx) -> Option<u32> {
        *self.ranks.get(node)?
    }

    /// The place that a node's site gives it among nodes that are not in line; smaller first.
    pub(crate) fn site_place(&self, node: NodeIx) -> u64 {
        self.site_places.get(node).copied().unwrap_or(u64::MAX)
    }

    /// Lines up the nodes. `natural` is each node's place in natural name order.
    pub(crate) fn of(
        assessment: &Assessment,
        limits: &Limits,
        budget: &BudgetView,
        intent: &Intent,
        obstacles: &Obstacles<'_>,
        natural: &[u32],
        nodes: &NodeLookup<'_>,
    ) -> Self {
        let mut plan = Self {
            holds: vec![None; natural.len()],
            ranks: vec![None; natural.len()],
            site_places: site_places(assessment, limits.order, natural, nodes.site),
            ..Self::default()
        };
        let mut candidates = Vec::new();
        let (mut committed, mut proven, mut trouble, mut crashes, mut not_made) = (0, false, None, None, None);
        let mut may_be_proven = false;
        for row in assessment.rows() {
            committed += u32::from(row.committed);
            proven |= row.is_settled();
            may_be_proven |= row.committed && row.state != NodeState::Failed && row.blame != Some(Blame::Suspect);
            if trouble.is_none() && (is_in_trouble(row) || (nodes.pending)(row)) {
                trouble = Some(row);
            }
            if crashes.is_none() && crashes_while_down(row) {
                crashes = Some(row);
            }
            if not_made.is_none() && row.in_fleet && row.unreplaced {
                not_made = Some(row);
            }
            match hold_of_node(row, intent.direction(), row.selected) {
                // The DaemonSet's own controller asks neither for the selector nor for a cordon.
                Some(Hold::Selector | Hold::Cordoned) if obstacles.rollout_hold.is_native() => {
                    plan.holds[row.node] = Some(Hold::Native);
                }
                Some(hold) => plan.holds[row.node] = Some(hold),
                None if row.replaceable => candidates.push(row),
                None if row.in_fleet && row.pod.is_none() => {
                    plan.holds[row.node] = obstacles.rollout_hold.hold_without_pod();
                }
                None => {}
            }
        }
        let back = intent.direction() == Direction::Back;
        // Budget that the rollout itself uses becomes free again. Under `strict`, nodes that are down by themselves may use it up
        // for good, so that no serving pod could ever go first.
        let fits = |row: &Row| {
            let cost = u32::from(!is_charged(row, budget.strict));
            budget.rollout + budget.suspect > 0 || budget.charged + cost <= limits.max_unavailable
        };
        let unready = if proven || back {
            Unready::MayGo
        } else if may_be_proven || candidates.iter().any(|row| row.available && fits(row)) {
            Unready::Waits
        } else {
            Unready::OneMayGo
        };
        // Between two crashes a row has no cause, or that its pod is not ready. Where its node is not Ready either, the crashes say more.
        let says_little = |kind: CauseKind| kind.is_ordinary_at_start() || kind == CauseKind::NodeDown;
        let troubled = |row: &Row| {
            let cause = row.cause.as_ref().map(|cause| cause.kind).filter(|kind| !says_little(*kind));
            let restarts = row.crash_loop.map(|crash_loop| crash_loop.cause);
            ((nodes.name)(row), cause.or(restarts).or_else(|| row.cause.as_ref().map(|cause| cause.kind)))
        };
        let mut line = Capacity {
            room: limits.allowed.saturating_sub(committed),
            keep: limits.keep,
            charged: budget.charged,
            next: 0,
            max_unavailable: limits.max_unavailable,
            pulling: budget.pulling,
            next_pulls: 0,
            lack_images: lack_images(assessment),
            max_pulling: limits.max_pulling,
            sites: PullsBySite::of(assessment, limits, nodes),
            require_image: limits.require_image,
            unready,
            trouble: trouble.map(|row| crashes.unwrap_or(row)).filter(|_| !back).map(troubled),
            crashes: crashes.filter(|_| !back).map(troubled),
            not_made: not_made.map(troubled),
            unproven: back.then(|| Unproven::of(assessment, limits.max_unavailable, troubled)).flatten(),
            strict: budget.strict,
            room_for_names: limits.room_for_names,
            lacks_budget: limits.lacks_budget,
        };
        sort_candidates(&mut candidates, proven || back, &plan.site_places, natural, obstacles);
        plan.line = candidates.iter().map(|row| row.node).collect();
        for (place, row) in candidates.into_iter().enumerate() {
            plan.ranks[row.node] = u32::try_from(place).ok();
            let outage = (nodes.outage)(row).filter(|_| !back && row.ready && line.room > 0);
            // A node that waits for its site takes no place under the partition from the others.
            plan.in_line += u32::from(line.room > 0 && outage.is_none());
            let hold = match (outage, (obstacles.refused)(row)) {
                (Some(outage), _) => Hold::SiteOutage(outage),
                (None, Some(Refused::Held(why))) if line.room > 0 => {
                    line.room -= 1;
                    Hold::DeletionRefused { why }
                }
                (None, _) => line.admit(row, nodes),
            };
            plan.holds[row.node] = Some(match (hold, obstacles.rollout_hold) {
                // In these cases the partition has no effect, so it is not given as the reason.
                (_, RolloutHold::Held(held)) if held.kind().is_without_plan() => held.clone(),
                (hold @ Hold::Partition { .. }, _) => hold,
                (_, RolloutHold::Held(held)) => held.clone(),
                (hold, RolloutHold::None) => {
                    if hold == Hold::Next {
                        plan.next.push(row.node);
                    }
                    hold
                }
            });
        }
        plan
    }
}

/// How many nodes were let go and lack an image of the target.
fn lack_images(assessment: &Assessment) -> u32 {
    let lacks = |row: &&Row| row.in_fleet && row.committed && row.image != ImageState::Present;
    u32::try_from(assessment.rows().filter(lacks).count()).unwrap_or(u32::MAX)
}

/// What is still free (partition, budget, pull slots, room in the record) while candidates are admitted one by one.
struct Capacity {
    room: u32,
    keep: u32,
    charged: u32,
    /// Of `charged`: by nodes that are next, and not down yet.
    next: u32,
    max_unavailable: u32,
    pulling: u32,
    /// Of `pulling`: nodes that are next, and do not pull yet.
    next_pulls: u32,
    /// The nodes that were let go, or are next, and lack an image of the target.
    lack_images: u32,
    max_pulling: u32,
    sites: PullsBySite,
    require_image: bool,
    unready: Unready,
    trouble: Option<(Str, Option<CauseKind>)>,
    /// A node whose pod crashes again and again, and is not available. It takes from the budget, and is the reason that is given where that is full.
    crashes: Option<(Str, Option<CauseKind>)>,
    /// A node for which no pod is made: nor would one be made for the next node, of whatever revision.
    not_made: Option<(Str, Option<CauseKind>)>,
    unproven: Option<Unproven>,
    strict: bool,
    room_for_names: usize,
    lacks_budget: bool,
}

/// Whether old pods that are down already may be replaced. Until the new image has been seen to work somewhere, replacing one
/// may turn a short unreadiness into a pod that never comes up again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Unready {
    /// The image is proven, or we go back to one that is.
    MayGo,
    /// Nothing is proven, and nothing that serves could go first.
    OneMayGo,
    /// Nothing is proven yet.
    Waits,
}

impl Capacity {
    /// Returns the hold of `row`. If nothing holds it, takes the capacity that it needs and returns [`Hold::Next`].
    fn admit(&mut self, row: &Row, nodes: &NodeLookup<'_>) -> Hold {
        if self.room == 0 {
            return Hold::Partition { keep: self.keep };
        }
        self.room -= 1;
        if let Some((node, cause)) = &self.trouble {
            return Hold::Unproven { node: node.clone(), cause: *cause };
        }
        // A pod that does not serve has nothing to lose.
        if let Some((node, cause)) = self.not_made.as_ref().filter(|_| row.ready) {
            return Hold::Unproven { node: node.clone(), cause: *cause };
        }
        if let Some(hold) = self.unproven.as_ref().filter(|_| row.ready).and_then(Unproven::hold) {
            return hold;
        }
        let cost = u32::from(!is_charged(row, self.strict));
        if !costs_nothing(row, self.strict) && self.charged + cost > self.max_unavailable {
            return match &self.crashes {
                _ if self.lacks_budget => Hold::NoBudget,
                // In back-off the same pod is trouble that holds the whole fleet: the reason does not change with each of its crashes.
                Some((node, cause)) => Hold::Unproven { node: node.clone(), cause: *cause },
                None => Hold::Budget { used: self.charged - self.next, next: self.next, limit: self.max_unavailable },
            };
        }
        // A node that the rollout itself took down is exempt: replacing its pod can only improve it.
        let may_recover = !row.available && row.blame != Some(Blame::Rollout);
        if may_recover && self.unready == Unready::Waits {
            return Hold::NotProven;
        }
        if self.require_image && row.lacks_required_images() {
            return Hold::ImageAbsent(ImageWait::Coming);
        }
        // A node that already pulls in vain keeps its slot for the new image. Where more pull in vain than may pull, as after a lower limit, only so many go.
        let pulls_already = row.pulls || (row.warms_target && !nodes.warm_pods_go);
        let lacks_images = row.image != ImageState::Present;
        let pulls = lacks_images && !pulls_already;
        let too_many_keep_slots = lacks_images && row.pulls && self.lack_images >= self.max_pulling;
        if pulls && self.pulling >= self.max_pulling || too_many_keep_slots {
            let (used, next) = (self.pulling - self.next_pulls, self.next_pulls);
            return Hold::PullLimit { used, next, limit: self.max_pulling };
        }
        if pulls && let Some((site, used, limit)) = self.sites.full(row, nodes) {
            return Hold::SitePullLimit { site, used, limit };
        }
        // The record has to name a node before its pod is deleted: the next driver has to know of it.
        if row.bytes_to_name > self.room_for_names {
            return Hold::RecordFull;
        }
        self.room_for_names -= row.bytes_to_name;
        if let Some(unproven) = self.unproven.as_mut().filter(|_| row.ready) {
            unproven.room -= 1;
        }
        self.charged += cost;
        self.next += cost;
        self.pulling += u32::from(pulls);
        self.next_pulls += u32::from(pulls);
        self.lack_images += u32::from(lacks_images);
        if pulls {
            self.sites.take(row, nodes);
        }
        // Only one goes, and it is that one, also where it is a node that the rollout took down or is about to take down.
        if !row.available && self.unready == Unready::OneMayGo {
            self.unready = Unready::Waits;
        }
        Hold::Next
    }
}

/// Whether the new revision is in trouble on this node: the cause or the restarts of its pod speak against the revision, or the pod
/// is refused or missing for too long and no operator resumed past that. A node that has failed already counts toward the failure
/// threshold instead, except where pods are refused: that would happen to the next node, too.
fn is_in_trouble(row: &Row) -> bool {
    let speaks = || !row.available && row.cause.as_ref().is_some_and(|cause| cause.kind.speaks_against_revision());
    let restarts = || row.restarted.as_deref().copied().is_some_and(RestartsView::speaks_against_revision);
    let starts_badly = || row.at_target && row.state != NodeState::Failed && (speaks() || restarts());
    row.in_fleet && (row.unreplaced || starts_badly())
}

/// Whether its pod at the target crashes again and again, is not available, and has not failed yet.
fn crashes_while_down(row: &Row) -> bool {
    let speaks = || row.crash_loop.is_some_and(|crash_loop| crash_loop.cause.speaks_against_revision());
    row.in_fleet && row.at_target && !row.available && row.state != NodeState::Failed && speaks()
}

/// Deterministic order. Nodes that the rollout broke come first. Nodes that are down by themselves follow if the image is proven or on the
/// way back, and come last otherwise. The others are ordered by whether they have the image, by restarts of their pods, by the place that
/// their site gives them, and by natural name. Nodes whose deletion was refused come at the very end.
fn sort_candidates(
    candidates: &mut [&Row],
    broken_first: bool,
    site_places: &[u64],
    natural: &[u32],
    obstacles: &Obstacles<'_>,
) {
    candidates.sort_by_cached_key(|row| {
        let late = match row.blame {
            Some(Blame::Rollout) => 0,
            None => 2,
            Some(_) if broken_first => 1,
            Some(_) => 3,
        };
        let natural = natural.get(row.node).copied().unwrap_or(u32::MAX);
        let refused = (obstacles.refused)(row).is_some();
        let place = site_places.get(row.node).copied().unwrap_or(u64::MAX);
        (refused, late, row.image != ImageState::Present, row.restarts, place, natural)
    });
}
