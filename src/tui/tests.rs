//! What the console shows and does, from hand-made snapshots and typed keys; no cluster, no terminal, no clock.

mod bytes;
mod chaos;
mod console;
mod diagnosis;
mod dialogs;
mod distance;
mod events;
mod filter;
mod filtering;
mod fixtures;
mod fleet;
mod halts;
mod help;
mod hostile;
mod identity;
mod keys;
mod node_list;
mod node_map;
mod node_page;
mod prewarm;
mod reach;
mod release;
mod revisions;
mod rows;
mod screens;
mod unsent;
