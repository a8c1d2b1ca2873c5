//! Suggests the name that was meant, for errors.

/// Maximum number of names compared; the result is only a hint in an error.
const MAX_CANDIDATES: usize = 1 << 12;

/// Maximum length in characters of a name that gets a suggestion.
const MAX_CHARS: usize = 64;

/// The candidate that differs from `name` by the fewest characters, ignoring case. `None` if more
/// than a third of the characters differ. For a name of one or two characters, only the case may
/// differ.
pub(crate) fn nearest<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let name: Vec<char> = name.chars().flat_map(char::to_lowercase).collect();
    if name.len() > MAX_CHARS {
        return None;
    }
    let most = match name.len() {
        ..=2 => 0,
        len => len.div_ceil(3),
    };
    let candidates = candidates.into_iter().take(MAX_CANDIDATES);
    let distances = candidates.filter_map(|candidate| {
        let other: Vec<char> = candidate.chars().flat_map(char::to_lowercase).collect();
        if other.len().abs_diff(name.len()) > most {
            return None;
        }
        let distance = distance(&name, &other);
        (distance <= most).then_some((distance, candidate))
    });
    let (_, candidate) = distances.min_by_key(|&(distance, _)| distance)?;
    Some(candidate)
}

/// Number of characters to insert, delete or replace to turn one name into the other (Levenshtein).
fn distance(left: &[char], right: &[char]) -> usize {
    // `row[i]` is the distance from the current prefix of `left` to the first `i` characters of
    // `right`.
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, l) in left.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, r) in right.iter().enumerate() {
            let replaced = diagonal + usize::from(l != r);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn the_name_that_was_meant() {
        let names = ["first", "last", "Age", "address", "adress_2"];
        let meant = |name| nearest(name, names);
        assert_eq!(meant("frist"), Some("first"));
        assert_eq!(meant("age"), Some("Age"));
        assert_eq!(meant("adress"), Some("address"));
        assert_eq!(meant("lasts"), Some("last"));
        assert_eq!(meant("zip"), None);
        assert_eq!(nearest("a", ["b", "A"]), Some("A"));
        assert_eq!(nearest("ab", ["b", "ac"]), None);
        assert_eq!(meant(""), None);
        assert_eq!(meant(&"a".repeat(65)), None);
        assert_eq!(nearest("x", []), None);
    }
}
