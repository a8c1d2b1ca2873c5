//! The fuzz targets' common parts: the [properties] they check, and the bound on their memory.

pub mod memory;
pub mod properties;

#[doc(hidden)]
pub use libfuzzer_sys;

/// The entry point of the target that checks a property, of the name of its constant in
/// [`properties`].
#[macro_export]
macro_rules! target {
    ($property:ident) => {
        $crate::libfuzzer_sys::fuzz_target!(|data: &[u8]| {
            $crate::memory::check_within(&$crate::properties::$property, data);
        });
    };
}
