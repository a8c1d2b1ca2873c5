//! Explains why no files were found, and suggests patterns.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use glob::Pattern;

use super::NotExpanded;
use super::search::{Names, Search, entries, is_hidden};
use crate::interface::quoted;
use atds_features::words::counted;

/// Maximum number of folders that are searched for suggestions.
const MAX_FOLDERS: usize = 1000;

/// Details about a folder without files, or a pattern without matches.
#[derive(Clone, Debug, Default, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[error("{explanation}")]
pub struct NothingFound {
    /// Whether a folder was given, not a pattern.
    pub is_folder: bool,
    /// What was looked for, what is there instead, what was skipped, and what to give.
    pub explanation: String,
    /// Patterns that match existing files.
    pub suggestions: Vec<String>,
}

const NO_MATCH: &str = "no file matches this pattern";

/// Says that a folder has no files of these names.
fn no_files(names: &Names) -> String {
    let what = match names.0[..] {
        [format] => format.title(),
        _ => "row",
    };
    format!(
        "no {what} files there (a folder's files are those named {})",
        names.patterns().join(", ")
    )
}

/// The contents of a folder in which a search has found no files.
#[cold]
pub(super) fn in_folder(folder: &Path, recursive: bool, search: &Search) -> NothingFound {
    let mut there = Contents::new(&search.names);
    there.look(folder, 0);
    there.hidden.0.extend(search.hidden.0.iter().cloned());
    let (mut names, mut patterns) = (there.here.clone(), Vec::new());
    if recursive && !there.below.is_empty() {
        names.append(&mut there.below);
        patterns.extend(there.pattern_for(&names).map(|names| format!("**/{names}")));
    } else {
        patterns.extend(there.pattern_below());
        patterns.extend(there.pattern_for(&names));
    }
    let counts = [(there.folders, "folder"), (names.len(), "other file")];
    let suggestions = patterns.iter().map(|inside| join(folder, inside)).collect();
    let mut found = explain(true, &counts, &there.hidden, search, suggestions);
    if there.has_any(&there.below) {
        found.explanation += ", or set `recursive`";
    }
    found
}

/// Details about a pattern without matching files: folders that match, or files in the searched
/// folders. `is_simple` means that only the last component is a pattern, which searches one folder.
#[cold]
pub(super) fn of_pattern(
    given: &Path,
    start: &Path,
    is_simple: bool,
    search: &Search,
) -> NothingFound {
    let folders = start.ancestors();
    let missing = folders.filter(|folder| !folder.as_os_str().is_empty() && !folder.exists());
    let no_folder = |folder: &Path| format!("there is no folder {}", quoted(folder.display()));
    let not_expanded = NotExpanded::in_path(given).map(|part| part.to_string());
    if let Some(reason) = not_expanded.or_else(|| missing.last().map(no_folder)) {
        return NothingFound {
            explanation: format!("{NO_MATCH}: {reason}"),
            ..NothingFound::default()
        };
    }
    let mut there = Contents::new(&search.names);
    for folder in &search.folders {
        there.look(folder, 0);
    }
    let (mut folders, mut beside) = (search.folders.len(), 0);
    let suggestion = if folders > 0 {
        let pattern = given.to_string_lossy();
        let pattern = pattern.trim_end_matches('/');
        there.pattern().map(|inside| format!("{pattern}/{inside}"))
    } else if is_simple {
        there.look(start, 0);
        (folders, beside) = (there.folders, there.here.len());
        there.pattern().map(|inside| join(start, &inside))
    } else {
        None
    };
    let counts = [(folders, "folder"), (beside, "other file")];
    let suggestions = suggestion.into_iter().collect();
    explain(false, &counts, &search.hidden, search, suggestions)
}

/// Says what is there, what is hidden, and what to give. Hidden files that `search` has passed over are
/// suggested if nothing else is.
fn explain(
    is_folder: bool,
    counts: &[(usize, &str)],
    hidden: &Hidden,
    search: &Search,
    mut suggestions: Vec<String>,
) -> NothingFound {
    if suggestions.is_empty() {
        suggestions.extend(search.hidden.pattern());
    }
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    let there: Vec<_> = counts.map(|(count, what)| counted(*count, what)).collect();
    let quoted: Vec<_> = suggestions.iter().map(quoted).collect();
    let advice = match &quoted[..] {
        [] => String::new(),
        all => format!(": give {}", all.join(" or ")),
    };
    let hidden = hidden.in_words().map(|words| format!("; {words}"));
    let hidden = hidden.unwrap_or_default();
    let nothing = match is_folder {
        true => no_files(&search.names),
        false => NO_MATCH.to_owned(),
    };
    let explanation = if !there.is_empty() {
        format!("{nothing}, but {}{advice}{hidden}", there.join(" and "))
    } else if hidden.is_empty() && is_folder {
        format!("{nothing}: the folder is empty{advice}")
    } else {
        nothing + &hidden + &advice
    };
    NothingFound {
        is_folder,
        explanation,
        suggestions,
    }
}

/// Hidden files and folders that were passed over: each after whether it is a folder.
#[derive(Debug, Default)]
pub(super) struct Hidden(pub(super) BTreeSet<(bool, PathBuf)>);

impl Hidden {
    /// A description, if there are any.
    pub(super) fn in_words(&self) -> Option<String> {
        let (_, first) = self.0.first()?;
        let folders = self.0.iter().filter(|(is_folder, _)| *is_folder).count();
        let files = self.0.len() - folders;
        let counts = [(files, "hidden file"), (folders, "hidden folder")];
        let words = counts.into_iter().filter(|(count, _)| *count > 0);
        let words: Vec<_> = words.map(|(count, what)| counted(count, what)).collect();
        let skipped = skipped(self.0.len(), first)?;
        Some(format!("{} {skipped}", words.join(" and ")))
    }

    /// A pattern for the files in the folder of the first, whose names begin as its does.
    fn pattern(&self) -> Option<String> {
        let files = self.0.iter().filter(|(is_folder, _)| !is_folder);
        let mut files = files.map(|(_, file)| file).peekable();
        let folder = files.peek()?.parent()?;
        let files = files.filter(|file| file.parent() == Some(folder));
        let names = files.filter_map(|file| Some(file.file_name()?.to_string_lossy().into_owned()));
        let mut names: Vec<String> = names.collect();
        let begin = names[0].chars().next();
        names.retain(|name| name.chars().next() == begin);
        Some(join(folder, &common_pattern(&names)))
    }
}

/// Files of a folder that were skipped although they may be of its files, in words.
pub(super) fn alike(names: &Names, files: &BTreeSet<PathBuf>) -> Option<String> {
    let skipped = skipped(files.len(), files.first()?)?;
    let count = counted(files.len(), "file");
    Some(format!(
        "{count} not named {} {skipped}: to read such files, give a pattern for them too",
        names.patterns().join(", ")
    ))
}

/// Says of so many paths that they were skipped, and names the first.
fn skipped(count: usize, first: &Path) -> Option<String> {
    let name = quoted(first.file_name()?.to_string_lossy());
    Some(match count {
        1 => format!("was skipped, {name}"),
        _ => format!("were skipped, such as {name}"),
    })
}

/// The contents of a folder and of the folders below it.
struct Contents<'a> {
    /// The names of a folder's files.
    names: &'a Names,
    /// Folders in the folder itself.
    folders: usize,
    /// Names of the files in the folder itself, and in folders below.
    here: Vec<String>,
    below: Vec<String>,
    /// Hidden files and folders in the folder itself.
    hidden: Hidden,
    looked_into: usize,
}

impl<'a> Contents<'a> {
    fn new(names: &'a Names) -> Self {
        Contents {
            names,
            folders: 0,
            here: Vec::new(),
            below: Vec::new(),
            hidden: Hidden::default(),
            looked_into: 0,
        }
    }

    /// Reads a folder and the folders below it. Unreadable folders count as empty.
    fn look(&mut self, folder: &Path, depth: usize) {
        self.looked_into += 1;
        for entry in entries(folder).unwrap_or_default() {
            let path = folder.join(&entry.name);
            match (is_hidden(&entry.name), entry.is_folder) {
                (true, _) if depth > 0 => {}
                (true, is_folder) => drop(self.hidden.0.insert((is_folder, path))),
                (false, true) => {
                    self.folders += usize::from(depth == 0);
                    if !entry.is_link && self.looked_into < MAX_FOLDERS {
                        self.look(&path, depth + 1);
                    }
                }
                (false, false) => {
                    let names = [&mut self.here, &mut self.below];
                    let name = entry.name.to_string_lossy().into_owned();
                    names[depth.min(1)].push(name);
                }
            }
        }
    }

    /// A pattern for the files in a folder or below, relative to the folder.
    fn pattern(&self) -> Option<String> {
        let is_below = !self.has_any(&self.here) && self.has_any(&self.below);
        let here = self.pattern_for(&self.here).filter(|_| !is_below);
        here.or_else(|| self.pattern_below())
    }

    /// A pattern for the files below a folder, relative to the folder.
    fn pattern_below(&self) -> Option<String> {
        Some(format!("**/{}", self.pattern_for(&self.below)?))
    }

    /// Whether some are named as a folder's files are.
    fn has_any(&self, names: &[String]) -> bool {
        names.iter().any(|name| self.names.have(name))
    }

    /// A pattern for files: `*.avro`, if some have such names.
    fn pattern_for(&self, names: &[String]) -> Option<String> {
        let mut patterns = self.names.patterns().into_iter();
        let is_there = |pattern: &String| names.iter().any(|name| name.ends_with(&pattern[1..]));
        match names {
            [] => None,
            names => patterns
                .find(is_there)
                .or_else(|| Some(common_pattern(names))),
        }
    }
}

/// The pattern of `inside` in the folder.
fn join(folder: &Path, inside: &str) -> String {
    let folder = Pattern::escape(&folder.to_string_lossy());
    let path = Path::new(&folder).join(inside);
    path.to_string_lossy().into_owned()
}

/// A pattern of one component that matches all `names`; there must be at least one.
fn common_pattern(names: &[String]) -> String {
    let first = &names[0];
    if names.iter().all(|name| name == first) {
        return Pattern::escape(first);
    }
    let prefix = names.iter().fold(first.as_str(), |prefix, name| {
        let same = prefix.char_indices().zip(name.chars());
        let end = same.take_while(|((_, a), b)| a == b).last();
        &prefix[..end.map_or(0, |((at, c), _)| at + c.len_utf8())]
    });
    // Numbers that begin alike: `part-` of part-00 and part-01.
    let prefix = prefix.trim_end_matches(|c: char| c.is_ascii_digit());
    let extension = |name: &String| {
        let (stem, extension) = name[prefix.len()..].rsplit_once('.')?;
        (!stem.is_empty()).then(|| extension.to_owned())
    };
    let common = extension(first);
    let is_common = names.iter().all(|name| extension(name) == common);
    let common = common.filter(|_| is_common);
    let suffix = common.map_or(String::new(), |common| {
        format!(".{}", Pattern::escape(&common))
    });
    format!("{}*{suffix}", Pattern::escape(prefix))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic is a failure")]
mod tests {
    use super::*;

    #[test]
    fn names_have_a_pattern_in_common() {
        for (names, expected) in [
            (&["part-00000", "part-00001"][..], "part-*"),
            (&["part-0"], "part-0"),
            (&["a.avro.gz", "b.avro.gz"], "*.gz"),
            (&["p-1.x", "p-2.x"], "p-*.x"),
            (&["p-1.x", "p-2.y"], "p-*"),
            (&["größe1", "größe2"], "größe*"),
            (&["é", "è"], "*"),
            (&["a[1", "a[2"], "a[[]*"),
            (&["x", "y"], "*"),
            (&["_a", "_b"], "_*"),
            (&[".crc", ".crd"], ".cr*"),
        ] {
            let names: Vec<_> = names.iter().map(|&name| name.to_owned()).collect();
            let pattern = common_pattern(&names);
            assert_eq!(pattern, expected);
            let pattern = Pattern::new(&pattern).unwrap();
            assert!(names.iter().all(|name| pattern.matches(name)), "{names:?}");
        }
    }
}
