use std::any::{Any, TypeId};
use std::collections::BTreeMap;
use std::fmt;

/// A worker's memory, which formats use from one call to the next.
///
/// Each format keeps a value of a type of its own here. The pipeline does not look into it.
#[derive(Default)]
pub struct Scratch(BTreeMap<TypeId, Box<dyn Any + Send>>);

impl Scratch {
    /// The value of type `T`, made by default the first time.
    pub fn get<T: Default + Send + 'static>(&mut self) -> &mut T {
        let value = self.0.entry(TypeId::of::<T>());
        let value = value.or_insert_with(|| Box::<T>::default());
        value.downcast_mut().expect("found by its type")
    }
}

impl fmt::Debug for Scratch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scratch")
    }
}
