//! Carries out the effects that an update asks for: commands are given, questions asked, pages opened, files written.
//! Answers come back as messages.

use std::sync::PoisonError;

use tokio::sync::{mpsc, watch};
use tokio_util::task::AbortOnDropHandle;

use super::{AnsweredSession, ConsoleLoop, LoopStep, save, site_file};
use crate::driver::Rollout;
use crate::engine::model::Str;
use crate::engine::model::config::Role;
use crate::tui::daemonset_ref::DaemonSetRef;
use crate::tui::message::{ConsoleEffect, Msg};
use crate::tui::status::StatusSeverity;

impl ConsoleLoop {
    pub(super) fn perform(&mut self, effects: Vec<ConsoleEffect>) -> LoopStep {
        let mut next = LoopStep::Wait;
        for effect in effects {
            match effect {
                ConsoleEffect::Open(target) => self.open(target),
                ConsoleEffect::Close(target) => {
                    self.rollouts.remove(&target);
                }
                ConsoleEffect::Fleet(namespace) => {
                    let mut fleet = self.session.fleet(namespace.as_deref());
                    fleet.mark_changed();
                    self.announce(fleet.clone());
                    self.fleet = Some(fleet);
                }
                ConsoleEffect::Ask { target, serial, command } => {
                    self.ask(&target, |rollout, answers| async move {
                        let preview = rollout.preview(command).await.map(Box::new);
                        let _ = answers.send(Msg::Previewed(serial, preview)).await;
                    });
                }
                ConsoleEffect::Do { target, command } => {
                    let to = target.clone();
                    self.ask(&target, |rollout, answers| async move {
                        let _ = answers.send(Msg::Done(to, rollout.command(command).await)).await;
                    });
                }
                ConsoleEffect::Inspect { serial, namespace, node, pod } => {
                    let mut read = self.session.inspect(&namespace, &node, pod.as_deref());
                    let answers = self.answers.0.clone();
                    let reader = tokio::spawn(async move {
                        while read.changed().await.is_ok() {
                            let inspection = read.borrow_and_update().clone();
                            if answers.send(Msg::Inspected(serial, inspection)).await.is_err() {
                                return;
                            }
                        }
                    });
                    self.readers.insert(serial, AbortOnDropHandle::new(reader));
                }
                ConsoleEffect::ReadLog { serial, source } => {
                    let mut read = self.session.read_log(source);
                    let answers = self.answers.0.clone();
                    let reader = tokio::spawn(async move {
                        while let Some(news) = read.recv().await {
                            if answers.send(Msg::Log(serial, news)).await.is_err() {
                                return;
                            }
                        }
                    });
                    self.readers.insert(serial, AbortOnDropHandle::new(reader));
                }
                ConsoleEffect::Save { screen, rollout } => {
                    let (context, answers) = (self.session.context().to_owned(), self.answers.0.clone());
                    tokio::spawn(async move {
                        let saved = save::save(context, screen, rollout).await;
                        let _ = answers.send(Msg::Said(saved.0, saved.1)).await;
                    });
                }
                ConsoleEffect::RememberSite { target, label } => self.remember_site(target, label),
                ConsoleEffect::Connect(context) => self.connect(context),
                ConsoleEffect::Switch { context, driven } => next = LoopStep::Switch(context, driven),
                ConsoleEffect::Copy(text) => self.screen.copy(&text),
                ConsoleEffect::Call if self.notify.bell => self.screen.ring(),
                ConsoleEffect::Call => {}
                ConsoleEffect::Repaint => self.screen.forget(),
                ConsoleEffect::Suspend => next = self.on_suspend_key(),
                ConsoleEffect::Quit(driven) => next = LoopStep::Quit(driven),
            }
        }
        next
    }

    /// Has the choice written beside the loop, because a disk may be slow.
    fn remember_site(&self, target: DaemonSetRef, label: Option<String>) {
        let Some(file) = self.site_file.clone() else { return };
        let (context, answers) = (self.session.context().to_owned(), self.answers.0.clone());
        let written =
            tokio::task::spawn_blocking(move || site_file::remember(&file, &context, &target, label.as_deref()));
        tokio::spawn(async move {
            if let Ok(Err(why)) = written.await {
                let _ = answers.send(Msg::Said(StatusSeverity::Refused, why)).await;
            }
        });
    }

    pub(super) fn open(&mut self, target: DaemonSetRef) {
        let mut rollout = self.session.open(&target.namespace, &target.name, Role::Driver);
        rollout.snapshots.mark_changed();
        self.announce(rollout.snapshots.clone());
        self.rollouts.insert(target, rollout);
    }

    /// Connects to the cluster of another context, while the loop goes on.
    fn connect(&self, context: Str) {
        let opening = self.session.on_context(&context);
        let (answered, answers) = (self.answered.clone(), self.answers.0.clone());
        tokio::spawn(async move {
            let answer = opening.await.map(|session| {
                *answered.lock().unwrap_or_else(PoisonError::into_inner) =
                    Some(AnsweredSession { context: context.clone(), session });
            });
            let answer = answer
                .map_err(|error| std::iter::once(error.message).chain(error.hints).collect::<Vec<_>>().join("; "));
            let _ = answers.send(Msg::Connected(context, answer)).await;
        });
    }

    /// Wakes the loop whenever `changes` has a new value, and when its sender is gone.
    pub(super) fn announce<T: Send + Sync + 'static>(&self, mut changes: watch::Receiver<T>) {
        let news = self.news.clone();
        tokio::spawn(async move {
            loop {
                news.notify_one();
                if changes.changed().await.is_err() {
                    news.notify_one();
                    return;
                }
            }
        });
    }

    /// Puts a question to a rollout's driver; the loop does not wait for the answer.
    pub(super) fn ask<F>(&self, target: &DaemonSetRef, question: impl FnOnce(Rollout, mpsc::Sender<Msg>) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        if let Some(rollout) = self.rollouts.get(target) {
            tokio::spawn(question(rollout.clone(), self.answers.0.clone()));
        }
    }
}
