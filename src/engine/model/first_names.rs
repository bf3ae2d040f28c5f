//! Names within a sentence: a few of them stand for all.

/// The most names that are shown.
const NAMED: usize = 3;

/// `n1, n2, n3, …`: the first three names, and whether there are more; empty without any.
pub(crate) fn first_names<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let mut names = names.into_iter();
    let first: Vec<&str> = names.by_ref().take(NAMED).collect();
    let more = if names.next().is_some() { ", …" } else { "" };
    format!("{}{more}", first.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_are_named_and_whether_there_are_more() {
        assert_eq!(first_names([]), "");
        assert_eq!(first_names(["n1", "n2", "n3"]), "n1, n2, n3");
        assert_eq!(first_names(["n1", "n2", "n3", "n4"]), "n1, n2, n3, …");
    }
}
