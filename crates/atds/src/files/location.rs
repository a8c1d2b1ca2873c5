//! URLs of files as paths.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use atds_format::Location;
use percent_encoding::percent_decode;

use crate::{Error, ErrorKind};

/// The path of a file, pattern or folder that is given as a path or as a `file://` URL.
///
/// # Errors
/// A URL of another scheme, or of another machine.
pub(crate) fn local_path(given: &Path) -> Result<Cow<'_, Path>, Error> {
    let bytes = given.as_os_str().as_encoded_bytes();
    let Some((scheme, rest)) = split_scheme(bytes) else {
        return Ok(Cow::Borrowed(given));
    };
    let after_slashes = rest.strip_prefix(b"//");
    match (&*scheme, after_slashes) {
        ("file", Some(rest)) => {
            let slash = rest.iter().position(|&byte| byte == b'/');
            let (host, path) = rest.split_at(slash.unwrap_or(rest.len()));
            if !host.is_empty() && !host.eq_ignore_ascii_case(b"localhost") {
                return Err(elsewhere(host, &decoded(rest)).in_location(url(given)));
            }
            // `file://` alone has no path.
            if !path.is_empty() {
                return Ok(Cow::Owned(decoded(path)));
            }
        }
        ("file", None) if rest.starts_with(b"/") => return Ok(Cow::Owned(decoded(rest))),
        ("file", None) => {}
        (_, Some(_)) => return Err(Error::new(ErrorKind::Scheme(scheme)).in_location(url(given))),
        // Paths such as `a:b` are no URLs, but those of Hadoop's file are.
        (_, None) => {}
    }
    Ok(Cow::Borrowed(given))
}

/// The place of a URL. One that is not UTF-8 keeps its bytes as a path.
fn url(given: &Path) -> Location {
    match given.to_str() {
        Some(url) => Location::Url(url.to_owned()),
        None => given.into(),
    }
}

#[cold]
fn elsewhere(host: &[u8], path: &Path) -> Error {
    Error::new(ErrorKind::Host {
        host: String::from_utf8_lossy(host).escape_debug().to_string(),
        path: path.to_string_lossy().escape_debug().to_string(),
    })
}

/// The scheme of a URL, in lower case, and what follows the colon. A letter before a colon is a
/// drive, not a scheme.
fn split_scheme(bytes: &[u8]) -> Option<(String, &[u8])> {
    let colon = bytes.iter().position(|&byte| byte == b':')?;
    let (scheme, rest) = (&bytes[..colon], &bytes[colon + 1..]);
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
    let is_scheme = scheme.len() > 1 && scheme[0].is_ascii_alphabetic();
    (is_scheme && scheme.iter().all(is_part)).then(|| {
        let scheme = String::from_utf8_lossy(scheme).to_ascii_lowercase();
        (scheme, rest)
    })
}

#[cfg(unix)]
fn decoded(path: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStringExt;
    let bytes: Vec<u8> = percent_decode(path).collect();
    std::ffi::OsString::from_vec(bytes).into()
}

/// `/C:/a` is `C:/a`.
#[cfg(not(unix))]
fn decoded(path: &[u8]) -> PathBuf {
    let path = percent_decode(path).decode_utf8_lossy().into_owned();
    let is_drive = path.as_bytes().get(2) == Some(&b':');
    path.strip_prefix('/')
        .filter(|_| is_drive)
        .unwrap_or(&path)
        .into()
}

#[cfg(test)]
#[cfg(unix)]
#[allow(clippy::unwrap_used, reason = "a panic is a failure")]
mod tests {
    use super::*;

    #[test]
    fn urls_of_local_files_are_paths() {
        for (given, path) in [
            ("/a/b.avro", "/a/b.avro"),
            ("a:b.avro", "a:b.avro"),
            ("C:\\a.avro", "C:\\a.avro"),
            ("c://a.avro", "c://a.avro"),
            ("day=12:30/a.avro", "day=12:30/a.avro"),
            ("./s3://a", "./s3://a"),
            ("file:a.avro", "file:a.avro"),
            ("file:/a/b.avro", "/a/b.avro"),
            ("file:///a/b.avro", "/a/b.avro"),
            ("FILE:///a/*.avro", "/a/*.avro"),
            ("file://", "file://"),
            ("file://localhost/a", "/a"),
            ("file://LocalHost/a", "/a"),
            ("file:///a%20b/gr%C3%B6%C3%9Fe%25.avro", "/a b/größe%.avro"),
            ("file:///100%/a%zz", "/100%/a%zz"),
            ("file:///a?b#c", "/a?b#c"),
        ] {
            assert_eq!(
                local_path(Path::new(given)).unwrap(),
                Path::new(path),
                "{given}"
            );
        }
        let undecodable = local_path(Path::new("file:///a%FF")).unwrap();
        assert_eq!(undecodable.as_os_str().as_encoded_bytes(), b"/a\xff");
    }

    #[test]
    fn what_is_elsewhere_is_an_error() {
        for (given, message) in [
            (
                "s3://b/a",
                "s3://b/a: s3:// is not read yet: copy or mount the files, and give their paths",
            ),
            (
                "HDFS://n/a",
                "HDFS://n/a: hdfs:// is not read yet: copy or mount the files, and give their paths",
            ),
            (
                "file://host/a",
                "file://host/a: files of other machines are not read, and this one is of 'host': \
                 copy or mount it, and give its path. If it is on this machine, give 'host/a', or a URL with three slashes, \
                 'file:///...'",
            ),
            (
                "file://data/my%20x.avro",
                "file://data/my%20x.avro: files of other machines are not read, and this one is of \
                 'data': copy or mount it, and give its path. If it is on this machine, give 'data/my x.avro', or a URL with \
                 three slashes, 'file:///...'",
            ),
        ] {
            let error = local_path(Path::new(given)).unwrap_err();
            assert_eq!(error.to_string(), message);
            assert_eq!(error.place.location, Some(Location::Url(given.to_owned())));
        }
    }
}
