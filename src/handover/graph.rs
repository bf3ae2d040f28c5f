//! Graphs over time, as SVG within the page: steps that hold until the next one.

use maud::{Markup, html};

use crate::engine::model::time::Timestamp;
use crate::engine::report::node_story::clock_time;

/// The size of the picture in units of its own; the page scales it.
const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 200.0;
/// Room for the numbers at the left, and for the times below.
const LEFT: f64 = 48.0;
const BELOW: f64 = 24.0;
const ABOVE: f64 = 10.0;
/// The number of times below the graph.
const TICKS: i64 = 6;

/// A graph of one number over time.
pub(super) struct Graph<'a> {
    /// A description for people who cannot see the graph.
    pub(super) title: &'a str,
    /// Its colour, as a class of the page.
    pub(super) class: &'static str,
    /// The beginning and the end.
    pub(super) from: Timestamp,
    pub(super) to: Timestamp,
    /// The number from each instant on, oldest first.
    pub(super) points: Vec<(Timestamp, u32)>,
    /// The number at the top.
    pub(super) most: u32,
    /// A limit that is drawn as a line.
    pub(super) limit: Option<u32>,
    /// Marked instants, each with its event.
    pub(super) marks: Vec<(Timestamp, &'a str)>,
}

impl Graph<'_> {
    fn x(&self, at: Timestamp) -> f64 {
        let span = (self.to.millis() - self.from.millis()).max(1) as f64;
        let since = (at.millis() - self.from.millis()) as f64;
        LEFT + (since / span).clamp(0.0, 1.0) * (WIDTH - LEFT - 8.0)
    }

    fn y(&self, count: u32) -> f64 {
        let share = f64::from(count) / f64::from(self.most.max(1));
        HEIGHT - BELOW - share.min(1.0) * (HEIGHT - BELOW - ABOVE)
    }

    /// The path of the steps: `M48 176 H120 V90`.
    fn path(&self) -> String {
        let mut path = String::new();
        for (at, count) in &self.points {
            let (x, y) = (self.x(*at), self.y(*count));
            path.push_str(&if path.is_empty() { format!("M{x:.1} {y:.1}") } else { format!("H{x:.1}V{y:.1}") });
        }
        if !path.is_empty() {
            path.push_str(&format!("H{:.1}", self.x(self.to)));
        }
        path
    }

    pub(super) fn svg(&self) -> Markup {
        let half = self.most / 2;
        let scale = if half == 0 { vec![0, self.most] } else { vec![0, half, self.most] };
        let span = self.to.millis() - self.from.millis();
        let ticks = (0..TICKS).map(|nth| Timestamp::from_millis(self.from.millis() + span * nth / (TICKS - 1)));
        html! {
            svg viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" aria-label=(self.title) {
                title { (self.title) }
                @for count in scale {
                    @let y = format!("{:.1}", self.y(count));
                    line.grid x1=(LEFT) x2=(WIDTH - 8.0) y1=(y) y2=(y) {}
                    text.end x=(LEFT - 6.0) y=(y) dy="4" { (count) }
                }
                @for (nth, at) in (0..TICKS).zip(ticks) {
                    // The last label would extend beyond the picture.
                    @let class = if nth == TICKS - 1 { "end" } else { "middle" };
                    text class=(class) x=(format!("{:.1}", self.x(at))) y=(HEIGHT - 6.0) { (clock_time(at)) }
                }
                @if let Some(limit) = self.limit.filter(|limit| *limit <= self.most) {
                    @let y = format!("{:.1}", self.y(limit));
                    line.limit x1=(LEFT) x2=(WIDTH - 8.0) y1=(y) y2=(y) { title { "limit: " (limit) } }
                }
                path class=(self.class) d=(self.path()) {}
                @for (at, what) in &self.marks {
                    @let x = format!("{:.1}", self.x(*at));
                    line.mark x1=(x) x2=(x) y1=(ABOVE) y2=(HEIGHT - BELOW) { title { (clock_time(*at)) " " (what) } }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn graph(points: &[(u64, u32)], most: u32) -> Graph<'static> {
        let began = Timestamp::from_millis(1_000_000);
        let at = |secs: u64| began + Duration::from_secs(secs);
        let points = points.iter().map(|(secs, count)| (at(*secs), *count)).collect();
        Graph {
            title: "updated",
            class: "updated",
            from: began,
            to: at(100),
            points,
            most,
            limit: Some(2),
            marks: vec![],
        }
    }

    #[test]
    fn each_number_holds_until_the_next() {
        // 904 units wide from 48 on: ten seconds are 90.4. 166 units high above 176.
        assert_eq!(graph(&[(0, 0), (50, 2), (100, 4)], 4).path(), "M48.0 176.0H500.0V93.0H952.0V10.0H952.0");
        assert_eq!(graph(&[], 4).path(), "");
    }

    #[test]
    fn nothing_that_it_is_given_makes_it_draw_outside_of_the_picture() {
        for most in [0, 1, u32::MAX] {
            let graph = graph(&[(0, u32::MAX), (1_000_000, 7), (3, 0)], most);
            let numbers = graph.path().replace(['M', 'H', 'V'], " ");
            for number in numbers.split_whitespace().map(|number| number.parse::<f64>().unwrap()) {
                assert!((0.0..=WIDTH).contains(&number), "{number} with {most}");
            }
        }
        let instant = Graph { to: Timestamp::from_millis(1_000_000), ..graph(&[(0, 1)], 1) };
        assert!(!instant.svg().into_string().contains("NaN"));
    }
}
