//! The search for the files of a folder or a pattern.

use std::collections::{BTreeSet, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, ErrorKind as IoKind};
use std::path::{Component, Path, PathBuf};

use glob::Pattern;

use super::nothing::{self, Hidden, NothingFound};
use super::{Found, NotExpanded};
use crate::formats::FileFormat;
use crate::{Error, ErrorKind};

/// The files of these names in a folder; with `recursive` also in all folders below.
pub(super) fn folder(folder: &Path, names: Names, recursive: bool) -> Result<Vec<Found>, Error> {
    let mut search = Search::new(names);
    search.folder(folder, recursive)?;
    search.finish(folder, |search| {
        nothing::in_folder(folder, recursive, search)
    })
}

/// The files that a pattern matches. With `recursive`, matching folders stand for their files.
/// `missing` is the error if the pattern is a plain path.
pub(super) fn pattern(
    given: &Path,
    names: Names,
    recursive: bool,
    missing: io::Error,
) -> Result<Vec<Found>, Error> {
    let text = given.to_string_lossy();
    if !text.contains(['*', '?', '[']) {
        return Err(match NotExpanded::in_path(given) {
            Some(part) => Error::new(ErrorKind::NotExpanded(part)).in_file(given),
            None => Error::io(missing, given),
        });
    }
    let (start, parts) = parse(given)?;
    let mut search = Search::new(names);
    search.run(&start, &parts)?;
    if recursive {
        for matched in std::mem::take(&mut search.folders) {
            search.folder(&matched, true)?;
        }
        // Folders that are named as files are.
        search.folders.clear();
    }
    let is_simple = matches!(parts[..], [PatternPart::Names(_)]);
    search.finish(given, |search| {
        nothing::of_pattern(given, &start, is_simple, search)
    })
}

/// The names of a folder's files: those of these formats.
#[derive(Clone, Debug)]
pub(super) struct Names(pub(super) Vec<FileFormat>);

impl Names {
    fn suffixes(&self) -> impl Iterator<Item = &'static str> {
        self.0.iter().flat_map(|format| format.suffixes()).copied()
    }

    pub(super) fn have(&self, name: &str) -> bool {
        self.0.iter().any(|format| format.has_name(name))
    }

    /// Whether a name is similar to one of these: `a.avro.gz`, `A.AVRO`.
    fn are_like(&self, name: &str) -> bool {
        let name = name.to_ascii_lowercase();
        self.suffixes().any(|suffix| name.contains(suffix))
    }

    /// The patterns of the names: `*.avro`. Of a format with several suffixes it is the first, which tells
    /// the others.
    pub(super) fn patterns(&self) -> Vec<String> {
        let first = |format: &FileFormat| Some(format!("*{}", format.suffixes().first()?));
        self.0.iter().filter_map(first).collect()
    }
}

/// A component of a pattern.
#[derive(Clone, Debug)]
enum PatternPart {
    /// A name, or `..`.
    Plain(OsString),
    Names(Pattern),
    /// The names of a folder's files.
    Files(Names),
    /// `**`: any number of folders.
    Folders,
}

impl PatternPart {
    /// Whether a name is one of those that the component stands for.
    fn matches(&self, name: &OsStr) -> bool {
        let text = name.to_string_lossy();
        match self {
            PatternPart::Plain(plain) => plain == name,
            PatternPart::Names(pattern) => pattern.matches(&text),
            PatternPart::Files(names) => names.have(&text),
            PatternPart::Folders => true,
        }
    }

    /// Whether hidden names match, too.
    fn takes_hidden(&self) -> bool {
        let PatternPart::Names(pattern) = self else {
            return false;
        };
        pattern.as_str().starts_with(['.', '_'])
    }
}

/// The folder that a pattern begins in, and its components from there.
fn parse(given: &Path) -> Result<(PathBuf, Vec<PatternPart>), Error> {
    let fault = |error: glob::PatternError| {
        Error::new(ErrorKind::Pattern(error.msg.to_owned())).in_file(given)
    };
    let mut start = PathBuf::new();
    let mut parts: Vec<PatternPart> = Vec::new();
    for component in given.components() {
        let name = component.as_os_str();
        let text = name.to_string_lossy();
        match component {
            Component::Normal(_) if text == "**" => {
                if !matches!(parts.last(), Some(PatternPart::Folders)) {
                    parts.push(PatternPart::Folders);
                }
            }
            Component::Normal(_) if text.contains(['*', '?', '[']) => {
                parts.push(PatternPart::Names(Pattern::new(&text).map_err(fault)?));
            }
            _ if parts.is_empty() => start.push(name),
            _ => parts.push(PatternPart::Plain(name.to_owned())),
        }
    }
    if matches!(parts.last(), Some(PatternPart::Folders)) {
        parts.push(PatternPart::Names(Pattern::new("*").expect("it is one")));
    }
    Ok((start, parts))
}

/// The results of a search.
#[derive(Debug)]
pub(super) struct Search {
    /// The names of a folder's files.
    pub(super) names: Names,
    pub(super) files: Vec<Found>,
    /// Folders that match as a file would have to.
    pub(super) folders: Vec<PathBuf>,
    /// Hidden files and folders that would match.
    pub(super) hidden: Hidden,
    /// Files of a folder with names similar to those of its files.
    alike: BTreeSet<PathBuf>,
    /// Links to folders that `**` has found; they are followed at the end.
    links: Vec<(PathBuf, usize)>,
    /// Folders that `**` has searched, with links resolved, and the components left. This prevents
    /// cycles of links and repeated files.
    searched: HashSet<(PathBuf, usize)>,
}

impl Search {
    fn new(names: Names) -> Self {
        Search {
            names,
            files: Vec::new(),
            folders: Vec::new(),
            hidden: Hidden::default(),
            alike: BTreeSet::new(),
            links: Vec::new(),
            searched: HashSet::new(),
        }
    }

    /// Searches a folder, and with `recursive` all folders below, for its files.
    fn folder(&mut self, folder: &Path, recursive: bool) -> Result<(), Error> {
        let parts = [PatternPart::Folders, PatternPart::Files(self.names.clone())];
        self.searched.clear();
        self.run(folder, if recursive { &parts } else { &parts[1..] })
    }

    fn run(&mut self, start: &Path, parts: &[PatternPart]) -> Result<(), Error> {
        self.below(start, parts)?;
        while !self.links.is_empty() {
            let mut links = std::mem::take(&mut self.links);
            links.sort();
            for (link, left) in links {
                self.below(&link, &parts[parts.len() - left..])?;
            }
        }
        Ok(())
    }

    /// The files in order, or the error with what explains that there are none. Logs the skipped files of
    /// the path or pattern `given`.
    fn finish(
        mut self,
        given: &Path,
        explain: impl FnOnce(&Self) -> NothingFound,
    ) -> Result<Vec<Found>, Error> {
        if self.files.is_empty() {
            let nothing = Box::new(explain(&self));
            return Err(Error::new(ErrorKind::NothingFound(nothing)).in_file(given));
        }
        let alike = nothing::alike(&self.names, &self.alike);
        let skipped = [self.hidden.in_words(), alike];
        for skipped in skipped.into_iter().flatten() {
            log::warn!("{}: {skipped}", given.display());
        }
        self.files.sort_by(|(a, _), (b, _)| a.cmp(b));
        // `**/**` and the like find a file in several ways.
        self.files.dedup_by(|(a, _), (b, _)| a == b);
        Ok(self.files)
    }

    /// Searches the folder `path` for matches of `parts`.
    fn below(&mut self, path: &Path, parts: &[PatternPart]) -> Result<(), Error> {
        match parts {
            [] => self.end(path),
            [PatternPart::Plain(name), rest @ ..] => {
                let next = path.join(name);
                match fs::symlink_metadata(&next) {
                    Ok(_) => self.below(&next, rest),
                    Err(_) => Ok(()),
                }
            }
            [
                part @ (PatternPart::Names(_) | PatternPart::Files(_)),
                rest @ ..,
            ] => {
                for entry in entries(path)? {
                    let next = path.join(&entry.name);
                    if !part.matches(&entry.name) {
                        if let PatternPart::Files(names) = part
                            && !entry.is_folder
                            && !is_hidden(&entry.name)
                            && names.are_like(&entry.name.to_string_lossy())
                        {
                            self.alike.insert(next);
                        }
                        continue;
                    }
                    if !is_hidden(&entry.name) || part.takes_hidden() {
                        self.below(&next, rest)?;
                    } else if entry.is_folder != rest.is_empty() {
                        self.hidden.0.insert((entry.is_folder, next));
                    }
                }
                Ok(())
            }
            [PatternPart::Folders, rest @ ..] => {
                let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
                if !self.searched.insert((real, parts.len())) {
                    return Ok(());
                }
                self.below(path, rest)?;
                for entry in entries(path)?.into_iter().filter(|entry| entry.is_folder) {
                    let next = path.join(&entry.name);
                    if is_hidden(&entry.name) {
                        self.hidden.0.insert((true, next));
                    } else if entry.is_link {
                        self.links.push((next, parts.len()));
                    } else {
                        self.below(&next, parts)?;
                    }
                }
                Ok(())
            }
        }
    }

    /// Adds a match of the whole pattern. A dangling link is an error, because skipping it would
    /// lose a file.
    fn end(&mut self, path: &Path) -> Result<(), Error> {
        let found = fs::metadata(path).map_err(|error| Error::io(error, path))?;
        if found.is_dir() {
            self.folders.push(path.to_owned())
        } else {
            self.files.push((path.to_owned(), found))
        }
        Ok(())
    }
}

/// Whether a name is hidden from patterns that do not begin as it does.
pub(super) fn is_hidden(name: &OsStr) -> bool {
    match name.as_encoded_bytes() {
        [b'.', ..] => true,
        // A partition has a name and a value.
        [b'_', rest @ ..] => !rest.iter().skip(1).any(|&byte| byte == b'=') || rest[0] == b'=',
        _ => false,
    }
}

/// An entry of a folder.
pub(super) struct Entry {
    pub(super) name: OsString,
    pub(super) is_folder: bool,
    pub(super) is_link: bool,
}

/// The entries of a folder, sorted by name; empty if `folder` is no folder.
pub(super) fn entries(folder: &Path) -> Result<Vec<Entry>, Error> {
    // The folder of a path such as `*.avro`.
    let here = if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    };
    let entry = |entry: io::Result<fs::DirEntry>| {
        let entry = entry?;
        let kind = entry.file_type()?;
        // A dangling link is no folder.
        let is_folder = if kind.is_symlink() {
            fs::metadata(entry.path()).is_ok_and(|found| found.is_dir())
        } else {
            kind.is_dir()
        };
        Ok(Entry {
            name: entry.file_name(),
            is_folder,
            is_link: kind.is_symlink(),
        })
    };
    let found = match fs::read_dir(here) {
        Err(error) if matches!(error.kind(), IoKind::NotFound | IoKind::NotADirectory) => {
            return Ok(Vec::new());
        }
        found => found.and_then(|found| found.map(entry).collect::<io::Result<Vec<_>>>()),
    };
    let mut entries = found.map_err(|error| Error::io(error, folder))?;
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_hidden_unless_they_are_partitions() {
        for (name, expected) in [
            (".", true),
            ("._a.avro", true),
            (".a=b", true),
            ("_", true),
            ("_SUCCESS", true),
            ("_temporary", true),
            ("_=", true),
            ("_=x", true),
            ("_==x", true),
            ("_day=", false),
            ("_day=1", false),
            ("__day=1", false),
            ("a", false),
            ("a_b", false),
            ("", false),
        ] {
            assert_eq!(is_hidden(OsStr::new(name)), expected, "{name}");
        }
    }
}
