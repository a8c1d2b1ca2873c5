//! Parses the text of a features file to the keys of each feature.

use std::collections::HashSet;
use std::fmt;
use std::path::Path;

use atds_features::Feature;
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::Value;

use super::FeaturesError;
use super::entry::Entry;

/// The features of a text. Paths of files are relative to `folder`.
pub(super) fn features(text: &str, folder: &Path) -> Result<Vec<Feature>, FeaturesError> {
    let json = |error: serde_json::Error| FeaturesError::json(&error);
    let mut parser = serde_json::Deserializer::from_str(text);
    let entries = Whole.deserialize(&mut parser).map_err(json)?;
    parser.end().map_err(json)?;
    let features = entries.into_iter().map(|(name, keys)| {
        let feature = Entry::new(keys).feature(&name, folder);
        feature.map_err(|kind| FeaturesError::feature(&name, kind))
    });
    features.collect()
}

/// Names with their values, in the order of the text. An object of serde_json would silently drop
/// all but the last value of a repeated name.
type Named<T> = Vec<(String, T)>;

/// The whole file.
struct Whole;

impl<'de> DeserializeSeed<'de> for Whole {
    type Value = Named<Named<Value>>;

    fn deserialize<D: Deserializer<'de>>(self, parser: D) -> Result<Self::Value, D::Error> {
        parser.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Whole {
    type Value = Named<Named<Value>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of features")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entries = Vec::new();
        let mut names = HashSet::new();
        while let Some(name) = map.next_key::<String>()? {
            if !names.insert(name.clone()) {
                return Err(A::Error::custom(format_args!(
                    "feature '{name}' is there twice"
                )));
            }
            let keys = map.next_value_seed(Keys { feature: &name })?;
            entries.push((name, keys));
        }
        Ok(entries)
    }
}

/// The keys of a feature.
struct Keys<'a> {
    feature: &'a str,
}

impl<'de> DeserializeSeed<'de> for Keys<'_> {
    type Value = Named<Value>;

    fn deserialize<D: Deserializer<'de>>(self, parser: D) -> Result<Self::Value, D::Error> {
        parser.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Keys<'_> {
    type Value = Named<Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object for feature '{}'", self.feature)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut keys = Vec::new();
        let mut names = HashSet::new();
        while let Some(key) = map.next_key::<String>()? {
            if !names.insert(key.clone()) {
                let feature = self.feature;
                return Err(A::Error::custom(format_args!(
                    "feature '{feature}' has '{key}' twice"
                )));
            }
            keys.push((key, map.next_value()?));
        }
        Ok(keys)
    }
}
