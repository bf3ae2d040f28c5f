//! Files of a room do not import each other in a circle.

use std::collections::{BTreeMap, BTreeSet};

use super::source::File;
use super::{ARROWS, House, room_of_path};

/// A file and the files in its folder count as one.
#[test]
fn no_files_of_a_room_import_each_other_in_a_circle() {
    let files = House::of_this_crate().files();
    for (room, _) in ARROWS.iter().filter(|(room, _)| *room != "main") {
        assert_eq!(circles(&files, room), Vec::<Vec<String>>::new(), "circles in {room}");
    }
}

#[test]
fn a_circle_is_found() {
    let file = |name: &str, source: &str| File::new(format!("src/engine/model/{name}.rs"), source);
    let files = [
        file("facts", "use super::record::Record;"),
        file("record", "mod size; use crate::engine::model::time::Timestamp;"),
        file("record/size", "use super::Record; use crate::engine::model::facts::LeaseFact;"),
        file("time", "#[cfg(test)] mod tests { use super::super::record::Record; }"),
    ];
    assert_eq!(circles(&files, "engine::model"), [["facts", "record"]]);
    assert!(circles(&files[..2], "engine::model").is_empty());
}

/// The files of a room that can be reached from themselves, in groups.
fn circles(files: &[File], room: &str) -> Vec<Vec<String>> {
    let depth = room.split("::").count();
    let mut arrows: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in files.iter().filter(|file| file.room().as_deref() == Some(room)) {
        let module = file.module();
        let Some(from) = module.get(depth).filter(|_| !module.iter().any(|part| part == "tests")) else { continue };
        let paths = file.paths().into_iter().filter(|path| !path.in_tests);
        let inside = paths.filter(|path| room_of_path(&path.absolute).as_deref() == Some(room));
        let to = inside.filter_map(|path| path.absolute.get(depth + 1).cloned());
        arrows.entry(from.clone()).or_default().extend(to.filter(|to| to != from));
    }
    let reached = |from: &String| {
        let mut seen = BTreeSet::new();
        let mut next = vec![from];
        while let Some(file) = next.pop() {
            next.extend(arrows.get(file).into_iter().flatten().filter(|to| seen.insert((*to).clone())));
        }
        seen
    };
    let reach: BTreeMap<&String, BTreeSet<String>> = arrows.keys().map(|file| (file, reached(file))).collect();
    let mut circles: Vec<Vec<String>> = Vec::new();
    for (file, reached) in &reach {
        if reached.contains(*file) && !circles.iter().flatten().any(|known| known == *file) {
            let back = |other: &&String| reach.get(other).is_some_and(|reached| reached.contains(*file));
            circles.push(reached.iter().filter(back).cloned().collect());
        }
    }
    circles
}
