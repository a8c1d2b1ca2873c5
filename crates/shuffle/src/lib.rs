//! Seeded sampling without replacement from a window of blocks, by counts alone.
