//! Which revision an operator means by a number.

use std::collections::BTreeMap;

/// The present number of the revision that an operator means by `number`: the one that has it, or else the one that had it before its template came back.
pub(crate) fn present_number(
    number: i64,
    present: impl Iterator<Item = i64>,
    earlier: &BTreeMap<i64, Vec<i64>>,
) -> Option<i64> {
    let had = |now: i64| earlier.get(&now).is_some_and(|earlier| earlier.contains(&number));
    let meant = present.filter(|now| *now == number || had(*now));
    meant.max_by_key(|now| *now == number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_present_number_goes_before_a_former_one() {
        let earlier = BTreeMap::from([(6, vec![4, 2]), (7, vec![5])]);
        let means = |number| present_number(number, [3, 6, 7].into_iter(), &earlier);
        assert_eq!([6, 2, 4, 5, 3].map(means), [Some(6), Some(6), Some(6), Some(7), Some(3)]);
        assert_eq!(means(1), None);
        let earlier = BTreeMap::from([(9, vec![3])]);
        assert_eq!(present_number(3, [3, 9].into_iter(), &earlier), Some(3), "as a controller may number anew");
        assert_eq!(present_number(3, [8].into_iter(), &earlier), None, "9 is not there any more");
    }
}
