//! Names the columns of inferred features.

use std::collections::{HashMap, HashSet};

use atds_features::feature::Feature;
use atds_features::path::{Path, Step};

use crate::root_fields::root_fields;
use crate::schema::Schema;

/// Names features after their fields, joined by dots and without quotes. A feature gets an
/// expression if the name alone means another path.
///
/// Before this call, each feature's name is its expression. The name stays if another feature has
/// the same plain name.
pub(super) fn name(features: &mut [Feature], schema: &Schema) {
    let paths: Vec<Option<Path>> = features.iter().map(path_of).collect();
    let plain: Vec<Option<String>> = paths.iter().map(|path| path.as_ref().map(plain)).collect();
    let mut uses: HashMap<String, usize> = HashMap::new();
    for (feature, plain) in features.iter().zip(&plain) {
        let text = &feature.name;
        for name in plain.iter().filter(|plain| *plain != text).chain([text]) {
            *uses.entry(name.clone()).or_default() += 1;
        }
    }
    let fields = root_fields(schema).iter();
    let fields: HashSet<&str> = fields.map(|field| &*field.name).collect();
    for ((feature, path), plain) in features.iter_mut().zip(paths).zip(plain) {
        let (Some(path), Some(plain)) = (path, plain) else {
            continue;
        };
        let name = if uses[&plain] == 1 {
            plain
        } else {
            feature.name.clone()
        };
        // If the schema lacks the field, `a.b` would be the `b` of an `a`, and `a.` an error.
        let is_other = match Path::parse(&name) {
            Ok(other) => other != path,
            Err(error) => error.is_meant_as_path(),
        };
        if is_other || leads_to(&name, &fields).as_ref() != Some(&path) {
            feature.expression = Some(feature.name.clone());
        }
        let masks = [&mut feature.missing.mask, &mut feature.missing.row_mask];
        for mask in masks.into_iter().flatten() {
            if let Some(rest) = mask.strip_prefix(&feature.name) {
                *mask = format!("{name}{rest}");
            }
        }
        feature.name = name;
    }
    tell_masks_apart(features);
}

/// The path of a feature whose name is its expression.
fn path_of(feature: &Feature) -> Option<Path> {
    match feature.expression {
        None => Path::parse(&feature.name).ok(),
        Some(_) => None,
    }
}

/// A path's text without quotes around the names of fields.
fn plain(path: &Path) -> String {
    if path.steps.is_empty() {
        return path.to_string();
    }
    let mut text = String::new();
    for (i, step) in path.steps.iter().enumerate() {
        match step {
            Step::Field(name) => {
                if i > 0 {
                    text.push('.');
                }
                text.push_str(name);
            }
            step => text.push_str(&step.to_string()),
        }
    }
    text
}

/// The path that this name alone means, if the root has these fields.
fn leads_to(name: &str, fields: &HashSet<&str>) -> Option<Path> {
    let path = Path::parse(name).ok();
    let has_lists = path.as_ref().is_some_and(|path| path.lists() > 0);
    if fields.contains(name) && !has_lists {
        let steps = vec![Step::Field(name.to_owned())];
        return Some(Path { steps });
    }
    path
}

/// Renames masks that have the name of another column.
fn tell_masks_apart(features: &mut [Feature]) {
    let mut taken: HashSet<String> = features.iter().map(|one| one.name.clone()).collect();
    for feature in features {
        let masks = [&mut feature.missing.mask, &mut feature.missing.row_mask];
        for mask in masks.into_iter().flatten() {
            let own = mask.clone();
            let mut number = 1;
            while !taken.insert(mask.clone()) {
                number += 1;
                *mask = format!("{own}#{number}");
            }
        }
    }
}
