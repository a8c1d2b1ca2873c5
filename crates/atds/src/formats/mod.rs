//! The formats that the pipeline reads, a file each.

pub(crate) mod avro;

#[cfg(test)]
mod tests {
    mod conformance;
}
