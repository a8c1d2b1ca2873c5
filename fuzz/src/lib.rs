//! Shared parts of the fuzz targets: the [properties] that they check, and the limit on their
//! memory.

pub mod memory;
pub mod properties;

#[doc(hidden)]
pub use libfuzzer_sys;

/// The entry point of a target. The argument is the constant of its property in [`properties`].
#[macro_export]
macro_rules! target {
    ($property:ident) => {
        $crate::libfuzzer_sys::fuzz_target!(|data: &[u8]| {
            $crate::memory::check_within(&$crate::properties::$property, data);
        });
    };
}
