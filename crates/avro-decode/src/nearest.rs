//! Which name was meant, for errors.

/// Names that are looked at; an error is for reading.
const MAX_CANDIDATES: usize = 1 << 12;

/// Characters of the names that are compared.
const MAX_CHARS: usize = 64;

/// The candidate that differs from `name` by the fewest characters, not counting
/// case, if they are no more than a third of it. A name of one or two characters
/// is like every other.
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

/// Characters to insert, delete or replace to make one name the other
/// (Levenshtein).
fn distance(left: &[char], right: &[char]) -> usize {
    // Of each start of `right`, from the start of `left` so far.
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
