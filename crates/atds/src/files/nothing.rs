//! Explains why no files were found, and suggests patterns.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

use glob::Pattern;

use super::NotExpanded;
use super::search::{Search, entries, is_hidden};
use atds_features::words::counted;

/// Maximum number of folders that are searched for suggestions.
const MAX_FOLDERS: usize = 1000;

/// Details about a folder without `.avro` files, or a pattern without matches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NothingFound {
    /// Whether a folder was given, not a pattern.
    pub is_folder: bool,
    /// Number of folders in the given folder. For a pattern, the number of folders that match, or of
    /// folders beside the files that the pattern was compared with.
    pub folders: usize,
    /// Number of files in the folders in which the pattern looks for files; none of them match.
    pub beside: usize,
    /// Number of files in the folder whose names do not end in `.avro`. A recursive search counts
    /// folders below too.
    pub other_files: usize,
    /// Whether folders below the folder have `.avro` files, and were not searched.
    pub avro_below: bool,
    /// A description of hidden files and folders that were skipped.
    pub hidden: Option<String>,
    /// Patterns that match existing files.
    pub suggestions: Vec<String>,
    /// The first folder of the pattern's path that does not exist.
    pub missing_folder: Option<PathBuf>,
    /// The part of the pattern that a shell would have expanded.
    pub not_expanded: Option<NotExpanded>,
}

impl fmt::Display for NothingFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_folder {
            "no Avro files there (a folder's files are those named *.avro)"
        } else {
            "no file matches this pattern"
        })?;
        if let Some(part) = &self.not_expanded {
            return write!(f, ": {part}");
        }
        if let Some(folder) = &self.missing_folder {
            return write!(
                f,
                ": there is no folder {}",
                quoted(&folder.to_string_lossy())
            );
        }
        let there = [
            (self.folders, counted(self.folders, "folder")),
            (
                self.other_files,
                counted(self.other_files, "file") + " without .avro",
            ),
            (self.beside, counted(self.beside, "other file")),
        ];
        let there = there.into_iter().filter(|(count, _)| *count > 0);
        let there: Vec<_> = there.map(|(_, words)| words).collect();
        if !there.is_empty() {
            write!(f, ", but {}", there.join(" and "))?;
        } else if self.is_folder && self.hidden.is_none() {
            f.write_str(": the folder is empty")?;
        }
        // Hidden files are suggested only if there are no other suggestions.
        match &self.hidden {
            Some(hidden) if there.is_empty() => {
                write!(f, "; {hidden}")?;
                self.suggest(f)
            }
            Some(hidden) => {
                self.suggest(f)?;
                write!(f, "; {hidden}")
            }
            None => self.suggest(f),
        }
    }
}

impl NothingFound {
    fn suggest(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.suggestions.is_empty() {
            let suggestions = self.suggestions.iter().map(|pattern| quoted(pattern));
            let suggestions: Vec<_> = suggestions.collect();
            write!(f, ": give {}", suggestions.join(" or "))?;
        }
        if self.avro_below {
            f.write_str(", or set `recursive`")
        } else {
            Ok(())
        }
    }
}

/// The contents of a folder in which a search has found no files.
#[cold]
pub(super) fn in_folder(folder: &Path, recursive: bool, search: &Search) -> NothingFound {
    let mut below = Below::default();
    below.look(folder, 0);
    let mut found = NothingFound {
        is_folder: true,
        folders: below.folders,
        hidden: {
            below
                .hidden_files
                .extend(search.hidden_files.iter().cloned());
            below
                .hidden_folders
                .extend(search.hidden_folders.iter().cloned());
            hidden(&below.hidden_files, &below.hidden_folders)
        },
        ..NothingFound::default()
    };
    let start = Pattern::escape(&folder.to_string_lossy());
    let start = start.trim_end_matches('/');
    if !recursive && below.folders > 0 {
        match (below.avro_below, &below.names_below[..]) {
            (true, _) => {
                found.avro_below = true;
                found.suggestions.push(format!("{start}/**/*.avro"));
            }
            (false, []) => {}
            (false, names) => {
                let names = common_pattern(names);
                found.suggestions.push(format!("{start}/**/{names}"));
            }
        }
    }
    found.other_files = below.names.len();
    if recursive {
        found.other_files += below.names_below.len();
        if !below.names_below.is_empty() {
            let names: Vec<_> = below
                .names
                .iter()
                .chain(&below.names_below)
                .cloned()
                .collect();
            let names = common_pattern(&names);
            found.suggestions.push(format!("{start}/**/{names}"));
            return found;
        }
    }
    if !below.names.is_empty() {
        let names = common_pattern(&below.names);
        found.suggestions.push(format!("{start}/{names}"));
    }
    suggest_hidden(search, &mut found);
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
    let mut found = NothingFound {
        folders: search.folders.len(),
        hidden: hidden(
            &search.hidden_files.iter().cloned().collect(),
            &search.hidden_folders.iter().cloned().collect(),
        ),
        missing_folder: start
            .ancestors()
            .filter(|folder| !folder.as_os_str().is_empty() && !folder.exists())
            .last()
            .map(Path::to_owned),
        not_expanded: NotExpanded::in_path(given),
        ..NothingFound::default()
    };
    let mut below = Below::default();
    if found.folders > 0 {
        for folder in &search.folders {
            below.look(folder, 0);
        }
        let pattern = given.to_string_lossy();
        let pattern = pattern.trim_end_matches('/');
        let inside = below.pattern();
        found
            .suggestions
            .extend(inside.map(|inside| format!("{pattern}/{inside}")));
    } else if is_simple {
        below.look(start, 0);
        found.folders = below.folders;
        found.beside = below.names.len();
        let folder = Pattern::escape(&start.to_string_lossy());
        let join = |inside| {
            Path::new(&folder)
                .join(inside)
                .to_string_lossy()
                .into_owned()
        };
        found.suggestions.extend(below.pattern().map(join));
    }
    suggest_hidden(search, &mut found);
    found
}

/// Names the hidden files, if nothing else is suggested.
fn suggest_hidden(search: &Search, found: &mut NothingFound) {
    if let ([], Some(first)) = (&found.suggestions[..], search.hidden_files.first()) {
        let folder = first.parent().unwrap_or(Path::new(""));
        let names = search.hidden_files.iter();
        let names = names.filter(|file| file.parent() == Some(folder));
        let names = names.filter_map(|file| Some(file.file_name()?.to_string_lossy().into_owned()));
        let mut names: Vec<String> = names.collect();
        names.sort();
        let begin = names[0].chars().next();
        names.retain(|name| name.chars().next() == begin);
        let folder = Pattern::escape(&folder.to_string_lossy());
        let pattern = Path::new(&folder).join(common_pattern(&names));
        found
            .suggestions
            .push(pattern.to_string_lossy().into_owned());
    }
}

/// A description of hidden files and folders that were skipped.
pub(super) fn hidden(files: &BTreeSet<PathBuf>, folders: &BTreeSet<PathBuf>) -> Option<String> {
    let first = files.first().or_else(|| folders.first())?;
    let counts = [
        (files.len(), "hidden file"),
        (folders.len(), "hidden folder"),
    ];
    let words = counts.into_iter().filter(|(count, _)| *count > 0);
    let words: Vec<_> = words.map(|(count, what)| counted(count, what)).collect();
    let skipped = skipped(files.len() + folders.len(), first)?;
    Some(format!("{} {skipped}", words.join(" and ")))
}

/// Files of a folder that were skipped although they may be Avro, in words.
pub(super) fn alike(mut files: Vec<PathBuf>) -> Option<String> {
    files.sort();
    files.dedup();
    let skipped = skipped(files.len(), files.first()?)?;
    let count = counted(files.len(), "file");
    Some(format!(
        "{count} not named *.avro {skipped}: to read such files, give a pattern for them too"
    ))
}

/// Says of so many paths that they were skipped, and names the first.
fn skipped(count: usize, first: &Path) -> Option<String> {
    let name = quoted(&first.file_name()?.to_string_lossy());
    Some(match count {
        1 => format!("was skipped, {name}"),
        _ => format!("were skipped, such as {name}"),
    })
}

/// The contents of a folder and of the folders below it.
#[derive(Default)]
struct Below {
    /// Folders in the folder itself.
    folders: usize,
    /// Names of the files in the folder itself.
    names: Vec<String>,
    /// Names of the files in folders below, without names that end in `.avro`.
    names_below: Vec<String>,
    /// Whether there are `.avro` files in the folder itself, and below.
    avro_here: bool,
    avro_below: bool,
    /// Hidden files and folders in the folder itself.
    hidden_files: BTreeSet<PathBuf>,
    hidden_folders: BTreeSet<PathBuf>,
    looked_into: usize,
}

impl Below {
    /// Reads a folder and the folders below it. Unreadable folders count as empty.
    fn look(&mut self, folder: &Path, depth: usize) {
        self.looked_into += 1;
        for entry in entries(folder).unwrap_or_default() {
            if is_hidden(&entry.name) {
                let hidden = if entry.is_folder {
                    &mut self.hidden_folders
                } else {
                    &mut self.hidden_files
                };
                if depth == 0 {
                    hidden.insert(folder.join(&entry.name));
                }
                continue;
            }
            let name = entry.name.to_string_lossy().into_owned();
            match (entry.is_folder, depth) {
                (true, _) => {
                    self.folders += usize::from(depth == 0);
                    if !entry.is_link && self.looked_into < MAX_FOLDERS {
                        self.look(&folder.join(&entry.name), depth + 1);
                    }
                }
                (false, 0) => {
                    self.avro_here |= name.ends_with(".avro");
                    self.names.push(name);
                }
                (false, _) if name.ends_with(".avro") => self.avro_below = true,
                (false, _) => self.names_below.push(name),
            }
        }
    }

    /// A pattern for the files in a folder or below, relative to the folder.
    fn pattern(&self) -> Option<String> {
        match (&self.names[..], &self.names_below[..]) {
            _ if self.avro_here => Some("*.avro".to_owned()),
            _ if self.avro_below => Some("**/*.avro".to_owned()),
            ([], []) => None,
            ([], below) => Some(format!("**/{}", common_pattern(below))),
            (names, _) => Some(common_pattern(names)),
        }
    }
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
    let suffix = match extension(first) {
        Some(first)
            if names
                .iter()
                .all(|name| extension(name).as_ref() == Some(&first)) =>
        {
            format!(".{}", Pattern::escape(&first))
        }
        _ => String::new(),
    };
    format!("{}*{suffix}", Pattern::escape(prefix))
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.escape_debug())
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
