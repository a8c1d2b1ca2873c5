//! Braces and a tilde in paths, which shells expand and this library does not.

use std::fmt;
use std::path::Path;

use crate::interface::quoted;

/// Maximum number of paths to which a message expands braces.
const MAX_EXPANDED: usize = 4;

/// A part of a missing path that a shell would have expanded.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotExpanded {
    /// `~`, or a group of braces such as `{a,b}`.
    pub part: String,
    /// The expanded paths, if they are known.
    pub instead: Vec<String>,
}

impl NotExpanded {
    /// The part of a path that a shell would have expanded, if there is one.
    #[cold]
    pub(super) fn in_path(given: &Path) -> Option<Self> {
        let text = given.to_string_lossy();
        Self::tilde(&text).or_else(|| Self::braces(&text))
    }

    /// A `~` that stands for a home folder.
    fn tilde(text: &str) -> Option<Self> {
        let rest = text.strip_prefix('~')?;
        let (user, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        // Only the system knows the home folder of another user.
        let home = user.is_empty().then(std::env::home_dir).flatten();
        let instead = home.map(|home| format!("{}{path}", home.display()));
        Some(NotExpanded {
            part: format!("~{user}"),
            instead: instead.into_iter().collect(),
        })
    }

    /// The first group of braces that contains a comma, as in shells.
    fn braces(text: &str) -> Option<Self> {
        let open = text.find('{')?;
        let close = open + text[open..].find('}')?;
        let inside = &text[open + 1..close];
        if !inside.contains(',') {
            return None;
        }
        let (before, after) = (&text[..open], &text[close + 1..]);
        // Nested groups and several groups are too long for a message.
        let is_simple = !inside.contains('{') && !after.contains(['{', '}']);
        let is_short = inside.split(',').count() <= MAX_EXPANDED;
        let alternatives = inside.split(',').filter(|_| is_simple && is_short);
        Some(NotExpanded {
            part: text[open..=close].to_owned(),
            instead: alternatives
                .map(|one| format!("{before}{one}{after}"))
                .collect(),
        })
    }
}

/// Writes the reason and the paths to give instead.
impl fmt::Display for NotExpanded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is not expanded: give ", quoted(&self.part))?;
        let quoted: Vec<_> = self.instead.iter().map(quoted).collect();
        match &quoted[..] {
            [] if self.part.starts_with('~') => f.write_str("the path of that folder"),
            [] => f.write_str("a path or pattern for each alternative"),
            [one] => f.write_str(one),
            [all @ .., last] => write!(f, "{} and {last}", all.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(path: &str) -> Option<String> {
        NotExpanded::in_path(Path::new(path)).map(|found| found.to_string())
    }

    #[test]
    fn braces_are_told_with_what_to_give_instead() {
        for (path, expected) in [
            (
                "day/{a,b}.avro",
                "'{a,b}' is not expanded: give 'day/a.avro' and 'day/b.avro'",
            ),
            (
                "{a,b,c}*/x",
                "'{a,b,c}' is not expanded: give 'a*/x', 'b*/x' and 'c*/x'",
            ),
            ("x{,1}", "'{,1}' is not expanded: give 'x' and 'x1'"),
            (
                "{a,b}{c,d}",
                "'{a,b}' is not expanded: give a path or pattern for each alternative",
            ),
            (
                "{a,{b,c}}",
                "'{a,{b,c}' is not expanded: give a path or pattern for each alternative",
            ),
            (
                "{1,2,3,4,5}",
                "'{1,2,3,4,5}' is not expanded: give a path or pattern for each alternative",
            ),
            (
                "~someone/x.avro",
                "'~someone' is not expanded: give the path of that folder",
            ),
        ] {
            assert_eq!(told(path).as_deref(), Some(expected));
        }
        for path in ["x", "{a}", "{a", "a,b}", "}{,", "a~", "./~/x", "{}"] {
            assert_eq!(told(path), None, "{path}");
        }
    }

    #[test]
    fn a_tilde_is_the_home() {
        let Some(home) = std::env::home_dir() else {
            return;
        };
        let expected = format!(
            "'~' is not expanded: give '{}/data/x.avro'",
            home.display().to_string().escape_debug()
        );
        assert_eq!(told("~/data/x.avro"), Some(expected));
        let expected = format!("'~' is not expanded: give '{}'", home.display());
        assert_eq!(told("~"), Some(expected));
    }
}
