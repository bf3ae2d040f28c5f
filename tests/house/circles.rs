//! Files of a room do not import each other in a circle, at any depth of folders.

use std::collections::{BTreeMap, BTreeSet};

use super::source::File;
use super::{ARROWS, House, room_of_path};

/// A file counts as one with the files in its folder.
#[test]
fn no_files_of_a_room_import_each_other_in_a_circle() {
    let files = House::of_this_crate().files();
    let rooms = ARROWS.iter().filter(|(room, _)| *room != "main");
    let found: Vec<_> =
        rooms.map(|(room, _)| (room, circles(&files, room))).filter(|(_, found)| !found.is_empty()).collect();
    assert_eq!(found, []);
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

#[test]
fn a_circle_inside_a_folder_is_found() {
    let file = |name: &str, source: &str| File::new(format!("src/engine/model/{name}.rs"), source);
    let files = [
        file("record", "mod size; mod kept; use self::size::Size;"),
        file("record/size", "use super::Record; use super::kept::Kept;"),
        file("record/kept", "use crate::engine::model::record::size::Size;"),
        file("record/kept/tests", "use super::super::other::Other;"),
        file("record/other", "use super::kept::Kept;"),
    ];
    assert_eq!(circles(&files, "engine::model"), [["kept", "size"]]);
    assert!(circles(&files[..2], "engine::model").is_empty(), "a file and the one that declares it");
}

#[test]
fn a_circle_through_what_a_folder_passes_on_is_found() {
    let file = |name: &str, source: &str| File::new(format!("src/engine/model/{name}.rs"), source);
    let files = [
        file("record", "mod size; mod kept; use self::size::Size; pub use kept::Kept;"),
        file("record/size", "use super::Kept;"),
        file("record/kept", "use super::{Size, Record};"),
    ];
    assert_eq!(circles(&files, "engine::model"), [["kept", "size"]]);
}

/// The groups of a room's files that import each other in a circle, found folder by folder: each folder with the files and folders directly in it.
fn circles(files: &[File], room: &str) -> Vec<Vec<String>> {
    let of_the_room = || files.iter().filter(|file| file.room().as_deref() == Some(room));
    let depths = |module: &[String]| {
        (room.split("::").count()..module.len()).map(|depth| module[..depth].to_vec()).collect::<Vec<_>>()
    };
    let folders: BTreeSet<Vec<String>> = of_the_room().flat_map(|file| depths(&file.module())).collect();
    folders.iter().flat_map(|folder| circles_in(&of_the_room().collect::<Vec<_>>(), room, folder)).collect()
}

/// The groups of files and folders directly in a folder that import each other in a circle. The folder's own file, which declares them, belongs to no
/// group.
fn circles_in(files: &[&File], room: &str, folder: &[String]) -> Vec<Vec<String>> {
    let depth = folder.len();
    let passed_on = passed_on(files, folder);
    let mut arrows: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in files {
        let module = file.module();
        if !module.starts_with(folder) || module.iter().any(|part| part == "tests") {
            continue;
        }
        let Some(from) = module.get(depth) else { continue };
        let paths = file.paths().into_iter().filter(|path| !path.in_tests);
        let inside = paths.filter(|path| room_of_path(&path.absolute).as_deref() == Some(room));
        let below = inside.filter(|path| path.absolute.get(1..=depth).is_some_and(|to| to == folder));
        let to = below.filter_map(|path| path.absolute.get(depth + 1).cloned());
        let to = to.map(|name| passed_on.get(&name).cloned().unwrap_or(name));
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

/// The names that a folder's own file imports from one of its children, each with that child. A file that imports the name from the folder depends on
/// the child.
fn passed_on(files: &[&File], folder: &[String]) -> BTreeMap<String, String> {
    let children: BTreeSet<String> = files
        .iter()
        .map(|file| file.module())
        .filter(|module| module.starts_with(folder))
        .filter_map(|module| module.get(folder.len()).cloned())
        .collect();
    let own = files.iter().filter(|file| file.module() == folder);
    let paths = own.flat_map(|file| file.paths()).filter(|path| !path.in_tests);
    let below = paths.map(|path| match path.absolute.get(1..=folder.len()) {
        Some(start) if start == folder => path.absolute[folder.len() + 1..].to_vec(),
        _ => path.absolute,
    });
    below
        .filter_map(|path| match path.as_slice() {
            [child, name] if children.contains(child) && !children.contains(name) => {
                Some((name.clone(), child.clone()))
            }
            _ => None,
        })
        .collect()
}
