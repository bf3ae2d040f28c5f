//! The pace of a site on links that are simulated here: what they bear is known, so it can be said what is to come of it.

use proptest::prelude::*;

use super::*;

const MOST: u32 = 16;
/// Of an image, in bytes.
const IMAGE: f64 = 400e6;

fn at(secs: f64) -> Timestamp {
    Timestamp::from_millis((secs * 1_000.0) as i64)
}

/// A link over which each pull gets so many bytes a second at most, and all of them together so many.
#[derive(Clone, Copy, Debug)]
struct TestLink {
    each: f64,
    all: f64,
    /// Images differ in size by up to this part, as far as can be told from their rates.
    noise: f64,
    /// With more pulls than this a node loses its Lease in each round.
    bears: u32,
}

impl TestLink {
    /// On which so many pulls are worthwhile.
    fn with_knee(knee: f64) -> Self {
        Self { each: 2e6, all: 2e6 * knee, noise: 0.0, bears: u32::MAX }
    }
}

/// What came of it.
#[derive(Debug)]
struct Ran {
    /// The limit after each pull.
    limits: Vec<u32>,
    /// Bytes a second over its second half.
    throughput: f64,
}

impl Ran {
    /// The mean limit over the second half.
    fn settled(&self) -> f64 {
        let half = &self.limits[self.limits.len() / 2..];
        half.iter().map(|limit| f64::from(*limit)).sum::<f64>() / half.len() as f64
    }
}

/// A number from 0 to 1, as if by chance.
fn next_part(dice: &mut u64) -> f64 {
    *dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    f64::from((*dice >> 33) as u32) / f64::from(u32::MAX >> 1)
}

/// Has so many nodes pull, as many at once as may.
fn run(link: TestLink, most: u32, nodes: usize, seed: u64) -> Ran {
    let mut dice = seed;
    let mut pace = SitePace::new(at(0.0));
    let mut now = 0.0;
    // When it began, and how many bytes are left.
    let mut pulls: Vec<(f64, f64)> = Vec::new();
    let mut ran = Ran { limits: Vec::new(), throughput: 0.0 };
    let mut half_at = 0.0;
    while ran.limits.len() < nodes {
        while pulls.len() < pace.limit(most) as usize {
            let size = IMAGE * (1.0 + link.noise * (2.0 * next_part(&mut dice) - 1.0));
            pulls.push((now, size));
        }
        let running = u32::try_from(pulls.len()).unwrap();
        pace.pulling(running, most, at(now));
        let rate = link.each.min(link.all / f64::from(running));
        let next = (0..pulls.len()).min_by(|a, b| pulls[*a].1.total_cmp(&pulls[*b].1)).unwrap();
        let (began, left) = pulls.swap_remove(next);
        now += left / rate;
        pulls.iter_mut().for_each(|(_, rest)| *rest -= left);
        if running > link.bears {
            pace.flapped(&"ipc-017".into(), Flap::NotReady, at(now));
        }
        pace.ended(EndedPull { began: at(began), ended: at(now), bytes: Some(IMAGE as u64) }, most, at(now));
        pace.pulling(running - 1, most, at(now));
        ran.limits.push(pace.limit(most));
        if ran.limits.len() == nodes / 2 {
            half_at = now;
        }
    }
    ran.throughput = IMAGE * (nodes - nodes / 2) as f64 / (now - half_at);
    ran
}

#[derive(Clone, Debug)]
enum Signal {
    Pulling(u32),
    Ended { secs: u32, ago: u32, bytes: Option<u64> },
    Flapped,
    Most(u32),
}

fn signal() -> impl Strategy<Value = Signal> {
    prop_oneof![
        (0..20_u32).prop_map(Signal::Pulling),
        (0..200_u32, 0..50_u32, proptest::option::of(0..2_000_000_000_u64))
            .prop_map(|(secs, ago, bytes)| Signal::Ended { secs, ago, bytes }),
        Just(Signal::Flapped),
        (1..12_u32).prop_map(Signal::Most),
    ]
}

proptest! {
    #[test]
    fn whatever_is_seen_it_keeps_to_the_limit_of_operators(all in proptest::collection::vec(signal(), 0..400)) {
        let mut pace = SitePace::new(at(0.0));
        let mut most = 4;
        for (nth, signal) in all.into_iter().enumerate() {
            let now = 1_000.0 + nth as f64 * 10.0;
            match signal {
                Signal::Pulling(pulling) => pace.pulling(pulling, most, at(now)),
                Signal::Ended { secs, ago, bytes } => {
                    let ended = now - f64::from(ago);
                    let pull = EndedPull { began: at(ended - f64::from(secs)), ended: at(ended), bytes };
                    pace.ended(pull, most, at(now));
                }
                Signal::Flapped => pace.flapped(&"ipc-017".into(), Flap::LostReadiness, at(now)),
                Signal::Most(other) => most = other,
            }
            prop_assert!((1..=most).contains(&pace.limit(most)), "{pace:?} with {most}");
        }
    }

    #[test]
    fn on_a_link_that_scales_it_reaches_the_limit_of_operators(most in 1..=MOST, noise in 0.0..0.05, seed: u64) {
        let link = TestLink { noise, ..TestLink::with_knee(100.0) };
        let ran = run(link, most, 400, seed);
        prop_assert_eq!(*ran.limits.last().unwrap(), most, "{:?}", ran.limits);
        let reached = ran.limits.iter().position(|limit| *limit == most).unwrap();
        prop_assert!(reached <= (2 * most * most) as usize, "after {reached} pulls");
    }

    #[test]
    fn on_a_link_that_does_not_it_settles_at_the_knee(knee in 1..=8_u32, noise in 0.0..0.03, seed: u64) {
        let link = TestLink { noise, ..TestLink::with_knee(knee.into()) };
        let ran = run(link, MOST, 600, seed);
        let settled = ran.settled();
        prop_assert!(settled <= f64::from(knee) * 1.25 + 0.5, "{settled} at a knee of {knee}: {:?}", ran.limits);
        let share = ran.throughput / link.all;
        prop_assert!(share > 0.8, "{share} of the link at a knee of {knee}: {:?}", ran.limits);
    }

    #[test]
    fn where_nodes_flap_it_stays_below(bears in 1..=8_u32, seed: u64) {
        let link = TestLink { bears, ..TestLink::with_knee(100.0) };
        let ran = run(link, MOST, 600, seed);
        let over = ran.limits.iter().filter(|limit| **limit > bears).count();
        prop_assert!(over * 5 < ran.limits.len(), "{over} of {} pulls: {:?}", ran.limits.len(), ran.limits);
        prop_assert!(ran.limits.iter().all(|limit| *limit <= bears + 1), "{:?}", ran.limits);
        prop_assert!(ran.settled() >= f64::from(bears) * 0.6, "{:?}", ran.limits);
    }
}

/// `cargo test --lib pace -- --nocapture` prints where it settles.
#[test]
fn it_settles_at_the_knee() {
    for knee in [1.0, 2.0, 4.0, 8.0, 12.0, 100.0] {
        let link = TestLink { noise: 0.03, ..TestLink::with_knee(knee) };
        let ran = run(link, MOST, 600, 7);
        let at = ran.limits.iter().position(|limit| f64::from(*limit) >= knee.min(MOST.into())).unwrap();
        println!(
            "a link that bears {knee:>3} pulls: there after {at:>3} pulls, then {:>4.1} at once on the average, {:>3.0} % of it",
            ran.settled(),
            ran.throughput / link.all.min(link.each * f64::from(MOST)) * 100.0
        );
    }
}

fn pull(began: f64, ended: f64) -> EndedPull {
    EndedPull { began: at(began), ended: at(ended), bytes: Some(100_000_000) }
}

/// A site that has come to four pulls, the last round of which ended now: each takes ten seconds.
fn at_four() -> (SitePace, f64) {
    let mut pace = SitePace::new(at(0.0));
    let mut now = 0.0;
    for round in 1..=3_u32 {
        pace.pulling(round, MOST, at(now));
        now += 10.0;
        (0..round).for_each(|_| pace.ended(pull(now - 10.0, now), MOST, at(now)));
        assert_eq!(pace.limit(MOST), round + 1);
    }
    pace.pulling(4, MOST, at(now));
    (pace, now)
}

#[test]
fn a_node_that_flaps_halves_it_once_until_so_few_pull() {
    let (mut pace, now) = at_four();
    pace.flapped(&"ipc-017".into(), Flap::LostReadiness, at(now));
    pace.flapped(&"ipc-018".into(), Flap::NotReady, at(now + 1.0));
    assert_eq!((pace.limit(MOST), pace.why().to_string().as_str()), (2, "halved: ipc-017 lost readiness"));
    pace.pulling(2, MOST, at(now + 20.0));
    pace.flapped(&"ipc-018".into(), Flap::NotReady, at(now + 21.0));
    assert_eq!((pace.limit(MOST), pace.why().to_string().as_str()), (1, "halved: ipc-018 is not Ready"));
}

#[test]
fn pulls_that_take_clearly_longer_halve_it() {
    let (mut pace, now) = at_four();
    (0..4).for_each(|_| pace.ended(pull(now, now + 30.0), MOST, at(now + 30.0)));
    assert_eq!((pace.limit(MOST), pace.why().to_string().as_str()), (2, "halved: pulls take 3.0 times as long"));
}

#[test]
fn pulls_of_before_are_not_held_against_it() {
    let (mut pace, now) = at_four();
    // They ran while there were fewer.
    (0..3).for_each(|_| pace.ended(pull(now - 20.0, now + 5.0), MOST, at(now + 5.0)));
    (0..3).for_each(|_| pace.ended(pull(now, now + 10.0), MOST, at(now + 10.0)));
    assert_eq!(pace.limit(MOST), 4, "three of four have ended");
    pace.ended(pull(now, now + 10.0), MOST, at(now + 10.0));
    assert_eq!((pace.limit(MOST), pace.why().to_string().as_str()), (5, "raised: 4 finished, 40 MB/s"));
}

#[test]
fn a_site_that_has_less_to_do_is_not_raised() {
    let mut pace = SitePace::new(at(0.0));
    pace.ended(pull(0.0, 10.0), MOST, at(10.0));
    assert_eq!(pace.limit(MOST), 1, "nobody has seen it pull");
    pace.pulling(1, MOST, at(10.0));
    pace.ended(pull(10.0, 20.0), MOST, at(20.0));
    assert_eq!(pace.limit(MOST), 2);
    pace.pulling(1, MOST, at(20.0));
    (0..8).for_each(|_| pace.ended(pull(20.0, 30.0), MOST, at(30.0)));
    assert_eq!(pace.limit(MOST), 2, "two were never seen to pull at once");
}
