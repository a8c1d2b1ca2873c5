//! Makes names unique.

use std::collections::{HashMap, HashSet};

/// The names, made unique. Of equal names, the first stays, the second gets `#2` appended, the next
/// `#3`. Numbers that would give a name of the input are skipped.
pub(crate) fn numbered<S: AsRef<str>>(names: &[S]) -> Vec<String> {
    let own: HashSet<&str> = names.iter().map(AsRef::as_ref).collect();
    let mut taken = HashSet::with_capacity(names.len());
    let mut numbers: HashMap<&str, u64> = HashMap::new();
    let number = |name| {
        let name: &str = AsRef::as_ref(name);
        if taken.insert(name.to_owned()) {
            return name.to_owned();
        }
        let number = numbers.entry(name).or_insert(1);
        loop {
            *number += 1;
            let unique = format!("{name}#{number}");
            if !own.contains(&*unique) && taken.insert(unique.clone()) {
                return unique;
            }
        }
    };
    names.iter().map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::numbered;

    #[test]
    fn names_are_told_apart() {
        let cases: [(&[&str], &[&str]); 4] = [
            (&["a", "b"], &["a", "b"]),
            (&["a", "a", "a"], &["a", "a#2", "a#3"]),
            (&["a", "a", "a#2", "a"], &["a", "a#3", "a#2", "a#4"]),
            (&["", "", "#2", "#2"], &["", "#3", "#2", "#2#2"]),
        ];
        for (names, expected) in cases {
            assert_eq!(numbered(names), expected);
        }
    }
}
