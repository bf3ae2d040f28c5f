//! A console to show snapshots to, and to type to.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use crossterm::event::KeyCode;
use ratatui::buffer::Buffer;
use ratatui::layout::Size;

use super::fixtures::the_target;
use crate::engine::model::command::Preview;
use crate::engine::report::snapshot::Snapshot;
use crate::tui::columns::nodes::NODE_COLUMNS;
use crate::tui::key::Key;
use crate::tui::key_map::KeyMap;
use crate::tui::message::{ConsoleEffect, Msg};
use crate::tui::model::{Model, Overlay, Page, Uptime, WriteAccess};
use crate::tui::theme::{Depth, Glyphs, Themes};
use crate::tui::update::update;
use crate::tui::view;

/// The built-in themes. They are read once, not for each of the thousands of consoles that tests make.
static THEMES: LazyLock<Themes> = LazyLock::new(|| {
    let (themes, complaints) = Themes::load(None, Depth::Ansi);
    assert_eq!(complaints, Vec::<String>::new());
    themes
});

/// A console, with what it asked of the outside.
pub(super) struct TestConsole {
    pub(super) model: Model,
    pub(super) effects: Vec<ConsoleEffect>,
    pub(super) now: Uptime,
}

impl TestConsole {
    /// A console on the fleet list.
    pub(super) fn on_fleet(width: u16, height: u16) -> Self {
        let model = Model {
            practice: false,
            context: "prod-eu".into(),
            cluster_flags: Some("--context prod-eu".to_owned()),
            warnings: Vec::new(),
            default_namespace: "default".into(),
            namespaces: ["default".into()].into(),
            contexts: vec!["prod-eu".to_owned(), "prod-us".to_owned(), "staging".to_owned()],
            protected: false,
            connecting: None,
            size: Size::new(width, height),
            now: Uptime::ZERO,
            themes: THEMES.clone(),
            glyphs: Glyphs::Unicode,
            node_columns: NODE_COLUMNS.to_vec(),
            keys: KeyMap::default(),
            bookmarks: Vec::new(),
            access: WriteAccess::ReadOnly,
            page: Page::Fleet,
            fleet: None,
            rollouts: Vec::new(),
            overlay: Overlay::None,
            status: None,
            chosen_sites: HashMap::new(),
            closed_stories: Vec::new(),
            have_been_driven: Vec::new(),
            history: Vec::new(),
            serial: 0,
        };
        let mut console = Self { model, effects: Vec::new(), now: Uptime::ZERO };
        console.effects = crate::tui::commands::fleet(&mut console.model, "");
        console
    }

    /// A console on a rollout that shows this.
    pub(super) fn on(snapshot: Snapshot, width: u16, height: u16) -> Self {
        let mut console = Self::on_fleet(width, height);
        console.effects = crate::tui::commands::open_rollout(&mut console.model, the_target());
        console.see(snapshot);
        console
    }

    pub(super) fn tell(&mut self, msg: Msg) {
        let effects = update(&mut self.model, msg, self.now);
        self.effects.extend(effects);
    }

    pub(super) fn see(&mut self, snapshot: Snapshot) {
        self.tell(Msg::Snapshot(the_target(), Arc::new(snapshot)));
    }

    /// The same with all DaemonSets listed.
    pub(super) fn with_fleet(mut self) -> Self {
        self.tell(Msg::Fleet(super::fixtures::fleet().into()));
        self
    }

    pub(super) fn wait(&mut self, secs: u64) {
        self.now += Duration::from_secs(secs);
        self.tell(Msg::Tick);
    }

    /// Types: characters as they are, other keys by name in angle brackets.
    pub(super) fn typed(mut self, keys: &str) -> Self {
        self.type_keys(keys);
        self
    }

    pub(super) fn type_keys(&mut self, keys: &str) {
        for key in parse_keys(keys) {
            self.tell(Msg::Key(key));
        }
    }

    /// Answers the last question to the driver.
    pub(super) fn answered(mut self, preview: Preview) -> Self {
        let serial = self.model.serial;
        self.tell(Msg::Previewed(serial, Ok(Box::new(preview))));
        self
    }

    pub(super) fn frame(&self) -> Buffer {
        view::draw(&self.model).0
    }

    /// The screen as text.
    pub(super) fn screen(&self) -> String {
        text_of(&self.frame())
    }
}

pub(super) fn text_of(buffer: &Buffer) -> String {
    let width = usize::from(buffer.area.width);
    let mut text = String::new();
    for row in buffer.content().chunks(width.max(1)) {
        let line: String = row.iter().map(|cell| cell.symbol()).collect();
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

fn parse_keys(text: &str) -> Vec<Key> {
    let mut keys = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if let Some((name, after)) = rest.strip_prefix('<').and_then(|named| named.split_once('>')) {
            keys.push(match name {
                "enter" => Key::plain(KeyCode::Enter),
                "esc" => Key::plain(KeyCode::Esc),
                "tab" => Key::plain(KeyCode::Tab),
                "shift-tab" | "s-tab" => Key::plain(KeyCode::BackTab),
                "lt" => Key::char('<'),
                "up" => Key::plain(KeyCode::Up),
                "down" => Key::plain(KeyCode::Down),
                "left" => Key::plain(KeyCode::Left),
                "right" => Key::plain(KeyCode::Right),
                "pgdn" => Key::plain(KeyCode::PageDown),
                "pgup" => Key::plain(KeyCode::PageUp),
                "end" => Key::plain(KeyCode::End),
                "backspace" => Key::plain(KeyCode::Backspace),
                "f5" => Key::plain(KeyCode::F(5)),
                "c-c" => Key::ctrl('c'),
                "c-r" => Key::ctrl('r'),
                "c-s" => Key::ctrl('s'),
                "c-u" => Key::ctrl('u'),
                "c-y" => Key::ctrl('y'),
                "c-z" => Key::ctrl('z'),
                other => panic!("no key {other}"),
            });
            rest = after;
        } else {
            keys.push(Key::char(c));
            rest = &rest[c.len_utf8()..];
        }
    }
    keys
}
