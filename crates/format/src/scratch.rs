use std::any::{Any, TypeId};
use std::fmt;

/// A worker's memory, which formats use from one call to the next.
///
/// Each format keeps a value of a type of its own here. The pipeline does not look into it.
#[derive(Default)]
pub struct Scratch(Vec<(TypeId, Box<dyn Any + Send>)>);

impl Scratch {
    /// The value of type `T`, made by default the first time.
    pub fn get<T: Default + Send + 'static>(&mut self) -> &mut T {
        let id = TypeId::of::<T>();
        let found = self.0.iter().position(|(other, _)| *other == id);
        let at = found.unwrap_or(self.0.len());
        if found.is_none() {
            self.0.push((id, Box::<T>::default()));
        }
        let value = self.0[at].1.downcast_mut();
        value.expect("found by its type")
    }
}

impl fmt::Debug for Scratch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scratch")
    }
}
