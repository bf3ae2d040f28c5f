//! The form for new images: the old and the new image of each container, and the completions.
//!
//! ```text
//! > agent         registry.example/edge/agent:v2.0.0
//!                 v1.9.0 → v2.0.0
//!                 right: agent:v1.8.2 (rev 14)  agent:v1.8.1 (rev 13)
//!   proxy         registry.example/edge/proxy:v7
//!   on drift report (pause, say who set it back)
//! ```

use ratatui::text::Line;
use tui_input::Input;

use super::{DialogBody, NAME, NARROW, fill_budget, fill_drift};
use crate::engine::model::image::{ImageRef, without_user};
use crate::tui::dialog::image::{ImageDifference, ImageLine, OfferedImage, completions};
use crate::tui::dialog::{ImageForm, PreviewState};
use crate::tui::theme::{Glyph, ThemeRole};
use crate::tui::words::{fit, fit_middle, is_wider, width, wrap};

/// The most completions that are shown.
const MOST: usize = 24;

/// `answer`: what the engine says of the change as typed.
pub(super) fn fill(body: &mut DialogBody<'_>, form: &ImageForm, answer: &PreviewState, focused: bool) {
    let is_refused = matches!(answer, PreviewState::Refused(_));
    let chosen = form.line();
    for line in form.lines() {
        let here = line == chosen;
        match line {
            ImageLine::Image(at) => {
                let Some((name, now, input)) = form.containers.get(at) else { continue };
                body.text_line((here, focused), name, input, "");
                change(body, now, input.value().trim(), is_refused);
                if input.value().trim() != &**now {
                    halted(body, &form.known, input.value().trim(), answer);
                }
                if here && focused {
                    offer(body, &form.known, input);
                }
            }
            ImageLine::Budget => fill_budget(body, &form.budget, here && focused),
            ImageLine::Drift => fill_drift(body, form.drift, here && focused),
        }
    }
}

/// The difference between the two images, with warnings.
pub(super) fn change(body: &mut DialogBody<'_>, now: &str, new: &str, is_refused: bool) {
    if now == new || new.parse::<ImageRef>().is_err() {
        return;
    }
    let difference = ImageDifference::of(without_user(now), new, body.ctx.glyph(Glyph::Arrow));
    // For an image of another repository the name is shown in full; where there is little room, only the warning names the old repository.
    let arrow = body.ctx.glyph(Glyph::Arrow);
    let cells = body.cells.saturating_sub(body.indent());
    let words = match is_wider(&difference.words, cells) && body.cells < NARROW {
        true => format!("{arrow} {new}"),
        false => difference.words,
    };
    let (words, role) = match is_refused {
        true => (format!("refused: {words}"), ThemeRole::Muted),
        false => (words, ThemeRole::Title),
    };
    for line in wrap(&words, cells) {
        body.indented(&line, role);
    }
    for warning in &difference.warnings {
        body.say(&format!("{} {warning}", body.ctx.glyph(Glyph::Alarm)), ThemeRole::Warn);
    }
}

/// Shows that the rollout halted at this image before, and why, unless the preview warns of the same halt.
fn halted(body: &mut DialogBody<'_>, known: &[OfferedImage], image: &str, answer: &PreviewState) {
    if let Some(OfferedImage { from, halted: Some(halt), .. }) = known.iter().find(|known| *known.image == *image) {
        let is_said = |warning: &String| warning.contains("halted at revision") && warning.contains(&*halt.why);
        if matches!(answer, PreviewState::Preview(preview) if preview.warnings.iter().any(is_said)) {
            return;
        }
        let said = format!("{} halted at it before ({from}): {}", body.ctx.glyph(Glyph::Alarm), halt.why);
        body.say(&said, ThemeRole::Warn);
    }
}

/// Shows the completions of the text, if there are any.
pub(super) fn offer(body: &mut DialogBody<'_>, known: &[OfferedImage], input: &Input) {
    let last = |image: &str| image.rsplit('/').next().unwrap_or(image).to_owned();
    let words: Vec<String> = completions(known, input.value())
        .map(|OfferedImage { image, from, halted }| {
            let halted = if halted.is_some() { ", halted" } else { "" };
            format!("{} ({from}{halted})", last(without_user(image)))
        })
        .collect();
    if !words.is_empty() {
        let cells = body.cells.saturating_sub(body.indent());
        body.indented(&listed("right: ", &words, cells), ThemeRole::Muted);
    }
}

/// As many of the words as fit into the cells after `name`, at least one, and the number of the others.
fn listed(name: &str, words: &[String], cells: usize) -> String {
    let said = |shown: usize| {
        let more = match words.len() - shown {
            0 => String::new(),
            more => format!("  +{more} more"),
        };
        (words[..shown].join("  "), more)
    };
    let fits = |shown: &usize| {
        let (shown, more) = said(*shown);
        width(name) + width(&shown) + width(&more) <= cells
    };
    let shown = (1..=words.len().min(MOST)).rev().find(fits).unwrap_or(1);
    let (shown, more) = said(shown);
    format!("{name}{}{more}", fit(&shown, cells.saturating_sub(width(name) + width(&more))))
}

impl DialogBody<'_> {
    /// The indentation of a line below a value; smaller on narrow screens.
    fn indent(&self) -> usize {
        if self.cells < NARROW { 2 } else { NAME + 2 }
    }

    /// A line with a text field after `name`; `default` explains an empty field.
    pub(super) fn text_line(&mut self, (chosen, focused): (bool, bool), name: &str, input: &Input, default: &str) {
        let ctx = self.ctx;
        // Where cells are few, an image needs those beside a short name.
        let least = if default.is_empty() { 0 } else { NAME - 2 };
        let name = match self.cells < NARROW {
            true => format!("{:1$}  ", fit_middle(name, NAME - 2), least),
            false => format!("{:NAME$}", fit_middle(name, NAME - 1)),
        };
        if !chosen {
            let value = if input.value().is_empty() { default } else { input.value() };
            return self.choice(false, &format!("{name}{value}"));
        }
        self.focus_line = Some(self.lines.len());
        let name = ctx.span(format!("{} {name}", ctx.glyph(Glyph::Cursor)), ThemeRole::Title);
        self.field(name, input, focused);
        if !input.value().is_empty() || default.is_empty() {
            return;
        }
        // What an empty field means is not cut.
        let room = self.cells.saturating_sub(self.lines.last().map_or(0, Line::width) + 1);
        match self.lines.last_mut() {
            Some(line) if width(default) <= room => line.spans.push(ctx.span(format!(" {default}"), ThemeRole::Muted)),
            _ => {
                let (indent, cells) = (self.indent(), self.cells.saturating_sub(self.indent()));
                let wrapped: Vec<String> = wrap(default, cells).map(|text| format!("{:indent$}{text}", "")).collect();
                self.lines.extend(wrapped.into_iter().map(|text| Line::from(ctx.span(text, ThemeRole::Muted))));
            }
        }
    }

    /// A line of text below the value of the line above, cut at the right edge.
    pub(super) fn indented(&mut self, text: &str, role: ThemeRole) {
        let indent = self.indent();
        let text = fit(text, self.cells.saturating_sub(indent)).into_owned();
        self.lines.push(Line::from(self.ctx.span(format!("{:indent$}{text}", ""), role)));
    }
}
