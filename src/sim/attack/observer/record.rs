//! The record: the requests of operators stay in it until operators request something else.

use std::time::Duration;

use super::Observer;
use crate::engine::model::Str;
use crate::engine::model::record::{Change, RECORD, RECORD_LIMIT, Record};
use crate::engine::model::time::Timestamp;
use crate::sim::world::object::Object;

/// The longest time between two renewals of a driver.
const ALIVE: Duration = Duration::from_secs(8);
/// The time within which a given command must be in the record.
pub(super) const COMMAND_TAKES: Duration = Duration::from_secs(120);

/// The name of a person who pauses with an editor, without regard for the rest of the record.
const BY_HAND: &str = "somebody";

/// The process that holds the Lease, and since when it has held it without a break.
#[derive(Debug)]
pub(super) struct Driving {
    who: Str,
    pub(super) since: Timestamp,
    /// The Lease's `renewTime`; `renewed_at` is the time at which this value was written.
    written: Option<Timestamp>,
    renewed_at: Timestamp,
}

impl Driving {
    pub(super) fn is_alive(&self, at: Timestamp) -> bool {
        self.renewed_at + ALIVE >= at
    }
}

impl Observer {
    /// Whether this console holds the Lease.
    pub(super) fn drives(&self, console: &Str) -> bool {
        self.driver.as_ref().is_some_and(|driver| driver.who == *console)
    }

    pub(super) fn lease_is(&mut self, object: &Object, gone: bool, at: Timestamp) {
        self.driver_is(object, gone, at);
        self.throttle_is_of_driver();
        self.absent.holder_is(self.driver.as_ref().map(|driver| driver.who.clone()), at);
        let text = object.meta.annotations.get(RECORD).filter(|_| !gone);
        if text == self.record_text.as_ref() {
            return;
        }
        if let Some(text) = text.filter(|text| text.len() > RECORD_LIMIT) {
            self.report_violation("P7", at, format!("the record takes {} bytes, more than {RECORD_LIMIT}", text.len()));
        }
        let record = text.and_then(|text| Record::parse(text).ok());
        self.record_text = text.cloned();
        let target = |record: Option<&Record>| record.and_then(|record| record.intent.target.clone());
        let was = self.records.now().and_then(Option::as_ref);
        let began = |record: Option<&Record>| record.is_some_and(|record| record.progress.started_at.is_some());
        if was.is_none() || record.is_none() || (began(was) && !began(record.as_ref())) {
            // After a release the DaemonSet's own controller is responsible for nodes that are down; an operator who released
            // early accepted this.
            self.taken_down.clear();
            self.pulling.clear();
        }
        // No rolldeck deletes a Lease. A deleted Lease was deleted by hand or with its DaemonSet, so this does not complete a
        // release.
        let released =
            !gone && record.is_none() && text.is_none() && was.is_some_and(|was| was.intent.releasing.is_some());
        if target(was) != target(record.as_ref()) {
            self.replaced.clear();
        }
        if let Some(what) = was.and_then(|was| self.lost(was, record.as_ref(), at)) {
            self.report_violation("P7", at, what);
        }
        self.image_is(record.as_ref(), at);
        self.change_is(record.as_ref(), at);
        self.release_ends_prewarming(record.as_ref(), released, at);
        if released {
            self.check_tidy(at);
        }
        self.pause_delay.record_is(record.as_ref(), at);
        self.records.is(at, record);
    }

    /// P7: the record requests an image no more often than operators did.
    fn image_is(&mut self, record: Option<&Record>, at: Timestamp) {
        let images = |record: Option<&Record>| match record?.intent.change.as_ref()? {
            Change::Images(images) => Some(images.clone()),
            Change::Revision(_) | Change::LaterRevision(_) => None,
        };
        let before = images(self.records.now().and_then(Option::as_ref));
        // If the record is deleted before the answer to a write is back, or unseen, the console cannot know that its write
        // succeeded. So it may write the same request again.
        let unknown = self.misses_versions || (!self.network_is_fine && self.image_written_at + self.slack >= at);
        if unknown && record.is_none() {
            self.images_requested.values_mut().for_each(|left| *left = (*left).max(1));
        }
        if let Some(images) = images(record).filter(|now| before.as_ref() != Some(now)) {
            self.image_written_at = at;
            let left = self.images_requested.entry(images).or_default();
            *left -= 1;
            if *left < 0 {
                self.report_violation("P7", at, "an image is to be set again that nobody asked for again".to_owned());
            }
        }
    }

    /// P7: a pause that ended although no operator ended it, or a record that is gone although nobody released it.
    fn lost(&self, was: &Record, record: Option<&Record>, at: Timestamp) -> Option<String> {
        let requested = self.resumptions.iter().any(|(_, given_at)| *given_at + COMMAND_TAKES >= at);
        let of = |record: &Record| record.daemonset_uid.clone().zip(record.progress.started_at);
        if let (Some((old, began)), Some((new, still))) = (of(was), record.and_then(of))
            && old != new
            && began == still
        {
            return Some("what was recorded of one DaemonSet goes on with another".to_owned());
        }
        // A record that replaces the one of another DaemonSet loses nothing.
        let there = self.daemon_set.as_ref().map(|set| &set.uid);
        let foreign = was.daemonset_uid.is_some() && was.daemonset_uid.as_ref() != there;
        if requested || foreign || self.record_lost_at.is_some_and(|lost_at| lost_at + COMMAND_TAKES >= at) {
            return None;
        }
        let (releasing, paused) = (&was.intent.releasing, &was.intent.paused);
        let Some(record) = record else {
            return releasing.is_none().then(|| "the record is gone, and nobody had released it".to_owned());
        };
        if let (Some(now), None, Some(_)) = (&record.intent.paused, paused, &record.intent.releasing)
            && *now.by != *BY_HAND
        {
            return Some(format!("paused by {}, and it is still to be released", now.by));
        }
        // A release ends the rollout together with its pause. A rollout that begins in the same write is another one.
        let over = releasing.is_some() && record.progress.started_at.is_none();
        let paused = paused.as_ref().filter(|_| !over && record.intent.paused.is_none())?;
        Some(format!("a pause by {} ended, and nobody had asked for it", paused.by))
    }

    fn driver_is(&mut self, object: &Object, gone: bool, at: Timestamp) {
        let lease = object.lease().filter(|_| !gone);
        let held = lease.and_then(|lease| Some((lease, lease.holder.clone().filter(|holder| !holder.is_empty())?)));
        self.driver = held.map(|(lease, who)| match self.driver.take().filter(|known| known.who == who) {
            // A write of another process into the record does not renew the Lease.
            Some(known) if known.written == lease.renewed_at => known,
            known => Driving {
                since: known.filter(|known| known.is_alive(at)).map_or(at, |known| known.since),
                who,
                written: lease.renewed_at,
                renewed_at: at,
            },
        });
    }
}
